package collision

import (
	"math"

	"github.com/tau-robot/tau/robot"
)

const (
	// meshRatio bounds the number of spheres of a mesh as overshootRatio does
	// that of a primitive body.
	meshRatio = 32
	// meshFactor is the base overshoot of a mesh over that of a primitive: a
	// sphere about a piece of surface reaches up to its own diameter beyond it.
	meshFactor = 2
	// insideWinding is the winding number from which a point counts as inside.
	insideWinding = 0.5
)

type triangle [3][3]float64

// coverMesh covers a closed mesh's surface and what it encloses. A mesh with a hole,
// or with triangles that face different ways, doesn't say what is inside it: it
// stands for its convex hull, and a little more, as openHull says.
func (t *tree) coverMesh(m *robot.Mesh, overshoot float64) (root int32, tau float64) {
	lo := [3]float64{math.Inf(1), math.Inf(1), math.Inf(1)}
	hi := [3]float64{math.Inf(-1), math.Inf(-1), math.Inf(-1)}
	tris := make([]triangle, len(m.Triangles))
	all := make([]int32, len(tris))
	for i, v := range m.Triangles {
		all[i] = int32(i)
		for k, idx := range v {
			tris[i][k] = [3]float64(m.Vertices[idx])
			for a, x := range tris[i][k] {
				lo[a], hi[a] = min(lo[a], x), max(hi[a], x)
			}
		}
	}
	tau = max(overshoot*meshFactor, dist(lo, hi)/meshRatio)
	if !closed(m) {
		h := openHull(m, t, tau/2)
		if root = h.cell(lo, hi); root < 0 { // a mesh without any extent
			root = t.leaf(ball{mix(lo, hi), dist(lo, hi) / 2})
		}
		return root, tau
	}
	b := meshBuilder{t: t, tris: tris, small: tau / 2}
	c := mix(lo, hi)
	root = b.cell(all, lo, hi, c, math.Round(winding(tris, c)))
	if root < 0 { // can't be: a cell that holds a triangle is never dropped
		root = t.leaf(ball{c, dist(lo, hi) / 2})
	}
	return root, tau
}

// meshBuilder halves the space around a mesh into cells.
type meshBuilder struct {
	t     *tree
	tris  []triangle
	small float64 // radius of the balls on the surface, m
}

// cell halves a cell until the ball about it is no larger than small or no
// triangle meets it; such a cell is kept if it is inside. It returns -1 for a
// cell that is outside. near are the triangles that meet the cell above, from is
// that cell's centre and turns the winding number there.
func (b *meshBuilder) cell(near []int32, lo, hi, from [3]float64, turns float64) int32 {
	c := mix(lo, hi)
	r := dist(c, hi)
	var in []int32
	for _, i := range near {
		if triangleDistance(&b.tris[i], c) <= r {
			in = append(in, i)
		}
	}
	if len(in) > 0 && r <= b.small {
		return b.t.leaf(ball{c, r})
	}
	turns = b.turnsAt(near, from, c, turns)
	if len(in) == 0 {
		if math.Abs(turns) >= insideWinding {
			return b.t.leaf(ball{c, r})
		}
		return -1
	}
	axis := 0
	for k := range 3 {
		if hi[k]-lo[k] > hi[axis]-lo[axis] {
			axis = k
		}
	}
	h, l := hi, lo
	h[axis], l[axis] = c[axis], c[axis]
	left := b.cell(in, lo, h, c, turns)
	right := b.cell(in, l, hi, c, turns)
	switch {
	case left < 0:
		return right
	case right < 0:
		return left
	}
	return b.t.inner(c, left, right)
}

// turnsAt returns the winding number at c. On a closed mesh it changes by one
// with each triangle that the line from a known point crosses, and the line to a
// cell's centre from that of the cell above stays among that cell's triangles.
// Where a crossing is too near an edge to be counted, all triangles are summed.
func (b *meshBuilder) turnsAt(near []int32, from, c [3]float64, turns float64) float64 {
	if from == c {
		return turns
	}
	for _, i := range near {
		n, ok := crossing(&b.tris[i], from, c)
		if !ok {
			return math.Round(winding(b.tris, c))
		}
		turns += n
	}
	return turns
}

// crossing returns by how much the winding number changes along a line through a
// triangle: 1 where the line goes against the triangle's normal, into a body
// whose normals point outwards, -1 where it goes along it, 0 where it passes by.
// ok is false where the line is too near an edge or the plane to say.
func crossing(t *triangle, from, to [3]float64) (n float64, ok bool) {
	const tiny = 1e-9
	e1, e2, d := sub(t[1], t[0]), sub(t[2], t[0]), sub(to, from)
	normal := cross(e1, e2)
	area := math.Sqrt(dot(normal, normal))
	if area == 0 {
		return 0, true // no surface
	}
	// Which sides of the plane the ends are on, m.
	s0, s1 := dot(normal, sub(from, t[0]))/area, dot(normal, sub(to, t[0]))/area
	if math.Abs(s0) < tiny || math.Abs(s1) < tiny {
		return 0, false
	}
	if s0 > 0 == (s1 > 0) {
		return 0, true
	}
	x := sub(along(from, d, s0/(s0-s1)), t[0])
	u := dot(cross(x, e2), normal) / (area * area)
	v := dot(cross(e1, x), normal) / (area * area)
	w := 1 - u - v
	switch least := min(u, v, w); {
	case least > tiny:
		return math.Copysign(1, s0), true
	case least < -tiny:
		return 0, true
	}
	return 0, false
}

// closed reports whether every edge of a mesh is passed as often in one direction
// as in the other.
func closed(m *robot.Mesh) bool {
	type edge [2][3]float64
	sum := make(map[edge]int, 3*len(m.Triangles))
	for _, t := range m.Triangles {
		for k := range 3 {
			a, b := [3]float64(m.Vertices[t[k]]), [3]float64(m.Vertices[t[(k+1)%3]])
			sum[edge{a, b}]++
			sum[edge{b, a}]--
		}
	}
	for _, n := range sum {
		if n != 0 {
			return false
		}
	}
	return true
}

// winding returns the winding number of a triangle soup about p: 1 inside a
// closed surface whose normals point outwards, -1 where they point inwards, 0
// outside, something in between near holes (Jacobson et al., Robust Inside-Outside Segmentation using Generalized Winding Numbers,
// 2013; the solid angle after van Oosterom and Strackee, 1983).
func winding(tris []triangle, p [3]float64) float64 {
	var sum float64
	for i := range tris {
		a, b, c := sub(tris[i][0], p), sub(tris[i][1], p), sub(tris[i][2], p)
		la, lb, lc := math.Sqrt(dot(a, a)), math.Sqrt(dot(b, b)), math.Sqrt(dot(c, c))
		det := dot(a, cross(b, c))
		sum += 2 * math.Atan2(det, la*lb*lc+dot(a, b)*lc+dot(b, c)*la+dot(c, a)*lb)
	}
	return sum / (4 * math.Pi)
}

// triangleDistance returns the distance of p to a triangle: to its plane where p
// is above its inside (by barycentric coordinates; Ericson, Real-Time Collision
// Detection, 2005, section 3.4), to its nearest edge elsewhere, which is also
// right for a triangle without an area.
func triangleDistance(t *triangle, p [3]float64) float64 {
	ab, ac, ap := sub(t[1], t[0]), sub(t[2], t[0]), sub(p, t[0])
	n := cross(ab, ac)
	area2 := dot(n, n)
	u, v := dot(cross(ap, ac), n), dot(cross(ab, ap), n)
	if u > 0 && v > 0 && u+v < area2 {
		return math.Abs(dot(n, ap)) / math.Sqrt(area2)
	}
	return min(edgeDistance(t[0], t[1], p), edgeDistance(t[1], t[2], p), edgeDistance(t[2], t[0], p))
}

func edgeDistance(a, b, p [3]float64) float64 {
	ab := sub(b, a)
	l := dot(ab, ab)
	if l == 0 {
		return dist(a, p)
	}
	return dist(p, along(a, ab, min(max(dot(sub(p, a), ab)/l, 0), 1)))
}

func sub(a, b [3]float64) [3]float64 { return [3]float64{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }

func along(a, d [3]float64, k float64) [3]float64 {
	return [3]float64{a[0] + k*d[0], a[1] + k*d[1], a[2] + k*d[2]}
}

func dot(a, b [3]float64) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

func cross(a, b [3]float64) [3]float64 {
	return [3]float64{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}
