package collision

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/robot"
)

// rodScene is a table, a shelf, a zone and a movable rod of 20 cm that stands in
// the arm's way.
func rodScene() *robot.Scene {
	return &robot.Scene{
		Bodies: []robot.Body{
			{Name: "table", Pose: kintest.At(0, 0, -0.05, 0, 0, 0), Geometry: box(2, 2, 0.1)},
			{Name: "shelf", Pose: kintest.At(0, 0, 1.2, 0, 0, 0), Geometry: box(0.4, 0.4, 0.02)},
			{Name: "rod", Pose: kintest.At(0, 0, 0.2, 0, 0, 0), Geometry: box(0.04, 0.04, 0.2), Movable: true},
		},
		Zones: []robot.Zone{{Name: "people", Pose: kintest.At(0, 0, 0.9, 0, 0, 0), Geometry: box(0.3, 0.3, 0.1)}},
	}
}

// below holds the rod under slider's box: from 50 to 250 mm below its centre.
func below() *Attached {
	return &Attached{Body: "rod", Link: 1, Pose: kintest.At(0, 0, -0.15, 0, 0, 0)}
}

func carrying(t require.TestingT, c *Checker, a *Attached) *Checker {
	out, err := c.With(Exceptions{Attached: a})
	require.NoError(t, err)
	return out
}

// TestCarriedBodyIsCheckedWithTheRobot: in each of the three calls, and no longer
// where the scene says that it stands.
func TestCarriedBodyIsCheckedWithTheRobot(t *testing.T) {
	m := slider()
	plain := newChecker(t, m, rodScene())
	c := carrying(t, plain, below())
	ask := map[string]func(c *Checker, from, to float64) (*robot.Clearance, error){
		"check": func(c *Checker, _, to float64) (*robot.Clearance, error) { return c.Check([]float64{to}) },
		"segment": func(c *Checker, from, to float64) (*robot.Clearance, error) {
			return c.CheckSegment([]float64{from}, []float64{to})
		},
		"trajectory": func(c *Checker, from, to float64) (*robot.Clearance, error) {
			return c.CheckTrajectory(robot.Trajectory{Joints: m.JointNames(), Segments: []robot.Segment{
				{Duration: 1, Q: []float64{from}, V: []float64{to - from}, A: []float64{0}, J: []float64{0}},
			}})
		},
	}
	for name, f := range ask {
		_, err := f(plain, 0.5, 0.15)
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision), "%s: the rod stands there", name)
		_, err = f(c, 0.5, 0.22)
		require.NoError(t, err, "%s: it's carried, so it doesn't stand there", name)
		got, err := f(c, 0.5, 0.19)
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision), name)
		require.Equal(t, []string{"rod", "table"}, []string{got.A, got.B}, name)
		require.Contains(t, err.Error(), "rod, table", name)
		got, err = f(c, 0.5, 0.3)
		require.NoError(t, err)
		require.Equal(t, []string{"rod", "table"}, []string{got.A, got.B}, "%s: the smallest clearance is the rod's", name)
		require.InDelta(t, 0.1, got.Distance, 0.02, name)
	}
}

// TestCarriedBodyIsAsForbiddenInAZone as the robot is; a grant opens it for both.
func TestCarriedBodyIsAsForbiddenInAZone(t *testing.T) {
	up := &Attached{Body: "rod", Link: 1, Pose: kintest.At(0, 0, 0.15, 0, 0, 0)}
	c := carrying(t, newChecker(t, slider(), rodScene()), up)
	from, to := []float64{0.5}, []float64{0.62} // the rod's upper end at 0.92, the zone begins at 0.85
	got, err := c.CheckSegment(from, to)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeZoneNotGranted))
	require.Contains(t, err.Error(), "rod, people")
	require.Equal(t, []string{"rod", "people"}, []string{got.A, got.B})
	granted, err := c.With(Exceptions{Zones: []string{"people"}})
	require.NoError(t, err)
	_, err = granted.CheckSegment(from, to)
	require.NoError(t, err)
	both, err := newChecker(t, slider(), rodScene()).With(Exceptions{Zones: []string{"people"}, Attached: up})
	require.NoError(t, err)
	_, err = both.CheckSegment(from, to)
	require.NoError(t, err)
	got, err = granted.CheckSegment(from, []float64{0.9})
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision), "the grant opens nothing else")
	require.Equal(t, "shelf", got.B)
}

// TestCarriedBodyMayNotTouchTheRobot: a rod across the hand of a folding arm.
func TestCarriedBodyMayNotTouchTheRobot(t *testing.T) {
	m := kintest.Arm5()
	scene := &robot.Scene{Bodies: []robot.Body{
		{Name: "rod", Pose: kintest.At(5, 0, 0, 0, 0, 0), Geometry: robot.Geometry{Kind: robot.Capsule, Radius: 0.01, Length: 0.5}, Movable: true},
	}}
	plain := newChecker(t, m, scene)
	a := &Attached{Body: "rod", Link: m.Tip, Pose: kintest.At(0, 0, 0, 0, math.Pi/2, 0)}
	c := carrying(t, plain, a)
	_, err := c.Check(m.Home)
	require.NoError(t, err, "the hand's own links may touch it")
	folded := []float64{0, -0.6, 1.2, 1.6, 0, 0} // the rod's far end meets the upper arm
	_, err = plain.CheckSegment(m.Home, folded)
	require.NoError(t, err)
	got, err := c.CheckSegment(m.Home, folded)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision))
	require.Equal(t, "rod", got.A)
	require.GreaterOrEqual(t, m.LinkIndex(got.B), 0)
	a.Touch = []string{got.B}
	for range len(m.Links) { // each link that it meets may be named
		if got, err = carrying(t, plain, a).CheckSegment(m.Home, folded); err == nil {
			break
		}
		require.NotContains(t, a.Touch, got.B)
		a.Touch = append(a.Touch, got.B)
	}
	require.NoError(t, err)
}

// TestTouchIsForWhatIsCarriedToo: a body that may be touched may be touched by
// what the gripper holds, so that it can be put down.
func TestTouchIsForWhatIsCarriedToo(t *testing.T) {
	c, err := newChecker(t, slider(), rodScene()).With(Exceptions{Touch: []string{"table", "rod"}, Attached: below()})
	require.NoError(t, err)
	_, err = c.CheckSegment([]float64{0.5}, []float64{0.2})
	require.NoError(t, err)
	_, err = c.CheckSegment([]float64{0.5}, []float64{1.2})
	require.Error(t, err)
}

func TestAttachedRefuses(t *testing.T) {
	c := newChecker(t, slider(), rodScene())
	for name, spoil := range map[string]func(a *Attached){
		"no such body":  func(a *Attached) { a.Body = "cup" },
		"no name":       func(a *Attached) { a.Body = "" },
		"a zone":        func(a *Attached) { a.Body = "people" },
		"not movable":   func(a *Attached) { a.Body = "table" },
		"a link":        func(a *Attached) { a.Body = "link_z" },
		"negative link": func(a *Attached) { a.Link = -1 },
		"link too big":  func(a *Attached) { a.Link = 2 },
		"nan":           func(a *Attached) { a.Pose.P[1] = math.NaN() },
		"no rotation":   func(a *Attached) { a.Pose.Q = mgl64.Quat{} },
		"no touch link": func(a *Attached) { a.Touch = []string{"elbow"} },
	} {
		a := below()
		spoil(a)
		_, err := c.With(Exceptions{Attached: a})
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), name)
		require.ErrorContains(t, err, a.Body, name)
	}
	_, err := carrying(t, c, below()).With(Exceptions{Attached: below()})
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), "two at once")
	got, err := c.CheckSegment([]float64{0.6}, []float64{0.5})
	require.NoError(t, err, "c itself hasn't changed")
	require.NotEqual(t, "rod", got.A)
}

// TestCarriedByWhatStandsStill: on a link that no joint moves, the scene is no
// concern, the robot's moving links are.
func TestCarriedByWhatStandsStill(t *testing.T) {
	m := slider()
	m.Gripper = nil
	c := carrying(t, newChecker(t, m, rodScene()), &Attached{Body: "rod", Link: 0, Pose: kintest.At(0, 0, 0, 0, 0, 0)})
	_, err := c.Check([]float64{0.2})
	require.NoError(t, err, "the rod stands in the table")
	_, err = c.Check([]float64{0.1})
	require.ErrorContains(t, err, "rod, link_z")
}

// TestCarriedMesh: a mesh of the scene is carried like a primitive of its shape.
func TestCarriedMesh(t *testing.T) {
	s := rodScene()
	s.Bodies[2].Geometry = robot.Geometry{Kind: robot.MeshGeometry, Mesh: boxMesh(mgl64.Vec3{0.04, 0.04, 0.2}, false)}
	plain := newChecker(t, slider(), s)
	c := carrying(t, plain, below())
	_, err := c.CheckSegment([]float64{0.5}, []float64{0.22})
	require.NoError(t, err)
	_, err = c.CheckSegment([]float64{0.5}, []float64{0.2})
	require.ErrorContains(t, err, "rod, table")
	_, err = plain.Check([]float64{0.2})
	require.ErrorContains(t, err, "link_z, rod", "the scene's own cover hasn't moved")
}

// TestAcceptedSegmentsOfWhatIsCarriedAreFree: exact points of a random body in a
// random place of the hand keep the guaranteed distance from the scene and from
// the links that it may not touch.
func TestAcceptedSegmentsOfWhatIsCarriedAreFree(t *testing.T) {
	m := kintest.Arm5()
	rng := rand.New(rand.NewPCG(8, 9))
	accepted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		f := func(lo, hi float64) float64 { return rapid.Float64Range(lo, hi).Draw(t, "in hand") }
		cup := robot.Body{Name: "cup", Pose: kintest.At(9, 9, 9, 0, 0, 0), Geometry: drawPrimitive(t), Movable: true}
		s.Bodies = append(s.Bodies, cup)
		pose := kintest.At(f(-0.05, 0.05), f(-0.05, 0.05), f(0, 0.2), f(-3, 3), f(-1, 1), f(-3, 3))
		c := carrying(t, newChecker(t, m, s), &Attached{Body: "cup", Link: m.Tip, Pose: pose})
		from, to := kintest.Q(t, m), kintest.Q(t, m)
		for i := range to { // a shorter way, so that some are free
			to[i] = from[i] + (to[i]-from[i])/4
		}
		got, err := c.CheckSegment(from, to)
		if err != nil || got.Distance < DefaultSceneMargin {
			refused++
			return
		}
		accepted++
		tr := newTruth(t, m, rng, 1)
		for i := range tr.points {
			tr.points[i] = nil
		}
		body := newExact(pose, cup.Geometry)
		for range 40 {
			tr.points[m.Tip] = append(tr.points[m.Tip], apply(&body.pose, inside(rng, &cup.Geometry)))
		}
		for _, l := range m.Gripper.Links {
			tr.bodies[l] = nil
		}
		q := make([]float64, len(from))
		for k := range 41 {
			for i := range q {
				q[i] = from[i] + float64(k)/40*(to[i]-from[i])
			}
			scene, self := tr.at(q, s)
			require.GreaterOrEqual(t, scene, DefaultSceneMargin-DefaultResolution)
			require.GreaterOrEqual(t, self, DefaultSceneMargin-DefaultResolution)
		}
	})
	require.Greater(t, accepted, 0, "the test must see accepted segments")
	require.Greater(t, refused, 0, "and refused ones")
}

// TestCarriedBodyTurnsFarOut: how far what is carried reaches counts for how fast it
// moves, so that a foil in its way isn't jumped over.
func TestCarriedBodyTurnsFarOut(t *testing.T) {
	b := kintest.NewBuilder("pole", "base")
	l := b.Joint("turn", robot.Continuous, 0, robot.IdentityPose(), mgl64.Vec3{0, 0, 1}, 0, 0)
	m := b.Model(l)
	s := &robot.Scene{Bodies: []robot.Body{
		body("foil", 0.5, 0, 0, box(0.1, 1e-4, 0.1)),
		{Name: "bead", Pose: kintest.At(9, 9, 9, 0, 0, 0), Geometry: robot.Geometry{Kind: robot.Sphere, Radius: 1e-3}, Movable: true},
	}}
	c := carrying(t, newChecker(t, m, s), &Attached{Body: "bead", Link: l, Pose: kintest.At(0.5, 0, 0, 0, 0, 0)})
	for _, q := range []float64{-1.5, 1.2} {
		_, err := c.Check([]float64{q})
		require.NoError(t, err)
	}
	_, err := c.CheckSegment([]float64{-1.5}, []float64{1.2})
	require.ErrorContains(t, err, "bead, foil")
}
