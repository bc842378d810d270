package trajectory

import (
	"fmt"
	"math"
	"strings"

	"github.com/tau-robot/tau/robot"
)

// resolution is the smallest travel of a joint, rad or m, that its limits are
// applied to; a shorter one is timed as if it were this long. It is far below
// what an encoder resolves and keeps the division by the travel from
// overflowing.
const resolution = 1e-12

// maxPosition is the largest |q|, rad or m, that a motion may start or end at:
// beyond it the rounding of q is no longer far below robot.PositionTolerance.
const maxPosition = 1e6

// LeastSpeedScale is the least speed_scale, with which a motion of a second takes
// hours: less is a slip, and near 0 no time can be computed.
const LeastSpeedScale = 1e-4

// CheckSpeedScale refuses a scale that isn't from LeastSpeedScale to 1, as
// INVALID_ARGUMENT with the nearest one that is.
func CheckSpeedScale(scale float64) error {
	if scale >= LeastSpeedScale && scale <= 1 {
		return nil
	}
	nearest := LeastSpeedScale
	if scale > 1 {
		nearest = 1
	}
	e := robot.LimitErr(robot.CodeInvalidArgument, "speed_scale", scale, nearest, "",
		fmt.Sprintf("speed_scale must be at least %g and at most 1", LeastSpeedScale))
	e.Nearest = []robot.Quantity{{Name: "speed_scale", Value: nearest}}
	return e
}

// PointToPoint returns the fastest straight line in joint space from one
// configuration to another, from rest to rest, that keeps every joint's velocity,
// acceleration and jerk within speedScale times its limit. All joints start and
// end together. names, limits, from and to have one element for each joint, in
// the order of q; they are copied.
//
// speedScale is from LeastSpeedScale to 1. It multiplies all three limits, not the
// velocity alone: a motion asked for at half speed also starts and stops at half
// the acceleration, and a controlled stop, which may use the full limits, is
// always harder than what it interrupts.
//
// from may be outside the limits of position: since to is inside, the line leads
// straight back in. It is for the caller to say when that is wanted.
//
// Where from equals to the result is robot.Hold's trajectory: at rest for a
// moment. It isn't an error to be there already.
//
// Nothing is clamped. Errors are *robot.Error: CodeSpeedLimit naming every joint
// that has no velocity limit, CodeJointLimit where to is outside the position
// limits, CodeInvalidArgument for counts, limits, numbers or a scale that can't be
// used.
func PointToPoint(names []string, limits []robot.JointLimits, from, to []float64, speedScale float64) (robot.Trajectory, error) {
	if err := checkLimits(names, limits, speedScale); err != nil {
		return robot.Trajectory{}, err
	}
	if err := checkConfiguration("from", names, limits, from, true); err != nil {
		return robot.Trajectory{}, err
	}
	if err := checkConfiguration("to", names, limits, to, false); err != nil {
		return robot.Trajectory{}, err
	}
	out := robot.Trajectory{Joints: append([]string(nil), names...)}
	var err error
	if out.Segments, err = appendLine(nil, limits, from, to, speedScale); err != nil {
		return robot.Trajectory{}, err
	}
	if len(out.Segments) == 0 {
		return robot.Hold(names, from), nil
	}
	return out, nil
}

// ThroughWaypoints returns PointToPoint's lines through the waypoints in order,
// as one trajectory that comes to rest at each of them. Equal waypoints in a row
// count as one; if there is only one the result is robot.Hold's. The first of
// several may be outside the limits of position. The rest is as in PointToPoint.
func ThroughWaypoints(names []string, limits []robot.JointLimits, waypoints [][]float64, speedScale float64) (robot.Trajectory, error) {
	if err := checkLimits(names, limits, speedScale); err != nil {
		return robot.Trajectory{}, err
	}
	if len(waypoints) == 0 {
		return robot.Trajectory{}, robot.Errf(robot.CodeInvalidArgument, "waypoints", "a motion needs at least one waypoint")
	}
	for k, q := range waypoints {
		if err := checkConfiguration(fmt.Sprintf("waypoints[%d]", k), names, limits, q, k == 0 && len(waypoints) > 1); err != nil {
			return robot.Trajectory{}, err
		}
	}
	out := robot.Trajectory{Joints: append([]string(nil), names...)}
	for k := 1; k < len(waypoints); k++ {
		var err error
		if out.Segments, err = appendLine(out.Segments, limits, waypoints[k-1], waypoints[k], speedScale); err != nil {
			return robot.Trajectory{}, err
		}
	}
	if len(out.Segments) == 0 {
		return robot.Hold(names, waypoints[0]), nil
	}
	return out, nil
}

// lineProfile returns the profile of the path parameter s, from 0 to 1, with
// which PointToPoint runs from one configuration to the other. Its arguments are
// those of PointToPoint and already checked there; the slices have equal lengths.
func lineProfile(limits []robot.JointLimits, from, to []float64, speedScale float64) (Profile, error) {
	v, a, j := math.Inf(1), math.Inf(1), math.Inf(1)
	for i := range from {
		travel := math.Abs(to[i] - from[i])
		if travel == 0 {
			continue
		}
		travel = math.Max(travel, resolution)
		v = math.Min(v, limits[i].Velocity/travel)
		a = math.Min(a, limits[i].Acceleration/travel)
		j = math.Min(j, limits[i].Jerk/travel)
	}
	if math.IsInf(v, 1) {
		return Profile{}, nil // no joint moves
	}
	return NewProfile(1, v*speedScale, a*speedScale, j*speedScale)
}

// appendLine appends the segments of one straight line to dst; none if from
// equals to.
func appendLine(dst []robot.Segment, limits []robot.JointLimits, from, to []float64, speedScale float64) ([]robot.Segment, error) {
	p, err := lineProfile(limits, from, to, speedScale)
	if err != nil {
		return dst, err
	}
	phases, count := p.phases()
	if count == 0 {
		return dst, nil
	}
	n := len(from)
	flat := make([]float64, 4*n*count)
	if dst == nil {
		dst = make([]robot.Segment, 0, count)
	}
	for k, f := range phases[:count] {
		row := flat[4*n*k : 4*n*(k+1)]
		s := robot.Segment{Duration: f.t, Q: row[:n:n], V: row[n : 2*n : 2*n], A: row[2*n : 3*n : 3*n], J: row[3*n : 4*n : 4*n]}
		for i := range n {
			travel := to[i] - from[i]
			if f.left {
				s.Q[i] = to[i] - travel*f.s
			} else {
				s.Q[i] = from[i] + travel*f.s
			}
			if travel == 0 {
				continue
			}
			s.V[i], s.A[i], s.J[i] = travel*f.v, travel*f.a, travel*f.j
			if k == count-1 {
				// With a = -j·t and v = j·t²/2 of the joint's own jerk the end is
				// at rest to the last bit.
				jt := s.J[i] * f.t
				s.A[i], s.V[i] = -jt, jt*f.t/2
			}
		}
		dst = append(dst, s)
	}
	return dst, nil
}

func checkLimits(names []string, limits []robot.JointLimits, speedScale float64) error {
	switch {
	case len(names) == 0:
		return robot.Errf(robot.CodeInvalidArgument, "joints", "a motion needs at least one joint")
	case len(limits) != len(names):
		return robot.Errf(robot.CodeInvalidArgument, "limits", "limits of %d joints for %d joints", len(limits), len(names))
	}
	if err := CheckSpeedScale(speedScale); err != nil {
		return err
	}
	var still []string
	for i, l := range limits {
		if l.Velocity == 0 {
			still = append(still, names[i])
		}
	}
	if len(still) > 0 {
		return &robot.Error{
			Code: robot.CodeSpeedLimit, Where: strings.Join(still, ", "),
			Text:  "no velocity limit above 0 is known for these joints, so no motion can be timed; give each a speed in the limits file",
			Value: &robot.Quantity{Value: 0, Unit: "rad/s or m/s"},
		}
	}
	for i, l := range limits {
		if err := l.Validate(names[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkConfiguration checks one configuration; where is the argument's name. It may
// be outside the limits of position only where asked for.
func checkConfiguration(where string, names []string, limits []robot.JointLimits, q []float64, outside bool) error {
	if len(q) != len(names) {
		return robot.Errf(robot.CodeInvalidArgument, where, "%d numbers for %d joints", len(q), len(names))
	}
	for i, x := range q {
		if math.IsNaN(x) || math.Abs(x) > maxPosition {
			return robot.LimitErr(robot.CodeInvalidArgument, where+"."+names[i], x, maxPosition, "rad or m",
				"a position must be a number of at most that size")
		}
		l := limits[i]
		if !l.Bounded || outside {
			continue
		}
		if limit := math.Max(l.Lower, math.Min(l.Upper, x)); math.Abs(x-limit) > robot.PositionTolerance {
			err := robot.LimitErr(robot.CodeJointLimit, where+"."+names[i], x, limit, "rad or m", "the position is outside the joint's limits")
			err.Nearest = []robot.Quantity{{Name: names[i], Value: limit}}
			return err
		}
	}
	return nil
}
