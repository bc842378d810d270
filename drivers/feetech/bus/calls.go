package bus

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/tau-robot/tau/robot"
)

// Pong is what a servo says of itself to a Ping.
type Pong struct {
	Status byte // its error byte
	// Model and Firmware are said by protocol 2.0 alone (Named); Feetech has registers.
	Model    uint16
	Firmware byte
	Named    bool
}

// Ping asks a servo whether it is there. Errors: see ErrSilent.
func (b *Bus) Ping(id byte) (Pong, error) {
	var p [3]byte
	n := b.codec.PingParams()
	st, err := b.ask(Instruction{Op: Ping, ID: id}, p[:n], b.o.Tries, 0)
	if err != nil {
		return Pong{Status: st}, err
	}
	return pong(Status{Error: st, Params: p[:n]}), nil
}

func pong(s Status) Pong {
	p := Pong{Status: s.Error}
	if len(s.Params) == 3 {
		p.Model, p.Firmware, p.Named = binary.LittleEndian.Uint16(s.Params), s.Params[2], true
	}
	return p
}

// Read reads len(dst) bytes from addr on. status is the answer's error byte, whose
// meaning is the protocol's: a servo that complains answers all the same. After an error dst is as it was.
func (b *Bus) Read(id byte, addr uint16, dst []byte) (status byte, err error) {
	return b.ask(Instruction{Op: Read, ID: id, Addr: addr, Count: len(dst)}, dst, b.o.Tries, 0)
}

// Write writes data from addr on and waits for the servo's acknowledgement, once: a Write is never
// repeated. A Write to Broadcast is sent and that is all.
//
// UNKNOWN_OUTCOME (ErrSilent, ErrDamaged) says that whether it was done isn't known.
func (b *Bus) Write(id byte, addr uint16, data []byte) (status byte, err error) {
	i := Instruction{Op: Write, ID: id, Addr: addr, Count: len(data), Data: data}
	if id == Broadcast {
		return 0, b.tell(i)
	}
	var extra time.Duration
	if addr < b.o.KeptBelow {
		extra = b.o.StoreTime
	}
	return b.ask(i, nil, 1, extra)
}

// Reboot restarts a servo: it loses what isn't kept, torque included, and is away for a
// moment (a Feetech servo for nearly a second). Once, like a Write; Feetech's servos don't
// answer it.
func (b *Bus) Reboot(id byte) (status byte, err error) {
	i := Instruction{Op: Reboot, ID: id}
	if id == Broadcast || !b.codec.AnswersReboot() {
		return 0, b.tell(i)
	}
	return b.ask(i, nil, 1, 0)
}

// SyncWrite writes count bytes of data from addr on to each of ids in one packet. Nobody
// answers it.
func (b *Bus) SyncWrite(addr uint16, count int, ids, data []byte) error {
	return b.tell(Instruction{Op: SyncWrite, ID: Broadcast, Addr: addr, Count: count, IDs: ids, Data: data})
}

// tell sends what nobody answers. An adapter that echoes is waited for, so that its echo
// isn't taken for something else, and held against what was sent.
func (b *Bus) tell(i Instruction) error {
	if err := b.send(i, false); err != nil || b.echo == NoEcho {
		return err
	}
	err := b.ownEcho(b.free.Add(b.o.Turnaround))
	if !errors.Is(err, errLate) {
		if err == nil {
			b.noEcho()
		}
		return err
	}
	return robot.Errf(i.Op.code(), b.o.Name, "%s: what was sent came back changed: something else was on the line; whether it was done isn't known: %w", i.Op, ErrDamaged)
}

// ask sends an instruction up to tries times until its servo answers with len(dst)
// parameters, which it copies to dst.
func (b *Bus) ask(i Instruction, dst []byte, tries int, extra time.Duration) (byte, error) {
	if err := b.learn(i, len(dst)); err != nil {
		return 0, err
	}
	var refused error
	var deadline time.Time
	for try := range tries {
		if try > 0 {
			b.count.Tries++
		}
		if err := b.send(i, true); err != nil {
			return 0, err
		}
		deadline = b.free.Add(b.Exchange(0, 1, len(dst)) + extra)
		s, err := b.await(i.ID, len(dst), deadline)
		if errors.Is(err, errLate) {
			b.missed = true
			continue
		}
		if err != nil {
			return 0, err
		}
		if why := b.codec.Refused(s.Error); why != "" {
			b.count.Refused++
			refused = b.refusal(i, s.Error, why)
			if try == tries-1 {
				b.ended(deadline)
				return s.Error, refused
			}
			continue
		}
		b.count.Answered++
		copy(dst, s.Params)
		b.ended(deadline)
		return s.Error, nil
	}
	b.count.Failed++
	b.ended(deadline)
	if refused != nil {
		return 0, refused
	}
	return 0, b.failure(i)
}

// await waits for a servo's answer with so many parameters, or for its refusal. errLate,
// with b.hurt, where another host speaks with that servo.
func (b *Bus) await(id byte, params int, deadline time.Time) (Status, error) {
	var held Status
	for {
		s, err := b.next(deadline)
		if errors.Is(err, errLate) && held.Params != nil {
			return held, nil
		}
		if err != nil {
			return s, err
		}
		b.noEcho()
		ours := s.ID == id && (len(s.Params) == params || b.codec.Refused(s.Error) != "")
		switch asked := s.ID == id && b.codec.Instruction(s); {
		case held.Params != nil, asked && !ours:
			// The servo's answer is, or will be, to the other host.
			b.count.Foreign++
			b.hurt = true
			return Status{}, b.spend(deadline)
		case asked:
			// Were it another host's, an answer would follow.
			b.held = append(b.held[:0], s.Params...)
			held = Status{ID: s.ID, Error: s.Error, Params: b.held[:len(s.Params):len(s.Params)]}
		case ours:
			return s, nil
		default:
			b.count.Foreign++
		}
	}
}

// noEcho says that a servo has answered without that our own bytes came first.
func (b *Bus) noEcho() {
	if b.echo == EchoUnknown {
		b.echo = NoEcho
	}
}

// failure is the error of an instruction that no good answer came to. Those of reads are
// made once for each servo: a loop that reads a servo which is away makes no garbage.
func (b *Bus) failure(i Instruction) error {
	if i.Op.code() == robot.CodeUnknownOutcome {
		if b.heard {
			return robot.Errf(i.Op.code(), b.servo(i.ID), "%s: only damaged or other answers came; whether it was done isn't known: read it back: %w", i.Op, ErrDamaged)
		}
		return robot.Errf(i.Op.code(), b.servo(i.ID), "%s: it doesn't answer; whether it was done isn't known: read it back: %w", i.Op, ErrSilent)
	}
	return b.absent(i.ID, b.heard)
}

// absent is the error of a servo that a read got nothing good of.
func (b *Bus) absent(id byte, heard bool) error {
	cache := &b.silent[id]
	if heard {
		cache = &b.damaged[id]
	}
	if *cache == nil {
		if heard {
			*cache = robot.Errf(robot.CodeStaleState, b.servo(id), "only damaged or other answers in %d tries; do two servos have this ID, or does the line pick up noise?: %w", b.o.Tries, ErrDamaged)
		} else {
			*cache = robot.Errf(robot.CodeStaleState, b.servo(id), "no answer in %d tries; is it connected, powered, and set to %d Bd and this ID?: %w", b.o.Tries, b.o.Baud, ErrSilent)
		}
	}
	return *cache
}

func (b *Bus) refusal(i Instruction, status byte, why string) error {
	code := robot.CodeNotSupported
	if i.Op == Write {
		code = robot.CodeInvalidArgument
	}
	return robot.Errf(code, b.servo(i.ID), "%s at address %d: %s (error byte %02X): %w", i.Op, i.Addr, why, status, ErrRefused)
}
