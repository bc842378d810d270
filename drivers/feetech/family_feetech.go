package feetech

import (
	"fmt"
	"math"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/sts"
	"github.com/tau-robot/tau/robot"
)

// What the values in Feetech's registers mean, by the maker's memory table of the STS and
// SMS series.
const (
	stsSeries  = 9      // the low byte of the model number
	stsVoltage = 0.1    // V
	stsCurrent = 0.0065 // A
	stsTorque  = 1000   // all of it
)

// feetechFamily is the STS series, by packets of Feetech's own protocol.
func feetechFamily() *family {
	f := &family{
		name: "feetech", servos: "Feetech STS servos", codec: func() bus.Codec { return sts.New() },
		lastID: 253,
		bauds:  sts.Bauds(), kept: sts.Kept,
		setup: from(sts.FirmwareMajor, sts.Mode),
		// The goal, the torque and what is measured lie so close together that one block
		// has them all: 31 bytes a servo.
		fast:  from(sts.TorqueEnable, sts.PresentCurrent),
		model: sts.Model, id: sts.ID, torque: sts.TorqueEnable, goal: sts.GoalPosition, position: sts.PresentPosition,
		offset: sts.HomingOffset, low: sts.MinPosition, high: sts.MaxPosition, lock: sts.Lock,
		span:     func(int) (int, int) { return 0, Turn - 1 },
		asOffset: func(v int64) int64 { return v },
	}
	f.offsetFits = func(offset int) error {
		if _, err := sts.HomingOffset.Append(nil, int64(offset)); err != nil {
			return robot.Errf(robot.CodeInvalidArgument, "offset", "the servo's register has a sign and 11 bits, from -2047 to 2047, and %d isn't among them: %w", offset, err)
		}
		return nil
	}
	f.readSetup = func(b []byte) setup {
		at := func(r bus.Register) int { return int(f.setup.of(b, r)) }
		s := setup{
			model: uint16(at(sts.Model)), firmware: fmt.Sprintf("%d.%d", at(sts.FirmwareMajor), at(sts.FirmwareMinor)),
			id: at(sts.ID), silent: at(sts.StatusLevel) != sts.LevelAll, offset: at(sts.HomingOffset),
			torque: int64(at(sts.MaxTorque)),
			low:    at(sts.MinPosition), high: at(sts.MaxPosition), second: -1, currentUnit: stsCurrent,
			minVoltage: float64(at(sts.MinVoltage)) * stsVoltage, maxVoltage: float64(at(sts.MaxVoltage)) * stsVoltage,
		}
		switch phase := at(sts.Phase); {
		case at(sts.Mode) != sts.ModePosition:
			s.mode = fmt.Sprintf("its operating mode is %d, which isn't position (%d)", at(sts.Mode), sts.ModePosition)
		case phase&sts.PhaseManyTurns != 0:
			s.mode = "its phase register has it count several turns (bit 4)"
		case phase&sts.PhaseZeroFast == 0:
			s.mode = "its phase register takes a speed of 0 for none (bit 3 isn't set)"
		case at(sts.AngularResolution) > 1:
			s.mode = fmt.Sprintf("its angular resolution is %d, so that a turn isn't %d ticks", at(sts.AngularResolution), Turn)
		}
		return s
	}
	f.readFast = func(b []byte, _ *setup, m *measured) {
		at := func(r bus.Register) int64 { return f.fast.of(b, r) }
		m.ticks = int(at(sts.PresentPosition))
		m.voltage, m.temperature = float64(at(sts.PresentVoltage))*stsVoltage, float64(at(sts.PresentTemperature))
		m.current = math.Abs(float64(at(sts.PresentCurrent))) * stsCurrent
		m.powered, m.goal = at(sts.TorqueEnable) == 1, int(at(sts.GoalPosition))
		m.complaints = stsComplaints(byte(at(sts.ServoStatus)))
	}
	f.holding = func(s *setup, goal int, torque float64) [][]setting {
		return [][]setting{{
			// The servo follows a new goal every few milliseconds: what it would make of the
			// way between two of them only adds delay.
			{sts.Acceleration, 0}, {sts.GoalPosition, int64(goal)}, {sts.GoalTime, 0}, {sts.GoalSpeed, 0},
			{sts.TorqueLimit, max(1, min(s.torque, int64(torque*stsTorque)))},
		}}
	}
	f.modelName = func(n uint16) (string, bool) {
		switch n {
		case sts.ModelSTS3215:
			return "STS3215", true
		case 2825:
			return "STS3250", true
		}
		// Its kin have the same registers and other motors.
		return fmt.Sprintf("STS model %d", n), n&0xFF == stsSeries
	}
	return f
}

// stsComplaints is what the bits of a servo's status mean.
func stsComplaints(status byte) (c condition) {
	for _, v := range [...]struct {
		bit  byte
		what condition
	}{{sts.BadVoltage, badVoltage}, {sts.BadSensor, badSensor}, {sts.TooHot, tooHot}, {sts.OverCurrent, tooMuchCurrent}, {sts.Overload, overloaded}} {
		if status&v.bit != 0 {
			c |= v.what
		}
	}
	return c
}
