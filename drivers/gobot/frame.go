package gobot

// The bytes of Firmata's protocol (firmata/protocol, protocol.md and its feature
// documents, version 2.6) that pass in either direction.
const (
	digitalMessage  = 0x90 // | port, then two times seven bits
	reportAnalog    = 0xC0 // | channel, then 0 or 1
	reportDigital   = 0xD0
	analogMessage   = 0xE0 // | channel or pin, then two times seven bits
	sysexStart      = 0xF0
	setPinMode      = 0xF4
	sysexEnd        = 0xF7
	protocolVersion = 0xF9
	systemReset     = 0xFF

	analogMappingQuery = 0x69
	analogMappingReply = 0x6A
	capabilityQuery    = 0x6B
	capabilityReply    = 0x6C
	pinStateQuery      = 0x6D
	pinStateReply      = 0x6E
	extendedAnalog     = 0x6F
	servoConfig        = 0x70
	stringData         = 0x71
	i2cRequest         = 0x76
	i2cReply           = 0x77
	i2cConfig          = 0x78
	firmwareReport     = 0x79
	samplingInterval   = 0x7A

	unmapped  = 0x7F // ends a pin's capabilities; says that a pin has no analogue channel
	sevenBits = 0x7F
)

// The pins' modes.
const (
	modeOutput = 0x01
	modePWM    = 0x03
	modeServo  = 0x04
	modeI2C    = 0x06
)

// maxMessage bounds what a board may say in one message, bytes: the capabilities of 128
// pins of a dozen modes each.
const maxMessage = 128*26 + 3

// parser takes the board's messages out of the bytes that arrive. What isn't part of one
// is counted and thrown away: a byte that was lost costs the message that it was in, and
// none behind that.
type parser struct {
	message []byte
	bad     int // bytes that made no message
}

// feed takes the next byte. A message that it completes is the caller's.
func (p *parser) feed(b byte) []byte {
	if b >= 0x80 && b != sysexEnd {
		p.drop(len(p.message))
		if !begins(b) {
			p.bad++
			return nil
		}
		p.message = append(p.message, b)
		return nil
	}
	if len(p.message) == 0 || b == sysexEnd && p.message[0] != sysexStart {
		p.drop(len(p.message) + 1)
		return nil
	}
	p.message = append(p.message, b)
	switch sysex := p.message[0] == sysexStart; {
	case sysex && b == sysexEnd, !sysex && len(p.message) == 3:
		out := p.message
		p.message = nil
		return out
	case len(p.message) == maxMessage:
		p.drop(maxMessage)
	}
	return nil
}

func (p *parser) drop(n int) {
	p.bad += n
	p.message = nil
}

// begins reports whether a message of a board's begins so.
func begins(b byte) bool {
	return b == sysexStart || b == protocolVersion || b&0xF0 == analogMessage || b&0xF0 == digitalMessage
}

// word is a number of two times seven bits.
func word(lo, hi byte) int { return int(lo) | int(hi)<<7 }

// low and high are the two times seven bits of a number.
func low(v int) byte  { return byte(v & sevenBits) }
func high(v int) byte { return byte(v >> 7 & sevenBits) }
