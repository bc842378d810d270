package robottest

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// check is one check in progress.
type check struct {
	*testing.T
	Fixture
	b    robot.Backend
	info robot.Info
	ctx  context.Context
	// late is how much later than it was asked for the last midway's do was called, at
	// most, s of motion time, where that is the wall clock's.
	late float64
}

func (c *check) state() robot.State {
	c.Helper()
	s, err := c.b.State(c.ctx)
	require.NoError(c, err)
	c.honest(s)
	return s
}

// open reports whether nothing measures where any one of the joints is.
func open(i robot.Info) bool {
	for k := range i.Joints {
		if i.IsOpenLoop(k) {
			return true
		}
	}
	return false
}

// blind reports whether nothing measures where any joint is.
func blind(i robot.Info) bool {
	for k := range i.Joints {
		if !i.IsOpenLoop(k) {
			return false
		}
	}
	return true
}

// honest requires of a state that it has a measurement of each joint that is
// measured, and of no other.
func (c *check) honest(s robot.State) {
	c.Helper()
	n := len(c.info.Joints)
	require.Len(c, s.Setpoints, n)
	if blind(c.info) {
		require.Nil(c, s.Positions, "nothing measures a position")
		require.Nil(c, s.Velocities, "nothing measures a velocity")
		return
	}
	require.Len(c, s.Positions, n)
	for i, name := range c.info.Joints {
		require.Equal(c, !c.info.IsOpenLoop(i), s.Measures(i), "%s is measured", name)
	}
}

// claims requires of an outcome that went wrong that it claims no place.
func (c *check) claims(out robot.Outcome) {
	c.Helper()
	require.Nil(c, out.Final.Positions, "a position that isn't measured isn't given")
	if open(c.info) {
		require.Nil(c, out.Final.Setpoints, "nor is a setpoint that nobody has heard of")
	}
}

// end is where an outcome says that the robot is, which has to be said.
func (c *check) end(out robot.Outcome) []float64 {
	c.Helper()
	c.honest(out.Final)
	return out.Final.Where()
}

// motion is one from where the robot is to a configuration, of at least least seconds,
// in the present epoch.
func (c *check) motion(to []float64, least float64) robot.Motion {
	c.Helper()
	s := c.state()
	return c.motionFrom(s.Where(), to, least, s.StopEpoch)
}

func (c *check) motionFrom(from, to []float64, least float64, epoch uint64) robot.Motion {
	c.Helper()
	m := robot.Motion{ID: c.Name(), Epoch: epoch, Trajectory: restToRest(c.info, from, to, least)}
	for range c.info.Joints {
		m.StartTolerance = append(m.StartTolerance, math.Max(0.02, 2*c.Tolerance))
		m.MaxDeviation = append(m.MaxDeviation, c.MaxDeviation)
	}
	return m
}

// seconds is how long a long motion takes at least.
func (c *check) seconds() float64 {
	if c.Seconds > 0 {
		return c.Seconds
	}
	return 2
}

// longMotion is one to the target that takes at least as long as a long motion does.
func (c *check) longMotion() robot.Motion {
	c.Helper()
	m := c.motion(c.Target, c.seconds())
	require.NoError(c, m.Trajectory.Validate(c.info.Limits), "the suite's own trajectory is within limits")
	return m
}

// restToRest is a straight line in joint space, timed by four pieces of constant
// jerk (j, -j, -j, j) within the limits.
func restToRest(info robot.Info, a, b []float64, least float64) robot.Trajectory {
	t := math.Max(least/4, 0.01)
	for i, l := range info.Limits {
		d := math.Abs(b[i]-a[i]) * 1.0001
		t = math.Max(t, math.Max(d/(2*l.Velocity), math.Max(math.Sqrt(d/(2*l.Acceleration)), math.Cbrt(d/(2*l.Jerk)))))
	}
	n := len(a)
	out := robot.Trajectory{Joints: append([]string(nil), info.Joints...)}
	q, v, acc := append([]float64(nil), a...), make([]float64, n), make([]float64, n)
	for _, k := range [...]struct{ t, sign float64 }{{t, 1}, {2 * t, -1}, {t, 1}} {
		s := robot.Segment{Duration: k.t}
		for i := range a {
			j := k.sign * (b[i] - a[i]) / (2 * t * t * t)
			s.Q, s.V, s.A, s.J = append(s.Q, q[i]), append(s.V, v[i]), append(s.A, acc[i]), append(s.J, j)
			q[i] += k.t * (v[i] + k.t*(acc[i]/2+k.t*j/6))
			v[i] += k.t * (acc[i] + k.t*j/2)
			acc[i] += k.t * j
		}
		out.Segments = append(out.Segments, s)
	}
	return out
}

// result is how an Execute ended.
type result struct {
	out      robot.Outcome
	err      error
	progress []robot.Progress
}

func (c *check) execute(ctx context.Context, m robot.Motion) result {
	var r result
	r.out, r.err = c.b.Execute(ctx, m, func(p robot.Progress) {
		p.Setpoint = append([]float64(nil), p.Setpoint...)
		p.State = p.State.Clone()
		r.progress = append(r.progress, p)
	})
	return r
}

// midway runs a motion and do once in the middle of it, at s seconds of motion
// time or soon after; at is when do was called.
func (c *check) midway(ctx context.Context, m robot.Motion, s float64, do func()) (r result, at float64) {
	c.Helper()
	at, c.late = s, 0
	if c.AtMotionTime != nil {
		c.AtMotionTime(s, do)
		return c.execute(ctx, m), at
	}
	called := make(chan struct{})
	running := false
	began, first := time.Now(), math.Inf(1) // first: the wall clock at motion time 0, from the promptest report
	r.out, r.err = c.b.Execute(ctx, m, func(p robot.Progress) {
		first = math.Min(first, time.Since(began).Seconds()-p.T)
		if p.T >= s && !running {
			running, at = true, p.T
			zero := first
			go func() {
				defer close(called)
				if c.Stall > 0 {
					c.late = math.Max(0, time.Since(began).Seconds()-zero-p.T)
				}
				do()
			}()
		}
	})
	require.True(c, running, "the motion reported no progress at %g s: %v", s, r.err)
	select {
	case <-called:
	case <-c.ctx.Done():
		require.FailNow(c, "what was done in mid-motion didn't return")
	}
	return r, at
}

// refusal requires that a call was refused with a code and that nothing moved.
func (c *check) refusal(before robot.State, out robot.Outcome, err error, code robot.Code) {
	c.Helper()
	require.Error(c, err)
	require.Equal(c, code, robot.CodeOf(err), "%v", err)
	var e *robot.Error
	require.True(c, errors.As(err, &e))
	require.NotEmpty(c, e.Text, "the error says what is wrong")
	require.Equal(c, robot.OutcomeRefused, out.Status)
	after := c.state()
	require.InDeltaSlice(c, before.Where(), after.Where(), c.Tolerance, "nothing moved")
	require.InDeltaSlice(c, before.Setpoints, after.Setpoints, 1e-12, "nothing was commanded")
	require.False(c, after.Moving)
}

// atRest requires that the robot is at rest, measured where it measures.
func (c *check) atRest(s robot.State) {
	c.Helper()
	require.False(c, s.Moving)
	c.honest(s)
	for i, v := range s.Velocities {
		if !math.IsNaN(v) {
			require.Less(c, math.Abs(v), 0.02, "%s is at rest", c.info.Joints[i])
		}
	}
}

// stopsWithin requires that a motion that was to be stopped at s seconds ended
// within what its limits allow: the brake began then or in the lag after it, and each
// joint is nowhere that a brake from then doesn't take it.
func (c *check) stopsWithin(m robot.Motion, s float64, end []float64) {
	c.Helper()
	c.brakesWithin(m, s, c.Lag, end)
}

// brakesWithin is stopsWithin with what may pass before the brake begins, s.
func (c *check) brakesWithin(m robot.Motion, s, lag float64, end []float64) {
	c.Helper()
	n := len(c.info.Joints)
	lag += c.late + c.Stall
	lo, hi := make([]float64, n), make([]float64, n)
	q, v, a := make([]float64, n), make([]float64, n), make([]float64, n)
	const steps = 16
	for k := range steps + 1 {
		m.Trajectory.Sample(s+lag*float64(k)/steps, q, v, a)
		ends := [][]float64{q, robot.BrakeTrajectory(c.info.Joints, q, v, a, c.info.Limits).End()}
		if l, ok := robot.BrakeAlongLine(c.info.Joints, q, v, a, c.info.Limits); ok {
			ends = append(ends, l.End())
		}
		for i := range q {
			if k == 0 {
				lo[i], hi[i] = q[i], q[i]
			}
			for _, e := range ends {
				lo[i], hi[i] = math.Min(lo[i], e[i]), math.Max(hi[i], e[i])
			}
		}
	}
	require.Len(c, end, n)
	moved := false
	for i, name := range c.info.Joints {
		require.GreaterOrEqual(c, end[i], lo[i]-c.Tolerance, "%s stopped short of where it can have been", name)
		require.LessOrEqual(c, end[i], hi[i]+c.Tolerance, "%s needed more than its stopping distance", name)
		moved = moved || math.Abs(m.Trajectory.End()[i]-end[i]) > 2*c.Tolerance
	}
	require.True(c, moved, "the robot went to the end of its motion instead of stopping")
}

// stop stops and returns the verdict.
func (c *check) stop(kind robot.StopKind) robot.StopVerdict {
	return c.b.Stop(c.ctx, kind)
}

// stopped requires of a verdict that the stop was sent and that the robot is at rest
// as far as anything measures it.
func (c *check) stopped(v robot.StopVerdict) {
	c.Helper()
	require.Equal(c, robot.Yes, v.Commanded, v.Text)
	require.Equal(c, c.info.Backend, v.Backend)
	if open(c.info) {
		require.Equal(c, robot.Unknown, v.Stationary, "setpoints that stand still are no robot that does")
		require.Contains(c, v.Text, "setpoint", "what is known is said")
		return
	}
	require.Equal(c, robot.Yes, v.Stationary, v.Text)
}

func (c *check) reset() {
	c.Helper()
	s := c.state()
	out, err := c.b.Actuate(c.ctx, robot.Command{ID: c.Name(), Kind: robot.EStopReset, Epoch: s.StopEpoch})
	require.NoError(c, err)
	require.Equal(c, robot.OutcomeDone, out.Status)
}

// enable switches torque on, which moves nothing where the suite's fixtures stand.
func (c *check) enable() {
	c.Helper()
	before := c.state()
	out, err := c.b.Actuate(c.ctx, robot.Command{ID: c.Name(), Kind: robot.TorqueOn, Epoch: before.StopEpoch})
	require.NoError(c, err)
	require.Equal(c, robot.OutcomeDone, out.Status)
	require.True(c, out.Final.Enabled)
	s := c.state()
	require.True(c, s.Enabled)
	require.InDeltaSlice(c, before.Where(), s.Where(), 2*c.Tolerance, "switching on moves nothing")
	require.InDeltaSlice(c, s.Where(), s.Setpoints, 2*c.Tolerance, "it is held where it is")
}

// enabled is enable where a reset has left the robot without torque, which refuses
// motions by that.
func (c *check) enabled() {
	c.Helper()
	s := c.state()
	if s.Enabled {
		return
	}
	r := c.execute(c.ctx, c.motionFrom(s.Where(), s.Where(), 0.1, s.StopEpoch))
	c.refusal(s, r.out, r.err, robot.CodeNotEnabled)
	c.enable()
}
