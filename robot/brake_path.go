package robot

import "math"

// Bounds of BrakeAlongPath.
const (
	// BrakePathFactor and BrakePathExtra, s, bound how long a stop along the path may
	// take: BrakePathFactor times the longest of the joints' own stopping times plus
	// BrakePathExtra.
	BrakePathFactor = 2.0
	BrakePathExtra  = 0.1
	// BrakePathTolerance bounds how far a stop may be from the trajectory that it
	// brakes on, in rad or m by joint, as a fraction of the largest joint's way to
	// where it stops; a way above 1 counts as 1, and the bound is at least
	// PositionTolerance.
	BrakePathTolerance = 1e-6
)

// BrakeAlongPath returns the trajectory that brings all joints from where t has
// them, at seconds after its start, to rest on t's own path, ahead of there and not
// beyond its end. It reports false, and nothing else, where it finds none that takes
// at most BrakePathFactor·T + BrakePathExtra, T being the longest StoppingTime of
// a joint. What is to be done then is BrakeTrajectory's.
//
// The stop is the shortest that is found among three kinds:
//
//   - BrakeAlongLine's, where t is straight until there. No other kind is looked at
//     then, and the bound isn't applied;
//
//   - the rest of t itself, which ends at rest;
//
//   - t at another pace, q(u(s)) with s the time since the stop: u' falls from 1 to 0
//     and u” is 0 at both ends, so that position, velocity and acceleration are
//     continuous. By the chain rule
//
//     q' = v·u'    q” = a·u'² + v·u”    q”' = j·u'³ + 3·a·u'·u” + v·u”'
//
//     where v, a and j are t's at u. (J. M. Hollerbach, Dynamic Scaling of Manipulator
//     Trajectories, 1984, for the scaling of time; u' is a double S, after Biagiotti
//     and Melchiorri, Trajectory Planning for Automatic Machines and Robots, 2008,
//     section 3.4, preceded where that helps by a moment at t's own pace.)
//
// The limits are the robot's in full: t, planned with a fraction of them, may be
// left the faster for it. Every joint keeps its limits of velocity, acceleration and
// jerk everywhere, as Trajectory.Validate has it, and is within BrakePathTolerance
// of t's path; so the position limits that t keeps are kept to within that. As with
// BrakeTrajectory, Validate refuses the result only because it doesn't start at
// rest.
//
// Each pace is tried on samples, a fixed number of them, and the best is then made
// of constant-jerk segments and held against the limits by extrema in closed form:
// the time it takes is bounded, and the same arguments give the same result. t has to
// be one that may be sampled, but needn't start at rest: it may be a stop itself.
// The result may share segments with t.
func BrakeAlongPath(t Trajectory, at float64, limits []JointLimits) (Trajectory, bool) {
	n := len(t.Joints)
	if n == 0 || len(limits) != n || len(t.Segments) == 0 || math.IsNaN(at) {
		return Trajectory{}, false
	}
	for i := range limits {
		if limits[i].Validate("") != nil {
			return Trajectory{}, false
		}
	}
	b := newPathBrake(t, max(0, at), limits)
	if b.rest <= 0 {
		return Hold(t.Joints, t.End()), true
	}
	if stop, ok := BrakeAlongLine(t.Joints, b.q, b.v, b.a, limits); ok && b.passes(stop.End()) {
		return stop, true
	}
	for i, l := range limits {
		b.least = max(b.least, StoppingTime(b.v[i], b.a[i], l))
	}
	bound := BrakePathFactor*b.least + BrakePathExtra
	if stop, ok := b.paced(min(bound, b.rest)); ok {
		return stop, true
	}
	if b.rest <= bound {
		if stop := b.remainder(); b.keeps(stop) {
			return stop, true
		}
	}
	return Trajectory{}, false
}

// pathBrake is what one call of BrakeAlongPath works with. Times are counted from
// the stop, in t's own pace: u.
type pathBrake struct {
	t      Trajectory
	limits []JointLimits
	first  place   // where the stop begins
	rest   float64 // how much of t is left then, s
	least  float64 // the longest of the joints' own stopping times, s

	q, v, a []float64 // the state at the stop
	x       []float64 // scratch: one number a joint
	knots   []float64 // flat: time since the stop, u, then q, v, a of each joint
}

// place is a position in a trajectory: segment k, which begins at start.
type place struct {
	k     int
	start float64 // s, in u
}

func newPathBrake(t Trajectory, at float64, limits []JointLimits) *pathBrake {
	n := len(t.Joints)
	flat := make([]float64, 4*n)
	b := &pathBrake{t: t, limits: limits, q: flat[:n:n], v: flat[n : 2*n : 2*n], a: flat[2*n : 3*n : 3*n], x: flat[3*n:]}
	// Subtracting durations one by one, rather than adding them up first, keeps the
	// precision of the time within the segment.
	last := len(t.Segments) - 1
	for b.first.k < last && at >= t.Segments[b.first.k].Duration {
		at -= t.Segments[b.first.k].Duration
		b.first.k++
	}
	b.first.start = -at
	b.rest = -at
	for k := b.first.k; k <= last; k++ {
		b.rest += t.Segments[k].Duration
	}
	t.Segments[b.first.k].at(at, b.q, b.v, b.a)
	return b
}

// seek moves a place on to the segment in which u is. The last one has no end.
func (b *pathBrake) seek(p *place, u float64) (s *Segment, t float64) {
	segments := b.t.Segments
	for p.k < len(segments)-1 && u >= p.start+segments[p.k].Duration {
		p.start += segments[p.k].Duration
		p.k++
	}
	return &segments[p.k], u - p.start
}

// remainder is what is left of t.
func (b *pathBrake) remainder() Trajectory {
	s := b.t.Segments[b.first.k]
	cut := Segment{Duration: s.Duration + b.first.start, Q: b.q, V: b.v, A: b.a, J: s.J}
	out := Trajectory{Joints: append([]string(nil), b.t.Joints...)}
	out.Segments = append(append(make([]Segment, 0, len(b.t.Segments)-b.first.k), cut), b.t.Segments[b.first.k+1:]...)
	return out
}

// tolerance is how far from the path a stop at end may be, rad or m.
func (b *pathBrake) tolerance(end []float64) float64 {
	var way float64
	for i, q := range end {
		way = max(way, math.Abs(q-b.q[i]))
	}
	return max(PositionTolerance, BrakePathTolerance*min(1, way))
}

// passes reports whether t goes straight from where the stop begins to end and gets
// there. A joint is a cubic of time within a segment, and one that is near the line at
// four instants of it is near it throughout.
func (b *pathBrake) passes(end []float64) bool {
	lead := 0
	for i, q := range end {
		if math.Abs(q-b.q[i]) > math.Abs(end[lead]-b.q[lead]) {
			lead = i
		}
	}
	way := end[lead] - b.q[lead]
	if way == 0 {
		return true
	}
	tol := b.tolerance(end)
	from := -b.first.start
	for k := b.first.k; k < len(b.t.Segments); k++ {
		s := &b.t.Segments[k]
		var part float64
		for m := range 4 {
			s.at(from+(s.Duration-from)*float64(m)/3, b.x, nil, nil)
			part = (b.x[lead] - b.q[lead]) / way
			for i, q := range b.x {
				if !(math.Abs(q-b.q[i]-part*(end[i]-b.q[i])) <= tol) {
					return false
				}
			}
		}
		if (1-part)*math.Abs(way) <= tol {
			return true
		}
		from = 0
	}
	return false
}
