package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/tau-robot/tau/gate/conns"
)

// Listen listens on a loopback address, "127.0.0.1:0", "[::1]:8000" or
// "localhost:8000", and refuses every other one.
func Listen(addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("mcp: listening address %q: %w", addr, err)
	}
	if !conns.IsLoopbackHost(host) {
		return nil, fmt.Errorf("mcp: listening address %q: only loopback is served (127.0.0.1, [::1] or localhost)", addr)
	}
	ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("mcp: %w", err)
	}
	if err := checkLoopback(ln); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}

func checkLoopback(ln net.Listener) error {
	if !conns.OnLoopback(ln) {
		return fmt.Errorf("mcp: %v is not a loopback address; only loopback is served", ln.Addr())
	}
	return nil
}

// Serve accepts connections on ln, which must be a loopback TCP listener, until
// Shutdown begins; it closes ln and returns nil then. Requests may still run: it is
// Shutdown that waits for them.
func (s *Server) Serve(ln net.Listener) error {
	if err := checkLoopback(ln); err != nil {
		return errors.Join(err, ln.Close())
	}
	hs := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnContext:       conns.Context,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	bounded := conns.Bound(ln, conns.Max)
	hs.RegisterOnShutdown(bounded.CloseStrangers)
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return errors.Join(errors.New("mcp: Serve after Shutdown"), ln.Close())
	}
	s.servers = append(s.servers, hs)
	s.mu.Unlock()
	if err := hs.Serve(bounded); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("mcp: %w", err)
	}
	return nil
}

// Shutdown ends the server: open calls are cancelled, which withdraws their
// questions and stops their motions, and answered; calls that were answered pending
// are the bridge's and stay; streams, transport sessions and connections are
// closed. It waits for all of that until ctx ends and then cuts what is left.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	if s.exchanges == 0 {
		s.drainOnce()
	}
	tenants := make([]*tenant, 0, len(s.tenants))
	for _, t := range s.tenants {
		tenants = append(tenants, t)
	}
	servers := s.servers
	s.servers = nil
	streams := s.stdio
	s.mu.Unlock()
	if streams != nil {
		streams.settle(ctx)
	}
	for _, t := range tenants {
		t.close(errShutdown)
	}
	var errs []error
	late := func(what string) { errs = append(errs, fmt.Errorf("mcp: %s: %w", what, context.Cause(ctx))) }
	select {
	case <-s.drained: // the open calls have their answers
	case <-ctx.Done():
		late("answering open calls")
	}
	s.stopStreams()
	for _, hs := range servers {
		if err := hs.Shutdown(ctx); err != nil {
			late("closing connections")
			errs = append(errs, hs.Close())
		}
	}
	// Session.Close waits for the session's requests; one that doesn't end is left
	// behind when ctx ends.
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		for _, t := range tenants {
			for ss := range t.sdk.Sessions() {
				_ = ss.Close()
			}
		}
	}()
	select {
	case <-closed:
	case <-ctx.Done():
		late("closing sessions")
	}
	if streams != nil {
		streams.end(ctx)
	}
	return errors.Join(errs...)
}
