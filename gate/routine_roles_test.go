package gate_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

// only reports whether somebody is the one who may.
func only(who string) func(...string) bool {
	return func(a ...string) bool { return a[0] == who }
}

// A firing has the approval of whoever approved the routine, and holds as long as that
// person may approve: before it begins, and before each of its steps.
func TestG14_AFiringIsHeldAgainstTheRightOfWhoApprovedTheRoutine(t *testing.T) {
	by := gatetest.Approve()
	by.By = "ann"
	x := &roleTable{use: yes, decide: only("ann")}
	rl := newRail()
	r := newRig(t, gatetest.Script(t, by), withRail(rl), func(c *gate.Config) { c.Roles = x })
	defer r.close()
	a := r.call("register_routine", routine("go", 5, "1", "0"))
	require.Equal(t, gate.StatusOK, a.Status, a.Text)
	a, _ = r.fire("go")
	require.Equal(t, gate.StatusOK, a.Status, a.Text)
	require.Equal(t, []float64{1, 0}, rl.ran())

	const says = `decider: "ann" may not approve, by the operator's roles`
	for _, lost := range []func(...string) bool{only(""), only("bob"), fault} {
		x.set(yes, lost)
		a, _ = r.fire("go")
		require.Equal(t, gate.StatusRefused, a.Status, a.Text)
	}
	require.Equal(t, []float64{1, 0}, rl.ran())

	// Lost on the way: the next step doesn't begin.
	x.set(yes, only("ann"))
	rl.set(func(l *rail) { l.after = func(*rail) { x.set(yes, only("bob")) } })
	a, f := r.fire("go")
	require.Equal(t, gate.StatusError, a.Status, a.Text)
	require.Equal(t, gate.CodeNotApproved, a.Code)
	require.Contains(t, f.Steps[1].Text, says)
	require.Equal(t, []float64{1, 0, 1}, rl.ran())
}

// What a hook takes out of a step's answer is in none of what the firing says (G22).
func TestG22_WhatIsRedactedOfAStepIsntInTheFirings(t *testing.T) {
	const secret = "TOPSECRET"
	for name, c := range map[string]func(*rail){
		"it fails": func(l *rail) {
			l.on = func(context.Context, float64) error {
				e := gate.Errf(gate.CodeContact, secret, "hit the box %s", secret)
				e.Value, e.Limit = &gate.Quantity{Name: secret, Value: 47.5}, &gate.Quantity{Value: 47.25}
				e.Nearest = []gate.Quantity{{Value: 47.125, Unit: secret}}
				return e
			}
		},
		"it is refused": func(l *rail) {
			l.check = func(x float64) error {
				if x == 2 {
					return gate.Errf(gate.CodeStartMoved, secret, "the box %s is in the way", secret)
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			rl := newRail()
			r := newRig(t, gatetest.Script(t, gatetest.Approve()), withRail(rl), withHooks(
				afterHook("redact", func(in gate.HookCall, a gate.Answer) (gate.After, error) {
					if in.Tool != "slide" {
						return gate.After{}, nil
					}
					return gate.After{Redact: &gate.Redacted{Text: strings.ReplaceAll(a.Text, secret, "[withheld]"), Result: a.Result}}, nil
				})))
			defer r.close()
			a := r.call("register_routine", routine("go", 3, "1", "2"))
			require.Equal(t, gate.StatusOK, a.Status, a.Text)
			rl.set(c)
			a, f := r.fire("go")
			require.NotEqual(t, gate.StatusOK, a.Status)
			require.Contains(t, f.Steps[len(f.Steps)-1].Text, "[withheld]")
			require.Contains(t, a.Text, "[withheld]")
			require.Contains(t, a.Text, "steps[")
			said := []any{a, a.JSON(), f}
			for _, e := range r.sink.of("tool_call") {
				said = append(said, e)
			}
			for _, x := range said {
				b, err := json.Marshal(x)
				require.NoError(t, err)
				require.NotContains(t, string(b), secret)
			}
			require.Nil(t, a.Refusal.Value)
			require.Empty(t, a.Refusal.Nearest)
		})
	}
}
