package emulator

// The addresses of an STS3215's registers that its emulation looks at.
const (
	stsID             = 5
	stsBaud           = 6
	stsDelay          = 7
	stsLevel          = 8
	stsMinAngle       = 9
	stsMaxAngle       = 11
	stsMaxTemperature = 13
	stsMaxVoltage     = 14
	stsMinVoltage     = 15
	stsMaxTorque      = 16
	stsUnload         = 19
	stsMaxCurrent     = 28
	stsOffset         = 31
	stsMode           = 33
	stsHoldTorque     = 34
	stsProtectTime    = 35
	stsOverload       = 36
	stsCurrentTime    = 38
	stsTorque         = 40
	stsAcceleration   = 41
	stsGoal           = 42
	stsGoalSpeed      = 46
	stsTorqueLimit    = 48
	stsLock           = 55
	stsPosition       = 56
	stsSpeed          = 58
	stsLoad           = 60
	stsVoltage        = 62
	stsTemperature    = 63
	stsStatus         = 65
	stsMoving         = 66
	stsTarget         = 67
	stsCurrent        = 69

	stsSize = 87
)

// stsTable is the table of an STS3215 (Feetech's "magnetic encoder STS series memory
// table", firmware 3.x; the model number 777 at 3 is what such a servo answers).
// Registers that the emulation only stores have their published range and nothing else.
// Where the table leaves a default open, it is what servos are sold with.
func stsTable() *table {
	rom := func(name string, addr, size int, def uint32, hi int64) register {
		return register{name: name, addr: addr, size: size, write: true, rom: true, def: def, hi: hi}
	}
	ram := func(name string, addr, size int, def uint32, hi int64) register {
		return register{name: name, addr: addr, size: size, write: true, def: def, hi: hi}
	}
	fixed := func(name string, addr, size int, def uint32) register {
		return register{name: name, addr: addr, size: size, rom: true, def: def}
	}
	live := func(name string, addr, size int) register {
		return register{name: name, addr: addr, size: size}
	}
	return newTable(stsSize, []register{
		fixed("firmware major", 0, 1, 3), fixed("firmware minor", 1, 1, 10), fixed("end", 2, 1, 0),
		fixed("model", 3, 2, 777),
		rom("id", stsID, 1, 1, 253), rom("baud rate", stsBaud, 1, 0, 7),
		rom("return delay", stsDelay, 1, 0, 254), rom("status level", stsLevel, 1, 1, 1),
		rom("min angle", stsMinAngle, 2, 0, 4094), rom("max angle", stsMaxAngle, 2, 4095, 4095),
		rom("max temperature", stsMaxTemperature, 1, 70, 100),
		rom("max voltage", stsMaxVoltage, 1, 140, 254), rom("min voltage", stsMinVoltage, 1, 40, 254),
		rom("max torque", stsMaxTorque, 2, 1000, 1000), rom("phase", 18, 1, 12, 254),
		rom("unload condition", stsUnload, 1, 44, 254), rom("LED condition", 20, 1, 47, 254),
		rom("position P", 21, 1, 32, 254), rom("position D", 22, 1, 32, 254), rom("position I", 23, 1, 0, 254),
		rom("min start force", 24, 1, 16, 254), rom("integral limit", 25, 1, 0, 254),
		rom("dead zone cw", 26, 1, 1, 32), rom("dead zone ccw", 27, 1, 1, 32),
		rom("max current", stsMaxCurrent, 2, 500, 2047), rom("angle resolution", 30, 1, 1, 128),
		rom("position offset", stsOffset, 2, 0, 4095), rom("mode", stsMode, 1, 0, 3),
		rom("hold torque", stsHoldTorque, 1, 20, 254), rom("protection time", stsProtectTime, 1, 200, 254),
		rom("overload torque", stsOverload, 1, 80, 254), rom("speed P", 37, 1, 10, 254),
		rom("overcurrent time", stsCurrentTime, 1, 200, 254), rom("speed I", 39, 1, 10, 254),

		ram("torque enable", stsTorque, 1, 0, 128), ram("acceleration", stsAcceleration, 1, 0, 254),
		ram("goal position", stsGoal, 2, 0, 0), ram("goal time", 44, 2, 0, 0), ram("goal speed", stsGoalSpeed, 2, 0, 0),
		ram("torque limit", stsTorqueLimit, 2, 1000, 1000), ram("lock", stsLock, 1, 1, 1),

		live("position", stsPosition, 2), live("speed", stsSpeed, 2), live("load", stsLoad, 2),
		live("voltage", stsVoltage, 1), live("temperature", stsTemperature, 1), live("async flag", 64, 1),
		live("status", stsStatus, 1), live("moving", stsMoving, 1), live("target", stsTarget, 2), live("current", stsCurrent, 2),

		fixed("speed threshold", 80, 1, 1), fixed("D time", 81, 1, 2), fixed("speed unit", 82, 1, 0),
		fixed("H time", 83, 1, 0), fixed("speed limit", 84, 1, 68), fixed("acceleration limit", 85, 1, 254),
		fixed("acceleration factor", 86, 1, 1),
	})
}

// stsBauds are the rates that the register of the baud rate names.
func stsBauds() []int { return []int{1000000, 500000, 250000, 128000, 115200, 76800, 57600, 38400} }
