package robot

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
)

// The canonical encodings begin with one of these. The last byte is the version:
// whatever changes the fields of what is encoded, or their order, raises it.
const (
	trajectoryMagic = "tau.trj\x01"
	motionMagic     = "tau.mot\x03"
	rehearsalMagic  = "tau.reh\x02"
)

// canonicalNaN is what each NaN is encoded as. No decoder accepts it.
const canonicalNaN = 0x7ff8_0000_0000_0000

// AppendCanonical appends the canonical encoding of the trajectory to dst: the
// header "tau.trj" and a version byte; the number of joints and their names; the
// number of segments and of each its Duration, Q, V, A and J. Counts are 32 bits,
// numbers are the bits of an IEEE 754 double, both big-endian; a text and a list
// have their count in front. -0 is encoded as 0.
//
// Two trajectories have the same encoding only if they are the same motion, and
// it depends on nothing else: not on a machine, a map's order or a slice's
// capacity. A trajectory that Validate accepts can be decoded again.
func (t Trajectory) AppendCanonical(dst []byte) []byte {
	dst = append(dst, trajectoryMagic...)
	dst = appendStrings(dst, t.Joints)
	dst = appendCount(dst, len(t.Segments))
	for i := range t.Segments {
		s := &t.Segments[i]
		dst = appendFloat(dst, s.Duration)
		dst = appendFloats(dst, s.Q)
		dst = appendFloats(dst, s.V)
		dst = appendFloats(dst, s.A)
		dst = appendFloats(dst, s.J)
	}
	return dst
}

// Digest returns the SHA-256 of the canonical encoding.
func (t Trajectory) Digest() [32]byte { return sha256.Sum256(t.AppendCanonical(nil)) }

// DecodeTrajectory is the inverse of AppendCanonical. It refuses, as
// CodeInvalidArgument with the offset, everything that AppendCanonical can't have
// written for a trajectory of finite numbers: another header, a -0, a NaN or an
// infinity, a text that isn't UTF-8, counts that differ from the number of joints
// or are more than the data can hold, an end that is missing, data after the end.
// Whether the trajectory may run is for Validate to say. The result shares no
// memory with data.
func DecodeTrajectory(data []byte) (Trajectory, error) {
	d := decoder{what: "trajectory", data: data}
	t := d.trajectory()
	return t, d.end()
}

func appendCount(dst []byte, n int) []byte { return binary.BigEndian.AppendUint32(dst, uint32(n)) }

func appendString(dst []byte, s string) []byte { return append(appendCount(dst, len(s)), s...) }

func appendStrings(dst []byte, list []string) []byte {
	dst = appendCount(dst, len(list))
	for _, s := range list {
		dst = appendString(dst, s)
	}
	return dst
}

func appendFloat(dst []byte, x float64) []byte {
	bits := math.Float64bits(x)
	switch {
	case x == 0:
		bits = 0 // -0 is the same number
	case math.IsNaN(x):
		bits = canonicalNaN
	}
	return binary.BigEndian.AppendUint64(dst, bits)
}

func appendFloats(dst []byte, x []float64) []byte {
	dst = appendCount(dst, len(x))
	for _, v := range x {
		dst = appendFloat(dst, v)
	}
	return dst
}

// decoder reads canonical encodings. After the first error everything reads as
// zero and the error stays.
type decoder struct {
	what string
	data []byte
	off  int
	err  error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = Errf(CodeInvalidArgument, fmt.Sprintf("%s, byte %d", d.what, d.off), format, args...)
	}
}

// take returns the next n bytes, nil at an error.
func (d *decoder) take(n int) []byte {
	if d.err != nil {
		return nil
	}
	if n > len(d.data)-d.off {
		d.fail("the encoding ends %d bytes early", n-(len(d.data)-d.off))
		return nil
	}
	d.off += n
	return d.data[d.off-n : d.off]
}

// end returns the error, or that there is data left.
func (d *decoder) end() error {
	if d.err == nil && d.off < len(d.data) {
		d.fail("%d bytes after the end of the encoding", len(d.data)-d.off)
	}
	return d.err
}

func (d *decoder) magic(want string) {
	start := d.off
	if got := d.take(len(want)); d.err == nil && string(got) != want {
		d.off = start
		d.fail("the encoding begins with %q, not with %q", got, want)
	}
}

func (d *decoder) uint64() uint64 {
	if b := d.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// count reads the length of a list whose elements take at least size bytes
// each, so that a length that lies can't make anybody allocate.
func (d *decoder) count(size int) int {
	b := d.take(4)
	if b == nil {
		return 0
	}
	n := binary.BigEndian.Uint32(b)
	if left := len(d.data) - d.off; int64(n)*int64(size) > int64(left) {
		d.off -= 4
		d.fail("a count of %d with %d bytes left", n, left)
		return 0
	}
	return int(n)
}

func (d *decoder) string() string {
	n := d.count(1)
	b := d.take(n)
	if !utf8.Valid(b) {
		d.off -= n
		d.fail("a text that isn't UTF-8")
		return ""
	}
	return string(b)
}

// strings returns nil for an empty list.
func (d *decoder) strings() []string {
	n := d.count(4)
	if n == 0 {
		return nil
	}
	out := make([]string, n)
	for i := range out {
		out[i] = d.string()
	}
	return out
}

func (d *decoder) float() float64 {
	bits := d.uint64()
	x := math.Float64frombits(bits)
	if !finite(x) || x == 0 && bits != 0 {
		d.off -= 8
		d.fail("a number that isn't finite, or is -0")
		return 0
	}
	return x
}

// floats returns nil for an empty list.
func (d *decoder) floats() []float64 {
	n := d.count(8)
	if n == 0 {
		return nil
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = d.float()
	}
	return out
}

// floatsFor reads a list that has one number for each of n joints.
func (d *decoder) floatsFor(n int) []float64 {
	start := d.off
	x := d.floats()
	if d.err == nil && len(x) != n {
		d.off = start
		d.fail("%d numbers for %d joints", len(x), n)
	}
	return x
}

func (d *decoder) trajectory() Trajectory {
	d.magic(trajectoryMagic)
	t := Trajectory{Joints: d.strings()}
	n := len(t.Joints)
	segments := d.count(8 + 4*(4+8*n))
	if segments == 0 || d.err != nil {
		return t
	}
	t.Segments = make([]Segment, segments)
	for i := range t.Segments {
		t.Segments[i] = Segment{
			Duration: d.float(),
			Q:        d.floatsFor(n), V: d.floatsFor(n), A: d.floatsFor(n), J: d.floatsFor(n),
		}
	}
	return t
}
