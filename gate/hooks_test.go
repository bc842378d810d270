package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/gate/lane"
)

// withHooks registers hooks with the rig's gate.
func withHooks(hooks ...gate.Hook) func(*gate.Config) {
	return func(c *gate.Config) {
		c.Hooks = gate.NewHooks()
		if err := c.Hooks.Register(hooks...); err != nil {
			panic(err)
		}
	}
}

// beforeHook is a hook of one before-call function.
func beforeHook(name string, f func(gate.HookCall) (gate.Change, error)) gate.Hook {
	return gate.Hook{Name: name, BeforeCall: func(_ context.Context, c gate.HookCall) (gate.Change, error) { return f(c) }}
}

func afterHook(name string, f func(gate.HookCall, gate.Answer) (gate.After, error)) gate.Hook {
	return gate.Hook{Name: name, AfterCall: func(_ context.Context, c gate.HookCall, a gate.Answer) (gate.After, error) { return f(c, a) }}
}

// notes collects strings from any goroutine.
type notes struct {
	mu  sync.Mutex
	all []string
}

func (n *notes) add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, fmt.Sprintf(format, args...))
}

func (n *notes) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.all
	n.all = nil
	return out
}

// Whatever functions a list of hooks has, the before ones run in the order of
// registration and the after ones in the reverse one.
func TestG20_TheOrderOfHooks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var seen notes
		var hooks []gate.Hook
		var want []string
		n := rapid.IntRange(0, 6).Draw(rt, "hooks")
		place := rapid.IntRange(0, n).Draw(rt, "gate")
		for i := range n {
			if i == place {
				hooks = append(hooks, gate.Hook{Name: gate.GateHook})
			}
			h := gate.Hook{Name: fmt.Sprint("h", i)}
			if i < place && rapid.Bool().Draw(rt, "batch") {
				h.BeforeBatch = func(context.Context, gate.Step) (*gate.Error, error) { seen.add("batch %d", i); return nil, nil }
			}
			if i < place && rapid.Bool().Draw(rt, "before") {
				h.BeforeCall = func(context.Context, gate.HookCall) (gate.Change, error) {
					seen.add("before %d", i)
					return gate.Change{}, nil
				}
			}
			if rapid.Bool().Draw(rt, "after") {
				h.AfterCall = func(context.Context, gate.HookCall, gate.Answer) (gate.After, error) {
					seen.add("after %d", i)
					return gate.After{}, nil
				}
			}
			hooks = append(hooks, h)
		}
		for _, kind := range []string{"batch", "before", "after"} {
			list := slices.Clone(hooks)
			if kind == "after" {
				slices.Reverse(list)
			}
			for _, h := range list {
				if kind == "batch" && h.BeforeBatch != nil || kind == "before" && h.BeforeCall != nil || kind == "after" && h.AfterCall != nil {
					want = append(want, kind+" "+h.Name[1:])
				}
			}
		}
		r := newRig(t, nil, withHooks(hooks...))
		defer r.close()
		a := r.call("echo", `{"text":"x"}`)
		if a.Status != gate.StatusOK || !slices.Equal(want, seen.take()) {
			rt.Fatalf("%v: want %v", a, want)
		}
	})
}

func TestG20_HooksAreToldOfLiveStateInCopies(t *testing.T) {
	var told []gate.HookCall
	spoil := func(c gate.HookCall) {
		told = append(told, gate.HookCall{Hooked: c.Hooked, Tool: c.Tool, Tier: c.Tier, Args: slices.Clone(c.Args), Ran: c.Ran})
		for i := range c.Args {
			c.Args[i] = 'x'
		}
	}
	s := gatetest.Script(t, gatetest.Approve())
	r := newRig(t, s, withHooks(
		gate.Hook{Name: "batch", BeforeBatch: func(_ context.Context, s gate.Step) (*gate.Error, error) {
			told = append(told, gate.HookCall{Hooked: gate.Hooked{Session: s.Session, Principal: s.Principal, Origin: s.Origin, Turn: s.Turn}})
			for i := range s.Calls[0].Args {
				s.Calls[0].Args[i] = 'x'
			}
			return nil, nil
		}},
		beforeHook("before", func(c gate.HookCall) (gate.Change, error) { spoil(c); return gate.Change{}, nil }),
		afterHook("after", func(c gate.HookCall, a gate.Answer) (gate.After, error) {
			spoil(c)
			for i := range a.Result {
				a.Result[i] = 'x'
			}
			return gate.After{}, nil
		})))
	defer r.close()
	in := inv("move", `{"to":1,"note":"principal p2, session r"}`)
	in.Turn = "turn 7"
	a := r.Call(t.Context(), in)
	require.Equal(t, gate.StatusOK, a.Status, a.Text)
	require.JSONEq(t, `{"positions":{"a":1}}`, string(a.Result))
	require.JSONEq(t, `{"to":1,"note":"principal p2, session r"}`, string(s.Requests()[0].Args))
	require.Len(t, told, 3)
	for i, c := range told {
		require.Equal(t, gate.Session{Name: "s", Mode: gate.ModeSim, Backend: "sim"}, c.Session)
		require.Equal(t, []string{"p", "test", "turn 7"}, []string{c.Principal, c.Origin, c.Turn})
		if i > 0 {
			require.Equal(t, a.CallID, c.CallID)
			require.Equal(t, "move", c.Tool)
			require.Equal(t, gate.TierPhysical, c.Tier)
			require.Equal(t, i == 2, c.Ran)
			require.JSONEq(t, `{"to":1,"note":"principal p2, session r"}`, string(c.Args))
		}
	}
}

func TestG20_ABeforeCallHookRefusesBeforeAnybodyIsAsked(t *testing.T) {
	refuse := &gate.Error{}
	r := newRig(t, gatetest.Script(t), withHooks(
		beforeHook("guard", func(gate.HookCall) (gate.Change, error) { return gate.Change{Refuse: refuse}, nil }),
		beforeHook("later", func(gate.HookCall) (gate.Change, error) { t.Error("asked after a refusal"); return gate.Change{}, nil })))
	defer r.close()
	a := r.call("move", `{"to":1}`)
	require.Equal(t, gate.StatusRefused, a.Status)
	require.Equal(t, gate.CodeNotApproved, a.Code)
	require.Equal(t, "the operator's rules refuse move; it was not run", a.Text)
	*refuse = gate.Error{Code: gate.CodeWorkspace, Where: "to", Text: "not there today"}
	b := r.call("echo", `{}`)
	require.Equal(t, gate.CodeWorkspace, b.Code)
	require.Equal(t, "to: not there today", b.Text)
	require.Zero(t, r.arm.prepared.Load(), "nothing was planned")
	for _, e := range r.sink.of("tool_call") {
		require.Equal(t, "hook guard", e.Reason)
	}
	require.Empty(t, r.sink.of("error"), "a refusal is no fault")
}

func TestG20_WhatAHookRewroteIsWhatTheCardShowsAndTheDigestCovers(t *testing.T) {
	s := gatetest.Script(t, gatetest.Approve(), gatetest.Approve())
	clamp := beforeHook("clamp", func(c gate.HookCall) (gate.Change, error) {
		if c.Tool != "move" || string(c.Args) == `{"to":1}` {
			return gate.Change{}, nil
		}
		return gate.Change{Args: json.RawMessage(`{ "to" : 1.0 }`)}, nil
	})
	r := newRig(t, s, withHooks(clamp))
	defer r.close()
	a := r.call("move", `{"to":2}`)
	require.Equal(t, gate.StatusOK, a.Status, a.Text)
	b := r.call("move", `{"to":1}`)
	asked := s.Requests()
	require.JSONEq(t, `{"to":1}`, string(asked[0].Args))
	require.Equal(t, string(asked[1].Args), string(asked[0].Args), "in canonical form")
	rec, err := r.requests.Get(t.Context(), a.CallID)
	require.NoError(t, err)
	require.JSONEq(t, `{"to":1}`, string(rec.Request.Args))
	e := r.sink.of("tool_call")
	require.JSONEq(t, `{"to":1}`, string(e[0].Arguments))
	require.JSONEq(t, `{"asked_tool":"move","asked_arguments":{"to":2},"changed_by":["clamp"]}`, string(e[0].Data))
	require.Empty(t, e[1].Data)
	require.Equal(t, gate.StatusOK, b.Status)
	require.JSONEq(t, `{"to":1}`, string(r.sink.of("approval")[0].Arguments))
}

// What a hook leaves is decoded as strictly as what a caller sends, and looked up again.
func TestG7_WhatHooksLeaveIsCheckedAgain(t *testing.T) {
	var want gate.Change
	var next []string
	r := newRig(t, gatetest.Script(t), withHooks(
		beforeHook("rewriter", func(gate.HookCall) (gate.Change, error) { return want, nil }),
		beforeHook("next", func(c gate.HookCall) (gate.Change, error) {
			next = append(next, c.Tool+string(c.Args))
			return gate.Change{}, nil
		})))
	defer r.close()
	for what, change := range map[string]gate.Change{
		"a duplicate name":    {Args: json.RawMessage(`{"to":1,"to":2}`)},
		"an unknown field":    {Args: json.RawMessage(`{"to":1,"approved":true}`)},
		"out of bounds":       {Args: json.RawMessage(`{"to":4}`)},
		"a lone surrogate":    {Args: json.RawMessage(`{"note":"\ud800"}`)},
		"no object":           {Args: json.RawMessage(`7`)},
		"trailing data":       {Args: json.RawMessage(`{} {}`)},
		"no such tool":        {Tool: "mvoe"},
		"a stop":              {Tool: "stop"},
		"an emergency stop":   {Tool: "estop", Args: json.RawMessage(`{}`)},
		"another's arguments": {Tool: "echo"},
	} {
		want = change
		a := r.call("move", `{"to":1}`)
		require.Equal(t, gate.StatusRefused, a.Status, what)
		require.Equal(t, gate.CodeInternal, a.Code, what)
		errs := r.sink.of("error")
		require.Equal(t, "rewriter", errs[len(errs)-1].Where, what)
		calls := r.sink.of("tool_call")
		require.Equal(t, "hook rewriter failed", calls[len(calls)-1].Reason, what)
	}
	require.Empty(t, next, "no hook sees what another one broke")
	require.Zero(t, r.arm.prepared.Load())
	require.Empty(t, r.sink.of("stop"))
}

// The tier is the catalog's for what is left, whatever a hook does.
func TestG21_AHookCantTakeTheQuestionAway(t *testing.T) {
	s := gatetest.Script(t, gatetest.Reject(), gatetest.Reject())
	var want gate.Change
	r := newRig(t, s, withHooks(beforeHook("swap", func(gate.HookCall) (gate.Change, error) { return want, nil })))
	defer r.close()
	want = gate.Change{Tool: "move", Args: json.RawMessage(`{"to":2}`)}
	a := r.call("echo", `{"text":"x"}`) // a read becomes a motion: it is asked about
	require.Equal(t, gate.ApprovalRejected, a.Approval, a.Text)
	require.Equal(t, "move", a.Tool)
	require.Equal(t, gate.TierPhysical, s.Requests()[0].Tier)
	a = r.call("move", `{"to":1}`)
	require.Equal(t, gate.CodeNotApproved, a.Code, "refused a moment ago")
	want = gate.Change{}
	require.Equal(t, gate.ApprovalRejected, r.call("move", `{"to":1}`).Approval)
	want = gate.Change{Tool: "echo", Args: json.RawMessage(`{}`)}
	b := r.call("move", `{"to":0}`) // a motion becomes a read, and moves nothing
	require.Equal(t, gate.StatusOK, b.Status)
	require.Equal(t, "echo", b.Tool)
	require.Zero(t, r.arm.ran.Load())
	e := r.sink.of("tool_call")
	require.Equal(t, 0, *e[len(e)-1].Tier)
}

func TestG21_ABeforeHookAtTheGateOrBehindItIsAConfigurationError(t *testing.T) {
	none := func(context.Context, gate.HookCall) (gate.Change, error) { return gate.Change{}, nil }
	seen := func(context.Context, gate.HookCall, gate.Answer) (gate.After, error) { return gate.After{}, nil }
	step := func(context.Context, gate.Step) (*gate.Error, error) { return nil, nil }
	model := func(context.Context, gate.ModelStep) (*gate.Error, error) { return nil, nil }
	build := func(hooks ...gate.Hook) (*gate.Hooks, error) {
		x := gate.NewHooks()
		require.NoError(t, x.Register(hooks...))
		full := newConfig(t)
		full.Hooks = x
		_, err := gate.New(full)
		return x, err
	}
	for what, hooks := range map[string][]gate.Hook{
		"before-call behind":    {{Name: gate.GateHook}, {Name: "late", BeforeCall: none}},
		"before-batch behind":   {{Name: "a", BeforeCall: none}, {Name: gate.GateHook}, {Name: "b", AfterCall: seen}, {Name: "late", BeforeBatch: step}},
		"before-model behind":   {{Name: gate.GateHook}, {Name: "late", BeforeModel: model}},
		"before-call at it":     {{Name: gate.GateHook, BeforeCall: none}},
		"an after at its place": {{Name: gate.GateHook, AfterCall: seen}},
	} {
		x, err := build(hooks...)
		require.Equal(t, gate.CodeInvalidArgument, gate.CodeOf(err), what)
		require.ErrorContains(t, err, "config.hooks", what)
		require.NoError(t, x.Register(gate.Hook{Name: "more"}), "what didn't become a gate isn't sealed")
	}
	x, err := build(gate.Hook{Name: "a", BeforeCall: none}, gate.Hook{Name: gate.GateHook}, gate.Hook{Name: "b", AfterCall: seen})
	require.NoError(t, err)
	require.ErrorContains(t, x.Register(gate.Hook{Name: "more"}), "sealed")

	y := gate.NewHooks()
	require.NoError(t, y.Register(gate.Hook{Name: "a"}))
	require.Error(t, y.Register(gate.Hook{Name: "b"}, gate.Hook{Name: "a"}), "twice")
	require.Error(t, y.Register(gate.Hook{}), "no name")
	require.NoError(t, y.Register(gate.Hook{Name: "b"}), "all or none")
}

func TestG22_AHookThatFailsRefuses(t *testing.T) {
	ways := map[string]func() error{"an error": func() error { return errTest }, "a panic": func() error { panic("x") }}
	for how, fail := range ways {
		for what, h := range map[string]gate.Hook{
			"before-call": beforeHook("faulty", func(gate.HookCall) (gate.Change, error) { return gate.Change{}, fail() }),
			"before-batch": {Name: "faulty", BeforeBatch: func(context.Context, gate.Step) (*gate.Error, error) {
				return nil, fail()
			}},
		} {
			t.Run(what+" "+how, func(t *testing.T) {
				r := newRig(t, gatetest.Script(t), withHooks(h))
				defer r.close()
				for _, tool := range []string{"move", "echo"} {
					a := r.call(tool, `{}`)
					require.Equal(t, gate.StatusRefused, a.Status)
					require.Equal(t, gate.CodeInternal, a.Code)
					require.Equal(t, "faulty", a.Refusal.Where)
				}
				require.Zero(t, r.arm.prepared.Load())
				errs := r.sink.of("error")
				require.Len(t, errs, 2)
				for i, e := range errs {
					require.Equal(t, "faulty", e.Where)
					call := r.sink.of("tool_call")[i]
					require.Equal(t, call.CallID, e.CallID, "beside its call")
					require.Equal(t, "hook faulty failed", call.Reason)
				}
			})
		}
		t.Run("before-model "+how, func(t *testing.T) {
			r := newRig(t, nil, withHooks(gate.Hook{Name: "faulty", BeforeModel: func(context.Context, gate.ModelStep) (*gate.Error, error) {
				return nil, fail()
			}}))
			defer r.close()
			err := r.BeforeModel(t.Context(), gate.ModelStep{Session: "s", Principal: "p", Origin: "chat"})
			require.Equal(t, gate.CodeInternal, gate.CodeOf(err))
			require.Equal(t, "faulty", r.sink.of("error")[0].Where)
		})
		t.Run("after-call "+how, func(t *testing.T) {
			r := newRig(t, gatetest.Script(t, gatetest.Approve()), withHooks(
				afterHook("faulty", func(gate.HookCall, gate.Answer) (gate.After, error) { return gate.After{}, fail() })))
			defer r.close()
			for _, tool := range []string{"move", "echo"} {
				a := r.call(tool, `{}`)
				require.Equal(t, gate.StatusOK, a.Status, "it ran, and that isn't denied")
				require.Nil(t, a.Result)
				require.Contains(t, a.Text, "withheld")
			}
			require.EqualValues(t, 1, r.arm.ran.Load())
			require.Len(t, r.sink.of("error"), 2)
			for _, e := range r.sink.of("tool_call") {
				require.NotContains(t, e.ResultSummary, "Moved")
			}
		})
	}
}

// A stop never comes by a hook, and a hook that hangs holds none up.
func TestG6_AStopSeesNoHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		saw := func(tool string) {
			if tool == "stop" || tool == "estop" {
				t.Errorf("a hook saw %s", tool)
			}
		}
		r := newRig(t, nil, withHooks(gate.Hook{
			Name: "hang",
			BeforeBatch: func(_ context.Context, s gate.Step) (*gate.Error, error) {
				saw(s.Calls[0].Tool)
				<-hang
				return nil, nil
			},
			BeforeCall: func(_ context.Context, c gate.HookCall) (gate.Change, error) { saw(c.Tool); return gate.Change{}, nil },
			AfterCall: func(_ context.Context, c gate.HookCall, _ gate.Answer) (gate.After, error) {
				saw(c.Tool)
				return gate.After{}, nil
			},
		}))
		defer r.close()
		move := r.Submit(inv("move", `{"to":1}`))
		synctest.Wait()
		for _, kind := range []string{"stop", "estop"} {
			require.Equal(t, gate.StatusError, r.call(kind, `{}`).Status, "there is no backend here, and it acted")
		}
		close(hang)
		<-move.Done()
		require.Equal(t, gate.CodeStopped, move.Answer().Code)
		require.Zero(t, r.arm.prepared.Load())
	})
}

// newConfig is the least that a gate is made of.
func newConfig(t *testing.T) gate.Config {
	l := lane.New()
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return gate.Config{Catalog: gate.NewCatalog(), Lane: l, Sessions: &sessions{}, Requests: approval.NewMemory(), Sink: &sink{}}
}
