package dxl

import "github.com/tau-robot/tau/drivers/feetech/bus"

// Values of StatusLevel.
const (
	LevelPing = iota // only a Ping is answered
	LevelRead        // a Read too
	LevelAll         // and everything else
)

// Values of OperatingMode.
const (
	ModeVelocity = 1
	ModePosition = 3
	ModeExtended = 4
	ModePWM      = 16
)

// Values of TorqueEnable.
const (
	TorqueOff = iota
	TorqueOn
)

// Bits of DriveMode.
const (
	DriveReverse   = 1 << 0 // the positive direction is the other way round
	DriveSlave     = 1 << 1 // the motor follows another servo's (dual joints of the XM540, XH540)
	DriveTimeBased = 1 << 2 // profiles are times
	DriveWakes     = 1 << 3 // a new goal switches the torque on
)

const (
	// Kept is the first address that isn't kept without power: bus.Options.KeptBelow. What
	// lies below can be written only while torque is off.
	Kept = 64
	// TicksPerTurn of the X series' encoder.
	TicksPerTurn = 4096
	// WatchdogUnit is what a BusWatchdog counts, in ms.
	WatchdogUnit = 20
	// WatchdogBit is its value once it has bitten.
	WatchdogBit = -1
)

// The bits of HardwareError and Shutdown.
const (
	BadVoltage  = 1 << 0
	TooHot      = 1 << 2
	BadEncoder  = 1 << 3
	BadElectric = 1 << 4 // too little power for the motor, or a shock to the circuit
	Overload    = 1 << 5
)

// Bauds are the rates of the BaudRate register's values from 0 on.
func Bauds() []int {
	return []int{9_600, 57_600, 115_200, 1_000_000, 2_000_000, 3_000_000, 4_000_000}
}

// Baud returns the rate of a BaudRate register's value; 0: none has it.
func Baud(v int64) int {
	if b := Bauds(); v >= 0 && v < int64(len(b)) {
		return b[v]
	}
	return 0
}

// Registers lists the table by address.
func Registers() []bus.Register {
	return []bus.Register{
		Model, Firmware, ID, BaudRate, ReturnDelay, DriveMode, OperatingMode, SecondaryID, ProtocolType,
		HomingOffset, MovingThreshold, MaxTemperature, MaxVoltage, MinVoltage, PWMLimit, CurrentLimit,
		VelocityLimit, MaxPosition, MinPosition, Shutdown, TorqueEnable, LED, StatusLevel, HardwareError,
		PositionD, PositionI, PositionP, BusWatchdog, GoalPWM, GoalCurrent, GoalVelocity,
		ProfileAcceleration, ProfileVelocity, GoalPosition, RealtimeTick, Moving, MovingStatus,
		PresentPWM, PresentCurrent, PresentVelocity, PresentPosition, PresentVoltage, PresentTemperature,
	}
}
