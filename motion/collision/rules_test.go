package collision

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/robot"
)

func box(x, y, z float64) robot.Geometry {
	return robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{x, y, z}}
}

// slider is a box of 10 cm on a vertical prismatic joint above a base; q is the
// height of its lower face.
func slider() *robot.Model {
	b := kintest.NewBuilder("slider", "base")
	b.Body(0, kintest.At(0, 0, -0.5, 0, 0, 0), box(0.2, 0.2, 0.2))
	l := b.Joint("z", robot.Prismatic, 0, kintest.At(0, 0, 0.05, 0, 0, 0), mgl64.Vec3{0, 0, 1}, -1, 1)
	b.Body(l, robot.IdentityPose(), box(0.1, 0.1, 0.1))
	m := b.Model(l)
	m.Gripper = &robot.Gripper{Joint: 0, Links: []int{l}}
	return m
}

func table() *robot.Scene {
	return &robot.Scene{Bodies: []robot.Body{{Name: "table", Pose: kintest.At(0, 0, -0.05, 0, 0, 0), Geometry: box(2, 2, 0.1)}}}
}

// TestStartInContactMayOnlyOpen: 1 mm inside the table, up is allowed, down and
// up-then-down aren't.
func TestStartInContactMayOnlyOpen(t *testing.T) {
	m := slider()
	c := newChecker(t, m, table())
	in := []float64{-0.001}
	_, err := c.Check(in)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision))
	for _, up := range []float64{-0.0005, 0.001, 0.1} {
		_, err = c.CheckSegment(in, []float64{up})
		require.NoError(t, err, "to %g", up)
	}
	for _, down := range []float64{-0.002, -0.01} {
		_, err = c.CheckSegment(in, []float64{down})
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision), "to %g", down)
	}
	// Up by 25 mm and back down.
	tr := robot.Trajectory{Joints: m.JointNames(), Segments: []robot.Segment{
		{Duration: 1, Q: in, V: []float64{0.1}, A: []float64{-0.2}, J: []float64{0}},
	}}
	_, err = c.CheckTrajectory(tr)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision))
	// Near the table, where the tolerance of a start would still have room: the
	// gap may not shrink, nor shrink again after it has grown.
	near := []float64{0.0015}
	_, err = c.Check(near)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision))
	_, err = c.CheckSegment(near, []float64{0.0008})
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision))
	tr.Segments[0] = robot.Segment{Duration: 1, Q: near, V: []float64{0.004}, A: []float64{-0.008}, J: []float64{0}}
	_, err = c.CheckTrajectory(tr) // up by 1 mm and back
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision))
	_, err = c.CheckSegment(near, []float64{0.05})
	require.NoError(t, err)
	// Deeper than noise: nothing is allowed.
	_, err = c.CheckSegment([]float64{-0.02}, []float64{0.1})
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision))
	// Switched off: no start in contact at all.
	o := DefaultOptions()
	o.StartContact = 0
	tree, err := kinematics.New(m.Description)
	require.NoError(t, err)
	strict, err := New(m, table(), tree, o)
	require.NoError(t, err)
	_, err = strict.CheckSegment(in, []float64{0.1})
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision))
}

// TestNothingIsSkippedWhereTheBoundIsTight: a bead of 1 mm slides through a foil
// of 0.1 mm. A slider's speed bound is exact, so any step that is longer than
// the distance allows would jump over both.
func TestNothingIsSkippedWhereTheBoundIsTight(t *testing.T) {
	b := kintest.NewBuilder("bead", "base")
	l := b.Joint("z", robot.Prismatic, 0, robot.IdentityPose(), mgl64.Vec3{0, 0, 1}, -1, 1)
	b.Body(l, robot.IdentityPose(), robot.Geometry{Kind: robot.Sphere, Radius: 0.0005})
	m := b.Model(l)
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.Float64Range(-0.8, 0.8).Draw(t, "at")
		c := newChecker(t, m, &robot.Scene{Bodies: []robot.Body{{Name: "foil", Pose: kintest.At(0, 0, at, 0, 0, 0), Geometry: box(0.1, 0.1, 0.0001)}}})
		got, err := c.CheckSegment([]float64{-1}, []float64{1})
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision))
		// Found where the margin is first broken, within the resolution.
		gap := at - (2*got.At - 1) - 0.0005 - 0.00005
		require.LessOrEqual(t, gap, DefaultSceneMargin)
		require.GreaterOrEqual(t, gap, DefaultSceneMargin-DefaultResolution-1e-9)
	})
}

func TestErrorNamesBodiesValueAndLimit(t *testing.T) {
	c := newChecker(t, slider(), table())
	got, err := c.Check([]float64{-0.03})
	var e *robot.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "link_z, table", e.Where)
	require.Equal(t, "clearance", e.Value.Name)
	require.InDelta(t, -0.03, e.Value.Value, overshootOf(DefaultOvershoot, 0.1*math.Sqrt(3)))
	require.InDelta(t, DefaultSceneMargin, e.Limit.Value, 1e-12)
	require.Equal(t, robot.Clearance{Distance: e.Value.Value, A: "link_z", B: "table"}, *got)
}

// TestBaseMayStandOnTheScene: the base's body is inside the table; no motion
// changes that, so it isn't a collision.
func TestBaseMayStandOnTheScene(t *testing.T) {
	s := table()
	s.Bodies[0].Pose.P[2] = -0.45
	c := newChecker(t, slider(), s)
	got, err := c.Check([]float64{0.3})
	require.NoError(t, err)
	require.Equal(t, "link_z", got.A)
}

func TestNothingThatCouldTouch(t *testing.T) {
	c := newChecker(t, kintest.Arm7(), nil)
	got, err := c.Check(make([]float64, 7))
	require.NoError(t, err)
	require.Nil(t, got)
}

func TestZonesAndExceptions(t *testing.T) {
	m := slider()
	s := table()
	s.Zones = []robot.Zone{{Name: "people", Pose: kintest.At(0, 0, 0.6, 0, 0, 0), Geometry: box(0.3, 0.3, 0.2)}}
	c := newChecker(t, m, s)
	from, to := []float64{0.1}, []float64{0.6}
	_, err := c.CheckSegment(from, to)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeZoneNotGranted))
	require.Contains(t, err.Error(), "people")
	granted, err := c.With(Exceptions{Zones: []string{"people"}})
	require.NoError(t, err)
	_, err = granted.CheckSegment(from, to)
	require.NoError(t, err)
	_, err = granted.CheckSegment(from, []float64{-0.01})
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision), "the grant opens nothing else")
	_, err = c.CheckSegment(from, to)
	require.Error(t, err, "c itself hasn't changed")

	touching, err := c.With(Exceptions{Touch: []string{"table"}})
	require.NoError(t, err)
	_, err = touching.CheckSegment(from, []float64{-0.01})
	require.NoError(t, err)
	for _, e := range []Exceptions{{Zones: []string{"table"}}, {Touch: []string{"people"}}, {Touch: []string{"nothing"}}} {
		_, err = c.With(e)
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	}
}

// TestTouchIsForTheGripperOnly: links that aren't the gripper's may not touch.
func TestTouchIsForTheGripperOnly(t *testing.T) {
	m := slider()
	m.Gripper.Links = nil
	c, err := newChecker(t, m, table()).With(Exceptions{Touch: []string{"table"}})
	require.NoError(t, err)
	_, err = c.Check([]float64{-0.03})
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision))
}

func TestSelfCollisionOfAFoldedArm(t *testing.T) {
	m := kintest.Arm5()
	c := newChecker(t, m, nil)
	_, err := c.Check(m.Home)
	require.NoError(t, err)
	got, err := c.Check([]float64{0, 0, 1.69, 1.66, 0, 0})
	if err == nil {
		got, err = c.Check([]float64{0, -1.75, -1.69, -1.66, 0, 0})
	}
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSelfCollision))
	require.NotEqual(t, got.A, got.B)
}

// TestMeshBodies: a mesh on the robot and one in the scene are covered too.
func TestMeshBodies(t *testing.T) {
	mesh := robot.Geometry{Kind: robot.MeshGeometry, Mesh: boxMesh(mgl64.Vec3{0.1, 0.1, 0.1}, false)}
	m := slider()
	m.Links[1].Colliders[0].Geometry = mesh
	s := &robot.Scene{Bodies: []robot.Body{{Name: "block", Pose: kintest.At(0, 0, -0.05, 0, 0, 0), Geometry: mesh}}}
	c := newChecker(t, m, s)
	got, err := c.Check([]float64{0.05})
	require.NoError(t, err)
	require.LessOrEqual(t, got.Distance, 0.05)
	require.GreaterOrEqual(t, got.Distance, 0.05-4*meshFactor*DefaultOvershoot)
	_, err = c.CheckSegment([]float64{0.3}, []float64{-0.3})
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision))
	got, err = c.Check([]float64{-0.05})
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision), "one inside the other")
	require.Less(t, got.Distance, 0.0)
}

func TestNewRefuses(t *testing.T) {
	m := slider()
	tree, err := kinematics.New(m.Description)
	require.NoError(t, err)
	nan := math.NaN()
	body := func(g robot.Geometry, p robot.Pose) *robot.Scene {
		return &robot.Scene{Bodies: []robot.Body{{Name: "b", Pose: p, Geometry: g}}}
	}
	at := robot.IdentityPose()
	for name, s := range map[string]*robot.Scene{
		"negative":  body(box(-1, 1, 1), at),
		"nan":       body(robot.Geometry{Kind: robot.Sphere, Radius: nan}, at),
		"inf":       body(robot.Geometry{Kind: robot.Cylinder, Radius: 1, Length: math.Inf(1)}, at),
		"zero":      body(robot.Geometry{Kind: robot.Capsule, Radius: 1}, at),
		"pose":      body(box(1, 1, 1), robot.Pose{P: mgl64.Vec3{nan, 0, 0}, Q: mgl64.QuatIdent()}),
		"rotation":  body(box(1, 1, 1), robot.Pose{}),
		"no mesh":   body(robot.Geometry{Kind: robot.MeshGeometry}, at),
		"no vertex": body(robot.Geometry{Kind: robot.MeshGeometry, Mesh: &robot.Mesh{Triangles: [][3]int32{{0, 1, 2}}}}, at),
		"two names": {Bodies: []robot.Body{{Name: "b", Pose: at, Geometry: box(1, 1, 1)}}, Zones: []robot.Zone{{Name: "b", Pose: at, Geometry: box(1, 1, 1)}}},
		"no name":   {Bodies: []robot.Body{{Pose: at, Geometry: box(1, 1, 1)}}},
	} {
		_, err := New(m, s, tree, DefaultOptions())
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), name)
	}
	_, err = New(m, body(robot.Geometry{}, at), tree, DefaultOptions())
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeNotSupported))
	for _, spoil := range []func(*Options){
		func(o *Options) { *o = Options{} },
		func(o *Options) { o.Overshoot = nan },
		func(o *Options) { o.Overshoot = 0 },
		func(o *Options) { o.Resolution = 0 },
		func(o *Options) { o.SelfMargin = o.Resolution / 2 },
		func(o *Options) { o.SceneMargin = -1 },
		func(o *Options) { o.StartContact = math.Inf(1) },
	} {
		o := DefaultOptions()
		spoil(&o)
		_, err = New(m, nil, tree, o)
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	}
}

func TestInputIsRefused(t *testing.T) {
	c := newChecker(t, slider(), table())
	seg := func(f func(s *robot.Segment)) robot.Trajectory {
		s := robot.Segment{Duration: 1, Q: []float64{0.1}, V: []float64{0}, A: []float64{0}, J: []float64{0}}
		f(&s)
		return robot.Trajectory{Joints: []string{"z"}, Segments: []robot.Segment{s}}
	}
	ok := seg(func(*robot.Segment) {})
	_, err := c.CheckTrajectory(ok)
	require.NoError(t, err)
	jump := ok
	jump.Segments = append(jump.Segments[:1:1], ok.Segments[0])
	jump.Segments[1].Q = []float64{0.2}
	for name, tr := range map[string]robot.Trajectory{
		"nan":         seg(func(s *robot.Segment) { s.J = []float64{math.NaN()} }),
		"short":       seg(func(s *robot.Segment) { s.V = nil }),
		"no time":     seg(func(s *robot.Segment) { s.Duration = 0 }),
		"nan time":    seg(func(s *robot.Segment) { s.Duration = math.NaN() }),
		"other joint": {Joints: []string{"x"}, Segments: ok.Segments},
		"no joint":    {Segments: ok.Segments},
		"empty":       {Joints: []string{"z"}},
		"jump":        jump,
	} {
		_, err := c.CheckTrajectory(tr)
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), name)
	}
	for _, q := range [][]float64{nil, {1, 2}, {math.NaN()}, {math.Inf(-1)}} {
		_, err := c.Check(q)
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
		_, err = c.CheckSegment([]float64{0.1}, q)
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
		_, err = c.CheckSegment(q, []float64{0.1})
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	}
}

// TestEndlessPathIsAnswered: a path too long to be checked is refused, not walked.
func TestEndlessPathIsAnswered(t *testing.T) {
	c := newChecker(t, kintest.Arm5(), &robot.Scene{Bodies: []robot.Body{{Name: "lamp", Pose: kintest.At(0, 0, 0.6, 0, 0, 0), Geometry: box(0.1, 0.1, 0.1)}}})
	_, err := c.CheckSegment(make([]float64, 6), []float64{1e9, 0, 0, 0, 0, 0})
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	require.Contains(t, err.Error(), "too long")
}

// TestRateBoundsEveryPoint: on random trees with mimics and prismatic joints, no
// point of any link moves faster relative to the root than the bound says.
func TestRateBoundsEveryPoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := kintest.Tree(t, 8)
		for i := range m.Links {
			m.Links[i].Colliders = []robot.Collider{{Name: "b", Origin: kintest.At(0.1, 0, 0, 0, 0, 0), Geometry: box(0.1, 0.1, 0.1)}}
		}
		s := &robot.Scene{Bodies: []robot.Body{{Name: "far", Pose: kintest.At(50, 0, 0, 0, 0, 0), Geometry: box(1, 1, 1)}}}
		c := newChecker(t, m, s)
		from, to := kintest.Q(t, m), kintest.Q(t, m)
		d := c.take("")
		for i := range d.speed {
			d.speed[i] = math.Abs(to[i] - from[i])
			d.extent[i] = math.Abs(from[i]) + d.speed[i]
		}
		c.levers(d)
		tree, err := kinematics.New(m.Description)
		require.NoError(t, err)
		a, b := tree.NewData(), tree.NewData()
		x := rapid.Float64Range(0, 0.99).Draw(t, "at")
		const h = 1e-3
		q1, q2 := make([]float64, len(from)), make([]float64, len(from))
		for i := range q1 {
			q1[i] = from[i] + x*(to[i]-from[i])
			q2[i] = from[i] + (x+h)*(to[i]-from[i])
		}
		tree.FK(a, q1)
		tree.FK(b, q2)
		for i := range c.pairs {
			p := &c.pairs[i]
			bound := dotn(d.lever[i*len(from):(i+1)*len(from)], d.speed)
			for _, local := range [][3]float64{{0.15, 0, 0}, {0.05, 0, 0}, {0.1, 0.05, 0}, {0.1, 0, -0.05}} {
				var moved float64
				if p.other < 0 {
					moved = dist(apply(&a.Frames[p.body], local), apply(&b.Frames[p.body], local))
				} else { // the change of distance of two points of the pair
					moved = math.Abs(dist(apply(&a.Frames[p.body], local), apply(&a.Frames[p.other], local)) -
						dist(apply(&b.Frames[p.body], local), apply(&b.Frames[p.other], local)))
				}
				require.LessOrEqual(t, moved, h*bound*(1+1e-9)+1e-12, "%s %s", p.a, p.b)
			}
		}
	})
}
