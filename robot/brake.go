package robot

import "math"

// Phase is a stretch of one joint's motion with constant jerk; it starts at Q, V,
// A. Units are those of a Segment.
type Phase struct {
	Duration   float64 // s, > 0
	Q, V, A, J float64
}

// brakeRounding is how far, as a fraction of what the joint's braking takes, a
// velocity may be from one that a single phase ends exactly at rest before the
// difference is taken for more than rounding. The single phase then has a jerk
// that differs from the limit by at most this fraction.
const brakeRounding = 1e-10

// restRounding is the fraction of their limits below which a velocity and an
// acceleration together are rest.
const restRounding = 1e-12

// phaseRounding is the fraction of the last phase below which another phase is
// what rounding left of none.
const phaseRounding = 1e-12

// Brake returns the phases, at most three, that take one joint from position q
// (rad or m), velocity v and acceleration a to rest in the least time that its
// acceleration and jerk limits allow. It ends with velocity and acceleration
// exactly zero, and returns no phases for a joint that is at rest but for rounding.
//
// The profile is the time-optimal control of a double integrator in (v, a) with
// |jerk| and |a| bounded: at most full jerk against the motion, a constant
// acceleration, and full jerk back to a = 0. It is also the shortest: at each
// velocity the deceleration is the largest from which a = 0 can be reached in
// time, so no profile that doesn't turn round stops nearer. (Biagiotti and
// Melchiorri, Trajectory Planning for Automatic Machines and Robots, 2008,
// section 3.4, describes the same deceleration stretch; the closed form here
// allows any initial acceleration.)
//
// A joint that decelerates so hard that it must turn round does: it comes to rest
// on the way back. A joint on a trajectory within these limits never has to, and
// from such a state braking stays within position and velocity limits as well:
// the trajectory itself comes to rest in time, and braking stops nearer. An
// acceleration beyond its limit, which rounding can bring about, is first brought
// down to it. Where the state isn't finite or the limits aren't positive there is
// no profile and Brake returns nil: the joint is to be held where it is.
func Brake(q, v, a float64, lim JointLimits) []Phase {
	return appendBrake(nil, q, v, a, lim)
}

// brakeTimes is a braking profile without its position: up to three durations
// with the jerk of each.
type brakeTimes struct {
	t, j [3]float64
}

func planBrake(v, a float64, lim JointLimits) brakeTimes {
	var b brakeTimes
	if !finite(v) || !finite(a) || lim.Validate("") != nil || lim.Velocity == 0 {
		return b
	}
	am, jm := lim.Acceleration, lim.Jerk
	if math.Abs(v) <= restRounding*lim.Velocity && math.Abs(a) <= restRounding*am {
		return b
	}

	// What velocity is left when a has been taken to zero directly?
	direct := a * math.Abs(a) / (2 * jm)
	rest := v + direct
	if math.Abs(rest) <= brakeRounding*math.Abs(direct) && math.Abs(a) <= am*(1+brakeRounding) {
		// None: v and a are on the line that leads to rest. The jerk that ends
		// exactly there is a²/(2|v|), the time 2|v|/|a|.
		b.t[0], b.j[0] = 2*math.Abs(v/a), -a/(2*math.Abs(v/a))
		return b
	}

	// Mirrored, so that the velocity that is left is positive: it takes a
	// deceleration, of at most peak, to be rid of it.
	sign := math.Copysign(1, rest)
	v, a = sign*v, sign*a
	if a < -am*(1+brakeRounding) {
		// Decelerating beyond the limit: ease off to it. What is left at a = 0
		// doesn't change, since the state moves along the line of full jerk.
		b.t[0], b.j[0] = (-am-a)/jm, sign*jm
		v += (a - am) / 2 * b.t[0]
		b.t[1] = math.Max(0, v/am-am/(2*jm))
		b.t[2], b.j[2] = am/jm, sign*jm
		return b
	}
	// Without a limit (a² - peak²)/(2j) + v = peak²/(2j). Where a < 0 already, v
	// is at least a²/(2j), so but for rounding peak is at least -a.
	peak := math.Sqrt(math.Max(0, jm*v+a*a/2))
	if a < 0 {
		peak = math.Max(peak, -a)
	}
	if peak > am {
		peak = am
		b.t[1] = math.Max(0, v/am+(a/am)*(a/(2*jm))-am/jm)
	}
	b.t[0], b.j[0] = (a+peak)/jm, -sign*jm
	b.t[2], b.j[2] = peak/jm, sign*jm
	for k := range 2 {
		if b.t[k] < phaseRounding*b.t[2] {
			b.t[k] = 0
		}
	}
	return b
}

// appendBrake appends the phases of a joint to dst. The states at the starts of
// the phases come from the rest at the end, backwards, so that the end is exact,
// and from the state at the start, forwards, in the first phase.
func appendBrake(dst []Phase, q, v, a float64, lim JointLimits) []Phase {
	if !finite(q) {
		return dst
	}
	b := planBrake(v, a, lim)
	last := 2
	for last >= 0 && !(b.t[last] > 0) {
		last--
	}
	if last < 0 {
		return dst
	}
	p := Phase{Q: q, V: v, A: a}
	for k := 0; k <= last; k++ {
		if !(b.t[k] > 0) {
			continue
		}
		p.Duration, p.J = b.t[k], b.j[k]
		if k == last {
			// With a = -j·t and v = j·t²/2 the last phase ends at rest to the
			// last bit; the start differs by rounding from where the phase
			// before ended.
			jt := p.J * p.Duration
			p.A, p.V = -jt, jt*p.Duration/2
		}
		dst = append(dst, p)
		p.Q, p.V, p.A = cubic(p.Q, p.V, p.A, p.J, p.Duration)
	}
	return dst
}

// StoppingTime returns the least time, in seconds, in which a joint with velocity
// v and acceleration a comes to rest within its limits: the length of Brake's
// profile.
func StoppingTime(v, a float64, lim JointLimits) float64 {
	b := planBrake(v, a, lim)
	return b.t[0] + b.t[1] + b.t[2]
}

// StoppingDistance returns how far, in rad or m, the joint is from where it was
// when Brake's profile ends, with the sign of the displacement.
func StoppingDistance(v, a float64, lim JointLimits) float64 {
	b := planBrake(v, a, lim)
	var q float64
	for k := range b.t {
		q, v, a = cubic(q, v, a, b.j[k], b.t[k])
	}
	return q
}

// BrakeTrajectory returns the trajectory that brings every joint from positions
// q, velocities v and accelerations a to rest, each as Brake does and so each in
// its own time: a joint that has come to rest stays. The joints leave the line
// that they moved along (see BrakeAlongLine). It doesn't start at rest, so
// Trajectory.Validate refuses it; everything else of a trajectory holds. Where
// all joints are at rest it is Hold's trajectory. It copies its arguments. Counts
// that differ give a trajectory without segments: there is nothing sensible to
// brake.
func BrakeTrajectory(joints []string, q, v, a []float64, limits []JointLimits) Trajectory {
	n := len(joints)
	out := Trajectory{Joints: append([]string(nil), joints...)}
	if n == 0 || len(q) != n || len(v) != n || len(a) != n || len(limits) != n {
		return out
	}
	phases := make([][]Phase, n)
	end := append([]float64(nil), q...) // where each joint stays at last
	for i := range phases {
		phases[i] = appendBrake(make([]Phase, 0, 3), q[i], v[i], a[i], limits[i])
		if m := len(phases[i]); m > 0 {
			p := phases[i][m-1]
			end[i], _, _ = cubic(p.Q, p.V, p.A, p.J, p.Duration)
		}
	}
	out.Segments = merge(phases, end)
	if len(out.Segments) == 0 {
		return Hold(joints, q)
	}
	return out
}

// mergeRounding is the fraction of a phase that may be left over when another
// joint's phase ends and still counts as none.
const mergeRounding = 1e-15

// merge lays the phases of several joints over each other: a segment ends where
// any joint's phase does. Times are counted within each joint's phase, never from
// the start, so a short phase beside a long one keeps its precision.
func merge(phases [][]Phase, end []float64) []Segment {
	n := len(phases)
	done := make([]float64, n) // how much of its current phase each joint has behind it
	var out []Segment
	for {
		d := math.Inf(1)
		for i, p := range phases {
			if len(p) > 0 {
				d = math.Min(d, p[0].Duration-done[i])
			}
		}
		if math.IsInf(d, 1) {
			return out
		}
		flat := make([]float64, 4*n)
		s := Segment{Duration: d, Q: flat[:n:n], V: flat[n : 2*n : 2*n], A: flat[2*n : 3*n : 3*n], J: flat[3*n:]}
		for i, p := range phases {
			if len(p) == 0 {
				s.Q[i] = end[i]
				continue
			}
			s.Q[i], s.V[i], s.A[i] = cubic(p[0].Q, p[0].V, p[0].A, p[0].J, done[i])
			s.J[i] = p[0].J
			done[i] += d
			if p[0].Duration-done[i] <= mergeRounding*p[0].Duration {
				phases[i], done[i] = p[1:], 0
			}
		}
		out = append(out, s)
	}
}
