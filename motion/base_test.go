package motion_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/robot"
)

// approvals are n times yes.
func approvals(n int) []gatetest.Step {
	steps := make([]gatetest.Step, n)
	for i := range steps {
		steps[i] = gatetest.Approve()
	}
	return steps
}

// at requires the base of a rover to be somewhere.
func (g *rig) at(x, y, yaw float64) {
	g.t.Helper()
	q, b := g.positions(), g.model.Base
	require.InDelta(g.t, x, q[b.X], 5e-3)
	require.InDelta(g.t, y, q[b.Y], 5e-3)
	require.InDelta(g.t, 0, math.Remainder(yaw-q[b.Yaw], 2*math.Pi), 0.02)
}

// A drive is one arc at the speeds that were asked for, in the time that was asked
// for; where it ends is what the simulator's wheels make of it.
func TestDrive(t *testing.T) {
	t.Parallel()
	g := newGated(t, rigOptions{builtin: "rover"}, approvals(4)...)
	var r moved
	g.ok("drive", `{"linear":0.1,"angular":0,"duration":3}`, &r)
	straight := g.positions()[g.model.Base.X]
	require.Greater(t, straight, 0.15)
	require.Less(t, straight, 0.3, "the ramps are part of the three seconds")
	require.InDelta(t, 3, r.Rehearsal.Duration, 0.3)
	require.InDelta(t, 0.1, r.Rehearsal.PeakToolSpeed, 0.005)
	require.Contains(t, g.fact("Drives"), "m forwards, at 0.100 m/s and 0.000 rad/s in 3.00 s")
	g.at(straight, 0, 0)

	g.ok("drive", `{"linear":-0.1,"angular":0,"duration":3}`, &r)
	g.at(0, 0, 0)
	require.Contains(t, g.fact("Drives"), "backwards")

	g.ok("drive", `{"linear":0,"angular":0.5,"duration":4}`, &r)
	q := g.positions()
	g.at(0, 0, q[g.model.Base.Yaw])
	require.InDelta(t, 2, q[g.model.Base.Yaw], 0.3)
	require.Contains(t, g.fact("Drives"), "to the left")

	// Part of a circle of 0.2 m.
	yaw := q[g.model.Base.Yaw]
	g.ok("drive", `{"linear":0.08,"angular":-0.4,"duration":5,"speed_scale":1}`, &r)
	turned := g.positions()[g.model.Base.Yaw]
	centre := [2]float64{0.2 * math.Sin(yaw), -0.2 * math.Cos(yaw)}
	g.at(centre[0]-0.2*math.Sin(turned), centre[1]+0.2*math.Cos(turned), turned)
}

func TestDriveRefusals(t *testing.T) {
	t.Parallel()
	post, err := robot.ParseScene("s.json", []byte(`{"bodies":[{"name":"post","pose":{"xyz":[1,0,0.1]},"geometry":{"cylinder":{"radius":0.1,"length":0.2}}}]}`))
	require.NoError(t, err)
	g := newGated(t, rigOptions{builtin: "rover", scene: post})
	a := g.refused(gate.CodeSpeedLimit, "drive", `{"linear":0.5,"angular":0,"duration":3}`)
	require.Contains(t, a.Text, "nearest admissible: linear 0.1", a.Text)
	a = g.refused(gate.CodeSpeedLimit, "drive", `{"linear":0.1,"angular":0,"duration":0.1}`)
	require.Contains(t, a.Text, "nearest admissible: duration", a.Text)
	a = g.refused(gate.CodeSceneCollision, "drive", `{"linear":0.15,"angular":0,"duration":10}`)
	require.Contains(t, a.Text, "post")
	require.Contains(t, a.Text, "fraction")
	a = g.refused(gate.CodeJointLimit, "drive", `{"linear":-0.15,"angular":0,"duration":40}`)
	require.Contains(t, a.Text, "x")
	g.refused(gate.CodeInvalidArgument, "drive", `{"linear":0,"angular":0,"duration":1}`)
	g.refused(gate.CodeInvalidArgument, "drive", `{"linear":0.1,"angular":0,"duration":0}`)
	g.refused(gate.CodeInvalidArgument, "drive", `{"linear":0.1,"angular":0,"duration":1e9}`)
	for _, n := range []string{"x", "y", "yaw"} {
		for tool, args := range map[string]string{
			"move_joints": `{"positions":{%q:0.1}}`, "jog": `{"joint":%q,"delta":0.1}`, "plan_joints": `{"positions":{%q:0.1}}`,
		} {
			a := g.refused(gate.CodeInvalidArgument, tool, fmt.Sprintf(args, n))
			require.Contains(t, a.Text, "moved by the wheels; use drive or move_pose")
		}
	}
	for _, name := range []string{"so101", "panda", "ur5e", "pantilt", "gantry"} {
		newGated(t, rigOptions{builtin: name}).refused(gate.CodeNotSupported, "drive", `{"linear":0.1,"angular":0,"duration":1}`)
	}
}

// The wheels are moved as arcs, by exactly what was asked for, whole turns too.
func TestWheelsMoveAsArcs(t *testing.T) {
	t.Parallel()
	g := newGated(t, rigOptions{builtin: "rover"}, approvals(4)...)
	b := g.model.Base
	g.ok("move_joints", fast(`{"positions":{"left_wheel":10,"right_wheel":10}}`), nil)
	g.at(10*b.Radius, 0, 0)
	g.ok("jog", fast(`{"joint":"left_wheel","delta":-2}`), nil)
	turn := 2 * b.Radius / b.Track
	q := g.positions()
	require.InDelta(t, turn, q[b.Yaw], 0.01)
	require.InDelta(t, 8, q[b.Left], 0.01)
	g.ok("move_joints", fast(`{"positions":{"left_wheel":10}}`), nil)
	g.at(10*b.Radius, 0, 0)
	g.ok("home", fast(`{}`), nil)
	g.at(0, 0, 0)
	require.Contains(t, g.fact("Drives"), "backwards", "with a yaw to end at, going back is shorter than turning twice")
}

// A base goes to a pose by a turn, a straight line and a turn.
func TestBaseGoesToPoses(t *testing.T) {
	t.Parallel()
	g := newGated(t, rigOptions{builtin: "rover"}, approvals(5)...)
	half := math.Sqrt2 / 2
	g.ok("move_pose", fast(`{"position":[0.3,0.3,0]}`), nil)
	g.at(0.3, 0.3, math.Pi/4)
	require.Equal(t, 2, strings.Count(g.fact("Drives"), ", then ")+1)
	g.ok("move_pose", fast(fmt.Sprintf(`{"position":[0.3,0.6,0],"orientation":[%.17g,0,0,%.17g]}`, half, half)), nil)
	g.at(0.3, 0.6, math.Pi/2)
	// As the base stands now: half a metre to its right is along the root's x.
	g.ok("move_pose", fast(`{"position":[0,-0.4,0],"frame":"base_link"}`), nil)
	g.at(0.7, 0.6, 0)
	g.ok("move_path", fast(`{"waypoints":[{"position":[0.7,0.2,0]},{"position":[0.2,0.2,0],"orientation":[0,0,0,1]}]}`), nil)
	g.at(0.2, 0.2, math.Pi)
	require.Equal(t, "base_link through 2 waypoints, 0.900 m in straight lines", g.fact("Path"))
	var p planned
	g.ok("plan_pose", fast(`{"position":[0,0,0],"orientation":[1,0,0,0]}`), &p)
	g.ok("execute_plan", fmt.Sprintf(`{"plan_id":%q}`, p.PlanID), nil)
	g.at(0, 0, 0)
	g.ok("rehearse", `{"drive":{"linear":0.1,"angular":0.1,"duration":3}}`, nil)
	g.ok("plan_path", fast(`{"waypoints":[{"position":[0.5,0,0]}]}`), nil)

	a := g.refused(gate.CodeUnreachable, "move_pose", `{"position":[0,0,0.2]}`)
	require.Contains(t, a.Text, "nearest admissible: x 0 m, y 0 m, z 0 m")
	a = g.refused(gate.CodeUnreachable, "move_pose", fmt.Sprintf(`{"position":[0,0,0],"orientation":[%.17g,%.17g,0,0]}`, half, half))
	require.Contains(t, a.Text, "qw")
	g.refused(gate.CodeUnreachable, "move_pose", `{"position":[0,0,0],"tool_axis":[1,0,0]}`)
	a = g.refused(gate.CodeUnreachable, "move_path", `{"waypoints":[{"position":[0.1,0,0]},{"position":[0.1,0,0.5]}]}`)
	require.Contains(t, a.Text, "waypoints[1]")
	g.refused(gate.CodeJointLimit, "move_pose", `{"position":[50,0,0]}`)
	g.refused(gate.CodeNotSupported, "gripper", `{"position":1}`)
}
