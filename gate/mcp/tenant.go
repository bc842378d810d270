package mcp

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tau-robot/tau/gate"
)

// tenant is everything that belongs to one token: an SDK server of its own, so
// that neither the SDK's sessions nor its notifications cross tokens, and the
// token's open calls.
type tenant struct {
	identity
	srv *Server
	sdk *sdk.Server

	mu       sync.Mutex
	requests int // HTTP requests in flight
	flights  map[*flight]struct{}
	pending  map[string][]gate.Ticket // of transport sessions, answered pending (G49)
	batches  map[string]*batchStops   // by the key in the header
	closed   error                    // why no further call is taken; nil while calls are
}

// flight is an open call: one that still holds its client's request.
type flight struct {
	transport string // the SDK's session id; "" when the revision has none
	cancel    context.CancelCauseFunc
}

// unknownToolKey carries the name that was really asked for.
type unknownToolKey struct{}

func newTenant(srv *Server, id identity) *tenant {
	t := &tenant{identity: id, srv: srv, flights: make(map[*flight]struct{}), pending: make(map[string][]gate.Ticket), batches: make(map[string]*batchStops)}
	t.sdk = sdk.NewServer(
		&sdk.Implementation{Name: "tau-robot", Title: "tau robot", Version: srv.version},
		&sdk.ServerOptions{
			Instructions: srv.instructions,
			Logger:       srv.log,
			PageSize:     max(len(srv.tools), 1), // one page: the whole catalog
			// Tools and nothing else: no logging, prompts, resources, or list changes.
			Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
			GetSessionID: func() string {
				t.makeRoom()
				return rand.Text()
			},
		})
	for _, tool := range srv.tools {
		t.sdk.AddTool(tool, t.call)
	}
	// A name that the catalog lacks must reach the gate too, which refuses and logs
	// it (G8); the SDK would answer by itself. It goes by way of a tool that there
	// is, because only the SDK's own path completes a result for the newest revision.
	t.sdk.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			call, ok := req.(*sdk.CallToolRequest)
			if !ok || method != methodCall || len(srv.tools) == 0 {
				return next(ctx, method, req)
			}
			if _, known := srv.tiers[call.Params.Name]; known {
				return next(ctx, method, req)
			}
			ctx = context.WithValue(ctx, unknownToolKey{}, call.Params.Name)
			params := *call.Params
			params.Name = srv.tools[0].Name
			return next(ctx, method, &sdk.CallToolRequest{Session: call.Session, Params: &params, Extra: call.Extra})
		}
	})
	return t
}

// open registers an open call. The returned context ends with ctx, or with a cause
// when the call is cancelled from this side; release must be called at the end.
func (t *tenant) open(ctx context.Context, transport string) (_ context.Context, release func(), ok bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	f := &flight{transport: transport, cancel: cancel}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed != nil || len(t.flights) >= t.srv.maxOpen {
		cancel(nil)
		return nil, nil, false
	}
	t.flights[f] = struct{}{}
	return ctx, func() {
		cancel(nil)
		t.mu.Lock()
		delete(t.flights, f)
		t.mu.Unlock()
	}, true
}

func (t *tenant) refusal() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed != nil {
		return t.closed.Error() + "."
	}
	return fmt.Sprintf("%d calls with this token are open, and %d is the limit.", len(t.flights), t.srv.maxOpen)
}

// leftBehind remembers a call that was answered pending for as long as it isn't over,
// so that a person can be told when its client has gone. A revision without sessions
// never says that.
func (t *tenant) leftBehind(transport string, ticket gate.Ticket) {
	if transport == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, all := range t.pending {
		if all = slices.DeleteFunc(all, over); len(all) == 0 {
			delete(t.pending, id)
		} else {
			t.pending[id] = all
		}
	}
	t.pending[transport] = append(t.pending[transport], ticket)
}

func over(ticket gate.Ticket) bool {
	select {
	case <-ticket.Done():
		return true
	default:
		return false
	}
}

// endTransport cancels the open calls of one transport session that has ended. Those
// that were answered pending go on, and are told that their client has gone.
func (t *tenant) endTransport(id string, cause error) {
	t.mu.Lock()
	for f := range t.flights {
		if f.transport == id {
			f.cancel(cause)
		}
	}
	left := t.pending[id]
	delete(t.pending, id)
	t.mu.Unlock()
	for _, ticket := range left {
		if l, ok := ticket.(gate.Leaver); ok && !over(ticket) {
			l.Leave(cause.Error())
		}
	}
}

// close cancels every open call and takes no further one.
func (t *tenant) close(cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = cause
	for f := range t.flights {
		f.cancel(cause)
	}
}

// enter counts an HTTP request in and reports whether there is room for it.
func (t *tenant) enter() (leave func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.requests >= t.srv.maxRequests {
		return nil, false
	}
	t.requests++
	return func() {
		t.mu.Lock()
		t.requests--
		t.mu.Unlock()
	}, true
}

// makeRoom ends the oldest transport session without an open call when the token
// has as many as it may. Clients that forget to end theirs don't lock anyone out.
func (t *tenant) makeRoom() {
	var n int
	var oldest *sdk.ServerSession
	t.mu.Lock()
	busy := make(map[string]bool, len(t.flights))
	for f := range t.flights {
		busy[f.transport] = true
	}
	t.mu.Unlock()
	for ss := range t.sdk.Sessions() { // in the order they began
		n++
		if oldest == nil && !busy[ss.ID()] {
			oldest = ss
		}
	}
	if n >= t.srv.maxSessions && oldest != nil {
		_ = oldest.Close() // idle, so this doesn't wait
	}
}
