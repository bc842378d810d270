// Package approval keeps tier-2 requests: what was shown, what was decided, and
// how far it came. Each transition is one conditional write, so that one approval
// runs one action at most once (GATE.md G41, G42, G44, G45).
//
//	from     method  condition                                       to        else
//	-        Open    id unused                                       pending   INVALID_ARGUMENT (another digest), or what its state says
//	pending  Claim   not expired                                     claimed   REQUEST_EXPIRED, and expired
//	claimed  Claim   lease run out, not expired, count below the cap claimed   IN_PROGRESS; REQUEST_EXPIRED, and expired
//	claimed  Start   this worker, this count, lease and expiry alive started   IN_PROGRESS; REQUEST_EXPIRED, and expired
//	pending  Finish  -                                               rejected, withdrawn, expired, stopped
//	claimed  Finish  -                                               withdrawn, expired, stopped
//	started  Finish  -                                               done, unknown
//	any end  any     -                                               -         what the state says, see stateError
//
// A started request is never claimed or started again: after a crash its outcome
// is unknown. An ended request is kept until retention ends, and never less long
// than its own expiry, so that a used approval can't be replayed after its record
// has gone.
//
// The package imports nothing of ours but gate. A durable store passes the same
// tests (storetest).
package approval

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tau-robot/tau/gate"
)

// Options are a memory store's bounds.
type Options struct {
	Lease     time.Duration    // how long a claim holds; default 15 s, above the 10 s within which an approval must start
	MaxClaims int              // claims of one request beyond which it expires; default 3
	Retention time.Duration    // how long an ended request is kept; default 1 h
	Now       func() time.Time // default time.Now
}

// Memory is a gate.Requests that a restart empties. All methods may be called
// from any goroutine; none blocks on anything but its lock.
type Memory struct {
	opts Options

	mu   sync.Mutex
	rows map[string]*row
	ids  []string // in order of Open
}

type row struct {
	rec    gate.Record
	worker string
	lease  time.Time
	ended  time.Time
}

var _ gate.Requests = (*Memory)(nil)

// NewMemory returns an empty store with the default bounds.
func NewMemory() *Memory { return NewMemoryWith(Options{}) }

// NewMemoryWith returns an empty store; zero options mean the defaults.
func NewMemoryWith(o Options) *Memory {
	if o.Lease <= 0 {
		o.Lease = 15 * time.Second
	}
	if o.MaxClaims <= 0 {
		o.MaxClaims = 3
	}
	if o.Retention <= 0 {
		o.Retention = time.Hour
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Memory{opts: o, rows: map[string]*row{}}
}

// Open stores a new request as pending.
func (m *Memory) Open(_ context.Context, req gate.Request, snapshot []byte) error {
	switch {
	case req.CallID == "":
		return gate.Errf(gate.CodeInvalidArgument, "call_id", "is empty")
	case req.Digest == [32]byte{}:
		return gate.Errf(gate.CodeInvalidArgument, "digest", "is empty")
	case snapshot == nil:
		return gate.Errf(gate.CodeInvalidArgument, "snapshot", "there is none, so nothing could be shown for it")
	}
	now := m.opts.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.purge(now)
	if r, ok := m.rows[req.CallID]; ok {
		if r.rec.Request.Digest != req.Digest {
			return gate.Errf(gate.CodeInvalidArgument, "call_id", "%s is taken by a call with other arguments", req.CallID)
		}
		if r.rec.State == gate.RequestPending && !gate.Expired(now, r.rec.Request.Expiry) {
			return nil
		}
		return stateError(r.rec.State)
	}
	if gate.Expired(now, req.Expiry) {
		return gate.Errf(gate.CodeRequestExpired, "expiry", "is not ahead")
	}
	m.rows[req.CallID] = &row{rec: gate.Record{
		Request: req.Clone(), Snapshot: bytes.Clone(snapshot), State: gate.RequestPending,
	}}
	m.ids = append(m.ids, req.CallID)
	return nil
}

// Claim takes a request for a worker; of any number of concurrent claims one wins.
func (m *Memory) Claim(_ context.Context, id, worker, decider string, now time.Time) (int, error) {
	if worker == "" || decider == "" {
		return 0, gate.Errf(gate.CodeInvalidArgument, "worker", "a claim names its worker and who decided")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.live(id, now)
	if err != nil {
		return 0, err
	}
	switch {
	case r.rec.State == gate.RequestPending:
	case r.rec.State == gate.RequestClaimed && gate.Expired(now, r.lease):
		if r.rec.Claims >= m.opts.MaxClaims {
			m.end(r, gate.RequestExpired)
			return 0, stateError(gate.RequestExpired)
		}
	default:
		return 0, stateError(r.rec.State)
	}
	r.rec.State = gate.RequestClaimed
	r.rec.Claims++
	r.rec.Decider, r.rec.Decision = decider, gate.Approved
	r.worker, r.lease = worker, now.Add(m.opts.Lease)
	return r.rec.Claims, nil
}

// Start records that physics is about to begin; an error means don't move.
func (m *Memory) Start(_ context.Context, id, worker string, claims int, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.live(id, now)
	if err != nil {
		return err
	}
	switch {
	case r.rec.State != gate.RequestClaimed:
		if r.rec.State == gate.RequestPending {
			return gate.Errf(gate.CodeNotApproved, "call_id", "nobody has claimed the request")
		}
		return stateError(r.rec.State)
	case r.worker != worker || r.rec.Claims != claims:
		return stateError(gate.RequestClaimed)
	case gate.Expired(now, r.lease):
		return gate.Errf(gate.CodeRequestExpired, "lease", "the claim has run out")
	}
	r.rec.State = gate.RequestStarted
	return nil
}

// Finish ends a request.
func (m *Memory) Finish(_ context.Context, id string, state gate.RequestState, answer []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.rows[id]
	if !ok {
		return notFound(id)
	}
	if !slices.Contains(ends(r.rec.State), state) {
		if !isEnd(state) {
			return gate.Errf(gate.CodeInvalidArgument, "state", "%q ends nothing", state)
		}
		return stateError(r.rec.State)
	}
	r.rec.Answer = bytes.Clone(answer)
	if state == gate.RequestRejected {
		r.rec.Decision = gate.Rejected
	}
	m.end(r, state)
	return nil
}

// Get returns a copy. A request whose expiry has passed before it was started
// reads as expired.
func (m *Memory) Get(_ context.Context, id string) (gate.Record, error) {
	now := m.opts.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.rows[id]
	if !ok {
		return gate.Record{}, notFound(id)
	}
	m.expire(r, now)
	return r.rec.Clone(), nil
}

// Pending lists open requests, oldest first.
func (m *Memory) Pending(_ context.Context, now time.Time) ([]gate.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []gate.Record
	for _, id := range m.ids {
		r := m.rows[id]
		m.expire(r, now)
		if r.rec.State == gate.RequestPending {
			out = append(out, r.rec.Clone())
		}
	}
	return out, nil
}

// live returns the row, expired first where its time has come; mu is held.
func (m *Memory) live(id string, now time.Time) (*row, error) {
	r, ok := m.rows[id]
	if !ok {
		return nil, notFound(id)
	}
	m.expire(r, now)
	if r.rec.State == gate.RequestExpired {
		return nil, stateError(gate.RequestExpired)
	}
	return r, nil
}

// expire ends a request that hasn't started by its expiry; mu is held.
func (m *Memory) expire(r *row, now time.Time) {
	if (r.rec.State == gate.RequestPending || r.rec.State == gate.RequestClaimed) && gate.Expired(now, r.rec.Request.Expiry) {
		m.end(r, gate.RequestExpired)
	}
}

func (m *Memory) end(r *row, state gate.RequestState) {
	r.rec.State, r.ended = state, m.opts.Now()
}

// purge forgets ended requests whose retention and expiry have both passed; mu is held.
func (m *Memory) purge(now time.Time) {
	m.ids = slices.DeleteFunc(m.ids, func(id string) bool {
		r := m.rows[id]
		m.expire(r, now)
		if !isEnd(r.rec.State) || !gate.Expired(now, r.rec.Request.Expiry) || !gate.Expired(now, r.ended.Add(m.opts.Retention)) {
			return false
		}
		delete(m.rows, id)
		return true
	})
}
