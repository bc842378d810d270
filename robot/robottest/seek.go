package robottest

import (
	"math"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// seek is a search for joint j's switch over at most travel.
func (c *check) seek(j int, travel float64) robot.Motion {
	c.Helper()
	ref, s := c.Model.Reference(j), c.state()
	to := s.Where()
	to[j] += ref.Direction * travel
	slow := c.info
	slow.Limits = append([]robot.JointLimits(nil), slow.Limits...)
	slow.Limits[j].Velocity = ref.Speed
	m := c.motionFrom(s.Where(), to, 0, s.StopEpoch)
	m.Trajectory = restToRest(slow, s.Where(), to, 0)
	m.Seek = &robot.Seek{Joint: j, Switch: ref.Switch, Direction: ref.Direction, Speed: ref.Speed, Travel: ref.Travel}
	require.NoError(c, m.Validate(c.info.Joints, c.info.Limits), "the suite's own search is one")
	return m
}

// calibrate finds every switch, in the model's order.
func (c *check) calibrate() {
	c.Helper()
	left := c.state().Unreferenced
	for _, ref := range c.Model.References {
		require.Equal(c, left, c.state().Unreferenced)
		r := c.execute(c.ctx, c.seek(ref.Joint, ref.Travel))
		require.NoError(c, r.err, c.info.Joints[ref.Joint])
		require.Equal(c, robot.OutcomeDone, r.out.Status)
		require.InDelta(c, ref.Switch, c.end(r.out)[ref.Joint], c.Tolerance, "it is where its switch is")
		c.atRest(r.out.Final)
		if left[ref.Joint] = false; !anyOf(left) {
			left = nil
		}
		require.Equal(c, left, r.out.Final.Unreferenced)
	}
}

func anyOf(flags []bool) bool {
	for _, f := range flags {
		if f {
			return true
		}
	}
	return false
}

// references: a joint that doesn't know where it is moves to its switch and nowhere
// else, and moves as it is told once it has found it.
func references(c *check) {
	s := c.state()
	for i := range c.info.Joints {
		require.Equal(c, c.Model.Reference(i) != nil, s.Unreferenced[i], c.info.Joints[i])
	}
	hold := c.motionFrom(s.Where(), s.Where(), 0.1, s.StopEpoch)
	r := c.execute(c.ctx, hold)
	c.refusal(s, r.out, r.err, robot.CodeNotCalibrated)
	require.Empty(c, c.state().Faults, "a refusal is no fault")

	ref := c.Model.References[0]
	r, _ = c.midway(c.ctx, c.seek(ref.Joint, ref.Travel), 0.5, func() { c.stopped(c.stop(robot.StopControlled)) })
	require.Equal(c, robot.CodeStopped, robot.CodeOf(r.err), "%v", r.err)
	require.Equal(c, robot.OutcomeStopped, r.out.Status)
	require.Equal(c, s.Unreferenced, r.out.Final.Unreferenced, "the switch hadn't been found")
	c.atRest(r.out.Final)

	c.calibrate()
	r = c.execute(c.ctx, c.motion(c.Target, 1))
	require.NoError(c, r.err)
	require.InDeltaSlice(c, c.Target, c.end(r.out), c.Tolerance)
}

// boundedSearch: a search isn't longer or faster than the robot's own, nor for
// another switch, and finds nothing in vain.
func boundedSearch(c *check) {
	ref, s := c.Model.References[0], c.state()
	for _, k := range []struct {
		code  robot.Code
		spoil func(*robot.Seek)
	}{
		{robot.CodeInvalidArgument, func(x *robot.Seek) { x.Travel *= 1.01 }},
		{robot.CodeSpeedLimit, func(x *robot.Seek) { x.Speed *= 1.01 }},
		{robot.CodeInvalidArgument, func(x *robot.Seek) { x.Direction = -x.Direction }},
		{robot.CodeInvalidArgument, func(x *robot.Seek) { x.Direction = 0 }},
		{robot.CodeInvalidArgument, func(x *robot.Seek) { x.Speed = math.NaN() }},
		{robot.CodeInvalidArgument, func(x *robot.Seek) { x.Joint = len(c.info.Joints) }},
	} {
		m := c.seek(ref.Joint, ref.Travel)
		k.spoil(m.Seek)
		r := c.execute(c.ctx, m)
		if m.Seek.Direction == -ref.Direction { // its trajectory goes the wrong way, too
			require.Contains(c, []robot.Code{robot.CodeInvalidArgument, robot.CodeJointLimit}, robot.CodeOf(r.err), "%v", r.err)
			continue
		}
		c.refusal(s, r.out, r.err, k.code)
	}
	short := c.seek(ref.Joint, 2*c.Tolerance)
	r := c.execute(c.ctx, short)
	require.Equal(c, robot.CodeNotCalibrated, robot.CodeOf(r.err), "%v", r.err)
	require.ErrorContains(c, r.err, c.info.Joints[ref.Joint])
	require.Equal(c, robot.OutcomeFaulted, r.out.Status)
	require.True(c, r.out.Final.Unreferenced[ref.Joint])
	c.reset()
	require.True(c, c.state().Unreferenced[ref.Joint], "a reset finds nothing")
	c.enabled()
	c.calibrate()
}

// cannot: what a robot doesn't have is NOT_SUPPORTED, and nothing moves.
func cannot(c *check) {
	before := c.state()
	for i := range c.info.Joints {
		if c.Model.Reference(i) != nil || c.Model.Base.Carries(i) {
			continue
		}
		m := c.motionFrom(before.Where(), before.Where(), 0.1, before.StopEpoch)
		m.Seek = &robot.Seek{Joint: i, Switch: c.info.Limits[i].Lower, Direction: -1, Speed: c.info.Limits[i].Velocity, Travel: 0.1}
		r := c.execute(c.ctx, m)
		c.refusal(before, r.out, r.err, robot.CodeNotSupported)
	}
	if c.Model.Gripper == nil {
		m := c.longMotion()
		m.Grip = &robot.Grip{MaxEffort: 1}
		r := c.execute(c.ctx, m)
		c.refusal(before, r.out, r.err, robot.CodeNotSupported)
	}
	if len(beside(c.info)) == 0 {
		out, err := c.set("lamp", 1, before.StopEpoch)
		c.refusal(before, out, err, robot.CodeNotSupported)
	}
}
