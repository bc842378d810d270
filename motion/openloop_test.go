package motion_test

import (
	"context"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/robottest"
)

// servos is a rig of a board with servos, behind a gate, with what plays the board.
type servos struct {
	*gated
	board *robottest.Double
	live  *live // bends what the board says
}

// newServos makes one; at says where it is, nil: nobody has said it. openLoop is by
// joint, nil: all.
func newServos(t *testing.T, name string, openLoop []bool, at func(*robot.Model) []float64, steps ...gatetest.Step) *servos {
	t.Helper()
	m, err := builtin.Load(name)
	require.NoError(t, err)
	s := &servos{live: &live{}}
	o := robottest.DoubleOptions{OpenLoop: openLoop}
	if at != nil {
		o.At = at(m)
	}
	s.gated = newGated(t, rigOptions{builtin: name, off: true, between: func(in robot.Backend) robot.Backend {
		s.board = robottest.NewDouble(in, o)
		s.live.Backend = s.board
		return s.live
	}}, steps...)
	return s
}

func atHome(m *robot.Model) []float64 { return m.Home }

// told is what the tests read of an open-loop robot's state or result.
type told struct {
	Positions map[string]float64 `json:"positions"`
	Setpoints map[string]struct {
		Value    float64 `json:"value"`
		Measured bool    `json:"measured"`
		Declared bool    `json:"declared"`
	} `json:"setpoints"`
	OpenLoop         []string            `json:"open_loop"`
	Unreferenced     []string            `json:"unreferenced"`
	MaxTrackingError *float64            `json:"max_tracking_error"`
	Outcome          robot.OutcomeStatus `json:"outcome"`
	MeasuredAt       *string             `json:"measured_at"`
	Enabled          bool                `json:"enabled"`
	Powered          bool                `json:"powered"`
	Tip              *struct {
		Position [3]float64 `json:"position"`
		Measured *bool      `json:"measured"`
	} `json:"tip"`
}

const nothingMeasured = "nothing is measured of any joint: where it is said to be is where it was told to be, and nothing would notice that it isn't there, is blocked or was moved"

// What an open-loop robot was told is never shown as what was measured: not by its
// state, not by a card, not by a result.
func TestCase48_WhatNothingMeasuresIsNotConfirmed(t *testing.T) {
	t.Parallel()
	s := newServos(t, "pantilt", nil, atHome, approvals(3)...)
	var st told
	s.ok("robot_state", `{}`, &st)
	require.Nil(t, st.Positions)
	require.Equal(t, []string{"pan", "tilt"}, st.OpenLoop)
	require.False(t, st.Enabled)
	require.False(t, st.Powered)
	require.Len(t, st.Setpoints, 2)
	require.True(t, st.Setpoints["pan"].Declared, "a person said it, and nothing else speaks for it")
	require.False(t, st.Setpoints["pan"].Measured)
	require.NotNil(t, st.Tip)
	require.NotNil(t, st.Tip.Measured)
	require.False(t, *st.Tip.Measured)

	var on told
	a := s.ok("torque_on", `{}`, &on)
	require.Equal(t, "torque_on: done; open loop: nothing was measured of pan, tilt", a.Text)
	require.Nil(t, on.Positions)
	require.False(t, on.Setpoints["pan"].Declared, "it was commanded now")
	require.Equal(t, nothingMeasured, s.fact("Open loop"))

	var r told
	a = s.ok("move_joints", `{"positions":{"pan":0.5}}`, &r)
	require.Equal(t, robot.OutcomeDone, r.Outcome)
	require.Nil(t, r.Positions)
	require.Nil(t, r.MaxTrackingError, "an error that nothing measured isn't zero")
	require.Nil(t, r.MeasuredAt)
	require.InDelta(t, 0.5, r.Setpoints["pan"].Value, 1e-6)
	require.False(t, *r.Tip.Measured)
	require.Contains(t, a.Text, "done after")
	require.Contains(t, a.Text, "open loop: nothing was measured of pan, tilt, so whether the arm did what its setpoints did isn't known; the setpoints have the tip at")
	require.NotContains(t, a.Text, "tip measured")
	require.Equal(t, nothingMeasured, s.fact("Open loop"))
	require.Equal(t, "pan 0.000 → 0.500 rad", s.fact("Moves"))
	s.ok("robot_state", `{}`, &st)
	require.Nil(t, st.Positions)
	require.InDelta(t, 0.5, st.Setpoints["pan"].Value, 1e-6)

	// Without power what it was told last says nothing of where it is.
	var off told
	s.ok("torque_off", `{}`, &off)
	require.Nil(t, off.Setpoints)
	require.Nil(t, off.Positions)
	st = told{}
	s.ok("robot_state", `{}`, &st)
	require.Nil(t, st.Tip)
	require.InDelta(t, 0.5, st.Setpoints["pan"].Value, 1e-6, "what it was told last")
}

// Of a robot with one eye each joint is told by what it is.
func TestCase48_EachJointIsToldByWhatMeasuresIt(t *testing.T) {
	t.Parallel()
	s := newServos(t, "pantilt", []bool{false, true}, atHome, approvals(2)...)
	var r told
	a := s.ok("torque_on", `{}`, &r)
	require.Contains(t, a.Text, "nothing was measured of tilt")
	a = s.ok("move_joints", `{"positions":{"pan":0.4,"tilt":0.2}}`, &r)
	require.Len(t, r.Positions, 1)
	require.InDelta(t, 0.4, r.Positions["pan"], 0.01)
	require.Len(t, r.Setpoints, 1)
	require.InDelta(t, 0.2, r.Setpoints["tilt"].Value, 1e-6)
	require.NotNil(t, r.MaxTrackingError, "of the joint that is measured")
	require.Positive(t, *r.MaxTrackingError)
	require.NotNil(t, r.MeasuredAt)
	require.False(t, *r.Tip.Measured, "it depends on one that isn't")
	require.Contains(t, a.Text, "nothing was measured of tilt, so")
	require.Equal(t, "nothing is measured of tilt: where it is said to be is where it was told to be, and nothing would notice that it isn't there, is blocked or was moved", s.fact("Open loop"))

	var list struct {
		Actuators []struct {
			Name     string   `json:"name"`
			Value    *float64 `json:"value"`
			Measured *bool    `json:"measured"`
		} `json:"actuators"`
	}
	s.ok("list_actuators", `{}`, &list)
	require.Equal(t, "pan", list.Actuators[0].Name)
	require.True(t, *list.Actuators[0].Measured)
	require.Equal(t, "tilt", list.Actuators[1].Name)
	require.False(t, *list.Actuators[1].Measured)
	require.InDelta(t, 0.2, *list.Actuators[1].Value, 1e-6)
	var d struct {
		Joints []struct {
			Name     string `json:"name"`
			OpenLoop bool   `json:"open_loop"`
		} `json:"joints"`
	}
	s.ok("robot_describe", `{}`, &d)
	for _, j := range d.Joints {
		require.Equal(t, j.Name == "tilt", j.OpenLoop, j.Name)
	}
}

// What a backend reports of a joint that it says nothing measures isn't believed.
func TestCase48_AMadeUpMeasurementIsLeftOut(t *testing.T) {
	t.Parallel()
	s := newServos(t, "pantilt", nil, atHome, approvals(1)...)
	s.ok("torque_on", `{}`, nil)
	s.live.state = func(st *robot.State) { st.Positions, st.Velocities = []float64{0.1, 0.2}, []float64{0, 0} }
	var st told
	s.ok("robot_state", `{}`, &st)
	require.Nil(t, st.Positions)
	require.Len(t, st.Setpoints, 2)
}

// The start check is against what was told in this power-up, and a board that was reset
// was told nothing.
func TestG12_TheStartOfAnOpenLoopRobotIsWhatItWasTold(t *testing.T) {
	t.Parallel()
	s := newServos(t, "pantilt", nil, atHome, approvals(1)...)
	s.ok("torque_on", `{}`, nil)
	act := s.action("move_joints", `{"positions":{"pan":0.3}}`)
	require.NoError(t, act.Check(t.Context()))
	for name, c := range map[string]struct {
		bend func(*robot.State)
		want gate.Code
	}{
		"elsewhere":     {func(st *robot.State) { st.Setpoints[0] += 0.021 }, gate.CodeStartMoved},
		"a hair away":   {func(st *robot.State) { st.Setpoints[0] += 0.019 }, ""},
		"no setpoints":  {func(st *robot.State) { st.Setpoints = nil }, gate.CodeStaleState},
		"one too few":   {func(st *robot.State) { st.Setpoints = st.Setpoints[:1] }, gate.CodeStartMoved},
		"not a number":  {func(st *robot.State) { st.Setpoints[1] = math.NaN() }, gate.CodeStartMoved},
		"measured here": {func(st *robot.State) { st.Positions = []float64{0, 0}; st.Setpoints[0] += 0.021 }, gate.CodeStartMoved},
	} {
		s.live.state = c.bend
		require.Equal(t, c.want, gate.CodeOf(act.Check(t.Context())), name)
	}
	s.live.state = nil
	s.board.Reboot()
	require.Equal(t, gate.CodeStopped, gate.CodeOf(act.Check(t.Context())))
	s.live.state = func(st *robot.State) { st.StopEpoch, st.Enabled = 0, true }
	require.Equal(t, gate.CodeNotCalibrated, gate.CodeOf(act.Check(t.Context())), "even if it were enabled and counted no stop")
}

// A joint that should be measured and isn't is no place to plan from, whatever its
// setpoint is.
func TestAMeasuredJointThatIsNotMeasuredIsStale(t *testing.T) {
	t.Parallel()
	s := newServos(t, "pantilt", []bool{false, true}, atHome, approvals(1)...)
	s.ok("torque_on", `{}`, nil)
	s.live.state = func(st *robot.State) { st.Positions[0] = math.NaN() }
	for _, tool := range []string{"move_joints", "plan_joints"} {
		a := s.refused(gate.CodeStaleState, tool, `{"positions":{"pan":0.3}}`)
		require.Contains(t, a.Text, "pan")
	}
	s.refused(gate.CodeStaleState, "torque_on", `{}`)
}

// A chain's later steps begin at the setpoints that the earlier ones end at.
func TestAChainOfAnOpenLoopRobotBeginsWhereItWasTold(t *testing.T) {
	t.Parallel()
	for _, openLoop := range [][]bool{nil, {false, true}} {
		s := newServos(t, "pantilt", openLoop, atHome, approvals(1)...)
		s.ok("torque_on", `{}`, nil)
		first := s.action("move_joints", `{"positions":{"tilt":0.3}}`)
		tool, ok := s.tools["jog"].(gate.Chained)
		require.True(t, ok)
		next, err := tool.PrepareAfter(t.Context(), s.call("jog", `{"joint":"tilt","delta":0.1}`), []gate.Action{first})
		require.NoError(t, err)
		requireCode(t, gate.CodeStartMoved, next.Check(t.Context()))
		_, err = first.Run(t.Context())
		require.NoError(t, err)
		require.NoError(t, next.Check(t.Context()))
		res, err := next.Run(t.Context())
		require.NoError(t, err)
		var r told
		require.NoError(t, json.Unmarshal(res.Data, &r))
		require.InDelta(t, 0.4, r.Setpoints["tilt"].Value, 1e-6)
	}
}

// A gripper that measures nothing grips nothing: it goes to its end, and says so.
func TestAnOpenLoopGripperIsNoGrip(t *testing.T) {
	t.Parallel()
	s := newServos(t, "so101", nil, atHome, approvals(2)...)
	s.ok("torque_on", `{}`, nil)
	a := s.refused(gate.CodeNotSupported, "gripper", `{"position":0.5,"max_effort":1}`)
	require.Contains(t, a.Text, "nothing measures gripper")
	s.ok("gripper", `{"position":0.5}`, nil)
	require.Contains(t, s.fact("Grip"), "nothing measures gripper")
}

// reporting is a backend whose reports of its setpoints a test can bend.
type reporting struct {
	robot.Backend
	bend func(*robot.Progress)
}

func (b reporting) Execute(ctx context.Context, m robot.Motion, progress func(robot.Progress)) (robot.Outcome, error) {
	return b.Backend.Execute(ctx, m, func(p robot.Progress) {
		b.bend(&p)
		progress(p)
	})
}
