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
)

// polar is an arm that turns about z without end and slides along its radius; its
// tip is at (r·cos, r·sin, 0).
func polar() *robot.Model {
	b := kintest.NewBuilder("polar", "base")
	l := b.Joint("turn", robot.Continuous, 0, robot.IdentityPose(), mgl64.Vec3{0, 0, 1}, 0, 0)
	return b.Model(b.Joint("radius", robot.Prismatic, l, robot.IdentityPose(), mgl64.Vec3{1, 0, 0}, -0.2, 0.5))
}

// cartesian is three sliding joints along x, y and z.
func cartesian() *robot.Model {
	b := kintest.NewBuilder("cartesian", "base")
	l := b.Joint("x", robot.Prismatic, 0, robot.IdentityPose(), mgl64.Vec3{1, 0, 0}, -1, 1)
	l = b.Joint("y", robot.Prismatic, l, robot.IdentityPose(), mgl64.Vec3{0, 1, 0}, -1, 0.8)
	l = b.Joint("z", robot.Prismatic, l, robot.IdentityPose(), mgl64.Vec3{0, 0, 1}, -1, 1)
	b.Body(l, robot.IdentityPose(), robot.Geometry{Kind: robot.Sphere, Radius: 0.02})
	return b.Model(l)
}

func lines(t *testing.T, p *Planner, from []float64, way ...mgl64.Vec3) ([]trajectory.Curve, *robot.Error) {
	t.Helper()
	targets := make([]Target, len(way))
	for i := range way {
		targets[i] = Target{Tip: p.m.Tip, Position: way[i]}
	}
	curves, err := p.Lines(context.Background(), from, targets, seeded(1))
	if err == nil {
		return curves, nil
	}
	require.Empty(t, curves)
	return nil, requireRefusal(t, p.m, err)
}

func point(q []robot.Quantity) mgl64.Vec3 { return mgl64.Vec3{q[0].Value, q[1].Value, q[2].Value} }

// TestLinesToAJointLimit: the joint is named, with its limit and how far the path
// gets; so far it can be done.
func TestLinesToAJointLimit(t *testing.T) {
	p := newPlanner(t, cartesian(), free{})
	from := []float64{0, 0, 0}
	// 0.5 m, then 0.7 m along y of which only 0.3 are there: 0.8 of 1.2.
	way := []mgl64.Vec3{{0, 0.5, 0}, {0, 1.2, 0}}
	_, e := lines(t, p, from, way...)
	require.Equal(t, robot.CodeJointLimit, e.Code)
	require.Equal(t, "y", e.Where)
	require.Equal(t, robot.Quantity{Name: "y", Value: 0.8, Unit: "m"}, *e.Limit)
	require.InDelta(t, 0.8/1.2, e.Value.Value, 1e-3)
	require.LessOrEqual(t, e.Value.Value, 0.8/1.2)
	require.InDelta(t, 0, point(e.Nearest).Sub(mgl64.Vec3{0, 0.8, 0}).Len(), 1e-3)
	require.Contains(t, e.Text, "waypoint 1")
	curves, e := lines(t, p, from, way[0], point(e.Nearest))
	require.Nil(t, e)
	require.Len(t, curves, 2)
	// Up to the limit itself, and along it, there is nothing to refuse.
	curves, e = lines(t, p, from, mgl64.Vec3{0.3, 0.8, 0}, mgl64.Vec3{0.5, 0.8, -0.2})
	require.Nil(t, e)
	tr, err := trajectory.ThroughCurves(p.names, p.m.Limits, curves, 1)
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{0.5, 0.8, -0.2}, tr.End(), 1e-7)
}

// TestLinesOutOfReach: a stretched arm is out of reach, not at a singularity.
func TestLinesOutOfReach(t *testing.T) {
	m := kintest.Arm7()
	p := newPlanner(t, m, free{})
	start := tipAt(p, m.Home)
	_, e := lines(t, p, m.Home, start.P.Add(mgl64.Vec3{0.05, 0, 0}), start.P.Add(mgl64.Vec3{3, 0, 0}))
	require.Equal(t, robot.CodeUnreachable, e.Code)
	require.Contains(t, e.Text, "leaves the arm's reach")
	require.NotContains(t, e.Text, "can be reached")
	require.Greater(t, e.Value.Value, 0.05/3)
	near := point(e.Nearest)
	require.InDelta(t, 0, near[1]-start.P[1], 1e-4)
	require.InDelta(t, 0, near[2]-start.P[2], 1e-4)
	require.InDelta(t, e.Value.Value*3, near[0]-start.P[0], 3e-3, "the fraction is by length")
	curves, e := lines(t, p, m.Home, near)
	require.Nil(t, e)
	requireStraight(t, straight{p: p, tip: m.Tip, from: start, to: robot.Pose{P: near, Q: start.Q}, turns: true}, curves[0], m.Home)
}

// TestLinesPastASingularity: a line through the axis of a turning joint makes it
// jump, one close by makes it spin; at a distance it is fine.
func TestLinesPastASingularity(t *testing.T) {
	m := polar()
	m.Limits[1].Lower = 0.01
	p := newPlanner(t, m, free{})
	from := []float64{0, 0.3}
	_, e := lines(t, p, from, mgl64.Vec3{-0.3, 1e-3, 0})
	require.Contains(t, []robot.Code{robot.CodeJointLimit, robot.CodeSingular}, e.Code)

	m = polar()
	m.Limits[1].Lower = 0
	p = newPlanner(t, m, free{})
	for _, off := range []float64{1e-5, 4e-4} {
		from := []float64{math.Atan2(off, 0.3), math.Hypot(off, 0.3)}
		_, e := lines(t, p, from, mgl64.Vec3{-0.3, off, 0})
		require.Equal(t, robot.CodeSingular, e.Code, "%g", off)
		require.Equal(t, "turn", e.Where)
		require.InDelta(t, 0.5, e.Value.Value, 0.02)
		require.Contains(t, e.Text, "can be reached, but not straight")
	}
	// Straight through the axis, the radius on through zero, nothing turns at all.
	through := newPlanner(t, polar(), free{})
	curves, e := lines(t, through, []float64{0, 0.3}, mgl64.Vec3{-0.15, 0, 0})
	require.Nil(t, e)
	end := requireStraight(t, straight{p: through, tip: m.Tip, from: tipAt(through, []float64{0, 0.3}), to: robot.Pose{P: mgl64.Vec3{-0.15, 0, 0}}}, curves[0], []float64{0, 0.3})
	require.InDeltaSlice(t, []float64{0, -0.15}, end, 1e-6)
	const off = 0.02
	from = []float64{math.Atan2(off, 0.3), math.Hypot(off, 0.3)}
	over := mgl64.Vec3{0, off, 0}
	curves, e = lines(t, p, from, over, mgl64.Vec3{-0.3, off, 0})
	require.Nil(t, e)
	end = requireStraight(t, straight{p: p, tip: m.Tip, from: tipAt(p, from), to: robot.Pose{P: over}}, curves[0], from)
	end = requireStraight(t, straight{p: p, tip: m.Tip, from: tipAt(p, end), to: robot.Pose{P: mgl64.Vec3{-0.3, off, 0}}}, curves[1], end)
	require.InDelta(t, math.Pi-math.Atan2(off, 0.3), end[0], 1e-6)
}

// TestLinesThatWouldTwist: an arm that can't hold its tip's orientation doesn't turn
// it by more than a quarter turn unasked.
func TestLinesThatWouldTwist(t *testing.T) {
	p := newPlanner(t, polar(), free{})
	from := []float64{math.Atan2(0.05, 0.3), math.Hypot(0.05, 0.3)}
	_, e := lines(t, p, from, mgl64.Vec3{-0.3, 0.05, 0})
	require.Equal(t, robot.CodeUnreachable, e.Code)
	require.Contains(t, e.Text, "would be turned by 1.5")
	require.Contains(t, e.Text, "give the waypoint an orientation")
	_, e = lines(t, p, from, mgl64.Vec3{0.02, 0.05, 0})
	require.Nil(t, e)
}

// TestLinesIntoABody: the pair is named, and what is offered can be done, whether the
// checker follows curves or only lines.
func TestLinesIntoABody(t *testing.T) {
	m := cartesian()
	wall := &robot.Scene{Bodies: []robot.Body{{Name: "wall", Pose: kintest.At(0.6, 0, 0, 0, 0, 0),
		Geometry: robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{0.1, 0.4, 0.4}}}}}
	followed, c := checked(t, m, wall)
	for name, p := range map[string]*Planner{"followed": followed, "by lines": newPlanner(t, m, onlyLines{c})} {
		_, e := lines(t, p, []float64{0, 0, 0}, mgl64.Vec3{0.2, 0.05, 0}, mgl64.Vec3{0.9, 0.05, 0})
		require.Equal(t, robot.CodeSceneCollision, e.Code, name)
		require.Contains(t, e.Where, "wall")
		require.Contains(t, e.Where, "link_z")
		require.Contains(t, e.Text, "towards waypoint 1: ")
		require.NotContains(t, e.Text, " s", "no time is meant: %s", e.Text)
		require.ErrorIs(t, e.Err, robot.ErrCode(robot.CodeSceneCollision))
		near := point(e.Nearest)
		require.InDelta(t, 0.55-0.02-2e-3, near[0], 2e-3, name)
		curves, e := lines(t, p, []float64{0, 0, 0}, mgl64.Vec3{0.2, 0.05, 0}, near)
		require.Nil(t, e, name)
		require.Len(t, curves, 2)
	}
	// What is in the way before a limit is told, not the limit.
	_, e := lines(t, followed, []float64{0, 0, 0}, mgl64.Vec3{1.5, 0, 0})
	require.Equal(t, robot.CodeSceneCollision, e.Code)
	require.InDelta(t, 0.528/1.5, e.Value.Value, 2e-3)
	require.InDelta(t, 0.528, point(e.Nearest)[0], 2e-3)
}

// TestLinesCheckerThatCantAnswer: a failure to answer is never a path.
func TestLinesCheckerThatCantAnswer(t *testing.T) {
	p := newPlanner(t, cartesian(), &broken{})
	_, err := p.Lines(context.Background(), []float64{0, 0, 0}, []Target{{Tip: p.m.Tip, Position: mgl64.Vec3{0.1, 0, 0}}}, seeded(1))
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeNotSupported))
	_, err = p.Lines(context.Background(), []float64{0, 0, 0}, []Target{{Tip: p.m.Tip, Position: mgl64.Vec3{2, 0, 0}}}, seeded(1))
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeNotSupported))
}
