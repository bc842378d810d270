package bus

import (
	"bytes"
	"errors"
	"io"
	"os"
	"time"

	"github.com/tau-robot/tau/robot"
)

// errLate says that the deadline passed.
var errLate = errors.New("no answer in time")

// gone is the error of a line that failed.
func (b *Bus) gone(err error) error {
	if robot.CodeOf(err) != "" {
		return err
	}
	return robot.Errf(robot.CodeDisconnected, b.o.Name, "the line is gone: %w", err)
}

// send throws away what lies on the line and sends an instruction, whose packet is in
// b.out afterwards. What nobody answers needn't wait for late answers to something else: it isn't
// answered.
func (b *Bus) send(i Instruction, answered bool) error {
	out, err := b.codec.Append(b.out[:0], i)
	if err != nil {
		return err
	}
	b.out = out
	if err := b.drain(answered); err != nil {
		return err
	}
	n, err := b.port.Write(b.out)
	if now := time.Now(); b.free.Before(now) {
		b.free = now
	}
	b.free = b.free.Add(b.WireTime(n))
	if err != nil {
		return b.gone(err)
	}
	b.count.Sent++
	b.hurt, b.heard, b.overdue, b.echoing = false, false, 0, b.echo != NoEcho
	return nil
}

// drain throws away what lies on the line, and with settle waits for it where an answer
// failed to come so lately that it may still do.
func (b *Bus) drain(settle bool) error {
	b.stray(b.w - b.r)
	b.r, b.w, b.overdue = 0, 0, 0
	for settle && !b.quiet.IsZero() {
		n, err := b.read(b.in, b.quiet)
		b.stray(n)
		if errors.Is(err, errLate) {
			b.quiet = time.Time{}
		} else if err != nil {
			return err
		}
	}
	// What is too much is left to the exchange, which takes nothing that doesn't fit it.
	for range mostLooks {
		n, err := b.look(b.in)
		b.stray(n)
		if err != nil || n == 0 {
			return err
		}
	}
	return nil
}

// look reads what has come.
func (b *Bus) look(p []byte) (int, error) {
	if b.arrived == nil {
		n, err := b.readUntil(p, time.Now().Add(look))
		if errors.Is(err, errLate) {
			err = nil
		}
		return n, err
	}
	n, err := b.arrived.ReadArrived(p)
	if err != nil {
		return n, b.gone(err)
	}
	return n, nil
}

// read waits for bytes until the deadline, and looks once more then: a computer that was
// busy elsewhere may wake up late with the answer waiting for it.
func (b *Bus) read(p []byte, deadline time.Time) (int, error) {
	if time.Now().Before(deadline) {
		n, err := b.readUntil(p, deadline)
		if !errors.Is(err, errLate) {
			return n, err
		}
	}
	if b.arrived != nil && b.overdue < mostLooks {
		b.overdue++
		if n, err := b.look(p); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, errLate
}

func (b *Bus) readUntil(p []byte, deadline time.Time) (int, error) {
	if err := b.port.SetReadDeadline(deadline); err != nil {
		return 0, b.gone(err)
	}
	n, err := b.port.Read(p)
	switch {
	case n > 0:
		return n, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return 0, errLate
	case err == nil:
		err = io.ErrNoProgress
	}
	return 0, b.gone(err)
}

// ended ends an exchange, whose last answer was due by the deadline: where one was missed,
// in any try and whatever else came, it may be late. By as much again as Turnaround it is waited for
// before the next one.
func (b *Bus) ended(deadline time.Time) {
	if b.missed {
		b.missed, b.quiet = false, deadline.Add(b.o.Turnaround)
	}
}

func (b *Bus) stray(n int) { b.count.Stray += uint64(n) }

// more reads what comes next behind what is there. The longest packet leaves room.
func (b *Bus) more(deadline time.Time) error {
	if b.r > 0 {
		b.w = copy(b.in, b.in[b.r:b.w])
		b.r = 0
	}
	n, err := b.read(b.in[b.w:], deadline)
	b.w += n
	return err
}

// skip drops n bytes that are no part of a good packet.
func (b *Bus) skip(n int) {
	b.r += n
	b.stray(n)
	if n > 0 {
		b.heard = true
	}
}

// next returns the next good packet of a servo; errLate where none came by the deadline.
// Its Params are valid until the next call.
func (b *Bus) next(deadline time.Time) (Status, error) {
	if err := b.ownEcho(deadline); err != nil {
		return Status{}, err
	}
	late := false
	for {
		s, n, err := b.codec.Parse(b.in[b.r:b.w])
		switch {
		case err == nil:
			if size := b.codec.StatusSize(len(s.Params)); n != size {
				b.scratch = b.codec.AppendStatus(b.scratch[:0], s)
				b.stray(n - len(b.scratch))
			}
			b.r += n
			b.heard = true
			return s, nil
		case !errors.Is(err, ErrMore):
			b.skip(n)
			b.count.Damaged++
			b.hurt = true
			continue
		}
		b.skip(n)
		if !late {
			if err := b.more(deadline); err == nil {
				continue
			} else if !errors.Is(err, errLate) {
				return Status{}, err
			}
			late = true
		}
		if b.r == b.w {
			return Status{}, errLate
		}
		// What looked like the beginning of a packet wasn't one, or is one that was cut: there may be a good
		// one inside.
		b.skip(1)
		b.count.Damaged++
		b.hurt = true
	}
}

// ownEcho takes our own bytes off the line, where the adapter gives them back. errLate,
// with b.hurt, says that they came back changed, or not at all: something else was on the line.
func (b *Bus) ownEcho(deadline time.Time) error {
	for b.echoing {
		have := b.in[b.r:b.w]
		m := min(len(have), len(b.out))
		same := bytes.Equal(have[:m], b.out[:m])
		if same && m == len(b.out) {
			b.r += m
			b.count.Echoed += uint64(m)
			b.echo, b.echoing = Echoes, false
			return nil
		}
		if same {
			err := b.more(deadline)
			if err == nil {
				continue
			}
			if !errors.Is(err, errLate) {
				return err
			}
		}
		b.echoing = false
		if b.echo == Echoes {
			b.hurt = true
			b.count.Damaged++
			return b.spend(deadline)
		}
	}
	return nil
}

// spend throws away what comes until the deadline, so that the next instruction doesn't meet the rest of it:
// errLate, or that the line is gone.
func (b *Bus) spend(deadline time.Time) error {
	for {
		b.skip(b.w - b.r)
		if err := b.more(deadline); err != nil {
			return err
		}
	}
}

// learn finds out whether the adapter echoes, before an instruction whose packet is the
// same as an answer to it can be: Feetech's Ping is, byte for byte, the answer of a servo
// that complains of its voltage.
func (b *Bus) learn(i Instruction, params int) error {
	if b.echo != EchoUnknown {
		return nil
	}
	out, err := b.codec.Append(b.scratch[:0], i)
	if err != nil {
		return err
	}
	b.scratch = out
	if !b.mirrored(i.ID, params) {
		return nil
	}
	// One byte is what no answer has that looks like the request for it.
	if err := b.send(Instruction{Op: Read, ID: i.ID, Addr: 0, Count: 1}, true); err != nil {
		return err
	}
	deadline := b.free.Add(b.Exchange(0, 1, 1))
	for {
		s, err := b.next(deadline)
		if errors.Is(err, errLate) {
			b.missed = true
			b.ended(deadline)
			break
		}
		if err != nil {
			return err
		}
		if s.ID == i.ID && len(s.Params) == 1 {
			break
		}
	}
	// The echo would have come, whether the servo answers or not.
	b.noEcho()
	return nil
}

// mirrored reports whether the packet in b.scratch is one that the servo can answer with.
func (b *Bus) mirrored(id byte, params int) bool {
	s, n, err := b.codec.Parse(b.scratch)
	return err == nil && n == len(b.scratch) && s.ID == id && len(s.Params) == params
}
