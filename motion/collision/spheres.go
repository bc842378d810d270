package collision

import (
	"math"
	"slices"

	"github.com/tau-robot/tau/robot"
)

// ball is a sphere.
type ball struct {
	c [3]float64
	r float64
}

// node is a ball of a sphere tree. A leaf's ball is part of the cover; an inner
// node's ball contains its children's balls, so the smallest distance over the
// leaves doesn't depend on the order in which a query visits the tree.
type node struct {
	ball
	left, right int32 // -1 for a leaf
}

// tree is a binary sphere tree; nodes[root] is its root.
type tree struct {
	nodes []node
	root  int32
}

func (t *tree) leaf(b ball) int32 {
	t.nodes = append(t.nodes, node{ball: b, left: -1, right: -1})
	return int32(len(t.nodes) - 1)
}

// inner adds a parent whose ball is the smaller of the smallest ball about the
// children's balls and the one about the given centre.
func (t *tree) inner(centre [3]float64, l, r int32) int32 {
	a, b := t.nodes[l].ball, t.nodes[r].ball
	best := enclose(a, b)
	if about := max(dist(centre, a.c)+a.r, dist(centre, b.c)+b.r); about < best.r {
		best = ball{centre, about}
	}
	t.nodes = append(t.nodes, node{ball: best, left: l, right: r})
	return int32(len(t.nodes) - 1)
}

// join builds a parent over any number of subtrees by halving them along the
// axis in which their centres differ most.
func (t *tree) join(roots []int32) int32 {
	if len(roots) == 1 {
		return roots[0]
	}
	lo, hi := t.nodes[roots[0]].c, t.nodes[roots[0]].c
	for _, r := range roots {
		for k, x := range t.nodes[r].c {
			lo[k], hi[k] = min(lo[k], x), max(hi[k], x)
		}
	}
	axis := 0
	for k := range 3 {
		if hi[k]-lo[k] > hi[axis]-lo[axis] {
			axis = k
		}
	}
	slices.SortStableFunc(roots, func(a, b int32) int {
		switch d := t.nodes[a].c[axis] - t.nodes[b].c[axis]; {
		case d < 0:
			return -1
		case d > 0:
			return 1
		}
		return 0
	})
	mid := len(roots) / 2
	l, r := t.join(roots[:mid]), t.join(roots[mid:])
	return t.inner(mix(t.nodes[l].c, t.nodes[r].c), l, r)
}

// move maps every ball by a rigid transform.
func (t *tree) move(by *transform) {
	for i := range t.nodes {
		t.nodes[i].c = apply(by, t.nodes[i].c)
	}
}

// reach returns the largest distance of any point of the leaves from the origin.
func (t *tree) reach() float64 {
	var r float64
	for _, n := range t.nodes {
		if n.left < 0 {
			r = max(r, dist(n.c, [3]float64{})+n.r)
		}
	}
	return r
}

// enclose returns the smallest ball about two balls.
func enclose(a, b ball) ball {
	d := dist(a.c, b.c)
	if d+b.r <= a.r {
		return a
	}
	if d+a.r <= b.r {
		return b
	}
	r := (d + a.r + b.r) / 2
	k := (r - a.r) / d
	var c [3]float64
	for i := range c {
		c[i] = a.c[i] + k*(b.c[i]-a.c[i])
	}
	// Rounding of the centre must not leave a child outside.
	return ball{c, max(r, dist(c, a.c)+a.r, dist(c, b.c)+b.r)}
}

// overshootOf returns the overshoot that a body of the given diagonal gets.
func overshootOf(base, diagonal float64) float64 { return max(base, diagonal/overshootRatio) }

// cover appends the spheres of one body, in the body's frame, and returns the
// subtree's root. The union of its leaves contains the body and reaches beyond
// it by at most the overshoot that it returns.
func (t *tree) cover(g *robot.Geometry, overshoot float64) (root int32, tau float64) {
	if g.Kind == robot.MeshGeometry {
		return t.coverMesh(g.Mesh, overshoot)
	}
	s := newSolid(*g)
	tau = overshootOf(overshoot, s.diagonal())
	switch g.Kind {
	case robot.Sphere:
		return t.leaf(ball{r: s.radius}), tau
	case robot.Capsule:
		ends := []int32{
			t.leaf(ball{c: [3]float64{0, 0, -s.hz}, r: s.radius}),
			t.leaf(ball{c: [3]float64{0, 0, s.hz}, r: s.radius}),
			t.coverBarrel(&s, tau, -s.hz, s.hz),
		}
		return t.join(ends), tau
	case robot.Cylinder:
		full := sector{z: [2]float64{-s.hz, s.hz}, r: [2]float64{0, s.radius}, half: math.Pi}
		return t.coverCylinder(&s, tau, full), tau
	default:
		return t.coverBox(&s, tau, [3]float64(s.half.Mul(-1)), [3]float64(s.half)), tau
	}
}

// depths are the distances from the body's surface, in radii of the cell's own
// ball, at which a ball's centre is tried. A bigger ball deeper inside reaches
// less far beyond a flat surface, so cells can be bigger.
var depths = [...]float64{0, 0.75, 1, 1.5, 2, 3, 4}

// within moves x towards 0 until it is at most limit away from it.
func within(x, limit float64) float64 {
	return math.Copysign(min(math.Abs(x), max(limit, 0)), x)
}

// coverBox halves a cell of a box until some ball about it reaches no further
// than tau beyond the box.
func (t *tree) coverBox(s *solid, tau float64, lo, hi [3]float64) int32 {
	mid := mix(lo, hi)
	half := dist(mid, hi)
	best, beyond := ball{}, math.Inf(1)
	for _, k := range depths {
		b := ball{}
		var far [3]float64
		for a := range 3 {
			b.c[a] = within(mid[a], s.half[a]-k*half)
			far[a] = max(hi[a]-b.c[a], b.c[a]-lo[a])
		}
		b.r = math.Sqrt(dot(far, far))
		if o := s.distance(b.c) + b.r; o < beyond {
			best, beyond = b, o
		}
	}
	if beyond <= tau {
		return t.leaf(best)
	}
	axis := 0
	for k := range 3 {
		if hi[k]-lo[k] > hi[axis]-lo[axis] {
			axis = k
		}
	}
	h, l := hi, lo
	h[axis], l[axis] = mid[axis], mid[axis]
	left := t.coverBox(s, tau, lo, h)
	right := t.coverBox(s, tau, l, hi)
	return t.inner(mid, left, right)
}

// coverBarrel covers the straight part of a capsule between two heights by balls
// on its axis.
func (t *tree) coverBarrel(s *solid, tau, z0, z1 float64) int32 {
	c := [3]float64{0, 0, (z0 + z1) / 2}
	r := math.Hypot(s.radius, (z1-z0)/2)
	if r-s.radius <= tau {
		return t.leaf(ball{c, r})
	}
	left := t.coverBarrel(s, tau, z0, c[2])
	right := t.coverBarrel(s, tau, c[2], z1)
	return t.inner(c, left, right)
}

// sector is a cell of a cylinder: a range of heights, of radii and of angles
// mid ± half.
type sector struct {
	z, r      [2]float64
	mid, half float64
}

// ball returns a ball about the sector with its centre on the sector's middle
// plane, at the best radius and height that are at least d below the surface.
func (k *sector) ball(s *solid, d float64) ball {
	z := within((k.z[0]+k.z[1])/2, s.hz-d)
	hz := max(k.z[1]-z, z-k.z[0])
	if k.half >= math.Pi/2 { // about the axis, every direction is as far
		return ball{[3]float64{0, 0, z}, math.Hypot(k.r[1], hz)}
	}
	// The outer corner is nearest at r1·cos and farther than the inner one up to
	// (r0+r1)/(2·cos), so the best centre is at the smaller of the two.
	half := math.Cos(k.half)
	rc := within(min(k.r[1]*half, (k.r[0]+k.r[1])/(2*half)), s.radius-d)
	var flat float64
	for _, r := range k.r {
		flat = max(flat, math.Sqrt(max(0, r*r+rc*rc-2*r*rc*half)))
	}
	sin, cos := math.Sincos(k.mid)
	return ball{[3]float64{rc * cos, rc * sin, z}, math.Hypot(flat, hz)}
}

// coverCylinder halves a sector until some ball about it reaches no further than
// tau beyond the cylinder.
func (t *tree) coverCylinder(s *solid, tau float64, k sector) int32 {
	c := k.ball(s, 0)
	best, beyond := ball{}, math.Inf(1)
	for _, p := range depths {
		b := k.ball(s, p*c.r)
		if o := s.distance(b.c) + b.r; o < beyond {
			best, beyond = b, o
		}
	}
	if beyond <= tau {
		return t.leaf(best)
	}
	hz := (k.z[1] - k.z[0]) / 2
	a, b := k, k
	switch {
	case k.half > math.Pi/2 && hz > math.Sqrt(2*s.radius*tau+tau*tau), // a shorter slice fits a ball on the axis
		2*hz >= max(k.r[1]-k.r[0], 2*k.half*k.r[1]):
		m := (k.z[0] + k.z[1]) / 2
		a.z[1], b.z[0] = m, m
	case k.r[1]-k.r[0] >= 2*k.half*k.r[1]:
		m := (k.r[0] + k.r[1]) / 2
		a.r[1], b.r[0] = m, m
	default:
		a.half, b.half = k.half/2, k.half/2
		a.mid, b.mid = k.mid-k.half/2, k.mid+k.half/2
	}
	left := t.coverCylinder(s, tau, a)
	right := t.coverCylinder(s, tau, b)
	return t.inner(c.c, left, right)
}

func mix(a, b [3]float64) [3]float64 {
	return [3]float64{(a[0] + b[0]) / 2, (a[1] + b[1]) / 2, (a[2] + b[2]) / 2}
}

func dist(a, b [3]float64) float64 {
	x, y, z := a[0]-b[0], a[1]-b[1], a[2]-b[2]
	return math.Sqrt(x*x + y*y + z*z)
}
