package robottest

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

func info(c *check) {
	i := c.info
	require.NotEmpty(c, i.Backend)
	require.NotEmpty(c, i.Robot)
	require.Contains(c, []robot.Mode{robot.ModeSim, robot.ModeReal}, i.Mode)
	require.NotEmpty(c, i.Joints)
	require.Len(c, i.Limits, len(i.Joints))
	require.Positive(c, i.ControlPeriod)
	require.NotZero(c, i.Identity)
	require.Equal(c, i.Mode == robot.ModeReal, i.Port != "", "what is real is somewhere, and what isn't is nowhere")
	if i.OpenLoop != nil {
		require.Len(c, i.OpenLoop, len(i.Joints))
		require.Equal(c, i.MeasuresPosition, !blind(i), "it measures positions if any joint's is measured")
	}
	require.Equal(c, c.Model.Actuators, beside(i), "what is beside the joints")
	seen := map[string]bool{}
	for k, name := range i.Joints {
		require.NotEmpty(c, name)
		require.False(c, seen[name], "%s is named twice", name)
		seen[name] = true
		require.NoError(c, i.Limits[k].Validate(name))
	}
	i.Joints[0], i.Limits[0].Velocity = "spoiled", -1
	require.Equal(c, c.b.Info().Joints, c.b.Info().Joints)
	require.NotEqual(c, "spoiled", c.b.Info().Joints[0], "the slices are the caller's")
}

func freshState(c *check) {
	before := time.Now()
	s := c.state()
	require.WithinDuration(c, before, s.MeasuredAt, time.Second+time.Duration(c.Stall*float64(time.Second)))
	require.True(c, s.Enabled)
	require.Nil(c, s.Declared, "what is held is no declaration any more")
	require.Nil(c, s.Unreferenced)
	require.False(c, s.EStopped)
	require.Empty(c, s.Faults)
	c.atRest(s)
	for i, q := range s.Where() {
		require.False(c, math.IsNaN(q) || math.IsInf(q, 0), "%s", c.info.Joints[i])
	}
	want, held := s.Where()[0], s.Setpoints[0]
	s.Setpoints[0] = 1e6
	if s.Positions != nil {
		s.Positions[0] = 1e6
	}
	require.InDelta(c, want, c.state().Where()[0], c.Tolerance, "the slices are the caller's")
	require.InDelta(c, held, c.state().Setpoints[0], c.Tolerance, "the slices are the caller's")
}

func moves(c *check) {
	m := c.longMotion()
	// Readers beside the motion, woken by its own reports, must not disturb it.
	var wg sync.WaitGroup
	wake := make(chan struct{}, 1)
	for range 2 {
		wg.Go(func() {
			for range wake {
				if _, err := c.b.State(c.ctx); err != nil && robot.CodeOf(err) != robot.CodeStaleState {
					c.Errorf("State during a motion: %v", err)
				}
			}
		})
	}
	var r result
	r.out, r.err = c.b.Execute(c.ctx, m, func(p robot.Progress) {
		select {
		case wake <- struct{}{}:
		default:
		}
		r.progress = append(r.progress, robot.Progress{T: p.T})
	})
	close(wake)
	wg.Wait()
	require.NoError(c, r.err)
	require.Equal(c, robot.OutcomeDone, r.out.Status)
	c.atRest(r.out.Final)
	require.InDeltaSlice(c, c.Target, c.end(r.out), c.Tolerance)
	require.InDeltaSlice(c, c.end(r.out), c.state().Where(), c.Tolerance, "the result is what State says")
	require.GreaterOrEqual(c, r.out.Duration, m.Trajectory.Duration()-0.02)
	c.tracked(m, r.out)
	gap := 0.0501 + c.Stall
	require.GreaterOrEqual(c, float64(len(r.progress)), m.Trajectory.Duration()/gap-2, "at least 20 reports a second of motion time")
	for k := 1; k < len(r.progress); k++ {
		require.GreaterOrEqual(c, r.progress[k].T, r.progress[k-1].T)
		require.LessOrEqual(c, r.progress[k].T-r.progress[k-1].T, gap)
	}
}

// tracked requires of an undisturbed motion that it says how far each measured joint
// was off its setpoint, and nothing of the others.
func (c *check) tracked(m robot.Motion, out robot.Outcome) {
	c.Helper()
	if blind(c.info) {
		require.Nil(c, out.MaxTrackingError, "nothing measured an error")
		return
	}
	require.Len(c, out.MaxTrackingError, len(c.info.Joints))
	for i, e := range out.MaxTrackingError {
		if c.info.IsOpenLoop(i) {
			require.True(c, math.IsNaN(e), "nothing measured %s", c.info.Joints[i])
			continue
		}
		if math.Abs(m.Trajectory.End()[i]-m.Trajectory.Start()[i]) > c.Tolerance {
			require.Positive(c, e, "%s: nothing real follows exactly", c.info.Joints[i])
		}
		require.Less(c, e, c.MaxDeviation)
	}
}

// radians moves and compares three statements about the same path: the command,
// the positions, and the integral of the velocities. A backend that speaks degrees
// or millimetres in any one of them is off by a factor of 57 or 1000. Each joint's
// unit is the one of its kind.
func radians(c *check) {
	require.GreaterOrEqual(c, len(c.info.Actuators), len(c.info.Joints))
	for i, a := range c.info.Actuators[:len(c.info.Joints)] {
		require.Equal(c, c.info.Joints[i], a.Name, "the joints come first, in their order")
		require.Contains(c, []string{"joint", "gripper"}, a.Kind, a.Name)
		require.Equal(c, c.Model.Joints[c.Model.Active[i]].Type.Unit(), a.Unit, a.Name)
	}
	start := c.state().Where()
	c.farthest() // it is a way that a factor shows in
	r := c.execute(c.ctx, c.longMotion())
	require.NoError(c, r.err)
	require.InDeltaSlice(c, c.Target, c.end(r.out), c.Tolerance)
	if !c.info.MeasuresVelocity {
		return
	}
	for i, name := range c.info.Joints {
		want := c.Target[i] - start[i]
		if math.Abs(want) < 0.2 || c.info.IsOpenLoop(i) {
			continue
		}
		var sum, t, v float64
		for _, p := range r.progress {
			sum += (p.T - t) * (p.State.Velocities[i] + v) / 2
			t, v = p.T, p.State.Velocities[i]
		}
		require.InEpsilon(c, want, sum, 0.1, "%s: the speeds add up to the way", name)
	}
}

func refusesNonsense(c *check) {
	before := c.state()
	limit := func(i int) float64 {
		if l := c.info.Limits[i]; l.Bounded {
			return l.Upper + 0.1
		}
		return math.NaN()
	}
	last := len(c.info.Joints) - 1
	for _, k := range []struct {
		name  string
		code  robot.Code
		spoil func(*robot.Motion)
	}{
		{"NaN", robot.CodeInvalidArgument, func(m *robot.Motion) { m.Trajectory.Segments[0].Q[0] = math.NaN() }},
		{"+Inf", robot.CodeInvalidArgument, func(m *robot.Motion) { m.Trajectory.Segments[1].J[last] = math.Inf(1) }},
		{"-Inf", robot.CodeInvalidArgument, func(m *robot.Motion) { m.Trajectory.Segments[1].V[last] = math.Inf(-1) }},
		{"NaN for a duration", robot.CodeInvalidArgument, func(m *robot.Motion) { m.Trajectory.Segments[0].Duration = math.NaN() }},
		{"5000 out of the blue", robot.CodeInvalidArgument, func(m *robot.Motion) { m.Trajectory.Segments[1].Q[0] = 5000 }},
		{"a joint too few", robot.CodeInvalidArgument, func(m *robot.Motion) { m.Trajectory.Segments[0].Q = m.Trajectory.Segments[0].Q[:last] }},
		{"a joint too few everywhere", robot.CodeInvalidArgument, func(m *robot.Motion) {
			m.Trajectory.Joints = m.Trajectory.Joints[:last]
			for k := range m.Trajectory.Segments {
				s := &m.Trajectory.Segments[k]
				s.Q, s.V, s.A, s.J = s.Q[:last], s.V[:last], s.A[:last], s.J[:last]
			}
		}},
		{"another joint's name", robot.CodeInvalidArgument, func(m *robot.Motion) { m.Trajectory.Joints[0] = "nobody" }},
		{"nothing", robot.CodeInvalidArgument, func(m *robot.Motion) { m.Trajectory.Segments = nil }},
		{"not from rest", robot.CodeInvalidArgument, func(m *robot.Motion) { m.Trajectory.Segments = m.Trajectory.Segments[1:] }},
		{"not to rest", robot.CodeInvalidArgument, func(m *robot.Motion) { m.Trajectory.Segments = m.Trajectory.Segments[:2] }},
		{"no bounds", robot.CodeInvalidArgument, func(m *robot.Motion) { m.MaxDeviation = nil }},
		{"a bound of zero", robot.CodeInvalidArgument, func(m *robot.Motion) { m.StartTolerance[0] = 0 }},
		{"a bound of NaN", robot.CodeInvalidArgument, func(m *robot.Motion) { m.MaxDeviation[last] = math.NaN() }},
		{"beyond a limit", robot.CodeJointLimit, func(m *robot.Motion) {
			to := before.Where()
			to[0] = limit(0)
			if !math.IsNaN(to[0]) {
				m.Trajectory = restToRest(c.info, before.Where(), to, 1)
			} else { // a joint without limits can't be beyond them
				m.Trajectory.Segments[0].Q[0] = math.NaN()
			}
		}},
		{"5000 as a target", robot.CodeJointLimit, func(m *robot.Motion) {
			to := before.Where()
			to[0] = 5000
			m.Trajectory = restToRest(c.info, before.Where(), to, 1)
		}},
		{"too fast", robot.CodeSpeedLimit, func(m *robot.Motion) {
			fast := c.info
			fast.Limits = append([]robot.JointLimits(nil), fast.Limits...)
			for i := range fast.Limits {
				fast.Limits[i] = fast.Limits[i].Scaled(1.5)
			}
			m.Trajectory = restToRest(fast, before.Where(), c.Target, 0)
		}},
	} {
		m := c.longMotion()
		k.spoil(&m)
		if k.code == robot.CodeJointLimit && !c.info.Limits[0].Bounded {
			continue
		}
		r := c.execute(c.ctx, m)
		require.Equal(c, k.code, robot.CodeOf(r.err), "%s: %v", k.name, r.err)
		c.refusal(before, r.out, r.err, k.code)
		require.Empty(c, r.progress)
	}
	require.Equal(c, before.StopEpoch, c.state().StopEpoch)
	require.Empty(c, c.state().Faults, "a refusal is no fault")
	r := c.execute(c.ctx, c.longMotion())
	require.NoError(c, r.err, "after all that an honest motion still runs")
}

func refusesStart(c *check) {
	before := c.state()
	from := before.Where()
	for i := range from { // part of the way, so it is surely within limits
		from[i] += (c.Target[i] - from[i]) / 2
	}
	m := c.motionFrom(from, c.Target, 1, before.StopEpoch)
	r := c.execute(c.ctx, m)
	c.refusal(before, r.out, r.err, robot.CodeStartMoved)
	var e *robot.Error
	require.True(c, errors.As(r.err, &e))
	require.Contains(c, c.info.Joints, e.Where)
	require.NotNil(c, e.Value)
	require.NotNil(c, e.Limit)
}

func refusesEpoch(c *check) {
	m := c.longMotion()
	c.stopped(c.stop(robot.StopControlled))
	before := c.state()
	require.Equal(c, m.Epoch+1, before.StopEpoch)
	r := c.execute(c.ctx, m)
	c.refusal(before, r.out, r.err, robot.CodeStopped)
	out, err := c.b.Actuate(c.ctx, robot.Command{Kind: robot.TorqueOff, Epoch: m.Epoch})
	c.refusal(before, out, err, robot.CodeStopped)
	require.NoError(c, c.execute(c.ctx, c.longMotion()).err, "one prepared after the stop runs")
}

func refusesCommands(c *check) {
	before := c.state()
	for _, k := range []struct {
		cmd   robot.Command
		codes []robot.Code
	}{
		{robot.Command{Kind: "dance"}, []robot.Code{robot.CodeInvalidArgument}},
		{robot.Command{}, []robot.Code{robot.CodeInvalidArgument}},
		{robot.Command{Kind: robot.SetActuator, Name: "no such thing", Value: 1}, []robot.Code{robot.CodeInvalidArgument, robot.CodeNotSupported}},
		{robot.Command{Kind: robot.SetActuator, Name: c.info.Joints[0], Value: math.NaN()}, []robot.Code{robot.CodeInvalidArgument}},
		{robot.Command{Kind: robot.SetActuator, Name: c.info.Joints[0], Value: math.Inf(-1)}, []robot.Code{robot.CodeInvalidArgument}},
	} {
		k.cmd.Epoch = before.StopEpoch
		out, err := c.b.Actuate(c.ctx, k.cmd)
		require.Contains(c, k.codes, robot.CodeOf(err), "%+v: %v", k.cmd, err)
		c.refusal(before, out, err, robot.CodeOf(err))
	}
}

func busy(c *check) {
	m := c.longMotion()
	var second result
	var actuated error
	first, _ := c.midway(c.ctx, m, m.Trajectory.Duration()/2, func() {
		second = result{}
		second.out, second.err = c.b.Execute(c.ctx, m, nil)
		_, actuated = c.b.Actuate(c.ctx, robot.Command{Kind: robot.TorqueOff, Epoch: m.Epoch})
	})
	require.NoError(c, first.err, "the first goes on undisturbed")
	require.InDeltaSlice(c, c.Target, c.end(first.out), c.Tolerance)
	require.Equal(c, robot.CodeBusy, robot.CodeOf(second.err), "%v", second.err)
	require.Equal(c, robot.OutcomeRefused, second.out.Status)
	require.Equal(c, robot.CodeBusy, robot.CodeOf(actuated), "%v", actuated)
	require.True(c, c.state().Enabled)
}

func cancelledBefore(c *check) {
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	before := c.state()
	m := c.longMotion()
	r := c.execute(ctx, m)
	c.refusal(before, r.out, r.err, robot.CodeCancelled)
}
