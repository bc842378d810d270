package motion_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// A real robot starts disabled: nobody is asked for a motion of it, and what has to come
// first is said.
func TestARealRobotStartsDisabled(t *testing.T) {
	t.Parallel()
	s := newServos(t, "pantilt", nil, atHome, approvals(2)...)
	for tool, args := range map[string]string{
		"move_joints": `{"positions":{"pan":0.3}}`, "home": `{}`, "jog": `{"joint":"pan","delta":0.1}`, "move_pose": `{"position":[0.1,0,0.1]}`,
	} {
		a := s.refused(gate.CodeNotEnabled, tool, args)
		require.Contains(t, a.Text, "torque is off; torque_on first")
	}
	s.ok("torque_on", `{}`, nil)
	s.ok("move_joints", `{"positions":{"pan":0.3}}`, nil)
}

// What nobody knows is neither powered nor moved, and how to say it is said.
func TestWhereNobodyKnowsNothingIsPowered(t *testing.T) {
	t.Parallel()
	s := newServos(t, "pantilt", nil, nil, approvals(2)...)
	for tool, args := range map[string]string{"move_joints": `{"positions":{"pan":0.3}}`, "home": `{}`} {
		a := s.refused(gate.CodeNotEnabled, tool, args)
		require.Contains(t, a.Text, "--at")
	}
	for tool, args := range map[string]string{"torque_on": `{}`, "plan_joints": `{"positions":{"pan":0.3}}`} {
		a := s.refused(gate.CodeNotCalibrated, tool, args)
		require.Contains(t, a.Text, "where pan, tilt are isn't known")
		require.Contains(t, a.Text, "start the session again with --at")
	}
	var st told
	s.ok("robot_state", `{}`, &st)
	require.Nil(t, st.Setpoints)
	require.Nil(t, st.Tip)
	require.Equal(t, []string{"pan", "tilt"}, st.Unreferenced)

	// What needs no place works: a lamp, and the release of a latch.
	s.ok("set_actuator", `{"name":"lamp","value":1}`, nil)
	a := s.ok("estop_reset", `{}`, nil)
	require.Contains(t, a.Text, "start the session again with --at")
}

// A question about a robot of which not everything is known outlives the bridge.
func TestG47_ACommandOfARobotThatIsNotKnownIsRestored(t *testing.T) {
	t.Parallel()
	s := newServos(t, "pantilt", []bool{false, true}, nil)
	act := s.action("estop_reset", `{}`)
	snap, err := act.Snapshot()
	require.NoError(t, err)
	again, err := s.tools["estop_reset"].Restore(t.Context(), snap)
	require.NoError(t, err)
	require.Equal(t, act.Digest(), again.Digest())
	require.NoError(t, again.Check(t.Context()))
	s.live.state = func(st *robot.State) { st.Setpoints[1], st.Unreferenced = 0, nil }
	requireCode(t, gate.CodeStartMoved, again.Check(t.Context()))
}

// The card of torque_on says of each joint where it is, how that is known, and how far
// it may snap.
func TestTheCardOfTorqueOnSaysWhatMaySnap(t *testing.T) {
	t.Parallel()
	factsOf := func(s *servos) string {
		all := s.approver.Requests()
		text := ""
		for _, f := range all[len(all)-1].Card.Facts {
			if f.Label == "Holds" || f.Label == "May snap" {
				text += f.Label + ": " + f.Text + "\n"
			}
		}
		return text
	}
	start := func(m *robot.Model) []float64 { return []float64{0.25, -0.125} }
	s := newServos(t, "pantilt", nil, start, approvals(4)...)
	l := s.model.Limits
	most := func(i int, q float64) float64 { return max(q-l[i].Lower, l[i].Upper-q) }
	const where = "goes at once, as fast as its motor can and through whatever is there, "
	s.ok("torque_on", `{}`, nil)
	require.Equal(t, "May snap: a person said where it is and nothing measures it; "+where+"from where it truly is to: "+
		fmt.Sprintf("pan 0.250 rad (by up to %.3f rad), tilt -0.125 rad (by up to %.3f rad)\n", most(0, 0.25), most(1, -0.125)), factsOf(s))

	// Powered already: it stays.
	s.ok("torque_on", `{}`, nil)
	require.Equal(t, "Holds: powered already, held at its setpoint (snaps 0): pan 0.250 rad, tilt -0.125 rad\n", factsOf(s))

	// Without power since: it may be anywhere.
	s.ok("torque_off", `{}`, nil)
	s.ok("torque_on", `{}`, nil)
	require.Equal(t, "May snap: without power, so wherever it was left or moved to; "+where+"back to what it was told last: "+
		fmt.Sprintf("pan 0.250 rad (by up to %.3f rad), tilt -0.125 rad (by up to %.3f rad)\n", most(0, 0.25), most(1, -0.125)), factsOf(s))

	// What is measured is held where it is, and what is one's own is by the other's side.
	s = newServos(t, "pantilt", []bool{false, true}, func(*robot.Model) []float64 { return []float64{0, 0} }, approvals(1)...)
	s.ok("torque_on", `{}`, nil)
	require.Equal(t, "Holds: measured, held where it is (snaps 0): pan 0.000 rad\n"+
		"May snap: a person said where it is and nothing measures it; "+where+"from where it truly is to: "+
		fmt.Sprintf("tilt 0.000 rad (by up to %.3f rad)\n", most(1, 0)), factsOf(s))

	g := newGated(t, rigOptions{builtin: "gantry", off: true, unknown: []bool{false, true, false}}, approvals(1)...)
	g.ok("torque_on", `{}`, nil)
	require.Equal(t, "measured, held where it is (snaps 0): x 0.000 m, z -0.020 m", g.fact("Holds"))
	rover := newGated(t, rigOptions{builtin: "rover"}, approvals(1)...)
	rover.ok("torque_on", `{}`, nil)
	require.Contains(t, rover.fact("Holds"), "left_wheel 0.000 rad")
}

// A card of torque_on that has come to be wrong isn't carried out.
func TestG12_TorqueOnIsWhatItsCardSaid(t *testing.T) {
	t.Parallel()
	for name, bend := range map[string]func(*robot.State){
		"powered since":  func(st *robot.State) { st.Powered = true },
		"told since":     func(st *robot.State) { st.Declared = nil },
		"told otherwise": func(st *robot.State) { st.Setpoints[0] += 0.03 },
		"not known":      func(st *robot.State) { st.Unreferenced = []bool{true, false} },
	} {
		s := newServos(t, "pantilt", nil, atHome)
		act := s.action("torque_on", `{}`)
		require.NoError(t, act.Check(t.Context()))
		s.live.state = bend
		err := act.Check(t.Context())
		require.Equal(t, gate.CodeStartMoved, gate.CodeOf(err), "%s: %v", name, err)
	}
}

// After an e-stop the reset and the enabling are each asked for by themselves, neither
// does the other's work, and what was planned before any of them is void.
func TestCase41_ResetAndEnableAreEachTheirOwn(t *testing.T) {
	t.Parallel()
	s := newServos(t, "pantilt", nil, atHome, approvals(5)...)
	plan := func() string {
		var p planned
		s.ok("plan_joints", `{"positions":{"pan":0.3}}`, &p)
		return fmt.Sprintf(`{"plan_id":%q}`, p.PlanID)
	}
	s.ok("torque_on", `{}`, nil)
	before := plan()
	require.Equal(t, gate.StatusUnknown, s.ask("estop", `{}`).Status, "whether it stands still nothing measures")
	s.refused(gate.CodeStopped, "execute_plan", before)
	s.refused(gate.CodeEStopped, "torque_on", `{}`)
	latched := plan() // planning moves nothing
	s.ok("estop_reset", `{}`, nil)
	require.Contains(t, s.fact("Starts"), "nothing")
	var st told
	s.ok("robot_state", `{}`, &st)
	require.False(t, st.Enabled, "a reset enables nothing")
	require.True(t, st.Powered, "and the joints hold")
	a := s.refused(gate.CodeNotEnabled, "move_joints", `{"positions":{"pan":0.3}}`)
	require.Contains(t, a.Text, "the joints hold, but motions aren't enabled")
	reset := plan()
	s.ok("torque_on", `{}`, nil)
	for name, id := range map[string]string{"while latched": latched, "after the reset": reset} {
		a := s.refused(gate.CodePlanExpired, "execute_plan", id)
		require.Contains(t, a.Text, "torque was switched or a latch released", name)
	}
	s.ok("execute_plan", plan(), nil)

	// Switching off and on again voids as well, also what was approved and waits.
	waiting := s.action("move_joints", `{"positions":{"pan":0.1}}`)
	s.ok("torque_on", `{}`, nil)
	requireCode(t, gate.CodePlanExpired, waiting.Check(t.Context()))
}

// The card of torque_off says how far the arm sinks when it is rehearsed, and the arm
// then sinks so far.
func TestTheCardOfTorqueOffSaysHowFarItSinks(t *testing.T) {
	t.Parallel()
	g := newGated(t, rigOptions{}, approvals(3)...)
	g.ok("move_joints", fast(`{"positions":{"shoulder_lift":0.4,"elbow_flex":-0.4}}`), nil)
	before := g.positions()
	var off moved
	g.ok("torque_off", `{}`, &off)
	text := g.fact("In the rehearsal")
	require.Contains(t, text, "sinks within")
	said := 0
	for i, n := range g.model.JointNames() {
		if d := off.Positions[n] - before[i]; d > 0.05 || d < -0.05 {
			require.Contains(t, text, n+" by ")
			var by float64
			_, err := fmt.Sscanf(text[indexAfter(text, n+" by "):], "%f", &by)
			require.NoError(t, err)
			require.InDelta(t, d, by, 0.02, n)
			said++
		}
	}
	require.Positive(t, said, "it sinks")

	// It is off: nothing sinks any more.
	g.ok("torque_off", `{}`, nil)
	require.Equal(t, "torque is off already", g.fact("Warning"))
	require.Empty(t, g.fact("In the rehearsal"))
}

func indexAfter(text, part string) int {
	for i := range text {
		if len(text[i:]) >= len(part) && text[i:i+len(part)] == part {
			return i + len(part)
		}
	}
	return 0
}

// The power comes off also where its rehearsal isn't to be had.
func TestTorqueOffIsAskedAlsoWhereItCannotBeRehearsed(t *testing.T) {
	t.Parallel()
	g := newGated(t, rigOptions{rehearser: bent{}}, approvals(1)...)
	g.ok("torque_off", `{}`, nil)
	require.Equal(t, "how far it sinks wasn't rehearsed", g.fact("In the rehearsal"))

	s := newServos(t, "pantilt", nil, atHome, approvals(2)...)
	s.ok("torque_on", `{}`, nil)
	s.ok("torque_off", `{}`, nil)
	require.Contains(t, s.fact("Height"), "if it is where its setpoints have it")
	require.Contains(t, s.fact("Afterwards"), "nobody knows where pan, tilt are")
	require.NotEmpty(t, s.fact("In the rehearsal"))
}

// The answers of a robot that measures nothing are what the tools' schemas declare.
func TestAnswersOfARobotThatMeasuresNothingAreDeclared(t *testing.T) {
	t.Parallel()
	for _, openLoop := range [][]bool{nil, {false, true}} {
		s := newServos(t, "pantilt", openLoop, atHome)
		g := &answers{s.rig, map[string]bool{}}
		g.do("robot_state", `{}`)
		g.do("robot_describe", `{}`)
		g.do("list_actuators", `{}`)
		g.do("torque_on", `{}`)
		g.do("move_joints", `{"positions":{"pan":0.2,"tilt":0.1}}`)
		g.do("set_actuator", `{"name":"lamp","value":1}`)
		var raw map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(g.do("robot_state", `{}`), &raw))
		require.Contains(t, raw, "setpoints")
		g.do("torque_off", `{}`)
		g.do("robot_state", `{}`)
	}
}
