package gobot

import (
	"bytes"
	"slices"
)

// rules say which frames may be sent to a board: those that this robot's file gives a
// reason for, with values that it allows, and no other. They judge the bytes, not the
// call that made them, so that what the library gets wrong stays here too.
type rules struct {
	servos  map[int]span // by pin
	digital map[int]bool // pins that are switched
	duty    map[int]bool // pins with PWM
	inputs  map[int]bool // analogue channels
	chips   map[int]*chip
}

// span is what a servo may be sent.
type span struct {
	least, most float64 // µs, of a setpoint
	config      [2]int  // µs, that the board is told to keep to
}

// The frames that don't depend on the robot.
var (
	helloFrame        = []byte{protocolVersion}
	firmwareFrame     = []byte{sysexStart, firmwareReport, sysexEnd}
	capabilitiesFrame = []byte{sysexStart, capabilityQuery, sysexEnd}
	mappingFrame      = []byte{sysexStart, analogMappingQuery, sysexEnd}
	samplingFrame     = []byte{sysexStart, samplingInterval, sampleEvery, 0, sysexEnd}
	i2cFrame          = []byte{sysexStart, i2cConfig, 0, 0, sysexEnd}
)

// sampleEvery is how often a board reports its analogue inputs, ms: as often as a servo
// takes a new setpoint.
const sampleEvery = 20

// judge says what becomes of a frame.
func (r *rules) judge(f []byte) verdict {
	if len(f) == 0 {
		return refuse
	}
	for _, fixed := range [][]byte{helloFrame, firmwareFrame, capabilitiesFrame, mappingFrame, samplingFrame, i2cFrame} {
		if bytes.Equal(f, fixed) {
			return pass
		}
	}
	switch kind := f[0]; {
	case kind == systemReset && len(f) == 1:
		// The library resets every board that it connects to: a robot that holds its arm
		// would let go of it.
		return withhold
	case kind&0xF0 == reportDigital && len(f) == 2:
		return withhold // two ports that nobody listens to
	case kind == sysexStart:
		return allow(len(f) > 3 && f[len(f)-1] == sysexEnd && seven(f[1:len(f)-1]) && r.sysex(f[1], f[2:len(f)-1]))
	case !seven(f[1:]):
		return refuse
	case kind == setPinMode && len(f) == 3:
		return allow(r.mode(int(f[1]), int(f[2])))
	case kind&0xF0 == analogMessage && len(f) == 3:
		return allow(r.value(int(kind&0x0F), word(f[1], f[2])))
	case kind&0xF0 == reportAnalog && len(f) == 2:
		return allow(f[1] == 1 && r.inputs[int(kind&0x0F)])
	case kind&0xF0 == digitalMessage && len(f) == 3:
		return allow(r.port(int(kind&0x0F), word(f[1], f[2])))
	}
	return refuse
}

func allow(ok bool) verdict {
	if ok {
		return pass
	}
	return refuse
}

// seven reports whether all of b are data, and none begins or ends a message.
func seven(b []byte) bool {
	return !slices.ContainsFunc(b, func(x byte) bool { return x > sevenBits })
}

func (r *rules) mode(pin, mode int) bool {
	if _, servo := r.servos[pin]; servo {
		return mode == modeOutput // which ends its pulses; servoConfig begins them
	}
	return mode == modeOutput && r.digital[pin] || mode == modePWM && r.duty[pin]
}

func (r *rules) value(pin, v int) bool {
	if s, servo := r.servos[pin]; servo {
		return float64(v) >= s.least && float64(v) <= s.most
	}
	return r.duty[pin] && v <= maxDuty
}

// port reports whether only pins that are switched are on.
func (r *rules) port(n, v int) bool {
	if v > 0xFF {
		return false
	}
	some := false
	for i := range 8 {
		mine := r.digital[8*n+i]
		some = some || mine
		if v>>i&1 == 1 && !mine {
			return false
		}
	}
	return some
}

func (r *rules) sysex(command byte, d []byte) bool {
	switch command {
	case pinStateQuery:
		return len(d) == 1 // it changes nothing, whatever the pin
	case extendedAnalog:
		return len(d) == 3 && r.value(int(d[0]), word(d[1], d[2]))
	case servoConfig:
		if len(d) != 5 {
			return false
		}
		s, servo := r.servos[int(d[0])]
		return servo && s.config == [2]int{word(d[1], d[2]), word(d[3], d[4])}
	case i2cRequest:
		return r.i2c(d)
	}
	return false
}

// i2c judges a request: the address, what is to be done, then bytes of two times seven
// bits.
func (r *rules) i2c(d []byte) bool {
	const write, readOnce = 0 << 3, 1 << 3
	if len(d) < 4 || len(d)%2 != 0 {
		return false
	}
	c := r.chips[int(d[0])]
	if c == nil {
		return false
	}
	var data []byte
	for i := 2; i < len(d); i += 2 {
		v := word(d[i], d[i+1])
		if v > 0xFF {
			return false
		}
		data = append(data, byte(v))
	}
	switch d[1] {
	case write:
		return c.mayWrite(data[0], data[1:])
	case readOnce:
		return len(data) == 1 && data[0] >= 1 && data[0] <= mostRead
	}
	return false
}
