package gate

import (
	"context"
	"encoding/json"
	"time"
)

// The gate's own tools, in every catalog.
const (
	toolStop      = string(StopControlled)
	toolEStop     = string(StopEmergency)
	toolCancel    = "cancel_call"
	toolCallState = "call_status"
	toolSession   = "session_status"
	toolTime      = "current_time"
	toolDemo      = "demo_physical_action"
	// Those that let a person permit more than one call; where the gate has a store
	// for that.
	toolRegister = "register_routine"
	toolRoutine  = "run_routine"
)

// Waits of the control tools.
const (
	maxStatusWait = 45 * time.Second // many clients give up on a call after 60 s
	cancelWait    = 10 * time.Second // for the end of a controlled stop
)

func isReserved(name string) bool {
	switch name {
	case toolStop, toolEStop, toolCancel, toolCallState, toolSession, toolTime, toolDemo, toolAccess, toolRegister, toolRoutine:
		return true
	}
	return false
}

func (g *Gate) ownTools() []Tool {
	callID := Str(32).Desc("The call_id of an earlier answer")
	return []Tool{
		stopTool(toolStop, "Stops everything that moves, at once and controlled; power stays on and positions are held. Always allowed, never queued. Everything that waits is dropped."),
		stopTool(toolEStop, "Emergency stop: stops everything that moves and latches, so that nothing moves until a person has approved estop_reset. Always allowed, never queued."),
		Func(Spec{
			Name: toolCancel, Tier: TierWrite,
			Description: "Ends one of your own physical calls: withdraws its open question, or brings its motion to a controlled stop. Returns what the call ended with.",
			Input:       Obj(Req("call_id", callID), Opt("reason", Str(500).Desc("Why, for the log"))),
			Output:      answerSchema(),
		}, g.cancelCall),
		Func(Spec{
			Name: toolCallState, Tier: TierRead,
			Description: "Says how far one of your own physical calls is, and its result once it has ended. Waits up to wait_s for the end.",
			Input: Obj(Req("call_id", callID),
				Opt("wait_s", Num().In("s").Between(0, maxStatusWait.Seconds()).Desc("How long to wait for the end").Def("0"))),
			Output: answerSchema(),
		}, g.callStatus),
		Func(Spec{
			Name: toolSession, Tier: TierRead,
			Description: "Says which session this is, whether it is simulated or real, which robot is behind it, and how many of its calls are open.",
			Input:       Obj(),
			Output: Obj(Req("session", Str(0)), Req("mode", Enum(string(ModeSim), string(ModeReal))), Req("backend", Str(0)),
				Req("principal", Str(0)), Req("may_move", Bool()), Opt("code", Str(0)), Opt("text", Str(0)),
				Req("open_questions", Int()), Req("calls_in_flight", Int()), Req("stop_epoch", Int())),
		}, g.sessionStatus),
		Func(Spec{
			Name: toolTime, Tier: TierRead, Description: "Says what time it is on the robot's computer.",
			Input:  Obj(),
			Output: Obj(Req("time", Str(0).Desc("RFC 3339, UTC")), Req("unix_s", Num().In("s").Desc("Since 1970-01-01 UTC"))),
		}, g.currentTime),
		demoTool{},
	}
}

// permitTools are those with which a person permits more than one call.
func (g *Gate) permitTools(grants, routines bool) (own []Tool) {
	if grants {
		own = append(own, accessTool{g})
	}
	if routines {
		own = append(own, registerTool{g}, routineTool{g})
	}
	return own
}

func answerSchema() *Schema {
	quantity := Obj(Opt("name", Str(0)), Req("value", Num()), Opt("unit", Str(0)))
	return Obj(Opt("call_id", Str(0)), Opt("tool", Str(0)),
		Req("status", Enum(string(StatusOK), string(StatusRefused), string(StatusError), string(StatusCancelled), string(StatusUnknown), string(StatusPending))),
		Opt("code", Str(0)), Opt("text", Str(0)),
		Opt("where", Str(0)), Opt("value", quantity), Opt("limit", quantity), Opt("nearest", Arr(quantity, 0, 0)), Opt("result", Any()),
		Req("approval", Enum(string(ApprovalNone), string(ApprovalApproved), string(ApprovalRejected), string(ApprovalTimeout), string(ApprovalExempt))),
		Req("duration_ms", Num().In("ms")), Opt("digest", Str(0)), Opt("expires_at", Str(0)),
		Opt("session", Str(0)), Opt("mode", Str(0)), Opt("backend", Str(0)))
}

// stopTool is what the catalog shows of stop and estop. The gate matches both by
// name before it looks at anything else, so this never runs.
func stopTool(name, description string) Tool {
	verdict := Enum("yes", "no", "unknown")
	return Func(Spec{
		Name: name, Tier: TierWrite, Description: description, Input: stopSchema(),
		Output: Obj(Req("kind", Enum(toolStop, toolEStop)), Req("epoch", Int()),
			Req("verdicts", Arr(Obj(Req("backend", Str(0)), Req("commanded", verdict), Req("acknowledged", verdict),
				Req("stationary", verdict), Opt("text", Str(0)), Req("duration_s", Num().In("s"))), 0, 0)),
			Req("withdrawn", Int()), Opt("reason", Str(0)), Opt("note", Str(0)), Req("duration_s", Num().In("s"))),
	}, func(context.Context, Call) (Result, error) {
		return Result{}, Errf(CodeInternal, name, "a stop came by the wrong way")
	})
}

type callArgs struct {
	CallID string  `json:"call_id"`
	Reason string  `json:"reason"`
	WaitS  float64 `json:"wait_s"`
}

// own finds one of the caller's own calls: in the book, or what is stored of it
// (of an earlier process, or dropped from the book). Another's is as unknown as none.
func (g *Gate) own(ctx context.Context, in Call) (*call, Record, callArgs, error) {
	var args callArgs
	if err := json.Unmarshal(in.Args, &args); err != nil {
		return nil, Record{}, args, Errf(CodeInvalidArgument, "arguments", "%w", err)
	}
	c := g.book.get(args.CallID, g.cfg.Now())
	if c == nil {
		if r, ok := g.storedCall(ctx, args.CallID); ok && r.Request.Session.Name == in.Session.Name && r.Request.Principal == in.Principal {
			last := g.lastOf(ctx, r)
			if c = g.book.get(last.Request.CallID, g.cfg.Now()); c == nil {
				return nil, last, args, nil
			}
		}
	}
	if c != nil && c.belongsTo(in.Session.Name, in.Principal) {
		return c, Record{}, args, nil
	}
	return nil, Record{}, args, Errf(CodeInvalidArgument, "call_id",
		"%q is not a physical call of this session, or it ended more than %v ago and was dropped", clip(args.CallID, 40), g.book.keep)
}

func (g *Gate) callStatus(ctx context.Context, in Call) (Result, error) {
	c, r, args, err := g.own(ctx, in)
	if err != nil {
		return Result{}, err
	}
	if c == nil {
		return tellAnswer(g.stored(r)), nil
	}
	g.back(c)
	if wait := time.Duration(args.WaitS * float64(time.Second)); wait > 0 {
		awaitCall(ctx, c, wait)
	}
	return tell(c), nil
}

func (g *Gate) cancelCall(ctx context.Context, in Call) (Result, error) {
	c, r, args, err := g.own(ctx, in)
	if err != nil {
		return Result{}, err
	}
	if c == nil {
		return g.withdrawStored(r, args.Reason)
	}
	c.Cancel(args.Reason)
	awaitCall(ctx, c, cancelWait)
	return tell(c), nil
}

func tell(c *call) Result {
	return tellAnswer(c.Answer())
}

func tellAnswer(a Answer) Result {
	text := string(a.Status)
	if a.Text != "" {
		text += ": " + a.Text
	}
	return Result{Text: text, Data: a.JSON()}
}

func awaitCall(ctx context.Context, c *call, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-ctx.Done():
	case <-timer.C:
	}
}

func (g *Gate) sessionStatus(_ context.Context, in Call) (Result, error) {
	open, inFlight := g.book.counts(in.Session.Name)
	out := struct {
		Session   string `json:"session"`
		Mode      Mode   `json:"mode"`
		Backend   string `json:"backend"`
		Principal string `json:"principal"`
		MayMove   bool   `json:"may_move"`
		Code      Code   `json:"code,omitempty"`
		Text      string `json:"text,omitempty"`
		Open      int    `json:"open_questions"`
		InFlight  int    `json:"calls_in_flight"`
		Epoch     uint64 `json:"stop_epoch"`
	}{
		Session: in.Session.Name, Mode: in.Session.Mode, Backend: in.Session.Backend, Principal: in.Principal,
		MayMove: true, Open: open, InFlight: inFlight, Epoch: g.cfg.Lane.Epoch(),
	}
	if _, err := g.session(in.Session.Name); err != nil {
		e := asError(err, CodeNotOptedIn)
		out.MayMove, out.Code, out.Text = false, e.Code, e.Message()
	}
	return jsonResult("Session "+out.Session+" ("+string(out.Mode)+") on "+out.Backend+".", out)
}

func (g *Gate) currentTime(context.Context, Call) (Result, error) {
	now := g.cfg.Now().UTC()
	text := now.Format(time.RFC3339Nano)
	return jsonResult(text, struct {
		Time string  `json:"time"`
		Unix float64 `json:"unix_s"`
	}{text, float64(now.UnixMicro()) / 1e6})
}

func jsonResult(text string, v any) (Result, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return Result{}, Errf(CodeInternal, "result", "%w", err)
	}
	return Result{Text: text, Data: data}, nil
}
