package collision

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/robot"
)

// crane carries a level forearm of 30 cm on a vertical slider and at its end, on
// a hinge, a gripper that hangs down by 12 cm. At q = (0.119, 0) the gripper's
// lower end is 1 mm inside a table at height 0, the forearm 99 mm above it.
func crane(gripper robot.Geometry, at float64) *robot.Model {
	b := kintest.NewBuilder("crane", "base")
	forearm := b.Joint("z", robot.Prismatic, 0, robot.IdentityPose(), mgl64.Vec3{0, 0, 1}, -1, 1)
	b.Body(forearm, kintest.At(0.15, 0, 0, 0, 0, 0), box(0.3, 0.04, 0.04))
	hand := b.Joint("pitch", robot.Revolute, forearm, kintest.At(0.32, 0, 0, 0, 0, 0), mgl64.Vec3{0, -1, 0}, -2, 2)
	b.Body(hand, kintest.At(0, 0, at, 0, 0, 0), gripper)
	m := b.Model(hand)
	m.Gripper = &robot.Gripper{Joint: 1, Links: []int{hand}}
	return m
}

// moveThrough is a trajectory at constant speed from point to point, 1 s each.
func moveThrough(m *robot.Model, points ...[]float64) robot.Trajectory {
	tr := robot.Trajectory{Joints: m.JointNames()}
	for i := range points[1:] {
		n := len(points[i])
		s := robot.Segment{Duration: 1, Q: points[i], V: make([]float64, n), A: make([]float64, n), J: make([]float64, n)}
		for k := range s.V {
			s.V[k] = points[i+1][k] - points[i][k]
		}
		tr.Segments = append(tr.Segments, s)
	}
	return tr
}

// refused requires an error of the code for the two named, with the distance and
// the limit in it.
func refused(t require.TestingT, err error, code robot.Code, where string) *robot.Error {
	var e *robot.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, code, e.Code, "%v", err)
	require.Equal(t, where, e.Where, "%v", err)
	require.Less(t, e.Value.Value, e.Limit.Value)
	require.Equal(t, "m", e.Limit.Unit)
	return e
}

// TestCase19_AGripperInATableMayOnlyLeaveIt: 1 mm inside the top, up is allowed,
// deeper isn't, and neither is what brings the forearm into the table.
func TestCase19_AGripperInATableMayOnlyLeaveIt(t *testing.T) {
	m := crane(box(0.03, 0.03, 0.12), -0.06)
	c := newChecker(t, m, table())
	in := []float64{0.119, 0}
	_, err := c.Check(in)
	refused(t, err, robot.CodeSceneCollision, "link_pitch, table")
	for _, up := range []float64{0.1195, 0.125, 0.4} {
		_, err = c.CheckSegment(in, []float64{up, 0})
		require.NoError(t, err, "to %g", up)
		_, err = c.CheckTrajectory(moveThrough(m, in, []float64{up, 0}))
		require.NoError(t, err, "to %g", up)
	}
	for _, down := range []float64{0.1185, 0.11, 0.05} {
		_, err = c.CheckSegment(in, []float64{down, 0})
		e := refused(t, err, robot.CodeSceneCollision, "link_pitch, table")
		require.Contains(t, e.Text, "may only move away")
		require.GreaterOrEqual(t, e.Value.Value, -0.001-2*ContactTolerance, "refused where it starts to go deeper")
	}
	// Up and back down.
	_, err = c.CheckTrajectory(moveThrough(m, in, []float64{0.13, 0}, in))
	refused(t, err, robot.CodeSceneCollision, "link_pitch, table")
	_, err = c.CheckTrajectory(moveThrough(m, in, []float64{0.1195, 0}, in))
	refused(t, err, robot.CodeSceneCollision, "link_pitch, table")
	// To stay is no motion.
	_, err = c.CheckSegment(in, in)
	require.NoError(t, err)
	// Tipping the box lowers one of its edges by 0.9 mm before it rises; the spheres
	// alone, which reach 2 mm beyond the box, don't see that.
	tipped := []float64{0.119, 1.2}
	_, err = c.CheckSegment(in, tipped)
	refused(t, err, robot.CodeSceneCollision, "link_pitch, table")
	_, err = c.CheckTrajectory(moveThrough(m, in, []float64{0.13, 0}, []float64{0.13, 1.2}))
	require.NoError(t, err)
}

// TestCase19_AlongInsideIsNotOut: a box that slides through the table top, 1 mm
// below its surface, is refused at the end, with what it lacks.
func TestCase19_AlongInsideIsNotOut(t *testing.T) {
	b := kintest.NewBuilder("bridge", "base")
	l := b.Joint("x", robot.Prismatic, 0, robot.IdentityPose(), mgl64.Vec3{1, 0, 0}, -1, 1)
	l = b.Joint("z", robot.Prismatic, l, robot.IdentityPose(), mgl64.Vec3{0, 0, 1}, -1, 1)
	b.Body(l, kintest.At(0, 0, 0.05, 0, 0, 0), box(0.1, 0.1, 0.1))
	m := b.Model(l)
	c := newChecker(t, m, table())
	for _, z := range []float64{-0.001, -0.0003} {
		in := []float64{0, z}
		for _, end := range [][]float64{{0.2, z}, {-0.001, z}, {0.2, z + 1e-4}} {
			for _, path := range []robot.Trajectory{moveThrough(m, in, end), moveThrough(m, in, []float64{0.1, z}, end)} {
				_, err := c.CheckTrajectory(path)
				e := refused(t, err, robot.CodeSceneCollision, "link_z, table")
				require.InDelta(t, z+ContactTolerance, e.Limit.Value, 1e-6)
				require.InDelta(t, end[1], e.Value.Value, 1e-6)
			}
			_, err := c.CheckSegment(in, end)
			refused(t, err, robot.CodeSceneCollision, "link_z, table")
		}
		for _, end := range [][]float64{{0.2, z + 3e-4}, {1e-4, z}, {0.2, 0.1}} {
			_, err := c.CheckSegment(in, end)
			require.NoError(t, err, "%v", end)
		}
	}
	for _, z := range []float64{0, 0.001} { // nearer than the margin, but not inside
		_, err := c.CheckSegment([]float64{0, z}, []float64{0.2, z})
		require.NoError(t, err)
	}
}

// TestCase19_AnotherLinkMayNotUseTheContact: the gripper swings out of the table;
// the forearm may not come down into it meanwhile, or after.
func TestCase19_AnotherLinkMayNotUseTheContact(t *testing.T) {
	m := crane(robot.Geometry{Kind: robot.Capsule, Radius: 0.01, Length: 0.1}, -0.06)
	c := newChecker(t, m, table())
	in, out := []float64{0.119, 0}, []float64{0.119, 1.5}
	_, err := c.CheckSegment(in, out)
	require.NoError(t, err, "a rounded end rises at once")
	_, err = c.CheckSegment(out, []float64{0.04, 1.5})
	require.NoError(t, err)
	_, err = c.CheckTrajectory(moveThrough(m, in, out, []float64{0.04, 1.5}))
	require.NoError(t, err)
	got, err := c.CheckTrajectory(moveThrough(m, in, out, []float64{0.015, 1.5}))
	e := refused(t, err, robot.CodeSceneCollision, "link_z, table")
	require.InDelta(t, DefaultSceneMargin, e.Limit.Value, 1e-12, "the full margin, as always")
	require.Equal(t, "link_z", got.A)
}

// TestCase19_TheMarginCounts: nearer than the margin is in contact as well, until
// the pair is free; from then on it is a pair like the others.
func TestCase19_TheMarginCounts(t *testing.T) {
	m := crane(box(0.03, 0.03, 0.12), -0.06)
	c := newChecker(t, m, table())
	near := []float64{0.1205, 0}
	_, err := c.CheckSegment(near, []float64{0.1201, 0})
	refused(t, err, robot.CodeSceneCollision, "link_pitch, table")
	_, err = c.CheckTrajectory(moveThrough(m, near, []float64{0.15, 0}, []float64{0.1215, 0}))
	e := refused(t, err, robot.CodeSceneCollision, "link_pitch, table")
	require.InDelta(t, DefaultSceneMargin, e.Limit.Value, 1e-12)
	// Exactly measured, a pair whose spheres are nearer than the margin may be free.
	free := []float64{0.1225, 0}
	_, err = c.Check(free)
	require.Error(t, err)
	_, err = c.CheckTrajectory(moveThrough(m, free, []float64{0.1221, 0}, []float64{0.2, 0}))
	require.NoError(t, err)
	_, err = c.CheckTrajectory(moveThrough(m, free, []float64{0.121, 0}))
	refused(t, err, robot.CodeSceneCollision, "link_pitch, table")
}

// TestCase19_ALinkInContactWithALinkByNoise: two jaws that a sensor says overlap
// by 0.3 mm may open and may not close, and nothing else gets leave to touch.
func TestCase19_ALinkInContactWithALinkByNoise(t *testing.T) {
	b := kintest.NewBuilder("vice", "base")
	b.Body(0, robot.IdentityPose(), box(0.1, 0.1, 0.1))
	post := b.Joint("post", robot.Fixed, 0, robot.IdentityPose(), mgl64.Vec3{}, 0, 0)
	arm := b.Joint("swing", robot.Continuous, post, kintest.At(0, 0, 0.3, 0, 0, 0), mgl64.Vec3{0, 0, 1}, 0, 0)
	slide := b.Joint("x", robot.Prismatic, arm, kintest.At(0, 0, -0.3, 0, 0, 0), mgl64.Vec3{1, 0, 0}, 0, 1)
	b.Body(slide, robot.IdentityPose(), box(0.1, 0.05, 0.05))
	third := b.Joint("y", robot.Prismatic, arm, kintest.At(0, 0, -0.3, 0, 0, 0), mgl64.Vec3{0, 1, 0}, 0, 1)
	b.Body(third, robot.IdentityPose(), box(0.05, 0.1, 0.05))
	m := b.Model(slide)
	c := newChecker(t, m, nil)
	in := []float64{0, 0.0997, 0.3}
	_, err := c.Check(in)
	refused(t, err, robot.CodeSelfCollision, "base, link_x")
	_, err = c.CheckSegment(in, []float64{0, 0.2, 0.3})
	require.NoError(t, err)
	_, err = c.CheckSegment(in, []float64{0, 0.09, 0.3})
	refused(t, err, robot.CodeSelfCollision, "base, link_x")
	// Turning the jaw against the flat side brings its edge deeper in.
	_, err = c.CheckSegment(in, []float64{0.3, 0.0997, 0.3})
	refused(t, err, robot.CodeSelfCollision, "base, link_x")
	_, err = c.CheckSegment(in, []float64{0, 0.2, 0.09})
	refused(t, err, robot.CodeSelfCollision, "base, link_y")
}

// TestCase19_AZoneMayOnlyBeLeft by a robot that noise puts into it.
func TestCase19_AZoneMayOnlyBeLeft(t *testing.T) {
	m := crane(box(0.03, 0.03, 0.12), -0.06)
	s := &robot.Scene{Zones: []robot.Zone{{Name: "people", Pose: kintest.At(0, 0, -0.05, 0, 0, 0), Geometry: box(2, 2, 0.1)}}}
	c := newChecker(t, m, s)
	in := []float64{0.119, 0}
	_, err := c.CheckSegment(in, []float64{0.3, 0})
	require.NoError(t, err)
	_, err = c.CheckSegment(in, []float64{0.118, 0})
	refused(t, err, robot.CodeZoneNotGranted, "link_pitch, people")
}

// TestCase19_WhatIsCarriedMayBeLifted off what it stands on, not pressed into it
// and not tipped over its edge.
func TestCase19_WhatIsCarriedMayBeLifted(t *testing.T) {
	m := crane(box(0.03, 0.03, 0.12), -0.06)
	s := table()
	s.Bodies = append(s.Bodies, robot.Body{Name: "cup", Pose: kintest.At(0.32, 0, 0.05, 0, 0, 0), Geometry: robot.Geometry{Kind: robot.Cylinder, Radius: 0.03, Length: 0.1}, Movable: true})
	c := carrying(t, newChecker(t, m, s), &Attached{Body: "cup", Link: m.Tip, Pose: kintest.At(0, 0, -0.15, 0, 0, 0)})
	stands := []float64{0.1996, 0} // 0.4 mm in
	_, err := c.CheckSegment(stands, []float64{0.4, 0})
	require.NoError(t, err)
	_, err = c.CheckSegment(stands, []float64{0.19, 0})
	refused(t, err, robot.CodeSceneCollision, "cup, table")
	_, err = c.CheckSegment(stands, []float64{0.1996, 0.3})
	refused(t, err, robot.CodeSceneCollision, "cup, table")
}

// TestStartDeeperThanNoise: nothing is allowed, and the refusal says how deep the
// start is and how deep it may be.
func TestStartDeeperThanNoise(t *testing.T) {
	c := newChecker(t, crane(box(0.03, 0.03, 0.12), -0.06), table())
	limit := DefaultSceneMargin - DefaultStartContact
	_, err := c.CheckSegment([]float64{0.12 + limit + 1e-4, 0}, []float64{0.3, 0})
	require.NoError(t, err)
	_, err = c.CheckSegment([]float64{0.12 + limit - 1e-4, 0}, []float64{0.3, 0})
	e := refused(t, err, robot.CodeSceneCollision, "link_pitch, table")
	require.InDelta(t, limit-1e-4, e.Value.Value, 1e-6)
	require.InDelta(t, limit, e.Limit.Value, 1e-12)
	require.Contains(t, e.Text, "18.1 mm inside table at the start")
}

// TestAContactDoesNotSlideThroughAThinPlate: the finger is 1 mm into a plate of
// 1 mm. Its deepest point gets no deeper on its way through; the way out does.
func TestAContactDoesNotSlideThroughAThinPlate(t *testing.T) {
	m := crane(box(0.01, 0.01, 0.12), -0.06)
	s := &robot.Scene{Bodies: []robot.Body{{Name: "plate", Pose: kintest.At(0.32, 0, -0.0005, 0, 0, 0), Geometry: box(0.3, 0.3, 0.001)}}}
	c := newChecker(t, m, s)
	for _, start := range []float64{0.1195, 0.119, 0.1175} {
		_, err := c.CheckSegment([]float64{start, 0}, []float64{start - 0.05, 0})
		refused(t, err, robot.CodeSceneCollision, "link_pitch, plate")
		_, err = c.CheckSegment([]float64{start, 0}, []float64{start + 0.05, 0})
		require.NoError(t, err)
	}
}

// TestAMeshInContactIsHeldToItsSpheres.
func TestAMeshInContactIsHeldToItsSpheres(t *testing.T) {
	m := crane(robot.Geometry{Kind: robot.MeshGeometry, Mesh: boxMesh(mgl64.Vec3{0.03, 0.03, 0.12}, false)}, -0.06)
	c := newChecker(t, m, table())
	var in []float64
	for z := 0.13; ; z -= 2e-4 { // down to a little inside by its spheres
		in = []float64{z, 0}
		if got, _ := c.Check(in); got.Distance < -0.001 {
			break
		}
	}
	_, err := c.CheckSegment(in, []float64{0.4, 0})
	require.NoError(t, err)
	_, err = c.CheckSegment(in, []float64{in[0] - 2*ContactTolerance, 0})
	refused(t, err, robot.CodeSceneCollision, "link_pitch, table")
}

// TestNoStartInContact: switched off, every start below the margin is refused.
func TestNoStartInContact(t *testing.T) {
	m := crane(box(0.03, 0.03, 0.12), -0.06)
	tree, err := kinematics.New(m.Description)
	require.NoError(t, err)
	o := DefaultOptions()
	o.StartContact = 0
	c, err := New(m, table(), tree, o)
	require.NoError(t, err)
	for _, z := range []float64{0.119, 0.1215} {
		_, err = c.CheckSegment([]float64{z, 0}, []float64{0.3, 0})
		refused(t, err, robot.CodeSceneCollision, "link_pitch, table")
	}
	_, err = c.CheckSegment([]float64{0.12 + math.Nextafter(0.0021, 1), 0}, []float64{0.3, 0})
	require.NoError(t, err)
}
