package collision

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/urdf"
)

func meshOf(size mgl64.Vec3) robot.Geometry {
	return robot.Geometry{Kind: robot.MeshGeometry, Mesh: boxMesh(size, false)}
}

// TestHullGapIsALowerBound: the gap of two boxes that are given as meshes, or of a
// mesh and a primitive body, isn't above that of the bodies, and below it by no more
// than the ways are apart.
func TestHullGapIsALowerBound(t *testing.T) {
	w := allWays()
	overlapping := 0
	rapid.Check(t, func(t *rapid.T) {
		f := func() float64 { return rapid.Float64Range(0.01, 0.2).Draw(t, "size") }
		a, b := box(f(), f(), f()), drawPrimitive(t)
		at := drawTransform(t)
		for k := range 3 {
			at[9+k] *= 0.4
		}
		parts := [][2]part{{newPart(&robot.Geometry{Kind: robot.MeshGeometry, Mesh: boxMesh(a.Size, false)}, identity, &w), newPart(&b, identity, &w)}}
		if b.Kind == robot.Box {
			mesh := meshOf(b.Size)
			parts = append(parts, [2]part{parts[0][0], newPart(&mesh, identity, &w)}, [2]part{newPart(&a, identity, &w), newPart(&mesh, identity, &w)})
		}
		want := gapOf(a, b, at)
		if want < 0 {
			overlapping++
		}
		for _, p := range parts {
			got, n := (&couple{a: &p[0].solid, b: &p[1].solid, t: at}).gapBy(&w)
			require.LessOrEqual(t, got, want+1e-9)
			// Along a way that is 0.15 rad off, two bodies are less far apart by 1 % of
			// their size and as much of what they are shifted across.
			require.GreaterOrEqual(t, got, want-0.03-0.02*max(want, 0))
			require.InDelta(t, 1, n.Len(), 1e-9)
		}
	})
	require.Greater(t, overlapping, 0)
}

// TestFewCornersStandForAll: the hull of a fine ball has fewer corners than the mesh,
// and what it reaches beyond them makes up for that.
func TestFewCornersStandForAll(t *testing.T) {
	const rings, around, radius = 60, 90, 0.02
	ball := &robot.Mesh{}
	for i := range rings + 1 {
		for k := range around {
			sin, cos := math.Sincos(math.Pi * float64(i) / rings)
			s, c := math.Sincos(2 * math.Pi * float64(k) / around)
			ball.Vertices = append(ball.Vertices, mgl64.Vec3{sin * c, sin * s, cos}.Mul(radius))
		}
	}
	for i := range rings * around {
		ball.Triangles = append(ball.Triangles, [3]int32{int32(i), int32(i + 1), int32(i + around)})
	}
	w := allWays()
	s := hullOf(ball, &w)
	all := corners(ball)
	require.Less(t, len(s.corners), len(all)/3)
	rng := rand.New(rand.NewPCG(5, 5))
	for range 2000 {
		n := mgl64.Vec3{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}.Normalize()
		reach := farthest(all, n).Dot(n)
		require.GreaterOrEqual(t, s.extent(n)+s.rounding(), reach-1e-9)
		require.LessOrEqual(t, s.extent(n), reach)
	}
}

// TestCase19_AMeshInContactMayLeave at any depth to the bound, and may not go deeper,
// although its spheres are large and leave each other by jumps.
func TestCase19_AMeshInContactMayLeave(t *testing.T) {
	m := crane(meshOf(mgl64.Vec3{0.1, 0.08, 0.12}), -0.06)
	s := &robot.Scene{Bodies: []robot.Body{{Name: "table", Pose: kintest.At(0, 0, -0.05, 0, 0, 0), Geometry: meshOf(mgl64.Vec3{1, 1, 0.1})}}}
	for _, c := range []*Checker{newChecker(t, m, s), newChecker(t, m, table())} {
		for depth := 0.0; depth < 0.0175; depth += 0.0034 {
			in := []float64{0.12 - depth, 0}
			_, err := c.CheckSegment(in, []float64{0.4, 0})
			require.NoError(t, err, "from %g", depth)
			_, err = c.CheckSegment(in, []float64{0.4, 0.3})
			require.NoError(t, err, "from %g, turning", depth)
			_, err = c.CheckSegment(in, []float64{in[0] - 2*ContactTolerance, 0})
			refused(t, err, robot.CodeSceneCollision, "link_pitch, table")
			_, err = c.CheckSegment(in, []float64{in[0], 0.1})
			refused(t, err, robot.CodeSceneCollision, "link_pitch, table")
		}
		_, err := c.CheckSegment([]float64{0.1, 0}, []float64{0.4, 0})
		require.Contains(t, refused(t, err, robot.CodeSceneCollision, "link_pitch, table").Text, "inside table at the start")
	}
}

// TestAMeshThatIsHollowIsNoHull: a peg that touches the inside of a bracket is deep in
// its convex hull, and yet only as deep in contact as it is in the wall.
func TestAMeshThatIsHollowIsNoHull(t *testing.T) {
	bracket := &robot.Mesh{}
	for _, part := range []struct{ at, size mgl64.Vec3 }{
		{mgl64.Vec3{0, 0, 0.05}, mgl64.Vec3{0.2, 0.1, 0.02}},
		{mgl64.Vec3{-0.09, 0, 0}, mgl64.Vec3{0.02, 0.1, 0.1}},
		{mgl64.Vec3{0.09, 0, 0}, mgl64.Vec3{0.02, 0.1, 0.1}},
	} {
		base, one := int32(len(bracket.Vertices)), boxMesh(part.size, false)
		for _, v := range one.Vertices {
			bracket.Vertices = append(bracket.Vertices, v.Add(part.at))
		}
		for _, tri := range one.Triangles {
			bracket.Triangles = append(bracket.Triangles, [3]int32{tri[0] + base, tri[1] + base, tri[2] + base})
		}
	}
	b := kintest.NewBuilder("bridge", "base")
	l := b.Joint("x", robot.Prismatic, 0, robot.IdentityPose(), mgl64.Vec3{1, 0, 0}, -1, 1)
	b.Body(l, robot.IdentityPose(), box(0.04, 0.04, 0.04))
	s := &robot.Scene{Bodies: []robot.Body{{Name: "bracket", Pose: robot.IdentityPose(), Geometry: robot.Geometry{Kind: robot.MeshGeometry, Mesh: bracket}}}}
	c := newChecker(t, b.Model(l), s)
	in := []float64{0.059}
	_, err := c.Check(in)
	refused(t, err, robot.CodeSceneCollision, "link_x, bracket")
	_, err = c.CheckSegment(in, in)
	require.NoError(t, err)
	_, err = c.CheckSegment(in, []float64{0.075})
	refused(t, err, robot.CodeSceneCollision, "link_x, bracket")
}

// TestAFallenArmCanLeave: a robot with real meshes whose links 0 and 6 ended inside
// each other, at depths that a fall in the simulator left.
func TestAFallenArmCanLeave(t *testing.T) {
	const corpus = "../../../shared/cases/robots/panda_mesh"
	if _, err := os.Stat(corpus); err != nil {
		t.Skipf("SKIPPED %s: ../shared/cases/robots/panda_mesh isn't there", t.Name())
	}
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "robots", "panda_description"), os.DirFS(corpus)))
	m, err := urdf.LoadFile(urdf.Files{
		Description: corpus + "/urdf/panda.urdf", Semantics: corpus + "/srdf/panda.srdf",
		Packages: map[string]string{"example-robot-data": dir},
	})
	require.NoError(t, err)
	c := newChecker(t, m, nil)
	for _, elbow := range []float64{-2.455, -2.475, -2.5} {
		in := append([]float64(nil), m.Home...)
		in[1], in[3] = 1.2, elbow
		_, err := c.Check(in)
		refused(t, err, robot.CodeSelfCollision, "panda_link0, panda_link6")
		for _, by := range []float64{0.1, 0.3, 0.6} {
			out := append([]float64(nil), in...)
			out[3] += by
			_, err = c.CheckSegment(in, out)
			require.NoError(t, err, "from %g by %g", elbow, by)
			out = append(out[:0], in...)
			out[3] -= by
			_, err = c.CheckSegment(in, out)
			e := refused(t, err, robot.CodeSelfCollision, "panda_link0, panda_link6")
			require.Contains(t, e.Text, "disable the pair in an SRDF")
		}
	}
}
