package feetech

import (
	"fmt"
	"math"

	"github.com/tau-robot/tau/robot"
)

const again = "calibrate again (tau robot calibrate)"

// trouble is why this driver doesn't move a servo that is set up so, whatever the robot's
// file says; "" if it does.
func (f *family) trouble(s *setup) string {
	name, ours := f.modelName(s.model)
	switch {
	case !ours:
		return fmt.Sprintf("it is a %s (%d), which has other registers than %s, or isn't known", name, s.model, f.servos)
	case s.old != "":
		return fmt.Sprintf("the %s has %s", name, s.old)
	case s.mode != "":
		return s.mode + ", and this driver moves joints by position only; set it back with the maker's tool"
	case s.silent:
		return "it doesn't acknowledge what it is told (its status return level); set it to answer everything with the maker's tool"
	case s.armed:
		return "it powers itself when it is switched on (startup configuration); switch that off with the maker's tool"
	}
	return ""
}

// check holds what a joint's servo says of itself against the robot's file: what would
// move the joint otherwise than was planned is refused, and nothing is set right here.
func (a *axis) check(f *family, s *setup) error {
	servo := func(code robot.Code, format string, args ...any) error {
		return robot.Errf(code, a.hw.Name, "servo %d: %s", a.id, fmt.Sprintf(format, args...))
	}
	trouble := f.trouble(s)
	switch {
	case trouble != "":
		return servo(robot.CodeNotSupported, "%s", trouble)
	case s.id != int(a.id):
		return servo(robot.CodeNotSupported, "its memory says that it is servo %d: two devices may share ID %d", s.id, a.id)
	case s.offset != a.hw.Offset:
		return servo(robot.CodeNotCalibrated, "its homing offset is %d ticks and the file was made with %d: another program has calibrated it since, or it is another servo; %s", s.offset, a.hw.Offset, again)
	case s.low > a.low || s.high < a.high:
		return servo(robot.CodeNotCalibrated, "its own angle limits, %d to %d ticks, are narrower than the file's range of %d to %d: it would stop short of a goal; %s", s.low, s.high, a.low, a.high, again)
	}
	return nil
}

// checkSupply holds the supply that a servo measures against the file and the servo's
// own limits.
func (a *axis) checkSupply(s *setup, m *measured, b bounds) error {
	low, high := math.Max(s.minVoltage, b.minVoltage), s.maxVoltage
	if b.maxVoltage > 0 {
		high = math.Min(high, b.maxVoltage)
	}
	limit := math.Max(low, math.Min(high, m.voltage))
	if limit == m.voltage {
		return nil
	}
	what := "too low: is the supply on, and is it the right one?"
	if m.voltage > limit {
		what = "too high: switch it off, it is the wrong one"
	}
	return robot.LimitErr(robot.CodeOverload, a.hw.Name, m.voltage, limit, "V", fmt.Sprintf("servo %d: its supply is %s", a.id, what))
}
