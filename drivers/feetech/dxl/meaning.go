package dxl

import "github.com/tau-robot/tau/drivers/feetech/bus"

// Values of registers.
const (
	// LevelPing: only a Ping is answered; LevelRead: also Read; LevelAll: every instruction.
	LevelPing, LevelRead, LevelAll = 0, 1, 2
	ModeVelocity                   = 1
	ModePosition                   = 3
	ModeExtended                   = 4
	ModePWM                        = 16
	TorqueOff, TorqueOn            = 0, 1
	// Kept is the first address that isn't kept without power: bus.Options.KeptBelow. What lies
	// below can be written only while torque is off.
	Kept = 64
	// TicksPerTurn of the X series' encoder.
	TicksPerTurn = 4096
	// WatchdogUnit is what a BusWatchdog counts, in ms, and WatchdogBit the value that says that it has bitten.
	WatchdogUnit = 20
	WatchdogBit  = -1
	// DriveReverse is DriveMode's bit for a positive direction the other way round, and
	// DriveTimeBased the one that makes profiles times.
	DriveReverse, DriveTimeBased = 1 << 0, 1 << 2
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
