package policy_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/lane"
	"github.com/tau-robot/tau/gate/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tool is a physical tool that counts its runs.
type tool struct {
	spec gate.Spec
	ran  *[]string
}

func (x tool) Spec() gate.Spec { return x.spec }
func (x tool) Prepare(_ context.Context, c gate.Call) (gate.Action, error) {
	return action{x, c}, nil
}
func (x tool) Restore(context.Context, []byte) (gate.Action, error) {
	return nil, gate.ErrCode(gate.CodeNotSupported)
}

type action struct {
	tool tool
	call gate.Call
}

func (a action) Card() gate.Card             { return gate.Card{} }
func (a action) Digest() [32]byte            { return sha256.Sum256(a.call.Args) }
func (a action) Snapshot() ([]byte, error)   { return []byte("s"), nil }
func (a action) Expiry() time.Time           { return time.Time{} }
func (a action) Resource() string            { return a.call.Session.Backend }
func (a action) Check(context.Context) error { return nil }
func (a action) Run(context.Context) (gate.Result, error) {
	*a.tool.ran = append(*a.tool.ran, a.call.ID)
	return gate.Result{Text: "done"}, nil
}

// person says no to what is far, and yes to the rest, and remembers what it was asked.
type person struct{ asked map[string]bool }

func (*person) Name() string { return "person" }
func (p *person) Decide(_ context.Context, q gate.Request) (gate.Word, error) {
	p.asked[q.CallID] = true
	if strings.Contains(string(q.Args), `"far"`) {
		return gate.Word{Decision: gate.Rejected}, nil
	}
	return gate.Word{Decision: gate.Approved}, nil
}

type sim struct{}

func (sim) Session(name string) (gate.Session, error) {
	return gate.Session{Name: name, Mode: gate.ModeSim, Backend: "sim"}, nil
}

type events struct {
	mu  sync.Mutex
	all []gate.Event
}

func (e *events) Emit(x gate.Event) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, x)
	return nil
}

// bench is a gate, with or without a policy, and what came of its calls.
type bench struct {
	*gate.Gate
	lane   *lane.Lane
	person *person
	events *events
	ran    []string
	now    time.Time
}

func newBench(t require.TestingT, of *policy.Section) *bench {
	b := &bench{lane: lane.New(), person: &person{asked: map[string]bool{}}, events: &events{}, now: time.Now()}
	cat := gate.NewCatalog()
	for _, s := range specs() {
		switch {
		case s.Name == "move":
			require.NoError(t, cat.Register(tool{s, &b.ran}))
		case s.Name == "state" || s.Name == "note":
			require.NoError(t, cat.Register(gate.Func(s, func(_ context.Context, c gate.Call) (gate.Result, error) {
				b.ran = append(b.ran, c.ID)
				return gate.Result{Text: "arm 7 says done", Data: json.RawMessage(stateResult)}, nil
			})))
		}
	}
	cfg := gate.Config{
		Catalog: cat, Lane: b.lane, Sessions: sim{}, Requests: approval.NewMemory(), Sink: b.events, Approver: b.person,
		Now: func() time.Time { return b.now },
	}
	if of != nil {
		p, err := policy.Compile(*of, append(cat.Specs(), gate.OwnSpecs()...))
		require.NoError(t, err)
		require.NoError(t, p.Apply(&cfg))
	}
	g, err := gate.New(cfg)
	require.NoError(t, err)
	b.Gate = g
	return b
}

func (b *bench) close(t require.TestingT) {
	require.NoError(t, b.Close(context.Background()))
	require.NoError(t, b.lane.Close())
}

// outcome is what a call came to: what matters of whether the gate let it.
type outcome struct {
	ran, asked bool
	answer     gate.Answer
}

func (b *bench) call(in gate.Invocation) outcome {
	b.now = b.now.Add(100 * time.Millisecond)
	n := len(b.ran)
	a := b.Call(context.Background(), in)
	return outcome{len(b.ran) > n, b.person.asked[a.CallID], a}
}

// drawPolicy draws a policy of any rules.
func drawPolicy(rt *rapid.T) policy.Section {
	var s policy.Section
	names := []string{"move", "state", "note", "current_time"}
	maybe := func(what string) bool { return rapid.Bool().Draw(rt, what) }
	some := func(what string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 3, rapid.ID).Draw(rt, what)
	}
	number := func(what string) *float64 { v := rapid.Float64Range(-2, 2).Draw(rt, what); return &v }
	if maybe("allow") {
		s.Allow = append([]string{}, some("allowed")...)
	}
	if maybe("deny") {
		s.Deny = some("denied")
	}
	if maybe("bound") {
		s.Bounds = append(s.Bounds, policy.Bound{Tool: "move", Argument: rapid.SampledFrom([]string{"positions.a", "positions.*", "speed_scale"}).Draw(rt, "argument"), Max: number("max")})
	}
	if maybe("lower bound") {
		s.Bounds = append(s.Bounds, policy.Bound{Tool: "*", Argument: "speed_scale", Min: number("min")})
	}
	rate := func() *policy.Rate {
		return &policy.Rate{PerSecond: rapid.Float64Range(0.01, 20).Draw(rt, "rate"), Burst: rapid.IntRange(1, 3).Draw(rt, "burst")}
	}
	if maybe("session rate") {
		s.Rates.Session = rate()
	}
	if maybe("tool rate") {
		s.Rates.Tools = map[string]policy.Rate{"move": *rate()}
	}
	if maybe("budget") {
		s.Budget = policy.Budget{CallsPerTurn: rapid.IntRange(0, 4).Draw(rt, "turn"), CallsPerSession: rapid.IntRange(0, 6).Draw(rt, "session")}
	}
	if maybe("use") {
		s.Roles.Use = map[string][]string{"p": some("p"), "*": some("others")}
	}
	if maybe("decide") {
		s.Roles.Decide = rapid.SampledFrom([][]string{{}, {"person"}, {"other"}}).Draw(rt, "deciders")
	}
	if maybe("redact") {
		s.Redact = []policy.Redact{{Tool: "state", Fields: []string{"name"}, Pattern: "arm"}}
	}
	if maybe("retry") {
		s.Retry = []policy.Retry{{Tools: []string{"*"}, Codes: []gate.Code{gate.CodeBusy}}}
	}
	return s
}

func drawCall(rt *rapid.T) gate.Invocation {
	in := gate.Invocation{
		Tool:    rapid.SampledFrom([]string{"move", "move", "move", "state", "note", "current_time", "nonesuch"}).Draw(rt, "tool"),
		Session: rapid.SampledFrom([]string{"s", "t"}).Draw(rt, "session of the call"), Origin: "test",
		Principal: rapid.SampledFrom([]string{"p", "q"}).Draw(rt, "principal"),
		Turn:      rapid.SampledFrom([]string{"", "one", "two"}).Draw(rt, "turn of the call"),
	}
	switch in.Tool {
	case "move":
		args := fmt.Sprintf(`{"positions":{%q:%g}`, rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "joint"), rapid.Float64Range(-2, 2).Draw(rt, "position"))
		if rapid.Bool().Draw(rt, "with speed") {
			args += fmt.Sprintf(`,"speed_scale":%g`, rapid.Float64Range(-0.5, 1.5).Draw(rt, "speed"))
		}
		if rapid.IntRange(0, 3).Draw(rt, "far") == 0 {
			args += `,"frame":"far"`
		}
		in.Args = []byte(args + "}")
	case "note":
		in.Args = []byte(rapid.SampledFrom([]string{`{"text":"x"}`, `{}`}).Draw(rt, "note"))
	}
	return in
}

// Adding any policy never lets something run that was refused, and never takes a
// question away.
func TestG21_AnyPolicyOnlyTightens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawPolicy(rt)
		free, bound := newBench(rt, nil), newBench(rt, &s)
		defer free.close(rt)
		defer bound.close(rt)
		for i, in := range rapid.SliceOfN(rapid.Custom(drawCall), 1, 12).Draw(rt, "calls") {
			x, y := free.call(in), bound.call(in)
			what := fmt.Sprintf("call %d, %s %s: without a policy %+v, with it %+v", i, in.Tool, in.Args, x, y)
			if y.ran && !x.ran {
				rt.Fatal("it ran only with the policy: ", what)
			}
			if in.Tool == "move" && y.ran && !y.asked {
				rt.Fatal("it ran and nobody was asked: ", what)
			}
			if y.answer.Status == gate.StatusOK && x.answer.Status != gate.StatusOK {
				rt.Fatal("it is well only with the policy: ", what)
			}
			if y.answer.Approval == gate.ApprovalExempt {
				rt.Fatal("it is exempt: ", what)
			}
		}
	})
}

// The bench can tell: without a policy a motion is asked about and runs.
func TestABenchWithoutAPolicyRuns(t *testing.T) {
	b := newBench(t, nil)
	defer b.close(t)
	x := b.call(gate.Invocation{Tool: "move", Args: []byte(`{"positions":{"a":1}}`), Session: "s", Principal: "p", Origin: "test"})
	require.True(t, x.ran && x.asked, x.answer.Text)
}

// Each kind of refusal has a reason of its own, in one field of the call's event.
func TestEachKindOfRefusalHasItsOwnReason(t *testing.T) {
	s, err := read(t, `
[policy]
allow = ["move", "state", "current_time"]
deny = ["current_time"]
[[policy.bounds]]
tool = "move"
argument = "speed_scale"
max = 0.4
[policy.rates.tools]
state = { per_second = 0.001, burst = 1 }
[policy.budget]
calls_per_turn = 9
[policy.roles]
use.p = ["move", "state", "note", "current_time"]
`)
	require.NoError(t, err)
	b := newBench(t, &s)
	defer b.close(t)
	call := func(principal, tool, args string, change func(*gate.Invocation)) {
		in := gate.Invocation{Tool: tool, Args: []byte(args), Session: "s", Principal: principal, Origin: "test", Turn: "one"}
		if change != nil {
			change(&in)
		}
		b.call(in)
	}
	call("p", "note", `{"text":"x"}`, nil)
	call("p", "current_time", `{}`, nil)
	call("p", "move", `{"positions":{"a":1}}`, nil)
	call("q", "state", `{}`, nil)
	call("p", "state", `{}`, nil)
	call("p", "state", `{}`, nil)
	call("p", "state", `{}`, func(in *gate.Invocation) { in.Batch.Size = -1 })
	for range 5 {
		call("p", "move", `{"positions":{"a":1},"speed_scale":0.1,"frame":"far"}`, nil)
	}
	var got []string
	for _, e := range b.events.all {
		if e.Type == "tool_call" {
			got = append(got, e.Tool+" "+string(e.Code)+" "+e.Reason)
		}
	}
	require.Equal(t, []string{
		"note NOT_APPROVED hook policy.tools", "current_time NOT_APPROVED hook policy.tools",
		"move INVALID_ARGUMENT hook policy.bounds", "state NOT_APPROVED role", "state  ", "state RATE_LIMITED rate",
		"state INVALID_ARGUMENT batch", "move NOT_APPROVED ", "move NOT_APPROVED ", "move NOT_APPROVED ",
		"move NOT_APPROVED ", "move RATE_LIMITED budget",
	}, got)
}
