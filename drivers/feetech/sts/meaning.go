package sts

import "github.com/tau-robot/tau/drivers/feetech/bus"

// Values of registers.
const (
	// LevelQuiet: only Ping and Read are answered; LevelAll: also Write.
	LevelQuiet, LevelAll = 0, 1
	ModePosition         = 0
	TorqueOff, TorqueOn  = 0, 1
	// Kept is the first address that isn't kept without power: bus.Options.KeptBelow.
	Kept = 40
	// TicksPerTurn of an STS3215's encoder, and ModelSTS3215 its Model register.
	TicksPerTurn = 4096
	ModelSTS3215 = 777
)

// The bits of a packet's error byte, of ServoStatus and of UnloadCondition.
const (
	BadVoltage  = 1 << 0
	BadSensor   = 1 << 1
	TooHot      = 1 << 2
	OverCurrent = 1 << 3
	Overload    = 1 << 5
)

// Bauds are the rates that servos of this series can be set to, the likeliest first.
func Bauds() []int {
	return []int{1_000_000, 500_000, 250_000, 128_000, 115_200, 57_600, 38_400, 19_200}
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
		PositionP, PositionD, PositionI, MinStartForce, DeadZoneCW, DeadZoneCCW, ProtectionCurrent,
		AngularResolution, HomingOffset, Mode, ProtectiveTorque, ProtectionTime, OverloadTorque,
		SpeedP, OverCurrentTime, SpeedI, TorqueEnable, Acceleration, GoalPosition, GoalTime, GoalSpeed,
		TorqueLimit, Lock, PresentPosition, PresentSpeed, PresentLoad, PresentVoltage, PresentTemperature,
		ServoStatus, Moving, PresentCurrent,
	}
}
