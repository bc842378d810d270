package planning

import (
	"math"

	"github.com/tau-robot/tau/motion/trajectory"
	"github.com/tau-robot/tau/robot"
)

// spline is the cubic spline through knots at equal distances of its parameter,
// which runs from 0 to 1. Its slopes at both ends are those of the cubic through
// the four knots there. It is immutable.
type spline struct {
	dof    int
	knots  []float64 // n+1 configurations, one after the other
	m      []float64 // the second derivatives there
	breaks []float64 // the parameters of the inner knots
}

var _ trajectory.Piecewise = (*spline)(nil)

// leastKnots is how many intervals a spline has at least.
const leastKnots = 4

// newSpline returns the spline through n+1 configurations, n at least leastKnots. It
// keeps knots. The second derivatives solve the tridiagonal system of the clamped
// spline (de Boor, A Practical Guide to Splines, chapter IV).
func newSpline(knots []float64, dof int) *spline {
	n := len(knots)/dof - 1
	h := 1 / float64(n)
	s := &spline{dof: dof, knots: knots, m: make([]float64, len(knots)), breaks: make([]float64, n-1)}
	for k := range s.breaks {
		s.breaks[k] = float64(k+1) / float64(n)
	}
	c := make([]float64, n+1) // the upper diagonal, eliminated
	for i := range dof {
		q := func(k int) float64 { return knots[k*dof+i] }
		m := func(k int) *float64 { return &s.m[k*dof+i] }
		// Differences from the end, so that a joint far from 0 loses no digits.
		d0 := (18*(q(1)-q(0)) - 9*(q(2)-q(0)) + 2*(q(3)-q(0))) / (6 * h)
		dn := (18*(q(n)-q(n-1)) - 9*(q(n)-q(n-2)) + 2*(q(n)-q(n-3))) / (6 * h)
		c[0] = 0.5
		*m(0) = 3 / h * ((q(1)-q(0))/h - d0)
		for k := 1; k < n; k++ {
			p := 4 - c[k-1]
			c[k] = 1 / p
			*m(k) = (6/(h*h)*((q(k+1)-q(k))-(q(k)-q(k-1))) - *m(k - 1)) / p
		}
		*m(n) = (6/h*(dn-(q(n)-q(n-1))/h) - *m(n - 1)) / (2 - c[n-1])
		for k := n - 1; k >= 0; k-- {
			*m(k) -= c[k] * *m(k + 1)
		}
	}
	return s
}

func (s *spline) intervals() int { return len(s.knots)/s.dof - 1 }

// knot returns the configuration at knot k; it belongs to the spline.
func (s *spline) knot(k int) []float64 { return s.knots[k*s.dof : (k+1)*s.dof] }

// piece returns joint i in interval k as a cubic of the parameter since its start:
// q + v·t + a·t²/2 + j·t³/6.
func (s *spline) piece(k, i int) (q, v, a, j float64) {
	n := float64(s.intervals())
	at := k*s.dof + i
	q, a = s.knots[at], s.m[at]
	end := s.m[at+s.dof]
	return q, (s.knots[at+s.dof]-q)*n - (2*a+end)/(6*n), a, (end - a) * n
}

// At is trajectory.Curve's.
func (s *spline) At(x float64, q, d1, d2, d3 []float64) {
	n := s.intervals()
	k := min(max(int(x*float64(n)), 0), n-1)
	t := x - float64(k)/float64(n)
	for i := range q {
		q0, v, a, j := s.piece(k, i)
		q[i] = q0 + t*(v+t*(a/2+t*j/6))
		d1[i], d2[i], d3[i] = v+t*(a+t*j/2), a+t*j, j
	}
	if x == 1 {
		copy(q, s.knot(n))
	}
}

// Breaks is trajectory.Piecewise's.
func (s *spline) Breaks() []float64 { return s.breaks }

// within returns the first joint and the value with which the spline leaves the
// limits, -1 if it doesn't anywhere.
func (s *spline) within(limits []robot.JointLimits) (joint int, value float64) {
	h := 1 / float64(s.intervals())
	for k := range s.intervals() {
		for i := range limits {
			q, v, a, j := s.piece(k, i)
			if x, out := leavesLimits(&limits[i], q, v, a, j, h); out {
				return i, x
			}
		}
	}
	return -1, 0
}

// leavesLimits reports whether q + v·t + a·t²/2 + j·t³/6 is outside the limits for a t
// from 0 to h, and a value there: its extrema are at the ends and where the
// derivative is zero.
func leavesLimits(l *robot.JointLimits, q, v, a, j, h float64) (float64, bool) {
	if !l.Bounded {
		return 0, false
	}
	// The form of the roots without cancellation; NaN and infinity are never between.
	root := -(a + math.Copysign(math.Sqrt(a*a-2*j*v), a))
	for _, t := range [...]float64{0, h, root / j, 2 * v / root} {
		if !(t >= 0 && t <= h) {
			continue
		}
		x := q + t*(v+t*(a/2+t*j/6))
		if x < l.Lower-robot.PositionTolerance/2 || x > l.Upper+robot.PositionTolerance/2 {
			return x, true
		}
	}
	return 0, false
}

// segments appends the spline as constant-jerk segments whose time is the parameter
// to dst: what a checker of trajectories can follow exactly.
func (s *spline) segments(dst []robot.Segment) []robot.Segment {
	n := s.intervals()
	flat := make([]float64, 4*s.dof*n)
	for k := range n {
		row := flat[4*s.dof*k:]
		seg := robot.Segment{Duration: 1 / float64(n), Q: row[:s.dof], V: row[s.dof : 2*s.dof], A: row[2*s.dof : 3*s.dof], J: row[3*s.dof : 4*s.dof]}
		for i := range s.dof {
			seg.Q[i], seg.V[i], seg.A[i], seg.J[i] = s.piece(k, i)
		}
		dst = append(dst, seg)
	}
	return dst
}
