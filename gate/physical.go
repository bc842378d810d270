package gate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// plan is a prepared action with everything about it that was read at the time.
type plan struct {
	action   Action
	args     json.RawMessage // that it was made from; nobody changes them
	card     Card
	resource string
	own      [32]byte // the action's own digest
	policy   [32]byte
	stale    time.Time // the action's own expiry; it bounds only the time until it is asked
}

// physical takes a tier-2 call from its place in the queue to its end.
func (g *Gate) physical(parent context.Context, c *call) Answer {
	if err := g.justRefused(c); err != nil {
		return c.refuse(err)
	}
	ctx := parent
	if c.cancel == nil {
		inner, cancel := context.WithCancelCause(parent)
		defer cancel(nil)
		ctx, c.cancel = inner, cancel
	}
	if c.done == nil {
		c.done = make(chan struct{})
		if !g.enter() {
			return c.refuse(errClosing())
		}
		defer g.running.done()
	}
	if a, ok := g.replayStored(ctx, c); ok {
		return a
	}
	earlier, err := g.book.add(c, g.cfg.MaxOpen)
	if err != nil {
		return c.refuse(err)
	}
	if earlier != nil {
		return g.replay(ctx, c, earlier)
	}
	c.booked, c.undecided = true, true
	// Compared after the call can be seen: a stop either finds it or has raised this.
	if err := g.overtaken(c); err != nil {
		return c.refuse(err)
	}
	if err := g.logReady(); err != nil {
		return c.refuse(err)
	}
	if err := g.storeReady(); err != nil {
		return c.refuse(err)
	}

	if err := g.batchTurn(ctx, c); err != nil {
		return c.refuse(err)
	}

	// One call of a robot at a time, in order, from its planning to its rest.
	c.step("waiting for its turn")
	t := g.turnOf(c.session.Backend)
	if err := g.takeTurn(ctx, t); err != nil {
		return c.refuse(err)
	}
	defer t.pass()
	return g.atTurn(ctx, c)
}

func (g *Gate) takeTurn(ctx context.Context, t *turn) error {
	wait, cancel := context.WithTimeoutCause(ctx, g.cfg.QueueWait,
		Errf(CodeBusy, "", "waited %v for its turn; it was not run", g.cfg.QueueWait))
	defer cancel()
	if err := t.take(wait); err != nil {
		return ended(wait)
	}
	return nil
}

// atTurn prepares the call, has it decided and runs it.
func (g *Gate) atTurn(ctx context.Context, c *call) Answer {
	if err := g.justRefused(c); err != nil {
		return c.refuse(err) // a person refused its twin while it waited
	}
	p, err := g.prepare(ctx, c)
	if err != nil {
		return c.refuse(err)
	}
	if a, ok := g.ownAnswer(ctx, c, p); ok {
		return a
	}
	if !permits(c.inv.Tool) && g.exempted(c) {
		g.undecided(c)
		c.approval = ApprovalExempt
		return g.execute(ctx, c, p, g.exemptPermit())
	}
	if g.unattended() {
		return g.refuseUnattended(c, p)
	}
	if !g.question.try() {
		// Another robot's question is open. What was planned now would go stale
		// behind it, so it is planned again when this one's turn has come (G11).
		c.step("waiting for another question")
		if err := g.takeTurn(ctx, &g.question); err != nil {
			return c.refuse(err)
		}
		if p, err = g.prepare(ctx, c); err != nil {
			g.question.pass()
			return c.refuse(err)
		}
		if a, ok := g.ownAnswer(ctx, c, p); ok { // what was asked meanwhile may answer this one, too
			g.question.pass()
			return a
		}
	}
	permit, p, a, ok := g.ask(ctx, c, p)
	g.undecided(c)
	if !ok {
		return a
	}
	c.approval = ApprovalApproved
	return g.execute(ctx, c, p, permit)
}

// undecided takes the call out of its session's open questions, once.
func (g *Gate) undecided(c *call) {
	c.mu.Lock()
	c.decided = true
	c.mu.Unlock()
	if c.undecided {
		c.undecided = false
		g.book.decided(c.session.Name)
	}
}

// replay waits for the earlier call of the same id and gives its answer (G45).
// Another caller's id, or the same id with another call, is an error that says
// nothing of the earlier one.
func (g *Gate) replay(ctx context.Context, c, earlier *call) Answer {
	if !earlier.belongsTo(c.inv.Session, c.inv.Principal) || earlier.inv.Tool != c.inv.Tool || string(earlier.args) != string(c.args) {
		return c.refuse(Errf(CodeInvalidArgument, "call_id", "%s is taken by another call", c.id))
	}
	c.again = true
	select {
	case <-earlier.done:
	case <-ctx.Done():
	}
	return earlier.Answer()
}

func (c *call) belongsTo(session, principal string) bool {
	return c.inv.Session == session && c.inv.Principal == principal
}

// prepare plans and rehearses. Everything that the digest will need is read here,
// the session and the tool afresh.
func (g *Gate) prepare(ctx context.Context, c *call) (*plan, error) {
	return g.prepareWith(ctx, c, c.args)
}

// prepareWith is prepare with arguments that may not be the call's own.
func (g *Gate) prepareWith(ctx context.Context, c *call, args json.RawMessage) (*plan, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	c.step("planning and rehearsing")
	s, err := g.session(c.inv.Session)
	if err != nil {
		return nil, err
	}
	if s != c.session {
		return nil, Errf(CodeNotApproved, "session", "changed while the call waited; it was not run")
	}
	if err := c.entry.live(true); err != nil {
		return nil, err
	}
	if err := g.overtaken(c); err != nil {
		return nil, err
	}
	p := &plan{args: args}
	if p.policy, err = g.policy(); err != nil {
		return nil, err
	}
	in := c.forTool()
	in.Args = bytes.Clone(args)
	p.action, err = guard(c.inv.Tool, func() (Action, error) { return c.entry.tool.Prepare(ctx, in) })
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	if err != nil {
		return nil, asError(err, CodeInternal)
	}
	if err := p.describe(c.inv.Tool); err != nil {
		return nil, err
	}
	return p, nil
}

// describe reads what the action says of itself.
func (p *plan) describe(tool string) error {
	if p.action == nil {
		return Errf(CodeInternal, tool, "the tool prepared nothing")
	}
	_, err := guard(tool, func() (struct{}, error) {
		p.card = p.action.Card().Clone()
		p.own, p.resource, p.stale = p.action.Digest(), p.action.Resource(), p.action.Expiry()
		return struct{}{}, nil
	})
	if err == nil && p.own == ([32]byte{}) {
		err = Errf(CodeInternal, tool, "the tool's action has no digest, so nothing could be approved")
	}
	return err
}

func (g *Gate) policy() ([32]byte, error) {
	return guard("policy", func() ([32]byte, error) { return g.cfg.Policy(), nil })
}

// inputs gathers what the digest is made of. spec is the catalog's, args are the
// plan's; the rest is given.
func (c *call) inputs(p *plan, s Session, policy, own [32]byte, expiry time.Time) inputs {
	return inputs{
		spec: c.entry.spec, schema: c.entry.inputHash, args: p.args, session: s,
		principal: c.inv.Principal, policy: policy, expiry: expiry, resource: p.resource, action: own,
	}
}

func (p *plan) fresh(now time.Time) error {
	if !p.stale.IsZero() && Expired(now, p.stale) {
		return Errf(CodePlanExpired, "", "the plan expired at %s, before anybody was asked", p.stale.UTC().Format(time.RFC3339))
	}
	return nil
}

// justRefused refuses what a person has just refused in this session (G33).
func (g *Gate) justRefused(c *call) error {
	ago, yes := g.fatigue.recent(keyOf(c), g.cfg.Now())
	if !yes {
		return nil
	}
	return &Error{
		Code: CodeNotApproved,
		Text: notApprovedText(c.inv.Tool) + fmt.Sprintf(" The same call was refused %d s ago; it isn't asked again for %d s after that.",
			int(ago.Seconds()), int(refusedFor.Seconds())),
	}
}

// ended says why a context ended: in the words of whoever ended it, else CANCELLED.
func ended(ctx context.Context) *Error {
	cause := context.Cause(ctx)
	if cause == nil {
		cause = context.Canceled
	}
	e := asError(cause, CodeCancelled)
	if errors.Is(e.Err, context.Canceled) || errors.Is(e.Err, context.DeadlineExceeded) {
		return &Error{Code: CodeCancelled, Text: "the caller gave up", Err: cause}
	}
	return e
}
