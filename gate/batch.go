package gate

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"
)

// Bounds of a batch.
const (
	MaxBatch         = 32  // calls; also what an MCP client may have open
	MaxBatchID       = 128 // bytes of its name
	DefaultBatchWait = 10 * time.Second
	maxOpenBatches   = 8 // that one principal has begun and not completed
)

// toolAccess is decided alone: it takes all its neighbours out of a batch (G48).
const toolAccess = "request_access"

// Batch says which calls a front end was given at once (G23): those of one session,
// principal and origin that carry the same ID and Size. The zero value is a call that
// came alone.
//
// Its calls wait until all of them are there, at most Config.BatchWait. Then those of
// tier 0 and 1 run, each by itself, and after them those of tier 2, one after another
// in their order. Once one of these is refused or fails the later ones are cancelled.
type Batch struct {
	ID   string // at most MaxBatchID bytes
	Size int    // of the calls, 1 to MaxBatch
	// Place is the call's, 1 to Size, each once. 0, in all of them or in none: they
	// have the order in which they arrived.
	Place int
}

type batchKey struct{ session, principal, origin, id string }

// batches are those that aren't complete yet.
type batches struct {
	mu   sync.Mutex
	open map[batchKey]*batch
}

// batch is a step of several calls. What isn't under its lock is written before ready
// is closed, and only read afterwards.
type batch struct {
	key   batchKey
	size  int
	timer *time.Timer
	ready chan struct{}
	err   error  // why all of it is refused
	why   string // the reason that is recorded

	mu       sync.Mutex
	members  []*member     // in their order once ready is closed
	deciding bool          // all are there; nobody leaves any more before ready is closed
	changed  chan struct{} // closed and made anew when a member has settled or ended
}

// member is a call of a batch.
type member struct {
	b     *batch
	c     *call
	bad   error // why it was refused before the batch came together
	err   error // why it is refused for its neighbours' sake
	alone bool  // its neighbours don't matter to it
	tool  string

	// under b.mu
	left     bool // its caller gave up before all of the batch was there
	settled  bool // physical is final
	physical bool
	ended    bool
	failed   Status // how it ended, unless that was well
}

func (k Batch) check() error {
	switch {
	case k.ID == "" || len(k.ID) > MaxBatchID || !utf8.ValidString(k.ID):
		return Errf(CodeInvalidArgument, "batch", "its id must be 1 to %d bytes of UTF-8", MaxBatchID)
	case k.Size < 1 || k.Size > MaxBatch:
		return &Error{
			Code: CodeInvalidArgument, Where: "batch", Text: "its size must be from 1 to the limit",
			Value: &Quantity{Value: float64(k.Size), Unit: "calls"}, Limit: &Quantity{Value: MaxBatch, Unit: "calls"},
		}
	case k.Place < 0 || k.Place > k.Size:
		return Errf(CodeInvalidArgument, "batch", "place %d isn't in a batch of %d", k.Place, k.Size)
	}
	return nil
}

// step takes a call into the step that it is part of, once all of that is there; bad
// is why the call is refused already. Its error refuses the call.
func (g *Gate) step(ctx context.Context, c *call, bad error) error {
	if c.inv.Batch == (Batch{}) {
		return g.alone(ctx, c, bad)
	}
	if err := c.inv.Batch.check(); err != nil {
		return c.because("batch", err)
	}
	m, complete, err := g.batches.join(g, c, bad)
	if err != nil {
		return c.because("batch", err)
	}
	c.member = m
	if complete {
		g.decideBatch(m.b)
	}
	select {
	case <-m.b.ready:
	case <-ctx.Done():
		if m.leave() {
			return ended(ctx)
		}
		<-m.b.ready
	}
	switch {
	case bad != nil:
		return bad
	case m.b.err != nil:
		return c.because(m.b.why, m.b.err)
	case m.err != nil:
		return c.because("batch", m.err)
	}
	return nil
}

// alone is a step of one call.
func (g *Gate) alone(ctx context.Context, c *call, bad error) error {
	if g.budget.on {
		g.known(c)
		if err := g.budget.take([]*call{c}, c.start); err != nil {
			return c.because("budget", err)
		}
	}
	if bad != nil || len(g.hooks.batch) == 0 {
		return bad
	}
	why, err := g.beforeBatch(ctx, []*call{c}, func(int) bool { return false })
	if err != nil {
		return c.because(why, err)
	}
	return nil
}

// known sets the session of a call that was refused before it was looked up, so that
// what a model sends in a loop is counted whatever it is.
func (g *Gate) known(c *call) {
	if c.session.Name != "" {
		return
	}
	if s, err := g.session(c.inv.Session); err == nil || s.Name != "" {
		c.setSession(s)
	}
}

// join puts a call into its batch. complete is true for the one that was missing last.
func (b *batches) join(g *Gate, c *call, bad error) (m *member, complete bool, err error) {
	k := batchKey{c.inv.Session, c.inv.Principal, c.inv.Origin, c.inv.Batch.ID}
	b.mu.Lock()
	defer b.mu.Unlock()
	x := b.open[k]
	if x == nil {
		if b.begun(k) >= maxOpenBatches {
			return nil, false, Errf(CodeRateLimited, "batch", "%d batches wait for the rest of their calls, and no more may; it was not run", maxOpenBatches)
		}
		x = &batch{key: k, size: c.inv.Batch.Size, ready: make(chan struct{}), changed: make(chan struct{})}
		if b.open == nil {
			b.open = map[batchKey]*batch{}
		}
		b.open[k] = x
		x.timer = time.AfterFunc(g.cfg.BatchWait, func() { b.expire(x, g.cfg.BatchWait) })
	}
	m = &member{b: x, c: c, bad: bad, tool: clip(c.inv.Tool, maxName)}
	if err := x.add(m); err != nil {
		b.end(x, "batch", err)
		return m, false, nil
	}
	if len(x.members) < x.size {
		return m, false, nil
	}
	x.timer.Stop()
	delete(b.open, k)
	return m, true, nil
}

// begun counts a principal's incomplete batches.
func (b *batches) begun(k batchKey) int {
	n := 0
	for other := range b.open {
		if other.session == k.session && other.principal == k.principal && other.origin == k.origin {
			n++
		}
	}
	return n
}

// add takes a member in, and puts all in their order. Calls that don't agree on the
// batch refuse it whole: what was meant can't be known.
func (x *batch) add(m *member) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.members = append(x.members, m)
	k := m.c.inv.Batch
	for _, o := range x.members[:len(x.members)-1] {
		other := o.c.inv.Batch
		switch {
		case k.Size != other.Size:
			return Errf(CodeInvalidArgument, "batch", "its calls name different sizes, %d and %d; none of it was run", other.Size, k.Size)
		case (k.Place == 0) != (other.Place == 0):
			return Errf(CodeInvalidArgument, "batch", "some of its calls name a place and some don't; none of it was run")
		case k.Place != 0 && k.Place == other.Place:
			return Errf(CodeInvalidArgument, "batch", "two of its calls have place %d; none of it was run", k.Place)
		}
	}
	slices.SortStableFunc(x.members, func(a, b *member) int { return a.c.inv.Batch.Place - b.c.inv.Batch.Place })
	return nil
}

// end refuses a batch that isn't complete. The caller holds b.mu.
func (b *batches) end(x *batch, why string, err error) {
	if b.open[x.key] != x {
		return
	}
	delete(b.open, x.key)
	x.timer.Stop()
	x.err, x.why = err, why
	close(x.ready)
}

func (b *batches) expire(x *batch, waited time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x.mu.Lock()
	n := len(x.members)
	x.mu.Unlock()
	b.end(x, "batch incomplete", Errf(CodeInvalidArgument, "batch", "%d of its %d calls came within %v; none of it was run", n, x.size, waited))
}

// endAll ends every batch that waits for the rest of its calls: a stop, or the end of
// the gate.
func (b *batches) endAll(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, x := range b.open {
		b.end(x, "batch", err)
	}
}

// decideBatch settles what becomes of a complete batch. It depends on the batch alone.
func (g *Gate) decideBatch(x *batch) {
	defer close(x.ready)
	members := x.decide()
	calls := make([]*call, len(members))
	physical, access := 0, -1
	for i, m := range members {
		calls[i] = m.c
		if m.c.entry != nil && m.c.entry.spec.Tier == TierPhysical {
			physical++
		}
		if access < 0 && m.tool == toolAccess {
			access = i
		}
	}
	if access >= 0 {
		members[access].alone = true
		for i, m := range members {
			if i != access {
				m.err = Errf(CodeCancelled, "", "%s in the same batch is decided alone; this call was cancelled and not run. Send it again after that answer", toolAccess)
			}
		}
	} else if physical > g.cfg.MaxOpen {
		x.why, x.err = "batch", &Error{
			Code: CodeRateLimited, Where: "batch", Text: "it has more physical calls than a session may have open; none of it was run",
			Value: &Quantity{Value: float64(physical), Unit: "calls"}, Limit: &Quantity{Value: float64(g.cfg.MaxOpen), Unit: "calls"},
		}
		return
	}
	for _, c := range calls {
		if g.budget.on {
			g.known(c)
		}
	}
	if err := g.budget.take(calls, g.cfg.Now()); err != nil {
		x.why, x.err = "budget", err
		return
	}
	if len(g.hooks.batch) > 0 {
		x.why, x.err = g.beforeBatch(g.root, calls, func(i int) bool { return members[i].bad != nil || members[i].err != nil })
	}
}

// decide returns the members that are still there. They stay until ready is closed.
func (x *batch) decide() []*member {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.deciding = true
	return slices.DeleteFunc(slices.Clone(x.members), func(m *member) bool { return m.left })
}

// leave takes a member out whose caller has given up; false: it is too late for that.
func (m *member) leave() bool {
	m.b.mu.Lock()
	defer m.b.mu.Unlock()
	m.left = !m.b.deciding
	return m.left
}

// beforeBatch asks the before-batch hooks about a step, once.
func (g *Gate) beforeBatch(ctx context.Context, calls []*call, refused func(int) bool) (why string, _ error) {
	first := calls[0]
	for _, h := range g.hooks.batch {
		s := Step{Session: first.session, Principal: first.inv.Principal, Origin: first.inv.Origin, Turn: first.inv.Turn}
		for i, c := range calls {
			sc := StepCall{CallID: c.id, Tool: c.inv.Tool, Args: slices.Clone(c.args), Refused: refused(i)}
			if c.entry != nil {
				sc.Tier = c.entry.spec.Tier
			}
			s.Calls = append(s.Calls, sc)
		}
		refuse, err := guard(h.Name, func() (*Error, error) { return h.BeforeBatch(ctx, s) })
		if err != nil {
			return failedReason(h), g.hookFailed(first, h, err)
		}
		if refuse != nil {
			return "hook " + h.Name, hookRefusal(refuse, "this step")
		}
	}
	return "", nil
}

// settle fixes whether the member is physical, once its hooks have had their say.
func (m *member) settle(physical bool) {
	m.b.mu.Lock()
	defer m.b.mu.Unlock()
	if !m.settled {
		m.settled, m.physical = true, physical
		m.b.tell()
	}
}

// end records how the member ended. What isn't known to be harmless was physical.
func (m *member) end(a Answer) {
	m.b.mu.Lock()
	defer m.b.mu.Unlock()
	if !m.settled {
		m.settled, m.physical = true, m.c.entry == nil || m.c.entry.spec.Tier == TierPhysical
	}
	m.ended = true
	if a.Status != StatusOK {
		m.failed = a.Status
	}
	m.b.tell()
}

// tell wakes those who wait. The caller holds the lock.
func (x *batch) tell() {
	close(x.changed)
	x.changed = make(chan struct{})
}

// behind says whether a physical member has to wait still, or is cancelled because of
// one before it. Which one that is doesn't depend on which of them ended first.
func (m *member) behind() (wait <-chan struct{}, err error) {
	x := m.b
	x.mu.Lock()
	defer x.mu.Unlock()
	earlier := true
	for _, o := range x.members {
		switch {
		case o == m:
			earlier = false
		case o.physical && !earlier:
		case !o.settled || !o.ended:
			return x.changed, nil
		case o.physical && o.failed != "":
			return nil, Errf(CodeCancelled, "", "%s, an earlier call of the same batch, ended %s, so this one was cancelled and not run. Look at that answer first", o.tool, o.failed)
		}
	}
	return nil, nil
}

// batchTurn waits until a physical call's turn in its batch has come.
func (g *Gate) batchTurn(ctx context.Context, c *call) error {
	if c.member == nil || c.member.alone {
		return nil
	}
	c.step("waiting for the other calls of its batch")
	limit, cancel := context.WithTimeoutCause(ctx, g.cfg.QueueWait,
		Errf(CodeBusy, "", "waited %v for the other calls of its batch; it was not run", g.cfg.QueueWait))
	defer cancel()
	for {
		wait, err := c.member.behind()
		if err != nil {
			return c.because("batch", err)
		}
		if wait == nil {
			return nil
		}
		select {
		case <-wait:
		case <-limit.Done():
			return ended(limit)
		}
	}
}

func (k Batch) String() string { return fmt.Sprintf("%s (%d of %d)", k.ID, k.Place, k.Size) }
