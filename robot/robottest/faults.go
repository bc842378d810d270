package robottest

import (
	"math"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// farthest is the joint that has the longest way to the target.
func (c *check) farthest() int {
	here := c.state().Where()
	at := 0
	for i := range here {
		if math.Abs(c.Target[i]-here[i]) > math.Abs(c.Target[at]-here[at]) {
			at = i
		}
	}
	require.GreaterOrEqual(c, math.Abs(c.Target[at]-here[at]), 0.2, "the fixture's target is far enough")
	return at
}

// blocked runs a motion whose farthest joint is stuck.
func (c *check) blocked() (joint int, before robot.State, m robot.Motion, r result) {
	c.Helper()
	joint, before, m = c.farthest(), c.state(), c.longMotion()
	c.Block(joint)
	r = c.execute(c.ctx, m)
	return joint, before, m, r
}

func stuck(c *check) {
	joint, before, m, r := c.blocked()
	require.Equal(c, robot.OutcomeFaulted, r.out.Status)
	require.Equal(c, robot.CodeDeviation, robot.CodeOf(r.err), "%v", r.err)
	require.ErrorContains(c, r.err, c.info.Joints[joint])
	require.InDelta(c, before.Positions[joint], r.out.Final.Positions[joint], c.Tolerance, "the result is what was measured")
	require.Greater(c, math.Abs(m.Trajectory.End()[joint]-r.out.Final.Positions[joint]), 0.1, "and not the command")
	require.Greater(c, r.out.MaxTrackingError[joint], c.MaxDeviation)
	require.Less(c, r.out.Duration, m.Trajectory.Duration(), "it doesn't push on to the end")
}

func holdsAfterFault(c *check) {
	joint, _, m, r := c.blocked()
	require.Error(c, r.err)
	s := c.state()
	c.atRest(s)
	require.InDeltaSlice(c, s.Positions, s.Setpoints, 2*c.Tolerance, "the measured position is held, not the old setpoint")
	c.reset()
	after := c.state()
	require.Empty(c, after.Faults)
	require.InDeltaSlice(c, s.Positions, after.Positions, c.Tolerance)
	require.InDeltaSlice(c, after.Positions, after.Setpoints, 2*c.Tolerance)
	out, err := c.b.Actuate(c.ctx, robot.Command{Kind: robot.TorqueOn, Epoch: after.StopEpoch})
	require.NoError(c, err)
	require.InDeltaSlice(c, s.Positions, out.Final.Positions, 2*c.Tolerance, "switching on moves nothing")
	require.Greater(c, math.Abs(m.Trajectory.End()[joint]-out.Final.Positions[joint]), 0.1)
}

func latches(c *check) {
	_, _, m, r := c.blocked()
	first := robot.CodeOf(r.err)
	require.Equal(c, robot.CodeDeviation, first)
	s := c.state()
	require.NotEmpty(c, s.Faults)
	require.Equal(c, first, s.Faults[0].Code)
	require.NotEmpty(c, s.Faults[0].Text)
	require.False(c, s.Faults[0].Since.IsZero())

	next := c.motionFrom(s.Where(), s.Where(), 0.1, s.StopEpoch)
	r = c.execute(c.ctx, next)
	c.refusal(s, r.out, r.err, first)
	v := c.stop(robot.StopControlled)
	require.Equal(c, robot.Yes, v.Commanded)
	again := c.state()
	require.Equal(c, s.Faults[0], again.Faults[0], "neither a refusal nor a stop changes the first reason")
	r = c.execute(c.ctx, m)
	require.Error(c, r.err)
	c.reset()
	require.Empty(c, c.state().Faults)
}

// silence is what a robot that says nothing any more is refused with: at first its
// state is old, and later it is known that it says nothing.
var silence = []robot.Code{robot.CodeStaleState, robot.CodeLinkTimeout}

func stale(c *check) {
	m := c.longMotion()
	c.Freeze()
	require.Eventually(c, func() bool {
		_, err := c.b.State(c.ctx)
		return robot.CodeOf(err) == robot.CodeStaleState
	}, wall, waitStep, "an old measurement isn't given for a new one")
	r := c.execute(c.ctx, m)
	require.Contains(c, silence, robot.CodeOf(r.err), "%v", r.err)
	require.Equal(c, robot.OutcomeRefused, r.out.Status)
	v := c.stop(robot.StopControlled)
	require.NotEqual(c, robot.Yes, v.Stationary, "nothing is measured, nothing is said")
}

func staleMidMove(c *check) {
	m := c.longMotion()
	r, at := c.midway(c.ctx, m, m.Trajectory.Duration()/2, c.Freeze)
	require.Contains(c, silence, robot.CodeOf(r.err), "%v", r.err)
	require.Contains(c, []robot.OutcomeStatus{robot.OutcomeFaulted, robot.OutcomeUnknown}, r.out.Status)
	require.Greater(c, r.out.Duration, at)
	c.claims(r.out)
}

func unplugged(c *check) {
	m := c.longMotion()
	r, _ := c.midway(c.ctx, m, m.Trajectory.Duration()/2, c.Unplug)
	require.Equal(c, robot.CodeDisconnected, robot.CodeOf(r.err), "%v", r.err)
	require.Equal(c, robot.OutcomeUnknown, r.out.Status)
	c.claims(r.out)
	_, err := c.b.State(c.ctx)
	require.Equal(c, robot.CodeDisconnected, robot.CodeOf(err))
	r = c.execute(c.ctx, m)
	require.Equal(c, robot.CodeDisconnected, robot.CodeOf(r.err), "%v", r.err)
	require.Equal(c, robot.OutcomeRefused, r.out.Status)
	v := c.stop(robot.StopControlled)
	require.Equal(c, robot.No, v.Commanded)
	require.NotEqual(c, robot.Yes, v.Stationary)
	require.NotEmpty(c, v.Text)
}

func torqueOff(c *check) {
	s := c.state()
	out, err := c.b.Actuate(c.ctx, robot.Command{Kind: robot.TorqueOff, Epoch: s.StopEpoch})
	require.NoError(c, err)
	require.False(c, out.Final.Enabled)
	s = c.state()
	require.False(c, s.Enabled)
	r := c.execute(c.ctx, c.motionFrom(s.Where(), s.Where(), 0.1, s.StopEpoch))
	c.refusal(s, r.out, r.err, robot.CodeNotEnabled)
	out, err = c.b.Actuate(c.ctx, robot.Command{Kind: robot.TorqueOn, Epoch: s.StopEpoch})
	require.NoError(c, err)
	require.True(c, out.Final.Enabled)
	require.InDeltaSlice(c, s.Where(), c.end(out), 2*c.Tolerance, "it is held where it was measured, or was told to be")
	held := c.state()
	require.InDeltaSlice(c, held.Where(), held.Setpoints, 2*c.Tolerance)
	if held = c.state(); anyOf(held.Unreferenced) {
		// What counts its steps may have been pushed while it had no power.
		r = c.execute(c.ctx, c.motion(s.Where(), 0.1))
		c.refusal(held, r.out, r.err, robot.CodeNotCalibrated)
	} else {
		require.NoError(c, c.execute(c.ctx, c.motion(s.Where(), 0.1)).err)
	}

	// An e-stop and its reset don't switch on what was off.
	_, err = c.b.Actuate(c.ctx, robot.Command{ID: c.Name(), Kind: robot.TorqueOff, Epoch: s.StopEpoch})
	require.NoError(c, err)
	require.Equal(c, robot.Yes, c.stop(robot.StopEmergency).Commanded)
	c.reset()
	require.False(c, c.state().Enabled)
}
