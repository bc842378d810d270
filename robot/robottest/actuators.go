package robottest

import (
	"errors"
	"math"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// beside returns the actuators that a backend has beside its joints.
func beside(i robot.Info) []robot.Actuator {
	var out []robot.Actuator
	for _, a := range i.Actuators {
		if a.Kind != "joint" && a.Kind != "gripper" {
			out = append(out, a)
		}
	}
	return out
}

func (c *check) set(name string, value float64, epoch uint64) (robot.Outcome, error) {
	return c.b.Actuate(c.ctx, robot.Command{ID: c.Name(), Kind: robot.SetActuator, Name: name, Value: value, Epoch: epoch})
}

// values requires what State says of the actuators.
func (c *check) values(want []float64) {
	c.Helper()
	var got []float64
	for i, a := range c.state().Actuators {
		require.Equal(c, beside(c.info)[i].Name, a.Name)
		got = append(got, a.Value)
	}
	require.Equal(c, want, got)
}

// allAt sets each actuator to what at says and returns those values.
func (c *check) allAt(at func(robot.Actuator) float64) []float64 {
	c.Helper()
	var want []float64
	for _, a := range beside(c.info) {
		want = append(want, at(a))
		out, err := c.set(a.Name, at(a), c.state().StopEpoch)
		require.NoError(c, err)
		require.Equal(c, robot.OutcomeDone, out.Status)
	}
	return want
}

// on is a value at which an actuator isn't off.
func on(a robot.Actuator) float64 {
	if a.Upper != a.Off {
		return a.Upper
	}
	return a.Lower
}

func off(a robot.Actuator) float64 { return a.Off }

// after is what an actuator is at once a stop has come.
func after(a robot.Actuator) float64 {
	if a.OnStop == "off" {
		return a.Off
	}
	return on(a)
}

func (c *check) all(at func(robot.Actuator) float64) (out []float64) {
	for _, a := range beside(c.info) {
		out = append(out, at(a))
	}
	return out
}

func setsActuators(c *check) {
	c.values(c.all(off))
	before := c.state()
	for _, at := range []func(robot.Actuator) float64{
		func(a robot.Actuator) float64 { return a.Lower }, on, off,
		func(a robot.Actuator) float64 { return (a.Lower + a.Upper) / 2 }, on,
	} {
		c.values(c.allAt(at))
	}
	want := c.all(on)
	for _, a := range beside(c.info) {
		over := a.Upper - a.Lower
		for _, v := range []float64{a.Upper + over, a.Lower - over, a.Upper + over/1e6} {
			limit := a.Lower
			if v > a.Upper {
				limit = a.Upper
			}
			out, err := c.set(a.Name, v, before.StopEpoch)
			c.refusal(before, out, err, robot.CodeInvalidArgument)
			var e *robot.Error
			require.True(c, errors.As(err, &e))
			require.Equal(c, a.Name, e.Where)
			require.NotNil(c, e.Value)
			require.NotNil(c, e.Limit)
			require.InDelta(c, v, e.Value.Value, 0)
			require.InDelta(c, limit, e.Limit.Value, 0)
			require.NotEmpty(c, e.Nearest, "what it could be set to")
			require.InDelta(c, limit, e.Nearest[0].Value, 0)
		}
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			out, err := c.set(a.Name, v, before.StopEpoch)
			c.refusal(before, out, err, robot.CodeInvalidArgument)
		}
	}
	for _, name := range []string{"no such thing", "", c.info.Joints[0]} {
		out, err := c.set(name, 0, before.StopEpoch)
		c.refusal(before, out, err, robot.CodeInvalidArgument)
	}
	c.values(want)
	require.NoError(c, c.execute(c.ctx, c.motion(c.Target, 1)).err)
	c.values(want)
}

// stopsSwitchOff: a stop sets what declares it to off, in mid-motion and at rest,
// and nothing that was prepared before it switches that on again.
func stopsSwitchOff(c *check) {
	epoch := c.state().StopEpoch
	name, value := beside(c.info)[0].Name, on(beside(c.info)[0])
	c.allAt(on)
	m := c.longMotion()
	var busy error
	r, _ := c.midway(c.ctx, m, m.Trajectory.Duration()/2, func() {
		_, busy = c.set(name, value, epoch)
		c.stopped(c.stop(robot.StopControlled))
	})
	require.Equal(c, robot.CodeStopped, robot.CodeOf(r.err), "%v", r.err)
	require.Equal(c, robot.CodeBusy, robot.CodeOf(busy), "%v", busy)
	c.values(c.all(after))
	s := c.state()
	out, err := c.set(name, value, epoch)
	c.refusal(s, out, err, robot.CodeStopped)
	c.values(c.all(after))

	c.allAt(on)
	c.stopped(c.stop(robot.StopControlled))
	c.values(c.all(after))
	c.allAt(on)
	c.stopped(c.stop(robot.StopEmergency))
	c.values(c.all(after))
	s = c.state()
	out, err = c.set(name, value, s.StopEpoch)
	c.refusal(s, out, err, robot.CodeEStopped)
	c.reset()
	c.values(c.all(after))
	require.NoError(c, c.b.Close())
	_, err = c.set(name, value, s.StopEpoch)
	require.Equal(c, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
}
