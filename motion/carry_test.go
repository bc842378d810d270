package motion_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/motion/planning"
	"github.com/tau-robot/tau/robot"
)

// stick hangs down between the panda's fingers at home, 0.2 m long: most of it is
// below the fingers.
func stickScene(t *testing.T, more ...robot.Body) robot.Scene {
	tip := newRig(t, rigOptions{builtin: "panda"}).homeTip()
	s, err := robot.NewScene("s", append(more, robot.Body{
		Name: "stick", Movable: true, Pose: tip.Mul(robot.Pose{P: mgl64.Vec3{0, 0, 0.09}, Q: mgl64.QuatIdent()}),
		Geometry: robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{0.02, 0.03, 0.2}},
	}), nil)
	require.NoError(t, err)
	return s
}

func (g *rig) homeTip() robot.Pose { return g.tipAt(g.model.Home) }

// table under the panda, its top at z m.
func tableAt(z float64) robot.Body {
	return robot.Body{
		Name: "table", Pose: robot.Pose{P: mgl64.Vec3{0.5, 0, z - 0.01}, Q: mgl64.QuatIdent()},
		Geometry: robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{0.4, 0.6, 0.02}},
	}
}

// lower is a pose so far below home.
func lower(home robot.Pose, by float64) string {
	return fmt.Sprintf(`{"position":[%.17g,%.17g,%.17g],"orientation":[%.17g,%.17g,%.17g,%.17g]}`,
		home.P[0], home.P[1], home.P[2]-by, home.Q.W, home.Q.V[0], home.Q.V[1], home.Q.V[2])
}

// What the gripper holds moves with it: a motion whose arm is free, but not the
// stick that it carries, is refused by the planner, and by the rehearsal alone.
func TestWhatIsCarriedIsInTheWay(t *testing.T) {
	t.Parallel()
	home := newRig(t, rigOptions{builtin: "panda"}).homeTip()
	scene := stickScene(t, tableAt(home.P[2]-0.3))
	down := lower(home, 0.2) // the tip 0.1 m over the table, the stick 0.09 m in it
	for name, c := range map[string]struct {
		checker planning.Checker
		want    gate.Code
	}{"the planner": {nil, gate.CodeSceneCollision}, "the rehearsal alone": {blind{}, gate.CodeRehearsalFailed}} {
		t.Run(name, func(t *testing.T) {
			empty, err := robot.NewScene("s", []robot.Body{tableAt(home.P[2] - 0.3)}, nil)
			require.NoError(t, err)
			_, err = newRig(t, rigOptions{builtin: "panda", scene: empty, checker: c.checker}).prepare("move_pose", down)
			require.NoError(t, err, "the arm alone is free")

			g := newGated(t, rigOptions{builtin: "panda", scene: scene, checker: c.checker}, approvals(3)...)
			var r moved
			g.ok("gripper", `{"position":0}`, &r)
			require.Equal(t, "stick", r.Gripped)
			a := g.refused(c.want, "move_pose", down)
			require.Contains(t, a.Text, "stick")
			require.Contains(t, a.Text, "table")
			a = g.refused(c.want, "move_path", `{"waypoints":[`+waypoint(home.P.Sub(mgl64.Vec3{0, 0, 0.2}), &home.Q)+`]}`)
			require.Contains(t, a.Text, "stick")

			// Half the way is free for both, and the stick is then where it was carried to.
			g.ok("move_pose", lower(home, 0.08), nil)
			g.ok("gripper", `{"position":1}`, nil)
			for _, b := range g.robot.Scene().Bodies {
				if b.Name == "stick" {
					require.InDelta(t, home.P[2]-0.09-0.08, b.Pose.P[2], 0.005)
				}
			}
		})
	}
}

// Where it isn't known how the gripper holds what it holds, nothing is planned
// that would carry it.
func TestCarryingWhatIsSomewhereIsRefused(t *testing.T) {
	b := &live{}
	g := newGated(t, rigOptions{builtin: "panda", scene: stickScene(t), between: func(in robot.Backend) robot.Backend { b.Backend = in; return b }},
		gatetest.Approve(), gatetest.Approve())
	g.ok("gripper", `{"position":0}`, nil)
	b.state = func(s *robot.State) { s.HeldPose = nil }
	home := g.homeTip()
	for tool, args := range map[string]string{
		"move_pose": lower(home, 0.05), "move_joints": `{"positions":{"panda_joint1":0.1}}`, "home": `{}`, "jog": jogArgs("panda_joint1", 0.1),
		"plan_pose": lower(home, 0.05),
	} {
		a := g.refused(gate.CodeStaleState, tool, args)
		require.Contains(t, a.Text, "stick")
	}
	b.state = nil
	g.ok("move_pose", lower(home, 0.05), nil)
}

// A body that slipped in the gripper since the planning isn't where it was planned.
func TestG12_WhatIsHeldIsHeldAsItWas(t *testing.T) {
	b := &live{}
	g := newRig(t, rigOptions{builtin: "panda", scene: stickScene(t), between: func(in robot.Backend) robot.Backend { b.Backend = in; return b }})
	g.must("gripper", `{"position":0}`, nil)
	act := g.action("move_joints", `{"positions":{"panda_joint1":0.1}}`)
	require.NoError(t, act.Check(t.Context()))
	slip := func(by float64, turn float64) func(*robot.State) {
		return func(s *robot.State) {
			p := *s.HeldPose
			p.P[2] += by
			p.Q = mgl64.QuatRotate(turn, mgl64.Vec3{1, 0, 0}).Mul(p.Q)
			s.HeldPose = &p
		}
	}
	for name, c := range map[string]struct {
		state func(*robot.State)
		want  gate.Code
	}{
		"a little":  {slip(0.0019, 0.019), ""},
		"slipped":   {slip(0.0021, 0), gate.CodeStartMoved},
		"turned":    {slip(0, 0.021), gate.CodeStartMoved},
		"lost":      {func(s *robot.State) { s.Held, s.HeldPose = "", nil }, gate.CodeStartMoved},
		"unknown":   {func(s *robot.State) { s.HeldPose = nil }, gate.CodeStaleState},
		"not there": {slip(math.NaN(), 0), gate.CodeStartMoved},
	} {
		b.state = c.state
		require.Equal(t, c.want, gate.CodeOf(act.Check(context.Background())), name)
	}
	b.state = nil
	snap, err := act.Snapshot()
	require.NoError(t, err)
	again, err := g.tools["move_joints"].Restore(t.Context(), snap)
	require.NoError(t, err)
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(snap, &fields))
	fields["held_at"] = json.RawMessage(`{"P":[0,0,0],"Q":{"W":1,"V":[0,0,0]}}`)
	bent, err := json.Marshal(fields)
	require.NoError(t, err)
	_, err = g.tools["move_joints"].Restore(t.Context(), bent)
	require.Error(t, err, "held elsewhere")
	b.state = slip(0.01, 0)
	requireCode(t, gate.CodeStartMoved, again.Check(t.Context()))
	require.NotEqual(t, act.Digest(), g.action("move_joints", `{"positions":{"panda_joint1":0.1}}`).Digest())
}
