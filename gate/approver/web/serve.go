package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/conns"
)

const (
	headTimeout = 5 * time.Second
	bodyTimeout = 10 * time.Second
	idleTimeout = 2 * time.Minute
	// writeTimeout leaves room for the longest that an answer is held.
	writeTimeout = enrolWait + bodyTimeout
)

// Listen listens where the settings say, which is on loopback.
func Listen(s Settings) (net.Listener, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if s.Listen == "" {
		return nil, gate.Errf(gate.CodeInvalidArgument, "web.listen", "is missing: the settings have no section [web]")
	}
	ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", s.Listen)
	if err != nil {
		return nil, fmt.Errorf("web.listen: %w", err)
	}
	return ln, nil
}

// Serve accepts connections on ln, a loopback TCP listener, until Shutdown begins; it
// closes ln and returns nil then. It may be called once.
func (s *Server) Serve(ln net.Listener) error {
	if !conns.OnLoopback(ln) {
		return errors.Join(gate.Errf(gate.CodeInvalidArgument, "web.listen", "%v is no loopback address", ln.Addr()), ln.Close())
	}
	hs := &http.Server{
		Handler: s, ReadHeaderTimeout: headTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		ConnContext: conns.Context, MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	bounded := conns.Bound(ln, conns.Max)
	hs.RegisterOnShutdown(bounded.CloseStrangers)
	s.mu.Lock()
	if s.ended || s.serving != nil {
		s.mu.Unlock()
		return errors.Join(errors.New("web: Serve after Shutdown, or twice"), ln.Close())
	}
	s.serving = hs
	s.mu.Unlock()
	if err := hs.Serve(bounded); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("web: %w", err)
	}
	return nil
}

// Shutdown ends the service: open questions drop out of it, and connections are closed.
// It waits for requests that are being answered until ctx ends, and cuts what is left.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if !s.ended {
		close(s.quit)
	}
	s.ended = true
	for id, q := range s.open {
		q.done = true
		close(q.over)
		delete(s.open, id)
	}
	s.tell()
	hs := s.serving
	s.mu.Unlock()
	if hs == nil {
		return nil
	}
	if err := hs.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("web: closing connections: %w", err), hs.Close())
	}
	return nil
}
