package gate_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

// What changes between the yes and the first actuation refuses, says so in the
// log, and leaves the arm where it is (G12, cases 62 and 63).
func TestG12_Case63_DriftAfterTheYesRefuses(t *testing.T) {
	policy := [32]byte{1}
	for name, c := range map[string]struct {
		drift func(*rig)
		code  gate.Code
		text  string
		quiet bool // a refusal that isn't about another action
	}{
		"driver or calibration": {drift: func(r *rig) { r.arm.change(func(a *arm) { a.version++ }) }},
		"schema":                {drift: func(r *rig) { r.arm.change(func(a *arm) { a.spec.Input = gate.Obj(gate.Opt("to", gate.Num())) }) }},
		"effect":                {drift: func(r *rig) { r.arm.change(func(a *arm) { a.spec.Effect = "Nothing moves." }) }},
		"tier":                  {drift: func(r *rig) { r.arm.change(func(a *arm) { a.spec.Tier = gate.TierRead }) }},
		"policy":                {text: "the policy changed", drift: func(*rig) { policy[0]++ }},
		"mode":                  {text: "mode or backend changed", drift: func(r *rig) { r.sessions.set(gate.Session{Name: "s", Mode: gate.ModeReal, Backend: "sim"}, nil) }},
		"resource":              {text: "the digest is", drift: func(r *rig) { r.arm.change(func(a *arm) { a.resource = "another arm" }) }},
		"backend":               {drift: func(r *rig) { r.sessions.set(gate.Session{Name: "s", Mode: gate.ModeSim, Backend: "sim2"}, nil) }},
		"opt-in": {code: gate.CodeOptInExpired, quiet: true, drift: func(r *rig) {
			r.sessions.set(gate.Session{Name: "s", Mode: gate.ModeSim, Backend: "sim"}, gate.Errf(gate.CodeOptInExpired, "s", "has expired"))
		}},
		"start state": {code: gate.CodeStartMoved, quiet: true, drift: func(r *rig) {
			r.arm.change(func(a *arm) { a.check = func() error { return gate.Errf(gate.CodeStartMoved, "a", "has moved") } })
		}},
		"check panics": {code: gate.CodeInternal, quiet: true, drift: func(r *rig) {
			r.arm.change(func(a *arm) { a.check = func() error { panic("x") } })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r *rig
				r = newRig(t, gatetest.Script(t, gatetest.Step{Decision: gate.Approved, Do: func(context.Context, gate.Request) { c.drift(r) }}),
					func(cfg *gate.Config) { cfg.Policy = func() [32]byte { return policy } })
				defer r.close()
				a := r.call("move", `{"to":1}`)
				require.Equal(t, gate.StatusRefused, a.Status, a.Text)
				want := c.code
				if want == "" {
					want = gate.CodeNotApproved
				}
				require.Equal(t, want, a.Code, a.Text)
				require.Contains(t, a.Text, c.text)
				require.Zero(t, r.arm.ran.Load())
				require.Equal(t, gate.RequestWithdrawn, r.state(a.CallID))
				var where []string
				for _, e := range r.sink.of("error") {
					where = append(where, e.Where)
				}
				if c.quiet {
					require.Empty(t, where)
				} else {
					require.Equal(t, []string{"tier_gate"}, where)
				}
			})
		})
	}
}

func TestG12_WhatRanIsComparedOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, gatetest.Script(t, gatetest.Approve()))
		defer r.close()
		r.arm.run = func(context.Context) (gate.Result, error) {
			r.arm.change(func(a *arm) { a.version++ })
			return gate.Result{}, nil
		}
		require.Equal(t, gate.StatusOK, r.call("move", `{"to":1}`).Status)
		e := r.sink.of("error")
		require.Len(t, e, 1)
		require.Equal(t, "tier_gate", e[0].Where)
		require.Contains(t, e[0].Text, "what ran isn't what was decided")
	})
}

// Each thing that a person approves changes the digest (G12, case 52, case 62),
// each for itself: the action's own digest and its resource don't follow them.
func TestG12_Case52_Case62_TheDigestCoversIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own, resource := [32]byte{1}, "one arm"
		constant := func(x *armAction) gate.Action { return constantAction{x, own, resource} }
		newArm := func(change func(*gate.Spec)) *arm {
			x := newArm()
			x.wrap = constant
			change(&x.spec)
			return x
		}
		digestOf := func(change func(*rig, *gate.Invocation, *gate.Config)) [32]byte {
			var cfg *gate.Config
			s := gatetest.Script(t, gatetest.Reject())
			i := in("s", `{"to":1}`)
			r := newRig(t, s, func(c *gate.Config) { cfg = c; change(nil, nil, c) })
			defer r.close()
			r.arm.wrap = constant
			change(r, &i, cfg)
			r.Call(t.Context(), i)
			require.Len(t, s.Requests(), 1)
			return s.Requests()[0].Digest
		}
		base := digestOf(func(*rig, *gate.Invocation, *gate.Config) {})
		require.Equal(t, base, digestOf(func(*rig, *gate.Invocation, *gate.Config) {}), "nothing else is in it")
		seen := map[[32]byte]string{base: "the base"}
		for name, change := range map[string]func(*rig, *gate.Invocation, *gate.Config){
			"arguments": func(_ *rig, i *gate.Invocation, _ *gate.Config) {
				if i != nil {
					i.Args = []byte(`{"to":1.0000001}`)
				}
			},
			"more arguments": func(_ *rig, i *gate.Invocation, _ *gate.Config) {
				if i != nil {
					i.Args = []byte(`{"to":1,"note":"x"}`)
				}
			},
			"principal": func(_ *rig, i *gate.Invocation, _ *gate.Config) {
				if i != nil {
					i.Principal = "q"
				}
			},
			"session": func(r *rig, i *gate.Invocation, _ *gate.Config) {
				if r != nil {
					r.sessions.set(gate.Session{Name: "u", Mode: gate.ModeSim, Backend: "sim"}, nil)
					i.Session = "u"
				}
			},
			"mode": func(r *rig, _ *gate.Invocation, _ *gate.Config) {
				if r != nil {
					r.sessions.set(gate.Session{Name: "s", Mode: gate.ModeReal, Backend: "sim"}, nil)
				}
			},
			"backend": func(r *rig, _ *gate.Invocation, _ *gate.Config) {
				if r != nil {
					r.sessions.set(gate.Session{Name: "s", Mode: gate.ModeSim, Backend: "sim3"}, nil)
				}
			},
			"action": func(r *rig, _ *gate.Invocation, _ *gate.Config) {
				if r != nil {
					own[0]++
				}
			},
			"resource": func(r *rig, _ *gate.Invocation, _ *gate.Config) {
				if r != nil {
					resource = "another arm"
				}
			},
			"tool": func(_ *rig, i *gate.Invocation, c *gate.Config) {
				if i == nil {
					require.NoError(t, c.Catalog.Register(newArm(func(s *gate.Spec) { s.Name = "shift" })))
				} else {
					i.Tool = "shift"
				}
			},
			"expiry": func(_ *rig, i *gate.Invocation, c *gate.Config) {
				if i == nil {
					c.RequestTTL = 9 * time.Minute
				}
			},
			"policy": func(_ *rig, i *gate.Invocation, c *gate.Config) {
				if i == nil {
					c.Policy = func() [32]byte { return [32]byte{5} }
				}
			},
			"schema": func(r *rig, i *gate.Invocation, c *gate.Config) {
				if i == nil {
					c.Catalog = gate.NewCatalog()
					require.NoError(t, c.Catalog.Register(newArm(func(s *gate.Spec) { s.Input = gate.Obj(gate.Opt("to", gate.Num())) })))
				}
			},
			"effect": func(r *rig, i *gate.Invocation, c *gate.Config) {
				if i == nil {
					c.Catalog = gate.NewCatalog()
					require.NoError(t, c.Catalog.Register(newArm(func(s *gate.Spec) { s.Effect = "The arm moves slowly." })))
				}
			},
		} {
			own, resource = [32]byte{1}, "one arm"
			d := digestOf(change)
			require.Empty(t, seen[d], "%s doesn't change the digest", name)
			seen[d] = name
		}
	})
}

// constantAction has a digest and a resource that nothing else has a part in.
type constantAction struct {
	*armAction
	own      [32]byte
	resource string
}

func (a constantAction) Digest() [32]byte { return a.own }
func (a constantAction) Resource() string { return a.resource }

// Everybody gets copies: what they write into them changes nothing (G12, G13).
func TestG12_CopiesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scribble := func(b []byte) {
			for i := range b {
				b[i] = 'X'
			}
		}
		s := gatetest.Script(t, gatetest.Step{Decision: gate.Approved, Do: func(_ context.Context, q gate.Request) {
			scribble(q.Args)
			scribble(q.Card.Data)
			q.Card.Facts[0].Text, q.Card.Assumed[0] = "X", "X"
		}})
		r := newRig(t, s, func(c *gate.Config) {
			c.Exemptions = []gate.Exemption{func(q gate.Query) bool { scribble(q.Args); return false }}
		})
		defer r.close()
		var ran string
		r.arm.prepare = func(_ context.Context, c gate.Call) error { ran = string(c.Args); return nil }
		raw := []byte(`{"to":1}`)
		a := r.Call(t.Context(), in("s", string(raw)))
		require.Equal(t, gate.StatusOK, a.Status, a.Text)
		require.Equal(t, `{"to":1}`, ran)
		rec, err := r.requests.Get(t.Context(), a.CallID)
		require.NoError(t, err)
		require.Equal(t, `{"to":1}`, string(rec.Request.Args))
		require.Equal(t, "2 s", rec.Request.Card.Facts[0].Text)
		for _, e := range append(r.sink.of("approval"), r.sink.of("tool_call")...) {
			require.Equal(t, `{"to":1}`, string(e.Arguments))
			if e.Card != nil {
				require.Equal(t, "jerk", e.Card.Assumed[0])
				require.JSONEq(t, `{"duration_s":2}`, string(e.Card.Data))
			}
		}
	})
}

// A sink that writes into what it gets changes nothing of what runs.
func TestG12_ASinkGetsCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, gatetest.Script(t, gatetest.Approve()))
		defer r.close()
		r.sink.setFail(func(e gate.Event) error {
			for i := range e.Arguments {
				e.Arguments[i] = 'X'
			}
			if e.Card != nil {
				e.Card.Facts[0].Text, e.Card.Assumed[0] = "X", "X"
			}
			return nil
		})
		a := r.call("move", `{"to":1}`)
		require.Equal(t, gate.StatusOK, a.Status, a.Text)
		rec, err := r.requests.Get(t.Context(), a.CallID)
		require.NoError(t, err)
		require.Equal(t, `{"to":1}`, string(rec.Request.Args))
		require.Equal(t, "2 s", rec.Request.Card.Facts[0].Text)
	})
}

func TestG13_Exemptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		var last gate.Query
		s := gatetest.Script(t, gatetest.Reject(), gatetest.Reject(), gatetest.Reject())
		r := newRig(t, s)
		defer r.close()
		undo := r.Exempt(func(q gate.Query) bool { asked++; last = q; return true })
		a := r.call("move", `{"to":1}`)
		require.Equal(t, gate.StatusOK, a.Status, a.Text)
		require.Equal(t, gate.ApprovalExempt, a.Approval)
		require.Equal(t, 1, asked)
		require.Equal(t, gate.Query{Tool: "move", Args: json.RawMessage(`{"to":1}`), Principal: "p", Origin: "test",
			Session: gate.Session{Name: "s", Mode: gate.ModeSim, Backend: "sim"}}, last)
		require.Empty(t, r.sink.of("approval"))
		c := r.sink.of("tool_call")
		require.Equal(t, gate.ApprovalExempt, c[len(c)-1].Approval)

		// Not asked about other tiers, unknown tools and bad arguments.
		r.call("echo", `{}`)
		r.call("reboot", `{}`)
		r.call("move", `{"to":9}`)
		require.Equal(t, 1, asked)

		// Limits, checks and the lane stay.
		r.arm.change(func(a *arm) { a.check = func() error { return gate.Errf(gate.CodeStartMoved, "a", "has moved") } })
		require.Equal(t, gate.CodeStartMoved, r.call("move", `{"to":1}`).Code)
		r.arm.change(func(a *arm) { a.check = nil })
		require.EqualValues(t, 1, r.arm.ran.Load())

		undo()
		undo()
		require.Equal(t, gate.CodeNotApproved, r.call("move", `{"to":1}`).Code)
		drop := r.Exempt(func(gate.Query) bool { panic("x") })
		require.Equal(t, gate.CodeNotApproved, r.call("move", `{"to":2}`).Code)
		drop()
		r.Exempt(nil)()
		r.Exempt(func(gate.Query) bool { return false })
		require.Equal(t, gate.CodeNotApproved, r.call("move", `{"to":0}`).Code)
		require.EqualValues(t, 1, r.arm.ran.Load())
	})
}

func TestG15_RehearseExemptsSimulatedSessionsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, gatetest.Script(t, gatetest.Reject()), func(c *gate.Config) { c.Exemptions = []gate.Exemption{gate.RehearseExemption} })
		defer r.close()
		require.Equal(t, gate.ApprovalExempt, r.call("move", `{"to":1}`).Approval)
		a := r.Call(t.Context(), in("r", `{"to":1}`))
		require.Equal(t, gate.CodeNotApproved, a.Code)
		require.EqualValues(t, 1, r.arm.ran.Load())
		require.False(t, gate.RehearseExemption(gate.Query{}), "a session without a mode is not simulated")
	})
}
