package robot

import "math"

const (
	// paceKnots is the number of knots that a stop starts with, beside those at
	// changes of phase and of t's segments; paceDoublings is how often it may be
	// doubled. phaseKnots is the least number in a phase.
	paceKnots     = 32
	paceDoublings = 2
	phaseKnots    = 4
	// paceApart is the shortest distance of a knot at a change of t's segments from
	// others, as a fraction of the stop's duration: cubes of shorter ones drown in
	// rounding.
	paceApart = 2e-3
)

// segments returns the stop of a pace as segments, unless it can't be followed or
// isn't within the limits.
func (b *pathBrake) segments(p *pace) (Trajectory, bool) {
	for m := range paceDoublings + 1 {
		b.place(p, p.duration/float64(int(paceKnots)<<m))
		out := b.join()
		if b.follows(out, p) {
			return out, b.keeps(out)
		}
	}
	return Trajectory{}, false
}

// place puts the knots: at most spacing s apart, at each change of phase and where t
// changes from one segment to the next.
func (b *pathBrake) place(p *pace, spacing float64) {
	b.knots = b.knots[:0]
	apart := paceApart * p.duration
	at, next := b.first, b.first
	b.knot(&at, 0, 0, 1, 0)
	t0 := 0.0
	for k := range p.t {
		if p.t[k] == 0 {
			continue
		}
		end, _, _ := cubic(p.u[k], p.v[k], p.a[k], p.j[k], p.t[k])
		lo := 0.0
		fill := func(hi float64) {
			parts := math.Ceil((hi - lo) / min(spacing, p.t[k]/phaseKnots))
			for m := 1.0; m <= parts; m++ {
				t := lo + (hi-lo)*m/parts
				u, v, a := cubic(p.u[k], p.v[k], p.a[k], p.j[k], t)
				b.knot(&at, t0+t, u, v, a)
			}
			lo = hi
		}
		for ; next.k < len(b.t.Segments)-1; next.k++ {
			u := next.start + b.t.Segments[next.k].Duration
			if u >= end {
				break
			}
			next.start = u
			if hi := p.when(k, u); hi-lo >= apart && p.t[k]-hi >= apart {
				fill(hi)
			}
		}
		fill(p.t[k])
		t0 += p.t[k]
	}
	// The last one is at rest exactly.
	clear(b.knots[len(b.knots)-2*len(b.q):])
}

// when returns the time after phase k's start at which it gets to u, by bisection.
func (p *pace) when(k int, u float64) float64 {
	lo, hi := 0.0, p.t[k]
	for range 45 {
		mid := lo + (hi-lo)/2
		if x, _, _ := cubic(p.u[k], p.v[k], p.a[k], p.j[k], mid); x < u {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// knot appends a knot t seconds after the stop.
func (b *pathBrake) knot(at *place, t, u, du, ddu float64) {
	s, in := b.seek(at, u)
	b.knots = append(b.knots, t)
	n := len(b.q)
	base := len(b.knots)
	for range 3 {
		b.knots = append(b.knots, b.x...)
	}
	row := b.knots[base:]
	for i := range n {
		q, v, a := cubic(s.Q[i], s.V[i], s.A[i], s.J[i], in)
		row[i], row[n+i], row[2*n+i] = q, v*du, a*du*du+v*ddu
	}
}

// join returns the segments between the knots: three of equal duration between two
// knots, whose jerks take each joint from one's position, velocity and acceleration
// to the other's. With a third of the interval as the unit of time they solve
//
//	j1 + j2 + j3 = A    5·j1 + 3·j2 + j3 = 2·V    19·j1 + 7·j2 + j3 = 6·Q
//
// where A, V and Q are by how much the second knot differs from where the first one's
// state would lead with no jerk.
func (b *pathBrake) join() Trajectory {
	n := len(b.q)
	w := 1 + 3*n
	count := 3 * (len(b.knots)/w - 1)
	out := Trajectory{Joints: append([]string(nil), b.t.Joints...), Segments: make([]Segment, count)}
	flat := make([]float64, 4*n*count)
	for c := range count {
		row := flat[4*n*c:]
		out.Segments[c] = Segment{Q: row[:n:n], V: row[n : 2*n : 2*n], A: row[2*n : 3*n : 3*n], J: row[3*n : 4*n : 4*n]}
	}
	for c := 0; c < count; c += 3 {
		k0, k1 := b.knots[c/3*w:], b.knots[(c/3+1)*w:]
		t := (k1[0] - k0[0]) / 3
		k0, k1 = k0[1:w], k1[1:w]
		for i := range n {
			q, v, a := k0[i], k0[n+i], k0[2*n+i]
			da := (k1[2*n+i] - a) / t
			dv := ((k1[n+i]-v)/t - 3*a) / t
			dq := (((k1[i]-q)/t-3*v)/t - 4.5*a) / t
			j1 := dq - dv + da/3
			j2 := dv - da/2 - 2*j1
			for m, j := range [...]float64{j1, j2, da - j1 - j2} {
				s := &out.Segments[c+m]
				s.Duration = t
				s.Q[i], s.V[i], s.A[i], s.J[i] = q, v, a, j
				q, v, a = cubic(q, v, a, j, t)
			}
		}
	}
	return out
}

// follows reports whether the segments, three between two knots, are near enough to t
// between the knots, at which they are on it.
func (b *pathBrake) follows(out Trajectory, p *pace) bool {
	tol := b.tolerance(b.knots[len(b.knots)-3*len(b.q) : len(b.knots)-2*len(b.q)])
	at := b.first
	k, t0, start := 0, 0.0, 0.0
	for c := range out.Segments {
		s := &out.Segments[c]
		// The middle of each segment.
		t := start + s.Duration/2
		for k < 3 && t > t0+p.t[k] {
			t0 += p.t[k]
			k++
		}
		u, _, _ := cubic(p.u[k], p.v[k], p.a[k], p.j[k], t-t0)
		orig, in := b.seek(&at, u)
		for i := range s.Q {
			want, _, _ := cubic(orig.Q[i], orig.V[i], orig.A[i], orig.J[i], in)
			got, _, _ := cubic(s.Q[i], s.V[i], s.A[i], s.J[i], s.Duration/2)
			if !(math.Abs(got-want) <= tol) {
				return false
			}
		}
		start += s.Duration
	}
	return true
}

// keeps reports whether every joint is within its limits of velocity, acceleration
// and jerk everywhere: in a segment an acceleration is largest at an end, a velocity
// there or where the acceleration is zero.
func (b *pathBrake) keeps(out Trajectory) bool {
	const over = 1 + RateTolerance/2
	for c := range out.Segments {
		s := &out.Segments[c]
		for i := range s.Q {
			l := &b.limits[i]
			_, v, a := cubic(0, s.V[i], s.A[i], s.J[i], s.Duration)
			_, top, _ := cubic(0, s.V[i], s.A[i], s.J[i], inside(-s.A[i]/s.J[i], s.Duration))
			if !(math.Abs(s.J[i]) <= over*l.Jerk) ||
				!(max(math.Abs(s.A[i]), math.Abs(a)) <= over*l.Acceleration) ||
				!(max(math.Abs(s.V[i]), math.Abs(top), math.Abs(v)) <= over*l.Velocity) {
				return false
			}
		}
	}
	return true
}
