package robot

import (
	"fmt"
	"math"
)

// Tolerances of Trajectory.Validate. They are some thousand times what rounding
// in double precision needs and far below what any encoder resolves.
const (
	// PositionTolerance is by how much, in rad or m, a joint may be over a
	// position limit, and by how much the end of a segment may differ from the
	// start of the next one.
	PositionTolerance = 1e-9
	// PositionRounding adds to PositionTolerance in proportion to |q|: the
	// rounding of a joint that has turned many times.
	PositionRounding = 1e-13
	// RateTolerance is the same for velocity, acceleration and jerk, as a
	// fraction of the joint's limit of that rate. It also bounds what of a
	// velocity and an acceleration is left at rest.
	RateTolerance = 1e-9
)

// Validate reports, as an Error with CodeInvalidArgument that names the joint,
// whether a limit can't be one: not finite, negative, or a lower position limit
// above the upper one. A velocity of 0 is one that nothing gave, and permits no
// motion; only with it may acceleration and jerk be 0 too.
func (l JointLimits) Validate(joint string) error {
	for _, r := range [...]struct {
		name, unit string
		value      float64
	}{
		{"velocity", "rad/s or m/s", l.Velocity},
		{"acceleration", "rad/s² or m/s²", l.Acceleration},
		{"jerk", "rad/s³ or m/s³", l.Jerk},
	} {
		if !(r.value >= 0) || r.value == 0 && l.Velocity != 0 || math.IsInf(r.value, 0) {
			return &Error{
				Code: CodeInvalidArgument, Where: joint,
				Text:  "the " + r.name + " limit must be finite and above 0",
				Value: &Quantity{Value: r.value, Unit: r.unit},
			}
		}
	}
	if !(l.Effort >= 0) || math.IsInf(l.Effort, 0) {
		return &Error{
			Code: CodeInvalidArgument, Where: joint, Text: "the effort limit must be finite and not negative",
			Value: &Quantity{Value: l.Effort, Unit: "N·m or N"},
		}
	}
	if l.Bounded && !(finite(l.Lower) && finite(l.Upper) && l.Lower <= l.Upper) {
		return LimitErr(CodeInvalidArgument, joint, l.Lower, l.Upper, "rad or m",
			"the position limits must be finite, the lower one not above the upper one")
	}
	return nil
}

// Tighter returns what both of two limits allow of position, velocity, acceleration and
// jerk; the rest is l's.
func (l JointLimits) Tighter(o JointLimits) JointLimits {
	if o.Bounded {
		if !l.Bounded {
			l.Bounded, l.Lower, l.Upper = true, o.Lower, o.Upper
		}
		l.Lower, l.Upper = math.Max(l.Lower, o.Lower), math.Min(l.Upper, o.Upper)
	}
	l.Velocity, l.Acceleration, l.Jerk = math.Min(l.Velocity, o.Velocity), math.Min(l.Acceleration, o.Acceleration), math.Min(l.Jerk, o.Jerk)
	return l
}

// Scaled returns the limits with velocity, acceleration and jerk multiplied by
// scale; positions and effort stay.
func (l JointLimits) Scaled(scale float64) JointLimits {
	l.Velocity *= scale
	l.Acceleration *= scale
	l.Jerk *= scale
	return l
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Validate reports why a trajectory must not run, or nil. limits has one element
// for each joint, in the trajectory's order. It checks that
//
//   - the joints have names, no two the same, and the limits are limits;
//   - there is a segment, each lasts longer than 0 s and has one finite number for
//     each joint;
//   - each segment starts where the one before ends, in position, velocity and
//     acceleration, within the tolerances above;
//   - it starts and ends at rest;
//   - everywhere, not only at samples, position is within its limits (else
//     CodeJointLimit; a joint that starts outside may only move towards them until
//     it is inside) and velocity, acceleration and jerk are within theirs (else
//     CodeSpeedLimit). In a segment position is a cubic, velocity a parabola and
//     acceleration a line, so the extrema are known in closed form.
//
// Everything else is CodeInvalidArgument. The error names the joint, the time,
// the value and the limit, and is about the earliest segment that is wrong.
func (t Trajectory) Validate(limits []JointLimits) error {
	if err := t.validateShape(limits); err != nil {
		return err
	}
	var start float64
	for k := range t.Segments {
		s := &t.Segments[k]
		for i := range t.Joints {
			if err := t.validateJoint(k, i, start, limits[i]); err != nil {
				return err
			}
		}
		start += s.Duration
	}
	if !finite(start) {
		return Errf(CodeInvalidArgument, "segments", "the trajectory's duration isn't finite")
	}
	return nil
}

func (t Trajectory) validateShape(limits []JointLimits) error {
	n := len(t.Joints)
	switch {
	case n == 0:
		return Errf(CodeInvalidArgument, "joints", "the trajectory has no joints")
	case len(limits) != n:
		return Errf(CodeInvalidArgument, "joints", "the trajectory is about %d joints, the robot has %d", n, len(limits))
	case len(t.Segments) == 0:
		return Errf(CodeInvalidArgument, "segments", "the trajectory has no segments")
	}
	for i, name := range t.Joints {
		if name == "" {
			return Errf(CodeInvalidArgument, "joints", "joint %d has no name", i)
		}
		for _, other := range t.Joints[:i] {
			if other == name {
				return Errf(CodeInvalidArgument, name, "the trajectory names the joint twice")
			}
		}
		if err := limits[i].Validate(name); err != nil {
			return err
		}
	}
	for k := range t.Segments {
		s := &t.Segments[k]
		if !(s.Duration > 0) || math.IsInf(s.Duration, 0) {
			return LimitErr(CodeInvalidArgument, fmt.Sprintf("segments[%d].duration", k), s.Duration, 0, "s",
				"a segment must last longer than 0 s, and not forever")
		}
		for c, x := range [...][]float64{s.Q, s.V, s.A, s.J} {
			if len(x) != n {
				return Errf(CodeInvalidArgument, fmt.Sprintf("segments[%d].%c", k, "QVAJ"[c]),
					"%d numbers for %d joints", len(x), n)
			}
			for i := range x {
				if !finite(x[i]) {
					return &Error{
						Code: CodeInvalidArgument, Where: t.Joints[i],
						Text:  fmt.Sprintf("segments[%d].%c isn't finite", k, "QVAJ"[c]),
						Value: &Quantity{Value: x[i]},
					}
				}
			}
		}
	}
	return nil
}

// validateJoint checks joint i during segment k, which starts at time start.
func (t Trajectory) validateJoint(k, i int, start float64, lim JointLimits) error {
	s, name := &t.Segments[k], t.Joints[i]
	q0, v0, a0, j := s.Q[i], s.V[i], s.A[i], s.J[i]
	tv, ta, tj := lim.Velocity*RateTolerance, lim.Acceleration*RateTolerance, lim.Jerk*RateTolerance

	// Where it comes from: rest, or the end of the segment before.
	pq, pv, pa := q0, 0.0, 0.0
	text := "the trajectory doesn't start at rest: its %s"
	if k > 0 {
		p := &t.Segments[k-1]
		pq, pv, pa = cubic(p.Q[i], p.V[i], p.A[i], p.J[i], p.Duration)
		text = "the %s jumps"
	}
	if err := jump(name, text, "position", start, q0, pq, PositionTolerance+PositionRounding*math.Abs(q0), ""); err != nil {
		return err
	}
	if err := jump(name, text, "velocity", start, v0, pv, tv, "/s"); err != nil {
		return err
	}
	if err := jump(name, text, "acceleration", start, a0, pa, ta, "/s²"); err != nil {
		return err
	}

	if !(math.Abs(j) <= lim.Jerk+tj) {
		return rateErr(name, "jerk", start, j, lim.Jerk, "/s³")
	}
	_, vEnd, aEnd := cubic(q0, v0, a0, j, s.Duration)
	for _, at := range [...]struct{ t, a float64 }{{0, a0}, {s.Duration, aEnd}} {
		if !(math.Abs(at.a) <= lim.Acceleration+ta) {
			return rateErr(name, "acceleration", start+at.t, at.a, lim.Acceleration, "/s²")
		}
	}
	for _, at := range [...]float64{0, inside(-a0/j, s.Duration), s.Duration} {
		if _, v, _ := cubic(q0, v0, a0, j, at); !(math.Abs(v) <= lim.Velocity+tv) {
			return rateErr(name, "velocity", start+at, v, lim.Velocity, "/s")
		}
	}
	lim, err := lim.wayIn(name, start, s, i, tv)
	if err != nil {
		return err
	}
	r1, r2 := standstills(v0, a0, j)
	for _, at := range [...]float64{0, inside(r1, s.Duration), inside(r2, s.Duration), s.Duration} {
		q, _, _ := cubic(q0, v0, a0, j, at)
		if !finite(q) {
			return Errf(CodeInvalidArgument, name, "the position at %.6g s isn't finite", start+at)
		}
		tol := PositionTolerance + PositionRounding*math.Abs(q)
		if lim.Bounded && q < lim.Lower-tol {
			return positionErr(name, "below its lower limit", start+at, q, lim.Lower)
		}
		if lim.Bounded && q > lim.Upper+tol {
			return positionErr(name, "above its upper limit", start+at, q, lim.Upper)
		}
	}

	if k == len(t.Segments)-1 {
		text = "the trajectory doesn't end at rest: its %s"
		if err := jump(name, text, "velocity", start+s.Duration, vEnd, 0, tv, "/s"); err != nil {
			return err
		}
		return jump(name, text, "acceleration", start+s.Duration, aEnd, 0, ta, "/s²")
	}
	return nil
}

// wayIn returns the limits of position that bind joint i during a segment. They are
// the joint's own, but where the segment starts outside of one: there the joint may
// go no farther out and has to move inwards all the time, so that the segment's
// start is as far out as it gets. Only the first segments of a trajectory can start
// outside, since a segment that starts inside has to end inside.
func (l JointLimits) wayIn(name string, start float64, s *Segment, i int, tv float64) (JointLimits, error) {
	q0 := s.Q[i]
	tol := PositionTolerance + PositionRounding*math.Abs(q0)
	below, above := l.Bounded && q0 < l.Lower-tol, l.Bounded && q0 > l.Upper+tol
	if !below && !above {
		return l, nil
	}
	for _, at := range [...]float64{0, inside(-s.A[i]/s.J[i], s.Duration), s.Duration} {
		_, v, _ := cubic(q0, s.V[i], s.A[i], s.J[i], at)
		if below && v < -tv {
			return l, positionErr(name, "below its lower limit and moves away from it", start+at, q0, l.Lower)
		}
		if above && v > tv {
			return l, positionErr(name, "above its upper limit and moves away from it", start+at, q0, l.Upper)
		}
	}
	if below {
		l.Lower = q0
	} else {
		l.Upper = q0
	}
	return l, nil
}

// inside returns t if it is within a segment of length d, else 0, the segment's
// start, which is looked at in any case.
func inside(t, d float64) float64 {
	if t > 0 && t < d {
		return t
	}
	return 0
}

// standstills returns the times at which v + a·t + j·t²/2 is zero, NaN or
// infinite where there is none. It avoids the cancellation of the textbook
// formula (Press et al., Numerical Recipes, 3rd edition 2007, section 5.6).
func standstills(v, a, j float64) (t1, t2 float64) {
	s := -(a + math.Copysign(math.Sqrt(a*a-2*j*v), a))
	return s / j, 2 * v / s
}

func jump(joint, text, what string, t, got, want, tol float64, per string) error {
	if math.Abs(got-want) <= tol {
		return nil
	}
	return &Error{
		Code: CodeInvalidArgument, Where: joint,
		Text:  fmt.Sprintf(text+" from %.9g to %.9g at %.6g s", what, want, got, t),
		Value: &Quantity{Name: "difference", Value: got - want, Unit: "(rad or m)" + per},
		Limit: &Quantity{Value: tol, Unit: "(rad or m)" + per},
	}
}

func rateErr(joint, what string, t, value, limit float64, per string) error {
	return LimitErr(CodeSpeedLimit, joint, value, math.Copysign(limit, value)+0, "(rad or m)"+per,
		fmt.Sprintf("the %s at %.6g s is beyond its limit", what, t))
}

func positionErr(joint, what string, t, value, limit float64) error {
	e := LimitErr(CodeJointLimit, joint, value, limit, "rad or m",
		fmt.Sprintf("the position at %.6g s is %s", t, what))
	e.Nearest = []Quantity{{Name: joint, Value: limit}}
	return e
}
