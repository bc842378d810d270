package farend

import (
	"time"

	"github.com/tau-robot/tau/drivers/mcu/wire"
)

const (
	statusPeriod = 10 * time.Millisecond
	queueBytes   = 1400
	// What a servo channel can do, in position units: pulses of 400 to 2,600 µs.
	lowest, highest = 400 << 8, 2600 << 8
)

// board is a board of servos that says yes to everything.
type board struct {
	joints int
	began  time.Time
	hello  bool
	seq    byte
	powers bool
	enable bool // motions are taken; HELLO ends it
	told   bool // it was enabled in this boot: its setpoints mean something
	report uint16
	stops  uint16

	state    wire.State
	motion   uint16
	started  time.Time
	pieces   []piece // of the motion, those that aren't whole last
	accepted byte
	ticks    uint32 // of the pieces that are whole
	whole    bool   // the last piece is there
	ended    uint32 // ticks that the motion made, once it is over
	at       []int32
}

// piece is one that was received: where it ends and when.
type piece struct {
	end   uint32
	knots int
	q     []int32
}

func (b *board) begin(joints int, now time.Time) {
	b.joints, b.began = joints, now
	b.at = make([]int32, joints)
	for i := range b.at {
		b.at[i] = 1500 << 8
	}
}

// message is what the board says.
type message interface {
	Append(dst []byte, seq byte) ([]byte, error)
}

func (b *board) say(dst []byte, m message) []byte {
	out, err := m.Append(dst, b.seq)
	if err != nil {
		return dst // more joints than a frame holds; Open has none of those
	}
	b.seq++
	return out
}

// take returns what the board answers.
func (b *board) take(f wire.Frame, now time.Time) []byte {
	b.advance(now)
	if !b.hello && f.Type != wire.TypeHello || b.joints == 0 {
		return nil
	}
	switch f.Type {
	case wire.TypeHello:
		var m wire.Hello
		if m.Parse(f.Payload) != nil {
			return nil
		}
		b.hello, b.seq, b.enable, b.state, b.pieces = true, 0, false, wire.Idle, nil
		return b.say(nil, wire.HelloReply{
			Version: wire.Version, Nonce: m.Nonce, Boot: 1, Firmware: 1, Joints: byte(b.joints),
			Queue: queueBytes, StatusMS: byte(statusPeriod / time.Millisecond),
		})
	case wire.TypeDescribe:
		var m wire.Describe
		if m.Parse(f.Payload) != nil {
			return nil
		}
		return b.say(nil, wire.Channel{Channel: m.Channel, Kind: wire.KindServo, Switch: wire.NoSwitch, Lower: lowest, Upper: highest})
	case wire.TypeReport:
		b.report++
		m := wire.Positions{Report: b.report}
		for _, q := range b.at {
			p := wire.Position{Q: q, Raw: wire.NoRaw}
			if b.told {
				p.Known = wire.KnownSetpoint
			}
			m.Joints = append(m.Joints, p)
		}
		return b.say(nil, m)
	case wire.TypeHeartbeat:
		var m wire.Heartbeat
		if m.Parse(f.Payload) != nil {
			return nil
		}
		return b.say(nil, wire.Echo{HostMS: m.HostMS, BoardMS: b.ms(now)})
	case wire.TypeSegment:
		var m wire.Segment
		if m.Parse(f.Payload) == nil {
			b.segment(&m)
		}
		return nil
	}
	b.obey(f, now)
	out := b.say(nil, wire.Ack{Seq: f.Seq, Type: f.Type, Stops: b.stops})
	return b.status(out, now)
}

// obey does what an ACK answers.
func (b *board) obey(f wire.Frame, now time.Time) {
	switch f.Type {
	case wire.TypeEnable:
		var m wire.Enable
		if m.Parse(f.Payload) == nil && len(m.Q) == b.joints {
			copy(b.at, m.Q)
		}
		b.powers, b.enable, b.told, b.state = true, true, true, wire.Hold
	case wire.TypeDisable:
		b.powers, b.enable, b.state = false, false, wire.Idle
	case wire.TypeBegin:
		var m wire.Begin
		if m.Parse(f.Payload) == nil {
			b.motion, b.pieces, b.accepted, b.ticks, b.whole, b.ended = m.Motion, nil, 0, 0, false, 0
			b.state = wire.Loaded
		}
	case wire.TypeGo:
		b.state, b.started = wire.Moving, now
	case wire.TypeStop:
		b.stops++
		if b.state == wire.Moving {
			b.ended = b.into(now)
		}
		if b.enable {
			b.state = wire.Hold
		}
		b.pieces = nil
	}
}

// segment takes a frame of a piece.
func (b *board) segment(m *wire.Segment) {
	if b.state != wire.Loaded && b.state != wire.Moving {
		return
	}
	if m.First == 0 {
		b.pieces = append(b.pieces, piece{end: b.ticks + uint32(m.Ticks), q: make([]int32, b.joints)})
	}
	if len(b.pieces) == 0 {
		return
	}
	p := &b.pieces[len(b.pieces)-1]
	for i, k := range m.Knots {
		if j := int(m.First) + i; j < b.joints {
			p.q[j] = k.Q
			p.knots++
		}
	}
	if p.knots == b.joints {
		b.accepted++
		b.ticks, b.whole = p.end, b.whole || m.Last
	}
}

// into is how far the motion is.
func (b *board) into(now time.Time) uint32 {
	if b.state != wire.Moving {
		return b.ended
	}
	return min(uint32(now.Sub(b.started)/time.Millisecond), b.ticks)
}

// advance takes the pieces whose time is over.
func (b *board) advance(now time.Time) {
	if b.state != wire.Moving {
		return
	}
	t := b.into(now)
	for len(b.pieces) > 0 && b.pieces[0].end <= t && b.pieces[0].knots == b.joints {
		copy(b.at, b.pieces[0].q)
		b.pieces = b.pieces[1:]
	}
	if b.whole && len(b.pieces) == 0 {
		b.state, b.ended = wire.Hold, t
	}
}

func (b *board) ms(now time.Time) uint32 { return uint32(now.Sub(b.began) / time.Millisecond) }

// status appends a STATUS, nothing before the first HELLO.
func (b *board) status(dst []byte, now time.Time) []byte {
	if !b.hello {
		return dst
	}
	b.advance(now)
	m := wire.Status{
		BoardMS: b.ms(now), State: b.state, Flags: wire.FlagReferenced, FaultChannel: wire.NoChannel,
		Stops: b.stops, Motion: b.motion, MotionMS: b.into(now), Accepted: b.accepted,
		Free: uint16(max(0, queueBytes-len(b.pieces)*wire.PieceBytes(b.joints))), Setpoints: b.at,
	}
	if b.powers {
		m.Flags |= wire.FlagPowered
	}
	if b.enable {
		m.Flags |= wire.FlagEnabled
	}
	return b.say(dst, m)
}
