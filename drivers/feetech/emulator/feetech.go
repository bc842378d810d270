package emulator

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tau-robot/tau/robot"
)

// The bits of an STS servo's status, which are also the error of its packets.
const (
	stsErrVoltage     = 1 << 0
	stsErrTemperature = 1 << 2
	stsErrCurrent     = 1 << 3
	stsErrOverload    = 1 << 5
)

const (
	// stsFastest is how fast the shaft turns without load at the supply that it is made
	// for, ticks/s: 45 rpm are 3072 (the maker's datasheet of the STS3215 at 7.4 V).
	stsFastest = 3072.0
	// stsHardest stands for "the largest acceleration", which the maker doesn't say,
	// ticks/s².
	stsHardest = 50000.0
	// stsAccelUnit is that of register 41, ticks/s²: 8.7°/s².
	stsAccelUnit = 100.0
	// stsStall is the current at the largest torque, A (the maker's datasheet), and
	// stsAmpUnit that of registers 28 and 69.
	stsStall   = 2.7
	stsAmpUnit = 0.0065
	// stsStill is how slow, ticks/s, counts as not moving.
	stsStill  = 5.0
	calibrate = 128 // what register 40 takes as "this is the middle"
)

// sts3215 is Feetech's STS3215.
type sts3215 struct{ t *table }

func (k *sts3215) table() *table { return k.t }

func (k *sts3215) supply() float64 { return 7.4 }

func (k *sts3215) factory(s *servo, id byte, baud int) error {
	i := slices.Index(stsBauds(), baud)
	switch {
	case id > 253:
		return robot.LimitErr(robot.CodeInvalidArgument, "servo bus", float64(id), 253, "", "no servo has that ID")
	case i < 0:
		return robot.Errf(robot.CodeInvalidArgument, "servo bus", "STS servos don't have %d Bd, but %v", baud, stsBauds())
	}
	put(s.rom, stsID, 1, uint32(id))
	put(s.rom, stsBaud, 1, uint32(i))
	return nil
}

func (k *sts3215) homed(s *servo, ticks int) error {
	if ticks < -2047 || ticks > 2047 {
		return robot.LimitErr(robot.CodeInvalidArgument, "servo bus", float64(ticks), math.Copysign(2047, float64(ticks)), "ticks", "the servo's offset can't be that far")
	}
	v := withSign(ticks, 11)
	put(s.rom, stsOffset, 2, v)
	s.put(stsOffset, 2, v)
	k.powerUp(s)
	return nil
}

func (k *sts3215) saysReboot() bool            { return false }
func (k *sts3215) pong(*servo) []byte          { return nil }
func (k *sts3215) unknown(*servo) (byte, bool) { return 0, false }

func (k *sts3215) status(s *servo) byte { return byte(s.get(stsStatus, 1)) }

// powerUp: the torque is off, its limit is what the EEPROM says, and the goal is where the
// shaft stands, so that a servo which is only switched on doesn't jump.
func (k *sts3215) powerUp(s *servo) {
	s.put(stsTorqueLimit, 2, s.get(stsMaxTorque, 2))
	s.put(stsGoalSpeed, 2, 0)
	at := k.at(s)
	s.put(stsGoal, 2, uint32(math.Round(at))%ticksPerTurn)
	s.prof.rest(at)
}

// at is the position as the servo has it, ticks, not rounded.
func (k *sts3215) at(s *servo) float64 {
	return wrapped(s.raw() - float64(magnitude(s.get(stsOffset, 2), 11)))
}

// take stores byte by byte, as these servos do: a register that would get a value outside
// of its range keeps the one it has, and nothing says so. What is written to the EEPROM
// while it is locked counts until the power goes.
func (k *sts3215) take(s *servo, addr int, data []byte) byte {
	old := make([]byte, len(s.mem))
	copy(old, s.mem)
	for i, b := range data {
		if r := k.t.reg(addr + i); r != nil && r.write {
			s.mem[addr+i] = b
		}
	}
	var last *register
	for i := range data {
		r := k.t.reg(addr + i)
		if r == nil || !r.write || r == last {
			continue
		}
		last = r
		v := s.get(r.addr, r.size)
		if !r.allowed(v) || !k.sense(r, v) {
			s.put(r.addr, r.size, get(old, r.addr, r.size))
			continue
		}
		if r.rom && s.get(stsLock, 1) == 0 {
			put(s.rom, r.addr, r.size, v)
		}
		k.wrote(s, r, v)
	}
	return k.status(s)
}

// sense refuses what the range of a register doesn't say.
func (k *sts3215) sense(r *register, v uint32) bool {
	switch r.addr {
	case stsTorque:
		return v <= 2 || v == calibrate
	case stsMaxAngle:
		return v >= 1
	}
	return true
}

func (k *sts3215) wrote(s *servo, r *register, v uint32) {
	switch r.addr {
	case stsTorque:
		s.put(stsStatus, 1, s.get(stsStatus, 1)&^uint32(s.faults))
		s.faults, s.over, s.overAmp, s.limp = 0, 0, 0, false
		if v == calibrate {
			// The offset that makes this the middle, as far as its bits reach.
			off := withSign(int(math.Round(wrapped(s.raw())))-middle, 11)
			s.put(stsOffset, 2, off)
			if s.get(stsLock, 1) == 0 {
				put(s.rom, stsOffset, 2, off)
			}
			s.put(stsTorque, 1, 0)
		}
		s.prof.rest(k.at(s))
	case stsOffset:
		s.prof.rest(k.at(s))
	}
}

func (k *sts3215) refresh(s *servo, rng *rand.Rand) {
	at := uint32(math.Round(wrapped(k.at(s)+s.jitter(rng)))) % ticksPerTurn
	s.put(stsPosition, 2, at)
	s.put(stsSpeed, 2, withSign(int(math.Round(s.sense.Velocity*ticksPerRad)), 15))
	s.put(stsLoad, 2, withSign(int(math.Round(s.sense.Load*1000)), 10))
	s.put(stsVoltage, 1, uint32(math.Round(s.volts*10)))
	s.put(stsTemperature, 1, uint32(math.Round(s.celsius())))
	s.put(stsTarget, 2, uint32(math.Round(k.goal(s))))
	s.put(stsCurrent, 2, withSign(int(math.Round(s.sense.Load*stsStall/stsAmpUnit)), 15))
	moving := uint32(0)
	if s.get(stsTorque, 1) == 1 && s.prof.at != k.goal(s) || math.Abs(s.sense.Velocity)*ticksPerRad > stsStill {
		moving = 1
	}
	s.put(stsMoving, 1, moving)
}

func (k *sts3215) readable(int, int) byte { return 0 } // what isn't there reads as 0

// goal is where the servo goes, ticks: what it was told, within its own limits.
func (k *sts3215) goal(s *servo) float64 {
	g := float64(magnitude(s.get(stsGoal, 2), 15))
	lo, hi := float64(s.get(stsMinAngle, 2)), float64(s.get(stsMaxAngle, 2))
	if lo < hi {
		g = math.Max(lo, math.Min(hi, g))
	}
	return math.Max(0, math.Min(ticksPerTurn-1, g))
}

// drive runs the goal's profile along the encoder's own count, so that a servo never goes
// across the seam between 4095 and 0 by itself, but the long way round.
func (k *sts3215) drive(s *servo, dt float64) Drive {
	k.protect(s, dt)
	at := k.at(s)
	if !k.torque(s) {
		s.prof.rest(at)
		return Drive{}
	}
	speed := float64(magnitude(s.get(stsGoalSpeed, 2), 15))
	if speed = math.Abs(speed); speed == 0 || speed > stsFastest {
		speed = stsFastest
	}
	accel := float64(s.get(stsAcceleration, 1)) * stsAccelUnit
	if accel == 0 {
		accel = stsHardest
	}
	s.prof.step(k.goal(s), speed, accel, dt)
	torque := float64(s.get(stsTorqueLimit, 2)) / 1000
	if s.limp {
		torque = math.Min(torque, float64(s.get(stsHoldTorque, 1))/100)
	}
	return Drive{
		Powered: true, Torque: torque, Speed: s.prof.v / ticksPerRad,
		Goal: s.sense.Position + (s.prof.at-at)/ticksPerRad,
	}
}

// protect watches what the servo protects itself against. An overload leaves it the torque
// of register 34 and lasts until the torque is switched; heat, a wrong supply and too much
// current take the torque away, as far as register 19 says so.
func (k *sts3215) protect(s *servo, dt float64) {
	s.warm(dt)
	unload := byte(s.get(stsUnload, 1))
	now := byte(0)
	if s.volts*10 > float64(s.get(stsMaxVoltage, 1)) || s.volts*10 < float64(s.get(stsMinVoltage, 1)) {
		now |= stsErrVoltage
	}
	if s.celsius() > float64(s.get(stsMaxTemperature, 1)) {
		now |= stsErrTemperature
	}
	if math.Abs(s.sense.Load) >= float64(s.get(stsOverload, 1))/100 {
		if s.over += dt; s.over > float64(s.get(stsProtectTime, 1))*0.01 {
			s.faults |= stsErrOverload
		}
	} else {
		s.over = 0
	}
	if math.Abs(s.sense.Load)*stsStall >= float64(s.get(stsMaxCurrent, 2))*stsAmpUnit {
		if s.overAmp += dt; s.overAmp > float64(s.get(stsCurrentTime, 1))*0.01 {
			s.faults |= stsErrCurrent
		}
	} else {
		s.overAmp = 0
	}
	now |= s.faults
	s.limp = now&unload&stsErrOverload != 0
	if now&unload&^stsErrOverload != 0 {
		s.put(stsTorque, 1, 0)
	}
	s.put(stsStatus, 1, uint32(now))
}

func (k *sts3215) torque(s *servo) bool { return s.get(stsTorque, 1) == 1 && s.get(stsMode, 1) == 0 }

func (k *sts3215) id(s *servo) byte  { return byte(s.get(stsID, 1)) }
func (k *sts3215) baud(s *servo) int { return stsBauds()[s.get(stsBaud, 1)] }

func (k *sts3215) delay(s *servo) time.Duration {
	return time.Duration(s.get(stsDelay, 1)) * 2 * time.Microsecond
}

func (k *sts3215) answers(s *servo, read, ping bool) bool {
	return read || ping || s.get(stsLevel, 1) >= 1
}
