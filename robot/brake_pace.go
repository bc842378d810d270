package robot

import "math"

// The paces that BrakeAlongPath tries: the part of a stop's duration, delay left
// out, that the first and the last of its three phases take.
var paceShapes = [...][2]float64{
	{0.5, 0.5}, {0.3, 0.3}, {0.15, 0.15}, {0.05, 0.05}, {0.3, 0.7},
	{0.15, 0.5}, {0.1, 0.9}, {0.7, 0.3}, {0.5, 0.15}, {0.9, 0.1},
}

const (
	// paceDelays is the number of delays that are tried, in parts of the longest stop.
	paceDelays = 8
	// paceSamples is at how many instants of each of its phases a pace is held against
	// the limits.
	paceSamples = 12
	// paceHalvings bounds the bisection of a stop's duration.
	paceHalvings = 6
	// paceGain is the fraction by which a stop has to be shorter than another to be
	// preferred.
	paceGain = 0.02
)

// paceTrials are the parts of the longest duration that are tried until one is
// within the limits: a longer stop isn't always the easier one, since it gets to
// more of the path.
var paceTrials = [...]float64{1, 0.75, 0.55}

// pace is u as a function of the time since the stop, in four phases of constant u”':
// the delay, and three in which u' falls from 1 to 0. Each starts at u, v = u' and
// a = u”.
type pace struct {
	t, u, v, a, j [4]float64
	shape         [2]float64
	delay         float64
	duration      float64 // s, all phases
	end           float64 // u where it comes to rest
}

// newPace returns the pace with a delay and then a double S of duration d.
func newPace(delay, d float64, shape [2]float64) pace {
	r1, r2 := shape[0]*d, shape[1]*d
	constant := (1 - shape[0] - shape[1]) * d
	if constant < phaseRounding*d {
		constant = 0
	}
	peak := 1 / (r1/2 + constant + r2/2)
	p := pace{
		t: [4]float64{delay, r1, constant, r2}, j: [4]float64{0, -peak / r1, 0, peak / r2},
		shape: shape, delay: delay, duration: delay + d,
	}
	u, v, a := 0.0, 1.0, 0.0
	for k := range p.t {
		p.u[k], p.v[k], p.a[k] = u, v, a
		if k == 3 {
			p.a[k], p.v[k] = -peak, peak*r2/2 // ends at rest to the last bit
		}
		u, v, a = cubic(u, p.v[k], p.a[k], p.j[k], p.t[k])
	}
	p.end = u
	return p
}

// within reports whether at every sample the accelerations and jerks are within the
// limits times margin. Velocities are no higher than t's.
func (b *pathBrake) within(p *pace, margin float64) bool {
	at := b.first
	for k := 1; k < len(p.t); k++ {
		if p.t[k] == 0 {
			continue
		}
		for m := range paceSamples + 1 {
			u, du, ddu := cubic(p.u[k], p.v[k], p.a[k], p.j[k], p.t[k]*float64(m)/paceSamples)
			s, t := b.seek(&at, u)
			j3, j2 := du*du*du, 3*du*ddu
			for i := range s.V {
				_, v, a := cubic(0, s.V[i], s.A[i], s.J[i], t)
				l := &b.limits[i]
				if !(math.Abs(a*du*du+v*ddu) <= margin*l.Acceleration) ||
					!(math.Abs(s.J[i]*j3+a*j2+v*p.j[k]) <= margin*l.Jerk) {
					return false
				}
			}
		}
	}
	return true
}

// paced returns the shortest stop at another pace that it finds, if it takes no more
// than longest.
func (b *pathBrake) paced(longest float64) (Trajectory, bool) {
	for _, margin := range [...]float64{1, 0.85} {
		best, found := b.search(longest, margin)
		if !found {
			break
		}
		for _, slower := range [...]float64{1, 1.01, 1.03, 1.06, 1.12} {
			p := newPace(best.delay, slower*(best.duration-best.delay), best.shape)
			if p.duration > longest {
				break
			}
			if stop, ok := b.segments(&p); ok {
				return stop, true
			}
		}
	}
	return Trajectory{}, false
}

// search returns the shortest pace that the samples permit.
func (b *pathBrake) search(longest, margin float64) (best pace, found bool) {
	shortest := longest
	for k := range paceDelays {
		delay := longest * float64(k) / paceDelays
		for _, shape := range paceShapes {
			lo := max(b.least-delay, 1e-3*longest)
			hi := (1-paceGain)*shortest - delay
			ok := false
			for _, part := range paceTrials {
				d := hi * part
				if d < lo {
					break
				}
				p := newPace(delay, d, shape)
				if ok = b.within(&p, margin); ok {
					best, hi, found = p, d, true
					break
				}
				if found {
					break
				}
			}
			if !ok {
				continue
			}
			for range paceHalvings {
				d := lo + (hi-lo)/2
				p := newPace(delay, d, shape)
				if b.within(&p, margin) {
					best, hi = p, d
				} else {
					lo = d
				}
			}
			shortest = best.duration
		}
	}
	return best, found
}
