package motion_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/motion"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/urdf"
)

// described is a model of a description.
func described(t testing.TB, text string) *robot.Model {
	t.Helper()
	m, err := urdf.Load(urdf.Source{Name: "test.urdf", Data: []byte(text)}, urdf.Source{}, urdf.Source{}, urdf.Source{}, urdf.Options{})
	require.NoError(t, err)
	return m
}

// link is a link with a mass and a small body.
func link(name string) string {
	return `<link name="` + name + `"><inertial><mass value="0.5"/><inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>` +
		`<collision><geometry><sphere radius="0.01"/></geometry></collision></link>`
}

// spinner turns without end and reaches out: polar coordinates of its tip.
var spinner = `<robot name="spinner">` + link("base") + link("arm") + link("tool") +
	`<joint name="spin" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/><limit velocity="1" effort="20"/></joint>` +
	`<joint name="reach" type="prismatic"><parent link="arm"/><child link="tool"/><axis xyz="1 0 0"/><limit lower="0.2" upper="0.8" velocity="0.5" effort="60"/></joint>` +
	`</robot>`

// CASES 8: a joint that follows another isn't commanded by itself.
func TestCase8_AFollowerIsNotCommanded(t *testing.T) {
	g := newGated(t, rigOptions{builtin: "panda"}, gatetest.Approve())
	const second = "panda_finger_joint2"
	for tool, args := range map[string]string{
		"move_joints": `{"positions":{"` + second + `":0.01}}`, "plan_joints": `{"positions":{"` + second + `":0.01}}`, "jog": jogArgs(second, 0.001),
		"rehearse": `{"positions":{"panda_joint1":0.1,"` + second + `":0.01}}`, "set_actuator": `{"name":"` + second + `","value":0.01}`,
	} {
		a := g.refused(gate.CodeInvalidArgument, tool, args)
		require.Contains(t, a.Text, second)
	}
	a := g.refused(gate.CodeInvalidArgument, "jog", jogArgs(second, 0.001))
	require.Contains(t, a.Text, "panda_finger_joint1", "what it follows")
	var r moved
	g.ok("gripper", `{"position":0.5}`, &r)
	require.NotContains(t, r.Positions, second)
	require.InDelta(t, 0.02, r.Positions["panda_finger_joint1"], 1e-3)
}

// CASES 9: joints to which the exporter gave no speed: the robot is described and
// measured, its motions are refused by the names of the joints, asking for a speed.
func TestCase9_JointsWithoutASpeedAreNamed(t *testing.T) {
	text := `<robot name="al5d">` + link("l0")
	for i := 1; i <= 5; i++ {
		speed := "0"
		if i == 3 {
			speed = "1"
		}
		text += link(fmt.Sprint("l", i)) + fmt.Sprintf(`<joint name="j%d" type="revolute"><origin xyz="0 0 0.1"/><parent link="l%d"/><child link="l%d"/><axis xyz="0 1 0"/>`+
			`<limit lower="-1" upper="1" velocity="%s" effort="10"/></joint>`, i, i-1, i, speed)
	}
	g := newGated(t, rigOptions{model: described(t, text+`</robot>`)})
	g.ok("robot_describe", `{}`, nil)
	g.ok("robot_state", `{}`, nil)
	g.ok("list_actuators", `{}`, nil)
	for tool, args := range map[string]string{
		"move_joints": `{"positions":{"j1":0.2}}`, "plan_joints": `{"positions":{"j1":0.2}}`, "home": `{}`, "jog": jogArgs("j3", 0.1), "rehearse": `{"home":true}`,
	} {
		a := g.refused(gate.CodeSpeedLimit, tool, args)
		for _, n := range []string{"j1", "j2", "j4", "j5"} {
			require.Contains(t, a.Text, n, tool)
		}
		require.Contains(t, a.Text, "velocity")
	}
}

// CASES 10: the narrowest known limit holds, everywhere between waypoints too.
func TestCase10_EverySampleIsInsideTheSoftLimit(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../robot/builtin/panda/panda.urdf")
	require.NoError(t, err)
	srdf, err := os.ReadFile("../robot/builtin/panda/panda.srdf")
	require.NoError(t, err)
	const own = `<limit lower="-3.0718" upper="-0.0698" velocity="2.175" effort="87"/>`
	require.Equal(t, 1, bytes.Count(data, []byte(own)))
	data = bytes.Replace(data, []byte(own), []byte(`<limit lower="-3.1416" upper="0.0873" velocity="2.175" effort="87"/>`+
		`<safety_controller k_position="100" k_velocity="40" soft_lower_limit="-3.0718" soft_upper_limit="0.0175"/>`), 1)
	m, err := urdf.Load(urdf.Source{Name: "panda.urdf", Data: data}, urdf.Source{Name: "panda.srdf", Data: srdf}, urdf.Source{}, urdf.Source{}, urdf.Options{})
	require.NoError(t, err)
	g := newGated(t, rigOptions{model: m})
	a := g.refused(gate.CodeJointLimit, "move_joints", `{"positions":{"panda_joint4":0.05}}`)
	require.Contains(t, a.Text, "limit 0.0175 rad")
	require.Contains(t, a.Text, "nearest admissible: panda_joint4 0.0175 rad")
	rng := rand.New(rand.NewPCG(10, 4))
	accepted, tries := 0, 40
	if raceEnabled {
		tries = 6
	}
	for range tries {
		goal := drawQ(m, rng)
		goal[3] = 0.0175 - 0.002*rng.Float64() // at the soft limit
		act, err := g.prepare("move_joints", goalArgs(m, goal))
		if err != nil {
			require.NotEqual(t, gate.CodeInternal, gate.CodeOf(err), "%v", err)
			continue
		}
		accepted++
		eachMillisecond(t, act, m)
	}
	require.Greater(t, accepted, tries/8)
}

// eachMillisecond holds every millisecond of a planned motion to the limits.
func eachMillisecond(t testing.TB, act gate.Action, m *robot.Model) {
	planned, _, ok := motion.Planned(act)
	require.True(t, ok)
	n := m.DoF()
	q, v, a := make([]float64, n), make([]float64, n), make([]float64, n)
	for k := 0; float64(k)*1e-3 <= planned.Trajectory.Duration()+1e-3; k++ {
		planned.Trajectory.Sample(float64(k)*1e-3, q, v, a)
		for i, l := range m.Limits {
			require.False(t, l.Bounded && (q[i] < l.Lower-1e-9 || q[i] > l.Upper+1e-9), "%s is at %g at %d ms", m.JointNames()[i], q[i], k)
			require.LessOrEqual(t, math.Abs(v[i]), l.Velocity*(1+1e-9))
		}
	}
}

// CASES 11: a joint a hair outside its limit moves, and is never commanded outside;
// one farther outside has one way, back inside.
func TestCase11_OutsideALimitThereIsOneWay(t *testing.T) {
	m, err := builtin.Load("gantry")
	require.NoError(t, err)
	lower := m.Limits[1].Lower
	g := newGated(t, rigOptions{builtin: "gantry", start: []float64{0, lower - 5e-7, -0.05}}, gatetest.Approve())
	act, err := g.prepare("move_joints", `{"positions":{"y":0.1}}`)
	require.NoError(t, err)
	eachMillisecond(t, act, m)
	g.ok("move_joints", `{"positions":{"x":0.1}}`, nil) // any other joint, too

	g = newGated(t, rigOptions{builtin: "gantry", start: []float64{0, lower - 0.02, -0.05}}, approvals(2)...)
	for tool, args := range map[string]string{
		"move_joints": `{"positions":{"y":0.1}}`, "plan_joints": `{"positions":{"x":0.1}}`, "home": `{}`, "move_pose": `{"position":[0.1,0.1,0.2]}`,
		"jog": jogArgs("x", 0.05), "move_path": `{"waypoints":[{"position":[0.1,0.1,0.2]}]}`,
	} {
		a := g.refused(gate.CodeJointLimit, tool, args)
		require.Contains(t, a.Text, "y", tool)
		require.Contains(t, a.Text, fmt.Sprintf("value %g m, limit %g m", lower-0.02, lower), tool)
		require.Contains(t, a.Text, fmt.Sprintf("nearest admissible: y %g m", lower), tool)
	}
	g.refused(gate.CodeJointLimit, "jog", jogArgs("y", -0.01))
	var r moved
	g.ok("jog", jogArgs("y", 0.02), &r) // the one way
	require.InDelta(t, lower, r.Positions["y"], 1e-3)
	require.Equal(t, fmt.Sprintf("y at %.4f m, outside its limit of %.4f m, goes back", lower-0.02, lower), g.fact("Starts"))
	g.ok("home", `{}`, nil)
}

// CASES 13: across ±π the shorter way, for a joint and for a straight path.
func TestCase13_AcrossPi(t *testing.T) {
	m := described(t, spinner)
	g := newGated(t, rigOptions{model: m, start: []float64{3.10, 0.5}}, gatetest.Approve())
	var r moved
	act, err := g.prepare("move_joints", `{"positions":{"spin":-3.10}}`)
	require.NoError(t, err)
	noLeap(t, act)
	g.ok("move_joints", `{"positions":{"spin":-3.10}}`, &r)
	require.InDelta(t, 2*math.Pi-3.10, r.Positions["spin"], 5e-3)

	g = newGated(t, rigOptions{model: m, start: []float64{3.10, 0.5}}, gatetest.Approve())
	path := fmt.Sprintf(`{"waypoints":[{"position":[%.17g,%.17g,0]}]}`, 0.5*math.Cos(-3.10), 0.5*math.Sin(-3.10))
	act, err = g.prepare("move_path", path)
	require.NoError(t, err)
	noLeap(t, act)
	g.ok("move_path", path, &r)
	require.InDelta(t, 2*math.Pi-3.10, r.Positions["spin"], 5e-3)
}

// noLeap requires that no joint moves by more than 0.1 between samples 10 ms apart.
func noLeap(t *testing.T, act gate.Action) {
	planned, _, _ := motion.Planned(act)
	last := planned.Trajectory.Start()
	q := make([]float64, len(last))
	for s := 0.0; s <= planned.Trajectory.Duration()+0.01; s += 0.01 {
		planned.Trajectory.Sample(s, q, nil, nil)
		for i := range q {
			require.LessOrEqual(t, math.Abs(q[i]-last[i]), 0.1)
		}
		copy(last, q)
	}
}

// CASES 14: whole turns are counted through: from 7.0 the goal 0.8 is at 7.0832.
func TestCase14_WholeTurnsAreCounted(t *testing.T) {
	t.Parallel()
	m := described(t, spinner)
	g := newGated(t, rigOptions{model: m, start: []float64{7, 0.5}}, approvals(3)...)
	act, err := g.prepare("move_joints", `{"positions":{"spin":0.8}}`)
	require.NoError(t, err)
	planned, _, _ := motion.Planned(act)
	q := make([]float64, 2)
	planned.Trajectory.Sample(1e-3, q, nil, nil)
	require.LessOrEqual(t, math.Abs(q[0]-7), m.Limits[0].Velocity*1e-3)
	require.InDelta(t, 0.8+2*math.Pi, planned.Trajectory.End()[0], 1e-9)
	var r moved
	g.ok("move_joints", fast(`{"positions":{"spin":0.8}}`), &r)
	require.InDelta(t, 0.8+2*math.Pi, r.Positions["spin"], 5e-3)
	// A jog goes by what it says, however many turns that is.
	g.ok("jog", fast(jogArgs("spin", -8)), &r)
	require.InDelta(t, 0.8+2*math.Pi-8, r.Positions["spin"], 5e-3)
	g.ok("jog", `{"joint":"spin","delta":8,"speed_scale":1}`, &r)
	require.InDelta(t, 0.8+2*math.Pi, r.Positions["spin"], 5e-3)
}

// CASES 47: radians and metres, in what is asked for, told and simulated alike.
func TestCase47_OneUnit(t *testing.T) {
	t.Parallel()
	for _, name := range builtin.Names() {
		t.Run(name, func(t *testing.T) {
			g := newGated(t, rigOptions{builtin: name}, gatetest.Approve())
			var r, st moved
			g.ok("move_joints", fast(wholeArm(g.model, 0.1)), &r)
			g.ok("robot_state", `{}`, &st)
			for i, q := range g.positions() { // the simulator's own, rad and m
				n := g.model.JointNames()[i]
				require.InDelta(t, q, r.Positions[n], 1e-9, n)
				require.InDelta(t, q, st.Positions[n], 1e-9, n)
				require.InDelta(t, q, r.Rehearsal.Joints[i].End, 5e-3, n)
			}
			var list struct {
				Actuators []struct {
					Name, Unit string
					Value      float64
				}
			}
			g.ok("list_actuators", `{}`, &list)
			for _, a := range list.Actuators {
				if i := g.model.ActiveIndex(a.Name); i >= 0 {
					require.Equal(t, g.model.Joints[g.model.Active[i]].Type.Unit(), a.Unit)
					require.InDelta(t, g.positions()[i], a.Value, 1e-9)
				}
			}
		})
	}
	for name, tool := range newRig(t, rigOptions{}).tools {
		for _, s := range []*gate.Schema{tool.Spec().Input, tool.Spec().Output} {
			text := strings.ToLower(string(s.JSON()))
			require.NotContains(t, text, "degree", name)
			require.NotContains(t, text, "[deg", name)
			require.NotContains(t, text, "[mm]", name)
		}
	}
}
