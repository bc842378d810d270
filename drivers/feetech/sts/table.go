package sts

import "github.com/tau-robot/tau/drivers/feetech/bus"

// The memory of STS and SMS servos with a 12-bit magnetic encoder (STS3215, STS3250 and
// kin), from the maker's table (doc.feetech.cn, FT-SMS-STS-emanual-229f4476422d4059abfb1cb0)
// and the headers of its SDK (SMS_STS.h of FTServo), which agree on every address below.
//
// Units: a tick is 1/4096 turn; a speed is in ticks/s (with Phase's bit 2; else in 50
// ticks/s), an acceleration in 100 ticks/s², a load or torque in 1/1000 of the largest, a
// voltage in 0.1 V, a temperature in °C, a current in 6.5 mA.
var (
	FirmwareMajor = bus.Register{Name: "firmware_major", Addr: 0, Size: 1, Kept: true, ReadOnly: true}
	FirmwareMinor = bus.Register{Name: "firmware_minor", Addr: 1, Size: 1, Kept: true, ReadOnly: true}
	Model         = bus.Register{Name: "model", Addr: 3, Size: 2, Kept: true, ReadOnly: true}
	ID            = bus.Register{Name: "id", Addr: 5, Size: 1, Kept: true}
	BaudRate      = bus.Register{Name: "baud_rate", Addr: 6, Size: 1, Kept: true}    // an index, see Baud
	ReturnDelay   = bus.Register{Name: "return_delay", Addr: 7, Size: 1, Kept: true} // 2 µs; newer servos keep it without effect
	StatusLevel   = bus.Register{Name: "status_level", Addr: 8, Size: 1, Kept: true} // see LevelQuiet, LevelAll
	// MinPosition and MaxPosition bound the goal, in ticks behind the offset.
	MinPosition    = bus.Register{Name: "min_position", Addr: 9, Size: 2, Sign: bus.Magnitude, Bit: 15, Kept: true}
	MaxPosition    = bus.Register{Name: "max_position", Addr: 11, Size: 2, Sign: bus.Magnitude, Bit: 15, Kept: true}
	MaxTemperature = bus.Register{Name: "max_temperature", Addr: 13, Size: 1, Kept: true}
	MaxVoltage     = bus.Register{Name: "max_voltage", Addr: 14, Size: 1, Kept: true}
	MinVoltage     = bus.Register{Name: "min_voltage", Addr: 15, Size: 1, Kept: true}
	// MaxTorque is what TorqueLimit is after power-up.
	MaxTorque         = bus.Register{Name: "max_torque", Addr: 16, Size: 2, Kept: true}
	Phase             = bus.Register{Name: "phase", Addr: 18, Size: 1, Kept: true}            // see the Phase bits
	UnloadCondition   = bus.Register{Name: "unload_condition", Addr: 19, Size: 1, Kept: true} // bits of Status that take torque away
	LEDCondition      = bus.Register{Name: "led_condition", Addr: 20, Size: 1, Kept: true}
	PositionP         = bus.Register{Name: "position_p", Addr: 21, Size: 1, Kept: true}
	PositionD         = bus.Register{Name: "position_d", Addr: 22, Size: 1, Kept: true}
	PositionI         = bus.Register{Name: "position_i", Addr: 23, Size: 1, Kept: true}
	MinStartForce     = bus.Register{Name: "min_start_force", Addr: 24, Size: 1, Kept: true}
	IntegralLimit     = bus.Register{Name: "integral_limit", Addr: 25, Size: 1, Kept: true}
	DeadZoneCW        = bus.Register{Name: "dead_zone_cw", Addr: 26, Size: 1, Kept: true}
	DeadZoneCCW       = bus.Register{Name: "dead_zone_ccw", Addr: 27, Size: 1, Kept: true}
	ProtectionCurrent = bus.Register{Name: "protection_current", Addr: 28, Size: 2, Kept: true}
	AngularResolution = bus.Register{Name: "angular_resolution", Addr: 30, Size: 1, Kept: true}
	// HomingOffset is what the servo takes from its encoder's ticks; 11 bits and a sign,
	// so ±2047: half a turn, 2048, can't be said. The maker's newer table has a twelfth bit
	// above the sign, which is read here and never written.
	HomingOffset     = bus.Register{Name: "homing_offset", Addr: 31, Size: 2, Sign: bus.Magnitude, Bit: 11, Kept: true}
	Mode             = bus.Register{Name: "mode", Addr: 33, Size: 1, Kept: true}              // see ModePosition
	ProtectiveTorque = bus.Register{Name: "protective_torque", Addr: 34, Size: 1, Kept: true} // 1/100
	ProtectionTime   = bus.Register{Name: "protection_time", Addr: 35, Size: 1, Kept: true}   // 10 ms
	OverloadTorque   = bus.Register{Name: "overload_torque", Addr: 36, Size: 1, Kept: true}   // 1/100
	SpeedP           = bus.Register{Name: "speed_p", Addr: 37, Size: 1, Kept: true}
	OverCurrentTime  = bus.Register{Name: "over_current_time", Addr: 38, Size: 1, Kept: true} // 10 ms
	SpeedI           = bus.Register{Name: "speed_i", Addr: 39, Size: 1, Kept: true}

	TorqueEnable = bus.Register{Name: "torque_enable", Addr: 40, Size: 1} // see TorqueOff
	Acceleration = bus.Register{Name: "acceleration", Addr: 41, Size: 1}  // 0: at once
	GoalPosition = bus.Register{Name: "goal_position", Addr: 42, Size: 2, Sign: bus.Magnitude, Bit: 15}
	GoalTime     = bus.Register{Name: "goal_time", Addr: 44, Size: 2, Sign: bus.Magnitude, Bit: 10}  // of mode 2 the PWM, in 1/1000
	GoalSpeed    = bus.Register{Name: "goal_speed", Addr: 46, Size: 2, Sign: bus.Magnitude, Bit: 15} // 0: as fast as it can
	TorqueLimit  = bus.Register{Name: "torque_limit", Addr: 48, Size: 2}
	// Lock is 1 after power-up: what is written below Kept then works until power is
	// lost, and no longer; with 0 it is kept.
	Lock = bus.Register{Name: "lock", Addr: 55, Size: 1}

	PresentPosition    = bus.Register{Name: "present_position", Addr: 56, Size: 2, Sign: bus.Magnitude, Bit: 15, ReadOnly: true}
	PresentSpeed       = bus.Register{Name: "present_speed", Addr: 58, Size: 2, Sign: bus.Magnitude, Bit: 15, ReadOnly: true}
	PresentLoad        = bus.Register{Name: "present_load", Addr: 60, Size: 2, Sign: bus.Magnitude, Bit: 10, ReadOnly: true}
	PresentVoltage     = bus.Register{Name: "present_voltage", Addr: 62, Size: 1, ReadOnly: true}
	PresentTemperature = bus.Register{Name: "present_temperature", Addr: 63, Size: 1, ReadOnly: true}
	Waiting            = bus.Register{Name: "waiting", Addr: 64, Size: 1, ReadOnly: true} // a registered write waits for its action
	ServoStatus        = bus.Register{Name: "status", Addr: 65, Size: 1, ReadOnly: true}  // the bits of a packet's error byte
	Moving             = bus.Register{Name: "moving", Addr: 66, Size: 1, ReadOnly: true}
	PresentGoal        = bus.Register{Name: "present_goal", Addr: 67, Size: 2, Sign: bus.Magnitude, Bit: 15, ReadOnly: true}
	PresentCurrent     = bus.Register{Name: "present_current", Addr: 69, Size: 2, Sign: bus.Magnitude, Bit: 15, ReadOnly: true}
)
