package control

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/tau-robot/tau/gate"
)

// The verbs beside stop and estop. Those that are signed give power; what they carry
// is a statement and its signature, and nothing else.
const (
	List     = "list"     // the requests that wait
	Show     = "show"     // one request, ended or not
	Reject   = "reject"   // a no to a request that waits
	Grants   = "grants"   // what has been granted
	Revoke   = "revoke"   // takes away a grant, a routine, a key, an opt-in
	Devices  = "devices"  // the enrolled keys
	Sessions = "sessions" // the sessions
	Events   = "events"   // goes on: the open question, each time it changes
	Nonce    = "nonce"    // for a statement about one question
	Approve  = "approve"  // signed
	OptIn    = "optin"    // signed
	Enrol    = "enrol"    // signed
	Pair     = "pair"     // signed; goes on: a pairing code, then who came with it
	Session  = "session"  // signed: a new session, or a token for one
)

// verbTimeout bounds what a verb with one reply may take.
const verbTimeout = 20 * time.Second

type use uint8

const (
	none use = iota
	may
	must
)

// verb is what a verb takes, and what it does.
type verb struct {
	signed                            bool
	goesOn                            bool // several replies, for as long as the peer is there
	id, reason, kind, purpose, digest use
	run                               func(ctx context.Context, op Operator, r Request, say func(Reply) error) (Reply, error)
}

// once is a verb with one reply.
func once(f func(ctx context.Context, op Operator, r Request) (Reply, error)) func(context.Context, Operator, Request, func(Reply) error) (Reply, error) {
	return func(ctx context.Context, op Operator, r Request, _ func(Reply) error) (Reply, error) {
		return f(ctx, op, r)
	}
}

// powered hands what was signed to the operator's side, which checks it, and nothing else.
func powered(ctx context.Context, op Operator, r Request, say func(Reply) error) (Reply, error) {
	return op.Signed(ctx, r.Verb, Signed{Statement: r.Statement, Signature: r.Signature}, say)
}

// verbs is all of them. It is written here and never changed.
var verbs = map[string]verb{
	List: {run: once(func(ctx context.Context, op Operator, _ Request) (Reply, error) { return op.List(ctx) })},
	Show: {id: must, run: once(func(ctx context.Context, op Operator, r Request) (Reply, error) { return op.Show(ctx, r.ID) })},
	Reject: {id: must, reason: may, run: once(func(ctx context.Context, op Operator, r Request) (Reply, error) {
		return op.Reject(ctx, r.ID, r.Reason)
	})},
	Grants: {run: once(func(ctx context.Context, op Operator, _ Request) (Reply, error) { return op.Grants(ctx) })},
	Revoke: {id: must, kind: must, run: once(func(ctx context.Context, op Operator, r Request) (Reply, error) {
		return op.Revoke(ctx, r.Kind, r.ID)
	})},
	Devices:  {run: once(func(ctx context.Context, op Operator, _ Request) (Reply, error) { return op.Devices(ctx) })},
	Sessions: {run: once(func(ctx context.Context, op Operator, _ Request) (Reply, error) { return op.Sessions(ctx) })},
	Events: {goesOn: true, run: func(ctx context.Context, op Operator, _ Request, say func(Reply) error) (Reply, error) {
		return op.Watch(ctx, say)
	}},
	Nonce: {id: must, purpose: must, digest: may, run: once(func(ctx context.Context, op Operator, r Request) (Reply, error) {
		return op.Nonce(ctx, r.Purpose, r.ID, r.Digest)
	})},
	Approve: {signed: true, run: powered},
	OptIn:   {signed: true, run: powered},
	Enrol:   {signed: true, run: powered},
	Pair:    {signed: true, goesOn: true, run: powered},
	Session: {signed: true, run: powered},
}

// Verbs lists all verbs, stop and estop too, sorted.
func Verbs() []string {
	all := slices.Collect(maps.Keys(verbs))
	all = append(all, string(gate.StopControlled), string(gate.StopEmergency))
	slices.Sort(all)
	return all
}

// GivesPower reports whether a verb does nothing without a signed statement.
func GivesPower(name string) bool { return verbs[name].signed }

// Signed is a statement and its signature, as they came; nobody has checked them.
type Signed struct{ Statement, Signature []byte }

// Operator is what the bridge does for a person at the socket. Its methods may be
// called from any goroutine, and return when ctx ends, which is when the peer has gone.
// What they return as an error becomes a refusal with its code and text. Only Signed
// may give power, and only to what it has checked.
type Operator interface {
	List(ctx context.Context) (Reply, error)
	Show(ctx context.Context, id string) (Reply, error)
	Reject(ctx context.Context, id, reason string) (Reply, error)
	Grants(ctx context.Context) (Reply, error)
	Revoke(ctx context.Context, kind, id string) (Reply, error)
	Devices(ctx context.Context) (Reply, error)
	Sessions(ctx context.Context) (Reply, error)
	// Watch says the open question, each time it changes, until ctx ends or say fails.
	Watch(ctx context.Context, say func(Reply) error) (Reply, error)
	// Nonce issues one for a statement; it gives nothing away and permits nothing.
	Nonce(ctx context.Context, purpose, id, digest string) (Reply, error)
	Signed(ctx context.Context, verb string, s Signed, say func(Reply) error) (Reply, error)
}

// serveVerb answers a request that is no stop. It takes no place that a stop might
// need: the peer stays among those that make room, and is told to go by the end of
// what it could still send.
func (s *Server) serveVerb(c *net.UnixConn, req Request) bool {
	if s.op == nil {
		return send(c, refusal("this bridge knows only stop and estop"))
	}
	v := verbs[req.Verb]
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	if v.goesOn {
		defer s.untilGone(c, cancel)()
	} else {
		// Whoever sends one line may close its side behind it, and waits for the answer.
		var end context.CancelFunc
		ctx, end = context.WithTimeoutCause(ctx, verbTimeout, gate.Errf(gate.CodeInternal, req.Verb, "it took longer than %s", verbTimeout))
		defer end()
		// It keeps no descriptor until then that somebody else has been let in for. First
		// it is closed, so that it isn't told a reply of a verb that was given up.
		s.peers.busy(c, func() {
			_ = c.Close()
			cancel(errors.New("the peer has made room"))
		})
	}
	said := errors.New("the peer takes no replies")
	say := func(r Reply) error {
		if !send(c, r) {
			return said
		}
		return nil
	}
	reply, err := guarded(func() (Reply, error) { return v.run(ctx, s.op, req, say) })
	switch {
	case errors.Is(err, said), v.goesOn && ctx.Err() != nil:
		return false // nobody is there, or the bridge ends
	case err != nil:
		reply = failed(err)
	default:
		reply.OK = true
	}
	return send(c, reply)
}

// guarded keeps a fault of the operator's side from ending the bridge.
func guarded(f func() (Reply, error)) (r Reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			r, err = Reply{}, gate.Errf(gate.CodeInternal, "control", "it failed inside: %v", p)
		}
	}()
	return f()
}

// untilGone ends a context when the peer has gone or made room. The function that it
// returns ends the watch for that, and waits.
func (s *Server) untilGone(c *net.UnixConn, cancel context.CancelCauseFunc) (end func()) {
	_ = c.SetReadDeadline(time.Time{})
	if s.ctx.Err() != nil { // closing has set one that must stay
		_ = c.SetReadDeadline(time.Unix(1, 0))
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.CopyN(io.Discard, c, maxDrain)
		cancel(errors.New("the peer has gone"))
	}()
	return func() {
		_ = c.SetReadDeadline(time.Unix(1, 0))
		<-gone
	}
}

// failed is the reply to what was refused.
func failed(err error) Reply {
	r := Reply{Code: gate.CodeOf(err), Text: err.Error()}
	var e *gate.Error
	if errors.As(err, &e) {
		r.Text = e.Message()
	}
	if r.Code == "" {
		r.Code = gate.CodeInternal
	}
	return r
}
