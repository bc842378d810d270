package gate_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

func withBudget(b gate.Budget) func(*gate.Config) { return func(c *gate.Config) { c.Budget = b } }

// named is a call of a turn that its front end names.
func named(turn, tool, args string) gate.Invocation {
	in := inv(tool, args)
	in.Turn = turn
	return in
}

const turnNotice = " The budget of this turn is used up: 3 of 3 calls. Further calls are refused until the next turn: tell the user now."

func TestG24_TheLastAllowedCallRunsAndThenTheTurnEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, gatetest.Script(t, gatetest.Approve()), withBudget(gate.Budget{CallsPerTurn: 3}))
		defer r.close()
		turn := func(name string) []gate.Answer {
			return []gate.Answer{
				r.Call(t.Context(), named(name, "echo", `{}`)),
				r.Call(t.Context(), named(name, "mvoe", `{}`)), // counts: a loop of mistakes is one
				r.Call(t.Context(), named(name, "move", `{"to":1}`)),
				r.Call(t.Context(), named(name, "echo", `{}`)),
				r.Call(t.Context(), named(name, "move", `{"to":2}`)),
			}
		}
		as := turn("one")
		require.Equal(t, "echo", as[0].Text)
		require.Equal(t, gate.CodeUnknownTool, as[1].Code)
		require.Equal(t, gate.StatusOK, as[2].Status)
		require.Equal(t, "Moved."+turnNotice, as[2].Text)
		for _, a := range as[3:] {
			require.Equal(t, gate.StatusRefused, a.Status)
			require.Equal(t, gate.CodeRateLimited, a.Code)
			require.Equal(t, "turn: its budget of calls is used up; it was not run: tell the user; the next turn starts fresh (value 3 calls, limit 3 calls)", a.Text)
		}
		require.EqualValues(t, 1, r.arm.prepared.Load(), "refused before anybody is asked")
		limits := r.sink.of("turn_limit")
		require.Len(t, limits, 1, "once")
		require.Equal(t, "turn", limits[0].Where)
		require.Equal(t, as[2].CallID, limits[0].CallID)
		require.Equal(t, "The budget of this turn is used up: 3 of 3 calls.", limits[0].Text)
		for _, e := range r.sink.of("tool_call")[3:] {
			require.Equal(t, "budget", e.Reason)
		}
		require.Equal(t, "echo", r.Call(t.Context(), named("two", "echo", `{}`)).Text, "the next turn starts fresh")
		require.Len(t, r.sink.of("turn_limit"), 1)
	})
}

// A step that begins within the budget runs whole.
func TestG24_WhatTheLastStepAskedForStillRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := gatetest.Script(t, gatetest.Approve(), gatetest.Approve())
		r := newRig(t, s, withBudget(gate.Budget{CallsPerTurn: 3}))
		defer r.close()
		r.call("echo", `{}`)
		r.call("echo", `{}`)
		as := r.all(one("b", 3, 1, "move", `{"to":1}`), one("b", 3, 2, "echo", `{}`), one("b", 3, 3, "move", `{"to":2}`))
		for _, a := range as {
			require.Equal(t, gate.StatusOK, a.Status, a.Text)
		}
		require.Contains(t, as[2].Text, "5 of 3 calls", "the last to end says it")
		require.NotContains(t, as[0].Text+as[1].Text, "budget")
		for _, a := range r.all(one("c", 2, 1, "move", `{"to":3}`), one("c", 2, 2, "echo", `{}`)) {
			require.Equal(t, gate.CodeRateLimited, a.Code, "a batch is refused whole")
		}
		require.Len(t, r.sink.of("turn_limit"), 1)
	})
}

func TestG24_ATurnWithoutANameEndsInQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := gatetest.Nobody(t)
		r := newRig(t, u, withBudget(gate.Budget{CallsPerTurn: 2}))
		defer r.close()
		code := func() gate.Code { return r.call("echo", `{}`).Code }
		require.Empty(t, code())
		time.Sleep(gate.DefaultTurnQuiet - time.Nanosecond)
		require.Empty(t, code())
		time.Sleep(gate.DefaultTurnQuiet - time.Nanosecond)
		require.Equal(t, gate.CodeRateLimited, code(), "not quiet for long enough")
		time.Sleep(gate.DefaultTurnQuiet - time.Nanosecond)
		require.Equal(t, gate.CodeRateLimited, code(), "whoever keeps asking doesn't become quiet")
		time.Sleep(gate.DefaultTurnQuiet)
		require.Empty(t, code())

		// While something is asked it isn't quiet either.
		move := r.Submit(inv("move", `{"to":1}`))
		<-u.Asked
		time.Sleep(5 * gate.DefaultTurnQuiet)
		require.Equal(t, gate.CodeRateLimited, code())
		require.Empty(t, r.sink.of("turn_limit")[1:], "what the last step asked for is still under way")
		move.Cancel("")
		<-move.Done()
		require.Len(t, r.sink.of("turn_limit"), 2)
		require.Contains(t, move.Answer().Text, "2 of 2 calls")
		// What concerns a call that was counted isn't, and stops never are.
		require.Equal(t, gate.StatusOK, r.call("call_status", fmt.Sprintf(`{"call_id":%q}`, move.ID())).Status)
		require.Equal(t, gate.StatusOK, r.call("cancel_call", fmt.Sprintf(`{"call_id":%q}`, move.ID())).Status)
		require.NotEqual(t, gate.CodeRateLimited, r.call("stop", `{}`).Code)
	})
}

func TestG24_ATurnIsOneCallersOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, withBudget(gate.Budget{CallsPerTurn: 1}))
		defer r.close()
		require.Empty(t, r.call("echo", `{}`).Code)
		for _, change := range []func(*gate.Invocation){
			func(in *gate.Invocation) { in.Principal = "q" }, func(in *gate.Invocation) { in.Session = "t" }, func(in *gate.Invocation) { in.Origin = "mcp" },
		} {
			in := inv("echo", `{}`)
			change(&in)
			require.Empty(t, r.Call(t.Context(), in).Code)
			require.Equal(t, gate.CodeRateLimited, r.Call(t.Context(), in).Code)
		}
	})
}

func TestG24_ASessionsBudgetIsNeverFreshAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, withBudget(gate.Budget{CallsPerTurn: 10, CallsPerSession: 2}))
		defer r.close()
		require.Empty(t, r.Call(t.Context(), named("one", "echo", `{}`)).Code)
		a := r.Call(t.Context(), named("two", "echo", `{}`))
		require.Equal(t, "echo. The budget of this session is used up: 2 of 2 calls. Further calls of this session are refused: tell the user now.", a.Text)
		time.Sleep(24 * time.Hour)
		b := r.Call(t.Context(), named("three", "echo", `{}`))
		require.Equal(t, gate.CodeRateLimited, b.Code)
		require.Equal(t, "session", b.Refusal.Where)
		require.Equal(t, "session", r.sink.of("turn_limit")[0].Where)
		in := inv("echo", `{}`)
		in.Session = "t"
		require.Empty(t, r.Call(t.Context(), in).Code, "another session has its own")
	})
}

func TestG24_BeforeModelEndsATurnWhoseBudgetIsUsedUp(t *testing.T) {
	r := newRig(t, nil, withBudget(gate.Budget{CallsPerTurn: 1}))
	defer r.close()
	step := gate.ModelStep{Session: "s", Principal: "p", Origin: "test", Turn: "one"}
	for range 3 {
		require.NoError(t, r.BeforeModel(t.Context(), step), "asking counts nothing")
	}
	r.Call(t.Context(), named("one", "echo", `{}`))
	require.Equal(t, gate.CodeRateLimited, gate.CodeOf(r.BeforeModel(t.Context(), step)))
	step.Turn = "two"
	require.NoError(t, r.BeforeModel(t.Context(), step))
}

func TestG24_ABudgetThatIsNoneIsAConfigurationError(t *testing.T) {
	for _, b := range []gate.Budget{{CallsPerTurn: -1}, {CallsPerSession: -1}, {TurnQuiet: -1}} {
		cfg := newConfig(t)
		cfg.Budget = b
		_, err := gate.New(cfg)
		require.ErrorContains(t, err, "config.budget.", "%+v", b)
	}
}

// However steps of however many calls come: those run that began within the budget, and
// one notice comes for each turn that used it up.
func TestG24_TheBudgetOfAnyTurns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(1, 6).Draw(rt, "limit")
		steps := rapid.SliceOfN(rapid.IntRange(0, 4), 1, 12).Draw(rt, "steps") // 0: a new turn
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, nil, withBudget(gate.Budget{CallsPerTurn: limit}))
			defer r.close()
			turn, used, ended := 0, 0, 0
			for i, n := range steps {
				if n == 0 {
					turn, used = turn+1, 0
					continue
				}
				calls := make([]gate.Invocation, n)
				for k := range calls {
					calls[k] = one(fmt.Sprint(i), n, 0, "echo", `{}`)
					calls[k].Turn = fmt.Sprint("turn ", turn)
				}
				want := gate.Code("")
				if used >= limit {
					want = gate.CodeRateLimited
				} else if used += n; used >= limit {
					ended++
				}
				for _, a := range r.all(calls...) {
					if a.Code != want {
						rt.Fatalf("step %d of %v, limit %d: %q, want %q", i, steps, limit, a.Code, want)
					}
				}
			}
			if got := len(r.sink.of("turn_limit")); got != ended {
				rt.Fatalf("%v, limit %d: %d notices, want %d", steps, limit, got, ended)
			}
		})
	})
}
