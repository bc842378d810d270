package sim

import "math"

// Bounds of the distance iteration.
const (
	// gjkTolerance is by how much, in m, a distance may be above the true one.
	gjkTolerance = 1e-5
	// gjkCoreZero is the distance of two cores, m, below which they overlap.
	gjkCoreZero = 1e-10
	gjkPasses   = 64
)

// pairQuery asks for the distance of two shapes; rel is a's frame from b's frame.
type pairQuery struct {
	a, b *shape
	rel  frame
}

// support returns the point of the cores' difference A − B farthest along d, in
// a's frame.
func (q *pairQuery) support(d vec3) vec3 {
	pb := q.b.support(q.rel.R.tmul(d.Mul(-1)))
	return q.a.support(d).Sub(q.rel.apply(pb))
}

// separation is an answer: signed distance of the surfaces, m, negative where
// they overlap. Where exact is false the bodies are at least that far apart and
// the iteration was cut short.
type separation struct {
	dist  float64
	exact bool
	// dir is the direction from b to a that parts the bodies farthest of those
	// tried, to start the next query for the same pair with.
	dir vec3
	// cores is true where the cores overlap: dist is then minus the rounding radii, and
	// the true depth is what penetration adds.
	cores bool
}

// distance runs the Gilbert-Johnson-Keerthi iteration (1988) with the duality
// gap of van den Bergen (2003, section 4.3) as its end: |v| bounds the distance
// from above, v·w/|v| from below. guess is a direction to start with; enough is a
// distance, m, beyond which a lower bound will do (+Inf: exact in any case).
func (q *pairQuery) distance(guess vec3, enough, tol float64) separation {
	round := q.a.round + q.b.round
	if !(guess.Dot(guess) > 1e-20) {
		guess = q.a.centre.Sub(q.rel.apply(q.b.centre))
		if !(guess.Dot(guess) > 1e-20) {
			guess = vec3{1, 0, 0}
		}
	}
	var s simplex
	v := q.support(guess.Mul(-1))
	s.add(v)
	lower := math.Inf(-1)
	vv := v.Dot(v)
	for range gjkPasses {
		if vv <= gjkCoreZero*gjkCoreZero {
			return separation{dist: -round, exact: true, dir: guess, cores: true}
		}
		w := q.support(v.Mul(-1))
		norm := math.Sqrt(vv)
		if l := v.Dot(w) / norm; l > lower {
			lower, guess = l, v
		}
		if lower-round > enough {
			return separation{dist: lower - round, dir: guess}
		}
		if norm-lower <= tol || s.has(w) {
			return separation{dist: norm - round, exact: true, dir: guess}
		}
		s.add(w)
		next, inside := s.closest()
		if inside {
			return separation{dist: -round, exact: true, dir: guess, cores: true}
		}
		nn := next.Dot(next)
		if !(nn < vv) { // no progress that a float64 can show: v is the closest
			return separation{dist: norm - round, exact: true, dir: guess}
		}
		v, vv = next, nn
	}
	// Didn't converge: say the lower bound, never more than is proved.
	return separation{dist: math.Max(lower, 0) - round, exact: true, dir: guess}
}

// simplex holds up to four points of A − B.
type simplex struct {
	p [4]vec3
	n int
}

func (s *simplex) add(w vec3) {
	s.p[s.n] = w
	s.n++
}

func (s *simplex) has(w vec3) bool {
	for i := range s.n {
		if s.p[i] == w {
			return true
		}
	}
	return false
}

func (s *simplex) set(p ...vec3) { s.n = copy(s.p[:], p) }

// closest returns the point of the simplex's hull that is closest to the origin
// and reduces the simplex to the points that carry it; inside is true where the
// origin is within a tetrahedron. The cases are the Voronoi regions of C. Ericson,
// Real-Time Collision Detection, 2005, section 5.1.
func (s *simplex) closest() (v vec3, inside bool) {
	switch s.n {
	case 1:
		return s.p[0], false
	case 2:
		return s.segment(s.p[0], s.p[1]), false
	case 3:
		return s.triangle(s.p[0], s.p[1], s.p[2]), false
	}
	return s.tetrahedron()
}

func (s *simplex) segment(a, b vec3) vec3 {
	ab := b.Sub(a)
	t, d := -a.Dot(ab), ab.Dot(ab)
	switch {
	case t <= 0 || d == 0:
		s.set(a)
		return a
	case t >= d:
		s.set(b)
		return b
	}
	s.set(a, b)
	return a.Add(ab.Mul(t / d))
}

func (s *simplex) triangle(a, b, c vec3) vec3 {
	ab, ac := b.Sub(a), c.Sub(a)
	d1, d2 := -ab.Dot(a), -ac.Dot(a)
	if d1 <= 0 && d2 <= 0 {
		s.set(a)
		return a
	}
	d3, d4 := -ab.Dot(b), -ac.Dot(b)
	if d3 >= 0 && d4 <= d3 {
		s.set(b)
		return b
	}
	vc := d1*d4 - d3*d2
	if vc <= 0 && d1 >= 0 && d3 <= 0 {
		return s.segment(a, b)
	}
	d5, d6 := -ab.Dot(c), -ac.Dot(c)
	if d6 >= 0 && d5 <= d6 {
		s.set(c)
		return c
	}
	vb := d5*d2 - d1*d6
	if vb <= 0 && d2 >= 0 && d6 <= 0 {
		return s.segment(a, c)
	}
	va := d3*d6 - d5*d4
	if va <= 0 && d4-d3 >= 0 && d5-d6 >= 0 {
		return s.segment(b, c)
	}
	sum := va + vb + vc
	if !(sum > 0) { // a sliver: its longest edges carry the answer
		return s.best(a, b, c)
	}
	s.set(a, b, c)
	// The projection on the plane, from the normal: far more exact for flat
	// triangles than the sum of weighted corners.
	n := ab.Cross(ac)
	if nn := n.Dot(n); nn > 0 {
		return n.Mul(a.Dot(n) / nn)
	}
	return a.Add(ab.Mul(vb / sum)).Add(ac.Mul(vc / sum))
}

// best returns the closest point over the three edges of a degenerate triangle.
func (s *simplex) best(a, b, c vec3) vec3 {
	var out simplex
	v := out.segment(a, b)
	for _, e := range [...][2]vec3{{a, c}, {b, c}} {
		var t simplex
		if u := t.segment(e[0], e[1]); u.Dot(u) < v.Dot(v) {
			v, out = u, t
		}
	}
	*s = out
	return v
}

func (s *simplex) tetrahedron() (vec3, bool) {
	p := s.p
	best, found := math.Inf(1), false
	var out simplex
	var v vec3
	for _, f := range [...][4]int{{0, 1, 2, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}, {1, 3, 2, 0}} {
		a, b, c, d := p[f[0]], p[f[1]], p[f[2]], p[f[3]]
		n := b.Sub(a).Cross(c.Sub(a))
		// Signed heights over the face's plane of the origin and of the fourth
		// corner, both times |n|.
		ho, hd := -a.Dot(n), d.Sub(a).Dot(n)
		flat := math.Abs(hd) <= 1e-12*n.Len()*d.Sub(a).Len()
		if !flat && ho*hd > 0 {
			continue // the origin is on the inner side of this face
		}
		var t simplex
		u := t.triangle(a, b, c)
		if uu := u.Dot(u); uu < best {
			best, v, out, found = uu, u, t, true
		}
	}
	if !found {
		return vec3{}, true
	}
	*s = out
	return v, false
}
