package trajectory

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/tau-robot/tau/robot"
)

// Curve is a path in joint space, as a function of a parameter s from 0 to 1 that
// has two continuous derivatives and a bounded third. It must be safe for
// concurrent use.
type Curve interface {
	// At writes the position (rad or m by joint) and the first three derivatives by
	// s at s. Each slice has one element for each active joint, in the order of q,
	// and is the caller's. s is from 0 to 1.
	At(s float64, q, d1, d2, d3 []float64)
}

// Piecewise is a Curve whose third derivative jumps. A motion along it has a knot
// at each jump, without which its jerk would overshoot there.
type Piecewise interface {
	Curve
	// Breaks returns where the third derivative jumps, in increasing order, each
	// above 0 and below 1. The caller doesn't modify it.
	Breaks() []float64
}

// Line is the straight line in joint space between two configurations of equal
// length. It is a Curve; ThroughCurves times it as PointToPoint does.
type Line struct{ From, To []float64 }

var _ Curve = Line{}

// At is Curve's. At 0 and 1 the position is the line's end to the last bit.
func (l Line) At(s float64, q, d1, d2, d3 []float64) {
	for i, from := range l.From {
		travel := l.To[i] - from
		if s < 0.5 {
			q[i] = from + s*travel
		} else {
			q[i] = l.To[i] - (1-s)*travel
		}
		d1[i], d2[i], d3[i] = travel, 0, 0
	}
}

const (
	// CurveTolerance bounds how far a timed motion may be from its curve, in rad or m
	// by joint, as a fraction of the curve's largest extent along a joint's axis;
	// an extent above 1 counts as 1 and one below curveLeast as that.
	CurveTolerance = 1e-6
	curveLeast     = 1e-3
	// knotSpacing is the distance of knots in time that a motion starts with, s;
	// longer motions than knotSpacing·baseKnots have their knots farther apart.
	// Where the motion would leave its curve, intervals are halved.
	knotSpacing = 0.05
	baseKnots   = 200
	// maxHalvings and maxKnots bound the halving of one interval and the knots of
	// one curve. Between knots there are three segments.
	maxHalvings = 10
	maxKnots    = 4000
	// leastInterval is the shortest interval before a break, as a fraction of the
	// whole duration.
	leastInterval = 1e-4
	// fitMargin is the fraction by which a motion is slower than its extrema ask for,
	// so that rounding can't lift one above its limit.
	fitMargin = 1e-11
	// coarseSamples and fineSamples are the numbers of instants at which a shape of
	// profile is held against the limits: the first to put the shapes in order, the
	// second to choose between those that may be the fastest.
	coarseSamples = 96
	fineSamples   = 1024
)

// The shapes of profile that are tried on a curve: what part of the duration the
// acceleration takes, and what part of the acceleration each of its two stretches
// of jerk takes. The lists don't depend on the limits: more generous limits make
// each shape faster, and so the fastest one too.
var (
	shapeRamps = [...]float64{0.02, 0.04, 0.07, 0.11, 0.16, 0.22, 0.28, 0.34, 0.4, 0.45, 0.5}
	shapeJerks = [...]float64{0.04, 0.08, 0.15, 0.23, 0.31, 0.4, 0.5}
)

// ThroughCurves returns a motion along each curve in turn, from rest to rest, as
// constant-jerk segments that keep every joint's velocity, acceleration and jerk
// within speedScale times its limit (see PointToPoint for speedScale).
//
// Along each curve s(t) is one double-S profile, so that a curve whose s is in
// proportion to the length of the tip's way is travelled at constant speed but for
// start and end. Its shape is the fastest of a fixed set under the limits, and its
// duration is as long as the joint that needs longest makes it: at some instant a
// joint is at one of its limits. The profile is not the time-optimal one: where
// the limits bind at one place of the curve only, the whole curve is slowed down
// for it. In the tests it never takes a tenth longer than the double S under
// constant bounds that divide each limit among the terms of the chain rule.
//
// Position, velocity and acceleration of the motion are the curve's, by the chain
// rule, at knots in time; between two knots three segments of equal duration take
// each joint from one to the other. Knots are added until the motion is within
// CurveTolerance of the curve, measured in the middle and at both quarters of each
// interval. A straight line in joint space gets PointToPoint's segments. A curve
// has at most 3·4000 segments, as a rule 60 for each second up to 600; one that
// needs more is refused.
//
// Each curve has to start where the one before it ends, within
// robot.PositionTolerance. The ends of curves have to be inside the position
// limits; whatever is outside between them is refused by robot.Trajectory.Validate
// and its error is returned. If nothing moves the result is robot.Hold's. Nothing
// is clamped. Errors are *robot.Error with the codes of PointToPoint; curves that
// aren't finite, don't join or can't be followed are CodeInvalidArgument.
//
// The arguments are copied; curves are not kept.
func ThroughCurves(names []string, limits []robot.JointLimits, curves []Curve, speedScale float64) (robot.Trajectory, error) {
	if err := checkLimits(names, limits, speedScale); err != nil {
		return robot.Trajectory{}, err
	}
	if len(curves) == 0 {
		return robot.Trajectory{}, robot.Errf(robot.CodeInvalidArgument, "curves", "a motion needs at least one curve")
	}
	b := newTimer(names, limits, speedScale)
	out := robot.Trajectory{Joints: append([]string(nil), names...)}
	var start, end []float64
	for k, c := range curves {
		where := fmt.Sprintf("curves[%d]", k)
		if err := b.ends(where, c, end); err != nil {
			return robot.Trajectory{}, err
		}
		if k == 0 {
			start = append(start, b.from...)
		}
		end = append(end[:0], b.to...)
		var err error
		if out.Segments, err = b.append(out.Segments, where, c); err != nil {
			return robot.Trajectory{}, err
		}
	}
	if len(out.Segments) == 0 {
		return robot.Hold(names, start), nil
	}
	if err := out.Validate(b.scaled); err != nil {
		return robot.Trajectory{}, err
	}
	return out, nil
}

// timer is the scratch of one call.
type timer struct {
	names    []string
	limits   []robot.JointLimits
	scaled   []robot.JointLimits
	scale    float64
	from, to []float64 // ends of the curve at hand

	q, d1, d2, d3 []float64
	tolerance     float64 // of the curve at hand, rad or m
	curve         Curve
	breaks        []float64
	// knots, flat: time, then q, v, a of each joint.
	knots []float64
}

func newTimer(names []string, limits []robot.JointLimits, scale float64) *timer {
	n := len(names)
	flat := make([]float64, 6*n)
	b := &timer{
		names: names, limits: limits, scale: scale, scaled: make([]robot.JointLimits, n),
		q: flat[:n], d1: flat[n : 2*n], d2: flat[2*n : 3*n], d3: flat[3*n : 4*n], from: flat[4*n : 5*n], to: flat[5*n:],
	}
	for i, l := range limits {
		b.scaled[i] = l.Scaled(scale)
	}
	return b
}

// ends reads the ends of a curve and checks them; before is where the last one
// ended, nil for none.
func (b *timer) ends(where string, c Curve, before []float64) error {
	if c == nil {
		return robot.Errf(robot.CodeInvalidArgument, where, "is missing")
	}
	if l, ok := c.(Line); ok && (len(l.From) != len(b.names) || len(l.To) != len(b.names)) {
		return robot.Errf(robot.CodeInvalidArgument, where, "is a line between %d and %d numbers for %d joints", len(l.From), len(l.To), len(b.names))
	}
	c.At(0, b.from, b.d1, b.d2, b.d3)
	c.At(1, b.to, b.d1, b.d2, b.d3)
	if err := checkConfiguration(where+".from", b.names, b.limits, b.from, false); err != nil {
		return err
	}
	if err := checkConfiguration(where+".to", b.names, b.limits, b.to, false); err != nil {
		return err
	}
	for i := range before {
		if gap := b.from[i] - before[i]; math.Abs(gap) > robot.PositionTolerance {
			return robot.LimitErr(robot.CodeInvalidArgument, where+"."+b.names[i], gap, robot.PositionTolerance, "rad or m",
				"the curve doesn't start where the one before it ends")
		}
	}
	return nil
}

// append appends the segments of one curve to dst; none if nothing moves.
func (b *timer) append(dst []robot.Segment, where string, c Curve) ([]robot.Segment, error) {
	if l, ok := c.(Line); ok {
		return appendLine(dst, b.limits, l.From, l.To, b.scale)
	}
	bend, extent, err := b.use(where, c)
	switch {
	case err != nil || extent == 0:
		return dst, err
	case bend <= robot.PositionTolerance:
		return appendLine(dst, b.limits, b.from, b.to, b.scale)
	}
	p, err := b.shape(where)
	if err != nil {
		return dst, err
	}
	if err := b.place(where, p); err != nil {
		return dst, err
	}
	first := len(dst)
	dst = b.segments(dst)
	k := stretch(dst[first:], b.scaled)
	if !(k > 0) || math.IsInf(k, 0) {
		return dst[:first], robot.Errf(robot.CodeInvalidArgument, where, "curve and limits are too far apart to be timed")
	}
	rescale(dst[first:], k*(1+fitMargin))
	return dst, nil
}

// use makes a curve the one at hand; its ends have been read.
func (b *timer) use(where string, c Curve) (bend, extent float64, err error) {
	b.set(c)
	bend, extent = b.survey()
	if math.IsNaN(bend) || math.IsInf(bend, 0) {
		return 0, 0, robot.Errf(robot.CodeInvalidArgument, where, "isn't finite everywhere")
	}
	b.tolerance = CurveTolerance * min(1, max(curveLeast, extent))
	return bend, extent, nil
}

func (b *timer) set(c Curve) {
	b.curve, b.breaks = c, nil
	if p, ok := c.(Piecewise); ok {
		b.breaks = p.Breaks()
	}
}

// survey returns by how much the curve leaves the straight line between its ends
// travelled at constant speed, and its largest extent along a joint's axis, rad or
// m. The extent is 0 only where nothing moves; both are NaN where the curve isn't
// finite.
func (b *timer) survey() (bend, extent float64) {
	const step = 1.0 / fineSamples
	for k := range fineSamples + 1 {
		s := float64(k) * step
		b.curve.At(s, b.q, b.d1, b.d2, b.d3)
		for i, q := range b.q {
			off := math.Abs(q - (b.from[i] + s*(b.to[i]-b.from[i])))
			// The second derivative bounds what is between the samples, and a rate
			// that isn't finite mustn't pass.
			off += math.Abs(b.d2[i])*step*step/8 + 0*(b.d1[i]+b.d3[i])
			if math.IsNaN(off) {
				return off, off
			}
			bend, extent = max(bend, off), max(extent, math.Abs(q-b.from[i]))
		}
	}
	return bend, extent
}

// unitProfile returns the double-S profile over a distance of 1 in 1 s.
func unitProfile(accelerating, jerkPart float64) Profile {
	ramp := accelerating * jerkPart
	constant := max(0, accelerating-2*ramp)
	if constant < phaseRounding*ramp {
		constant = 0
	}
	peak := 1 / (1 - accelerating)
	return Profile{
		distance: 1, jerk: peak / (ramp + constant) / ramp, ramp: ramp,
		constant: constant, cruise: max(0, 1-2*accelerating),
	}
}

// slowed returns a profile k times as long.
func (p Profile) slowed(k float64) Profile {
	p.ramp, p.constant, p.cruise, p.jerk = p.ramp*k, p.constant*k, p.cruise*k, p.jerk/(k*k*k)
	return p
}

// shape returns the fastest of the shapes for the curve, as long as it takes by
// what its fine samples say.
func (b *timer) shape(where string) (Profile, error) {
	type candidate struct {
		p Profile
		k float64
	}
	var all [len(shapeRamps) * len(shapeJerks)]candidate
	n := 0
	for _, r := range shapeRamps {
		for _, j := range shapeJerks {
			p := unitProfile(r, j)
			all[n] = candidate{p, b.needs(p, math.Inf(1), coarseSamples)}
			n++
		}
	}
	slices.SortStableFunc(all[:], func(x, y candidate) int { return cmp.Compare(x.k, y.k) })
	best, fastest := all[0].p, math.Inf(1)
	for _, c := range all {
		if c.k >= fastest {
			break // more samples don't make it faster
		}
		if k := b.needs(c.p, fastest, fineSamples); k < fastest {
			fastest, best = k, c.p
		}
	}
	if !(fastest > 0) || math.IsInf(fastest, 0) {
		return Profile{}, robot.Errf(robot.CodeInvalidArgument, where, "curve and limits are too far apart to be timed")
	}
	return best.slowed(fastest), nil
}

// needs returns how many times as long a profile has to take for the curve to be
// within the limits at about so many instants, or anything above atMost if that is
// exceeded.
func (b *timer) needs(p Profile, atMost float64, samples int) float64 {
	phases, n := p.phases()
	var k float64
	rate := float64(samples) / p.Duration()
	for _, f := range phases[:n] {
		per := max(4, int(f.t*rate))
		for m := range per + 1 {
			s, v, a := f.at(f.t * float64(m) / float64(per))
			b.curve.At(min(1, max(0, s)), b.q, b.d1, b.d2, b.d3)
			for i := range b.q {
				l := &b.scaled[i]
				vi := b.d1[i] * v
				ai := b.d2[i]*v*v + b.d1[i]*a
				ji := (b.d3[i]*v*v+3*b.d2[i]*a)*v + b.d1[i]*f.j
				k = raise(k, math.Abs(vi)/l.Velocity, math.Abs(ai)/l.Acceleration, math.Abs(ji)/l.Jerk)
			}
			if k > atMost {
				return k
			}
		}
	}
	return k
}

// raise returns the largest of k and the factors by which time has to be stretched
// for rates that use these parts of their limits. It takes a root only where it
// matters.
func raise(k, velocity, acceleration, jerk float64) float64 {
	if velocity > k {
		k = velocity
	}
	if acceleration > k*k {
		k = math.Sqrt(acceleration)
	}
	if jerk > k*k*k {
		k = math.Cbrt(jerk)
	}
	return k
}

// at returns the path parameter of a profile over the distance 1 and its
// derivatives, t after the start of the phase.
func (f *phase) at(t float64) (s, v, a float64) {
	travelled := t * (f.v + t*(f.a/2+t*f.j/6))
	s = f.s + travelled
	if f.left {
		s = 1 - f.s + travelled
	}
	return s, f.v + t*(f.a+t*f.j/2), f.a + t*f.j
}
