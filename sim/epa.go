package sim

import "math"

// Bounds of the expanding polytope iteration.
const (
	epaTolerance = 1e-6 // m
	epaPasses    = 200
)

type epaFace struct {
	p    [3]int
	n    vec3    // outward unit normal
	dist float64 // signed distance of its plane from the origin along n
}

// penetration returns how deep the cores of two overlapping shapes are in each
// other, m: the shortest translation that parts them (expanding polytope
// algorithm, van den Bergen 2003, section 4.3.8). Cores whose difference is flat
// touch without depth. The result is never less than the true depth, and at most
// epaTolerance more unless the iteration ran out of passes, which it does where a
// round body is about as deep in all directions: then some 0.1 mm.
func (q *pairQuery) penetration() float64 {
	base, ok := q.widest()
	if !ok {
		return 0
	}
	v := base[:]
	mid := v[0].Add(v[1]).Add(v[2]).Add(v[3]).Mul(0.25)
	var faces []epaFace
	for _, f := range [...][3]int{{0, 1, 2}, {0, 2, 3}, {0, 3, 1}, {1, 3, 2}} {
		if g, ok := newFace(v, f, mid); ok {
			faces = append(faces, g)
		}
	}
	upper := math.Inf(1)
	for range epaPasses {
		if len(faces) == 0 {
			break
		}
		at := 0
		for i := range faces {
			if faces[i].dist < faces[at].dist {
				at = i
			}
		}
		f := faces[at]
		w := q.support(f.n)
		h := w.Dot(f.n)
		upper = math.Min(upper, h)
		if h-f.dist <= epaTolerance {
			break
		}
		v = append(v, w)
		faces = expand(faces, v, mid)
	}
	if math.IsInf(upper, 1) {
		return 0
	}
	return math.Max(0, upper)
}

// spread returns extreme points of A − B in fourteen directions.
func (q *pairQuery) spread() []vec3 {
	out := make([]vec3, 0, 14)
	for x := -1.0; x <= 1; x++ {
		for y := -1.0; y <= 1; y++ {
			for z := -1.0; z <= 1; z++ {
				if k := math.Abs(x) + math.Abs(y) + math.Abs(z); k == 1 || k == 3 {
					out = append(out, q.support(vec3{x, y, z}))
				}
			}
		}
	}
	return out
}

// widest picks four extreme points of A − B that span a tetrahedron, false where
// A − B is flat: where it reaches no farther on either side of a plane.
func (q *pairQuery) widest() ([4]vec3, bool) {
	const flat = 1e-9
	p := q.spread()
	var out [4]vec3
	out[0] = p[0]
	pick := func(score func(vec3) float64) (vec3, float64) {
		best, at := -1.0, 0
		for i := range p {
			if s := score(p[i]); s > best {
				best, at = s, i
			}
		}
		return p[at], best
	}
	// Of the spread's directions ± x, y and z are there: all points are the same
	// only where the body is one point.
	var s float64
	if out[1], s = pick(func(x vec3) float64 { return x.Sub(out[0]).Len() }); s < flat {
		return out, false
	}
	e := out[1].Sub(out[0]).Normalize()
	across := e.Cross(vec3{1, 0, 0})
	if math.Abs(e[0]) > 0.7 {
		across = e.Cross(vec3{0, 1, 0})
	}
	for _, d := range [...]vec3{across, e.Cross(across)} {
		p = append(p, q.support(d), q.support(d.Mul(-1)))
	}
	if out[2], s = pick(func(x vec3) float64 { return x.Sub(out[0]).Cross(e).Len() }); s < flat {
		return out, false
	}
	n := out[1].Sub(out[0]).Cross(out[2].Sub(out[0])).Normalize()
	p = append(p, q.support(n), q.support(n.Mul(-1)))
	if out[3], s = pick(func(x vec3) float64 { return math.Abs(x.Sub(out[0]).Dot(n)) }); s < flat {
		return out, false
	}
	return out, true
}

func newFace(v []vec3, p [3]int, mid vec3) (epaFace, bool) {
	a := v[p[0]]
	n := v[p[1]].Sub(a).Cross(v[p[2]].Sub(a))
	l := n.Len()
	if !(l > 1e-18) {
		return epaFace{}, false
	}
	n = n.Mul(1 / l)
	if n.Dot(a.Sub(mid)) < 0 {
		n = n.Mul(-1)
		p[1], p[2] = p[2], p[1]
	}
	return epaFace{p: p, n: n, dist: n.Dot(a)}, true
}

// expand adds the newest point of v: faces that it sees go, their horizon is
// joined to it.
func expand(faces []epaFace, v []vec3, mid vec3) []epaFace {
	k := len(v) - 1
	w := v[k]
	kept := faces[:0]
	var edges [][2]int
	for _, f := range faces {
		if f.n.Dot(w)-f.dist <= 1e-12 {
			kept = append(kept, f)
			continue
		}
		for i := range 3 {
			e := [2]int{f.p[i], f.p[(i+1)%3]}
			twin := -1
			for j := range edges {
				if edges[j] == [2]int{e[1], e[0]} {
					twin = j
					break
				}
			}
			if twin >= 0 {
				edges[twin] = edges[len(edges)-1]
				edges = edges[:len(edges)-1]
			} else {
				edges = append(edges, e)
			}
		}
	}
	for _, e := range edges {
		if f, ok := newFace(v, [3]int{e[0], e[1], k}, mid); ok {
			kept = append(kept, f)
		}
	}
	return kept
}

// signedDistance returns the distance of two shapes, negative by their depth
// where they overlap.
func (q *pairQuery) signedDistance(guess vec3, enough float64) separation {
	s := q.distance(guess, enough, gjkTolerance)
	if s.cores {
		s.dist -= q.penetration()
	}
	return s
}
