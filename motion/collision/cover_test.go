package collision

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
)

func drawPrimitive(t *rapid.T) robot.Geometry {
	f := func(name string) float64 { return rapid.Float64Range(0.004, 0.3).Draw(t, name) }
	switch rapid.SampledFrom([]robot.GeometryKind{robot.Box, robot.Cylinder, robot.Capsule, robot.Sphere}).Draw(t, "kind") {
	case robot.Box:
		return robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{f("sx"), f("sy"), f("sz")}}
	case robot.Cylinder:
		return robot.Geometry{Kind: robot.Cylinder, Radius: f("r"), Length: f("l")}
	case robot.Capsule:
		return robot.Geometry{Kind: robot.Capsule, Radius: f("r"), Length: f("l")}
	default:
		return robot.Geometry{Kind: robot.Sphere, Radius: f("r")}
	}
}

// inside draws a point of a primitive, every second one on its surface.
func inside(rng *rand.Rand, g *robot.Geometry) [3]float64 {
	onSurface := rng.IntN(2) == 0
	u := func() float64 { return 2*rng.Float64() - 1 }
	unit := func() mgl64.Vec3 {
		return mgl64.Vec3{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}.Normalize()
	}
	switch g.Kind {
	case robot.Box:
		p := [3]float64{u(), u(), u()}
		if onSurface {
			p[rng.IntN(3)] = math.Copysign(1, u())
		}
		for k := range p {
			p[k] *= g.Size[k] / 2
		}
		return p
	case robot.Cylinder:
		r, z := math.Sqrt(rng.Float64()), u()
		if onSurface {
			if rng.IntN(2) == 0 {
				r = 1
			} else {
				z = math.Copysign(1, z)
			}
		}
		s, c := math.Sincos(math.Pi * u())
		return [3]float64{g.Radius * r * c, g.Radius * r * s, g.Length / 2 * z}
	case robot.Capsule:
		v := unit().Mul(g.Radius)
		if !onSurface {
			v = v.Mul(rng.Float64())
		}
		z := u() * g.Length / 2
		if v[2] > 0 == (z > 0) && onSurface {
			z = math.Copysign(g.Length/2, z) // a point of a cap, not one inside the barrel
		}
		return [3]float64{v[0], v[1], v[2] + z}
	default:
		v := unit().Mul(g.Radius)
		if !onSurface {
			v = v.Mul(rng.Float64())
		}
		return [3]float64(v)
	}
}

func leaves(t *tree) (out []ball) {
	for _, n := range t.nodes {
		if n.left < 0 {
			out = append(out, n.ball)
		}
	}
	return out
}

func covered(balls []ball, p [3]float64) bool {
	for _, b := range balls {
		if dist(b.c, p) <= b.r+1e-12 {
			return true
		}
	}
	return false
}

func requireNested(t require.TestingT, tr *tree) {
	for i, n := range tr.nodes {
		if n.left < 0 {
			continue
		}
		for _, k := range []int32{n.left, n.right} {
			require.LessOrEqual(t, dist(n.c, tr.nodes[k].c)+tr.nodes[k].r, n.r+1e-12, "node %d", i)
		}
	}
}

// TestCoverContainsBody: the union of the spheres contains the body and reaches
// beyond it by the stated overshoot at most.
func TestCoverContainsBody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawPrimitive(t)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		var tr tree
		var tau float64
		tr.root, tau = tr.cover(&g, DefaultOvershoot)
		s := newSolid(g)
		require.LessOrEqual(t, tau, max(DefaultOvershoot, s.diagonal()/overshootRatio))
		balls := leaves(&tr)
		require.Less(t, len(balls), 8000)
		for range 150 {
			p := inside(rng, &g)
			require.LessOrEqual(t, s.distance(p), 1e-12, "the sample itself")
			require.True(t, covered(balls, p), "%v at %v", g, p)
		}
		for range 300 {
			b := balls[rng.IntN(len(balls))]
			dir := mgl64.Vec3{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}.Normalize()
			require.LessOrEqual(t, s.distance(along(b.c, dir, b.r)), tau+1e-12)
		}
		requireNested(t, &tr)
	})
}

// boxMesh is a box as twelve triangles, optionally without one side.
func boxMesh(size mgl64.Vec3, open bool) *robot.Mesh {
	m := &robot.Mesh{File: "box"}
	for i := range 8 {
		m.Vertices = append(m.Vertices, mgl64.Vec3{
			size[0] * (float64(i&1) - 0.5), size[1] * (float64(i>>1&1) - 0.5), size[2] * (float64(i>>2&1) - 0.5),
		})
	}
	m.Triangles = [][3]int32{
		{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6}, {0, 1, 4}, {1, 5, 4},
		{2, 6, 3}, {3, 6, 7}, {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5},
	}
	if open {
		m.Triangles = m.Triangles[2:]
	}
	return m
}

// TestMeshCoverContainsBody: a mesh of two overlapping boxes, turned anyhow and
// with its normals out or in, is covered inside and out and not far beyond.
func TestMeshCoverContainsBody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := func(lo float64) float64 { return rapid.Float64Range(lo, 0.025).Draw(t, "x") }
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		turn := mgl64.Quat{W: f(-0.025) + 0.03, V: mgl64.Vec3{f(-0.025), f(-0.025), f(-0.025)}}.Normalize()
		if rapid.Bool().Draw(t, "straight") {
			turn = mgl64.QuatIdent()
		}
		mesh, boxes, poses := &robot.Mesh{}, [2]robot.Geometry{}, [2]robot.Pose{}
		for k := range boxes {
			boxes[k] = robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{f(0.005), f(0.005), f(0.005)}}
			poses[k] = robot.Pose{P: boxes[k].Size.Mul(0.4 * float64(k)), Q: turn}
			base := int32(len(mesh.Vertices))
			one := boxMesh(boxes[k].Size, false)
			for _, v := range one.Vertices {
				mesh.Vertices = append(mesh.Vertices, poses[k].Apply(v))
			}
			for _, tri := range one.Triangles {
				mesh.Triangles = append(mesh.Triangles, [3]int32{tri[0] + base, tri[1] + base, tri[2] + base})
			}
		}
		require.True(t, closed(mesh))
		if rapid.Bool().Draw(t, "inverted") {
			for i, tri := range mesh.Triangles {
				mesh.Triangles[i] = [3]int32{tri[1], tri[0], tri[2]}
			}
		}
		var tr tree
		var tau float64
		tr.root, tau = tr.cover(&robot.Geometry{Kind: robot.MeshGeometry, Mesh: mesh}, DefaultOvershoot)
		balls := leaves(&tr)
		for k := range boxes {
			for range 100 {
				p := poses[k].Apply(mgl64.Vec3(inside(rng, &boxes[k])))
				require.True(t, covered(balls, [3]float64(p)))
			}
		}
		for range 200 {
			b := balls[rng.IntN(len(balls))]
			dir := mgl64.Vec3{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}.Normalize()
			p := mgl64.Vec3(along(b.c, dir, b.r))
			beyond := math.Inf(1)
			for k := range boxes {
				s := newSolid(boxes[k])
				beyond = min(beyond, s.distance(poses[k].Inverse().Apply(p)))
			}
			require.LessOrEqual(t, beyond, tau+1e-9)
		}
		requireNested(t, &tr)
	})
}

func TestTriangleDistance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tri triangle
		f := func() float64 { return rapid.Float64Range(-1, 1).Draw(t, "x") }
		for i := range tri {
			tri[i] = [3]float64{f(), f(), f()}
		}
		p := [3]float64{f() * 2, f() * 2, f() * 2}
		// A grid over the triangle is never nearer than the distance and comes close to it.
		const n = 20
		best := math.Inf(1)
		for i := range n + 1 {
			for j := range n + 1 - i {
				a, b := float64(i)/n, float64(j)/n
				var x [3]float64
				for k := range x {
					x[k] = tri[0][k]*(1-a-b) + tri[1][k]*a + tri[2][k]*b
				}
				best = min(best, dist(p, x))
			}
		}
		got := triangleDistance(&tri, p)
		spacing := max(dist(tri[0], tri[1]), dist(tri[1], tri[2]), dist(tri[2], tri[0])) / n
		require.LessOrEqual(t, got, best+1e-9)
		require.GreaterOrEqual(t, got, best-spacing-1e-9)
	})
}

func TestSolidDistance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawPrimitive(t)
		s := newSolid(g)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		f := func() float64 { return rapid.Float64Range(-0.5, 0.5).Draw(t, "p") }
		p := [3]float64{f(), f(), f()}
		d := s.distance(p)
		for range 100 {
			require.GreaterOrEqual(t, dist(p, inside(rng, &g)), d-1e-12, "no point of the body is nearer")
		}
		// Walking the distance down its gradient ends on the surface.
		const h = 1e-7
		var grad [3]float64
		for k := range grad {
			q := p
			q[k] += h
			grad[k] = (s.distance(q) - d) / h
		}
		if d > 1e-3 {
			require.InDelta(t, 1, math.Sqrt(dot(grad, grad)), 1e-4)
			require.InDelta(t, 0, s.distance(along(p, grad, -d)), 1e-4)
		}
		q := [3]float64{f(), f(), f()}
		require.LessOrEqual(t, math.Abs(s.distance(q)-d), dist(p, q)+1e-12)
	})
}
