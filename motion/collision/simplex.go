package collision

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"
)

// simplex is up to four points; the point of their hull that is nearest to the
// origin is a mix of all of them. n is 4 where the hull contains the origin.
type simplex struct {
	p [4]mgl64.Vec3
	n int
}

func (s *simplex) has(w mgl64.Vec3) bool {
	for _, p := range s.p[:s.n] {
		if p == w {
			return true
		}
	}
	return false
}

// add takes in a point, drops what the nearest point doesn't need, and returns
// the nearest point. Of all subsets of the points the right one is that whose
// nearest point is a mix of it with positive weights and is shortest; trying
// each is what Gilbert, Johnson and Keerthi call the backup procedure, slower
// than their order and safe from its rounding.
func (s *simplex) add(w mgl64.Vec3) mgl64.Vec3 {
	s.p[s.n] = w
	s.n++
	shortest, keep, nearest := math.Inf(1), 0, w
	for subset := 1; subset < 1<<s.n; subset++ {
		var q [4]mgl64.Vec3
		k := 0
		for i := range s.n {
			if subset>>i&1 == 1 {
				q[k] = s.p[i]
				k++
			}
		}
		if v, ok := foot(q[:k]); ok {
			if l := v.Dot(v); l < shortest {
				shortest, keep, nearest = l, subset, v
			}
		}
	}
	k := 0
	for i := range s.n {
		if keep>>i&1 == 1 {
			s.p[k] = s.p[i]
			k++
		}
	}
	s.n = k
	return nearest
}

// foot returns the point nearest to the origin of the point, line, plane or space
// through one to four points; ok is false where it lies outside their hull or they
// are too flat to say.
func foot(q []mgl64.Vec3) (v mgl64.Vec3, ok bool) {
	const flat = 1e-12
	a := q[0]
	switch len(q) {
	case 1:
		return a, true
	case 2:
		e := q[1].Sub(a)
		l := e.Dot(e)
		if l == 0 {
			return v, false
		}
		x := -a.Dot(e) / l
		return a.Add(e.Mul(x)), x > 0 && x < 1
	case 3:
		e, f := q[1].Sub(a), q[2].Sub(a)
		n := e.Cross(f)
		l := n.Dot(n)
		if l <= flat*e.Dot(e)*f.Dot(f) {
			return v, false
		}
		x, y := n.Dot(f.Cross(a))/l, n.Dot(a.Cross(e))/l
		return n.Mul(n.Dot(a) / l), x > 0 && y > 0 && x+y < 1
	default:
		e, f, g := q[1].Sub(a), q[2].Sub(a), q[3].Sub(a)
		det := e.Dot(f.Cross(g))
		if math.Abs(det) <= flat*e.Len()*f.Len()*g.Len() {
			return v, false
		}
		x, y, z := -a.Dot(f.Cross(g))/det, -e.Dot(a.Cross(g))/det, -e.Dot(f.Cross(a))/det
		return v, x > 0 && y > 0 && z > 0 && x+y+z < 1
	}
}
