package wire

import (
	"encoding/binary"

	"github.com/tau-robot/tau/robot"
)

var le = binary.LittleEndian

// i24 reads three bytes, sign extended.
func i24(p []byte) int32 {
	return int32(uint32(p[0])<<8|uint32(p[1])<<16|uint32(p[2])<<24) >> 8
}

// appendI24 appends the lower three bytes of v.
func appendI24(dst []byte, v int32) []byte {
	return append(dst, byte(v), byte(v>>8), byte(v>>16))
}

// lengthErr refuses a payload that isn't as long as its type has it.
func lengthErr(t Type, got int, want string) error {
	return robot.Errf(robot.CodeInvalidArgument, t.String(), "the payload has %d bytes and must have %s", got, want)
}

// exactly refuses a payload that hasn't n bytes.
func exactly(t Type, p []byte, n int) error {
	if len(p) == n {
		return nil
	}
	if n == 0 {
		return lengthErr(t, len(p), "none")
	}
	return robot.Errf(robot.CodeInvalidArgument, t.String(), "the payload has %d bytes and must have %d", len(p), n)
}

// eachOf returns how many elements of size bytes follow the head of a payload.
func eachOf(t Type, p []byte, head, size, most int) (int, error) {
	n := (len(p) - head) / size
	if len(p) < head+size || (len(p)-head)%size != 0 || n > most {
		return 0, robot.Errf(robot.CodeInvalidArgument, t.String(),
			"the payload has %d bytes and must have %d and 1 to %d times %d", len(p), head, most, size)
	}
	return n, nil
}

// count refuses a number of joints that a frame can't have.
func count(t Type, n, most int) error {
	return within(t, "joints", int64(n), 1, int64(most))
}

// within refuses a field outside lower..upper.
func within(t Type, field string, value, lower, upper int64) error {
	if value >= lower && value <= upper {
		return nil
	}
	return robot.Errf(robot.CodeInvalidArgument, t.String()+"."+field, "%d is outside %d to %d", value, lower, upper)
}

// oneOf refuses a number without a name.
func oneOf(t Type, field string, value byte, names []string) error {
	if known(names, value) {
		return nil
	}
	return robot.Errf(robot.CodeInvalidArgument, t.String()+"."+field, "%d has no meaning in version %d", value, Version)
}

// zeros refuses reserved bits that are set.
func zeros(t Type, field string, value, reserved byte) error {
	if value&reserved == 0 {
		return nil
	}
	return robot.Errf(robot.CodeInvalidArgument, t.String()+"."+field, "%#02x has reserved bits (%#02x)", value, reserved)
}

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
