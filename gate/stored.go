package gate

import (
	"context"
	"encoding/json"
	"time"
)

// storedCall looks up what is stored of a physical call; false: nothing is.
func (g *Gate) storedCall(ctx context.Context, id string) (Record, bool) {
	r, err := guard("requests", func() (Record, error) { return g.cfg.Requests.Get(ctx, id) })
	if err != nil {
		if CodeOf(err) != CodeInvalidArgument { // that is one that isn't there
			g.cfg.Log.Error("a stored request could not be read", "call_id", clip(id, maxName), "error", err)
		}
		return Record{}, false
	}
	return g.unwritten.over(r), true
}

// successor is the id of the request that stands in the place of another one (G46);
// "": none does.
func successor(r Record) string {
	var v struct {
		By string `json:"replaced_by"`
	}
	if r.State != RequestWithdrawn || json.Unmarshal(r.Answer, &v) != nil {
		return ""
	}
	return v.By
}

// lastOf follows a request to what stands in its place, however often that was replaced:
// each run of the bridge may have done so. A request is never in its own place; a store
// that says so is followed once around.
func (g *Gate) lastOf(ctx context.Context, r Record) Record {
	seen := map[string]bool{r.Request.CallID: true}
	for {
		id := successor(r)
		if id == "" || seen[id] {
			return r
		}
		seen[id] = true
		next, ok := g.storedCall(ctx, id)
		if !ok || next.Request.Session.Name != r.Request.Session.Name || next.Request.Principal != r.Request.Principal {
			return r
		}
		r = next
	}
}

// replayStored gives a call whose id was used before the answer that is stored
// with it, and runs nothing (G45). The caller names an id only to repeat a call;
// one that the gate has just made can't be there. To be asked before the call is in the
// book: what waits in the store alone is to be refused, cancelled and taken up there. One
// that is in the book by now is its caller's to wait for.
func (g *Gate) replayStored(ctx context.Context, c *call) (Answer, bool) {
	if c.inv.CallID == "" {
		return Answer{}, false
	}
	if g.book.get(c.id, g.cfg.Now()) != nil {
		return Answer{}, false
	}
	r, ok := g.storedCall(ctx, c.id)
	if !ok || g.book.get(c.id, g.cfg.Now()) != nil {
		return Answer{}, false
	}
	q := r.Request
	if !c.belongsTo(q.Session.Name, q.Principal) || q.Tool != c.inv.Tool || string(q.Args) != string(c.args) {
		return c.refuse(Errf(CodeInvalidArgument, "call_id", "%s is taken by another call", c.id)), true
	}
	c.again = true
	return g.stored(g.lastOf(ctx, r)), true
}

// storedAnswer is the answer to a call as its request tells it.
func storedAnswer(r Record) Answer {
	q := r.Request
	a := Answer{
		CallID: q.CallID, Tool: q.Tool, Approval: ApprovalNone, Digest: hexOf(q.Digest),
		Session: q.Session.Name, Mode: q.Session.Mode, Backend: q.Session.Backend,
	}
	if r.Decision == Approved {
		a.Approval = ApprovalApproved
		if q.Tool == toolRoutine { // what was approved is its registration
			a.Approval = ApprovalExempt
		}
	}
	if a.decode(r.Answer) {
		return a
	}
	var e *Error
	switch r.State {
	case RequestPending, RequestClaimed, RequestStarted:
		a.Status, a.ExpiresAt = StatusPending, q.Expiry
		a.Text = "Not ended yet (" + string(r.State) + "). Ask call_status with call_id " + q.CallID + "; do not send it again."
		return a
	case RequestRejected:
		a.Approval, e = ApprovalRejected, &Error{Code: CodeNotApproved, Text: notApprovedText(q.Tool)}
	case RequestExpired:
		a.Approval, e = ApprovalTimeout, Errf(CodeRequestExpired, "", "the request expired at %s; it was not run", q.Expiry.UTC().Format(time.RFC3339))
	case RequestStopped:
		e = Errf(CodeStopped, "", "ended by a stop")
	case RequestWithdrawn:
		e = Errf(CodeCancelled, "", "withdrawn; it was not run")
	case RequestDone: // with an answer that didn't fit
		e = Errf(CodeUnknownOutcome, "", "%s", unknownOutcomeText(q.CallID, "it ran to its end, and its answer wasn't kept"))
	default:
		e = Errf(CodeUnknownOutcome, "", "%s", unknownOutcomeText(q.CallID, "the bridge ended while it ran"))
	}
	a.Code, a.Text = e.Code, e.Message()
	a.Status = statusOf(e.Code, false)
	return a
}

// decode reads what JSON wrote; false: there is nothing, or it isn't an answer.
func (a *Answer) decode(b []byte) bool {
	var v struct {
		Status   Status          `json:"status"`
		Code     Code            `json:"code"`
		Text     string          `json:"text"`
		Where    string          `json:"where"`
		Value    *Quantity       `json:"value"`
		Limit    *Quantity       `json:"limit"`
		Nearest  []Quantity      `json:"nearest"`
		Result   json.RawMessage `json:"result"`
		Approval ApprovalKind    `json:"approval"`
		Duration float64         `json:"duration_ms"`
	}
	if len(b) == 0 || json.Unmarshal(b, &v) != nil || !validStatus(v.Status) {
		return false
	}
	a.Status, a.Code, a.Text, a.Result = v.Status, v.Code, v.Text, v.Result
	a.Refusal = Refusal{Where: v.Where, Value: v.Value, Limit: v.Limit, Nearest: v.Nearest}
	a.Duration = time.Duration(v.Duration * float64(time.Millisecond))
	if v.Approval != "" {
		a.Approval = v.Approval
	}
	return true
}

// withdrawStored withdraws a request that waits in the store alone.
func (g *Gate) withdrawStored(r Record, why string) (Result, error) {
	if r.State != RequestPending {
		return tellAnswer(g.stored(r)), nil
	}
	if why == "" {
		why = "withdrawn"
	}
	a, err := g.endStored(r, verdict{
		err: Errf(CodeCancelled, "", "%s", clip(why, 512)), approval: ApprovalNone, decision: "withdrawn", state: RequestWithdrawn, reason: why,
	})
	if err != nil {
		return Result{}, err
	}
	return tellAnswer(a), nil
}

// endStored ends a request that waits in the store alone, with all that any other end
// of a call leaves behind. One that stands elsewhere by now is an *Error.
func (g *Gate) endStored(r Record, v verdict) (Answer, error) {
	c := g.restoredCall(r.Request)
	c.approval = v.approval
	a := c.refuse(v.err)
	if err := g.endRequest(c.id, Ending{State: v.state, Answer: c.complete(a).JSON(), Decider: v.by}, false); err != nil {
		return Answer{}, err
	}
	_ = g.approvalEvent(c, v, Event{Digest: hexOf(c.digest)}, 0) // it has ended; a failing log was reported
	if v.person {
		g.fatigue.add(keyOf(c), g.cfg.Now())
	}
	return g.finish(c, a), nil
}
