package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// stdioTenant is the place of a token's id; no token has it.
	stdioTenant = "stdio"
	// maxStops is how many stops may wait for their verdicts before the next line is
	// read. Each of them has acted.
	maxStops = 256
	// lastReads is how long calls that move nothing get to end by themselves once the
	// client has closed its side.
	lastReads = time.Second
)

// ErrDeaf is what ServeStdio ends with when the client has stopped reading: its
// answers no longer fit into what is kept for it.
var ErrDeaf = errors.New("mcp: the client doesn't read its answers")

// stdio is one client on a pair of streams. It is the SDK's transport and its
// connection: it frames and checks the lines, and everything that the SDK's own
// transport can't do safely is done here (lines without end, batches, identifiers
// used twice, a client that doesn't read).
type stdio struct {
	srv *Server
	t   *tenant
	in  io.ReadCloser
	out *outbox

	incoming chan jsonrpc.Message // to the SDK, which takes without delay
	done     chan struct{}        // closed once the SDK takes no more
	close    func()
	ended    chan struct{} // closed when no further line is read
	stops    chan struct{} // a slot for each stop that waits for its verdicts
	tasks    sync.WaitGroup

	mu         sync.Mutex
	open       map[jsonrpc.ID]*exchange
	reading    int // of the open ones, those that move nothing
	quiet      chan struct{}
	negotiated string // the revision that initialize agreed on
	initialize jsonrpc.ID
}

var (
	_ sdk.Transport  = (*stdio)(nil)
	_ sdk.Connection = (*stdio)(nil)
)

// exchange is a request that waits for its answer.
type exchange struct {
	batch     *outBatch // nil: it came alone
	slot      int       // its place in there
	moves     bool
	cancelled bool // the client has given it up and wants no answer
}

// ServeStdio serves one client, who is principal in session, on a pair of streams:
// one JSON-RPC message a line, in every revision that HTTP serves. It reads in, in
// the caller's goroutine, until that ends (nil), ctx ends (its cause), Shutdown
// begins (nil), or out breaks or isn't read (the error). It owns in and closes it,
// which must end a blocked Read. out is closed by Shutdown, and only after that
// must a Write end that nobody reads.
//
// When it returns, no further call is taken and the open ones go on: the robot is
// the caller's to stop first, and Shutdown then ends and answers them. It may be
// called once.
func (s *Server) ServeStdio(ctx context.Context, principal, session string, in io.ReadCloser, out io.WriteCloser) error {
	if !validName(principal) || !validName(session) {
		return fmt.Errorf("mcp: principal %q in session %q: each must be 1 to %d of A-Z a-z 0-9 _ -", principal, session, maxName)
	}
	t := s.tenant(identity{tokenID: stdioTenant, principal: principal, session: session})
	c := &stdio{
		srv: s, t: t, in: in,
		incoming: make(chan jsonrpc.Message), done: make(chan struct{}), stops: make(chan struct{}, maxStops),
		open: make(map[jsonrpc.ID]*exchange),
	}
	c.ended = make(chan struct{})
	c.close = sync.OnceFunc(func() { close(c.done) })
	c.out = newOutbox(out, func() { _ = in.Close() })
	defer close(c.ended)
	if err := s.adopt(c); err != nil {
		return errors.Join(err, in.Close(), c.out.end(ctx))
	}
	if _, err := t.sdk.Connect(context.WithoutCancel(ctx), c, nil); err != nil {
		return errors.Join(fmt.Errorf("mcp: %w", err), in.Close())
	}
	defer context.AfterFunc(ctx, func() { _ = in.Close() })()
	err := c.read()
	_ = in.Close() // it was read, or the error says why not
	switch failed := c.out.failure(); {
	case failed != nil:
		return failed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && !s.isClosing():
		return fmt.Errorf("mcp: reading the client: %w", err)
	}
	return nil
}

// adopt makes c the server's one client on streams.
func (s *Server) adopt(c *stdio) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		return errors.New("mcp: ServeStdio after Shutdown")
	case s.stdio != nil:
		return errors.New("mcp: ServeStdio was called twice")
	}
	s.stdio = c
	return nil
}

func (s *Server) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// settle ends the reading and gives calls that move nothing a moment to end.
func (c *stdio) settle(ctx context.Context) {
	_ = c.in.Close()
	select {
	case <-c.ended:
	case <-ctx.Done():
		return
	}
	c.mu.Lock()
	quiet := make(chan struct{})
	c.quiet = quiet
	if c.reading == 0 {
		close(quiet)
		c.quiet = nil
	}
	c.mu.Unlock()
	timer := time.NewTimer(lastReads)
	defer timer.Stop()
	select {
	case <-quiet:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// end writes what is left to write, and closes the output. A client that is gone, or
// doesn't read, is no fault of the server's: it is logged.
func (c *stdio) end(ctx context.Context) {
	c.close()
	select {
	case <-c.ended:
		c.tasks.Wait() // stops, whose verdicts the gate bounds
	default: // a line is still being read though its input was closed
	}
	if err := c.out.end(ctx); err != nil {
		c.srv.log.Warn("mcp: the client's last answers were not all written", "error", err)
	}
}

// Connect implements [sdk.Transport].
func (c *stdio) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// SessionID implements [sdk.Connection]; a stream has none.
func (c *stdio) SessionID() string { return "" }

// Close implements [sdk.Connection].
func (c *stdio) Close() error {
	c.close()
	return nil
}

// Read implements [sdk.Connection]. The end of the input isn't its end: answers that
// are still to come can be written until Close.
func (c *stdio) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.incoming:
		return m, nil
	case <-c.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
