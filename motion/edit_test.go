package motion_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion"
	"github.com/tau-robot/tau/robot"
)

// edit has a tool change what it has prepared of a call.
func (g *rig) edit(call gate.Call, act gate.Action, e gate.Edit) (json.RawMessage, error) {
	tool, ok := g.tools[call.Tool].(gate.Editable)
	require.True(g.t, ok, call.Tool)
	return tool.Edit(g.t.Context(), call, act, e)
}

// edited prepares a call, edits it and prepares what comes of it.
func (g *rig) edited(tool, args string, e gate.Edit) (was, is robot.Motion, newArgs string) {
	g.t.Helper()
	call := g.call(tool, args)
	act, err := g.tools[tool].Prepare(g.t.Context(), call)
	require.NoError(g.t, err)
	raw, err := g.edit(call, act, e)
	require.NoError(g.t, err)
	require.JSONEq(g.t, args, string(call.Args), "what was asked stays what it was")
	again, err := g.tools[tool].Prepare(g.t.Context(), g.call(tool, string(raw)))
	require.NoError(g.t, err, string(raw))
	was, _, _ = motion.Planned(act)
	is, _, _ = motion.Planned(again)
	return was, is, string(raw)
}

// An edit is the same motion slower, or its first part, and what it makes is planned
// anew.
func TestG46_AnEditIsTheSameMotionSlowerOrShorter(t *testing.T) {
	t.Parallel()
	g, _, _ := newLive(t, rigOptions{})
	at := g.tipAt(g.positions()).P
	for tool, args := range map[string]string{
		"move_joints": `{"positions":{"shoulder_pan":0.5,"wrist_flex":0.3}}`,
		"move_pose":   fmt.Sprintf(`{"position":[%g,0.05,%g],"speed_scale":0.8}`, at[0], at[2]),
		"move_path":   fmt.Sprintf(`{"waypoints":[{"position":[%g,0.02,%g]}],"speed_scale":0.8}`, at[0], at[2]),
		"gripper":     `{"position":0.5}`,
		"jog":         `{"joint":"shoulder_pan","delta":0.4}`,
	} {
		was, is, _ := g.edited(tool, args, gate.Edit{SpeedScale: 0.5})
		require.InDeltaSlice(t, was.Trajectory.End(), is.Trajectory.End(), 1e-9, tool)
		require.Greater(t, is.Trajectory.Duration(), was.Trajectory.Duration(), tool)
	}
	for tool, args := range map[string]string{
		"move_joints": `{"positions":{"shoulder_pan":0.5,"wrist_flex":0.3}}`,
		"gripper":     `{"position":0.5}`,
		"jog":         `{"joint":"shoulder_pan","delta":0.4,"speed_scale":1}`,
	} {
		was, is, _ := g.edited(tool, args, gate.Edit{Fraction: 0.25})
		start, end := was.Trajectory.Start(), was.Trajectory.End()
		for i, q := range is.Trajectory.End() {
			require.InDelta(t, start[i]+0.25*(end[i]-start[i]), q, 1e-9, tool)
		}
	}
	_, _, raw := g.edited("jog", `{"joint":"shoulder_pan","delta":0.4}`, gate.Edit{SpeedScale: 0.5, Fraction: 0.5})
	require.JSONEq(t, `{"joint":"shoulder_pan","delta":0.2,"speed_scale":0.25}`, raw)
	_, _, raw = g.edited("jog", `{"joint":"shoulder_pan","delta":0.4,"speed_scale":0.8}`, gate.Edit{SpeedScale: 0.5})
	require.JSONEq(t, `{"joint":"shoulder_pan","delta":0.4,"speed_scale":0.4}`, raw)

	// The default is that of the cap.
	allow := theirs()
	allow.cap = 0.2
	_, _, raw = newRig(t, rigOptions{allow: allow}).edited("jog", `{"joint":"shoulder_pan","delta":0.4}`, gate.Edit{SpeedScale: 0.5})
	require.JSONEq(t, `{"joint":"shoulder_pan","delta":0.4,"speed_scale":0.1}`, raw)
}

func TestG46_ADriveIsEdited(t *testing.T) {
	t.Parallel()
	g := newRig(t, rigOptions{builtin: "rover", rehearser: &fixed{robot.Rehearsal{Simulator: "x", SamplePeriod: 0.02}}})
	drive := `{"linear":0.1,"angular":0.1,"duration":6}`
	was, is, raw := g.edited("drive", drive, gate.Edit{SpeedScale: 0.5})
	require.JSONEq(t, `{"linear":0.05,"angular":0.05,"duration":6}`, raw)
	b := g.model.Base
	travel := func(m robot.Motion) float64 { return m.Trajectory.End()[b.Left] - m.Trajectory.Start()[b.Left] }
	require.Less(t, travel(is), travel(was))
	was, is, raw = g.edited("drive", drive, gate.Edit{Fraction: 0.75})
	require.JSONEq(t, `{"linear":0.1,"angular":0.1,"duration":4.5}`, raw)
	require.Less(t, travel(is), travel(was))
	require.InDelta(t, 4.5, is.Trajectory.Duration(), 1e-6)
}

// What isn't strictly less, or can't be said exactly, is no edit.
func TestG46_WhatIsNoEdit(t *testing.T) {
	t.Parallel()
	g, _, _ := newLive(t, rigOptions{})
	refused := func(want gate.Code, tool, args string, e gate.Edit) string {
		t.Helper()
		call := g.call(tool, args)
		act, err := g.tools[tool].Prepare(t.Context(), call)
		require.NoError(t, err)
		_, err = g.edit(call, act, e)
		return requireCode(t, want, err).Text
	}
	jog := `{"joint":"shoulder_pan","delta":0.4}`
	for _, e := range []gate.Edit{{}, {SpeedScale: 1}, {SpeedScale: 2}, {SpeedScale: -0.5}, {Fraction: 1}, {Fraction: 1.5}, {Fraction: math.NaN()}, {SpeedScale: 0.5, Fraction: 2}} {
		refused(gate.CodeInvalidArgument, "jog", jog, e)
	}
	refused(gate.CodeInvalidArgument, "jog", `{"joint":"shoulder_pan","delta":0}`, gate.Edit{Fraction: 0.5})
	refused(gate.CodeInvalidArgument, "move_joints", `{"positions":{"shoulder_pan":0}}`, gate.Edit{Fraction: 0.5})
	at := g.tipAt(g.positions()).P
	text := refused(gate.CodeNotSupported, "move_pose", fmt.Sprintf(`{"position":[%g,0.05,%g]}`, at[0], at[2]), gate.Edit{Fraction: 0.5})
	require.Contains(t, text, "only slower")
	refused(gate.CodeNotSupported, "home", `{}`, gate.Edit{Fraction: 0.5})
	for _, tool := range []string{"execute_plan", "reference", "torque_on", "torque_off", "estop_reset", "set_actuator"} {
		_, ok := g.tools[tool].(gate.Editable)
		require.False(t, ok, tool)
	}
	// Another tool's action, or another call.
	call := g.call("jog", jog)
	act := g.action("torque_off", `{}`)
	_, err := g.edit(call, act, gate.Edit{SpeedScale: 0.5})
	requireCode(t, gate.CodeInvalidArgument, err)
	act = g.action("jog", jog)
	call.Tool = "home"
	_, err = g.tools["jog"].(gate.Editable).Edit(t.Context(), call, act, gate.Edit{SpeedScale: 0.5})
	requireCode(t, gate.CodeInvalidArgument, err)
}

// A motion that goes around something has no part that a target of its own would make.
func TestG46_ADetourIsNotCutShort(t *testing.T) {
	t.Parallel()
	m := newRig(t, rigOptions{}).model
	post := robot.Body{
		Name: "post", Pose: robot.Pose{P: tipOf(t, m, 0.4), Q: robot.IdentityPose().Q},
		Geometry: robot.Geometry{Kind: robot.Sphere, Radius: 0.02},
	}
	scene, err := robot.NewScene("post", []robot.Body{post}, nil)
	require.NoError(t, err)
	g, _, _ := newLive(t, rigOptions{scene: scene})
	call := g.call("move_joints", pan(0.9))
	act, err := g.tools["move_joints"].Prepare(t.Context(), call)
	require.NoError(t, err)
	_, err = g.edit(call, act, gate.Edit{Fraction: 0.9})
	requireCode(t, gate.CodeNotSupported, err)
	_, err = g.edit(call, act, gate.Edit{SpeedScale: 0.9})
	require.NoError(t, err)
}

// Whatever part of whatever straight motion is asked for, it ends on the way.
func TestG46_APartEndsOnTheWay(t *testing.T) {
	t.Parallel()
	g, _, _ := newLive(t, rigOptions{})
	checks := 0
	rapid.Check(t, func(rt *rapid.T) {
		if checks++; raceEnabled && checks > 10 {
			return
		}
		args := fmt.Sprintf(`{"positions":{"shoulder_pan":%g,"wrist_roll":%g}}`, rapid.Float64Range(-1, 1).Draw(rt, "pan"), rapid.Float64Range(-1, 1).Draw(rt, "roll"))
		e := gate.Edit{Fraction: rapid.Float64Range(1e-6, 0.999999).Draw(rt, "part")}
		call := g.call("move_joints", args)
		act, err := g.tools["move_joints"].Prepare(t.Context(), call)
		if err != nil {
			return
		}
		raw, err := g.edit(call, act, e)
		if err != nil {
			require.Equal(rt, gate.CodeInvalidArgument, gateErrorOf(err).Code, "%v", err)
			return // there already
		}
		again, err := g.tools["move_joints"].Prepare(t.Context(), g.call("move_joints", string(raw)))
		require.NoError(rt, err)
		was, _, _ := motion.Planned(act)
		is, _, _ := motion.Planned(again)
		start, end := was.Trajectory.Start(), was.Trajectory.End()
		for i, q := range is.Trajectory.End() {
			require.InDelta(rt, start[i]+e.Fraction*(end[i]-start[i]), q, 1e-9)
		}
		require.LessOrEqual(rt, is.Trajectory.Duration(), was.Trajectory.Duration()+1e-9)
	})
}
