package dxl

import "github.com/tau-robot/tau/drivers/feetech/bus"

// The memory of the X series, from the maker's own tables (the .model files of
// dynamixel-sdk 4.1.0, of which those of XL430, XC430, XM430, XM540, XH430, XH540 and XL330
// agree on every address below that they have; emanual.robotis.com/docs/en/dxl/x).
//
// Units: a tick is 1/4096 turn; a velocity is in 0.229 turns
// a minute, an acceleration in 214.577 turns/min², a PWM in 1/885 of the largest, a
// voltage in 0.1 V, a temperature in °C; a current is in 2.69 mA (XM, XH) or 1 mA (XC,
// XL330), and an XL430 has at that place a load in 1/1000.
var (
	Model           = bus.Register{Name: "model", Addr: 0, Size: 2, Kept: true, ReadOnly: true}
	Firmware        = bus.Register{Name: "firmware", Addr: 6, Size: 1, Kept: true, ReadOnly: true}
	ID              = bus.Register{Name: "id", Addr: 7, Size: 1, Kept: true}
	BaudRate        = bus.Register{Name: "baud_rate", Addr: 8, Size: 1, Kept: true}       // an index, see Baud
	ReturnDelay     = bus.Register{Name: "return_delay", Addr: 9, Size: 1, Kept: true}    // 2 µs
	DriveMode       = bus.Register{Name: "drive_mode", Addr: 10, Size: 1, Kept: true}     // see the Drive bits
	OperatingMode   = bus.Register{Name: "operating_mode", Addr: 11, Size: 1, Kept: true} // see ModePosition
	SecondaryID     = bus.Register{Name: "secondary_id", Addr: 12, Size: 1, Kept: true}   // above 252: none
	ProtocolType    = bus.Register{Name: "protocol_type", Addr: 13, Size: 1, Kept: true}
	HomingOffset    = bus.Register{Name: "homing_offset", Addr: 20, Size: 4, Sign: bus.Complement, Kept: true} // added to the encoder's
	MovingThreshold = bus.Register{Name: "moving_threshold", Addr: 24, Size: 4, Kept: true}
	MaxTemperature  = bus.Register{Name: "max_temperature", Addr: 31, Size: 1, Kept: true}
	MaxVoltage      = bus.Register{Name: "max_voltage", Addr: 32, Size: 2, Kept: true}
	MinVoltage      = bus.Register{Name: "min_voltage", Addr: 34, Size: 2, Kept: true}
	PWMLimit        = bus.Register{Name: "pwm_limit", Addr: 36, Size: 2, Kept: true}
	CurrentLimit    = bus.Register{Name: "current_limit", Addr: 38, Size: 2, Kept: true} // not of XL430
	VelocityLimit   = bus.Register{Name: "velocity_limit", Addr: 44, Size: 4, Kept: true}
	MaxPosition     = bus.Register{Name: "max_position", Addr: 48, Size: 4, Kept: true}
	MinPosition     = bus.Register{Name: "min_position", Addr: 52, Size: 4, Kept: true}
	Shutdown        = bus.Register{Name: "shutdown", Addr: 63, Size: 1, Kept: true} // bits of HardwareError that take torque away

	TorqueEnable = bus.Register{Name: "torque_enable", Addr: 64, Size: 1}
	LED          = bus.Register{Name: "led", Addr: 65, Size: 1}
	StatusLevel  = bus.Register{Name: "status_level", Addr: 68, Size: 1} // see LevelPing, LevelRead, LevelAll
	// HardwareError is latched until a Reboot; its bits are the Error constants.
	HardwareError = bus.Register{Name: "hardware_error", Addr: 70, Size: 1, ReadOnly: true}
	PositionD     = bus.Register{Name: "position_d", Addr: 80, Size: 2}
	PositionI     = bus.Register{Name: "position_i", Addr: 82, Size: 2}
	PositionP     = bus.Register{Name: "position_p", Addr: 84, Size: 2}
	// BusWatchdog: after that many times 20 ms without a packet the servo stops, and
	// takes no goal until 0 is written; -1 says that this has happened; 0 is off.
	BusWatchdog         = bus.Register{Name: "bus_watchdog", Addr: 98, Size: 1, Sign: bus.Complement}
	GoalPWM             = bus.Register{Name: "goal_pwm", Addr: 100, Size: 2, Sign: bus.Complement}
	GoalCurrent         = bus.Register{Name: "goal_current", Addr: 102, Size: 2, Sign: bus.Complement} // not of XL430
	GoalVelocity        = bus.Register{Name: "goal_velocity", Addr: 104, Size: 4, Sign: bus.Complement}
	ProfileAcceleration = bus.Register{Name: "profile_acceleration", Addr: 108, Size: 4} // 0: at once
	ProfileVelocity     = bus.Register{Name: "profile_velocity", Addr: 112, Size: 4}     // 0: as fast as it can
	GoalPosition        = bus.Register{Name: "goal_position", Addr: 116, Size: 4, Sign: bus.Complement}
	RealtimeTick        = bus.Register{Name: "realtime_tick", Addr: 120, Size: 2, ReadOnly: true} // ms, to 32767 and again from 0
	Moving              = bus.Register{Name: "moving", Addr: 122, Size: 1, ReadOnly: true}
	MovingStatus        = bus.Register{Name: "moving_status", Addr: 123, Size: 1, ReadOnly: true}
	PresentPWM          = bus.Register{Name: "present_pwm", Addr: 124, Size: 2, Sign: bus.Complement, ReadOnly: true}
	PresentCurrent      = bus.Register{Name: "present_current", Addr: 126, Size: 2, Sign: bus.Complement, ReadOnly: true} // of XL430: the load
	PresentVelocity     = bus.Register{Name: "present_velocity", Addr: 128, Size: 4, Sign: bus.Complement, ReadOnly: true}
	PresentPosition     = bus.Register{Name: "present_position", Addr: 132, Size: 4, Sign: bus.Complement, ReadOnly: true}
	PresentVoltage      = bus.Register{Name: "present_voltage", Addr: 144, Size: 2, ReadOnly: true}
	PresentTemperature  = bus.Register{Name: "present_temperature", Addr: 146, Size: 1, ReadOnly: true}
)
