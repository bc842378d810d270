package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// registerTool is register_routine: what an agent composes itself is pending until a
// person has seen all of it and approved it (G14).
type registerTool struct{ g *Gate }

var _ Tool = registerTool{}

func (registerTool) Spec() Spec {
	return Spec{
		Name: toolRegister, Tier: TierPhysical,
		Description: "Registers a named, fixed list of calls with fixed arguments, each planned and rehearsed from where the one before it ends. " +
			"Nothing moves. Once a person has approved all of it, run_routine fires it without asking again, for a limited time and number of firings, " +
			"each from the pose that the robot has now.",
		Effect: "Lets the listed steps be run later, in this order and without asking again, as often and as long as stated; nothing moves now.",
		Input: Obj(
			Req("name", Str(64).Desc("Letters, digits, _ and -")),
			Req("steps", Arr(Obj(Req("tool", Str(64)), Req("arguments", freeObject().Desc("The tool's own arguments"))), 1, maxSteps)),
			Opt("firings", Int().Between(1, maxFirings).Desc("How often it may be fired").Def("1")),
			forSeconds()),
		Output: Obj(Req("routine", Str(0)), Req("steps", Int()), Req("firings", Int()), Req("until", Str(0).Desc("RFC 3339, UTC"))),
	}
}

// registration is what a registration's card shows and its snapshot holds.
type registration struct {
	Version   int            `json:"version"`
	Call      string         `json:"call"`
	Session   Session        `json:"session"`
	Principal string         `json:"principal"`
	Name      string         `json:"name"`
	Firings   int            `json:"firings"`
	For       time.Duration  `json:"for_ns"`
	Latest    time.Time      `json:"latest"`
	Steps     []*routineStep `json:"steps"`
}

// registerAction is immutable.
type registerAction struct {
	g *Gate
	registration
}

var _ Action = (*registerAction)(nil)

const routineVersion = 1

func (t registerTool) Prepare(ctx context.Context, call Call) (Action, error) {
	var in struct {
		Name  string `json:"name"`
		Steps []struct {
			Tool string          `json:"tool"`
			Args json.RawMessage `json:"arguments"`
		} `json:"steps"`
		Firings *int     `json:"firings"`
		ForS    *float64 `json:"for_s"`
	}
	if err := json.Unmarshal(call.Args, &in); err != nil {
		return nil, Errf(CodeInvalidArgument, "arguments", "%w", err)
	}
	if !toolName.MatchString(in.Name) {
		return nil, Errf(CodeInvalidArgument, "name", "%q is not a routine's name (a letter, then letters, digits, _ and -, at most 64)", clip(in.Name, 80))
	}
	firings := 1
	if in.Firings != nil {
		firings = *in.Firings
	}
	if err := t.g.nameFree(ctx, call, in.Name); err != nil {
		return nil, err
	}
	d := permitFor(in.ForS)
	x := &registerAction{t.g, registration{
		Version: routineVersion, Call: call.ID, Session: call.Session, Principal: call.Principal, Name: in.Name, Firings: firings,
		For: d, Latest: t.g.cfg.Now().Add(t.g.cfg.RequestTTL).Add(d).UTC().Truncate(time.Second),
	}}
	var before []Action
	for i, s := range in.Steps {
		if ctx.Err() != nil {
			return nil, ended(ctx)
		}
		call.Progress(fmt.Sprintf("planning and rehearsing step %d of %d", i+1, len(in.Steps)))
		step, err := t.g.prepareStep(ctx, call, s.Tool, s.Args, before)
		if err != nil {
			return nil, at(i, err)
		}
		x.Steps, before = append(x.Steps, step), append(before, step.action)
	}
	return x, nil
}

func (g *Gate) nameFree(ctx context.Context, call Call, name string) error {
	_, err := guard("routines", func() (Routine, error) {
		return g.cfg.Routines.Routine(ctx, call.Session.Name, call.Principal, name, g.cfg.Now())
	})
	switch CodeOf(err) {
	case CodeNotApproved:
		return nil
	case "":
		return Errf(CodeInvalidArgument, "name", "%q is a routine in force; use another name, or run_routine to fire that one", name)
	}
	return err
}

// Restore makes the registration again, each step from its snapshot.
func (t registerTool) Restore(ctx context.Context, snapshot []byte) (Action, error) {
	x := &registerAction{g: t.g}
	if err := json.Unmarshal(snapshot, &x.registration); err != nil {
		return nil, Errf(CodeInvalidArgument, "snapshot", "%w", err)
	}
	if x.Version != routineVersion || len(x.Steps) == 0 || slices.Contains(x.Steps, nil) {
		return nil, Errf(CodeInvalidArgument, "snapshot", "is not one of a routine of version %d", routineVersion)
	}
	for i, s := range x.Steps {
		if err := t.g.restoreStep(ctx, s); err != nil {
			return nil, at(i, err)
		}
	}
	return x, nil
}

func (x *registerAction) Card() Card {
	times := "once"
	if x.Firings > 1 {
		times = fmt.Sprintf("up to %d times", x.Firings)
	}
	card := Card{Facts: []Fact{
		{"Routine", fmt.Sprintf("%q: the %d steps below, in this order, from where the robot stands now", x.Name, len(x.Steps))},
		{"Fired", times + ", without asking again; each firing is checked as any motion is"},
		{"Holds", holds(x.For, x.Latest)},
	}}
	for i, s := range x.Steps {
		card.Facts = append(card.Facts, stepFacts(i, s)...)
		for _, a := range s.card.Assumed {
			if !slices.Contains(card.Assumed, a) {
				card.Assumed = append(card.Assumed, a)
			}
		}
	}
	return card
}

// routine is the digest that firings are held against, as it is now.
func (x *registerAction) routine() ([32]byte, error) {
	return x.g.routineDigest(x.Name, x.Session, x.Principal, x.Firings, x.Steps)
}

// Digest is zero where a step isn't what it was, which is none that was approved.
func (x *registerAction) Digest() [32]byte {
	live, err := x.routine()
	if err != nil {
		return [32]byte{}
	}
	d, err := digestOf("tau routine registration 1", struct {
		Call    string        `json:"call"`
		Routine string        `json:"routine"`
		For     time.Duration `json:"for_ns"`
		Latest  time.Time     `json:"latest"`
	}{x.Call, hexOf(live), x.For, x.Latest})
	if err != nil { // strings, a duration and a time
		return [32]byte{}
	}
	return d
}

func (x *registerAction) Snapshot() ([]byte, error) { return json.Marshal(x.registration) }
func (x *registerAction) Resource() string          { return x.Session.Backend }

// Expiry is that of the step that goes stale first.
func (x *registerAction) Expiry() time.Time {
	var first time.Time
	for _, s := range x.Steps {
		if t := s.action.Expiry(); !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

// Check holds the registration against what is now. The robot is where it was, so the
// first step could begin; the others begin where it isn't yet.
func (x *registerAction) Check(ctx context.Context) error {
	if Expired(x.g.cfg.Now(), x.Latest) {
		return Errf(CodeRequestExpired, "for_s", "what was asked for ended at %s", x.Latest.Format(time.RFC3339))
	}
	return at(0, x.Steps[0].action.Check(ctx))
}

// Run stores the routine, under the card that was approved.
func (x *registerAction) Run(ctx context.Context) (Result, error) {
	by, err := x.g.approvedBy(ctx, x.Call)
	if err != nil {
		return Result{}, err
	}
	digest, err := x.routine()
	if err != nil {
		return Result{}, notStored(err)
	}
	steps, err := json.Marshal(fixedSteps{routineVersion, x.Steps})
	if err != nil {
		return Result{}, notStored(err)
	}
	now := x.g.cfg.Now()
	until := permitEnd(now, x.For, x.Latest)
	_, err = guard("routines", func() (struct{}, error) {
		return struct{}{}, x.g.cfg.Routines.AddRoutine(ctx, Routine{
			ID: x.Call, Name: x.Name, Principal: x.Principal, Session: x.Session, Digest: digest, Snapshot: steps,
			Firings: x.Firings, Decider: by, Registered: now, Expires: until,
		})
	})
	if err != nil {
		return Result{}, notStored(err)
	}
	return jsonResult(fmt.Sprintf("Registered %s with %d steps, until %s. run_routine fires it, %d times at most.",
		x.Name, len(x.Steps), until.Format(time.RFC3339), x.Firings),
		struct {
			Routine string    `json:"routine"`
			Steps   int       `json:"steps"`
			Firings int       `json:"firings"`
			Until   time.Time `json:"until"`
		}{x.Name, len(x.Steps), x.Firings, until})
}

// fixedSteps is what a routine's snapshot holds.
type fixedSteps struct {
	Version int            `json:"version"`
	Steps   []*routineStep `json:"steps"`
}
