package gobot_test

import (
	"slices"
)

// receive takes bytes of the host's; u.mu is held.
func (u *uno) receive(b []byte) {
	for _, x := range b {
		sysex := len(u.in) > 0 && u.in[0] == 0xF0
		switch {
		case sysex && x != 0xF7: // whatever it is
			u.in = append(u.in, x)
			continue
		case x >= 0x80 && !sysex:
			u.in = []byte{x}
		case len(u.in) > 0:
			u.in = append(u.in, x)
		default:
			continue
		}
		if n := frameLength(u.in[0]); x == 0xF7 && sysex || n == len(u.in) {
			m := u.in
			u.in = nil
			u.sent = append(u.sent, m)
			u.obey(m)
		}
	}
}

// frameLength is that of a message that begins so; 0: it ends with F7.
func frameLength(b byte) int {
	switch {
	case b == 0xF0:
		return 0
	case b == 0xF9 || b == 0xFF:
		return 1
	case b&0xF0 == 0xC0 || b&0xF0 == 0xD0:
		return 2
	}
	return 3
}

func (u *uno) obey(m []byte) {
	switch b := m[0]; {
	case b == 0xF9:
		u.version()
	case b == 0xFF:
		u.boot()
	case b == 0xF4:
		if int(m[1]) < len(u.pins) {
			u.mode(int(m[1]), int(m[2]))
		}
	case b&0xF0 == 0xC0:
		if ch := int(b & 15); ch < len(u.reports) {
			u.reports[ch] = m[1] != 0
			if m[1] != 0 && !u.old {
				u.sample(ch)
			}
		}
	case b&0xF0 == 0xE0:
		u.analog(int(b&15), int(m[1])|int(m[2])<<7)
	case b&0xF0 == 0x90:
		for i := range 8 {
			p := 8*int(b&15) + i
			if v := (int(m[1]) | int(m[2])<<7) >> i & 1; p >= 2 && p < len(u.pins) && u.pins[p].mode == 1 {
				u.pins[p].on, u.pins[p].state = v == 1, v
			}
		}
	case b == 0xF0:
		u.sysex(m[1], m[2:len(m)-1])
	}
}

// mode sets a pin's mode.
func (u *uno) mode(n, mode int) {
	if n < 2 {
		return
	}
	p := &u.pins[n]
	p.state, p.on = 0, false
	if mode == 4 {
		u.attach(n)
		return
	}
	p.mode = mode
	p.follows.follow(0)
}

// attach begins pulses: with what the servo was told last, or in its middle.
func (u *uno) attach(n int) {
	p := &u.pins[n]
	if p.mode != 4 {
		u.attached++
	}
	p.mode, p.state = 4, 0
	if p.follows.pulse == 0 {
		p.follows.follow(1500)
	}
}

func (u *uno) analog(n, v int) {
	if n >= len(u.pins) {
		return
	}
	p := &u.pins[n]
	switch p.mode {
	case 3:
		p.state = v
	case 4:
		if v < 544 {
			v = 544 + min(v, 180)*1856/180
		}
		if p.state != v {
			u.pulses++
		}
		p.state = v
		if !u.blocked[n] {
			p.follows.follow(float64(v))
		}
	}
}

func (u *uno) sysex(command byte, d []byte) {
	switch command {
	case 0x79:
		u.firmware()
	case 0x6B:
		out := []byte{0xF0, 0x6C}
		for i := range u.pins {
			if i >= 2 {
				out = append(out, 0, 1, 1, 1, 0x0B, 1)
				if slices.Contains([]int{3, 5, 6, 9, 10, 11}, i) {
					out = append(out, 3, 8)
				}
				if i >= 14 {
					out = append(out, 2, 10)
				}
				if i < 14 {
					out = append(out, 4, 14)
				}
				if i >= 18 {
					out = append(out, 6, 1)
				}
			}
			out = append(out, 0x7F)
		}
		u.say(append(out, 0xF7)...)
	case 0x69:
		out := []byte{0xF0, 0x6A}
		for i := range u.pins {
			if i < 14 {
				out = append(out, 0x7F)
			} else {
				out = append(out, byte(i-14))
			}
		}
		u.say(append(out, 0xF7)...)
	case 0x6D:
		if len(d) == 0 {
			return
		}
		out := []byte{0xF0, 0x6E, d[0]}
		if int(d[0]) < len(u.pins) {
			p := &u.pins[d[0]]
			out = append(out, byte(p.mode), byte(p.state&0x7F))
			if p.state > 0x7F {
				out = append(out, byte(p.state>>7))
			}
		}
		u.say(append(out, 0xF7)...)
	case 0x6F:
		if len(d) > 1 {
			v := int(d[1])
			for i, x := range d[2:] {
				v |= int(x) << (7 * (i + 1))
			}
			u.analog(int(d[0]), v)
		}
	case 0x70:
		if len(d) > 4 && int(d[0]) < len(u.pins) {
			u.attach(int(d[0]))
		}
	case 0x76:
		u.i2c(d)
	}
}

// i2c does what a request says on the bus.
func (u *uno) i2c(d []byte) {
	if len(d) < 2 {
		return
	}
	var data []byte
	for i := 2; i+1 < len(d); i += 2 {
		data = append(data, d[i]|d[i+1]<<7)
	}
	there := u.chip != nil && int(d[0]) == u.chip.address && !u.chip.away
	switch d[1] {
	case 0:
		if there {
			u.chip.write(data)
		}
	case 8:
		n := int(data[len(data)-1])
		out := []byte{0xF0, 0x77, d[0], 0, 0, 0}
		var got []byte
		if there {
			got = u.chip.read(n)
		} else {
			u.text(0x71, nil, "I2C: Too few bytes received")
			if u.old {
				got = make([]byte, n) // what its buffer held before
			}
		}
		for _, b := range got {
			out = append(out, b&0x7F, b>>7)
		}
		u.say(append(out, 0xF7)...)
	}
}

// pca is a PCA9685 by its data sheet: 256 registers, a pointer that counts on where MODE1
// says so, and outputs that are off until they are told otherwise.
type pca struct {
	address int
	regs    [256]byte
	at      byte
	away    bool // its wires are off
	writes  int
	deaf    bool // it acknowledges and keeps nothing
}

func newPCA(address int) *pca {
	c := &pca{address: address}
	c.powerUp()
	return c
}

func (c *pca) powerUp() {
	c.regs = [256]byte{0: 0x11, 1: 0x04, 0xFE: 30}
	for n := range 16 {
		c.regs[6+4*n+3] = 0x10
	}
}

func (c *pca) next() {
	if c.regs[0]&0x20 != 0 {
		c.at++
	}
}

func (c *pca) write(d []byte) {
	if len(d) == 0 {
		return
	}
	c.at = d[0]
	for _, b := range d[1:] {
		c.writes++
		if !c.deaf && (c.at != 0xFE || c.regs[0]&0x10 != 0) { // the prescaler only takes a value asleep
			c.regs[c.at] = b
		}
		c.next()
	}
}

func (c *pca) read(n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = c.regs[c.at]
		c.next()
	}
	return out
}

// pulse is how long a channel's pulse is, µs; 0: it has none.
func (c *pca) pulse(n int) float64 {
	r := c.regs[6+4*n : 10+4*n]
	if c.regs[0]&0x10 != 0 || r[3]&0x10 != 0 {
		return 0
	}
	counts := (int(r[2]) | int(r[3])<<8) - (int(r[0]) | int(r[1])<<8)
	return float64(counts) * (float64(c.regs[0xFE]) + 1) / 25
}
