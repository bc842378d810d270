package collision

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/robot"
)

// hullError is by how much the convex hull that stands for a mesh may be larger than
// the mesh's own, so that it needs fewer corners, m.
const hullError = 1e-4

const (
	// poles is how many corners of a hull say that a way can't be the best.
	poles = 24
	// stride has no divisor in common with the number of ways.
	stride = 89
)

// ways are directions in a body's frame: along the axes, and spread evenly over the
// sphere by the golden angle.
type ways [hullSides + 6][3]float64

func allWays() (w ways) {
	for i := range hullSides {
		z := 1 - (2*float64(i)+1)/hullSides
		r := math.Sqrt(1 - z*z)
		sin, cos := math.Sincos(float64(i) * math.Pi * (3 - math.Sqrt(5)))
		w[i] = [3]float64{r * cos, r * sin, z}
	}
	for k := range 3 {
		w[hullSides+2*k][k], w[hullSides+2*k+1][k] = 1, -1
	}
	return w
}

// corners returns the vertices of a mesh that are part of a triangle, each place once.
func corners(m *robot.Mesh) []mgl64.Vec3 {
	seen := make(map[mgl64.Vec3]bool, len(m.Vertices))
	var out []mgl64.Vec3
	for _, tri := range m.Triangles {
		for _, i := range tri {
			if v := m.Vertices[i]; !seen[v] {
				seen[v] = true
				out = append(out, v)
			}
		}
	}
	return out
}

// hullOf returns the convex hull of a mesh, as a core with few corners and what
// surrounds it evenly: first the corners that reach farthest in any of the ways, then
// each that is still outside of what the earlier ones span.
func hullOf(m *robot.Mesh, w *ways) solid {
	all := corners(m)
	s := solid{kind: robot.MeshGeometry, radius: hullError, reach: new([len(ways{})]float64)}
	kept := make(map[int]bool)
	for i := range w {
		i = i * stride % len(w) // so that any few of the first corners lie all around
		far := 0
		for k := range all {
			if all[k].Dot(w[i]) > all[far].Dot(w[i]) {
				far = k
			}
		}
		s.reach[i] = all[far].Dot(w[i])
		if !kept[far] {
			kept[far] = true
			s.corners = append(s.corners, all[far])
		}
	}
	point := solid{kind: robot.Sphere}
	for k := range all {
		if kept[k] {
			continue
		}
		at := identity
		copy(at[9:], all[k][:])
		at = relative(&at, &identity)
		if low, _, apart := (&couple{a: &point, b: &s, t: at}).distance(math.Inf(1)); apart && low+gapPrecision > hullError {
			s.corners = append(s.corners, all[k])
		}
	}
	return s
}

// farthest returns the corner that lies farthest along n.
func (s *solid) farthest(n mgl64.Vec3) mgl64.Vec3 { return farthest(s.corners, n) }

func farthest(corners []mgl64.Vec3, n mgl64.Vec3) mgl64.Vec3 {
	best, at := math.Inf(-1), mgl64.Vec3{}
	for _, v := range corners {
		if x := v[0]*n[0] + v[1]*n[1] + v[2]*n[2]; x > best {
			best, at = x, v
		}
	}
	return at
}

// gapBy is gap for bodies of any kind.
func (c *couple) gapBy(w *ways) (gap float64, along mgl64.Vec3) {
	if c.a.kind == robot.MeshGeometry || c.b.kind == robot.MeshGeometry {
		return c.hullGap(w)
	}
	return c.gap()
}

// hullGap is gap for two bodies of which one is a mesh: of their convex hulls, and
// of the separations along the ways of both only. So it is never above the true one,
// and it never jumps.
func (c *couple) hullGap(w *ways) (gap float64, along mgl64.Vec3) {
	// No way is better than a few corners let it be, and most are far worse.
	var upper [2 * len(ways{})]float64
	first := 0
	for i := range upper {
		k, n := i/2, c.way(w, i)
		upper[i] = n[0]*c.t[9] + n[1]*c.t[10] + n[2]*c.t[11]
		if i%2 == 0 && c.a.reach != nil {
			upper[i] -= c.a.reach[k]
		} else {
			upper[i] -= c.a.atLeast(n)
		}
		if i%2 == 1 && c.b.reach != nil {
			upper[i] -= c.b.reach[k]
		} else {
			upper[i] -= c.b.atLeast(unturn(&c.t, n.Mul(-1)))
		}
		if upper[i] > upper[first] {
			first = i
		}
	}
	along = c.way(w, first)
	gap = c.separation(along)
	for i, x := range upper {
		if x > gap && i != first {
			n := c.way(w, i)
			if x := c.separation(n); x > gap {
				gap, along = x, n
			}
		}
	}
	return gap - c.a.rounding() - c.b.rounding(), along
}

// way returns the ways of the first body and, against the direction from it to the
// second, those of the second by turns.
func (c *couple) way(w *ways, i int) mgl64.Vec3 {
	if i%2 == 0 {
		return w[i/2]
	}
	return turn(&c.t, mgl64.Vec3(w[i/2]).Mul(-1))
}

// atLeast returns how far the core reaches along n at least.
func (s *solid) atLeast(n mgl64.Vec3) float64 {
	if s.kind != robot.MeshGeometry {
		return s.extent(n)
	}
	return farthest(s.corners[:min(poles, len(s.corners))], n).Dot(n)
}
