package emulator

// The addresses of an XL430-W250's control table that its emulation looks at.
const (
	xlModel          = 0
	xlFirmware       = 6
	xlID             = 7
	xlBaud           = 8
	xlDelay          = 9
	xlDriveMode      = 10
	xlMode           = 11
	xlOffset         = 20
	xlMovingAbove    = 24
	xlMaxTemperature = 31
	xlMaxVoltage     = 32
	xlMinVoltage     = 34
	xlMaxPWM         = 36
	xlMaxSpeed       = 44
	xlMaxPosition    = 48
	xlMinPosition    = 52
	xlShutdown       = 63
	xlTorque         = 64
	xlLevel          = 68
	xlError          = 70
	xlWatchdog       = 98
	xlGoalPWM        = 100
	xlGoalSpeed      = 104
	xlAcceleration   = 108
	xlSpeed          = 112
	xlGoal           = 116
	xlTick           = 120
	xlMoving         = 122
	xlStatus         = 123
	xlPWM            = 124
	xlLoad           = 126
	xlVelocity       = 128
	xlPosition       = 132
	xlSpeedTarget    = 136
	xlTarget         = 140
	xlVoltage        = 144
	xlTemperature    = 146

	xlSize = 148
)

// xlTable is the control table of an XL430-W250 (emanual.robotis.com/docs/en/dxl/x/xl430-w250),
// without the indirect addresses.
func xlTable() *table {
	rom := func(name string, addr, size int, def uint32, lo, hi int64) register {
		return register{name: name, addr: addr, size: size, write: true, rom: true, def: def, lo: lo, hi: hi}
	}
	ram := func(name string, addr, size int, def uint32, lo, hi int64) register {
		return register{name: name, addr: addr, size: size, write: true, def: def, lo: lo, hi: hi}
	}
	live := func(name string, addr, size int) register {
		return register{name: name, addr: addr, size: size}
	}
	gain := func(name string, addr int, def uint32) register { return ram(name, addr, 2, def, 0, 16383) }
	return newTable(xlSize, []register{
		{name: "model", addr: xlModel, size: 2, rom: true, def: 1060}, live("model information", 2, 4),
		{name: "firmware", addr: xlFirmware, size: 1, rom: true, def: 47},
		rom("id", xlID, 1, 1, 0, 252), rom("baud rate", xlBaud, 1, 1, 0, 7), rom("return delay", xlDelay, 1, 250, 0, 254),
		rom("drive mode", xlDriveMode, 1, 0, 0, 13), rom("operating mode", xlMode, 1, 3, 0, 16),
		rom("secondary id", 12, 1, 255, 0, 255), rom("protocol", 13, 1, 2, 1, 2),
		rom("homing offset", xlOffset, 4, 0, -1044479, 1044479), rom("moving threshold", xlMovingAbove, 4, 10, 0, 1023),
		rom("temperature limit", xlMaxTemperature, 1, 72, 0, 100),
		rom("max voltage", xlMaxVoltage, 2, 140, 60, 140), rom("min voltage", xlMinVoltage, 2, 60, 60, 140),
		rom("pwm limit", xlMaxPWM, 2, 885, 0, 885), rom("velocity limit", xlMaxSpeed, 4, 265, 0, 1023),
		rom("max position", xlMaxPosition, 4, 4095, 0, 4095), rom("min position", xlMinPosition, 4, 0, 0, 4095),
		rom("startup configuration", 60, 1, 0, 0, 3), rom("shutdown", xlShutdown, 1, 52, 0, 63),

		ram("torque enable", xlTorque, 1, 0, 0, 1), ram("led", 65, 1, 0, 0, 1),
		ram("status return level", xlLevel, 1, 2, 0, 2), live("registered instruction", 69, 1), live("hardware error", xlError, 1),
		gain("velocity I", 76, 1000), gain("velocity P", 78, 100), gain("position D", 80, 4000),
		gain("position I", 82, 0), gain("position P", 84, 640), gain("feedforward 2", 88, 0), gain("feedforward 1", 90, 0),
		ram("bus watchdog", xlWatchdog, 1, 0, 0, 127),
		ram("goal pwm", xlGoalPWM, 2, 885, -885, 885), ram("goal velocity", xlGoalSpeed, 4, 0, -1023, 1023),
		ram("profile acceleration", xlAcceleration, 4, 0, 0, 32767), ram("profile velocity", xlSpeed, 4, 0, 0, 32767),
		ram("goal position", xlGoal, 4, 0, -1<<31, 1<<31-1),

		live("realtime tick", xlTick, 2), live("moving", xlMoving, 1), live("moving status", xlStatus, 1),
		live("present pwm", xlPWM, 2), live("present load", xlLoad, 2), live("present velocity", xlVelocity, 4),
		live("present position", xlPosition, 4), live("velocity trajectory", xlSpeedTarget, 4),
		live("position trajectory", xlTarget, 4), live("input voltage", xlVoltage, 2), live("temperature", xlTemperature, 1),
		live("backup ready", 147, 1),
	})
}

// xlBauds are the rates that the register of the baud rate names.
func xlBauds() []int {
	return []int{9600, 57600, 115200, 1000000, 2000000, 3000000, 4000000, 4500000}
}
