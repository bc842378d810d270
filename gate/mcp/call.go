package mcp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tau-robot/tau/gate"
)

const (
	// readWait bounds a call that moves nothing, and which therefore is never
	// pending: call_status waits up to 45 s by itself, and clients give up on a
	// call after 60 s.
	readWait = 55 * time.Second
	// cancelWait bounds how long a cancelled call's handler stays for the end of
	// the controlled stop. The stop itself doesn't depend on it.
	cancelWait = 10 * time.Second
)

// Why an open call was ended from this side.
var (
	errSessionEnded = errors.New("the client ended its session")
	errShutdown     = errors.New("the bridge is shutting down")
)

// call carries one tools/call to the gate and waits for its answer: to the end, to
// the time-out, after which the call belongs to the bridge and the answer is
// pending, or to the end of ctx, which withdraws the question or stops the motion.
// A tool that moves nothing has no pending state and is cancelled at its time-out.
// It doesn't return an error: what goes wrong is an answer.
func (t *tenant) call(ctx context.Context, req *sdk.CallToolRequest) (res *sdk.CallToolResult, err error) {
	inv := gate.Invocation{
		Tool:      req.Params.Name,
		Args:      req.Params.Arguments,
		Session:   t.session,
		Principal: t.principal,
		Origin:    origin,
	}
	if name, ok := ctx.Value(unknownToolKey{}).(string); ok {
		inv.Tool = name
	}
	group(&inv, req.Params.Meta)
	if req.Extra != nil {
		inv.ToolUseID = req.Extra.Header.Get(headerRequestID)
		if raw, ok := req.Extra.Header[headerArgs]; ok { // all but batches
			inv.Args = []byte(raw[0])
		}
	}
	defer func() { // a fault here must not end the bridge, nor let anything through
		if r := recover(); r != nil {
			t.srv.log.Error("mcp: a call panicked", "tool", inv.Tool, "panic", fmt.Sprint(r))
			res, err = sdkResult(errorAnswer(inv.Tool, gate.StatusUnknown, gate.CodeUnknownOutcome,
				"The bridge failed inside this call; what it did can't be known.")), nil
		}
	}()
	if isStop(inv.Tool) {
		// It came in a batch and has acted. One that hasn't, acts.
		if req.Extra != nil {
			if s, ok := t.kept(req.Extra.Header, inv.Tool); ok {
				return sdkResult(s.answer()), nil
			}
		}
		return sdkResult(t.srv.caller.Call(context.WithoutCancel(ctx), inv)), nil
	}
	if inv.Taken = takenOf(req.Extra); inv.Taken == 0 {
		// Whether a stop came behind it can't be known.
		return sdkResult(errorAnswer(inv.Tool, gate.StatusRefused, gate.CodeInternal,
			"The call came by the wrong way; it was not run.")), nil
	}
	ctx, release, ok := t.open(ctx, req.Session.ID())
	if !ok {
		return sdkResult(errorAnswer(inv.Tool, gate.StatusRefused, gate.CodeOverload,
			"The bridge takes no further calls now: "+t.refusal())), nil
	}
	defer release()
	p := startProgress(ctx, req.Params.GetProgressToken(), req.Session.NotifyProgress)
	defer p.close()
	if p != nil {
		inv.Progress = p.report
	}
	limit, keep := t.srv.wait, true
	if tier, known := t.srv.tiers[inv.Tool]; known && tier != gate.TierPhysical {
		limit, keep = readWait, false
	}
	ticket := t.srv.caller.Submit(inv)
	p.begin("call " + ticket.ID())
	a := await(ctx, ticket, limit, keep)
	if a.Status == gate.StatusPending {
		t.leftBehind(req.Session.ID(), ticket)
	}
	return sdkResult(a), nil
}

// await waits for the ticket as call says; keep tells what becomes of it when the
// time has run out.
func await(ctx context.Context, ticket gate.Ticket, limit time.Duration, keep bool) gate.Answer {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ticket.Done():
		return ticket.Answer()
	case <-ctx.Done():
		ticket.Cancel(reason(ctx))
	case <-timer.C:
		switch {
		case ctx.Err() != nil: // both at once: the client's word counts
			ticket.Cancel(reason(ctx))
		case keep:
			return ticket.Answer()
		default:
			ticket.Cancel(fmt.Sprintf("not ended within %v", limit))
		}
	}
	timer.Reset(cancelWait)
	select {
	case <-ticket.Done():
	case <-timer.C:
	}
	return ticket.Answer()
}

func reason(ctx context.Context) string {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errSessionEnded), errors.Is(cause, errShutdown):
		return cause.Error()
	default:
		return "the client cancelled the call"
	}
}

// stampText is a stamp on its way around the SDK, which hands a request's header on
// to its tool; one stamp holds for all calls of a batch.
func stampText(s gate.Stamp) string { return strconv.FormatUint(uint64(s), 10) }

// takenOf is the stamp that a request was given at its intake; zero: it has none.
func takenOf(extra *sdk.RequestExtra) gate.Stamp {
	if extra == nil {
		return 0
	}
	n, err := strconv.ParseUint(extra.Header.Get(headerTaken), 10, 64)
	if err != nil {
		return 0
	}
	return gate.Stamp(n)
}
