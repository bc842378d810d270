package robottest

import (
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// What a robot that starts without torque does before it is enabled, and when.

// seen is where the joints are as somebody beside the robot sees it, nil where the
// harness has nobody there.
func (c *check) seen() []float64 {
	if c.Observe == nil {
		return nil
	}
	return c.Observe()
}

// unmoved requires that nobody beside the robot has seen it move since.
func (c *check) unmoved(before []float64, why string) {
	c.Helper()
	if before != nil {
		require.InDeltaSlice(c, before, c.Observe(), c.Tolerance, why)
	}
}

// startsDisabled: nothing moves until torque is switched on, which is a command of its
// own and moves nothing by itself.
func startsDisabled(c *check) {
	s, seen := c.state(), c.seen()
	c.atRest(s)
	require.False(c, s.Enabled, "a real robot starts disabled")
	// A joint that found its switch knows where it is only because it kept its power.
	require.Equal(c, len(c.Model.References) > 0 && !anyOf(s.Unreferenced), s.Powered)
	require.False(c, s.EStopped)
	require.Empty(c, s.Faults)
	for i, name := range c.info.Joints {
		told := i < len(s.Declared) && s.Declared[i]
		require.Equal(c, c.info.IsOpenLoop(i), told, "%s: that a person said where it is, is said", name)
	}
	m := c.motion(c.Target, c.seconds())
	r := c.execute(c.ctx, m)
	c.refusal(s, r.out, r.err, robot.CodeNotEnabled)
	require.Empty(c, r.progress)
	c.unmoved(seen, "a refused motion moved it")
	out, err := c.b.Actuate(c.ctx, robot.Command{ID: c.Name(), Kind: robot.EStopReset, Epoch: s.StopEpoch})
	require.NoError(c, err)
	require.False(c, out.Final.Enabled, "a reset enables nothing")
	require.False(c, c.state().Enabled)

	c.enable()
	c.unmoved(seen, "switching on moved it")
	require.Nil(c, c.state().Declared, "what is held is no declaration any more")
	r = c.execute(c.ctx, m)
	require.NoError(c, r.err)
	require.InDeltaSlice(c, c.Target, c.end(r.out), c.Tolerance)
}

// enablesAgain: switching on what is on moves nothing, wherever it was moved to since.
func enablesAgain(c *check) {
	require.NoError(c, c.execute(c.ctx, c.longMotion()).err)
	seen := c.seen()
	c.enable()
	c.unmoved(seen, "it was powered already")
	require.InDeltaSlice(c, c.Target, c.state().Where(), c.Tolerance)
	require.NoError(c, c.execute(c.ctx, c.motion(c.Target, 0.1)).err)
}

// knowsNothing: a joint that nothing measures and nobody has told of isn't powered.
func knowsNothing(c *check) {
	s, seen := c.state(), c.seen()
	require.False(c, s.Enabled)
	for i, name := range c.info.Joints {
		unknown := i < len(s.Unreferenced) && s.Unreferenced[i]
		if c.info.IsOpenLoop(i) {
			require.True(c, unknown, "nobody has said where %s is", name)
		}
		require.False(c, i < len(s.Declared) && s.Declared[i], name)
	}
	require.True(c, anyOf(s.Unreferenced))
	c.remainsUnknown(s, seen)
	c.stop(robot.StopControlled) // which changes nothing of it
	c.remainsUnknown(c.state(), seen)
}

// remainsUnknown requires that a robot of which something isn't known is refused torque
// and motions.
func (c *check) remainsUnknown(s robot.State, seen []float64) {
	c.Helper()
	out, err := c.b.Actuate(c.ctx, robot.Command{ID: c.Name(), Kind: robot.TorqueOn, Epoch: s.StopEpoch})
	require.Equal(c, robot.CodeNotCalibrated, robot.CodeOf(err), "%v", err)
	require.Equal(c, robot.OutcomeRefused, out.Status)
	now := c.state()
	require.False(c, now.Enabled)
	require.False(c, now.Powered, "nothing was powered")
	require.Equal(c, s.Unreferenced, now.Unreferenced, "asking tells nobody where it is")
	r := c.execute(c.ctx, c.motionFrom(c.Target, c.Target, 0.1, s.StopEpoch))
	require.Contains(c, []robot.Code{robot.CodeNotEnabled, robot.CodeNotCalibrated}, robot.CodeOf(r.err), "%v", r.err)
	require.Equal(c, robot.OutcomeRefused, r.out.Status)
	c.unmoved(seen, "what isn't known moved")
}

// claimsNothing: an open-loop joint's setpoint is nowhere told as what was measured.
func claimsNothing(c *check) {
	m := c.longMotion()
	r := c.execute(c.ctx, m)
	require.NoError(c, r.err)
	require.InDeltaSlice(c, c.Target, c.end(r.out), c.Tolerance)
	require.InDeltaSlice(c, c.Target, r.out.Final.Setpoints, c.Tolerance, "the setpoints ran to the end")
	c.tracked(m, r.out)
	require.NotEmpty(c, r.progress)
	q := make([]float64, len(c.info.Joints))
	for _, p := range r.progress {
		c.honest(p.State)
		require.Len(c, p.Setpoint, len(q))
		// What it says of its setpoints is on the way, as the robot itself has it.
		m.Trajectory.Sample(p.T, q, nil, nil)
		require.InDeltaSlice(c, q, p.Setpoint, c.Tolerance, "at %.3f s", p.T)
	}
	c.stopped(c.stop(robot.StopControlled))
	c.stopped(c.stop(robot.StopEmergency))
}
