package gobot

import (
	"slices"

	"github.com/tau-robot/tau/robot"
)

// hear judges a message and hands to the library what it can take. What it can't is
// dropped and counted: the library indexes what it is sent without looking at its length.
func (b *board) hear(m message) {
	if give := b.judge(m); give != nil {
		b.t.give(give)
	}
}

// judge returns what the library gets of a message, nil for nothing.
func (b *board) judge(m message) []byte {
	switch kind := m.bytes[0]; {
	case kind == protocolVersion:
		b.heardAt, b.protocol = m.at, [2]byte(m.bytes[1:])
		b.hellos.answered()
		if !b.connecting {
			b.restarted = true // it is asked for nowhere else
			return b.surprise()
		}
		return m.bytes
	case kind&0xF0 == analogMessage:
		ch := int(kind & 0x0F)
		if _, ok := b.channels[ch]; !ok {
			return b.surprise()
		}
		b.analog[ch] = input{word(m.bytes[1], m.bytes[2]), m.after}
		return m.bytes
	case kind == sysexStart && len(m.bytes) > 3:
		b.heardAt = m.at
		return b.judgeSysex(m.bytes)
	}
	return b.surprise() // a digital input, of which none is asked for
}

// surprise counts what nobody asked for.
func (b *board) surprise() []byte {
	b.unexpected++
	return nil
}

// judgeSysex is judge for a message F0 command … F7 with at least one byte between.
func (b *board) judgeSysex(m []byte) []byte {
	body := m[2 : len(m)-1]
	switch m[1] {
	case stringData:
		if b.reading != nil && b.mark < 0 {
			// "I2C: Too few bytes received". Older versions send an answer after it all
			// the same, of what their buffer held before.
			b.reading.failed = robot.Errf(robot.CodeToolFailed, "firmata", "the board says %q", fromFirmata(string(body)))
		}
		return m
	case firmwareReport:
		return b.judgeFirmware(m, body)
	case capabilityReply:
		return b.judgeCapabilities(m, body)
	case analogMappingReply:
		if !b.connecting || !b.asked[1].Load() || b.channels != nil || len(body) != len(b.pins) {
			return b.surprise()
		}
		b.channels = map[int]int{}
		for i, ch := range body {
			if ch != unmapped {
				b.channels[int(ch)] = i
			}
		}
		return m
	case pinStateReply:
		if len(body) == 1 && int(body[0]) == b.mark {
			b.mark = -1
			return nil
		}
		if len(body) < 3 || len(body) > 5 || int(body[0]) != b.stateOf || b.mark >= 0 {
			return b.surprise()
		}
		b.state = state{mode: int(body[1])}
		for i, v := range body[2:] {
			b.state.value |= int(v) << (7 * i)
		}
		return m
	case i2cReply:
		return b.judgeReply(m, body)
	}
	return b.surprise()
}

// judgeFirmware takes the board's name. One that nobody asked for is what a board says
// when it boots.
func (b *board) judgeFirmware(m, body []byte) []byte {
	if len(body) < 2 {
		return b.surprise()
	}
	if !b.connecting {
		b.restarted = true
		return b.surprise()
	}
	b.firmware = fromFirmata(string(body[2:]))
	return m
}

// judgeCapabilities takes what the pins can do, once. The library gets pins that can do
// nothing up to a whole port more: it sets the digital outputs of a port by eight,
// whether the board has as many or not.
func (b *board) judgeCapabilities(m, body []byte) []byte {
	if !b.connecting || !b.asked[0].Load() || b.pins != nil || body[len(body)-1] != unmapped {
		return b.surprise()
	}
	var pins []pin
	var modes uint64
	for at := 0; at < len(body); {
		switch mode := body[at]; {
		case mode == unmapped:
			pins, modes = append(pins, pin{modes}), 0
			at++
		case mode < 64 && at+1 < len(body) && body[at+1] != unmapped:
			modes |= 1 << mode
			at += 2
		default:
			return b.surprise()
		}
	}
	if len(pins) >= mostPins {
		return b.surprise()
	}
	b.pins = pins
	padded := slices.Clone(m[:len(m)-1])
	for n := len(pins); n%8 != 0; n++ {
		padded = append(padded, unmapped)
	}
	return append(padded, sysexEnd)
}

// judgeReply takes the answer to the read that is under way, if it is whole.
func (b *board) judgeReply(m, body []byte) []byte {
	r := b.reading
	if r == nil || b.mark >= 0 || r.done || r.failed != nil || len(body) < 4 || len(body)%2 != 0 || word(body[0], body[1]) != r.address {
		return b.surprise()
	}
	if got := len(body)/2 - 2; got != r.count {
		r.failed = robot.LimitErr(robot.CodeToolFailed, "firmata", float64(got), float64(r.count), "bytes", "the answer over I2C has another length than was asked for")
		return nil
	}
	return m
}
