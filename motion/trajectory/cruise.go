package trajectory

import (
	"fmt"
	"math"

	"github.com/tau-robot/tau/robot"
)

const (
	// cruiseSamples is the number of instants at which a ramp is held against the
	// limits before it is made into segments.
	cruiseSamples = 256
	// rampHalvings bounds the search for the shortest ramp, to 1e-6 of the longest.
	rampHalvings = 20
	// rampTries and rampLonger bound how often, and by how much each time, a ramp is
	// made longer when the segments made of it are beyond a limit.
	rampTries  = 40
	rampLonger = 1.01
	// shortestDuration and longestDuration bound the durations that are tried and may
	// be asked for, s.
	longestDuration  = 86400.0
	shortestDuration = 1e-3
	// leastRamp is the shortest ramp that is tried, as a part of the duration: the
	// time of a shorter one would drown in the rounding of the whole's.
	leastRamp = 1e-6
	// leastCruise is how far, rad or m, some joint has to go in the duration for it
	// to be a motion. Less is far below what any encoder shows.
	leastCruise = 1e-6
)

// rampJerks are the parts of a ramp that each of its stretches of jerk may take.
var rampJerks = [...]float64{0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.15, 0.18, 0.22, 0.26, 0.31, 0.37, 0.43, 0.5}

// CurveAtSpeed returns the motion along a curve, from rest to rest in exactly
// duration seconds, whose cruise speed is given. curve(c) is the path that the
// cruise speed covers in c seconds, from the start that all of them share: between
// its ramps the motion advances s by 1/c a second. Both ramps are mirror images and
// as short as speedScale times the limits permit, and cover together what the cruise
// speed covers during one of them; so c is the duration less one ramp, and is
// returned with the motion.
//
// Where it can't be done the error is CodeSpeedLimit. If the cruise speed itself is
// beyond a joint's limits the error is about that joint, and Nearest is "speed", the
// largest fraction of the asked speed that all limits permit. If there is no time
// to reach the speed and come to rest again, Nearest is "duration", the shortest one
// that permits it, in s. A cruise on which no joint goes as far as 1e-6 rad or m in the
// duration is INVALID_ARGUMENT, with the multiple of the speed that would do as Nearest
// "speed". The rest is as in ThroughCurves, which is what a motion of
// which only the way matters should be timed with.
func CurveAtSpeed(names []string, limits []robot.JointLimits, curve func(cruise float64) Curve, duration, speedScale float64) (robot.Trajectory, float64, error) {
	fail := func(err error) (robot.Trajectory, float64, error) { return robot.Trajectory{}, 0, err }
	if err := checkLimits(names, limits, speedScale); err != nil {
		return fail(err)
	}
	if !(duration >= shortestDuration && duration <= longestDuration) {
		nearest := shortestDuration
		if duration > longestDuration {
			nearest = longestDuration
		}
		e := robot.LimitErr(robot.CodeInvalidArgument, "duration", duration, nearest, "s",
			fmt.Sprintf("the duration must be from %g to %g s", shortestDuration, longestDuration))
		e.Nearest = []robot.Quantity{{Name: "duration", Value: nearest, Unit: "s"}}
		return fail(e)
	}
	if curve == nil {
		return fail(robot.Errf(robot.CodeInvalidArgument, "curve", "is missing"))
	}
	r := ramper{timer: newTimer(names, limits, speedScale), curveFor: curve}
	if err := r.cruises(duration); err != nil {
		return fail(err)
	}
	ramp, jerks := r.shortest(duration)
	finer := 1.0
	for range rampTries {
		if ramp == 0 || ramp > duration/2 {
			break
		}
		if err := r.load(duration - ramp); err != nil {
			return fail(err)
		}
		r.tolerance *= finer
		if err := r.place("curve", unitProfile(ramp/duration, jerks).slowed(duration)); err != nil {
			return fail(err)
		}
		tr := robot.Trajectory{Joints: append([]string(nil), names...), Segments: r.segments(nil)}
		if stretch(tr.Segments, r.scaled) <= 1+robot.RateTolerance/2 {
			if err := tr.Validate(r.scaled); err != nil {
				return fail(err)
			}
			return tr, duration - ramp, nil
		}
		ramp, finer = max(min(ramp*rampLonger, duration/2), ramp*(1+fitMargin)), max(finer/2, 1e-3)
	}
	return fail(r.tooShort(duration))
}

// ramper looks for ramps.
type ramper struct {
	*timer
	curveFor func(cruise float64) Curve
}

// load makes the curve that takes c seconds at the cruise speed the timer's.
func (r *ramper) load(c float64) error {
	k := r.curveFor(c)
	if err := r.ends("curve", k, nil); err != nil {
		return err
	}
	_, _, err := r.use("curve", k)
	return err
}

// cruises refuses a cruise speed that a joint's limits don't permit, and one at which
// nothing is seen to move; c is the whole duration.
func (r *ramper) cruises(c float64) error {
	k := r.curveFor(c)
	if k == nil {
		return robot.Errf(robot.CodeInvalidArgument, "curve", "is missing")
	}
	r.set(k)
	worst, joint, what := 1.0, -1, 0
	var value, limit, travel float64
	for m := range cruiseSamples + 1 {
		r.curve.At(float64(m)/cruiseSamples, r.q, r.d1, r.d2, r.d3)
		if m == 0 {
			copy(r.from, r.q)
		}
		for i := range r.q {
			l := &r.scaled[i]
			travel = max(travel, math.Abs(r.q[i]-r.from[i]))
			rates := [3]float64{r.d1[i] / c, r.d2[i] / (c * c), r.d3[i] / (c * c * c)}
			for n, most := range [3]float64{l.Velocity, l.Acceleration, l.Jerk} {
				var use [3]float64
				use[n] = math.Abs(rates[n]) / most
				if k := raise(worst, use[0], use[1], use[2]); k > worst*(1+fitMargin) {
					worst, joint, what, value, limit = k, i, n, rates[n], most
				}
			}
		}
	}
	switch {
	case travel < leastCruise:
		e := robot.LimitErr(robot.CodeInvalidArgument, "speed", travel, leastCruise, "rad or m",
			"at this cruise speed no joint moves as far as that in the whole duration")
		if more := leastCruise * rampLonger / travel; !math.IsInf(more, 0) {
			e.Nearest = []robot.Quantity{{Name: "speed", Value: more}}
		}
		return e
	case joint < 0:
		return nil
	case math.IsInf(worst, 0) || math.IsInf(value, 0):
		return robot.Errf(robot.CodeInvalidArgument, "curve", "its rates aren't finite")
	}
	name := [3]string{"velocity", "acceleration", "jerk"}[what]
	e := robot.LimitErr(robot.CodeSpeedLimit, r.names[joint], value, math.Copysign(limit, value),
		[3]string{"(rad or m)/s", "(rad or m)/s²", "(rad or m)/s³"}[what], fmt.Sprintf("at this cruise speed the %s is beyond its limit", name))
	e.Nearest = []robot.Quantity{{Name: "speed", Value: 1 / worst}}
	return e
}

// shortest returns the shortest ramp, s, with which a motion of this duration is
// within the limits, and what part of it each stretch of jerk takes; 0 if none is.
func (r *ramper) shortest(duration float64) (ramp, jerks float64) {
	for _, part := range rampJerks {
		fits := func(ramp float64) bool {
			c := r.curveFor(duration - ramp)
			if c == nil {
				return false
			}
			r.set(c)
			return r.needs(unitProfile(ramp/duration, part).slowed(duration), 1+fitMargin, cruiseSamples) <= 1+fitMargin
		}
		lo, hi := leastRamp*duration, duration/2
		if ramp > 0 {
			hi = ramp // another shape has to be better
		}
		if !fits(hi) {
			continue
		}
		for range rampHalvings {
			if mid := (lo + hi) / 2; fits(mid) {
				hi = mid
			} else {
				lo = mid
			}
		}
		ramp, jerks = hi, part
	}
	return ramp, jerks
}

// tooShort says which duration would do.
func (r *ramper) tooShort(duration float64) error {
	e := &robot.Error{
		Code: robot.CodeSpeedLimit, Where: "duration", Text: "there is no time to reach the cruise speed and come to rest again",
		Value: &robot.Quantity{Value: duration, Unit: "s"},
	}
	for d := duration; d <= longestDuration; d *= 2 {
		ramp, _ := r.shortest(d)
		if ramp == 0 {
			continue
		}
		// Two ramps and no cruise are the shortest motion; a little more is room for
		// what the samples don't see.
		nearest := math.Max(duration, 2*ramp) * rampLonger
		e.Limit = &robot.Quantity{Value: nearest, Unit: "s"}
		e.Nearest = []robot.Quantity{{Name: "duration", Value: nearest, Unit: "s"}}
		break
	}
	return e
}
