package collision

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/robot"
)

var _ Kinematics = (*kinematics.Tree)(nil)

func newChecker(t require.TestingT, m *robot.Model, s *robot.Scene) *Checker {
	tree, err := kinematics.New(m.Description)
	require.NoError(t, err)
	c, err := New(m, s, tree, DefaultOptions())
	require.NoError(t, err)
	return c
}

// truth measures the exact distance of sampled body points to the scene and to
// other links' exact bodies, with none of the checker's spheres or bounds.
type truth struct {
	m      *robot.Model
	tree   *kinematics.Tree
	d      *kinematics.Data
	points [][][3]float64 // by link, in the link's frame
	bodies [][]exact      // by link
}

// exact is a body and its pose, in the frame that it is fixed to.
type exact struct {
	pose  transform
	solid solid
}

func newExact(pose robot.Pose, g robot.Geometry) exact {
	f, _ := fromPose(pose)
	return exact{f, newSolid(g)}
}

func (e *exact) distance(p [3]float64) float64 { return e.solid.distance(back(&e.pose, p)) }

// back maps p by the inverse of t.
func back(t *transform, p [3]float64) [3]float64 {
	x, y, z := p[0]-t[9], p[1]-t[10], p[2]-t[11]
	return [3]float64{t[0]*x + t[3]*y + t[6]*z, t[1]*x + t[4]*y + t[7]*z, t[2]*x + t[5]*y + t[8]*z}
}

func newTruth(t require.TestingT, m *robot.Model, rng *rand.Rand, n int) *truth {
	tree, err := kinematics.New(m.Description)
	require.NoError(t, err)
	tr := &truth{m: m, tree: tree, d: tree.NewData(), points: make([][][3]float64, len(m.Links)), bodies: make([][]exact, len(m.Links))}
	for i, l := range m.Links {
		for _, c := range l.Colliders {
			e := newExact(c.Origin, c.Geometry)
			tr.bodies[i] = append(tr.bodies[i], e)
			for range n {
				tr.points[i] = append(tr.points[i], apply(&e.pose, inside(rng, &c.Geometry)))
			}
		}
	}
	return tr
}

// at returns the smallest distance to the scene's bodies and between links.
func (tr *truth) at(q []float64, s *robot.Scene) (scene, self float64) {
	tr.tree.FK(tr.d, q)
	scene, self = math.Inf(1), math.Inf(1)
	obstacles := make([]exact, len(s.Bodies))
	for k := range s.Bodies {
		obstacles[k] = newExact(s.Bodies[k].Pose, s.Bodies[k].Geometry)
	}
	for i, pts := range tr.points {
		for _, p := range pts {
			world := apply(&tr.d.Frames[i], p)
			if i != tr.m.Root {
				for k := range obstacles {
					scene = min(scene, obstacles[k].distance(world))
				}
			}
			for j := range tr.bodies {
				if j == i || len(tr.bodies[j]) == 0 || tr.m.IsAllowed(i, j) {
					continue
				}
				local := back(&tr.d.Frames[j], world)
				for k := range tr.bodies[j] {
					self = min(self, tr.bodies[j][k].distance(local))
				}
			}
		}
	}
	return scene, self
}

func drawScene(t *rapid.T) *robot.Scene {
	s := &robot.Scene{}
	for i := range rapid.IntRange(1, 3).Draw(t, "bodies") {
		f := func(lo, hi float64) float64 { return rapid.Float64Range(lo, hi).Draw(t, "at") }
		g := drawPrimitive(t)
		if rapid.Bool().Draw(t, "thin") {
			g = robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{0.001, 0.2, 0.2}}
		}
		s.Bodies = append(s.Bodies, robot.Body{
			Name: string(rune('a' + i)), Geometry: g,
			Pose: kintest.At(f(0.1, 0.45), f(-0.3, 0.3), f(0, 0.4), f(-3, 3), f(-1, 1), f(-3, 3)),
		})
	}
	return s
}

// TestAcceptedSegmentsAreFree: on every accepted segment, a dense sampling of
// exact body points keeps the guaranteed distance everywhere.
func TestAcceptedSegmentsAreFree(t *testing.T) {
	m := kintest.Arm5()
	tr := newTruth(t, m, rand.New(rand.NewPCG(3, 4)), 20)
	accepted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		c := newChecker(t, m, s)
		from, to := kintest.Q(t, m), kintest.Q(t, m)
		got, err := c.CheckSegment(from, to)
		if err != nil {
			refused++
			require.NotNil(t, got)
			return
		}
		accepted++
		opts := DefaultOptions()
		q := make([]float64, len(from))
		const n = 50
		for k := range n + 1 {
			for i := range q {
				q[i] = from[i] + float64(k)/n*(to[i]-from[i])
			}
			scene, self := tr.at(q, s)
			if k > 0 { // the start may be nearer by StartContact
				require.GreaterOrEqual(t, scene, opts.SceneMargin-opts.StartContact-2*opts.Resolution)
				require.GreaterOrEqual(t, self, opts.SelfMargin-opts.StartContact-2*opts.Resolution)
			}
			if got.Distance >= opts.SceneMargin { // no contact at the start: the full guarantee
				require.GreaterOrEqual(t, scene, opts.SceneMargin-opts.Resolution)
				require.GreaterOrEqual(t, self, 0.0)
			}
		}
	})
	require.Greater(t, accepted, 2, "the test must see accepted segments")
	require.Greater(t, refused, 2, "and refused ones")
}

// TestCheckIsTheExactDistanceLessTheOvershoot bounds how far a distance can be
// below the true one, so that honest poses pass.
func TestCheckIsTheExactDistanceLessTheOvershoot(t *testing.T) {
	b := kintest.NewBuilder("box", "base")
	l := b.Joint("x", robot.Prismatic, 0, robot.IdentityPose(), mgl64.Vec3{1, 0, 0}, -1, 1)
	b.Body(l, robot.IdentityPose(), robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{0.06, 0.04, 0.1}})
	c := newChecker(t, b.Model(l), &robot.Scene{Bodies: []robot.Body{{
		Name: "wall", Pose: kintest.At(0.5, 0, 0, 0, 0, 0), Geometry: robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{0.1, 1, 1}},
	}}})
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-1, 0.41).Draw(t, "x")
		got, err := c.Check([]float64{x})
		exact := 0.45 - 0.03 - x
		require.LessOrEqual(t, got.Distance, exact+1e-12)
		near := exact - DefaultOvershoot
		require.GreaterOrEqual(t, got.Distance, min(near, near*goodEnough)-1e-12)
		if exact*goodEnough >= DefaultSceneMargin+DefaultOvershoot {
			require.NoError(t, err)
		}
		if exact < DefaultSceneMargin {
			require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision))
		}
	})
}

// TestThinPlateIsNotSkipped: a plate of 0.2 mm in the way of a fast long motion
// is found although both ends are far from it.
func TestThinPlateIsNotSkipped(t *testing.T) {
	m := kintest.Arm5()
	plate := robot.Body{Name: "plate", Pose: kintest.At(0.3, 0, 0.1, 0, 0, 0),
		Geometry: robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{0.3, 0.0002, 0.3}}}
	c := newChecker(t, m, &robot.Scene{Bodies: []robot.Body{plate}})
	from, to := []float64{-1.5, 1.2, 0.3, 0, 0, 0}, []float64{1.5, 1.2, 0.3, 0, 0, 0}
	for _, q := range [][]float64{from, to} {
		_, err := c.Check(q)
		require.NoError(t, err)
	}
	got, err := c.CheckSegment(from, to)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision))
	require.Equal(t, "plate", got.B)
	require.Contains(t, err.Error(), "plate")
	require.Contains(t, err.Error(), got.A)
	require.Contains(t, err.Error(), "of the way")
	require.Greater(t, got.At, 0.0)
	require.Less(t, got.At, 0.5)

	// The same as a trajectory, with the time of the contact in it.
	tr := robot.Trajectory{Joints: m.JointNames(), Segments: []robot.Segment{{
		Duration: 2, Q: from, V: []float64{1.5, 0, 0, 0, 0, 0}, A: make([]float64, 6), J: make([]float64, 6),
	}}}
	inTime, err := c.CheckTrajectory(tr)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision))
	require.InDelta(t, 2*got.At, inTime.At, 0.01)
	require.Contains(t, err.Error(), " s (")
}

// TestTrajectoryThatComesBack: start and end are the same and free, the middle isn't.
func TestTrajectoryThatComesBack(t *testing.T) {
	m := kintest.Arm5()
	c := newChecker(t, m, &robot.Scene{Bodies: []robot.Body{{Name: "post", Pose: kintest.At(0.25, 0, 0.1, 0, 0, 0),
		Geometry: robot.Geometry{Kind: robot.Cylinder, Radius: 0.01, Length: 0.4}}}})
	seg := robot.Segment{Duration: 2, Q: []float64{-0.6, 1.2, 0.3, 0, 0, 0}, V: make([]float64, 6), A: make([]float64, 6), J: make([]float64, 6)}
	tr := robot.Trajectory{Joints: m.JointNames(), Segments: []robot.Segment{seg}}
	_, err := c.CheckTrajectory(tr)
	require.NoError(t, err)
	seg.V, seg.A = []float64{1.2, 0, 0, 0, 0, 0}, []float64{-1.2, 0, 0, 0, 0, 0}
	tr.Segments[0] = seg
	_, err = c.CheckTrajectory(tr)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision))
}

// TestAcceptedTrajectoriesAreFree is the same property for cubic segments.
func TestAcceptedTrajectoriesAreFree(t *testing.T) {
	m := kintest.Arm5()
	tr := newTruth(t, m, rand.New(rand.NewPCG(5, 6)), 20)
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		c := newChecker(t, m, s)
		v := func(scale float64) []float64 {
			out := make([]float64, 6)
			for i := range out {
				out[i] = scale * rapid.Float64Range(-1, 1).Draw(t, "v")
			}
			return out
		}
		seg := robot.Segment{Duration: 1, Q: kintest.Q(t, m), V: v(1), A: v(2), J: v(6)}
		got, err := c.CheckTrajectory(robot.Trajectory{Joints: m.JointNames(), Segments: []robot.Segment{seg}})
		if err != nil || got.Distance < DefaultSceneMargin {
			return
		}
		accepted++
		p := piece{q: seg.Q, v: seg.V, a: seg.A, j: seg.J, length: 1}
		q := make([]float64, 6)
		for k := range 61 {
			p.at(float64(k)/60, q)
			scene, self := tr.at(q, s)
			require.GreaterOrEqual(t, scene, DefaultSceneMargin-DefaultResolution)
			require.GreaterOrEqual(t, self, 0.0)
		}
	})
	require.Greater(t, accepted, 1)
}

func TestPeakSpeed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := func() float64 { return rapid.Float64Range(-5, 5).Draw(t, "x") }
		v, a, j := f(), f(), f()
		got := peak(v, a, j, 2)
		sampled := 0.0
		for k := range 2001 {
			x := float64(k) / 1000
			sampled = max(sampled, math.Abs(v+a*x+j*x*x/2))
		}
		require.GreaterOrEqual(t, got, sampled-1e-9)
		require.LessOrEqual(t, got, sampled+1e-4)
	})
}

func TestCheckerIsSafeForConcurrentUse(t *testing.T) {
	m := kintest.Arm5()
	c := newChecker(t, m, &robot.Scene{Bodies: []robot.Body{{Name: "post", Pose: kintest.At(0.3, 0, 0.1, 0, 0, 0),
		Geometry: robot.Geometry{Kind: robot.Sphere, Radius: 0.05}}}})
	from, to := []float64{-1.5, 1.2, 0.3, 0, 0, 0}, []float64{-0.8, 1, 0.3, 0.2, 0, 0}
	want, wantErr := c.CheckSegment(from, to)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				got, err := c.CheckSegment(from, to)
				if wantErr == nil != (err == nil) || *got != *want {
					t.Errorf("answers differ: %v %v", got, want)
				}
			}
		})
	}
	wg.Wait()
}
