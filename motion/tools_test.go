package motion_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/sim"
)

func requireCode(t testing.TB, want gate.Code, err error) *gate.Error {
	t.Helper()
	require.Error(t, err)
	var ge *gate.Error
	require.ErrorAs(t, err, &ge)
	require.Equal(t, want, ge.Code, err.Error())
	return ge
}

func TestMoveJointsMovesToMeasuredGoal(t *testing.T) {
	g := newRig(t, rigOptions{})
	before := g.positions()
	var r moved
	g.must("move_joints", `{"positions":{"shoulder_pan":0.5}}`, &r)
	require.InDelta(t, 0.5, r.Positions["shoulder_pan"], 0.01)
	require.Equal(t, "done", r.Outcome)
	require.Equal(t, "sim", r.Mode)
	require.Equal(t, "sim", r.Backend)
	require.Greater(t, r.DurationS, 0.0)
	require.Greater(t, r.MaxTrackingError, 0.0, "a servo lags; 0 would be an echo of the command")
	for i, n := range g.model.JointNames() {
		if n != "shoulder_pan" {
			require.InDelta(t, before[i], r.Positions[n], 0.01, n)
		}
	}
}

// A result is what was measured: a stuck joint's result must not be the command.
func TestCase48_ResultIsMeasuredNotEchoed(t *testing.T) {
	g := newRig(t, rigOptions{faults: []sim.Fault{{At: 0, Kind: sim.FaultStuck, Joint: "shoulder_pan"}}})
	var r moved
	err := g.do("move_joints", `{"positions":{"shoulder_pan":0.8}}`, &r)
	requireCode(t, gate.CodeDeviation, err)
	require.Equal(t, "faulted", r.Outcome)
	require.Less(t, math.Abs(r.Positions["shoulder_pan"]), 0.1)
}

func TestRefusalsNameFieldValueAndLimit(t *testing.T) {
	g := newRig(t, rigOptions{})
	before := g.positions()
	_, err := g.prepare("move_joints", `{"positions":{"shoulder_pan":5}}`)
	e := requireCode(t, gate.CodeJointLimit, err)
	require.Contains(t, e.Where, "shoulder_pan")
	require.NotNil(t, e.Value)
	require.InDelta(t, 5, e.Value.Value, 0)
	i := g.model.ActiveIndex("shoulder_pan")
	require.NotNil(t, e.Limit)
	require.InDelta(t, g.model.Limits[i].Upper, e.Limit.Value, 1e-12)
	require.NotEmpty(t, e.Nearest, "the nearest admissible alternative")

	_, err = g.prepare("move_joints", `{"positions":{"elbow":0.1}}`)
	e = requireCode(t, gate.CodeInvalidArgument, err)
	require.Equal(t, "positions.elbow", e.Where)

	_, err = g.prepare("move_pose", `{"position":[5,0,0]}`)
	e = requireCode(t, gate.CodeUnreachable, err)
	require.NotEmpty(t, e.Nearest)

	_, err = g.prepare("move_pose", `{"position":[0.2,0,0.2],"orientation":[1,0,0,0],"tool_axis":[0,0,1]}`)
	requireCode(t, gate.CodeInvalidArgument, err)
	_, err = g.prepare("move_pose", `{"position":[0.2,0,0.2],"orientation":[2,0,0,0]}`)
	requireCode(t, gate.CodeInvalidArgument, err)
	_, err = g.prepare("move_pose", `{"position":[0.2,0,0.2],"tip":"nowhere"}`)
	requireCode(t, gate.CodeInvalidArgument, err)
	_, err = g.prepare("gripper", `{"position":1,"max_effort":1000}`)
	requireCode(t, gate.CodeTorqueLimit, err)
	require.Equal(t, before, g.positions())
}

func TestMovePoseReachesPositionAndAxis(t *testing.T) {
	g := newRig(t, rigOptions{})
	var r moved
	g.must("move_pose", `{"position":[0.25,0.05,0.12]}`, &r)
	for i, want := range []float64{0.25, 0.05, 0.12} {
		require.InDelta(t, want, r.Tip.Position[i], 0.01)
	}
	// Straight down, in front of the base: what five joints can do.
	g.must("move_pose", `{"position":[0.16,0,0.06],"tool_axis":[0,0,-1]}`, &r)
	q := r.Tip.Orientation
	// The tip's z axis in the root frame, from the quaternion.
	z := [3]float64{2 * (q[1]*q[3] + q[0]*q[2]), 2 * (q[2]*q[3] - q[0]*q[1]), 1 - 2*(q[1]*q[1]+q[2]*q[2])}
	require.InDelta(t, -1, z[2], 0.01)
	// In the gripper's own frame: a pose given there means where that link stands now.
	p0 := r.Tip.Position
	g.must("move_pose", `{"position":[0,0,-0.02],"frame":"gripper_frame_link"}`, &r)
	require.InDelta(t, p0[2]+0.02, r.Tip.Position[2], 0.01, "back along the tool's axis, which points down")
}

func TestPlanIsAHandle(t *testing.T) {
	g := newRig(t, rigOptions{})
	plan := func(args string) planned {
		call := g.call("plan_joints", args)
		act, err := g.tools["plan_joints"].Prepare(context.Background(), call)
		require.NoError(t, err)
		res, err := act.Run(context.Background())
		require.NoError(t, err)
		var p planned
		require.NoError(t, json.Unmarshal(res.Data, &p))
		return p
	}
	before := g.positions()
	p := plan(`{"positions":{"shoulder_pan":0.3}}`)
	require.Equal(t, before, g.positions(), "planning moves nothing")
	require.Equal(t, g.now.Add(motion.PlanTTL), p.ExpiresAt)

	// Another principal's and another session's handle is none.
	call := g.call("execute_plan", fmt.Sprintf(`{"plan_id":%q}`, p.PlanID))
	call.Principal = "somebody else"
	_, err := g.tools["execute_plan"].Prepare(context.Background(), call)
	requireCode(t, gate.CodePlanExpired, err)
	call = g.call("execute_plan", fmt.Sprintf(`{"plan_id":%q}`, p.PlanID))
	call.Session.Name = "another"
	_, err = g.tools["execute_plan"].Prepare(context.Background(), call)
	requireCode(t, gate.CodePlanExpired, err)

	act, err := g.prepare("execute_plan", fmt.Sprintf(`{"plan_id":%q}`, p.PlanID))
	require.NoError(t, err)
	d := act.Digest()
	require.Equal(t, p.Digest, fmt.Sprintf("%x", d[:]), "what is asked is what was planned")
	_, err = g.prepare("execute_plan", fmt.Sprintf(`{"plan_id":%q}`, p.PlanID))
	requireCode(t, gate.CodePlanUsed, err)
	require.NoError(t, act.Check(context.Background()))
	_, err = act.Run(context.Background())
	require.NoError(t, err)

	// Expiry.
	p = plan(`{"positions":{"shoulder_pan":0}}`)
	g.now = g.now.Add(motion.PlanTTL)
	_, err = g.prepare("execute_plan", fmt.Sprintf(`{"plan_id":%q}`, p.PlanID))
	requireCode(t, gate.CodePlanExpired, err)

	// A robot that has moved since.
	p = plan(`{"positions":{"shoulder_lift":-0.4}}`)
	g.must("move_joints", `{"positions":{"shoulder_pan":-0.3}}`, nil)
	_, err = g.prepare("execute_plan", fmt.Sprintf(`{"plan_id":%q}`, p.PlanID))
	requireCode(t, gate.CodeStartMoved, err)
}

// Old plans are void after a stop, and after a reset as well.
func TestCase41_PlansDieWithAStop(t *testing.T) {
	g := newRig(t, rigOptions{})
	act, err := g.prepare("move_joints", `{"positions":{"shoulder_pan":0.5}}`)
	require.NoError(t, err)
	v := g.robot.Stop(context.Background(), robot.StopEmergency)
	require.Equal(t, robot.Yes, v.Commanded)
	requireCode(t, gate.CodeStopped, act.Check(context.Background()))

	_, err = g.prepare("move_joints", `{"positions":{"shoulder_pan":0.5}}`)
	requireCode(t, gate.CodeEStopped, err)
	before := g.positions()
	g.must("estop_reset", `{}`, nil)
	require.Equal(t, before, g.positions(), "a reset starts nothing")
	requireCode(t, gate.CodeStopped, act.Check(context.Background()))
	_, err = act.Run(context.Background())
	require.Error(t, err, "the backend refuses the old epoch by itself")
	require.Equal(t, before, g.positions())
	g.must("move_joints", `{"positions":{"shoulder_pan":0.5}}`, nil)
}

func TestTorqueOffAndOn(t *testing.T) {
	g := newRig(t, rigOptions{off: true})
	_, err := g.prepare("home", `{}`)
	requireCode(t, gate.CodeNotEnabled, err)
	g.must("torque_on", `{}`, nil)
	g.must("home", `{}`, nil)
	act, err := g.prepare("torque_off", `{}`)
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(act.Card().Facts), "sinks")
	_, err = act.Run(context.Background())
	require.NoError(t, err)
	_, err = g.prepare("home", `{}`)
	requireCode(t, gate.CodeNotEnabled, err)
}

func TestGripperOpensAndCloses(t *testing.T) {
	g := newRig(t, rigOptions{})
	var r moved
	gr := g.model.Gripper
	g.must("gripper", `{"position":1}`, &r)
	require.InDelta(t, gr.Open, r.Positions["gripper"], 0.02)
	g.must("gripper", `{"position":0.5}`, &r)
	require.InDelta(t, (gr.Open+gr.Closed)/2, r.Positions["gripper"], 0.02)
}

func TestG30_CardSaysWhatWasFoundAndAssumed(t *testing.T) {
	g := newRig(t, rigOptions{})
	act, err := g.prepare("move_joints", `{"positions":{"shoulder_pan":0.5}}`)
	require.NoError(t, err)
	card := act.Card()
	text := map[string]string{}
	for _, f := range card.Facts {
		text[f.Label] = f.Text
	}
	require.Contains(t, text["Moves"], "shoulder_pan")
	require.Contains(t, text["Moves"], "0.500 rad")
	require.Contains(t, text["Rehearsed"], sim.Version)
	require.Contains(t, text["Top speed"], "tool")
	require.Contains(t, text["Clearance"], "mm between")
	require.Contains(t, text["Ends at"], "gripper_frame_link")
	require.NotEmpty(t, card.Assumed)
	require.True(t, json.Valid(card.Data))
}

// The digest covers everything that a person was shown and what it stands on.
func TestG12_DigestCoversWhatIsShown(t *testing.T) {
	one := newRig(t, rigOptions{})
	base, err := one.prepare("move_joints", `{"positions":{"shoulder_pan":0.5}}`)
	require.NoError(t, err)
	same, err := one.prepare("move_joints", `{"positions":{"shoulder_pan":0.5}}`)
	require.NoError(t, err)
	require.Equal(t, base.Digest(), same.Digest(), "planning is deterministic")
	for _, args := range []string{`{"positions":{"shoulder_pan":0.5000001}}`, `{"positions":{"shoulder_pan":0.5},"speed_scale":0.49}`} {
		other, err := one.prepare("move_joints", args)
		require.NoError(t, err)
		require.NotEqual(t, base.Digest(), other.Digest(), args)
	}
	scene, err := robot.ParseScene("s.json", []byte(`{"name":"s","bodies":[{"name":"far","pose":{"xyz":[2,0,0],"quat_wxyz":[1,0,0,0]},"geometry":{"sphere":{"radius":0.1}}}]}`))
	require.NoError(t, err)
	two := newRig(t, rigOptions{scene: scene})
	other, err := two.prepare("move_joints", `{"positions":{"shoulder_pan":0.5}}`)
	require.NoError(t, err)
	require.NotEqual(t, base.Digest(), other.Digest(), "another scene")
}

func TestSnapshotRestoresTheSameAction(t *testing.T) {
	t.Parallel()
	g := newRig(t, rigOptions{})
	for tool, args := range map[string]string{"move_joints": `{"positions":{"shoulder_pan":0.5}}`, "gripper": `{"position":1}`, "torque_off": `{}`} {
		act, err := g.prepare(tool, args)
		require.NoError(t, err)
		snap, err := act.Snapshot()
		require.NoError(t, err)
		again, err := g.tools[tool].Restore(context.Background(), snap)
		require.NoError(t, err)
		require.Equal(t, act.Digest(), again.Digest())
		require.Equal(t, act.Card(), again.Card())
		require.NoError(t, again.Check(context.Background()))
		// One changed byte anywhere must not become another action.
		step := 1
		if raceEnabled {
			step = 11
		}
		for i := 0; i < len(snap); i += step {
			bad := append([]byte(nil), snap...)
			bad[i] ^= 1
			if r, err := g.tools[tool].Restore(context.Background(), bad); err == nil {
				require.Equal(t, act.Digest(), r.Digest(), "byte %d", i)
			}
		}
	}
	_, err := g.tools["home"].Restore(context.Background(), []byte(`{}`))
	requireCode(t, gate.CodeInvalidArgument, err)
}

func TestRehearseMovesNothingAndUsesNothingUp(t *testing.T) {
	g := newRig(t, rigOptions{})
	run := func(tool, args string) (gate.Result, error) {
		act, err := g.tools[tool].Prepare(context.Background(), g.call(tool, args))
		require.NoError(t, err)
		return act.Run(context.Background())
	}
	before := g.positions()
	res, err := run("plan_joints", `{"positions":{"shoulder_pan":0.3}}`)
	require.NoError(t, err)
	var p planned
	require.NoError(t, json.Unmarshal(res.Data, &p))
	for _, args := range []string{fmt.Sprintf(`{"plan_id":%q}`, p.PlanID), `{"positions":{"shoulder_pan":0.1}}`, `{"gripper":1}`, `{"home":true}`} {
		_, err := run("rehearse", args)
		require.NoError(t, err, args)
	}
	for _, args := range []string{`{}`, `{"home":false}`, `{"home":true,"gripper":1}`} {
		_, err := run("rehearse", args)
		requireCode(t, gate.CodeInvalidArgument, err)
	}
	require.Equal(t, before, g.positions())
	g.must("execute_plan", fmt.Sprintf(`{"plan_id":%q}`, p.PlanID), nil)
}

func TestReadTools(t *testing.T) {
	g := newRig(t, rigOptions{})
	run := func(tool string) map[string]any {
		act, err := g.tools[tool].Prepare(context.Background(), g.call(tool, `{}`))
		require.NoError(t, err)
		res, err := act.Run(context.Background())
		require.NoError(t, err)
		var m map[string]any
		require.NoError(t, json.Unmarshal(res.Data, &m))
		return m
	}
	st := run("robot_state")
	require.Len(t, st["positions"], g.model.DoF())
	require.Equal(t, true, st["enabled"])
	require.Equal(t, false, st["moving"])
	require.NotContains(t, st, "setpoints", "measured positions need no setpoints")
	require.Equal(t, "so101", run("robot_describe")["robot"])
	require.NotEmpty(t, run("list_actuators")["actuators"])
}

func TestModeOfSessionMustBeTheRobots(t *testing.T) {
	g := newRig(t, rigOptions{})
	for _, s := range []gate.Session{{Name: "s", Mode: gate.ModeReal, Backend: "sim"}, {Name: "s", Mode: gate.ModeSim, Backend: "other"}, {}} {
		call := g.call("home", `{}`)
		call.Session = s
		_, err := g.tools["home"].Prepare(context.Background(), call)
		require.Error(t, err)
	}
}

// A robot that leaves its rehearsed course is stopped, however well it follows
// its own setpoints.
func TestWatchStopsADeviation(t *testing.T) {
	g := newRig(t, rigOptions{faults: []sim.Fault{{At: 0.3, Kind: sim.FaultKick, Joint: "shoulder_pan", Value: 6, Duration: 0.3}}})
	var r moved
	err := g.do("move_joints", `{"positions":{"shoulder_pan":1.2},"speed_scale":0.3}`, &r)
	requireCode(t, gate.CodeDeviation, err)
	require.Less(t, r.Positions["shoulder_pan"], 1.1)
}

func TestEffectsAndSchemas(t *testing.T) {
	g := newRig(t, rigOptions{})
	for name, tool := range g.tools {
		s := tool.Spec()
		require.True(t, s.Tier.Valid(), name)
		if s.Tier == gate.TierPhysical {
			require.NotEmpty(t, s.Effect, name)
			require.False(t, strings.HasSuffix(s.Effect, "\n"))
		}
	}
}
