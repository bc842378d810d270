package feetech

import (
	"fmt"
	"math"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// margin is how far beyond the calibrated range, ticks, a servo may be read: what a joint
// gives under load, and the play in its gears. It is 5.6 degrees.
const margin = 64

// axis is one active joint and the servo that moves it. It isn't modified once made.
type axis struct {
	hw   *hardware.Joint
	id   byte
	unit string // "rad" or "m"
	// low and high bound the ticks that the servo may be sent.
	low, high int
}

// newAxes makes the axes of a robot from its file and its model, by active joint.
func newAxes(m *robot.Model, f *hardware.File, fam *family) ([]axis, error) {
	out := make([]axis, len(f.Joints))
	by := map[int]string{}
	for i := range f.Joints {
		j := &f.Joints[i]
		if err := checkJoint(j, fam); err != nil {
			return nil, err
		}
		if other, twice := by[j.Channel]; twice {
			return nil, robot.Errf(robot.CodeInvalidArgument, j.Name, "its servo has ID %d, and so has that of %s", j.Channel, other)
		}
		by[j.Channel] = j.Name
		out[i] = axis{
			hw: j, id: byte(j.Channel), unit: m.Joints[m.Active[i]].Type.Unit(),
			low: int(math.Ceil(j.TickMin)), high: int(math.Floor(j.TickMax)),
		}
		for _, q := range [...]float64{j.Lower, j.Upper} {
			if _, err := out[i].ticks(q); err != nil {
				return nil, robot.Errf(robot.CodeInvalidArgument, j.Name, "its limit of position is outside of what the servo may be sent; narrow the limit, or calibrate again: %w", err)
			}
		}
	}
	return out, nil
}

// checkJoint refuses what no servo of this family can be.
func checkJoint(j *hardware.Joint, fam *family) error {
	bad := func(format string, args ...any) error {
		return robot.Errf(robot.CodeInvalidArgument, j.Name, format, args...)
	}
	switch {
	case j.Kind != hardware.BusServo || j.Feedback != hardware.Encoder:
		return bad("is moved by a %q that is measured by %q; on a servo bus it is %q by %q", j.Kind, j.Feedback, hardware.BusServo, hardware.Encoder)
	case j.Channel < 0 || j.Channel > fam.lastID:
		return bad("no servo has the ID %d; they have 0 to %d", j.Channel, fam.lastID)
	case j.Direction != 1 && j.Direction != -1:
		return bad("its direction is %g; want 1 or -1", j.Direction)
	case !(j.Scale > 0) || math.IsInf(j.Scale, 0) || math.IsNaN(j.Zero) || math.IsInf(j.Zero, 0):
		return bad("zero %g and scale %g turn no position into ticks", j.Zero, j.Scale)
	case !(j.TickMin >= 0) || !(j.TickMax <= Turn-1) || !(j.TickMin < j.TickMax):
		return bad("its ticks from %g to %g are no range within 0 to %d: the range may not cross the encoder's seam", j.TickMin, j.TickMax, Turn-1)
	case !(j.TorqueLimit > 0) || j.TorqueLimit > 1:
		return bad("its torque limit is %g of the largest torque; want above 0 to 1", j.TorqueLimit)
	case !(j.MaxTemperature >= 0) || !(j.MaxCurrent >= 0):
		return bad("its largest temperature %g °C or current %g A is no limit", j.MaxTemperature, j.MaxCurrent)
	}
	if err := fam.offsetFits(j.Offset); err != nil {
		return bad("%w", err)
	}
	if low, high := fam.span(j.Offset); j.TickMin < float64(low) || j.TickMax > float64(high) {
		return bad("with its offset of %d the servo counts from %d to %d, and its range is from %g to %g: calibrate again", j.Offset, low, high, j.TickMin, j.TickMax)
	}
	return nil
}

// ticks returns what the servo is sent for a position, rad or m, to the nearest tick. A
// position beyond what it may be sent is refused, never brought within.
func (a *axis) ticks(q float64) (int, error) {
	u := a.hw.Units(q)
	if math.IsNaN(u) || math.IsInf(u, 0) {
		return 0, &robot.Error{Code: robot.CodeInvalidArgument, Where: a.hw.Name, Text: "the setpoint isn't finite", Value: &robot.Quantity{Value: q, Unit: a.unit}}
	}
	if in := math.Max(a.hw.TickMin, math.Min(a.hw.TickMax, u)); math.Abs(in-u) > rounding {
		return 0, robot.LimitErr(robot.CodeJointLimit, a.hw.Name, u, in, "tick",
			fmt.Sprintf("%g %s is outside of the ticks that were calibrated", q, a.unit))
	}
	return int(math.Max(float64(a.low), math.Min(float64(a.high), math.Round(u)))), nil
}

// byHand is how a joint gets back to where it is known.
const byHand = "turn it back by hand (where it has torque, support the arm and switch the servos' supply off first)"

// rounding is what of a tick arithmetic may make of a position at a limit.
const rounding = 1e-6

// position returns where a reading in ticks is, rad or m.
func (a *axis) position(ticks int) float64 { return a.hw.Position(float64(ticks)) }

// within says what is wrong with a reading in ticks that, followed since the link came
// up, is at followed: nil if nothing is.
func (a *axis) within(ticks int, followed float64) error {
	at := float64(ticks)
	limit := math.Max(a.hw.TickMin, math.Min(a.hw.TickMax, at))
	beyond := math.Abs(at - limit)
	across := math.Min(math.Abs(at-(a.hw.TickMin+Turn)), math.Abs(at-(a.hw.TickMax-Turn)))
	switch {
	case followed != at, beyond > margin && across < beyond, ticks < 0, ticks >= Turn:
		return robot.LimitErr(robot.CodeNotCalibrated, a.hw.Name, at, limit, "tick",
			"the joint has crossed the seam of its encoder (from 4095 to 0), so that where it is isn't known: "+byHand+"; if it is where it belongs, "+again)
	case beyond > margin:
		return robot.LimitErr(robot.CodeNotCalibrated, a.hw.Name, at, limit, "tick",
			"the joint is outside of the range that was calibrated: "+byHand+", or "+again)
	}
	return nil
}
