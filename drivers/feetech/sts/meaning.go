package sts

import "github.com/tau-robot/tau/drivers/feetech/bus"

// Values of StatusLevel.
const (
	LevelQuiet = iota // only Ping and Read are answered
	LevelAll          // Write too
)

// ModePosition is the Mode of a servo that goes to its GoalPosition.
const ModePosition = 0

// Values of TorqueEnable.
const (
	TorqueOff     = 0
	TorqueOn      = 1
	TorqueDamping = 2
	// TorqueCalibrate makes the present position 2048, by HomingOffset: it is here to be
	// kept from being sent.
	TorqueCalibrate = 128
)

const (
	// Kept is the first address that isn't kept without power: bus.Options.KeptBelow.
	Kept = 40
	// TicksPerTurn of an STS3215's encoder.
	TicksPerTurn = 4096
	// ModelSTS3215 is its Model register.
	ModelSTS3215 = 777
)

// Bits of Phase that change what other registers mean.
const (
	PhaseTickSpeed = 1 << 2 // speeds are in ticks/s, else in 50 of them
	PhaseZeroFast  = 1 << 3 // a GoalSpeed of 0 is the fastest, else a stop
	PhaseManyTurns = 1 << 4 // positions go on beyond a turn
)

// The bits of a packet's error byte, of ServoStatus and of UnloadCondition.
const (
	BadVoltage  = 1 << 0
	BadSensor   = 1 << 1
	TooHot      = 1 << 2
	OverCurrent = 1 << 3
	Overload    = 1 << 5
)

// Bauds are the rates of the BaudRate register's values from 0 on; 0 is how an STS servo
// comes, 4 an SMS.
func Bauds() []int {
	return []int{1_000_000, 500_000, 250_000, 128_000, 115_200, 76_800, 57_600, 38_400}
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
		FirmwareMajor, FirmwareMinor, Model, ID, BaudRate, ReturnDelay, StatusLevel, MinPosition, MaxPosition,
		MaxTemperature, MaxVoltage, MinVoltage, MaxTorque, Phase, UnloadCondition, LEDCondition,
		PositionP, PositionD, PositionI, MinStartForce, IntegralLimit, DeadZoneCW, DeadZoneCCW, ProtectionCurrent,
		AngularResolution, HomingOffset, Mode, ProtectiveTorque, ProtectionTime, OverloadTorque,
		SpeedP, OverCurrentTime, SpeedI, TorqueEnable, Acceleration, GoalPosition, GoalTime, GoalSpeed,
		TorqueLimit, Lock, PresentPosition, PresentSpeed, PresentLoad, PresentVoltage, PresentTemperature,
		Waiting, ServoStatus, Moving, PresentGoal, PresentCurrent,
	}
}
