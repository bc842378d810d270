package emulator

import (
	"math"
	"time"

	"github.com/tau-robot/tau/robot"
)

// The faults below are of a servo by the ID that it was made with, whatever its register
// says now. Those of a servo that isn't there are INVALID_ARGUMENT and change nothing.

// with calls f for a servo, with the bus locked and up to date.
func (b *Bus) with(id byte, f func(s *servo, now time.Duration) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	b.process(now)
	for _, s := range b.servos {
		if s.made == id {
			err := f(s, now)
			b.notify()
			return err
		}
	}
	return robot.Errf(robot.CodeInvalidArgument, "servo bus", "no servo was made with the ID %d", id)
}

// Mute lets a servo hear and do what it is told, but say nothing; or speak again.
func (b *Bus) Mute(id byte, mute bool) error {
	return b.with(id, func(s *servo, _ time.Duration) error { s.mute = mute; return nil })
}

// Detach takes a servo's data wire off, or puts it on: it has power, and hears nothing.
func (b *Bus) Detach(id byte, off bool) error {
	return b.with(id, func(s *servo, _ time.Duration) error { s.detached = off; return nil })
}

// Slow makes a servo answer so much later than it would; 0: no more.
func (b *Bus) Slow(id byte, by time.Duration) error {
	return b.with(id, func(s *servo, _ time.Duration) error { s.slow = by; return nil })
}

// Noise is how much the encoder's readings scatter, ticks (standard deviation).
func (b *Bus) Noise(id byte, ticks float64) error {
	return b.with(id, func(s *servo, _ time.Duration) error { s.noise = ticks; return nil })
}

// Rename gives a servo another ID, as somebody did who set up two of them and forgot: with
// that of another servo both answer at once.
func (b *Bus) Rename(id, to byte) error {
	return b.with(id, func(s *servo, _ time.Duration) error {
		baud := b.kind.baud(s)
		if err := b.kind.factory(s, to, baud); err != nil {
			return err
		}
		for i := range b.kind.table().regs {
			if r := &b.kind.table().regs[i]; r.name == "id" {
				s.put(r.addr, r.size, uint32(to))
			}
		}
		return nil
	})
}

// Garble damages a bit of every n-th answer on the bus; 0: of none.
func (b *Bus) Garble(n int) { b.at(func(time.Duration) { b.garbleEvery = n }) }

// Drop swallows every n-th answer on the bus; 0: none.
func (b *Bus) Drop(n int) { b.at(func(time.Duration) { b.dropsEvery = n }) }

// Overload is as if a servo had carried too much for too long.
func (b *Bus) Overload(id byte) error {
	return b.with(id, func(s *servo, _ time.Duration) error { s.faults |= stsErrOverload; return nil })
}

// Heat makes a servo measure a temperature, °C; NaN: its own again.
func (b *Bus) Heat(id byte, celsius float64) error {
	return b.with(id, func(s *servo, _ time.Duration) error { s.hot = celsius; return nil })
}

// Voltage is the supply of all servos, V.
func (b *Bus) Voltage(volts float64) {
	b.at(func(time.Duration) {
		for _, s := range b.servos {
			s.volts = volts
		}
	})
}

// PowerCut takes the supply away: every servo forgets what isn't in its EEPROM, and drops.
func (b *Bus) PowerCut() {
	b.at(func(time.Duration) {
		for _, s := range b.servos {
			s.supply = false
			b.wire.silence(s.place)
		}
		b.notify()
	})
}

// PowerBack gives it back: the servos boot, and say nothing until they have.
func (b *Bus) PowerBack() {
	b.at(func(now time.Duration) {
		for _, s := range b.servos {
			s.bootAt = now + bootTime
			s.start()
		}
	})
}

// Restart is a brown-out of one servo: it boots, and has no torque.
func (b *Bus) Restart(id byte) error {
	return b.with(id, func(s *servo, now time.Duration) error {
		b.wire.silence(s.place)
		s.bootAt = now + bootTime
		s.start()
		return nil
	})
}

// Unplug takes the host's end out: its link is lost for good. The servos go on.
func (b *Bus) Unplug() {
	b.at(func(time.Duration) {
		b.unplugged = true
		if b.link != nil {
			b.link.lost = true
			b.link = nil
		}
		b.in, b.sent = b.in[:0], b.sent[:0]
		b.wire.silence(host)
		b.notify()
	})
}

// Plug puts it in again: it may be dialled once more.
func (b *Bus) Plug() { b.at(func(time.Duration) { b.unplugged = false }) }

// Hold blocks the joint of a servo where it is, or lets go of it. NOT_SUPPORTED: the arm has
// no Hands.
func (b *Bus) Hold(id byte, held bool) error {
	return b.byHands(id, func(h Hands, s *servo) { h.Hold(s.place, held) })
}

// ByHand turns the shaft of a servo to a position, rad from its encoder's middle; one with
// torque pulls back from there. NOT_SUPPORTED: the arm has no Hands.
func (b *Bus) ByHand(id byte, rad float64) error {
	return b.byHands(id, func(h Hands, s *servo) { h.Place(s.place, rad); s.sense.Position, s.sense.Velocity = rad, 0 })
}

func (b *Bus) byHands(id byte, f func(Hands, *servo)) error {
	h, ok := b.arm.(Hands)
	if !ok {
		return robot.Errf(robot.CodeNotSupported, "servo bus", "the arm behind it can't be touched")
	}
	return b.with(id, func(s *servo, _ time.Duration) error { f(h, s); return nil })
}

// Shaft is the true position of a servo's shaft, rad from its encoder's middle; NaN for
// none of that ID.
func (b *Bus) Shaft(id byte) float64 {
	at := math.NaN()
	_ = b.with(id, func(s *servo, _ time.Duration) error { at = s.sense.Position; return nil }) // NaN says it
	return at
}

// Powered says that a servo drives its joint.
func (b *Bus) Powered(id byte) bool {
	var on bool
	_ = b.with(id, func(s *servo, now time.Duration) error { on = s.runs(now) && b.kind.torque(s); return nil }) // none isn't
	return on
}

// Register reads the register that begins at an address, without the bus. INVALID_ARGUMENT: there
// is none.
func (b *Bus) Register(id byte, addr int) (v uint32, err error) {
	err = b.with(id, func(s *servo, _ time.Duration) error {
		r := b.kind.table().reg(addr)
		if r == nil || r.addr != addr {
			return robot.Errf(robot.CodeInvalidArgument, "servo bus", "no register begins at %d", addr)
		}
		b.kind.refresh(s, b.rng)
		v = s.get(r.addr, r.size)
		return nil
	})
	return v, err
}

// SetRegister writes a register as the maker's tool does, for good if it is of the EEPROM,
// whatever its lock, access and range say; its effect is as if the servo had been switched
// on with it.
func (b *Bus) SetRegister(id byte, addr int, v uint32) error {
	return b.with(id, func(s *servo, _ time.Duration) error {
		r := b.kind.table().reg(addr)
		if r == nil || r.addr != addr {
			return robot.Errf(robot.CodeInvalidArgument, "servo bus", "no register begins at %d", addr)
		}
		s.put(r.addr, r.size, v)
		if r.rom {
			put(s.rom, r.addr, r.size, v)
		}
		return nil
	})
}

// Lost is how many bytes the host's adapter had no room for.
func (b *Bus) Lost() (n int) {
	b.at(func(time.Duration) { n = b.lost })
	return n
}

// SetOffset writes a servo's homing offset for good, as calibrating does: the ticks that it
// takes from its encoder's. INVALID_ARGUMENT: its register can't say it.
func (b *Bus) SetOffset(id byte, ticks int) error {
	return b.with(id, func(s *servo, _ time.Duration) error { return b.kind.homed(s, ticks) })
}
