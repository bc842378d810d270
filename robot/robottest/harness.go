package robottest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// Harness makes what is tested.
type Harness struct {
	// New returns a backend that is at rest, enabled, without faults and free to
	// move to the fixture's Target, and what the suite may do to it. Every check
	// gets a new one. New registers with t.Cleanup what has to be undone; the
	// suite closes the backend.
	New func(t *testing.T) Fixture
	// Unreferenced is New for a robot whose joints with a reference switch don't know
	// where they are, and stand some way from it. nil: checks that need it are
	// skipped by name, as they are where the model has no switches.
	Unreferenced func(t *testing.T) Fixture
	// Bubble runs each check in a bubble of testing/synctest, where time passes
	// as soon as everybody waits for it. It is for backends that talk to nothing
	// outside the process.
	Bubble bool
}

// Fixture is a backend under test. The optional functions are what not every
// harness can do: a check that needs one that is nil is skipped by name.
type Fixture struct {
	Backend robot.Backend
	// Model is what the backend was made from. It says what there is beside joints:
	// wheels that carry a base, reference switches, a gripper.
	Model *robot.Model
	// Target is a configuration, rad or m by active joint, that the robot reaches
	// on a straight line in joint space, at its limits, without touching anything;
	// a base goes there straight ahead. At least one joint must be at least 0.2 rad or m away from where it stands.
	Target []float64
	// Tolerance is how far from the end of a motion, rad or m, a joint may be
	// measured after it.
	Tolerance float64
	// MaxDeviation is the bound, rad or m, that an undisturbed motion keeps.
	MaxDeviation float64
	// Lag bounds, in s of motion time, what may pass from a call of Stop to the
	// first step of the brake, plus what the measured position lags behind the
	// setpoint.
	Lag float64

	// AtMotionTime has do called once, in a goroutine of its own, when the next
	// motion gets to t seconds of motion time, and holds motion time until do has
	// returned or stopped the robot. nil: the suite uses Progress instead, which
	// is late by up to 50 ms.
	AtMotionTime func(t float64, do func())
	// Freeze makes measurements stop from now on.
	Freeze func()
	// Unplug cuts the link to the robot from now on.
	Unplug func()
	// Block makes the joint with that position in q immovable from now on.
	Block func(joint int)
	// TorqueOff says that torque may be switched off: nothing falls on anything.
	TorqueOff bool
}

// wall bounds every call to a backend, wall-clock time.
const (
	wall     = 30 * time.Second
	waitStep = 5 * time.Millisecond
)

// Run holds a backend to its contract. Each check is a subtest with a new fixture.
func Run(t *testing.T, h Harness) { run(t, h, "") }

// RunCase runs only the checks that prove one of the numbered public bug reports,
// for tests that carry that number in their name. A number that no check has
// fails.
func RunCase(t *testing.T, h Harness, number int) {
	run(t, h, fmt.Sprintf("Case%d_", number))
}

func run(t *testing.T, h Harness, prefix string) {
	some := false
	for _, c := range checks() {
		if !strings.HasPrefix(c.name, prefix) {
			continue
		}
		some = true
		t.Run(c.name, func(t *testing.T) {
			if h.Bubble {
				synctest.Test(t, func(t *testing.T) { runCheck(t, h, c) })
			} else {
				runCheck(t, h, c)
			}
		})
	}
	require.True(t, some, "no check is named %s…", prefix)
}

func runCheck(t *testing.T, h Harness, c namedCheck) {
	make := h.New
	if c.unreferenced {
		if make = h.Unreferenced; make == nil {
			t.Skip("skipped: this harness can't start without references")
		}
	}
	f := make(t)
	require.NotNil(t, f.Backend)
	require.NotNil(t, f.Model)
	require.Len(t, f.Target, len(f.Backend.Info().Joints), "the fixture's target has one number a joint")
	ctx, cancel := context.WithTimeout(context.Background(), wall)
	t.Cleanup(cancel)
	t.Cleanup(func() {
		require.NoError(t, f.Backend.Close())
		require.NoError(t, f.Backend.Close(), "a second Close returns nil")
	})
	if c.needs != nil {
		if what := c.needs(&f); what != "" {
			t.Skipf("skipped: this harness can't %s", what)
		}
	}
	c.run(&check{T: t, Fixture: f, b: f.Backend, info: f.Backend.Info(), ctx: ctx})
}

type namedCheck struct {
	name  string
	needs func(*Fixture) string // what is missing, "" if nothing is
	run   func(*check)
	// unreferenced: the check is about joints that don't know where they are.
	unreferenced bool
}

// check is one check in progress.
type check struct {
	*testing.T
	Fixture
	b    robot.Backend
	info robot.Info
	ctx  context.Context
}

func (c *check) state() robot.State {
	c.Helper()
	s, err := c.b.State(c.ctx)
	require.NoError(c, err)
	require.Len(c, s.Positions, len(c.info.Joints))
	return s
}

// motion is one from where the robot is measured to a configuration, of at least
// least seconds, in the present epoch.
func (c *check) motion(to []float64, least float64) robot.Motion {
	c.Helper()
	s := c.state()
	return c.motionFrom(s.Positions, to, least, s.StopEpoch)
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

// longMotion is one to the target that takes at least two seconds.
func (c *check) longMotion() robot.Motion {
	c.Helper()
	m := c.motion(c.Target, 2)
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
	at = s
	if c.AtMotionTime != nil {
		c.AtMotionTime(s, do)
		return c.execute(ctx, m), at
	}
	called := make(chan struct{})
	running := false
	r.out, r.err = c.b.Execute(ctx, m, func(p robot.Progress) {
		if p.T >= s && !running {
			running, at = true, p.T
			go func() {
				defer close(called)
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
	require.InDeltaSlice(c, before.Positions, after.Positions, c.Tolerance, "nothing moved")
	require.InDeltaSlice(c, before.Setpoints, after.Setpoints, 1e-12, "nothing was commanded")
	require.False(c, after.Moving)
}

// atRest requires that the robot is measured at rest.
func (c *check) atRest(s robot.State) {
	c.Helper()
	require.False(c, s.Moving)
	require.Len(c, s.Positions, len(c.info.Joints))
	for i, v := range s.Velocities {
		require.Less(c, math.Abs(v), 0.02, "%s is at rest", c.info.Joints[i])
	}
}

// stopsWithin requires that a motion that was to be stopped at s seconds ended
// within what its limits allow: each joint beyond its setpoint then by no more than
// its braking distance and what it travels in the lag, and short by no more than
// what it lags.
func (c *check) stopsWithin(m robot.Motion, s float64, end []float64) {
	c.Helper()
	n := len(c.info.Joints)
	q, v, a := make([]float64, n), make([]float64, n), make([]float64, n)
	m.Trajectory.Sample(s, q, v, a)
	own := robot.BrakeTrajectory(c.info.Joints, q, v, a, c.info.Limits).End()
	together := own
	if l, ok := robot.BrakeAlongLine(c.info.Joints, q, v, a, c.info.Limits); ok {
		together = l.End()
	}
	moved := false
	for i, name := range c.info.Joints {
		lag := math.Abs(v[i])*c.Lag + c.Tolerance
		lo := math.Min(q[i], math.Min(own[i], together[i])) - lag
		hi := math.Max(q[i], math.Max(own[i], together[i])) + lag
		require.GreaterOrEqual(c, end[i], lo, "%s stopped short of where it can have been", name)
		require.LessOrEqual(c, end[i], hi, "%s needed more than its stopping distance", name)
		moved = moved || math.Abs(m.Trajectory.End()[i]-end[i]) > 2*c.Tolerance
	}
	require.True(c, moved, "the robot went to the end of its motion instead of stopping")
}

// stop stops and returns the verdict.
func (c *check) stop(kind robot.StopKind) robot.StopVerdict {
	return c.b.Stop(c.ctx, kind)
}

func (c *check) stopped(v robot.StopVerdict) {
	c.Helper()
	require.Equal(c, robot.Yes, v.Commanded, v.Text)
	require.Equal(c, robot.Yes, v.Stationary, v.Text)
	require.Equal(c, c.info.Backend, v.Backend)
}

func (c *check) reset() {
	c.Helper()
	s := c.state()
	out, err := c.b.Actuate(c.ctx, robot.Command{ID: c.Name(), Kind: robot.EStopReset, Epoch: s.StopEpoch})
	require.NoError(c, err)
	require.Equal(c, robot.OutcomeDone, out.Status)
}
