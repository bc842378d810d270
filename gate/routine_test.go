package gate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

func TestG14_ARoutineIsApprovedAsAWholeAndThenFired(t *testing.T) {
	sled := newRail()
	s := gatetest.Script(t, gatetest.Step{Decision: gate.Approved, By: "ada"})
	r := newRig(t, s, withRail(sled))
	defer r.close()
	reg := r.call("register_routine", routine("there_and_back", 2, "1", "2", "0"))
	require.Equal(t, gate.StatusOK, reg.Status, reg.Text)
	require.Empty(t, sled.ran(), "nothing moves when it is registered")

	// All of it is on the card, each step from where the one before it ends.
	card := s.Requests()[0].Card
	require.Equal(t, []string{"0 → 1 m", "1 → 2 m", "2 → 0 m"}, texts(card, "Moves"))
	require.Equal(t, []string{`slide {"to":2}: The sled slides.`}, texts(card, "Step 2"))
	require.Equal(t, []string{`"there_and_back": the 3 steps below, in this order, from where the robot stands now`}, texts(card, "Routine"))
	require.Contains(t, texts(card, "Fired")[0], "up to 2 times")
	require.Equal(t, []string{"friction"}, card.Assumed)
	all, err := r.Routines(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, reg.CallID, all[0].ID)
	require.Equal(t, "ada", all[0].Decider)

	for n := 1; n <= 2; n++ {
		a, got := r.fire("there_and_back")
		require.Equal(t, gate.StatusOK, a.Status, a.Text)
		require.Equal(t, gate.ApprovalExempt, a.Approval)
		require.Equal(t, reg.CallID, got.Card)
		require.Equal(t, n, got.Firing)
		require.Len(t, got.Steps, 3)
		require.Equal(t, gate.RequestDone, r.state(a.CallID), "what it did is known after a restart")

		// The log says by which routine and card each step was allowed.
		events := r.sink.of("tool_call")
		events = events[len(events)-4:]
		for i, e := range events[:3] {
			require.Equal(t, "slide", e.Tool)
			require.Equal(t, gate.ApprovalExempt, e.Approval)
			require.Equal(t, "there_and_back", e.Routine)
			require.Equal(t, reg.CallID, e.AllowedBy)
			require.Equal(t, a.CallID, e.PartOf)
			require.Equal(t, got.Steps[i].CallID, e.CallID)
			require.NotEmpty(t, e.Digest)
		}
		last := events[3]
		require.Equal(t, "run_routine", last.Tool)
		require.Equal(t, gate.ApprovalExempt, last.Approval)
		require.Equal(t, "there_and_back", last.Routine)
		require.Equal(t, reg.CallID, last.AllowedBy)
		require.Empty(t, last.PartOf)
	}
	require.Equal(t, []float64{1, 2, 0, 1, 2, 0}, sled.ran())
	a, _ := r.fire("there_and_back")
	require.Equal(t, gate.CodeNotApproved, a.Code)
	require.Contains(t, a.Text, "as often as was approved")
	require.Len(t, s.Requests(), 1, "nobody was asked again")
	require.Len(t, r.sink.of("approval"), 1)
}

func TestG14_NothingOfItCountsUntilItIsApproved(t *testing.T) {
	sled, u := newRail(), gatetest.Nobody(t)
	r := newRig(t, u, withRail(sled))
	defer r.close()
	ticket := r.Submit(inv("register_routine", routine("wave", 1, "1")))
	<-u.Asked
	all, err := r.Routines(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
	_, err = r.requests.Routine(t.Context(), "s", "p", "wave", time.Now())
	require.ErrorIs(t, err, gate.ErrCode(gate.CodeNotApproved))
	i := inv("run_routine", `{"name":"wave"}`)
	i.Session = "t" // whose robot is free
	require.Equal(t, gate.CodeNotApproved, r.Call(t.Context(), i).Code)
	ticket.Cancel("enough")
	<-ticket.Done()
	a, _ := r.fire("wave")
	require.Equal(t, gate.CodeNotApproved, a.Code)
	require.Empty(t, sled.ran())
}

// The engine's own steps are exempt, and no equal call from elsewhere is.
func TestG14_AnEqualCallFromElsewhereIsAsked(t *testing.T) {
	sled := newRail()
	s := gatetest.Script(t, gatetest.Approve(), gatetest.Reject())
	r := newRig(t, s, withRail(sled))
	defer r.close()
	require.Equal(t, gate.StatusOK, r.call("register_routine", routine("there", 3, "0")).Status)
	a, _ := r.fire("there")
	require.Equal(t, gate.StatusOK, a.Status)
	require.Equal(t, gate.CodeNotApproved, r.call("slide", `{"to":0}`).Code)
	require.Equal(t, "slide", s.Requests()[1].Tool)
	require.Equal(t, []float64{0}, sled.ran())
}

func TestG14_ItIsBoundToWhoRegisteredItAndWhere(t *testing.T) {
	sled := newRail()
	r := newRig(t, gatetest.Script(t, gatetest.Approve()), withRail(sled))
	defer r.close()
	require.Equal(t, gate.StatusOK, r.call("register_routine", routine("stay", 3, "0")).Status)
	for _, change := range []func(*gate.Invocation){
		func(i *gate.Invocation) { i.Principal = "q" },
		func(i *gate.Invocation) { i.Session = "t" },
		func(i *gate.Invocation) { i.Session = "r" },
	} {
		i := inv("run_routine", `{"name":"stay"}`)
		change(&i)
		require.Equal(t, gate.CodeNotApproved, r.Call(t.Context(), i).Code)
	}
	all, err := r.Routines(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1, "another's try doesn't touch it")
	// The same name of a session isn't the same session.
	for _, now := range []gate.Session{
		{Name: "s", Mode: gate.ModeReal, Backend: "sim"}, {Name: "s", Mode: gate.ModeSim, Backend: "sim2"},
		{Name: "s", Mode: gate.ModeReal, Backend: "sim", OptIn: "someone else"},
	} {
		r.sessions.set(now, nil)
		a, _ := r.fire("stay")
		require.Equal(t, gate.CodeNotApproved, a.Code)
	}
	require.Empty(t, sled.ran())
}

func TestG14_AnyChangeVoidsIt(t *testing.T) {
	var policy byte
	for name, change := range map[string]func(*rig, *rail){
		"scene":       func(_ *rig, x *rail) { x.set(func(x *rail) { x.scene++ }) },
		"description": func(_ *rig, x *rail) { x.set(func(x *rail) { x.spec.Effect = "The sled flies." }) },
		"schema":      func(_ *rig, x *rail) { x.set(func(x *rail) { x.spec.Input = gate.Obj(gate.Req("to", gate.Num())) }) },
		"policy":      func(*rig, *rail) { policy++ },
		"mode": func(r *rig, _ *rail) {
			r.sessions.set(gate.Session{Name: "s", Mode: gate.ModeReal, Backend: "sim"}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			sled := newRail()
			r := newRig(t, gatetest.Script(t, gatetest.Approve()), withRail(sled), func(c *gate.Config) {
				c.Policy = func() [32]byte { return [32]byte{policy} }
			})
			defer r.close()
			reg := r.call("register_routine", routine("stay", 3, "0"))
			require.Equal(t, gate.StatusOK, reg.Status, reg.Text)
			a, _ := r.fire("stay")
			require.Equal(t, gate.StatusOK, a.Status, a.Text)
			was, session := sled.Spec(), gate.Session{Name: "s", Mode: gate.ModeSim, Backend: "sim"}
			change(r, sled)
			a, _ = r.fire("stay")
			require.Equal(t, gate.CodeNotApproved, a.Code)
			require.Contains(t, a.Text, `the routine "stay" is void`)
			require.Equal(t, gate.StatusRefused, a.Status)
			events := r.sink.of("session")
			require.Len(t, events, 1)
			require.Equal(t, "stay", events[0].Routine)
			require.Equal(t, reg.CallID, events[0].AllowedBy)
			// For good, even when everything is as it was.
			sled.set(func(x *rail) { x.spec, x.scene = was, 0 })
			r.sessions.set(session, nil)
			policy = 0
			a, _ = r.fire("stay")
			require.Equal(t, gate.CodeNotApproved, a.Code)
			require.Contains(t, a.Text, "names no routine in force")
			require.Len(t, sled.ran(), 1)
		})
	}
}

// What says nothing of what was approved doesn't void it.
func TestG14_ARobotElsewhereRefusesAFiringAndKeepsTheRoutine(t *testing.T) {
	sled := newRail()
	r := newRig(t, gatetest.Script(t, gatetest.Approve()), withRail(sled))
	defer r.close()
	require.Equal(t, gate.StatusOK, r.call("register_routine", routine("out", 2, "1", "2")).Status)
	sled.set(func(x *rail) { x.at = 0.5 })
	a, _ := r.fire("out")
	require.Equal(t, gate.CodeStartMoved, a.Code)
	require.Equal(t, gate.StatusRefused, a.Status)
	require.Empty(t, sled.ran())
	sled.set(func(x *rail) { x.at = 0 })
	a, got := r.fire("out")
	require.Equal(t, gate.StatusOK, a.Status, a.Text)
	require.Equal(t, 1, got.Firing, "the refused one wasn't counted")
	r.sessions.set(gate.Session{Name: "s"}, gate.Errf(gate.CodeOptInExpired, "session", "opt in again"))
	a, _ = r.fire("out")
	require.Equal(t, gate.CodeOptInExpired, a.Code)
	all, err := r.Routines(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
}

func TestG14_ItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sled := newRail()
		r := newRig(t, gatetest.Script(t, gatetest.Approve()), withRail(sled))
		defer r.close()
		a := r.call("register_routine", `{"name":"stay","firings":9,"for_s":60,"steps":[{"tool":"slide","arguments":{"to":0}}]}`)
		require.Equal(t, gate.StatusOK, a.Status, a.Text)
		time.Sleep(time.Minute - 1)
		a, _ = r.fire("stay")
		require.Equal(t, gate.StatusOK, a.Status, a.Text)
		time.Sleep(time.Nanosecond)
		a, _ = r.fire("stay")
		require.Equal(t, gate.CodeNotApproved, a.Code)
	})
}

func TestG14_ItIsRevoked(t *testing.T) {
	sled := newRail()
	r := newRig(t, gatetest.Script(t, gatetest.Approve(), gatetest.Approve()), withRail(sled))
	defer r.close()
	reg := r.call("register_routine", routine("stay", 9, "0", "0", "0"))
	var ok bool
	sled.set(func(x *rail) {
		x.on = func(context.Context, float64) error { // in the middle of a firing
			var err error
			ok, err = r.RevokeRoutine(context.Background(), reg.CallID, "ada")
			return err
		}
	})
	a, got := r.fire("stay")
	require.True(t, ok)
	require.Equal(t, gate.CodeNotApproved, a.Code)
	require.Equal(t, gate.StatusError, a.Status, "a part of it has moved")
	require.Len(t, got.Steps, 2)
	require.Equal(t, gate.StatusOK, got.Steps[0].Status)
	require.Equal(t, gate.StatusRefused, got.Steps[1].Status)
	require.Len(t, sled.ran(), 1)
	a, _ = r.fire("stay")
	require.Equal(t, gate.CodeNotApproved, a.Code)
	require.Equal(t, `the routine "stay" was revoked by ada`, r.sink.of("session")[0].Text)
	require.Equal(t, gate.StatusOK, r.call("register_routine", routine("stay", 9, "0")).Status, "its name is free again")
}

func TestG14_AFailedStepEndsIt(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		status gate.Status
		code   gate.Code
	}{
		"fault":   {gate.Errf(gate.CodeOverload, "sled", "stalled"), gate.StatusError, gate.CodeOverload},
		"unknown": {gate.Errf(gate.CodeUnknownOutcome, "sled", "no answer"), gate.StatusUnknown, gate.CodeUnknownOutcome},
		"inside":  {errTest, gate.StatusUnknown, gate.CodeUnknownOutcome},
	} {
		t.Run(name, func(t *testing.T) {
			sled := newRail()
			r := newRig(t, gatetest.Script(t, gatetest.Approve()), withRail(sled))
			defer r.close()
			require.Equal(t, gate.StatusOK, r.call("register_routine", routine("out", 2, "1", "2", "3")).Status)
			sled.set(func(x *rail) {
				x.on = func(_ context.Context, to float64) error {
					if to == 2 {
						return c.err
					}
					return nil
				}
			})
			a, got := r.fire("out")
			require.Equal(t, c.status, a.Status, a.Text)
			require.Equal(t, c.code, a.Code)
			require.Contains(t, a.Text, "1 of 3 steps done")
			require.Len(t, got.Steps, 2)
			require.Equal(t, []float64{1, 2}, sled.ran())
			all, err := r.Routines(t.Context())
			require.NoError(t, err)
			require.Equal(t, 1, all[0].Fired, "it was a firing")
		})
	}
}

func TestG14_AStopInTheMiddleEndsIt(t *testing.T) {
	sled := newRail()
	r := newRig(t, gatetest.Script(t, gatetest.Approve()), withRail(sled))
	defer r.close()
	require.Equal(t, gate.StatusOK, r.call("register_routine", routine("out", 2, "1", "2", "3")).Status)
	sled.set(func(x *rail) {
		x.on = func(ctx context.Context, to float64) error {
			if to == 2 {
				r.call("stop", `{}`) // the step itself ends well all the same
				<-ctx.Done()
			}
			return nil
		}
	})
	a, got := r.fire("out")
	require.Equal(t, gate.CodeStopped, a.Code)
	require.Equal(t, gate.StatusCancelled, a.Status)
	require.Len(t, got.Steps, 3)
	require.Equal(t, gate.StatusCancelled, got.Steps[2].Status)
	require.Equal(t, []float64{1, 2}, sled.ran())
}

// What a step has been refused for isn't forgotten, and the after hooks see each of them.
func TestG14_TheOperatorsRulesHoldForTheSteps(t *testing.T) {
	sled := newRail()
	hooks := gate.NewHooks()
	require.NoError(t, hooks.Register(gate.Hook{
		Name: "bounds",
		BeforeCall: func(_ context.Context, c gate.HookCall) (gate.Change, error) {
			switch string(c.Args) {
			case `{"to":5}`:
				return gate.Change{Refuse: gate.Errf(gate.CodeWorkspace, "to", "is beyond the operator's bound")}, nil
			case `{"to":6}`:
				return gate.Change{Args: []byte(`{"to":4}`)}, nil
			}
			return gate.Change{}, nil
		},
		AfterCall: func(_ context.Context, c gate.HookCall, a gate.Answer) (gate.After, error) {
			if c.Tool != "slide" {
				return gate.After{}, nil
			}
			return gate.After{Redact: &gate.Redacted{Text: "redacted"}}, nil
		},
	}))
	r := newRig(t, gatetest.Script(t, gatetest.Approve()), withRail(sled), func(c *gate.Config) { c.Hooks = hooks })
	defer r.close()
	a := r.call("register_routine", routine("far", 1, "1", "5"))
	require.Equal(t, gate.CodeWorkspace, a.Code)
	require.Contains(t, a.Text, "steps[1].to")
	a = r.call("register_routine", routine("far", 1, "6"))
	require.Equal(t, gate.CodeNotApproved, a.Code)
	require.Contains(t, a.Text, `would change this call to slide {"to":4}`)
	require.Equal(t, gate.StatusOK, r.call("register_routine", routine("near", 1, "1")).Status)
	a, got := r.fire("near")
	require.Equal(t, gate.StatusOK, a.Status, a.Text)
	require.Equal(t, "redacted", got.Steps[0].Text)
	require.NotContains(t, string(a.Result), "s3")
}

// A step that can't begin any more, when its turn has come, ends the firing there.
func TestG14_AStepThatCantBeginAnyMoreEndsIt(t *testing.T) {
	for name, then := range map[string]func(*rail){
		"pushed away": func(x *rail) { x.at += 0.1 }, "another scene": func(x *rail) { x.scene++ },
	} {
		t.Run(name, func(t *testing.T) {
			sled := newRail()
			r := newRig(t, gatetest.Script(t, gatetest.Approve()), withRail(sled))
			defer r.close()
			require.Equal(t, gate.StatusOK, r.call("register_routine", routine("out", 2, "1", "2", "3")).Status)
			sled.set(func(x *rail) { x.after = then })
			a, got := r.fire("out")
			require.Equal(t, gate.CodeStartMoved, a.Code, a.Text)
			require.Equal(t, gate.StatusError, a.Status)
			require.Equal(t, "steps[1].sled", a.Refusal.Where)
			require.Len(t, got.Steps, 2)
			require.Equal(t, []float64{1}, sled.ran())
		})
	}
}
