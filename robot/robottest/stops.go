package robottest

import (
	"context"
	"math"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

func stopMidMove(c *check) {
	for _, part := range []float64{0.25, 0.5, 0.7} {
		m := c.motion(c.Target, c.seconds())
		if part != 0.25 {
			m = c.motion(c.other(), c.seconds())
		}
		var v robot.StopVerdict
		r, at := c.midway(c.ctx, m, part*m.Trajectory.Duration(), func() { v = c.stop(robot.StopControlled) })
		c.stopped(v)
		require.Positive(c, v.Duration)
		require.LessOrEqual(c, v.Duration, m.Trajectory.Duration()+2, "it is about the stop")
		require.Equal(c, robot.OutcomeStopped, r.out.Status)
		require.Equal(c, robot.CodeStopped, robot.CodeOf(r.err), "%v", r.err)
		c.atRest(r.out.Final)
		c.stopsWithin(m, at, c.end(r.out))
		s := c.state()
		c.atRest(s)
		require.InDeltaSlice(c, c.end(r.out), s.Where(), c.Tolerance)
		require.InDeltaSlice(c, s.Where(), s.Setpoints, c.Tolerance, "the position is held")
		require.True(c, s.Enabled, "a controlled stop leaves power on")
		require.False(c, s.EStopped)
		require.Empty(c, s.Faults)
		require.Equal(c, m.Epoch+1, s.StopEpoch)
	}
}

// other is a configuration between here and the target that is far from here.
func (c *check) other() []float64 {
	here := c.state().Where()
	back := append([]float64(nil), c.Target...)
	for i := range back {
		if math.Abs(here[i]-back[i]) < 0.05 && c.Model.Base == nil { // a base's joints go together
			back[i] = here[i]
		}
	}
	return back
}

func stopTwice(c *check) {
	m := c.longMotion()
	verdicts := make([]robot.StopVerdict, 3)
	r, at := c.midway(c.ctx, m, m.Trajectory.Duration()/2, func() {
		var wg sync.WaitGroup
		for i := range verdicts {
			wg.Go(func() { verdicts[i] = c.stop(robot.StopControlled) })
		}
		wg.Wait()
	})
	require.Equal(c, robot.OutcomeStopped, r.out.Status)
	c.stopsWithin(m, at, c.end(r.out))
	for _, v := range verdicts {
		c.stopped(v)
	}
	c.stopped(c.stop(robot.StopControlled))
	require.Equal(c, m.Epoch+4, c.state().StopEpoch, "each stop counts")
}

func stopWithoutWaiting(c *check) {
	m := c.longMotion()
	ended, cancel := context.WithCancel(c.ctx)
	cancel()
	var v robot.StopVerdict
	r, at := c.midway(c.ctx, m, m.Trajectory.Duration()/2, func() { v = c.b.Stop(ended, robot.StopControlled) })
	require.Equal(c, robot.Yes, v.Commanded)
	require.Equal(c, robot.Unknown, v.Stationary, "who doesn't wait isn't told")
	require.Equal(c, robot.OutcomeStopped, r.out.Status, "the stop goes on")
	c.stopsWithin(m, at, c.end(r.out))
}

func cancelStops(c *check) {
	m := c.longMotion()
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	r, at := c.midway(ctx, m, m.Trajectory.Duration()/2, cancel)
	require.Equal(c, robot.OutcomeCancelled, r.out.Status)
	require.Equal(c, robot.CodeCancelled, robot.CodeOf(r.err), "%v", r.err)
	require.ErrorIs(c, r.err, context.Canceled)
	c.atRest(r.out.Final)
	c.stopsWithin(m, at, c.end(r.out))
	s := c.state()
	require.Empty(c, s.Faults)
	require.Equal(c, m.Epoch, s.StopEpoch, "a cancel voids nothing else")
	require.NoError(c, c.execute(c.ctx, c.motion(c.Target, 1)).err)
}

func stopDuringStart(c *check) {
	before := c.state()
	m := c.longMotion()
	var v robot.StopVerdict
	r, _ := c.midway(c.ctx, m, 0, func() { v = c.stop(robot.StopControlled) })
	c.stopped(v)
	require.Equal(c, robot.CodeStopped, robot.CodeOf(r.err), "%v", r.err)
	require.Contains(c, []robot.OutcomeStatus{robot.OutcomeStopped, robot.OutcomeRefused}, r.out.Status)
	after := c.state()
	c.atRest(after)
	if c.AtMotionTime != nil {
		require.InDeltaSlice(c, before.Where(), after.Where(), c.Tolerance, "nothing moved")
	}
	r = c.execute(c.ctx, m)
	require.Equal(c, robot.CodeStopped, robot.CodeOf(r.err), "what was being started stays void")
}

// stopRace lets stops and starts meet in every order that the scheduler offers:
// whatever happens, a motion that began before a stop doesn't run to its end after
// it, and one that was prepared before doesn't start.
func stopRace(c *check) {
	for range 20 {
		s := c.state()
		away := c.Target
		if math.Abs(s.Where()[0]-c.Target[0]) < 0.01 {
			away = s.Where()
		}
		m := c.motionFrom(s.Where(), away, 0.4, s.StopEpoch)
		var r result
		var v robot.StopVerdict
		var wg sync.WaitGroup
		wg.Go(func() { r = c.execute(c.ctx, m) })
		wg.Go(func() { v = c.stop(robot.StopControlled) })
		wg.Wait()
		c.stopped(v)
		if r.err != nil {
			require.Equal(c, robot.CodeStopped, robot.CodeOf(r.err), "%v", r.err)
		} else {
			require.Equal(c, robot.OutcomeDone, r.out.Status)
		}
		again := c.state()
		c.atRest(again)
		require.Equal(c, s.StopEpoch+1, again.StopEpoch)
		r = c.execute(c.ctx, m)
		require.Equal(c, robot.CodeStopped, robot.CodeOf(r.err), "%v", r.err)
		require.Equal(c, robot.OutcomeRefused, r.out.Status)
	}
}

func estop(c *check) {
	m := c.longMotion()
	var v robot.StopVerdict
	r, at := c.midway(c.ctx, m, m.Trajectory.Duration()/2, func() { v = c.stop(robot.StopEmergency) })
	c.stopped(v)
	require.Equal(c, robot.OutcomeStopped, r.out.Status)
	c.stopsWithin(m, at, c.end(r.out))
	s := c.state()
	require.True(c, s.EStopped)
	require.Equal(c, !c.info.EStopPowersOff, s.Enabled || s.Powered, "category 2 keeps power, category 1 doesn't")

	fresh := c.motion(c.Target, 1)
	r = c.execute(c.ctx, fresh)
	c.refusal(s, r.out, r.err, robot.CodeEStopped)
	out, err := c.b.Actuate(c.ctx, robot.Command{Kind: robot.TorqueOn, Epoch: s.StopEpoch})
	c.refusal(s, out, err, robot.CodeEStopped)
	out, err = c.b.Actuate(c.ctx, robot.Command{Kind: robot.EStopReset, Epoch: m.Epoch})
	c.refusal(s, out, err, robot.CodeStopped)
	require.True(c, c.state().EStopped, "a reset from before the e-stop doesn't clear it")

	c.reset()
	after := c.state()
	require.False(c, after.EStopped)
	require.False(c, after.Enabled && !s.Enabled, "a reset enables nothing")
	require.Equal(c, s.Enabled || s.Powered, after.Enabled || after.Powered, "nor does it switch power")
	require.InDeltaSlice(c, s.Where(), after.Where(), c.Tolerance, "a reset moves nothing")
	require.Equal(c, s.StopEpoch, after.StopEpoch)
	r = c.execute(c.ctx, m)
	c.refusal(after, r.out, r.err, robot.CodeStopped)
	c.enabled()
	require.NoError(c, c.execute(c.ctx, c.motion(c.Target, 1)).err)
}

func closedStop(c *check) {
	require.NoError(c, c.b.Close())
	for _, kind := range []robot.StopKind{robot.StopControlled, robot.StopEmergency} {
		v := c.stop(kind)
		require.Equal(c, robot.No, v.Commanded)
		require.NotEqual(c, robot.Yes, v.Acknowledged)
		require.NotEqual(c, robot.Yes, v.Stationary)
		require.NotEmpty(c, v.Text, "the reason")
	}
}

func closeUnblocks(c *check) {
	m := c.longMotion()
	var closed error
	r, at := c.midway(c.ctx, m, m.Trajectory.Duration()/2, func() { closed = c.b.Close() })
	require.NoError(c, closed)
	require.Error(c, r.err)
	require.Contains(c, []robot.Code{robot.CodeDisconnected, robot.CodeStopped}, robot.CodeOf(r.err), "%v", r.err)
	require.NotEqual(c, robot.OutcomeDone, r.out.Status)
	if r.out.Final.Where() != nil {
		c.stopsWithin(m, at, c.end(r.out))
	}
	_, err := c.b.State(c.ctx)
	require.Equal(c, robot.CodeDisconnected, robot.CodeOf(err))
	r = c.execute(c.ctx, m)
	require.Equal(c, robot.CodeDisconnected, robot.CodeOf(r.err))
	require.Equal(c, robot.OutcomeRefused, r.out.Status)
	_, err = c.b.Actuate(c.ctx, robot.Command{Kind: robot.TorqueOn, Epoch: m.Epoch})
	require.Equal(c, robot.CodeDisconnected, robot.CodeOf(err))
	_, err = c.b.Actuate(c.ctx, robot.Command{Kind: robot.EStopReset, Epoch: m.Epoch + 1})
	require.Equal(c, robot.CodeDisconnected, robot.CodeOf(err))
}
