package bus

import (
	"math"

	"github.com/tau-robot/tau/robot"
)

// Sign is how a register says a negative number.
type Sign uint8

// The ways.
const (
	Unsigned   Sign = iota
	Magnitude       // one bit is the sign, the others are the absolute value
	Complement      // two's complement of the whole register
)

// Register is one value in a servo's memory, low byte first.
type Register struct {
	Name     string
	Addr     uint16
	Size     int // bytes: 1, 2 or 4
	Sign     Sign
	Bit      int  // of Magnitude, which bit is the sign
	Kept     bool // without power (EEPROM); such registers wear, and answer a write late
	ReadOnly bool
}

// Range returns the smallest and the largest value that the register can say.
func (r Register) Range() (lo, hi int64) {
	bits := 8 * r.Size
	switch r.Sign {
	case Magnitude:
		return -(1<<r.Bit - 1), 1<<r.Bit - 1
	case Complement:
		return -1 << (bits - 1), 1<<(bits-1) - 1
	}
	return 0, 1<<bits - 1
}

// Append appends the register's bytes for v. It refuses a value that the register can't
// say (INVALID_ARGUMENT, with the nearest one that it can): a homing offset of 2048 isn't
// cut to 0, nor taken for its sign.
func (r Register) Append(dst []byte, v int64) ([]byte, error) {
	lo, hi := r.Range()
	if v < lo || v > hi {
		limit := lo
		if v > hi {
			limit = hi
		}
		e := robot.LimitErr(robot.CodeInvalidArgument, r.Name, float64(v), float64(limit), "",
			"the register can't say this value")
		e.Nearest = []robot.Quantity{{Name: r.Name, Value: float64(limit)}}
		return dst, e
	}
	raw := uint64(v)
	if r.Sign == Magnitude && v < 0 {
		raw = uint64(-v) | 1<<r.Bit
	}
	for i := range r.Size {
		dst = append(dst, byte(raw>>(8*i)))
	}
	return dst, nil
}

// Value reads the register from the beginning of b; ok is false where b is too short. With
// Magnitude, bits above the sign bit go on with the value, as newer servos have it: what
// lies beyond Range is read as what it is. Minus zero is 0.
func (r Register) Value(b []byte) (v int64, ok bool) {
	if len(b) < r.Size {
		return 0, false
	}
	var raw uint64
	for i := range r.Size {
		raw |= uint64(b[i]) << (8 * i)
	}
	switch r.Sign {
	case Magnitude:
		v = int64(raw>>(r.Bit+1)<<r.Bit | raw&(1<<r.Bit-1))
		if raw>>r.Bit&1 == 1 {
			v = -v
		}
	case Complement:
		shift := 64 - 8*r.Size
		v = int64(raw<<shift) >> shift
	default:
		v = int64(raw & math.MaxUint32)
	}
	return v, true
}

// End is the address behind the register.
func (r Register) End() uint16 { return r.Addr + uint16(r.Size) }

// In reads the register from the bytes of a block that begins at the address from; ok is
// false where the block doesn't hold all of it.
func (r Register) In(block []byte, from uint16) (v int64, ok bool) {
	at := int(r.Addr) - int(from)
	if at < 0 || at > len(block) {
		return 0, false
	}
	return r.Value(block[at:])
}
