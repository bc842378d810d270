package gate

import (
	"context"
	"fmt"
	"time"
)

// tierGate is the place of the error events that say that what would run, or ran,
// isn't what was decided (G12).
const tierGate = "tier_gate"

func (g *Gate) exemptPermit() permit {
	now := g.cfg.Now()
	return permit{exempt: true, asked: now, decided: now, expiry: now.Add(g.cfg.RequestTTL), boot: g.boot()}
}

// execute gives a permitted action to the lane and waits for its rest.
func (g *Gate) execute(ctx context.Context, c *call, p *plan, m permit) Answer {
	if m.exempt {
		err := p.fresh(m.asked)
		if err == nil {
			m.digest, err = c.inputs(p, c.session, p.policy, p.own, m.expiry).digest()
		}
		if err == nil {
			err = g.logReady()
		}
		if err != nil {
			return c.refuse(err)
		}
		c.opened(permit{digest: m.digest})
	}
	c.step("waiting for the lane")
	// An approval that hasn't started in time lapses while it waits (G44).
	wait, lapse := context.WithCancelCause(ctx)
	defer lapse(nil)
	timer := time.AfterFunc(g.cfg.StartWithin, func() { lapse(g.tooLate()) })
	defer timer.Stop()

	if m.row {
		defer g.renewing(m.lease)()
	}
	var a Answer
	entered := false
	err := g.cfg.Lane.Do(wait, c.epoch, func(lctx context.Context) {
		entered = true
		defer func() {
			if r := recover(); r != nil {
				a = g.panicked(c, r)
			}
		}()
		if !timer.Stop() {
			a = c.refuse(g.tooLate())
			return
		}
		a = g.inLane(lctx, c, p, m)
	})
	if err != nil && (!entered || a.Status == "") {
		a = c.refuse(err)
	}
	if m.row {
		g.finishRequest(c, endState(c, a), a, "")
	}
	return a
}

func (g *Gate) tooLate() *Error {
	return Errf(CodeRequestExpired, "", "the approval didn't start within %v and has lapsed; it was not run", g.cfg.StartWithin)
}

func endState(c *call, a Answer) RequestState {
	switch {
	case c.ran && a.Status == StatusUnknown:
		return RequestUnknown
	case c.ran:
		return RequestDone
	case a.Code == CodeStopped:
		return RequestStopped
	case a.Code == CodeRequestExpired:
		return RequestExpired
	}
	return RequestWithdrawn
}

// inLane checks everything again from live inputs and then runs the action, once.
func (g *Gate) inLane(ctx context.Context, c *call, p *plan, m permit) Answer {
	if err := g.recheck(ctx, c, p, m); err != nil {
		return c.refuse(err)
	}
	if err := g.logReady(); err != nil {
		return c.refuse(err)
	}
	if !startedLate {
		if err := g.begin(ctx, c, m); err != nil {
			return c.refuse(asError(err, CodeInternal))
		}
	}
	if ctx.Err() != nil {
		// Recorded as started and not run: the answer, stored with it, says so.
		return c.refuse(ended(ctx))
	}
	c.step("running")
	c.ran = true
	a := g.runAction(ctx, c, p.action)
	if startedLate {
		_ = g.begin(ctx, c, m) // the fault that a test is there to find
	}
	g.afterRun(c, p)
	return a
}

// runAction runs a call's action and says what became of it. One that fails inside has
// done nobody knows what.
func (g *Gate) runAction(ctx context.Context, c *call, a Action) Answer {
	res, err := guard(c.inv.Tool, func() (Result, error) { return a.Run(withRunning(ctx, c)) })
	if err != nil && CodeOf(err) == CodeInternal {
		c.cause = err
		err = Errf(CodeUnknownOutcome, c.inv.Tool, "the tool failed inside while it ran: %w", err)
		res.Status = StatusUnknown
	}
	return g.answer(c, res, err)
}

// begin records that physics is about to begin: of its request, or, of a call that is
// exempt from one, that its session has gone on (G44, G47). An error means don't move.
func (g *Gate) begin(ctx context.Context, c *call, m permit) error {
	_, err := guard("requests", func() (struct{}, error) {
		if !m.row {
			return struct{}{}, g.cfg.Requests.Moved(ctx, c.session.Name)
		}
		c.begun = true
		return struct{}{}, g.cfg.Requests.Start(ctx, m.lease, g.cfg.Now())
	})
	c.started = err == nil && m.row
	return err
}

// recheck compares what was decided with what is now (G12, G44).
func (g *Gate) recheck(ctx context.Context, c *call, p *plan, m permit) error {
	now := g.cfg.Now()
	if g.lapsed(m) {
		return Errf(CodeRequestExpired, "", "the request expired at %s; it was not run", m.expiry.UTC().Format(time.RFC3339))
	}
	if Expired(now, m.decided.Add(g.cfg.StartWithin)) {
		return g.tooLate()
	}
	s, err := g.session(c.inv.Session)
	if err != nil {
		return err
	}
	policy, err := g.policy()
	if err != nil {
		return err
	}
	if err := g.mayUse(c.inv.Principal, c.inv.Tool); err != nil {
		return err
	}
	if !m.exempt {
		if err := g.mayDecide(m.by); err != nil {
			return err
		}
	}
	if err := c.entry.live(true); err != nil {
		return g.drift(c, err)
	}
	if s != c.session {
		return g.drift(c, fmt.Errorf("the session's mode or backend changed"))
	}
	if policy != p.policy {
		return g.drift(c, fmt.Errorf("the policy changed"))
	}
	if _, err := guard(c.inv.Tool, func() (struct{}, error) { return struct{}{}, p.action.Check(ctx) }); err != nil {
		return asError(err, CodeInternal)
	}
	own, err := guard(c.inv.Tool, func() ([32]byte, error) { return p.action.Digest(), nil })
	if err != nil {
		return err
	}
	resource, err := guard(c.inv.Tool, func() (string, error) { return p.action.Resource(), nil })
	if err != nil {
		return err
	}
	in := c.inputs(p, s, policy, own, m.expiry)
	in.resource = resource
	digest, err := in.digest()
	if err != nil {
		return err
	}
	if digest != m.digest {
		return g.drift(c, fmt.Errorf("the digest is %s, %s was decided", hexOf(digest), hexOf(m.digest)))
	}
	if ctx.Err() != nil {
		return ended(ctx)
	}
	return nil
}

// drift refuses an action that isn't the one that was decided, and says so in the log.
func (g *Gate) drift(c *call, why error) error {
	g.errorEvent(c, tierGate, CodeNotApproved, "what would have run isn't what was decided: "+why.Error())
	return &Error{
		Code: CodeNotApproved, Where: tierGate,
		Text: "what would run isn't what was approved (" + asError(why, "").Message() + "); it was not run", Err: why,
	}
}

// afterRun compares once more: an action that isn't the decided one any more
// after it ran is reported, whatever it answered.
func (g *Gate) afterRun(c *call, p *plan) {
	own, err := guard(c.inv.Tool, func() ([32]byte, error) { return p.action.Digest(), nil })
	if err != nil || own != p.own {
		g.errorEvent(c, tierGate, CodeNotApproved, fmt.Sprintf("what ran isn't what was decided: the action's digest is %s, %s was decided", hexOf(own), hexOf(p.own)))
	}
}

// finishRequest ends the stored request. It goes on when the caller has gone.
func (g *Gate) finishRequest(c *call, state RequestState, a Answer, by string) {
	if c.started && state != RequestUnknown {
		state = RequestDone
	}
	a = c.complete(g.after(c, a)) // nothing is stored that the caller doesn't get
	a.CallID = c.request()
	if err := g.endRequest(c.request(), Ending{State: state, Answer: a.JSON(), Decider: by}, c.begun); err != nil {
		g.logFault("the request could not be ended", c, err)
	}
}
