package trajectory

import (
	"math"

	"github.com/tau-robot/tau/robot"
)

// limitMargin is the fraction by which a profile stays below its limits, so that
// the rounding of whoever evaluates it can't lift a sample above one. It costs at
// most that fraction of time.
const limitMargin = 1e-12

// phaseRounding is the fraction of the acceleration's duration below which a
// phase is what rounding left of none.
const phaseRounding = 1e-15

// Profile is the time-optimal motion from rest to rest over a distance with
// bounded velocity, acceleration and jerk: the double-S profile with null
// velocities at both ends (Biagiotti and Melchiorri, Trajectory Planning for
// Automatic Machines and Robots, Springer 2008, section 3.4). Up to seven phases
// of constant jerk, +J 0 -J | 0 | -J 0 +J, of which those that the limits leave no
// room for are missing; it is symmetric in time. The zero value is a motion over
// no distance in no time.
type Profile struct {
	distance float64 // > 0, in any unit
	jerk     float64 // > 0, unit/s³
	ramp     float64 // duration of a phase with jerk, s
	constant float64 // duration of a phase with constant acceleration, s
	cruise   float64 // duration of the phase with constant velocity, s
}

// NewProfile returns the profile for a distance of at least 0 in any unit, and
// limits above 0 in that unit per s, s² and s³; numbers that aren't are
// CodeInvalidArgument.
func NewProfile(distance, velocity, acceleration, jerk float64) (Profile, error) {
	for _, x := range [...]struct {
		name  string
		value float64
		ok    bool
	}{
		{"distance", distance, distance >= 0},
		{"velocity", velocity, velocity > 0},
		{"acceleration", acceleration, acceleration > 0},
		{"jerk", jerk, jerk > 0},
	} {
		if !x.ok || math.IsInf(x.value, 0) {
			return Profile{}, robot.LimitErr(robot.CodeInvalidArgument, x.name, x.value, 0, "",
				"a profile needs a finite distance and finite limits above 0")
		}
	}
	if distance == 0 {
		return Profile{}, nil
	}
	v, a, j := velocity*(1-limitMargin), acceleration*(1-limitMargin), jerk*(1-limitMargin)
	p := Profile{distance: distance, jerk: j}

	// The acceleration to the full velocity: with a stretch at the acceleration
	// limit if there is room for one.
	p.ramp = a / j
	p.constant = v/a - a/j
	if p.constant < 0 {
		p.ramp, p.constant = math.Sqrt(v/j), 0
	}
	// Acceleration and deceleration together cover v·(2·ramp + constant).
	if p.cruise = distance/v - p.accelerating(); p.cruise < 0 {
		// There's no room to reach the velocity limit.
		p.cruise = 0
		// Without the acceleration limit: distance = 2·j·ramp³.
		p.ramp, p.constant = math.Cbrt(distance/2/j), 0
		if p.ramp > a/j {
			// With it: the peak velocity w solves w·(w/a + a/j) = distance; this
			// form of the root has no cancellation.
			p.ramp = a / j
			w := 2 * distance / (p.ramp + math.Sqrt(p.ramp*p.ramp+4*distance/a))
			p.constant = math.Max(0, w/a-p.ramp)
		}
	}
	if p.constant < phaseRounding*p.ramp {
		p.constant = 0
	}
	if p.cruise < phaseRounding*p.accelerating() {
		p.cruise = 0
	}
	if !(p.Duration() > 0) || math.IsInf(p.Duration(), 0) {
		return Profile{}, robot.LimitErr(robot.CodeInvalidArgument, "duration", p.Duration(), 0, "s",
			"distance and limits are too far apart to be timed")
	}
	return p, nil
}

// accelerating returns how long the acceleration takes, s.
func (p Profile) accelerating() float64 { return 2*p.ramp + p.constant }

// Duration returns the length of the motion, s.
func (p Profile) Duration() float64 { return 2*p.accelerating() + p.cruise }

// Distance returns what the profile covers.
func (p Profile) Distance() float64 { return p.distance }

// PeakVelocity returns the largest velocity.
func (p Profile) PeakVelocity() float64 { return p.jerk * p.ramp * (p.ramp + p.constant) }

// PeakAcceleration returns the largest acceleration, which is also the largest
// deceleration.
func (p Profile) PeakAcceleration() float64 { return p.jerk * p.ramp }

// phase is a phase of a profile. In the second half s is the distance that is
// left, so that the end is as exact as the start.
type phase struct {
	t, s, v, a, j float64
	left          bool
}

// phases returns the profile's phases in order and how many there are.
func (p Profile) phases() (out [7]phase, n int) {
	if p.distance == 0 {
		return out, 0
	}
	// The states at the ends of the first three phases; mirrored in time they are
	// those at the starts of the last three.
	t, c, j := p.ramp, p.constant, p.jerk
	a := j * t
	s1, v1 := j*t*t*t/6, a*t/2
	s2, v2 := s1+c*(v1+a*c/2), v1+a*c
	s3, v3 := p.distance/2, p.PeakVelocity()
	if p.cruise > 0 {
		s3 = s2 + t*(v2+a*t/3) // a falls by j·t: v2·t + a·t²/2 - j·t³/6
	}
	for _, f := range [...]phase{
		{t: t, j: j},
		{t: c, s: s1, v: v1, a: a},
		{t: t, s: s2, v: v2, a: a, j: -j},
		{t: p.cruise, s: s3, v: v3},
		{t: t, s: s3, v: v3, j: -j, left: true},
		{t: c, s: s2, v: v2, a: -a, left: true},
		{t: t, s: s1, v: v1, a: -a, j: j, left: true},
	} {
		if f.t > 0 {
			out[n] = f
			n++
		}
	}
	return out, n
}

// Phases returns the phases of constant jerk in order, starting at 0.
func (p Profile) Phases() []robot.Phase {
	phases, n := p.phases()
	out := make([]robot.Phase, n)
	for k, f := range phases[:n] {
		out[k] = robot.Phase{Duration: f.t, Q: f.s, V: f.v, A: f.a, J: f.j}
		if f.left {
			out[k].Q = p.distance - f.s
		}
	}
	return out
}
