package emulator

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tau-robot/tau/robot"
)

// The bits of the hardware error status (the maker's control table, register 70).
const (
	xlErrVoltage     = 1 << 0
	xlErrTemperature = 1 << 2
	xlErrOverload    = 1 << 5
)

// The numbers of errors in a status packet (the maker's description of protocol 2.0).
const (
	dxlFailed      = 1
	dxlInstruction = 2
	dxlRange       = 4
	dxlLength      = 5
	dxlLimit       = 6
	dxlAccess      = 7
	dxlAlert       = 0x80
)

const (
	xlSpeedUnit = 0.229 * ticksPerTurn / 60     // ticks/s of 0.229 rev/min
	xlAccelUnit = 214.577 * ticksPerTurn / 3600 // ticks/s² of 214.577 rev/min²
	// xlFastest is without load at 12 V: 61 rev/min (the maker's specifications).
	xlFastest = 61.0 * ticksPerTurn / 60
	xlHardest = 50000.0 // as stsHardest
	// xlOverload of the largest torque for xlOverTime is an overload. Assumed: the maker
	// says "a persistent load that exceeds the maximum output".
	xlOverload = 0.95
	xlOverTime = 2.0
	xlPosMode  = 3
	watchUnit  = 0.020 // s of register 98
)

// xl430 is Robotis' XL430-W250 in position control mode, the only one that it takes.
type xl430 struct{ t *table }

func (k *xl430) table() *table   { return k.t }
func (k *xl430) supply() float64 { return 12 }

func (k *xl430) factory(s *servo, id byte, baud int) error {
	i := slices.Index(xlBauds(), baud)
	switch {
	case id > 252:
		return robot.LimitErr(robot.CodeInvalidArgument, "servo bus", float64(id), 252, "", "no servo has that ID")
	case i < 0:
		return robot.Errf(robot.CodeInvalidArgument, "servo bus", "X series servos don't have %d Bd, but %v", baud, xlBauds())
	}
	put(s.rom, xlID, 1, uint32(id))
	put(s.rom, xlBaud, 1, uint32(i))
	return nil
}

// homed: its register is added to the encoder's ticks.
func (k *xl430) homed(s *servo, ticks int) error {
	if ticks < -1044479 || ticks > 1044479 {
		return robot.LimitErr(robot.CodeInvalidArgument, "servo bus", float64(ticks), math.Copysign(1044479, float64(ticks)), "ticks", "the servo's offset can't be that far")
	}
	put(s.rom, xlOffset, 4, uint32(int32(-ticks)))
	s.put(xlOffset, 4, uint32(int32(-ticks)))
	k.powerUp(s)
	return nil
}

func (k *xl430) saysReboot() bool { return true }

func (k *xl430) pong(s *servo) []byte {
	return []byte{s.mem[xlModel], s.mem[xlModel+1], s.mem[xlFirmware]}
}

func (k *xl430) unknown(s *servo) (byte, bool) {
	return k.status(s) | dxlInstruction, s.get(xlLevel, 1) == 2
}

func (k *xl430) status(s *servo) byte {
	if s.get(xlError, 1) != 0 {
		return dxlAlert
	}
	return 0
}

// powerUp: the turns that were made without power are lost, and the goal is where the
// shaft stands.
func (k *xl430) powerUp(s *servo) {
	s.base = -ticksPerTurn * math.Floor(math.Round(s.raw())/ticksPerTurn)
	s.put(xlGoalPWM, 2, s.get(xlMaxPWM, 2))
	s.put(xlGoal, 4, uint32(int32(math.Round(k.at(s)))))
	s.prof.rest(k.at(s))
}

// at is the position as the servo has it, ticks, not rounded, and beyond a turn where the
// shaft was turned that far.
func (k *xl430) at(s *servo) float64 {
	return s.raw() + s.base + float64(signed(s.get(xlOffset, 4), 4))
}

// take writes all of it or nothing.
func (k *xl430) take(s *servo, addr int, data []byte) byte {
	if len(data) == 0 {
		return k.status(s) | dxlLength
	}
	for i := 0; i < len(data); {
		r := k.t.reg(addr + i)
		switch {
		case r == nil || !r.write || r.rom && s.get(xlTorque, 1) == 1:
			return k.status(s) | dxlAccess
		case r.addr != addr+i || i+r.size > len(data):
			return k.status(s) | dxlLength
		}
		if e := k.refuse(s, r, get(data, i, r.size)); e != 0 {
			return k.status(s) | e
		}
		i += r.size
	}
	for i := 0; i < len(data); {
		r := k.t.reg(addr + i)
		v := get(data, i, r.size)
		s.put(r.addr, r.size, v)
		if r.rom {
			put(s.rom, r.addr, r.size, v)
		}
		k.wrote(s, r)
		i += r.size
	}
	return k.status(s)
}

func (k *xl430) refuse(s *servo, r *register, v uint32) byte {
	x := signed(v, r.size)
	switch {
	case !r.allowed(v), r.addr == xlMode && v != xlPosMode, r.addr == xlDriveMode && v != 0:
		return dxlRange
	case s.barked && (r.addr == xlGoal || r.addr == xlGoalPWM || r.addr == xlGoalSpeed):
		return dxlRange // read-only until the watchdog is cleared
	case r.addr == xlGoal && (x < int64(s.get(xlMinPosition, 4)) || x > int64(s.get(xlMaxPosition, 4))):
		return dxlLimit
	case r.addr == xlTorque && v == 1 && s.get(xlError, 1)&s.get(xlShutdown, 1) != 0:
		return dxlFailed // only a reboot ends a shutdown
	}
	return 0
}

func (k *xl430) wrote(s *servo, r *register) {
	switch r.addr {
	case xlTorque, xlOffset:
		s.prof.rest(k.at(s))
	case xlWatchdog:
		s.watched, s.barked = 0, false
	}
}

func (k *xl430) refresh(s *servo, rng *rand.Rand) {
	put4 := func(addr int, v float64) { s.put(addr, 4, uint32(int32(math.Round(v)))) }
	put4(xlPosition, k.at(s)+s.jitter(rng))
	put4(xlVelocity, s.sense.Velocity*ticksPerRad/xlSpeedUnit)
	put4(xlTarget, s.prof.at)
	put4(xlSpeedTarget, s.prof.v/xlSpeedUnit)
	s.put(xlLoad, 2, uint32(int32(math.Round(s.sense.Load*1000))))
	s.put(xlPWM, 2, uint32(int32(math.Round(s.sense.Load*885))))
	s.put(xlVoltage, 2, uint32(math.Round(s.volts*10)))
	s.put(xlTemperature, 1, uint32(math.Round(s.celsius())))
	s.put(xlTick, 2, uint32(math.Mod(s.age*1000, 32768)))
	moving := uint32(0)
	if math.Abs(s.sense.Velocity)*ticksPerRad > float64(s.get(xlMovingAbove, 4))*xlSpeedUnit {
		moving = 1
	}
	s.put(xlMoving, 1, moving)
	profile := uint32(0)
	if s.prof.at != k.goal(s) {
		profile = 1 << 1 // a profile is in progress
	} else if math.Abs(k.at(s)-s.prof.at) < 5 {
		profile = 1 // in position
	}
	s.put(xlStatus, 1, profile)
}

func (k *xl430) readable(addr, count int) byte {
	if addr+count > xlSize {
		return dxlAccess
	}
	return 0
}

func (k *xl430) goal(s *servo) float64 { return float64(signed(s.get(xlGoal, 4), 4)) }

func (k *xl430) drive(s *servo, dt float64) Drive {
	s.age += dt
	k.protect(s, dt)
	at := k.at(s)
	if !k.torque(s) {
		s.prof.rest(at)
		return Drive{}
	}
	speed := float64(s.get(xlSpeed, 4)) * xlSpeedUnit
	if limit := math.Min(xlFastest, float64(s.get(xlMaxSpeed, 4))*xlSpeedUnit); speed == 0 || speed > limit {
		speed = limit
	}
	accel := float64(s.get(xlAcceleration, 4)) * xlAccelUnit
	if accel == 0 {
		accel = xlHardest
	}
	s.prof.step(k.goal(s), speed, accel, dt)
	torque := math.Abs(float64(signed(s.get(xlGoalPWM, 2), 2))) / 885
	return Drive{
		Powered: true, Torque: torque, Speed: s.prof.v / ticksPerRad,
		Goal: s.sense.Position + (s.prof.at-at)/ticksPerRad,
	}
}

// protect latches what the hardware complains of, until a reboot, and takes the torque away
// where the register of the shutdown says so. The watchdog stops the servo where it is.
func (k *xl430) protect(s *servo, dt float64) {
	s.warm(dt)
	if s.volts*10 > float64(s.get(xlMaxVoltage, 2)) || s.volts*10 < float64(s.get(xlMinVoltage, 2)) {
		s.faults |= xlErrVoltage
	}
	if s.celsius() > float64(s.get(xlMaxTemperature, 1)) {
		s.faults |= xlErrTemperature
	}
	if math.Abs(s.sense.Load) < xlOverload {
		s.over = 0
	} else if s.over += dt; s.over > xlOverTime {
		s.faults |= xlErrOverload
	}
	s.put(xlError, 1, uint32(s.faults))
	if uint32(s.faults)&s.get(xlShutdown, 1) != 0 {
		s.put(xlTorque, 1, 0)
	}
	if limit := s.get(xlWatchdog, 1); limit > 0 && limit <= 127 {
		if s.watched += dt; s.watched > float64(limit)*watchUnit {
			s.barked = true
			s.put(xlWatchdog, 1, 0xFF)
			s.put(xlGoal, 4, uint32(int32(math.Round(s.prof.at))))
			s.prof.rest(s.prof.at)
		}
	}
}

func (k *xl430) torque(s *servo) bool { return s.get(xlTorque, 1) == 1 }

func (k *xl430) id(s *servo) byte  { return byte(s.get(xlID, 1)) }
func (k *xl430) baud(s *servo) int { return xlBauds()[s.get(xlBaud, 1)] }

func (k *xl430) delay(s *servo) time.Duration {
	return time.Duration(s.get(xlDelay, 1)) * 2 * time.Microsecond
}

func (k *xl430) answers(s *servo, read, ping bool) bool {
	level := s.get(xlLevel, 1)
	return ping || read && level >= 1 || level == 2
}
