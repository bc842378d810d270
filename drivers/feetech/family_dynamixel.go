package feetech

import (
	"fmt"
	"math"
	"time"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/dxl"
	"github.com/tau-robot/tau/robot"
)

// What the values in the registers of Dynamixel X mean, by the maker's e-Manual.
const (
	dxlLastID   = 252
	dxlAlert    = 0x80   // of a packet's error byte: see HardwareError
	dxlPowersUp = 1 << 0 // of dxlStartup
	// dxlWatched is the first firmware with a bus watchdog.
	dxlWatched = 38
	// dxlMostOffset: in position mode a larger homing offset is ignored.
	dxlMostOffset = 1024

	dxlVoltage = 0.1 // V
)

// dxlStartup says what the servo does by itself when it is switched on.
var dxlStartup = bus.Register{Name: "startup_configuration", Addr: 60, Size: 1, Kept: true}

// dynamixelFamily is the X series, by protocol 2.0.
func dynamixelFamily() *family {
	f := &family{
		name: "dynamixel", servos: "Dynamixel X servos", codec: func() bus.Codec { return dxl.New() },
		lastID: dxlLastID,
		bauds:  []int{1000000, 57600, 2000000, 3000000, 4000000, 115200, 9600}, kept: dxl.Kept,
		setup: from(dxl.Model, dxl.StatusLevel),
		fast:  from(dxl.GoalPosition, dxl.PresentTemperature),
		slow:  from(dxl.TorqueEnable, dxl.BusWatchdog),
		model: dxl.Model, id: dxl.ID, torque: dxl.TorqueEnable, goal: dxl.GoalPosition, position: dxl.PresentPosition,
		offset: dxl.HomingOffset, low: dxl.MinPosition, high: dxl.MaxPosition, watchdog: dxl.BusWatchdog, watchdogUnit: dxl.WatchdogUnit * time.Millisecond, alert: dxlAlert, rebootClears: true,
		// The maker adds it to what the encoder counts.
		asOffset: func(v int64) int64 { return -v },
		// Torque on in position mode takes the encoder's count within one turn, and then
		// adds the offset: so that is where the seam is.
		span: func(offset int) (int, int) { return max(0, -offset), min(Turn-1, Turn-1-offset) },
	}
	f.offsetFits = func(offset int) error {
		if in := max(-dxlMostOffset, min(dxlMostOffset, offset)); in != offset {
			return robot.LimitErr(robot.CodeInvalidArgument, "offset", float64(offset), float64(in), "tick",
				"in position mode the servo ignores an offset of more than a quarter of a turn: mount its horn elsewhere")
		}
		return nil
	}
	f.readSetup = func(b []byte) setup {
		at := func(r bus.Register) int { return int(f.setup.of(b, r)) }
		s := setup{
			model: uint16(at(dxl.Model)), firmware: fmt.Sprint(at(dxl.Firmware)), id: at(dxl.ID),
			offset: -at(dxl.HomingOffset), torque: int64(at(dxl.PWMLimit)), silent: at(dxl.StatusLevel) != dxl.LevelAll,
			low: at(dxl.MinPosition), high: at(dxl.MaxPosition), second: -1,
			minVoltage: float64(at(dxl.MinVoltage)) * dxlVoltage, maxVoltage: float64(at(dxl.MaxVoltage)) * dxlVoltage,
			armed: at(dxlStartup)&dxlPowersUp != 0,
		}
		if at(dxl.Firmware) < dxlWatched {
			s.old = fmt.Sprintf("firmware %d has no bus watchdog, which came with %d: it would not stop by itself if this computer did; update it", at(dxl.Firmware), dxlWatched)
		}
		if second := at(dxl.SecondaryID); second <= dxlLastID {
			s.second = second
		}
		switch drive := at(dxl.DriveMode); {
		case at(dxl.OperatingMode) != dxl.ModePosition:
			s.mode = fmt.Sprintf("its operating mode is %d, which isn't position (%d)", at(dxl.OperatingMode), dxl.ModePosition)
		case drive&dxl.DriveReverse != 0:
			s.mode = "its drive mode has it count the other way round (bit 0; direction = -1 in the robot's file says that a joint turns so)"
		case drive&dxl.DriveSlave != 0:
			s.mode = "its drive mode has it follow another servo (bit 1)"
		case drive&dxl.DriveWakes != 0:
			s.mode = "its drive mode has it power itself at a new goal (bit 3)"
		}
		s.currentUnit = dxlModels[s.model].current
		return s
	}
	f.readFast = func(b []byte, s *setup, m *measured) {
		at := func(r bus.Register) int64 { return f.fast.of(b, r) }
		m.ticks = int(at(dxl.PresentPosition))
		m.voltage, m.temperature = float64(at(dxl.PresentVoltage))*dxlVoltage, float64(at(dxl.PresentTemperature))
		m.current = math.NaN() // a model without it has its load in that register
		if s.currentUnit > 0 {
			m.current = math.Abs(float64(at(dxl.PresentCurrent))) * s.currentUnit
		}
		m.goal = int(at(dxl.GoalPosition))
	}
	f.readSlow = func(b []byte, _ *setup, m *measured) {
		at := func(r bus.Register) int64 { return f.slow.of(b, r) }
		m.powered = at(dxl.TorqueEnable) == 1
		m.complaints = dxlComplaints(byte(at(dxl.HardwareError)))
		if at(dxl.BusWatchdog) == dxl.WatchdogBit {
			m.complaints |= hostQuiet
		}
	}
	f.holding = func(s *setup, goal int, torque float64) [][]setting {
		return [][]setting{
			{{dxl.GoalPWM, max(1, int64(torque*float64(s.torque)))}},
			// No profile of its own: it follows a new goal every few milliseconds.
			{{dxl.ProfileAcceleration, 0}, {dxl.ProfileVelocity, 0}, {dxl.GoalPosition, int64(goal)}},
		}
	}
	f.modelName = func(n uint16) (string, bool) {
		m, ok := dxlModels[n]
		if !ok {
			return fmt.Sprintf("model %d", n), false
		}
		return m.name, true
	}
	return f
}

// dxlComplaints is what the bits of a servo's hardware error status mean.
func dxlComplaints(status byte) (c condition) {
	for _, v := range [...]struct {
		bit  byte
		what condition
	}{{dxl.BadVoltage, badVoltage}, {dxl.TooHot, tooHot}, {dxl.BadEncoder, badSensor}, {dxl.BadElectric, shocked}, {dxl.Overload, overloaded}} {
		if status&v.bit != 0 {
			c |= v.what
		}
	}
	return c
}

// dxlModel is a servo of the X series: its name, and what a unit of its current is, A; 0:
// it measures its load instead.
type dxlModel struct {
	name    string
	current float64
}

// dxlModels are those with the registers of the X series, by their number, from the
// maker's e-Manual and DynamixelSDK. Only read.
var dxlModels = map[uint16]dxlModel{
	1000: {"XH430-W350", 0.00269}, 1010: {"XH430-W210", 0.00269}, 1020: {"XM430-W350", 0.00269}, 1030: {"XM430-W210", 0.00269},
	1040: {"XH430-V350", 0.00134}, 1050: {"XH430-V210", 0.00134}, 1060: {"XL430-W250", 0}, 1070: {"XC430-W150", 0},
	1080: {"XC430-W240", 0}, 1090: {"2XL430-W250", 0}, 1100: {"XH540-W270", 0.00269}, 1110: {"XH540-W150", 0.00269},
	1120: {"XM540-W270", 0.00269}, 1130: {"XM540-W150", 0.00269}, 1140: {"XH540-V270", 0.00134}, 1150: {"XH540-V150", 0.00134},
	1160: {"2XC430-W250", 0}, 1170: {"XW540-T260", 0.00269}, 1180: {"XW540-T140", 0.00269}, 1190: {"XL330-M077", 0.001},
	1200: {"XL330-M288", 0.001}, 1210: {"XC330-T181", 0.001}, 1220: {"XC330-T288", 0.001}, 1230: {"XC330-M181", 0.001},
	1240: {"XC330-M288", 0.001}, 1270: {"XW430-T333", 0.00269},
}
