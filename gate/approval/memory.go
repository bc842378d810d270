package approval

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tau-robot/tau/gate"
)

// Memory is a gate.Requests, gate.Grants and gate.Routines that a restart empties. All methods may be called
// from any goroutine; none blocks on anything but its lock.
type Memory struct {
	opts Options

	mu   sync.Mutex
	rows map[string]*row
	ids  []string // in order of Open
	// In the order in which they were added.
	grants   []*grantRow
	routines []*routineRow
}

type row struct {
	rec     gate.Record
	secret  [32]byte // the hash
	asked   reading
	worker  string
	claimed reading
	renewed reading
	lease   time.Time
	ended   time.Time
}

var _ gate.Requests = (*Memory)(nil)

// NewMemory returns an empty store with the default bounds.
func NewMemory() *Memory { return NewMemoryWith(Options{}) }

// NewMemoryWith returns an empty store.
func NewMemoryWith(o Options) *Memory {
	return &Memory{opts: o.filled(), rows: map[string]*row{}}
}

// Open stores a new request as pending.
func (m *Memory) Open(_ context.Context, req gate.Request, snapshot []byte) (gate.Secret, error) {
	req, err := storable(req, snapshot)
	if err != nil {
		return gate.Secret{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.opts.read(m.opts.Now())
	m.purge(now)
	return m.open(req, snapshot, now)
}

// open enters a request; mu is held.
func (m *Memory) open(req gate.Request, snapshot []byte, now reading) (gate.Secret, error) {
	secret, err := newSecret(m.opts.Rand)
	if err != nil {
		return gate.Secret{}, err
	}
	if r, ok := m.rows[req.CallID]; ok {
		m.expire(r, now)
		switch {
		case r.rec.Request.Digest != req.Digest:
			return gate.Secret{}, errTaken(req.CallID)
		case r.rec.State != gate.RequestPending:
			return gate.Secret{}, stateError(r.rec.State)
		}
		r.secret = hashOf(secret)
		return secret, nil
	}
	if now.over(req.Expiry, now) {
		return gate.Secret{}, gate.Errf(gate.CodeRequestExpired, "expiry", "is not ahead")
	}
	m.rows[req.CallID] = &row{
		rec:    gate.Record{Request: req, Snapshot: bytes.Clone(snapshot), State: gate.RequestPending},
		secret: hashOf(secret), asked: now,
	}
	m.ids = append(m.ids, req.CallID)
	return secret, nil
}

// Read returns a request, with a fresh secret where it can be claimed.
func (m *Memory) Read(_ context.Context, id string, now time.Time) (gate.Record, gate.Secret, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.rows[id]
	if !ok {
		return gate.Record{}, gate.Secret{}, notFound(id)
	}
	at := m.opts.read(now)
	m.expire(r, at)
	if r.rec.State != gate.RequestPending && !(r.rec.State == gate.RequestClaimed && r.leaseOver(at)) {
		return r.rec.Clone(), gate.Secret{}, nil
	}
	secret, err := newSecret(m.opts.Rand)
	if err != nil {
		return gate.Record{}, gate.Secret{}, err
	}
	r.secret = hashOf(secret)
	return r.rec.Clone(), secret, nil
}

// Claim takes a request for a worker; of any number of concurrent claims one wins.
func (m *Memory) Claim(_ context.Context, c gate.Claim) (gate.Lease, error) {
	if err := checkClaim(c); err != nil {
		return gate.Lease{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.opts.read(c.Now)
	r, err := m.live(c.ID, now)
	if err != nil {
		return gate.Lease{}, err
	}
	if err := noClaim(r.rec, r.secret, r.leaseOver(now), m.opts.MaxClaims, c); err != nil {
		if gate.CodeOf(err) == gate.CodeRequestExpired {
			m.end(r, gate.RequestExpired, now)
		}
		return gate.Lease{}, err
	}
	r.rec.State = gate.RequestClaimed
	r.rec.Claims++
	r.rec.Decider, r.rec.Decision = c.Decider, gate.Approved
	r.worker, r.claimed, r.renewed, r.lease = c.Worker, now, now, c.Now.Add(m.opts.Lease)
	return gate.Lease{ID: c.ID, Worker: c.Worker, Claims: r.rec.Claims, Until: r.lease}, nil
}

// Renew prolongs a lease.
func (m *Memory) Renew(_ context.Context, l gate.Lease, now time.Time) (gate.Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, at, err := m.held(l, now)
	if err != nil {
		return gate.Lease{}, err
	}
	if r.claimed.id != at.id || r.claimed.over(r.claimed.wall.Add(m.opts.HardStop), at) {
		return gate.Lease{}, errHardStop()
	}
	r.renewed, r.lease = at, earlier(now.Add(m.opts.Lease), r.claimed.wall.Add(m.opts.HardStop))
	l.Until = r.lease
	return l, nil
}

// Start records that physics is about to begin; an error means don't move.
func (m *Memory) Start(_ context.Context, l gate.Lease, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, _, err := m.held(l, now)
	if err != nil {
		return err
	}
	r.rec.State = gate.RequestStarted
	m.overtake(r.rec.Request.Session.Name, l.ID)
	return nil
}

// Moved records that a session has moved without a request.
func (m *Memory) Moved(_ context.Context, session string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.overtake(session, "")
	return nil
}

// overtake marks a session's open requests from before id; "": all. mu is held.
func (m *Memory) overtake(session, id string) {
	for _, other := range m.ids {
		if other == id {
			return
		}
		r := &m.rows[other].rec
		if r.Request.Session.Name == session && (r.State == gate.RequestPending || r.State == gate.RequestClaimed) {
			r.GoneOn = true
		}
	}
}

// Replace withdraws a claimed request and opens another one.
func (m *Memory) Replace(_ context.Context, l gate.Lease, req gate.Request, snapshot []byte, now time.Time) (gate.Secret, error) {
	req, err := storable(req, snapshot)
	if err != nil {
		return gate.Secret{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, at, err := m.held(l, now)
	if err != nil {
		return gate.Secret{}, err
	}
	if m.rows[req.CallID] != nil {
		return gate.Secret{}, errTaken(req.CallID)
	}
	secret, err := m.open(req, snapshot, at)
	if err != nil {
		return gate.Secret{}, err
	}
	r.rec.Answer, r.rec.Decision = replacedBy(req.CallID), 0
	m.end(r, gate.RequestWithdrawn, at)
	return secret, nil
}

// Finish ends a request.
func (m *Memory) Finish(_ context.Context, id string, e gate.Ending) error {
	state, answer := e.State, e.Answer
	if len(answer) > maxAnswer {
		answer = nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.rows[id]
	if !ok {
		return notFound(id)
	}
	if !slices.Contains(ends(r.rec.State), state) {
		return cantFinish(r.rec.State, state)
	}
	r.rec.Answer = bytes.Clone(answer)
	if state == gate.RequestRejected {
		r.rec.Decision = gate.Rejected
	}
	if e.Decider != "" {
		r.rec.Decider = e.Decider
	}
	m.end(r, state, m.opts.read(m.opts.Now()))
	return nil
}

// Get returns a copy. A request whose expiry has passed before it was started
// reads as expired.
func (m *Memory) Get(_ context.Context, id string) (gate.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.rows[id]
	if !ok {
		return gate.Record{}, notFound(id)
	}
	m.expire(r, m.opts.read(m.opts.Now()))
	return r.rec.Clone(), nil
}

// Pending lists open requests, oldest first, without their bulk.
func (m *Memory) Pending(_ context.Context, now time.Time) ([]gate.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.opts.read(now)
	var out []gate.Record
	for _, id := range m.ids {
		r := m.rows[id]
		m.expire(r, at)
		if r.rec.State == gate.RequestPending {
			out = append(out, r.light())
		}
	}
	return out, nil
}

// Recover settles what other workers left. In memory those are workers of the
// same process, and whoever calls it knows that they have ended.
func (m *Memory) Recover(_ context.Context, worker string, now time.Time) (gate.Recovered, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.opts.read(now)
	m.purge(at)
	var out gate.Recovered
	for _, id := range m.ids {
		r := m.rows[id]
		switch {
		case r.worker == worker:
		case r.rec.State == gate.RequestStarted:
			m.end(r, gate.RequestUnknown, at)
			out.Unknown = append(out.Unknown, r.light())
		case r.rec.State == gate.RequestClaimed:
			out.Reopened = append(out.Reopened, r.light())
			r.rec.State, r.rec.Decision, r.rec.Decider = gate.RequestPending, 0, ""
			r.worker, r.lease = "", time.Time{}
		}
		if r.rec.State == gate.RequestPending && r.asked.id != at.id {
			r.asked = at
		}
	}
	for _, g := range m.grants {
		g.rebase(at)
	}
	for _, r := range m.routines {
		r.rebase(at)
	}
	return out, nil
}

// light returns a copy without bulk; mu is held.
func (r *row) light() gate.Record {
	rec := r.rec
	rec.Snapshot, rec.Request.Card.Data = nil, nil
	return rec.Clone()
}

func (r *row) leaseOver(now reading) bool { return r.renewed.over(r.lease, now) }

// live returns the row, expired first where its time has come; mu is held.
func (m *Memory) live(id string, now reading) (*row, error) {
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

// held returns the row that a lease in force holds; mu is held.
func (m *Memory) held(l gate.Lease, now time.Time) (*row, reading, error) {
	at := m.opts.read(now)
	r, err := m.live(l.ID, at)
	if err == nil {
		err = noLease(r.rec, r.worker, r.leaseOver(at), l)
	}
	return r, at, err
}

// expire ends a request that hasn't started by its expiry; mu is held.
func (m *Memory) expire(r *row, now reading) {
	if (r.rec.State == gate.RequestPending || r.rec.State == gate.RequestClaimed) && r.asked.over(r.rec.Request.Expiry, now) {
		m.end(r, gate.RequestExpired, now)
	}
}

func (m *Memory) end(r *row, state gate.RequestState, now reading) {
	r.rec.State, r.ended = state, now.wall
}

// purge forgets ended requests whose retention and expiry have both passed; mu is held.
func (m *Memory) purge(now reading) {
	m.ids = slices.DeleteFunc(m.ids, func(id string) bool {
		r := m.rows[id]
		m.expire(r, now)
		if !isEnd(r.rec.State) || !gate.Expired(now.wall, r.rec.Request.Expiry) || !gate.Expired(now.wall, r.ended.Add(m.opts.Retention)) {
			return false
		}
		delete(m.rows, id)
		return true
	})
}
