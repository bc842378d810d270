package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/gatetest"
)

// redactor takes the secret out of whatever has it.
func redactor(name string) gate.Hook {
	clean := func(s string) string { return strings.ReplaceAll(s, "4711", "****") }
	return afterHook(name, func(_ gate.HookCall, a gate.Answer) (gate.After, error) {
		r := a.Refusal
		r.Where = clean(r.Where)
		return gate.After{Redact: &gate.Redacted{Text: clean(a.Text), Result: json.RawMessage(clean(string(a.Result))), Refusal: r}}, nil
	})
}

// What was redacted reaches nobody: the caller, the event, the stored answer, those who
// ask for it later, in this process and the next.
func TestG20_WhatIsRedactedComesOutNowhere(t *testing.T) {
	store := approval.NewMemory()
	keep := func(c *gate.Config) { c.Requests = store }
	r := newRig(t, gatetest.Script(t, gatetest.Approve(), gatetest.Approve(), gatetest.Approve()), keep, withHooks(redactor("redactor")))
	secret := func(context.Context) (gate.Result, error) {
		return gate.Result{Text: "The code is 4711.", Data: json.RawMessage(`{"code":"4711"}`)}, nil
	}
	r.arm.change(func(a *arm) { a.run = secret })
	in := inv("move", `{"to":1}`)
	in.CallID = strings.Repeat("ab", 16)
	first := r.Call(t.Context(), in)
	require.Equal(t, gate.StatusOK, first.Status, first.Text)
	require.JSONEq(t, `{"code":"****"}`, string(first.Result))
	again := r.Call(t.Context(), in)
	require.Equal(t, first.Result, again.Result, "the same call id")
	status := r.call("call_status", fmt.Sprintf(`{"call_id":%q}`, in.CallID))
	r.arm.change(func(a *arm) {
		a.run = func(context.Context) (gate.Result, error) {
			return gate.Result{}, gate.Errf(gate.CodeDeviation, "joint 4711", "is off by 4711")
		}
	})
	failed := r.call("move", `{"to":2}`)
	require.Equal(t, gate.CodeDeviation, failed.Code)
	require.Equal(t, gate.StatusError, failed.Status, "how it ended is told as it is")
	r.arm.change(func(a *arm) {
		a.run, a.prepare = nil, func(context.Context, gate.Call) error { return gate.Errf(gate.CodeUnreachable, "4711", "no") }
	})
	refused := r.call("move", `{"to":2.5}`)
	require.Equal(t, gate.CodeUnreachable, refused.Code)
	require.Equal(t, gate.StatusRefused, refused.Status)
	r.arm.change(func(a *arm) { a.run, a.prepare = func(context.Context) (gate.Result, error) { panic(4711) }, nil })
	unknown := r.call("move", `{"to":3}`)
	require.Equal(t, gate.StatusUnknown, unknown.Status)
	require.Contains(t, unknown.Text, "do not send it again")
	for _, a := range []gate.Answer{first, again, status, failed, refused, unknown} {
		require.NotContains(t, string(a.JSON()), "4711")
	}
	for _, e := range r.sink.of("tool_call") {
		require.NotContains(t, e.ResultSummary, "4711")
	}
	for _, id := range []string{in.CallID, failed.CallID, unknown.CallID} {
		rec, err := store.Get(t.Context(), id)
		require.NoError(t, err)
		require.NotEmpty(t, rec.Answer)
		require.NotContains(t, string(rec.Answer), "4711", "stored")
	}
	r.close()

	// An earlier process stored it before there was a rule.
	plain := newRig(t, gatetest.Script(t, gatetest.Approve()), keep)
	plain.arm.change(func(a *arm) { a.run = secret })
	in.CallID = strings.Repeat("cd", 16)
	require.Contains(t, plain.Call(t.Context(), in).Text, "4711")
	plain.close()
	later := newRig(t, gatetest.Script(t), keep, withHooks(redactor("redactor")))
	defer later.close()
	replayed := later.Call(t.Context(), in)
	require.Equal(t, gate.StatusOK, replayed.Status)
	require.Contains(t, string(replayed.JSON()), "****")
	for _, a := range []gate.Answer{replayed, later.call("call_status", fmt.Sprintf(`{"call_id":%q}`, in.CallID))} {
		require.Equal(t, gate.StatusOK, a.Status)
		require.NotContains(t, string(a.JSON()), "4711")
	}
}

func TestG20_EachAfterHookSeesWhatTheOneBehindItLeft(t *testing.T) {
	var seen notes
	r := newRig(t, nil, withHooks(
		afterHook("outer", func(_ gate.HookCall, a gate.Answer) (gate.After, error) {
			seen.add("outer %s", a.Text)
			return gate.After{Redact: &gate.Redacted{Text: a.Text + " outer", Result: a.Result}}, nil
		}),
		afterHook("inner", func(_ gate.HookCall, a gate.Answer) (gate.After, error) {
			seen.add("inner %s", a.Text)
			return gate.After{Redact: &gate.Redacted{Text: a.Text + " inner", Result: json.RawMessage(`{"n":1}`)}}, nil
		})))
	defer r.close()
	a := r.call("echo", `{}`)
	require.Equal(t, "echo inner outer", a.Text)
	require.JSONEq(t, `{"n":1}`, string(a.Result))
	require.Equal(t, []string{"inner echo", "outer echo inner"}, seen.take())
}

// A result that isn't an object is as bad as none: a fault, and withheld.
func TestG22_AHookThatLeavesNoObjectIsAtFault(t *testing.T) {
	r := newRig(t, nil, withHooks(afterHook("faulty", func(gate.HookCall, gate.Answer) (gate.After, error) {
		return gate.After{Redact: &gate.Redacted{Text: "x", Result: json.RawMessage(`[1]`)}}, nil
	})))
	defer r.close()
	a := r.call("echo", `{}`)
	require.Equal(t, gate.StatusOK, a.Status)
	require.Contains(t, a.Text, "withheld")
	require.Nil(t, a.Result)
	require.Equal(t, "faulty", r.sink.of("error")[0].Where)
}

// flaky is a tool that fails so many times.
func flaky(tier gate.Tier, fails int, ran *int) gate.Tool {
	return gate.Func(gate.Spec{Name: "flaky", Tier: tier, Description: "Fails at first.", Input: gate.Obj()},
		func(context.Context, gate.Call) (gate.Result, error) {
			if *ran++; *ran <= fails {
				return gate.Result{}, gate.Errf(gate.CodeStaleState, "", "too old, number %d", *ran)
			}
			return gate.Result{Text: "fresh"}, nil
		})
}

func TestG20_OneRetryOfReadsOnly(t *testing.T) {
	always := func(name string) gate.Hook {
		return afterHook(name, func(gate.HookCall, gate.Answer) (gate.After, error) { return gate.After{Retry: true}, nil })
	}
	for what, c := range map[string]struct {
		tier        gate.Tier
		fails, runs int
		status      gate.Status
	}{
		"a read that fails once":  {gate.TierRead, 1, 2, gate.StatusOK},
		"a read that fails twice": {gate.TierRead, 2, 2, gate.StatusRefused},
		"a read that is well":     {gate.TierRead, 0, 2, gate.StatusOK},
		"a write":                 {gate.TierWrite, 1, 1, gate.StatusRefused},
	} {
		t.Run(what, func(t *testing.T) {
			ran := 0
			r := newRig(t, nil, withHooks(always("one"), always("two")), func(cfg *gate.Config) {
				require.NoError(t, cfg.Catalog.Register(flaky(c.tier, c.fails, &ran)))
			})
			defer r.close()
			a := r.call("flaky", `{}`)
			require.Equal(t, c.status, a.Status, a.Text)
			require.Equal(t, c.runs, ran)
			calls := r.sink.of("tool_call")
			require.Len(t, calls, 1, "it is one call")
			if c.tier == gate.TierRead {
				require.JSONEq(t, `{"retried_by":"two"}`, string(calls[0].Data))
				require.Empty(t, r.sink.of("error"))
			} else {
				require.Len(t, r.sink.of("error"), 2, "each hook that asked for it is told of")
			}
		})
	}
	t.Run("a motion", func(t *testing.T) {
		r := newRig(t, gatetest.Script(t, gatetest.Approve()), withHooks(always("one")))
		defer r.close()
		r.arm.change(func(a *arm) {
			a.run = func(context.Context) (gate.Result, error) {
				return gate.Result{}, gate.Errf(gate.CodeContact, "", "touched")
			}
		})
		require.Equal(t, gate.CodeContact, r.call("move", `{"to":1}`).Code)
		require.EqualValues(t, 1, r.arm.ran.Load())
		require.Equal(t, "one", r.sink.of("error")[0].Where)
	})
	t.Run("a second run takes a token of its own", func(t *testing.T) {
		ran := 0
		r := newRig(t, nil, withHooks(always("one")), func(cfg *gate.Config) {
			require.NoError(t, cfg.Catalog.Register(flaky(gate.TierRead, 5, &ran)))
			cfg.Rates.Tools = map[string]gate.Rate{"flaky": {PerSecond: 1e-9, Burst: 1}}
		})
		defer r.close()
		require.Equal(t, gate.CodeStaleState, r.call("flaky", `{}`).Code)
		require.Equal(t, 1, ran)
	})
}

func TestG20_BeforeModelSeesTheStepAndEndsTheTurn(t *testing.T) {
	var seen []gate.ModelStep
	r := newRig(t, nil, withHooks(gate.Hook{Name: "tokens", BeforeModel: func(_ context.Context, s gate.ModelStep) (*gate.Error, error) {
		seen = append(seen, s)
		if s.Tokens > 1000 {
			return &gate.Error{Code: gate.CodeRateLimited, Text: "1000 tokens a turn"}, nil
		}
		return nil, nil
	}}))
	defer r.close()
	step := gate.ModelStep{Session: "s", Principal: "p", Origin: "chat", Turn: "1", Tokens: 10}
	require.NoError(t, r.BeforeModel(t.Context(), step))
	step.Tokens = 1001
	require.Equal(t, gate.CodeRateLimited, gate.CodeOf(r.BeforeModel(t.Context(), step)))
	require.Equal(t, []int{10, 1001}, []int{seen[0].Tokens, seen[1].Tokens})
	step.Session = "nonesuch"
	require.Error(t, r.BeforeModel(t.Context(), step), "there is no such session")
	require.Len(t, seen, 2)
}
