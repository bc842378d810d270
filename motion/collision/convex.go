package collision

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/robot"
)

const (
	// gapPrecision is how exactly the gap of two primitive bodies is found, m.
	gapPrecision = 1e-7
	// gapSteps bounds the iterations; what is then known of the gap is a lower bound.
	gapSteps = 64
	// ringSamples is the number of directions that are tried around an axis, and
	// refined how many of the best of all are followed to where they lead.
	ringSamples, refined = 24, 2
)

// part is a primitive body at its place in the frame of a link, of which it is a
// part, or of the root.
type part struct {
	solid solid
	frame transform
	bound float64 // of any point from the body's centre, m
	thin  float64 // the body's thickness, m
}

func newPart(g *robot.Geometry, frame transform, w *ways) part {
	p := part{frame: frame, thin: thickness(g)}
	if g.Kind != robot.MeshGeometry {
		p.solid = newSolid(*g)
		p.bound = p.solid.diagonal() / 2
		return p
	}
	p.solid = hullOf(g.Mesh, w)
	for _, v := range p.solid.corners {
		p.bound = max(p.bound, v.Len()+p.solid.radius)
	}
	return p
}

// rounding splits a body into a convex core and what surrounds it evenly: a sphere
// is a point and a capsule a line with a radius, a box and a cylinder have none.
func (s *solid) rounding() float64 {
	switch s.kind {
	case robot.Sphere, robot.Capsule, robot.MeshGeometry:
		return s.radius
	}
	return 0
}

// support returns the point of the core that lies farthest along n.
func (s *solid) support(n mgl64.Vec3) mgl64.Vec3 {
	switch s.kind {
	case robot.MeshGeometry:
		return s.farthest(n)
	case robot.Sphere:
		return mgl64.Vec3{}
	case robot.Capsule:
		return mgl64.Vec3{0, 0, math.Copysign(s.hz, n[2])}
	case robot.Cylinder:
		p := mgl64.Vec3{0, 0, math.Copysign(s.hz, n[2])}
		if l := math.Hypot(n[0], n[1]); l > 0 {
			p[0], p[1] = s.radius*n[0]/l, s.radius*n[1]/l
		}
		return p
	default:
		return mgl64.Vec3{math.Copysign(s.half[0], n[0]), math.Copysign(s.half[1], n[1]), math.Copysign(s.half[2], n[2])}
	}
}

// extent returns how far the core reaches along n, for each length of n: its
// support function. But for a mesh the cores are symmetric, so it is the same along -n.
func (s *solid) extent(n mgl64.Vec3) float64 {
	switch s.kind {
	case robot.MeshGeometry:
		return s.farthest(n).Dot(n)
	case robot.Sphere:
		return 0
	case robot.Capsule:
		return s.hz * math.Abs(n[2])
	case robot.Cylinder:
		return s.hz*math.Abs(n[2]) + s.radius*math.Sqrt(n[0]*n[0]+n[1]*n[1])
	default:
		return s.half[0]*math.Abs(n[0]) + s.half[1]*math.Abs(n[1]) + s.half[2]*math.Abs(n[2])
	}
}

// couple is two primitive bodies; t maps coordinates of the second to the first.
type couple struct {
	a, b *solid
	t    transform
}

// separation returns how far apart the cores are along the unit vector n, which
// points from the first to the second; negative where they overlap along it. The
// gap is the largest separation of all directions.
func (c *couple) separation(n mgl64.Vec3) float64 {
	return n[0]*c.t[9] + n[1]*c.t[10] + n[2]*c.t[11] - c.a.extent(n) - c.b.extent(unturn(&c.t, n.Mul(-1)))
}

// gap returns the signed distance of two primitive bodies, m: the distance of
// their nearest points, and where they overlap the negative length of the
// shortest translation that parts them. It is never above the true one. n is the
// direction, from the first to the second, in which they are that far apart.
//
// Bodies that are apart are exact to gapPrecision. The depth of two that overlap
// by more than a rounding is the best of many directions (for two boxes all that
// there are: the separating axes of Gottschalk, Lin and Manocha, OBBTree, 1996,
// section 5) and of what they lead to by small turns.
func (c *couple) gap() (gap float64, n mgl64.Vec3) {
	if c.a.kind == robot.Sphere { // what is evenly around a point needs no search
		inv := relative(&c.t, &identity)
		p := [3]float64(inv[9:])
		return c.b.distance(p) - c.a.radius, turn(&c.t, c.b.outwards(p)).Mul(-1)
	}
	if c.b.kind == robot.Sphere {
		p := [3]float64(c.t[9:])
		return c.a.distance(p) - c.b.radius, c.a.outwards(p)
	}
	gap, n, apart := c.distance(math.Inf(1))
	if !apart {
		gap, n = c.depth()
	}
	return gap - c.a.rounding() - c.b.rounding(), n
}

// outwards returns the direction in which the distance to the body grows fastest
// at p, nearly.
func (s *solid) outwards(p [3]float64) (n mgl64.Vec3) {
	const h = 1e-6
	for k := range p {
		q, r := p, p
		q[k], r[k] = p[k]-h, p[k]+h
		n[k] = s.distance(r) - s.distance(q)
	}
	if l := n.Len(); l > 0 {
		return n.Mul(1 / l)
	}
	return mgl64.Vec3{0, 0, 1} // the middle: every direction is as good
}

// distance returns the distance of the cores by the algorithm of Gilbert,
// Johnson and Keerthi (A Fast Procedure for Computing the Distance Between Complex
// Objects, 1988) and its direction; apart is false where they overlap. Any lower
// bound that is at least enough will do.
func (c *couple) distance(enough float64) (lower float64, along mgl64.Vec3, apart bool) {
	v := mgl64.Vec3{c.t[9], c.t[10], c.t[11]}
	var s simplex
	for range gapSteps {
		l := v.Len()
		if l <= gapPrecision {
			return 0, along, false
		}
		n := v.Mul(1 / l)
		w := c.nearest(n)
		if x := n.Dot(w); x > lower {
			lower, along = x, n
		}
		if l-lower <= gapPrecision || lower >= enough || s.has(w) {
			break
		}
		if v = s.add(w); s.n == 4 {
			return 0, along, false // the origin is inside
		}
	}
	return lower, along, lower > 0
}

// nearest returns the point of the second core minus the first that lies farthest
// against n.
func (c *couple) nearest(n mgl64.Vec3) mgl64.Vec3 {
	a, b := c.a.support(n), apply(&c.t, [3]float64(c.b.support(unturn(&c.t, n.Mul(-1)))))
	return mgl64.Vec3{b[0] - a[0], b[1] - a[1], b[2] - a[2]}
}

// depth returns the largest separation of cores that overlap, and its direction.
func (c *couple) depth() (float64, mgl64.Vec3) {
	var axes []mgl64.Vec3
	for k := range 3 {
		axis := mgl64.Vec3{}
		axis[k] = 1
		axes = append(axes, axis, turn(&c.t, axis))
	}
	var best [refined]mgl64.Vec3
	score := [refined]float64{math.Inf(-1), math.Inf(-1)}
	try := func(n mgl64.Vec3) {
		l := n.Len()
		if l < 1e-9 {
			return
		}
		n = n.Mul(1 / l)
		if n[0]*c.t[9]+n[1]*c.t[10]+n[2]*c.t[11] < 0 {
			n = n.Mul(-1) // the cores are symmetric: this way is never the worse
		}
		x := c.separation(n)
		for i := range best {
			if x > score[i] {
				x, score[i] = score[i], x
				n, best[i] = best[i], n
			}
		}
	}
	try(mgl64.Vec3{c.t[9], c.t[10], c.t[11]})
	for i, a := range axes {
		try(a)
		for _, b := range axes[:i] {
			try(a.Cross(b))
		}
	}
	if c.a.kind == robot.Box && c.b.kind == robot.Box {
		return score[0], best[0]
	}
	for i, a := range axes {
		u := axes[(i+2)%len(axes)] // of the same body, so at a right angle to a
		v := a.Cross(u)
		for k := range ringSamples {
			sin, cos := math.Sincos(math.Pi * float64(k) / ringSamples)
			try(u.Mul(cos).Add(v.Mul(sin)))
		}
	}
	least, along := score[0], best[0]
	for i, n := range best {
		if n, x := c.climb(n, score[i]); x > least {
			least, along = x, n
		}
	}
	return least, along
}

// climb turns n by ever smaller angles while that makes the separation grow.
func (c *couple) climb(n mgl64.Vec3, score float64) (mgl64.Vec3, float64) {
	const first, last = 0.15, 1e-6 // rad
	const around, turnsAtOnce = 8, 40
	phase := 0.0
	for angle := first; angle > last; angle /= 3 {
		for tries, fruitless := 0, 0; fruitless < 2 && tries < turnsAtOnce; tries, fruitless = tries+1, fruitless+1 {
			u := perpendicular(n)
			v := n.Cross(u)
			at := n
			phase++ // other ways each time, so that none along a ridge is missed for long
			for k := range around {
				sin, cos := math.Sincos(phase + 2*math.Pi*float64(k)/around)
				m := at.Add(u.Mul(angle * cos)).Add(v.Mul(angle * sin)).Normalize()
				if x := c.separation(m); x > score {
					n, score, fruitless = m, x, -1
				}
			}
		}
	}
	return n, score
}

// perpendicular returns a unit vector at a right angle to n.
func perpendicular(n mgl64.Vec3) mgl64.Vec3 {
	axis := mgl64.Vec3{1, 0, 0}
	if math.Abs(n[0]) > 0.7 {
		axis = mgl64.Vec3{0, 1, 0}
	}
	return n.Cross(axis).Normalize()
}

// turn maps a direction by t, unturn by its inverse.
func turn(t *transform, n mgl64.Vec3) mgl64.Vec3 {
	return mgl64.Vec3{t[0]*n[0] + t[1]*n[1] + t[2]*n[2], t[3]*n[0] + t[4]*n[1] + t[5]*n[2], t[6]*n[0] + t[7]*n[1] + t[8]*n[2]}
}

func unturn(t *transform, n mgl64.Vec3) mgl64.Vec3 {
	return mgl64.Vec3{t[0]*n[0] + t[3]*n[1] + t[6]*n[2], t[1]*n[0] + t[4]*n[1] + t[7]*n[2], t[2]*n[0] + t[5]*n[1] + t[8]*n[2]}
}
