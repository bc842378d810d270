package planning

import (
	"context"
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/motion/trajectory"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
)

// timed times a path through waypoints at full speed and returns its commands every
// 10 ms, the last one included.
func timed(t *testing.T, p *Planner, path [][]float64) (commands [][]float64) {
	t.Helper()
	tr, err := trajectory.ThroughWaypoints(p.names, p.m.Limits, path, 1)
	require.NoError(t, err)
	require.NoError(t, tr.Validate(p.m.Limits))
	for s := 0.0; s < tr.Duration()+0.01; s += 0.01 {
		q := make([]float64, p.m.DoF())
		tr.Sample(s, q, nil, nil)
		commands = append(commands, q)
	}
	return commands
}

// slider is the case's gantry joint, and another one that slides on it.
func slider(t *testing.T) *Planner {
	b := kintest.NewBuilder("gantry", "base")
	l := b.Joint("gantry_y_joint", robot.Prismatic, 0, robot.IdentityPose(), mgl64.Vec3{0, 1, 0}, -0.1, 1)
	l = b.Joint("gantry_z_joint", robot.Prismatic, l, robot.IdentityPose(), mgl64.Vec3{0, 0, 1}, -0.1, 1)
	return newPlanner(t, b.Model(l), free{})
}

// TestCase11_StartBelowLimitByNoise: 0.5 µm below a slider's limit is accepted, and
// no command is below the limit.
func TestCase11_StartBelowLimitByNoise(t *testing.T) {
	p := slider(t)
	path, err := p.JointPath(context.Background(), []float64{-0.1000005, 0}, []float64{0.5, 0}, seeded(1))
	require.NoError(t, err)
	require.Equal(t, [][]float64{{-0.1, 0}, {0.5, 0}}, path)
	commands := timed(t, p, path)
	for _, q := range commands {
		require.GreaterOrEqual(t, q[0], -0.1)
	}
	require.InDelta(t, 0.5, commands[len(commands)-1][0], 1e-12)
	// A straight line of the tip begins at the limit too.
	curves, err := p.Lines(context.Background(), []float64{-0.1000005, 0}, []Target{{Tip: p.m.Tip, Position: mgl64.Vec3{0, 0.5, 0}}}, seeded(1))
	require.NoError(t, err)
	tr, err := trajectory.ThroughCurves(p.names, p.m.Limits, curves, 1)
	require.NoError(t, err)
	require.Equal(t, -0.1, tr.Start()[0])
}

// TestCase11_TheOnlyWayIsBackInside: 20 mm below its limit a slider goes back to it
// while the other holds, and nowhere else.
func TestCase11_TheOnlyWayIsBackInside(t *testing.T) {
	p := slider(t)
	from := []float64{-0.12, 0.3}
	for name, to := range map[string][]float64{
		"far inside": {0.5, 0.3}, "and another": {-0.1, 0.4}, "stays": {-0.12, 0.3}, "another": {-0.12, 0.4},
		"half the way": {-0.11, 0.3}, "farther out": {-0.13, 0.3},
	} {
		_, err := p.JointPath(context.Background(), from, to, seeded(1))
		e := new(robot.Error)
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, robot.CodeJointLimit, e.Code)
		require.Equal(t, "start.gantry_y_joint", e.Where)
		require.Equal(t, -0.12, e.Value.Value)
		require.Equal(t, -0.1, e.Limit.Value)
		require.Contains(t, e.Text, "the only motion from here")
		require.Equal(t, []robot.Quantity{{Name: "gantry_y_joint", Value: -0.1, Unit: "m"}}, e.Nearest)
	}
	for _, in := range []float64{-0.1, -0.0985} {
		path, err := p.JointPath(context.Background(), from, []float64{in, 0.3}, seeded(1))
		require.NoError(t, err)
		require.Equal(t, [][]float64{from, {in, 0.3}}, path)
		last := -0.12
		for _, q := range timed(t, p, path) {
			require.GreaterOrEqual(t, q[0], last, "it only moves inwards")
			require.Equal(t, 0.3, q[1])
			last = q[0]
		}
		require.InDelta(t, in, last, 1e-12)
	}
	// Two joints outside come back together; what is out by noise goes to its limit.
	both := []float64{-0.12, 1.05}
	path, err := p.JointPath(context.Background(), both, []float64{-0.1, 1}, seeded(1))
	require.NoError(t, err)
	require.Equal(t, [][]float64{both, {-0.1, 1}}, path)
	_, err = p.JointPath(context.Background(), both, []float64{-0.1, 1.05}, seeded(1))
	e := new(robot.Error)
	require.ErrorAs(t, err, &e)
	require.Len(t, e.Nearest, 2)
	path, err = p.JointPath(context.Background(), []float64{-0.12, 1.001}, []float64{-0.1, 1}, seeded(1))
	require.NoError(t, err)
	require.Equal(t, [][]float64{{-0.12, 1}, {-0.1, 1}}, path)
	_, err = p.Lines(context.Background(), from, []Target{{Tip: p.m.Tip, Position: mgl64.Vec3{0, 0.5, 0.3}}}, seeded(1))
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeJointLimit))
}

// TestTheWayBackInsideIsChecked: a body on the way back inside is told.
func TestTheWayBackInsideIsChecked(t *testing.T) {
	m := slider(t).m
	p := newPlanner(t, m, &broken{after: 1})
	_, err := p.JointPath(context.Background(), []float64{-0.12, 0.3}, []float64{-0.1, 0.3}, seeded(1))
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSelfCollision))
}

func continuousArm(t *testing.T) *Planner {
	b := kintest.NewBuilder("turntable", "base")
	l := b.Joint("turn", robot.Continuous, 0, robot.IdentityPose(), mgl64.Vec3{0, 0, 1}, 0, 0)
	tip := b.Joint("tip", robot.Fixed, l, kintest.At(0.5, 0, 0, 0, 0, 0), mgl64.Vec3{}, 0, 0)
	return newPlanner(t, b.Model(tip), free{})
}

// TestCase13_ContinuousAcrossPi: from 3.10 to -3.10 it is 0.0832 rad on, in joint
// space and on a straight line of the tip, without a step above 0.1 rad.
func TestCase13_ContinuousAcrossPi(t *testing.T) {
	p := continuousArm(t)
	path, err := p.JointPath(context.Background(), []float64{3.10}, []float64{-3.10}, seeded(1))
	require.NoError(t, err)
	require.InDelta(t, 0.0832, path[1][0]-path[0][0], 1e-4)
	last := 3.10
	for _, q := range timed(t, p, path) {
		require.GreaterOrEqual(t, q[0], last)
		require.LessOrEqual(t, q[0]-last, 0.1)
		last = q[0]
	}
	require.InDelta(t, 3.1832, last, 1e-4)

	line := newPlanner(t, polar(), free{})
	sin, cos := math.Sincos(-3.10)
	curves, err := line.Lines(context.Background(), []float64{3.10, 0.3}, []Target{{Tip: line.m.Tip, Position: mgl64.Vec3{0.3 * cos, 0.3 * sin, 0}}}, seeded(1))
	require.NoError(t, err)
	end := requireStraight(t, straight{p: line, tip: line.m.Tip, from: tipAt(line, []float64{3.10, 0.3}),
		to: robot.Pose{P: mgl64.Vec3{0.3 * cos, 0.3 * sin, 0}}}, curves[0], []float64{3.10, 0.3})
	require.InDelta(t, 3.1832, end[0], 1e-4)
}

// TestCase14_WholeTurnsAreKept: from a measured 7.0 to 0.8 the command goes to
// 0.8 + 2π, and the first commands are where the joint is.
func TestCase14_WholeTurnsAreKept(t *testing.T) {
	p := continuousArm(t)
	path, err := p.JointPath(context.Background(), []float64{7.0}, []float64{0.8}, seeded(1))
	require.NoError(t, err)
	require.Equal(t, 7.0, path[0][0])
	require.InDelta(t, 7.0832, path[1][0], 1e-4)
	commands := timed(t, p, path)
	most := p.m.Limits[0].Velocity * 0.01
	last := 7.0
	for _, q := range commands {
		require.InDelta(t, last, q[0], most)
		last = q[0]
	}
	require.InDelta(t, 0.8+2*math.Pi, last, 1e-12)
	got, err := p.IK(context.Background(), Target{Tip: p.m.Tip, Position: mgl64.Vec3{0.5 * math.Cos(0.8), 0.5 * math.Sin(0.8), 0}}, []float64{7.0}, seeded(1))
	require.NoError(t, err)
	require.InDelta(t, 7.0832, got.Q[0], 1e-4)

	line := newPlanner(t, polar(), free{})
	sin, cos := math.Sincos(0.8)
	curves, err := line.Lines(context.Background(), []float64{7.0, 0.3}, []Target{{Tip: line.m.Tip, Position: mgl64.Vec3{0.3 * cos, 0.3 * sin, 0}}}, seeded(1))
	require.NoError(t, err)
	tr, err := trajectory.ThroughCurves(line.names, line.m.Limits, curves, 1)
	require.NoError(t, err)
	require.Equal(t, []float64{7.0, 0.3}, tr.Start())
	require.InDelta(t, 0.8+2*math.Pi, tr.End()[0], 1e-6)
}

// TestCase15_BuiltinPandaStaysInsideLimits: the case's pose with the robot that comes
// with the program: the hand's point between the fingers moved back by 0.4 m.
func TestCase15_BuiltinPandaStaysInsideLimits(t *testing.T) {
	m, err := builtin.Load("panda")
	require.NoError(t, err)
	p := newPlanner(t, m, free{})
	q := make([]float64, m.DoF())
	copy(q, []float64{-0.8605, 1.4892, 1.4771, -0.6708, 0.0004, 3.0051, 0.7796})
	d := p.tree.NewData()
	p.tree.FK(d, q)
	finger := m.LinkIndex("panda_leftfinger")
	require.GreaterOrEqual(t, finger, 0)
	pose := d.Pose(finger)
	require.InDelta(t, 0, pose.P.Sub(mgl64.Vec3{0.7892, -0.4371, 0.3681}).Len(), 6e-3, "the case's frame, but for how far the finger is open")
	solved := 0
	for _, full := range []bool{false, true} {
		target := Target{Tip: finger, Position: pose.P.Sub(mgl64.Vec3{0.4, 0, 0})}
		if full {
			target.Orientation = &pose.Q
		}
		for seed := range uint64(20) {
			got, err := p.IK(context.Background(), target, make([]float64, m.DoF()), seeded(seed))
			if err != nil {
				require.ErrorIs(t, err, robot.ErrCode(robot.CodeUnreachable))
				continue
			}
			solved++
			requireInside(t, m, got.Q)
			requireReached(t, p, target, got.Q)
		}
	}
	require.GreaterOrEqual(t, solved, 20, "the position alone is within reach")
}

// TestCase17_SlidingJointsAreSolvedFor: a gantry of two sliding joints, y then x on
// it, has its mount at (0.3, 0.6, 0.25) at (0.5, 0.1), not turned; that point leads
// back to (0.5, 0.1).
func TestCase17_SlidingJointsAreSolvedFor(t *testing.T) {
	b := kintest.NewBuilder("gantry", "base")
	l := b.Joint("y", robot.Prismatic, 0, kintest.At(0, 0.1, 0.25, 0, 0, 0), mgl64.Vec3{0, 1, 0}, -0.1, 1)
	l = b.Joint("x", robot.Prismatic, l, kintest.At(0.2, 0, 0, 0, 0, 0), mgl64.Vec3{1, 0, 0}, -0.1, 1)
	m := b.Model(b.Joint("mount", robot.Fixed, l, robot.IdentityPose(), mgl64.Vec3{}, 0, 0))
	p := newPlanner(t, m, free{})
	want := mgl64.Vec3{0.3, 0.6, 0.25}
	pose := tipAt(p, []float64{0.5, 0.1})
	require.InDelta(t, 0, pose.P.Sub(want).Len(), 1e-15)
	require.Equal(t, mgl64.QuatIdent(), pose.Q)
	for seed := range uint64(10) {
		for _, turn := range []*mgl64.Quat{nil, {W: 1}} {
			got, err := p.IK(context.Background(), Target{Tip: m.Tip, Position: want, Orientation: turn}, []float64{0.9, -0.05}, seeded(seed))
			require.NoError(t, err)
			require.InDeltaSlice(t, []float64{0.5, 0.1}, got.Q, 1e-8)
		}
	}
}
