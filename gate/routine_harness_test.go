package gate_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tau-robot/tau/gate"
)

// rail is a robot of one axis, and the tool that moves it: a Chained one, whose
// actions begin where the robot is or where those before them end.
type rail struct {
	mu    sync.Mutex
	spec  gate.Spec
	scene byte // what stands around it: part of each digest, read live
	at    float64
	runs  []float64 // where it was sent
	on    func(ctx context.Context, to float64) error
	check func(to float64) error // what else a check says
	after func(*rail)            // what happens once it is there
	calls []gate.Call            // of PrepareAfter
}

func newRail() *rail {
	return &rail{spec: gate.Spec{
		Name: "slide", Tier: gate.TierPhysical, Description: "Slides along the rail.", Effect: "The sled slides.",
		Input: gate.Obj(gate.Req("to", gate.Num().In("m").Between(0, 9)), gate.Opt("note", gate.Str(20))),
	}}
}

var _ gate.Chained = (*rail)(nil)

func (r *rail) set(f func(*rail)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r)
}

func (r *rail) ran() []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]float64{}, r.runs...)
}

func (r *rail) Spec() gate.Spec {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.spec
}

type slide struct {
	rail     *rail
	Args     json.RawMessage
	From, To float64
	Scene    byte
	Session  gate.Session
}

func (r *rail) Prepare(_ context.Context, c gate.Call) (gate.Action, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.make(c, r.at)
}

func (r *rail) make(c gate.Call, from float64) (gate.Action, error) {
	x := &slide{rail: r, Args: c.Args, From: from, Scene: r.scene, Session: c.Session}
	if err := json.Unmarshal(c.Args, x); err != nil {
		return nil, gate.Errf(gate.CodeInvalidArgument, "arguments", "%w", err)
	}
	if x.To == 9 {
		return nil, gate.Errf(gate.CodeSceneCollision, "sled", "would hit the end of the rail")
	}
	return x, nil
}

func (r *rail) PrepareAfter(_ context.Context, c gate.Call, before []gate.Action) (gate.Action, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
	from := r.at
	if len(before) > 0 {
		from = before[len(before)-1].(*slide).To
	}
	return r.make(c, from)
}

func (r *rail) Restore(_ context.Context, snapshot []byte) (gate.Action, error) {
	x := &slide{rail: r}
	if err := json.Unmarshal(snapshot, x); err != nil {
		return nil, gate.Errf(gate.CodeInvalidArgument, "snapshot", "%w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if x.Scene != r.scene {
		return nil, gate.Errf(gate.CodeStartMoved, "snapshot", "the scene changed")
	}
	return x, nil
}

func (x *slide) Card() gate.Card {
	return gate.Card{Facts: []gate.Fact{{Label: "Moves", Text: fmt.Sprintf("%g → %g m", x.From, x.To)}}, Assumed: []string{"friction"}}
}

func (x *slide) Digest() [32]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%s %g %g %d %s", x.Args, x.From, x.To, x.Scene, x.Session))
}
func (x *slide) Snapshot() ([]byte, error) { return json.Marshal(x) }
func (x *slide) Resource() string          { return x.Session.Backend }
func (x *slide) Expiry() (none time.Time)  { return none }

func (x *slide) Check(context.Context) error {
	x.rail.mu.Lock()
	defer x.rail.mu.Unlock()
	switch {
	case x.Scene != x.rail.scene:
		return gate.Errf(gate.CodeStartMoved, "sled", "the scene changed")
	case x.From != x.rail.at:
		return gate.Errf(gate.CodeStartMoved, "sled", "is at %g instead of %g", x.rail.at, x.From)
	case x.rail.check != nil:
		return x.rail.check(x.To)
	}
	return nil
}

func (x *slide) Run(ctx context.Context) (gate.Result, error) {
	x.rail.mu.Lock()
	x.rail.runs = append(x.rail.runs, x.To)
	on := x.rail.on
	x.rail.mu.Unlock()
	if on != nil {
		if err := on(ctx, x.To); err != nil {
			return gate.Result{}, err
		}
	}
	x.rail.set(func(r *rail) {
		if r.at = x.To; r.after != nil {
			r.after(r)
		}
	})
	return gate.Result{Text: fmt.Sprintf("At %g m.", x.To), Data: json.RawMessage(`{"secret":"s3"}`)}, nil
}

// withRail gives a gate a rail, and what permitting gives.
func withRail(r *rail, more ...gate.Tool) func(*gate.Config) {
	return func(c *gate.Config) {
		permitting(newHouse())(c)
		if err := c.Catalog.Register(append([]gate.Tool{r}, more...)...); err != nil {
			panic(err)
		}
	}
}

// routine is the arguments of a registration of slides.
func routine(name string, firings int, to ...string) string {
	steps := make([]string, len(to))
	for i, t := range to {
		steps[i] = `{"tool":"slide","arguments":{"to":` + t + `}}`
	}
	return fmt.Sprintf(`{"name":%q,"firings":%d,"steps":[%s]}`, name, firings, strings.Join(steps, ","))
}

// fired is what run_routine's result says.
type fired struct {
	Routine string `json:"routine"`
	Card    string `json:"registered_by"`
	Firing  int    `json:"firing"`
	Firings int    `json:"firings"`
	Steps   []struct {
		CallID string          `json:"call_id"`
		Tool   string          `json:"tool"`
		Status gate.Status     `json:"status"`
		Code   gate.Code       `json:"code"`
		Text   string          `json:"text"`
		Result json.RawMessage `json:"result"`
	} `json:"steps"`
}

func (r *rig) fire(name string) (gate.Answer, fired) {
	r.t.Helper()
	a := r.call("run_routine", fmt.Sprintf(`{"name":%q}`, name))
	var out fired
	if len(a.Result) > 0 {
		if err := json.Unmarshal(a.Result, &out); err != nil {
			r.t.Fatal(err)
		}
	}
	return a, out
}
