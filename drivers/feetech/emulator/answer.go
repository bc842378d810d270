package emulator

import (
	"slices"
	"time"

	"github.com/tau-robot/tau/drivers/feetech/bus"
)

// hearers returns the servos that an instruction reaches, of an ID or all.
func (b *Bus) hearers(id byte, baud int, at time.Duration) []*servo {
	var out []*servo
	for _, s := range b.servos {
		if s.runs(at) && !s.detached && b.kind.baud(s) == baud && (id == bus.Broadcast || b.kind.id(s) == id) {
			out = append(out, s)
		}
	}
	return out
}

// execute does what an instruction says, which came to its end at a time, and lets those
// answer who do.
func (b *Bus) execute(i bus.Instruction, baud int, at time.Duration) {
	for _, s := range b.hearers(bus.Broadcast, baud, at) {
		s.watched = 0
	}
	switch i.Op {
	case bus.Ping:
		for _, s := range b.hearers(i.ID, baud, at) {
			wait := time.Duration(0)
			if i.ID == bus.Broadcast {
				wait = pingSlot * time.Duration(b.kind.id(s))
			}
			b.say(s, b.kind.status(s), b.kind.pong(s), at+wait, true, true)
		}
	case bus.Read:
		if i.ID != bus.Broadcast {
			for _, s := range b.hearers(i.ID, baud, at) {
				b.read(s, i, at)
			}
		}
	case bus.Write:
		for _, s := range b.hearers(i.ID, baud, at) {
			id := b.kind.id(s)
			status := b.kind.take(s, int(i.Addr), i.Data)
			if i.ID != bus.Broadcast {
				b.sayAs(s, id, baud, status, nil, at, false, false)
			}
		}
	case bus.SyncRead:
		b.turns(i, baud, at)
	case bus.SyncWrite:
		for k, id := range i.IDs {
			for _, s := range b.hearers(id, baud, at) {
				b.kind.take(s, int(i.Addr), i.Data[k*i.Count:][:i.Count])
			}
		}
	case bus.Reboot:
		for _, s := range b.hearers(i.ID, baud, at) {
			id := b.kind.id(s)
			if i.ID != bus.Broadcast && b.kind.saysReboot() {
				b.sayAs(s, id, baud, b.kind.status(s), nil, at, false, false)
			}
			s.bootAt = at + bootTime
			s.start()
		}
	default:
		if i.ID == bus.Broadcast {
			return
		}
		for _, s := range b.hearers(i.ID, baud, at) {
			if status, answers := b.kind.unknown(s); answers {
				b.say(s, status, nil, at, false, false)
			}
		}
	}
}

// read answers a Read, and returns when the answer ends.
func (b *Bus) read(s *servo, i bus.Instruction, at time.Duration) (end time.Duration) {
	if status := b.kind.readable(int(i.Addr), i.Count); status != 0 {
		return b.say(s, status, nil, at, true, false)
	}
	b.kind.refresh(s, b.rng)
	data := make([]byte, i.Count)
	if int(i.Addr) < len(s.mem) {
		copy(data, s.mem[i.Addr:])
	}
	return b.say(s, b.kind.status(s), data, at, true, false)
}

// turns answers a SyncRead: each of the servos once the one before it has, or has said
// nothing for as long as its answer would have taken.
func (b *Bus) turns(i bus.Instruction, baud int, at time.Duration) {
	slot := byteTime(baud)*time.Duration(b.codec.StatusSize(i.Count)) + patience
	turn := at
	for _, id := range slices.Clone(i.IDs) { // which are the codec's own, and answers pass through it
		silent := turn + slot
		ended := time.Duration(0)
		for _, s := range b.hearers(id, baud, at) {
			silent = max(silent, turn+slot+b.kind.delay(s))
			ended = max(ended, b.read(s, i, turn))
		}
		if ended == 0 || ended > silent {
			turn = silent
		} else {
			turn = ended
		}
	}
}

// say sends a status packet, when its time has come, and returns when it ends; 0 where the
// servo says nothing.
func (b *Bus) say(s *servo, status byte, params []byte, at time.Duration, read, ping bool) time.Duration {
	return b.sayAs(s, b.kind.id(s), b.kind.baud(s), status, params, at, read, ping)
}

// sayAs is say under the ID and rate that the servo had when it was asked.
func (b *Bus) sayAs(s *servo, id byte, baud int, status byte, params []byte, at time.Duration, read, ping bool) time.Duration {
	if s.mute || !b.kind.answers(s, read, ping) {
		return 0
	}
	b.replies++
	if b.dropsEvery > 0 && b.replies%b.dropsEvery == 0 {
		return 0
	}
	bytes := b.codec.AppendStatus(nil, bus.Status{ID: id, Error: status, Params: params})
	from := at + b.kind.delay(s) + think + s.skew + s.slow
	p := &sending{left: len(bytes), packet: Packet{Servo: s.made, At: from, ID: id, Data: params}}
	if b.garbleEvery > 0 && b.replies%b.garbleEvery == 0 {
		k := b.rng.IntN(len(bytes))
		bytes[k] ^= 1 << b.rng.IntN(8)
	}
	p.packet.Bytes = bytes
	p.packet.End = b.wire.put(s.place, bytes, from, baud, p)
	if b.live {
		b.wire.postpone(host, p.packet.End)
	}
	return p.packet.End
}
