package robot

import "math"

// BrakeAlongLine returns the trajectory that brings all joints to rest together,
// on the straight line in joint space that they move along, as fast as the most
// restrictive joint allows. It reports false, and nothing else, where they don't
// move along one: where velocities and accelerations aren't multiples of one
// direction, within RateTolerance. Its arguments, what it copies, and what
// Validate makes of the result are as in BrakeTrajectory.
//
// The two differ in what they keep. BrakeTrajectory stops each joint in the
// shortest distance that its own limits allow, which takes the arm off the line;
// BrakeAlongLine keeps to the line, which is what a planner has checked for
// collisions, and takes longer for all joints but the most restrictive one. From
// a state of a straight, synchronised motion within the limits it ends before the
// motion's own end, since that motion itself comes to rest there.
func BrakeAlongLine(joints []string, q, v, a []float64, limits []JointLimits) (Trajectory, bool) {
	n := len(joints)
	if n == 0 || len(q) != n || len(v) != n || len(a) != n || len(limits) != n {
		return Trajectory{}, false
	}
	direction, vs, as, ok := line(v, a, limits)
	if !ok {
		return Trajectory{}, false
	}
	along := JointLimits{Velocity: math.Inf(1), Acceleration: math.Inf(1), Jerk: math.Inf(1)}
	for i, d := range direction {
		if d = math.Abs(d); d > 0 {
			along.Velocity = math.Min(along.Velocity, limits[i].Velocity/d)
			along.Acceleration = math.Min(along.Acceleration, limits[i].Acceleration/d)
			along.Jerk = math.Min(along.Jerk, limits[i].Jerk/d)
		}
	}
	phases := Brake(0, vs, as, along)
	if len(phases) == 0 {
		return Hold(joints, q), true
	}
	out := Trajectory{Joints: append([]string(nil), joints...), Segments: make([]Segment, len(phases))}
	flat := make([]float64, 4*n*len(phases))
	for k, p := range phases {
		row := flat[4*n*k:]
		s := Segment{Duration: p.Duration, Q: row[:n:n], V: row[n : 2*n : 2*n], A: row[2*n : 3*n : 3*n], J: row[3*n : 4*n : 4*n]}
		for i, d := range direction {
			s.Q[i] = q[i] + d*p.Q
			if d == 0 {
				continue
			}
			s.V[i], s.A[i], s.J[i] = d*p.V, d*p.A, d*p.J
			if k == len(phases)-1 {
				// As in Brake: the end is at rest to the last bit.
				jt := s.J[i] * p.Duration
				s.A[i], s.V[i] = -jt, jt*p.Duration/2
			}
		}
		out.Segments[k] = s
	}
	return out, true
}

// line returns a direction of which v and a are the multiples vs and as. It is v
// or a itself, whichever is the larger part of its limits, so that the other's
// factor is well conditioned.
func line(v, a []float64, limits []JointLimits) (direction []float64, vs, as float64, ok bool) {
	var useV, useA float64
	var iv, ia int
	for i, l := range limits {
		if l.Validate("") != nil || !finite(v[i]) || !finite(a[i]) {
			return nil, 0, 0, false
		}
		if l.Velocity == 0 {
			if v[i] != 0 || a[i] != 0 {
				return nil, 0, 0, false
			}
			continue // it holds
		}
		if u := math.Abs(v[i]) / l.Velocity; u > useV {
			useV, iv = u, i
		}
		if u := math.Abs(a[i]) / l.Acceleration; u > useA {
			useA, ia = u, i
		}
	}
	switch {
	case useV <= restRounding && useA <= restRounding:
		return make([]float64, len(v)), 0, 0, true
	case useV >= useA:
		direction, vs, as = v, 1, a[iv]/v[iv]
	default:
		direction, vs, as = a, v[ia]/a[ia], 1
	}
	for i, l := range limits {
		if !(math.Abs(v[i]-vs*direction[i]) <= RateTolerance*l.Velocity) ||
			!(math.Abs(a[i]-as*direction[i]) <= RateTolerance*l.Acceleration) {
			return nil, 0, 0, false
		}
	}
	return direction, vs, as, true
}
