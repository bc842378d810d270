package motion_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion"
	"github.com/tau-robot/tau/robot"
)

// step is a call of a chain.
type step struct{ tool, args string }

// chain prepares steps one after the other, none of which runs.
func (g *rig) chain(steps ...step) ([]gate.Action, error) {
	var all []gate.Action
	for _, s := range steps {
		tool, ok := g.tools[s.tool].(gate.Chained)
		require.True(g.t, ok, s.tool)
		act, err := tool.PrepareAfter(g.t.Context(), g.call(s.tool, s.args), all)
		if err != nil {
			return all, err
		}
		all = append(all, act)
	}
	return all, nil
}

func (g *rig) mustChain(steps ...step) []gate.Action {
	g.t.Helper()
	all, err := g.chain(steps...)
	require.NoError(g.t, err)
	return all
}

// restored makes all steps again from their snapshots where the first one starts, as the
// gate does.
func (g *rig) restored(steps []step, all []gate.Action) []gate.Action {
	g.t.Helper()
	again := make([]gate.Action, len(all))
	for k, act := range all {
		snap, err := act.Snapshot()
		require.NoError(g.t, err)
		again[k], err = g.tools[steps[k].tool].Restore(g.t.Context(), snap)
		require.NoError(g.t, err, "step %d", k)
		require.Equal(g.t, act.Digest(), again[k].Digest())
		require.Equal(g.t, act.Card(), again[k].Card())
	}
	return again
}

// fire checks and runs steps in their order.
func (g *rig) fire(all []gate.Action) {
	g.t.Helper()
	for k, act := range all {
		require.NoError(g.t, act.Check(g.t.Context()), "step %d", k)
		_, err := act.Run(g.t.Context())
		require.NoError(g.t, err, "step %d", k)
	}
}

// The steps of a chain begin where the ones before end, and are good at no other time.
func TestG14_AStepBeginsWhereTheOneBeforeEnds(t *testing.T) {
	t.Parallel()
	g := newRig(t, rigOptions{})
	steps := []step{
		{"move_joints", `{"positions":{"shoulder_pan":0.4,"wrist_flex":0.2},"speed_scale":1}`},
		{"jog", `{"joint":"shoulder_pan","delta":-0.3,"speed_scale":1}`},
		{"home", `{"speed_scale":1}`},
	}
	was := g.positions()
	all := g.mustChain(steps...)
	require.Equal(t, was, g.positions(), "nothing moves")
	var before robot.Trajectory
	for k, act := range all {
		m, r, ok := motion.Planned(act)
		require.True(t, ok)
		if k > 0 {
			require.Equal(t, before.End(), m.Trajectory.Start(), "step %d", k)
			requireCode(t, gate.CodeStartMoved, act.Check(t.Context()))
			snap, err := act.Snapshot()
			require.NoError(t, err)
			again, err := g.tools[steps[k].tool].Restore(t.Context(), snap)
			require.NoError(t, err)
			requireCode(t, gate.CodeStartMoved, again.Check(t.Context()))
		}
		require.InDeltaSlice(t, m.Trajectory.Start(), r.Trace[0], 0.02)
		before = m.Trajectory
	}
	g.fire(g.restored(steps, all))
	require.InDeltaSlice(t, g.model.Home, g.positions(), 0.02)
}

// What can't be predicted is no step of a chain, first or later, and says why.
func TestG14_WhatCannotBePredictedIsNoStep(t *testing.T) {
	t.Parallel()
	g := newRig(t, rigOptions{})
	for _, tool := range []string{"torque_on", "torque_off", "estop_reset", "reference"} {
		_, err := g.chain(step{tool, `{}`})
		require.Contains(t, requireCode(t, gate.CodeNotSupported, err).Text, "by itself", tool)
		_, err = g.chain(step{"home", `{"speed_scale":1}`}, step{tool, `{}`})
		requireCode(t, gate.CodeNotSupported, err)
	}
	_, err := g.chain(step{"jog", `{"joint":"shoulder_pan","delta":0.1}`}, step{"execute_plan", `{"plan_id":"x"}`})
	requireCode(t, gate.CodeNotSupported, err)
	off := g.action("torque_off", `{}`)
	_, err = g.tools["home"].(gate.Chained).PrepareAfter(t.Context(), g.call("home", `{}`), []gate.Action{off})
	requireCode(t, gate.CodeNotSupported, err)
	strange := stranger{resource: g.name}
	_, err = g.tools["home"].(gate.Chained).PrepareAfter(t.Context(), g.call("home", `{}`), []gate.Action{strange})
	requireCode(t, gate.CodeNotSupported, err)
	strange.resource = "camera"
	_, err = g.tools["home"].(gate.Chained).PrepareAfter(t.Context(), g.call("home", `{}`), []gate.Action{strange})
	require.NoError(t, err, "what moves something else is no matter")
}

// stranger is another tool's action.
type stranger struct {
	gate.Action
	resource string
}

func (s stranger) Resource() string { return s.resource }

// A jaw that stops on something that it can't hold ends a chain.
func TestG14_AGripWithAnUnknownOutcomeEndsAChain(t *testing.T) {
	t.Parallel()
	g, _, r := newLive(t, rigOptions{})
	r.Joints = make([]robot.JointRehearsal, g.model.DoF())
	half := &halfway{fixed: r, joint: g.model.Gripper.Joint}
	g = newRig(t, rigOptions{rehearser: half})
	_, err := g.chain(step{"gripper", `{"position":1}`}, step{"home", `{}`})
	require.NoError(t, err)
	half.off = 0.3
	_, err = g.chain(step{"gripper", `{"position":1}`}, step{"home", `{}`})
	require.Contains(t, requireCode(t, gate.CodeNotSupported, err).Text, "holds nothing")
}

// halfway is a rehearser in which one joint stops on its way.
type halfway struct {
	*fixed
	joint int
	off   float64
}

func (h *halfway) Rehearse(ctx context.Context, s robot.State, m robot.Motion) (robot.Rehearsal, error) {
	rec, err := h.fixed.Rehearse(ctx, s, m)
	if m.Grip != nil {
		rec.Joints[h.joint].End -= h.off
	}
	return rec, err
}

// Gripping, carrying, letting go and leaving are one chain: what is held goes along,
// what was let go of lies where the rehearsal left it, and is looked for there.
func TestG14_AChainCarriesWhatItGrips(t *testing.T) {
	t.Parallel()
	home := newRig(t, rigOptions{builtin: "panda"}).homeTip()
	o := rigOptions{builtin: "panda", scene: stickScene(t)}
	g := newRig(t, o)
	steps := []step{
		{"gripper", `{"position":0,"speed_scale":1}`},
		{"move_pose", fast(lower(home, 0.05))},
		{"gripper", `{"position":1,"speed_scale":1}`},
		{"home", `{"speed_scale":1}`},
	}
	all := g.mustChain(steps...)
	_, r, _ := motion.Planned(all[1])
	require.Equal(t, "stick", r.Held)
	_, r, _ = motion.Planned(all[2])
	require.Empty(t, r.Held)
	require.Len(t, r.Moved, 1)

	// What lies where it was let go of is gripped again there.
	again, err := g.tools["gripper"].(gate.Chained).PrepareAfter(t.Context(), g.call("gripper", steps[0].args), all[:3])
	require.NoError(t, err)
	_, first, _ := motion.Planned(all[0])
	_, second, _ := motion.Planned(again)
	require.Equal(t, "stick", second.Held)
	require.InDelta(t, 0, first.HeldPose.P.Sub(second.HeldPose.P).Len(), 2e-3)

	// A rehearser that can't put bodies elsewhere ends the chain there.
	other := newRig(t, rigOptions{builtin: "panda", scene: o.scene, rehearser: here{g.reh}})
	_, err = other.tools["home"].(gate.Chained).PrepareAfter(t.Context(), other.call("home", `{}`), all[:3])
	requireCode(t, gate.CodeNotSupported, err)

	// Nudged away before the last step, or taken, it is missed; put back it isn't.
	all = g.restored(steps, all)
	g.fire(all[:3])
	var stick robot.Body
	for _, b := range g.robot.Scene().Bodies {
		if b.Name == "stick" {
			stick = b
		}
	}
	require.NoError(t, g.robot.RemoveBody("stick"))
	requireCode(t, gate.CodeStartMoved, all[3].Check(t.Context()))
	nudged := stick
	nudged.Pose.P[2] -= 0.005
	require.NoError(t, g.robot.AddBody(nudged))
	e := requireCode(t, gate.CodeStartMoved, all[3].Check(t.Context()))
	require.Equal(t, "stick", e.Where)
	require.InDelta(t, 0.005, e.Value.Value, 1e-3)
	require.NoError(t, g.robot.RemoveBody("stick"))
	require.NoError(t, g.robot.AddBody(stick))
	g.fire(all[3:])
}

// here is a Rehearser and nothing else.
type here struct{ motion.Rehearser }

// Whatever random motions a chain is made of, each starts where the one before ends.
func TestG14_RandomChainsHangTogether(t *testing.T) {
	t.Parallel()
	g, _, r := newLive(t, rigOptions{})
	r.Joints = make([]robot.JointRehearsal, g.model.DoF())
	names := g.model.JointNames()
	checks := 0
	rapid.Check(t, func(rt *rapid.T) {
		if checks++; raceEnabled && checks > 10 {
			return
		}
		var steps []step
		for range rapid.IntRange(2, 4).Draw(rt, "steps") {
			i := rapid.IntRange(0, len(names)-1).Draw(rt, "joint")
			l := g.model.Limits[i]
			switch rapid.IntRange(0, 2).Draw(rt, "tool") {
			case 0:
				steps = append(steps, step{"jog", fmt.Sprintf(`{"joint":%q,"delta":%g}`, names[i], rapid.Float64Range(-0.3, 0.3).Draw(rt, "delta"))})
			case 1:
				q := math.Min(math.Max(g.model.Home[i]+rapid.Float64Range(-0.4, 0.4).Draw(rt, "by"), l.Lower), l.Upper)
				steps = append(steps, step{"move_joints", fmt.Sprintf(`{"positions":{%q:%.17g}}`, names[i], q)})
			case 2:
				steps = append(steps, step{"gripper", fmt.Sprintf(`{"position":%g}`, rapid.Float64Range(0, 1).Draw(rt, "position"))})
			}
		}
		all, err := g.chain(steps...)
		if err != nil {
			require.Contains(rt, []gate.Code{gate.CodeJointLimit, gate.CodeSelfCollision, gate.CodeNoPath}, gateErrorOf(err).Code, "%v", err)
		}
		var end []float64
		for k, act := range all {
			m, _, _ := motion.Planned(act)
			if k > 0 {
				require.InDeltaSlice(rt, end, m.Trajectory.Start(), 1e-9, "step %d", k)
			}
			end = m.Trajectory.End()
		}
	})
}

// An actuator that an earlier step sets is set from there.
func TestG14_AnActuatorIsSetFromWhereTheStepBeforeLeavesIt(t *testing.T) {
	t.Parallel()
	g := newRig(t, rigOptions{builtin: "pantilt"})
	steps := []step{
		{"set_actuator", `{"name":"lamp","value":1}`},
		{"home", `{"speed_scale":1}`},
		{"set_actuator", `{"name":"lamp","value":0.5}`},
	}
	all := g.mustChain(steps...)
	require.Contains(t, factOf(all[2].Card(), "Sets"), "from 1 ")
	requireCode(t, gate.CodeStartMoved, all[2].Check(t.Context()))
	g.fire(g.restored(steps, all))
}
