package gate_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

// What waited while the bridge was restarted is held to the rules as they are then.
func TestG47_WhatHooksSayHoldsAfterARestart(t *testing.T) {
	rule := func(f func(gate.HookCall) (gate.Change, error)) func(*gate.Config) {
		return withHooks(beforeHook("rule", f))
	}
	for what, c := range map[string]struct {
		change func(*gate.Config)
		text   string // of the answer; "": it is asked again
		reason string
	}{
		"nothing against it": {change: rule(func(gate.HookCall) (gate.Change, error) { return gate.Change{}, nil })},
		"refused": {change: rule(func(gate.HookCall) (gate.Change, error) {
			return gate.Change{Refuse: &gate.Error{Text: "not any more"}}, nil
		}),
			text: "not any more", reason: "hook rule"},
		"failed": {change: rule(func(gate.HookCall) (gate.Change, error) { return gate.Change{}, errTest }),
			text: "one of the operator's rules failed inside", reason: "hook rule failed"},
		"changed": {change: rule(func(gate.HookCall) (gate.Change, error) { return gate.Change{Args: json.RawMessage(`{"to":0}`)}, nil }),
			text: `the operator's rules would change this call to move {"to":0}, which isn't what the card showed`, reason: "hook rule"},
		"swapped": {change: rule(func(gate.HookCall) (gate.Change, error) {
			return gate.Change{Tool: "echo", Args: json.RawMessage(`{}`)}, nil
		}), text: "would change this call to echo", reason: "hook rule"},
		"within the budget": {change: withBudget(gate.Budget{CallsPerSession: 1})},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, shown := pending(t, "s", `{"to":1}`)
				steps := []gatetest.Step{}
				if c.text == "" {
					steps = append(steps, gatetest.Approve())
				}
				r := d.life(gatetest.Script(t, steps...), c.change)
				defer r.end()
				_, err := r.Recover(t.Context())
				require.NoError(t, err)
				synctest.Wait()
				rec := r.stored(shown.CallID)
				calls := r.sink.of("tool_call")
				if c.text == "" {
					require.Equal(t, gate.RequestDone, rec.State)
					require.EqualValues(t, 1, r.arm.ran.Load())
					return
				}
				require.Equal(t, gate.RequestExpired, rec.State)
				require.Zero(t, r.arm.ran.Load())
				require.Contains(t, calls[0].ResultSummary, c.text)
				require.Equal(t, c.reason, calls[0].Reason)
				require.Equal(t, "move", calls[0].Tool)
				require.JSONEq(t, `{"to":1}`, string(calls[0].Arguments))
			})
		})
	}
	t.Run("the budget is used up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, u := newDisk(t), gatetest.Nobody(t)
			first := d.life(u)
			_, err := first.Recover(t.Context())
			require.NoError(t, err)
			for _, args := range []string{`{"to":1}`, `{"to":2}`} {
				first.Submit(in("s", args))
			}
			one := <-u.Asked
			d = d.killed(first)
			r := d.life(gatetest.Script(t, gatetest.Approve()), withBudget(gate.Budget{CallsPerSession: 1}))
			defer r.end()
			_, err = r.Recover(t.Context())
			require.NoError(t, err)
			synctest.Wait()
			require.Equal(t, gate.RequestDone, r.stored(one.CallID).State)
			require.Len(t, r.sink.of("turn_limit"), 1)
			require.Equal(t, gate.CodeRateLimited, r.call("move", `{"to":2}`).Code)
		})
	})
}
