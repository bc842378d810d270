package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Recovery is what a gate found in its store when it began.
type Recovery struct {
	// Unknown are the calls that were started when an earlier process ended. What
	// they did can't be known; they are never run again.
	Unknown []Record
	// Open are the requests that wait for an answer, oldest first, without bulk.
	Open []Record
	// Elsewhere are those of them whose session isn't open in this run: they are left
	// as they are until it is opened, their expiry passes, or somebody refuses them.
	Elsewhere []Record
}

// Recover takes up what an earlier process left in the store (G44, G47). To be
// called once, before anybody is let in: new calls queue behind what it takes up.
//
// What was started is told as unknown, in the log, as an event and to call_status.
// What waits for an answer is asked again, with the same card, once its turn has
// come: the action is made again from its snapshot, has the same digest, and passes
// its check. Where that fails the request expires, and its answer says why. A real
// session's waits until the session is what the card says, which SessionsChanged
// tells, and so does one whose session isn't open in this run at all. Where nobody can
// answer in this run they are left as they are. A stop since the gate was made ends
// what waits, as any other does.
//
// Recover itself blocks for the store only; nothing moves before it has returned,
// nor without a new answer.
func (g *Gate) Recover(ctx context.Context) (Recovery, error) {
	g.mu.Lock()
	again := g.recovered
	g.recovered = true
	g.mu.Unlock()
	if again {
		return Recovery{}, Errf(CodeInvalidArgument, "recover", "what an earlier process left has been taken up")
	}
	left, err := guard("requests", func() (Recovered, error) {
		return g.cfg.Requests.Recover(ctx, g.cfg.Worker, g.cfg.Now())
	})
	if err != nil {
		return Recovery{}, err
	}
	out := Recovery{Unknown: left.Unknown}
	for _, r := range left.Unknown {
		g.tellUnknown(r)
	}
	for _, r := range left.Reopened {
		g.cfg.Log.Warn("an approval was given and not begun when the bridge ended; it is asked again",
			"call_id", r.Request.CallID, "tool", r.Request.Tool, "decider", r.Decider)
	}
	out.Open, err = guard("requests", func() ([]Record, error) { return g.cfg.Requests.Pending(ctx, g.cfg.Now()) })
	if err != nil {
		return out, err
	}
	if g.unattended() {
		return out, nil
	}
	for _, r := range out.Open {
		if r.Owner != "" {
			continue // another bridge asks it
		}
		if g.here(r.Request) {
			g.takeUp(g.restoredCall(r.Request), g.born)
			continue
		}
		out.Elsewhere = append(out.Elsewhere, r)
	}
	g.watchElsewhere(out.Elsewhere)
	return out, nil
}

// SessionsChanged tells the gate that a session was opened or opted in, so that
// what waits for that is looked at again. It never blocks.
func (g *Gate) SessionsChanged() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.changed)
	g.changed = make(chan struct{})
}

func (g *Gate) restoredCall(q Request) *call {
	q = q.Clone()
	return &call{
		g: g, id: q.CallID, entry: g.cat.lookup(q.Tool), start: g.cfg.Now(), args: q.Args, session: q.Session,
		inv:  Invocation{Tool: q.Tool, Args: q.Args, CallID: q.CallID, Session: q.Session.Name, Principal: q.Principal, Origin: q.Origin},
		done: make(chan struct{}), restored: true, digest: q.Digest, expiry: q.Expiry,
	}
}

// tellUnknown ends a call that an earlier process had started.
func (g *Gate) tellUnknown(r Record) {
	c := g.restoredCall(r.Request)
	a := storedAnswer(r)
	c.ran, c.approval = true, a.Approval
	c.cause = Errf(a.Code, "", "%s", a.Text)
	c.cancel = func(error) {} // before a stop can find the call
	g.book.adopt(c)
	g.errorEvent(c, "recovery", a.Code, "the bridge ended while this ran; what it did can't be known, and it is not run again")
	g.finish(c, a)
}

// takeUp gives a request its place in the line, and goes on from there by itself. A
// stop since epoch ends it.
func (g *Gate) takeUp(c *call, epoch uint64) {
	if !g.enter() {
		return
	}
	ctx, cancel := context.WithCancelCause(g.root)
	c.cancel, c.epoch = cancel, epoch // a stop before this was adopted is one, too
	g.book.adopt(c)
	t := g.turnOf(c.session.Backend)
	var place chan struct{}
	if c.session.Mode != ModeReal {
		place = t.join()
	}
	go func() {
		defer g.running.done()
		defer cancel(nil)
		g.finish(c, g.resume(ctx, c, t, place))
	}()
}

// resume takes a request of an earlier process from its place in the line to its end.
func (g *Gate) resume(ctx context.Context, c *call, t *turn, place chan struct{}) (a Answer) {
	defer func() {
		if p := recover(); p != nil {
			a = g.panicked(c, p)
		}
	}()
	wait, cancel := context.WithTimeoutCause(ctx, c.expiry.Sub(g.cfg.Now()), expiredError(c.expiry))
	defer cancel()
	if place == nil {
		err := g.notStopped(c)
		if err == nil {
			err = g.awaitOptIn(wait, c)
		}
		if err != nil {
			return g.cantResume(c, err)
		}
		place = t.join()
	}
	c.step("waiting for its turn")
	if err := t.await(wait, place); err != nil {
		return g.cantResume(c, ended(wait))
	}
	defer t.pass()
	c.step("waiting for another question")
	if err := g.question.take(wait); err != nil {
		return g.cantResume(c, ended(wait))
	}
	permit, p, a, ok := g.askAgain(ctx, c)
	g.undecided(c)
	if !ok {
		return a
	}
	c.approval = ApprovalApproved
	return g.execute(ctx, c, p, permit)
}

func expiredError(at time.Time) *Error {
	return Errf(CodeRequestExpired, "", "the request expired at %s; it was not run", at.UTC().Format(time.RFC3339))
}

// awaitOptIn waits until a real session is real again; what it is then is looked at
// by whoever restores the request.
func (g *Gate) awaitOptIn(ctx context.Context, c *call) error {
	c.step("waiting for a new opt-in of session " + c.inv.Session)
	for {
		g.mu.Lock()
		changed := g.changed
		g.mu.Unlock()
		if s, err := g.session(c.inv.Session); err == nil && s.Mode == ModeReal {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ended(ctx)
		}
	}
}

// askAgain shows a request once more, if it still is what it was. The caller holds
// the question, which askAgain hands on.
func (g *Gate) askAgain(ctx context.Context, c *call) (permit, *plan, Answer, bool) {
	fail := func(err error) (permit, *plan, Answer, bool) {
		g.question.pass()
		return permit{}, nil, g.cantResume(c, err), false
	}
	// Looked at here and not by the store alone, which would end the request without an
	// answer: its turn may have come at the moment of its expiry.
	if Expired(g.cfg.Now(), c.expiry) {
		return fail(expiredError(c.expiry))
	}
	c.step("restoring")
	type read struct {
		rec    Record
		secret Secret
	}
	got, err := guard("requests", func() (read, error) {
		rec, secret, err := g.cfg.Requests.Read(ctx, c.id, g.cfg.Now())
		return read{rec, secret}, err
	})
	if err != nil {
		return fail(err)
	}
	if got.rec.State != RequestPending {
		// Somebody has ended it: its answer is what is stored, and what was told of it.
		g.question.pass()
		c.again = got.rec.State != RequestExpired
		return permit{}, nil, storedAnswer(got.rec), false
	}
	p, err := g.restore(ctx, c, got.rec)
	if err == nil {
		err = g.logReady()
	}
	if err != nil {
		return fail(err)
	}
	req := got.rec.Request
	req.Card = p.card
	m := permit{
		asked: g.cfg.Now(), expiry: req.Expiry, boot: g.boot(), digest: req.Digest, row: true,
		secret: got.secret, claims: got.rec.Claims,
	}
	return g.put(ctx, c, req, m, p)
}

// restore makes a stored request's action again and holds it against everything
// that the request says (G47). Its error is the reason why the request expires.
func (g *Gate) restore(ctx context.Context, c *call, rec Record) (*plan, error) {
	q := rec.Request
	if c.entry == nil {
		return nil, &Error{Code: CodeUnknownTool, Text: unknownToolText(clip(q.Tool, maxName))}
	}
	s, err := g.session(q.Session.Name)
	if err != nil {
		return nil, err
	}
	if s != q.Session {
		return nil, Errf(CodeNotApproved, "session", "its mode, its robot or its opt-in isn't what the card said")
	}
	if rec.GoneOn {
		return nil, Errf(CodeNotApproved, "session", "another of its calls has run since")
	}
	if err := g.mayUse(q.Principal, q.Tool); err != nil {
		return nil, err
	}
	if err := g.rates.allow(g.cfg.Now(), s.Name, q.Tool); err != nil {
		return nil, err
	}
	if err := g.allowedAgain(ctx, c); err != nil {
		return nil, err
	}
	if err := c.entry.live(true); err != nil {
		return nil, err
	}
	if err := g.notStopped(c); err != nil {
		return nil, err
	}
	p := &plan{args: q.Args}
	if p.policy, err = g.policy(); err != nil {
		return nil, err
	}
	p.action, err = guard(q.Tool, func() (Action, error) { return c.entry.tool.Restore(ctx, slices.Clone(rec.Snapshot)) })
	if err == nil {
		err = p.describe(q.Tool)
	}
	if err != nil {
		return nil, asError(err, CodeInternal)
	}
	digest, err := c.inputs(p, s, p.policy, p.own, q.Expiry).digest()
	if err != nil {
		return nil, err
	}
	if digest != q.Digest {
		return nil, Errf(CodeNotApproved, "digest", "what would run isn't what the card showed: tool, policy, robot or plan changed")
	}
	if !sameCard(p.card, q.Card) {
		return nil, Errf(CodeNotApproved, "card", "it would be another one")
	}
	if _, err := guard(q.Tool, func() (struct{}, error) { return struct{}{}, p.action.Check(ctx) }); err != nil {
		return nil, asError(err, CodeInternal)
	}
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	return p, nil
}

// notStopped refuses a call that is older than the last stop.
func (g *Gate) notStopped(c *call) error {
	if g.cfg.Lane.Epoch() != c.epoch {
		return Errf(CodeStopped, "", "a stop came first; it was not run")
	}
	return nil
}

// sameCard compares what a person reads; a drawing may have been too large to keep.
func sameCard(a, b Card) bool {
	if len(a.Data) == 0 || len(b.Data) == 0 {
		a.Data, b.Data = nil, nil
	}
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && string(x) == string(y)
}

// cantResume ends a request that can't be asked again, with the reason.
func (g *Gate) cantResume(c *call, why error) Answer {
	v := g.whyNot(c, asError(why, CodeInternal))
	_ = g.approvalEvent(c, v, Event{Digest: hexOf(c.digest)}, 0) // it ends either way; a failing log was reported
	if v.person {
		g.fatigue.add(keyOf(c), g.cfg.Now())
	}
	c.approval = v.approval
	a := c.refuse(v.err)
	g.finishRequest(c, v.state, a, v.by)
	return a
}

func (g *Gate) whyNot(c *call, e *Error) verdict {
	if no := c.refused(); no != nil {
		return g.rejected(c, verdict{reason: string(no.Reason), person: true, by: no.By})
	}
	v := verdict{decision: "expired", state: RequestExpired, approval: ApprovalNone}
	switch e.Code {
	case CodeStopped:
		v.decision, v.state, v.err = "stopped", RequestStopped, e
	case CodeCancelled:
		v.decision, v.state, v.err = "withdrawn", RequestWithdrawn, e
	case CodeRequestExpired:
		v.err = e
	default:
		v.err = &Error{
			Code: CodeRequestExpired, Err: e,
			Text: fmt.Sprintf("it waited for an answer when the bridge ended, and can't be asked again (%s: %s); it was not run", e.Code, e.Message()),
		}
	}
	v.reason = v.err.Message()
	return v
}
