package collision

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/robot"
)

// bowl is half a sphere's surface, open above, of 2·n·n triangles.
func bowl(radius float64, n int) *robot.Mesh {
	m := &robot.Mesh{File: "bowl"}
	for i := range n + 1 {
		for k := range 2 * n {
			down, around := math.Pi/2*float64(i)/float64(n), math.Pi*float64(k)/float64(n)
			m.Vertices = append(m.Vertices, mgl64.Vec3{
				radius * math.Cos(down) * math.Cos(around), radius * math.Cos(down) * math.Sin(around), -radius * math.Sin(down),
			})
		}
	}
	at := func(i, k int) int32 { return int32(i*2*n + k%(2*n)) }
	for i := range n {
		for k := range 2 * n {
			m.Triangles = append(m.Triangles, [3]int32{at(i, k), at(i+1, k), at(i, k+1)}, [3]int32{at(i, k+1), at(i+1, k), at(i+1, k+1)})
		}
	}
	return m
}

// TestOpenMeshStandsForItsHull: a mesh that isn't closed, or whose triangles face
// different ways, covers every mix of its corners, with the hollow of a bowl.
func TestOpenMeshStandsForItsHull(t *testing.T) {
	odd := boxMesh(mgl64.Vec3{0.05, 0.08, 0.03}, false)
	odd.Triangles[4][0], odd.Triangles[4][1] = odd.Triangles[4][1], odd.Triangles[4][0]
	open := boxMesh(mgl64.Vec3{0.05, 0.08, 0.03}, true)
	open.Triangles = append(open.Triangles, [3]int32{0, 0, 1}, [3]int32{2, 2, 2}) // degenerate ones
	flat := &robot.Mesh{Vertices: []mgl64.Vec3{{0, 0, 0}, {0.1, 0, 0}, {0, 0.1, 0.02}}, Triangles: [][3]int32{{0, 1, 2}}}
	plates := &robot.Mesh{Vertices: append([]mgl64.Vec3{{0, 0, 0.1}, {0.1, 0, 0.1}, {0, 0.1, 0.1}}, flat.Vertices...), Triangles: [][3]int32{{0, 1, 2}, {3, 4, 5}}}
	for name, m := range map[string]*robot.Mesh{"two triangles": plates, "a side is missing": open, "a triangle is inside out": odd, "bowl": bowl(0.06, 12), "one triangle": flat} {
		require.False(t, closed(m), name)
		var tr tree
		var tau float64
		tr.root, tau = tr.cover(&robot.Geometry{Kind: robot.MeshGeometry, Mesh: m}, DefaultOvershoot)
		requireNested(t, &tr)
		balls := leaves(&tr)
		rng := rand.New(rand.NewPCG(1, 2))
		far := 0.0
		for _, v := range m.Vertices {
			far = max(far, v.Len())
		}
		for range 500 {
			var p mgl64.Vec3
			left := 1.0
			for range 3 {
				k := left * rng.Float64()
				p = p.Add(m.Vertices[rng.IntN(len(m.Vertices))].Mul(k))
				left -= k
			}
			p = p.Add(m.Vertices[rng.IntN(len(m.Vertices))].Mul(left))
			require.True(t, covered(balls, [3]float64(p)), "%s %v", name, p)
		}
		for _, b := range balls { // and not much more
			require.LessOrEqual(t, dist(b.c, [3]float64{})+b.r, far*1.15+2*tau, name)
		}
	}
}

// TestLooseVerticesAreNoBody: an exporter's corners without a triangle don't count.
func TestLooseVerticesAreNoBody(t *testing.T) {
	m := boxMesh(mgl64.Vec3{0.1, 0.1, 0.1}, true)
	m.Vertices = append(m.Vertices, mgl64.Vec3{5, 5, 5})
	var tr tree
	tr.root, _ = tr.cover(&robot.Geometry{Kind: robot.MeshGeometry, Mesh: m}, DefaultOvershoot)
	require.Less(t, tr.reach(), 0.12)
}

// TestNothingFitsIntoAnOpenMesh: through the side that is missing as little as
// through the others.
func TestNothingFitsIntoAnOpenMesh(t *testing.T) {
	b := kintest.NewBuilder("bead", "base")
	l := b.Joint("z", robot.Prismatic, 0, robot.IdentityPose(), mgl64.Vec3{0, 0, 1}, -1, 1)
	b.Body(l, robot.IdentityPose(), robot.Geometry{Kind: robot.Sphere, Radius: 0.005})
	m := b.Model(l)
	rng := rand.New(rand.NewPCG(2, 2))
	for range 5 {
		f := func() float64 { return 6*rng.Float64() - 3 }
		c := newChecker(t, m, &robot.Scene{Bodies: []robot.Body{{
			Name: "crate", Pose: kintest.At(0, 0, 0, f(), f(), f()),
			Geometry: robot.Geometry{Kind: robot.MeshGeometry, Mesh: boxMesh(mgl64.Vec3{0.1, 0.2, 0.15}, true)},
		}}})
		for z := -0.04; z < 0.04; z += 0.002 {
			_, err := c.Check([]float64{z})
			require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision))
		}
		_, err := c.Check([]float64{0.2})
		require.NoError(t, err)
	}
}
