package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// routineTool is run_routine: it fires a routine that a person has approved.
type routineTool struct{ g *Gate }

var _ Tool = routineTool{}

func (routineTool) Spec() Spec {
	return Spec{
		Name: toolRoutine, Tier: TierPhysical,
		Description: "Runs a routine of this session that a person has approved with register_routine: its steps in order, exactly as registered, " +
			"without asking again. The robot has to be where it was when the routine was registered. A step that fails, or a stop, ends it.",
		Effect: "The steps of the routine run in their order, as they were approved.",
		Input:  Obj(Req("name", Str(64).Desc("As it was registered"))),
		Output: Obj(Req("routine", Str(0)), Req("registered_by", Str(0).Desc("The call_id whose card was approved")),
			Req("firing", Int()), Req("firings", Int()), Req("steps", Arr(Obj(
				Req("call_id", Str(0)), Req("tool", Str(0)), Req("status", Str(0)), Opt("code", Str(0)), Opt("text", Str(0)), Opt("result", Any())), 0, 0))),
	}
}

// firing is one run of a routine. It is made for one call and run once.
type firing struct {
	g     *Gate
	r     Routine
	steps []*routineStep
	of    Call
}

var _ Action = (*firing)(nil)

// Prepare restores every step and holds the routine against what is now: one that
// isn't what was approved becomes void.
func (t routineTool) Prepare(ctx context.Context, call Call) (Action, error) {
	var in struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(call.Args, &in); err != nil {
		return nil, Errf(CodeInvalidArgument, "arguments", "%w", err)
	}
	g := t.g
	r, err := guard("routines", func() (Routine, error) {
		return g.cfg.Routines.Routine(ctx, call.Session.Name, call.Principal, in.Name, g.cfg.Now())
	})
	if err != nil {
		return nil, asError(err, CodeInternal)
	}
	if r.Session != call.Session {
		return nil, g.void(ctx, r, Errf(CodeNotApproved, "session", "its mode, its robot or its opt-in isn't what the card said"))
	}
	if r.Fired >= r.Firings {
		return nil, &Error{
			Code: CodeNotApproved, Where: r.Name, Text: "has been fired as often as was approved; register it again",
			Value: &Quantity{Value: float64(r.Fired)}, Limit: &Quantity{Value: float64(r.Firings)},
		}
	}
	var fixed fixedSteps
	if err := json.Unmarshal(r.Snapshot, &fixed); err != nil || fixed.Version != routineVersion || len(fixed.Steps) == 0 || slices.Contains(fixed.Steps, nil) {
		return nil, g.void(ctx, r, Errf(CodeInvalidArgument, "snapshot", "is not one of a routine of version %d", routineVersion))
	}
	x := &firing{g: g, r: r, steps: fixed.Steps, of: call}
	for i, s := range x.steps {
		if err := g.mayUse(call.Principal, s.Tool); err != nil {
			return nil, at(i, err)
		}
		if err := g.restoreStep(ctx, s); err != nil {
			return nil, g.voidUnlessPassing(ctx, r, at(i, err))
		}
	}
	live, err := x.routine()
	if err != nil {
		return nil, g.voidUnlessPassing(ctx, r, err)
	}
	if live != r.Digest {
		return nil, g.void(ctx, r, Errf(CodeNotApproved, "digest", "a description, the scene, the limits, the robot or the policy changed since it was approved"))
	}
	return x, nil
}

// routine is the digest of what would run now.
func (x *firing) routine() ([32]byte, error) {
	return x.g.routineDigest(x.r.Name, x.of.Session, x.of.Principal, x.r.Firings, x.steps)
}

// voidUnlessPassing voids a routine that can't be made again, unless the reason is one
// that says nothing of what was approved.
func (g *Gate) voidUnlessPassing(ctx context.Context, r Routine, why error) error {
	switch CodeOf(why) {
	case CodeStaleState, CodeNotEnabled, CodeEStopped, CodeNotOptedIn, CodeOptInExpired, CodeBusy, CodeDisconnected,
		CodeLinkTimeout, CodeStopped, CodeCancelled, CodeInternal:
		return why
	}
	return g.void(ctx, r, why)
}

// void ends a routine that isn't what a person approved.
func (g *Gate) void(ctx context.Context, r Routine, why error) error {
	e := asError(why, CodeNotApproved)
	text := fmt.Sprintf("the routine %q is void: %s; it was not run", r.Name, e.Message())
	if _, err := guard("routines", func() (bool, error) {
		return g.cfg.Routines.EndRoutine(context.WithoutCancel(ctx), r.ID, g.cfg.Now())
	}); err != nil {
		g.cfg.Log.Error("a void routine could not be ended; it is found void again at each firing", "routine", r.ID, "error", err)
	}
	g.told(r.event(text, ""))
	return &Error{Code: CodeNotApproved, Where: e.Where, Text: text + "; register it again", Err: e}
}

// event is one of the routine's life that no call stands for.
func (r Routine) event(text, by string) Event {
	return Event{
		Type: "session", SessionID: r.Session.Name, Mode: r.Session.Mode, Backend: r.Session.Backend, Principal: r.Principal,
		Routine: r.Name, AllowedBy: r.ID, Decider: by, Text: text,
	}
}

// Restore never makes a firing again: what had begun is unknown, and what hadn't is
// asked for by another call.
func (routineTool) Restore(context.Context, []byte) (Action, error) {
	return nil, Errf(CodeNotApproved, toolRoutine, "a firing isn't taken up again by another process")
}

func (x *firing) Card() Card {
	return Card{Facts: []Fact{
		{"Routine", fmt.Sprintf("%q, approved with call %s by %s", x.r.Name, x.r.ID, x.r.Decider)},
		{"Firing", fmt.Sprintf("%d of %d", x.r.Fired+1, x.r.Firings)},
	}}
}

// Digest is zero where a step isn't what it was, which is none that was approved.
func (x *firing) Digest() [32]byte {
	live, err := x.routine()
	if err != nil {
		return [32]byte{}
	}
	d, err := digestOf("tau firing 1", struct {
		ID      string `json:"id"`
		Routine string `json:"routine"`
		Fired   int    `json:"fired"`
	}{x.r.ID, hexOf(live), x.r.Fired})
	if err != nil { // strings and a number
		return [32]byte{}
	}
	return d
}

func (x *firing) Snapshot() ([]byte, error) { return []byte(`{}`), nil }
func (x *firing) Expiry() time.Time         { return time.Time{} }
func (x *firing) Resource() string          { return x.of.Session.Backend }

// Check holds the firing against what is now: the routine is in force and hasn't been
// fired since, it is what was approved, and its first step could begin.
func (x *firing) Check(ctx context.Context) error {
	if err := x.inForce(ctx, x.r.Fired); err != nil {
		return err
	}
	live, err := x.routine()
	if err != nil {
		return x.g.voidUnlessPassing(ctx, x.r, err)
	}
	if live != x.r.Digest {
		return x.g.void(ctx, x.r, Errf(CodeNotApproved, "digest", "a description, the limits or the policy changed since it was approved"))
	}
	return at(0, x.steps[0].action.Check(ctx))
}

// inForce reports why the routine isn't any more, or isn't at this count.
func (x *firing) inForce(ctx context.Context, fired int) error {
	r, err := guard("routines", func() (Routine, error) {
		return x.g.cfg.Routines.Routine(ctx, x.r.Session.Name, x.r.Principal, x.r.Name, x.g.cfg.Now())
	})
	switch {
	case err != nil:
		return asError(err, CodeInternal)
	case r.ID != x.r.ID:
		return Errf(CodeNotApproved, x.r.Name, "the name is another routine's now")
	case r.Fired != fired:
		return Errf(CodeInProgress, x.r.Name, "has been fired since by another call")
	}
	return nil
}

type stepResult struct {
	CallID string          `json:"call_id"`
	Tool   string          `json:"tool"`
	Status Status          `json:"status"`
	Code   Code            `json:"code,omitempty"`
	Text   string          `json:"text,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// Run counts the firing, durably, and then runs the steps in their order. It ends with
// the first one that doesn't end well.
func (x *firing) Run(ctx context.Context) (Result, error) {
	if _, err := guard("routines", func() (struct{}, error) {
		return struct{}{}, x.g.cfg.Routines.Fire(ctx, x.r.ID, x.r.Fired, x.g.cfg.Now())
	}); err != nil {
		e := *asError(err, CodeInternal)
		if e.Code == CodeInternal {
			e.Code, e.Text = CodeNotApproved, "the firing could not be counted, so nothing was run: "+e.Text
		}
		return Result{}, &e
	}
	steps := make([]stepResult, 0, len(x.steps))
	var failed error
	moved, status := false, StatusOK
	for i, s := range x.steps {
		x.of.Progress(fmt.Sprintf("step %d of %d: %s", i+1, len(x.steps), s.Tool))
		a, ran, err := x.runStep(ctx, s)
		steps = append(steps, stepResult{a.CallID, a.Tool, a.Status, a.Code, a.Text, a.Result})
		moved = moved || ran
		if status = a.Status; status != StatusOK {
			failed = at(i, err)
			break
		}
	}
	return x.result(steps, failed, status, moved)
}

// result tells what was done.
func (x *firing) result(steps []stepResult, failed error, status Status, moved bool) (Result, error) {
	done := len(steps)
	if status != StatusOK {
		done--
	}
	text := fmt.Sprintf("Firing %d of %d of %s: %d of %d steps done.", x.r.Fired+1, x.r.Firings, x.r.Name, done, len(x.steps))
	res, err := jsonResult(text, struct {
		Routine string       `json:"routine"`
		Card    string       `json:"registered_by"`
		Firing  int          `json:"firing"`
		Firings int          `json:"firings"`
		Steps   []stepResult `json:"steps"`
	}{x.r.Name, x.r.ID, x.r.Fired + 1, x.r.Firings, steps})
	if err != nil {
		res = Result{Text: text}
	}
	if status == StatusOK {
		return res, nil
	}
	// What refused a step later than the first has left the robot on the way.
	if res.Status = status; status == StatusRefused && moved {
		res.Status = StatusError
	}
	e := *asError(failed, CodeInternal)
	if e.Code == CodeInternal { // of a step: it is known what came before it
		e.Code = CodeUnknownOutcome
	}
	return res, &e
}

// runStep checks one step as any action is before it begins, and runs it. ran is true
// once its Run was called.
func (x *firing) runStep(ctx context.Context, s *routineStep) (a Answer, ran bool, err error) {
	g := x.g
	c := &call{
		g: g, entry: s.entry, start: g.cfg.Now(), args: s.Args, session: x.of.Session, epoch: x.of.Epoch, approval: ApprovalExempt,
		inv:   Invocation{Tool: s.Tool, Args: s.Args, Session: x.of.Session.Name, Principal: x.of.Principal, Origin: x.of.Origin, Progress: x.of.Progress},
		fired: &firedBy{routine: x.r.Name, card: x.r.ID, partOf: x.of.ID},
	}
	if c.id, err = newID(g.cfg.Rand); err == nil {
		err = x.mayBegin(ctx, c, s)
	}
	if err == nil {
		err = g.logReady()
	}
	if err != nil {
		a = g.finish(c, c.refuse(err))
		return a, false, stepError(a)
	}
	c.digest, c.ran = s.own, true
	a = g.finish(c, g.runAction(ctx, c, s.action))
	return a, true, stepError(a)
}

// stepError is what a firing says of a step that didn't end well: nothing but what is in
// its answer as the after hooks have left that (G22).
func stepError(a Answer) error {
	if a.Status == StatusOK {
		return nil
	}
	e := &Error{Code: a.Code, Where: a.Refusal.Where, Text: a.Text}
	if e.Where == "" {
		e.Where = a.Tool
	}
	e.Text = strings.TrimPrefix(e.Text, e.Where+": ") // an error says its place itself
	return e
}

// mayBegin says why a step doesn't begin.
func (x *firing) mayBegin(ctx context.Context, c *call, s *routineStep) error {
	g := x.g
	if ctx.Err() != nil {
		return ended(ctx)
	}
	if err := g.overtaken(c); err != nil {
		return err
	}
	if err := x.inForce(ctx, x.r.Fired+1); err != nil {
		return err
	}
	now, err := g.session(x.of.Session.Name)
	if err != nil {
		return err
	}
	if now != x.r.Session {
		return Errf(CodeNotApproved, "session", "its mode, its robot or its opt-in isn't what the card said")
	}
	if err := g.mayUse(x.of.Principal, s.Tool); err != nil {
		return err
	}
	if err := g.mayDecide(x.r.Decider); err != nil {
		return err
	}
	live, err := x.routine()
	if err != nil {
		return err
	}
	if live != x.r.Digest {
		return g.void(ctx, x.r, Errf(CodeNotApproved, "digest", "a description, the limits or the policy changed while it was fired"))
	}
	if _, err := guard(s.Tool, func() (struct{}, error) { return struct{}{}, s.action.Check(ctx) }); err != nil {
		return asError(err, CodeInternal)
	}
	if ctx.Err() != nil {
		return ended(ctx)
	}
	return nil
}

// firedBy says by which routine a call was allowed.
type firedBy struct{ routine, card, partOf string }
