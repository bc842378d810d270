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

// coverMesh covers a mesh's surface and, where it is closed, what it encloses.
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
	if root = t.meshCell(tris, all, lo, hi, tau/2); root < 0 {
		// Can't happen: a cell that holds a triangle is never dropped.
		root = t.leaf(ball{mix(lo, hi), dist(lo, hi) / 2})
	}
	return root, tau
}

// meshCell halves a cell until the ball about it is no larger than small or no
// triangle meets it; such a cell is kept if it is inside. It returns -1 for a
// cell that is outside.
func (t *tree) meshCell(tris []triangle, near []int32, lo, hi [3]float64, small float64) int32 {
	c := mix(lo, hi)
	r := dist(c, hi)
	var in []int32
	for _, i := range near {
		if triangleDistance(&tris[i], c) <= r {
			in = append(in, i)
		}
	}
	if len(in) == 0 {
		if winding(tris, c) >= insideWinding {
			return t.leaf(ball{c, r})
		}
		return -1
	}
	if r <= small {
		return t.leaf(ball{c, r})
	}
	axis := 0
	for k := range 3 {
		if hi[k]-lo[k] > hi[axis]-lo[axis] {
			axis = k
		}
	}
	h, l := hi, lo
	h[axis], l[axis] = c[axis], c[axis]
	left := t.meshCell(tris, in, lo, h, small)
	right := t.meshCell(tris, in, l, hi, small)
	switch {
	case left < 0:
		return right
	case right < 0:
		return left
	}
	return t.inner(c, left, right)
}

// winding returns the absolute winding number of a triangle soup about p: about
// 1 inside a closed surface, about 0 outside, in between near holes (Jacobson et
// al., Robust Inside-Outside Segmentation using Generalized Winding Numbers,
// 2013; the solid angle after van Oosterom and Strackee, 1983).
func winding(tris []triangle, p [3]float64) float64 {
	var sum float64
	for i := range tris {
		a, b, c := sub(tris[i][0], p), sub(tris[i][1], p), sub(tris[i][2], p)
		la, lb, lc := math.Sqrt(dot(a, a)), math.Sqrt(dot(b, b)), math.Sqrt(dot(c, c))
		det := dot(a, cross(b, c))
		sum += 2 * math.Atan2(det, la*lb*lc+dot(a, b)*lc+dot(b, c)*la+dot(c, a)*lb)
	}
	return math.Abs(sum) / (4 * math.Pi)
}

// triangleDistance returns the distance of p to a triangle (Ericson, Real-Time
// Collision Detection, 2005, section 5.1.5: by the Voronoi region of p).
func triangleDistance(t *triangle, p [3]float64) float64 {
	a, b, c := t[0], t[1], t[2]
	ab, ac, ap := sub(b, a), sub(c, a), sub(p, a)
	d1, d2 := dot(ab, ap), dot(ac, ap)
	if d1 <= 0 && d2 <= 0 {
		return dist(p, a)
	}
	bp := sub(p, b)
	d3, d4 := dot(ab, bp), dot(ac, bp)
	if d3 >= 0 && d4 <= d3 {
		return dist(p, b)
	}
	if vc := d1*d4 - d3*d2; vc <= 0 && d1 >= 0 && d3 <= 0 && d1 > d3 {
		return dist(p, along(a, ab, d1/(d1-d3)))
	}
	cp := sub(p, c)
	d5, d6 := dot(ab, cp), dot(ac, cp)
	if d6 >= 0 && d5 <= d6 {
		return dist(p, c)
	}
	if vb := d5*d2 - d1*d6; vb <= 0 && d2 >= 0 && d6 <= 0 && d2 > d6 {
		return dist(p, along(a, ac, d2/(d2-d6)))
	}
	if va := d3*d6 - d5*d4; va <= 0 && d4 >= d3 && d5 >= d6 && d4-d3+d5-d6 > 0 {
		return dist(p, along(b, sub(c, b), (d4-d3)/(d4-d3+d5-d6)))
	}
	n := cross(ab, ac)
	l := math.Sqrt(dot(n, n))
	if l == 0 { // a needle: its longest edge decides, and its ends are a safe bound of it
		return max(0, min(dist(p, a), dist(p, b), dist(p, c))-max(dist(a, b), dist(b, c), dist(c, a)))
	}
	return math.Abs(dot(n, ap)) / l
}

func sub(a, b [3]float64) [3]float64 { return [3]float64{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }

func along(a, d [3]float64, k float64) [3]float64 {
	return [3]float64{a[0] + k*d[0], a[1] + k*d[1], a[2] + k*d[2]}
}

func dot(a, b [3]float64) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

func cross(a, b [3]float64) [3]float64 {
	return [3]float64{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}
