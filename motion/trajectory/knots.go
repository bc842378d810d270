package trajectory

import (
	"fmt"
	"math"

	"github.com/tau-robot/tau/robot"
)

// place puts knots along the profile until the motion is as near to its curve as
// it has to be: one at each change of phase and each of the curve's breaks, and
// more between them.
func (b *timer) place(where string, p Profile) error {
	b.knots = b.knots[:0]
	spacing := max(knotSpacing, p.Duration()/baseKnots)
	// Breaks nearer than this to another knot, s, are left out: the cubes of shorter
	// intervals drown in rounding.
	apart := p.Duration() * leastInterval
	phases, n := p.phases()
	t := 0.0
	b.rest(0, b.from)
	next := 0
	for k := range phases[:n] {
		f := &phases[k]
		end, _, _ := f.at(f.t)
		lo := 0.0
		for ; next < len(b.breaks) && b.breaks[next] < end; next++ {
			hi := f.when(b.breaks[next])
			if hi-lo < apart || f.t-hi < apart {
				continue
			}
			if err := b.fill(where, f, t, lo, hi, spacing, false); err != nil {
				return err
			}
			lo = hi
		}
		if err := b.fill(where, f, t, lo, f.t, spacing, k == n-1); err != nil {
			return err
		}
		t += f.t
	}
	return nil
}

// when returns the time after the phase's start at which the path parameter is s,
// by bisection; its ends where s is beyond them.
func (f *phase) when(s float64) float64 {
	lo, hi := 0.0, f.t
	for range 50 {
		mid := lo + (hi-lo)/2
		if at, _, _ := f.at(mid); at < s {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// fill puts knots between two instants of a phase, the second included.
func (b *timer) fill(where string, f *phase, t0, lo, hi, spacing float64, last bool) error {
	parts := math.Ceil((hi - lo) / spacing)
	for m := range int(parts) {
		from, to := lo+(hi-lo)*float64(m)/parts, lo+(hi-lo)*float64(m+1)/parts
		// The last knot of all is at rest exactly.
		if err := b.halve(where, f, t0, from, to, maxHalvings, last && m == int(parts)-1); err != nil {
			return err
		}
	}
	return nil
}

func (b *timer) rest(t float64, q []float64) {
	b.knots = append(append(b.knots, t), q...)
	for range 2 * len(q) {
		b.knots = append(b.knots, 0)
	}
}

// width is the number of elements of a knot.
func (b *timer) width() int { return 1 + 3*len(b.names) }

// knot appends the knot at t of a phase that starts at t0 of the profile.
func (b *timer) knot(f *phase, t0, t float64) {
	s, v, a := f.at(t)
	b.curve.At(min(1, max(0, s)), b.q, b.d1, b.d2, b.d3)
	b.knots = append(append(b.knots, t0+t), b.q...)
	for _, d := range b.d1 {
		b.knots = append(b.knots, d*v)
	}
	for i, d := range b.d1 {
		b.knots = append(b.knots, b.d2[i]*v*v+d*a)
	}
}

// halve appends knots up to the one at hi of a phase that starts at t0 of the
// profile; the last one so far is at lo.
func (b *timer) halve(where string, f *phase, t0, lo, hi float64, depth int, last bool) error {
	w := b.width()
	if last {
		b.rest(t0+hi, b.to)
	} else {
		b.knot(f, t0, hi)
	}
	if b.follows(f, lo, hi) {
		if len(b.knots) > w*maxKnots {
			return tooMany(where, f, hi)
		}
		return nil
	}
	if depth == 0 {
		return robot.Errf(robot.CodeInvalidArgument, where, "can't be followed: it bends too sharply")
	}
	b.knots = b.knots[:len(b.knots)-w]
	mid := lo + (hi-lo)/2
	if err := b.halve(where, f, t0, lo, mid, depth-1, false); err != nil {
		return err
	}
	return b.halve(where, f, t0, mid, hi, depth-1, last)
}

// tooMany says how much of the curve takes up all knots, t after the start of a phase.
func tooMany(where string, f *phase, t float64) error {
	done, _, _ := f.at(t)
	done = min(1, max(1.0/maxKnots, done))
	return robot.LimitErr(robot.CodeInvalidArgument, where, math.Ceil(maxKnots/done), maxKnots, "knots",
		fmt.Sprintf("is too long, or bends too often, to be followed in one motion: its first %.3g %% take as many knots as there may be; go on in parts", 100*done))
}

// follows reports whether the motion between the last two knots, which are at lo
// and hi of a phase, is near enough to the curve.
func (b *timer) follows(f *phase, lo, hi float64) bool {
	w, n := b.width(), len(b.names)
	k0, k1 := b.knots[len(b.knots)-2*w:len(b.knots)-w], b.knots[len(b.knots)-w:]
	h := k1[0] - k0[0]
	for _, part := range [...]float64{0.25, 0.5, 0.75} {
		s, _, _ := f.at(lo + part*(hi-lo))
		b.curve.At(min(1, max(0, s)), b.q, b.d1, b.d2, b.d3)
		for i := range n {
			p := between(k0[1:], k1[1:], n, i, h)
			if !(math.Abs(p.at(part*h)-b.q[i]) <= b.tolerance) {
				return false
			}
		}
	}
	return true
}

// pieces are three stretches of one joint, each a third of an interval long and of
// constant jerk.
type pieces struct {
	third   float64 // s
	q, v, a [3]float64
	j       [3]float64
}

// between returns the pieces that take joint i of n from one knot's position,
// velocity and acceleration to another's, h later. The jerks solve, with the
// thirds' duration as the unit of time,
//
//	j1 + j2 + j3 = A    5·j1 + 3·j2 + j3 = 2·B    19·j1 + 7·j2 + j3 = 6·C
//
// where A, B and C are what the first knot's state leaves of the second one's
// acceleration, velocity and position.
func between(k0, k1 []float64, n, i int, h float64) pieces {
	t := h / 3
	q, v, a := k0[i], k0[n+i], k0[2*n+i]
	da := (k1[2*n+i] - a) / t
	dv := ((k1[n+i]-v)/t - 3*a) / t
	dq := ((k1[i]-q)/t - 3*v) / t
	dq = (dq - 4.5*a) / t
	j1 := dq - dv + da/3
	j2 := dv - da/2 - 2*j1
	p := pieces{third: t, j: [3]float64{j1, j2, da - j1 - j2}}
	for k, j := range p.j {
		p.q[k], p.v[k], p.a[k] = q, v, a
		q, v, a = q+t*(v+t*(a/2+t*j/6)), v+t*(a+t*j/2), a+t*j
	}
	return p
}

// at returns the position t after the first piece's start.
func (p *pieces) at(t float64) float64 {
	k := 0
	switch { // not by division: nothing is known of the quotient of tiny numbers
	case t >= 2*p.third:
		k = 2
	case t >= p.third:
		k = 1
	}
	t -= float64(k) * p.third
	return p.q[k] + t*(p.v[k]+t*(p.a[k]/2+t*p.j[k]/6))
}

// segments appends the segments between the knots to dst.
func (b *timer) segments(dst []robot.Segment) []robot.Segment {
	w, n := b.width(), len(b.names)
	count := 3 * (len(b.knots)/w - 1)
	flat := make([]float64, 4*n*count)
	if cap(dst)-len(dst) < count {
		dst = append(make([]robot.Segment, 0, len(dst)+count), dst...)
	}
	for at := w; at < len(b.knots); at += w {
		k0, k1 := b.knots[at-w:at], b.knots[at:at+w]
		h := k1[0] - k0[0]
		first := len(dst)
		for range 3 {
			dst = append(dst, robot.Segment{
				Duration: h / 3, Q: flat[:n:n], V: flat[n : 2*n : 2*n], A: flat[2*n : 3*n : 3*n], J: flat[3*n : 4*n : 4*n],
			})
			flat = flat[4*n:]
		}
		for i := range n {
			p := between(k0[1:], k1[1:], n, i, h)
			for k := range 3 {
				s := &dst[first+k]
				s.Q[i], s.V[i], s.A[i], s.J[i] = p.q[k], p.v[k], p.a[k], p.j[k]
			}
		}
	}
	return dst
}

// stretch returns how many times as long the segments have to take to be within
// the limits everywhere: an acceleration is largest at an end, a velocity there or
// where the acceleration is zero.
func stretch(segments []robot.Segment, limits []robot.JointLimits) float64 {
	var k float64
	for n := range segments {
		s := &segments[n]
		for i := range s.Q {
			v, a, j := s.V[i], s.A[i], s.J[i]
			end := a + j*s.Duration
			speed := max(math.Abs(v), math.Abs(v+s.Duration*(a+j*s.Duration/2)))
			if (a < 0) != (end < 0) {
				speed = max(speed, math.Abs(v-a*a/(2*j)))
			}
			l := &limits[i]
			k = raise(k, speed/l.Velocity, max(math.Abs(a), math.Abs(end))/l.Acceleration, math.Abs(j)/l.Jerk)
		}
	}
	return k
}

// rescale makes segments k times as long. What is measured by time follows.
func rescale(segments []robot.Segment, k float64) {
	v, a := 1/k, 1/(k*k)
	j := a / k
	for n := range segments {
		s := &segments[n]
		s.Duration *= k
		for i := range s.Q {
			s.V[i] *= v
			s.A[i] *= a
			s.J[i] *= j
		}
	}
}
