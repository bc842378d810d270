package gate

import (
	"context"
	"errors"
	"time"
)

// permit is what lets an action run: a claimed approval, or an exemption.
type permit struct {
	exempt  bool
	digest  [32]byte
	asked   time.Time // by this process
	expiry  time.Time
	decided time.Time
	boot    time.Duration // boot clock when it was asked
	secret  Secret        // of the stored request, as it was shown
	claims  int           // how often it had been claimed by then
	lease   Lease         // of the claim
	row     bool          // there is a stored request to finish
	by      string        // who approved; "" for an exemption
}

// verdict is how a question ended.
type verdict struct {
	allowed  bool
	err      *Error       // why not
	approval ApprovalKind // for the answer and the tool_call event
	decision string       // for the approval event
	reason   string
	state    RequestState
	person   bool   // a person said no
	by       string // who decided
	edit     Edit   // asked for instead; then it allows nothing and ends nothing
	failed   error
}

var errQuestionTimeout = errors.New("nobody answered in time")

// unattended reports whether nobody can answer (G25). An approver whose own
// answer to that panics is asked nothing either.
func (g *Gate) unattended() bool {
	u, ok := g.cfg.Approver.(interface{ Unattended() bool })
	if !ok {
		return false
	}
	yes, err := guard("approver", func() (bool, error) { return u.Unattended(), nil })
	return yes || err != nil
}

func (g *Gate) refuseUnattended(c *call, p *plan) Answer {
	v := verdict{decision: "rejected", reason: "nobody can answer", approval: ApprovalRejected}
	e := Event{Card: ptr(p.card.Clone())}
	_ = g.approvalEvent(c, v, e, 0) // refused either way; a failing log was reported
	g.undecided(c)
	c.approval = ApprovalRejected
	return c.refuse(&Error{
		Code: CodeNotApproved,
		Text: unattendedText(c.inv.Tool, blockedText(c.inv.Tool, c.args, c.session)),
	})
}

// ask puts the one question. The caller holds g.question; it is handed on once
// the approver has taken its card away, which may be after ask has returned. The plan
// that comes back is the one that was approved.
func (g *Gate) ask(ctx context.Context, c *call, p *plan) (permit, *plan, Answer, bool) {
	handed := false
	defer func() {
		if !handed {
			g.question.pass()
		}
	}()
	refused := func(err error) (permit, *plan, Answer, bool) { return permit{}, p, c.refuse(err), false }

	if err := p.fresh(g.cfg.Now()); err != nil {
		return refused(err)
	}
	if err := g.justRefused(c); err != nil {
		return refused(err)
	}
	if err := g.logReady(); err != nil {
		return refused(err)
	}
	if err := g.storeReady(); err != nil {
		return refused(err)
	}
	req, m, snapshot, err := g.request(c, c.id, p)
	if err == nil {
		// Snapshot, then the row, then the card (G40).
		m.secret, err = guard("requests", func() (Secret, error) { return g.cfg.Requests.Open(ctx, req.Clone(), snapshot) })
		g.mayBeStored(req.CallID, err)
	}
	if err != nil {
		return refused(asError(err, CodeInternal))
	}
	handed = true
	return g.put(ctx, c, req, m, p)
}

// request makes a request of a plan, with the snapshot of its action.
func (g *Gate) request(c *call, id string, p *plan) (Request, permit, []byte, error) {
	now := g.cfg.Now()
	m := permit{asked: now, expiry: now.Add(g.cfg.RequestTTL), boot: g.boot(), row: true}
	var err error
	if m.digest, err = c.inputs(p, c.session, p.policy, p.own, m.expiry).digest(); err != nil {
		return Request{}, m, nil, err
	}
	snapshot, err := guard(c.inv.Tool, func() ([]byte, error) { return p.action.Snapshot() })
	if err == nil && snapshot == nil {
		err = Errf(CodeInternal, "snapshot", "there is none")
	}
	return Request{
		CallID: id, Tool: c.inv.Tool, Tier: c.entry.spec.Tier, Args: p.args, Effect: c.entry.spec.Effect,
		Session: c.session, Principal: c.inv.Principal, Origin: c.inv.Origin,
		Digest: m.digest, Card: p.card, Asked: m.asked, Expiry: m.expiry,
	}, m, snapshot, err
}

// mayBeStored ends a request of which the store has failed to say whether it has it:
// nobody was asked, and nobody is to be asked after a restart.
func (g *Gate) mayBeStored(id string, err error) {
	if CodeOf(err) != CodeInternal {
		return
	}
	if err := g.endRequest(id, Ending{State: RequestWithdrawn}, false); err != nil && CodeOf(err) != CodeInvalidArgument { // that says that it hasn't
		g.cfg.Log.Error("a request that was not asked could not be withdrawn", "call_id", id, "error", err)
	}
}

// put shows a stored request, and what an approver makes of it by an edit, and has it
// decided and claimed. It hands the question on that the caller holds.
func (g *Gate) put(ctx context.Context, c *call, req Request, m permit, p *plan) (permit, *plan, Answer, bool) {
	for words := 1; ; words++ {
		c.opened(m)
		req.Notices = append(req.Notices, c.notices()...)
		_, req.Editable = c.entry.tool.(Editable)
		c.step(c.asking())
		v := g.decide(ctx, c, req, m)
		if v.edit != (Edit{}) && words > maxEdits {
			g.question.pass()
			v = g.uncounted(c, "it was edited too often")
		}
		if v.edit == (Edit{}) {
			return g.settle(ctx, c, req, m, p, v)
		}
		again := func() bool { // the question is still held
			defer func() {
				if r := recover(); r != nil {
					g.question.pass()
					panic(r)
				}
			}()
			var stays bool
			req, m, p, v, stays = g.edit(ctx, c, req, m, p, v)
			return stays
		}()
		if !again {
			g.question.pass()
			return g.settle(ctx, c, req, m, p, v)
		}
	}
}

// settle ends a question with its verdict.
func (g *Gate) settle(ctx context.Context, c *call, req Request, m permit, p *plan, v verdict) (permit, *plan, Answer, bool) {
	if v.allowed && !c.decide() {
		no := c.refused()
		v = g.rejected(c, verdict{reason: string(no.Reason), person: true, by: no.By})
	}
	if v.allowed {
		m.decided = g.cfg.Now()
	}
	event := Event{Card: ptr(req.Card.Clone()), Digest: hexOf(m.digest)}
	if err := g.approvalEvent(c, v, event, g.cfg.Now().Sub(m.asked)); err != nil && v.allowed {
		v = verdict{err: asError(err, CodeInternal), state: RequestWithdrawn}
	}
	if v.allowed {
		var err error
		if m.lease, err = g.claim(ctx, c, m, v.by); err == nil {
			m.by = v.by
			return m, p, Answer{}, true
		}
		v = verdict{err: asError(err, CodeInternal), state: RequestWithdrawn}
	}
	if v.person {
		g.fatigue.add(keyOf(c), g.cfg.Now())
	}
	c.approval = v.approval
	a := c.refuse(v.err)
	g.finishRequest(c, v.state, a, v.by)
	return permit{}, p, a, false
}

// claim takes the stored request for this process.
func (g *Gate) claim(ctx context.Context, c *call, m permit, by string) (Lease, error) {
	return guard("requests", func() (Lease, error) {
		return g.cfg.Requests.Claim(ctx, Claim{
			ID: c.request(), Digest: m.digest, Secret: m.secret, Claims: m.claims,
			Worker: g.cfg.Worker, Decider: by, Now: m.decided,
		})
	})
}

// decide waits for the approver's word, and no longer than the question may stay
// open. A word that comes after that doesn't count. The question is handed on, unless
// the word is an edit: then the caller still holds it.
func (g *Gate) decide(ctx context.Context, c *call, req Request, m permit) (v verdict) {
	limit := m.expiry.Sub(m.asked)
	cause := error(Errf(CodeRequestExpired, "", "nobody answered within %v; it was not run", limit))
	if t := g.questionTimeout(); t > 0 && t <= limit {
		limit, cause = t, errQuestionTimeout
	}
	qctx, cancel := context.WithTimeoutCause(ctx, limit, cause)
	type word struct {
		Word
		err error
	}
	said := make(chan word)
	g.running.add()
	go func() {
		defer g.running.done()
		var w word
		w.Word, w.err = guard("approver", func() (Word, error) { return g.cfg.Approver.Decide(qctx, req.Clone()) })
		select {
		case said <- w: // with the question
		case <-qctx.Done():
			g.question.pass()
		}
	}()
	defer cancel()
	var w word
	select {
	case w = <-said:
		defer func() {
			if v.edit == (Edit{}) {
				g.question.pass()
			}
		}()
	case <-qctx.Done():
	}
	v = g.judge(qctx, c, m, w.Word, w.err)
	if v.by == "" {
		v.by = g.approverName()
	}
	return v
}

// judge says what a word means. It came before the question ended, or qctx says how
// that ended.
func (g *Gate) judge(qctx context.Context, c *call, m permit, w Word, failed error) verdict {
	switch {
	case qctx.Err() != nil:
		return g.questionEnded(qctx, c)
	case failed != nil:
		return g.rejected(c, verdict{reason: "the approver failed", failed: failed})
	case w.Decision == TimedOut:
		return g.timedOut(c, w.Reason)
	case w.Decision == Rejected:
		return g.rejected(c, verdict{reason: string(w.Reason), person: true, by: w.By})
	case w.Decision == Void:
		return g.uncounted(c, w.Reason)
	case w.Decision != Approved && (w.Decision != Edited || w.Edit.Check() != nil):
		return g.rejected(c, verdict{reason: "the decision has no meaning"})
	case g.lapsed(m):
		return verdict{
			err:      Errf(CodeRequestExpired, "", "it was answered after the request had expired; it was not run"),
			approval: ApprovalTimeout, decision: "timeout", reason: "answered too late", by: w.By, state: RequestExpired,
		}
	}
	by := w.By
	if by == "" {
		by = g.approverName()
	}
	if err := g.mayDecide(by); err != nil {
		v := g.uncounted(c, Reason(asError(err, CodeInternal).Message()))
		v.by = by
		return v
	}
	if w.Decision == Edited {
		return verdict{edit: w.Edit, decision: "edited", reason: string(w.Reason), by: by}
	}
	return verdict{allowed: true, approval: ApprovalApproved, decision: "approved", reason: string(w.Reason), by: by}
}

func (g *Gate) rejected(c *call, v verdict) verdict {
	v.err = &Error{Code: CodeNotApproved, Text: notApprovedText(c.inv.Tool)}
	v.approval, v.decision, v.state = ApprovalRejected, "rejected", RequestRejected
	return v
}

// uncounted is a refusal for want of an answer that counts. The caller is told why.
func (g *Gate) uncounted(c *call, reason Reason) verdict {
	v := g.rejected(c, verdict{reason: string(reason)})
	if reason != "" {
		v.err.Text += " No answer was counted (" + clip(string(reason), 128) + "); nobody has refused it."
	}
	return v
}

func (g *Gate) timedOut(c *call, reason Reason) verdict {
	return verdict{
		err:      &Error{Code: CodeNotApproved, Text: notApprovedText(c.inv.Tool)},
		approval: ApprovalTimeout, decision: "timeout", reason: string(reason), state: RequestExpired,
	}
}

// questionEnded tells the ways apart in which a question ends without an answer.
func (g *Gate) questionEnded(qctx context.Context, c *call) verdict {
	cause := context.Cause(qctx)
	if no := c.refused(); no != nil {
		return g.rejected(c, verdict{reason: string(no.Reason), person: true, by: no.By})
	}
	if errors.Is(cause, errQuestionTimeout) {
		return g.timedOut(c, Reason(cause.Error()))
	}
	v := verdict{err: ended(qctx), approval: ApprovalNone, decision: "withdrawn", state: RequestWithdrawn}
	v.reason = v.err.Message()
	switch v.err.Code {
	case CodeRequestExpired:
		v.approval, v.decision, v.state = ApprovalTimeout, "timeout", RequestExpired
	case CodeStopped:
		v.decision, v.state = "stopped", RequestStopped
	}
	return v
}

// questionTimeout is the gate's own, else the approver's, else none (G10).
func (g *Gate) questionTimeout() time.Duration {
	if g.cfg.QuestionTimeout > 0 {
		return g.cfg.QuestionTimeout
	}
	t, ok := g.cfg.Approver.(interface{ Timeout() time.Duration })
	if !ok {
		return 0
	}
	d, err := guard("approver", func() (time.Duration, error) { return t.Timeout(), nil })
	if err != nil {
		return time.Nanosecond // what can't say how long it waits doesn't wait
	}
	return d
}

func (g *Gate) approverName() string {
	name, err := guard("approver", func() (string, error) { return g.cfg.Approver.Name(), nil })
	if err != nil || name == "" {
		return "unnamed"
	}
	return name
}

// lapsed reports whether a request's expiry has been reached, by the wall or the
// monotonic clock or by the one that counts the machine's sleep.
func (g *Gate) lapsed(m permit) bool {
	return Expired(g.cfg.Now(), m.expiry) || g.cfg.Boot != nil && g.boot()-m.boot >= m.expiry.Sub(m.asked)
}

func (g *Gate) boot() time.Duration {
	if g.cfg.Boot == nil {
		return 0
	}
	return g.cfg.Boot()
}

// opened makes digest and expiry visible to whoever asks for the call.
func (c *call) opened(m permit) {
	c.mu.Lock()
	c.digest, c.expiry = m.digest, m.expiry
	c.mu.Unlock()
}

func ptr[T any](v T) *T { return &v }
