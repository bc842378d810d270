package dxl

import (
	"encoding/binary"
	"fmt"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/robot"
)

// The instructions' bytes, of the maker's description of protocol 2.0
// (emanual.robotis.com/docs/en/dxl/protocol2).
const (
	instPing      = 0x01
	instRead      = 0x02
	instWrite     = 0x03
	instReboot    = 0x08
	instStatus    = 0x55
	instSyncRead  = 0x82
	instSyncWrite = 0x83
)

const (
	headLen   = 4 // FF FF FD 00
	bodyStart = 7 // behind ID and length
	crcLen    = 2
	maxID     = 0xFC
	// maxPacket is the longest packet that the maker's SDK sends or takes.
	maxPacket = 1024
	maxLength = maxPacket - bodyStart
	minLength = 1 + crcLen // an instruction
	minStatus = 2 + crcLen // an instruction and the error
	// alert is the bit of the error byte that says that the hardware has latched an
	// error; the others are the number of what was wrong with the instruction.
	alert = 0x80
)

// Codec is protocol 2.0: a header that can't be inside of a packet since it is stuffed
// there, ID, length, instruction, parameters and a CRC-16. The zero value is ready.
type Codec struct{ body, bare, ids, data []byte }

var _ bus.Codec = (*Codec)(nil)

// New returns a codec for one bus.
func New() *Codec { return &Codec{} }

// Name implements bus.Codec.
func (*Codec) Name() string { return "dynamixel 2.0" }

// StatusSize implements bus.Codec.
func (*Codec) StatusSize(params int) int { return bodyStart + minStatus + params }

// PingParams implements bus.Codec: the model's number and the version of its firmware.
func (*Codec) PingParams() int { return 3 }

// Instruction implements bus.Codec: a status packet has an instruction byte of its own.
func (*Codec) Instruction(bus.Status) bool { return false }

// AnswersReboot implements bus.Codec.
func (*Codec) AnswersReboot() bool { return true }

// Refused implements bus.Codec.
func (*Codec) Refused(status byte) string {
	switch n := status &^ alert; n {
	case 0:
		return ""
	case 1:
		return "it failed to do the instruction"
	case 2:
		return "it doesn't know the instruction"
	case 3:
		return "the instruction reached it damaged"
	case 4:
		return "the value is outside of its range"
	case 5:
		return "the data have the wrong length"
	case 6:
		return "the value is beyond a limit that it was given"
	case 7:
		return "the register can't be written or read now (kept ones can't be written while torque is on)"
	default:
		return fmt.Sprintf("error %d, which protocol 2.0 doesn't have", n)
	}
}

// Alert reports whether an error byte says that the servo has latched a hardware error:
// its HardwareError register says which.
func Alert(status byte) bool { return status&alert != 0 }

// Append implements bus.Codec.
func (c *Codec) Append(dst []byte, i bus.Instruction) ([]byte, error) {
	if err := check(i); err != nil {
		return dst, err
	}
	start := len(dst)
	dst = head(dst, i.ID)
	two := func(v int) { dst = binary.LittleEndian.AppendUint16(dst, uint16(v)) }
	switch i.Op {
	case bus.Ping:
		dst = append(dst, instPing)
	case bus.Reboot:
		dst = append(dst, instReboot)
	case bus.Read:
		dst = append(dst, instRead)
		two(int(i.Addr))
		two(i.Count)
	case bus.Write:
		dst = append(dst, instWrite)
		two(int(i.Addr))
		dst = append(dst, i.Data...)
	case bus.SyncRead:
		dst = append(dst, instSyncRead)
		two(int(i.Addr))
		two(i.Count)
		dst = append(dst, i.IDs...)
	case bus.SyncWrite:
		dst = append(dst, instSyncWrite)
		two(int(i.Addr))
		two(i.Count)
		for k, id := range i.IDs {
			dst = append(dst, id)
			dst = append(dst, i.Data[k*i.Count:(k+1)*i.Count]...)
		}
	}
	out := c.seal(dst, start)
	if n := len(out) - start; n > maxPacket {
		return dst[:start], tooLong(i.Op, n)
	}
	return out, nil
}

// AppendStatus implements bus.Codec.
func (c *Codec) AppendStatus(dst []byte, s bus.Status) []byte {
	start := len(dst)
	dst = append(head(dst, s.ID), instStatus, s.Error)
	dst = append(dst, s.Params...)
	return c.seal(dst, start)
}

func head(dst []byte, id byte) []byte { return append(dst, 0xFF, 0xFF, 0xFD, 0x00, id, 0, 0) }

// seal stuffs the body of the packet that begins at start, writes its length and its CRC.
func (c *Codec) seal(dst []byte, start int) []byte {
	c.bare = append(c.bare[:0], dst[start+bodyStart:]...)
	dst = dst[:start+bodyStart]
	for k, v := range c.bare {
		dst = append(dst, v)
		if v == 0xFD && k >= 2 && c.bare[k-1] == 0xFF && c.bare[k-2] == 0xFF {
			dst = append(dst, 0xFD)
		}
	}
	binary.LittleEndian.PutUint16(dst[start+5:], uint16(len(dst)-start-bodyStart+crcLen))
	return binary.LittleEndian.AppendUint16(dst, crc(dst[start:]))
}

// crc is the CRC-16 with the polynomial 8005, from 0, most significant bit first, not
// inverted (CRC-16/UMTS), over all bytes of the packet before it.
func crc(b []byte) uint16 {
	var r uint16
	for _, v := range b {
		r = r<<8 ^ crcTable[byte(r>>8)^v]
	}
	return r
}

// crcTable is what each byte does to the register.
var crcTable = func() (t [256]uint16) {
	for i := range t {
		r := uint16(i) << 8
		for range 8 {
			top := r & 0x8000
			r <<= 1
			if top != 0 {
				r ^= 0x8005
			}
		}
		t[i] = r
	}
	return t
}()

func tooLong(op bus.Op, n int) error {
	return robot.LimitErr(robot.CodeInvalidArgument, "dynamixel", float64(n), maxPacket, "bytes", op.String()+": the packet is longer than servos take")
}

// check refuses what a packet can't say.
func check(i bus.Instruction) error {
	const where = "dynamixel"
	bad := func(format string, args ...any) error {
		return robot.Errf(robot.CodeInvalidArgument, where, "%s: %s", i.Op, fmt.Sprintf(format, args...))
	}
	if i.Op < bus.Ping || i.Op > bus.Reboot {
		return robot.Errf(robot.CodeInvalidArgument, where, "no instruction")
	}
	sync := i.Op == bus.SyncRead || i.Op == bus.SyncWrite
	switch {
	case sync && i.ID != bus.Broadcast:
		return bad("goes to all servos (ID %d), not to %d", bus.Broadcast, i.ID)
	case i.ID > maxID && (i.ID != bus.Broadcast || i.Op == bus.Read):
		return bad("no servo has the ID %d; IDs go from 0 to %d", i.ID, maxID)
	case sync && len(i.IDs) == 0:
		return bad("no servo is named")
	}
	for k, id := range i.IDs {
		if id > maxID {
			return bad("no servo has the ID %d; IDs go from 0 to %d", id, maxID)
		}
		for _, before := range i.IDs[:k] {
			if id == before {
				return bad("the ID %d is named twice", id)
			}
		}
	}
	if i.Op == bus.Ping || i.Op == bus.Reboot {
		return nil
	}
	switch {
	case i.Count < 1 || i.Count > maxLength || int(i.Addr)+i.Count > 1<<16:
		return bad("%d bytes from address %d on are no registers", i.Count, i.Addr)
	case i.Op == bus.Write && len(i.Data) != i.Count, i.Op == bus.SyncWrite && len(i.Data) != len(i.IDs)*i.Count:
		return bad("%d bytes of data don't fit %d for each servo", len(i.Data), i.Count)
	}
	if n := bodyStart + minStatus + i.Count; n > maxPacket && (i.Op == bus.Read || i.Op == bus.SyncRead) {
		return tooLong(i.Op, n)
	}
	return nil
}

// packet finds the first packet in b of a servo (status) or of the host. On success it
// is b[from:n], still stuffed.
func packet(b []byte, status bool) (from, n int, err error) {
	least := minLength
	if status {
		least = minStatus
	}
	for i := 0; ; i++ {
		for i < len(b) && b[i] != 0xFF {
			i++
		}
		rest := b[i:]
		if !begins(rest) {
			continue
		}
		if len(rest) <= headLen {
			return i, i, bus.ErrMore
		}
		if id := rest[headLen]; id > maxID && (status || id != bus.Broadcast) {
			continue
		}
		if len(rest) <= bodyStart {
			return i, i, bus.ErrMore
		}
		if (rest[bodyStart] == instStatus) != status {
			continue // the other side's: an echo, or another master
		}
		length := int(binary.LittleEndian.Uint16(rest[5:]))
		if length < least || length > maxLength {
			return i, i + headLen, bus.WrongLength.Err()
		}
		end := bodyStart + length
		if at := unstuffed(rest[bodyStart:min(len(rest), end-crcLen)], len(rest) >= end-crcLen); at >= 0 {
			return i, i + bodyStart + at, bus.WrongStuffing.Err()
		}
		if len(rest) < end {
			return i, i, bus.ErrMore
		}
		if crc(rest[:end-crcLen]) != binary.LittleEndian.Uint16(rest[end-crcLen:]) {
			return i, i + headLen, bus.WrongSum.Err()
		}
		return i, i + end, nil
	}
}

// begins reports whether b may begin with a header.
func begins(b []byte) bool {
	for k, v := range [headLen]byte{0xFF, 0xFF, 0xFD, 0x00} {
		if k == len(b) {
			return true
		}
		if b[k] != v {
			return false
		}
	}
	return true
}

// unstuffed is where a body holds FF FF FD without a second FD behind it: a packet begins
// there, and the one before it was cut; -1: nowhere. A body that isn't whole may go on.
func unstuffed(body []byte, whole bool) int {
	for k := 0; k+3 <= len(body); k++ {
		if body[k] != 0xFF || body[k+1] != 0xFF || body[k+2] != 0xFD {
			continue
		}
		if k+3 == len(body) {
			if whole {
				return k
			}
			return -1
		}
		if body[k+3] != 0xFD {
			return k
		}
	}
	return -1
}

// open takes the stuffing out of a packet's body into the codec's own buffer.
func (c *Codec) open(packet []byte) []byte {
	body := packet[bodyStart : len(packet)-crcLen]
	c.body = c.body[:0]
	for k := 0; k < len(body); k++ {
		c.body = append(c.body, body[k])
		if k >= 2 && body[k] == 0xFD && body[k-1] == 0xFF && body[k-2] == 0xFF {
			k++
		}
	}
	return c.body
}

// Parse implements bus.Codec. The Params are the codec's own.
func (c *Codec) Parse(b []byte) (bus.Status, int, error) {
	from, n, err := packet(b, true)
	if err != nil {
		return bus.Status{}, n, err
	}
	body := c.open(b[from:n])
	return bus.Status{ID: b[from+headLen], Error: body[1], Params: body[2:]}, n, nil
}

// ParseInstruction implements bus.Codec. The slices are the codec's own.
func (c *Codec) ParseInstruction(b []byte) (bus.Instruction, int, error) {
	from, n, err := packet(b, false)
	if err != nil {
		return bus.Instruction{}, n, err
	}
	body := c.open(b[from:n])
	op, args := body[0], body[1:]
	i := bus.Instruction{ID: b[from+headLen]}
	two := func(at int) int { return int(binary.LittleEndian.Uint16(args[at:])) }
	var ok bool
	switch op {
	case instPing:
		i.Op, ok = bus.Ping, len(args) == 0
	case instReboot:
		i.Op, ok = bus.Reboot, len(args) == 0
	case instRead:
		if ok = len(args) == 4; ok {
			i.Op, i.Addr, i.Count = bus.Read, uint16(two(0)), two(2)
		}
	case instWrite:
		if ok = len(args) >= 3; ok {
			i.Op, i.Addr, i.Count, i.Data = bus.Write, uint16(two(0)), len(args)-2, args[2:]
		}
	case instSyncRead:
		if ok = len(args) >= 5; ok {
			i.Op, i.Addr, i.Count, i.IDs = bus.SyncRead, uint16(two(0)), two(2), args[4:]
		}
	case instSyncWrite:
		if ok = len(args) >= 6; ok {
			i.Op, i.Addr, i.Count = bus.SyncWrite, uint16(two(0)), two(2)
			ok = c.split(&i, args[4:])
		}
	default:
		i.Data, i.Count, ok = body, len(body), true
	}
	if !ok {
		return bus.Instruction{}, n, bus.WrongLength.Err()
	}
	return i, n, nil
}

// split takes a SyncWrite's servos apart into the codec's own slices.
func (c *Codec) split(i *bus.Instruction, b []byte) bool {
	if i.Count == 0 || len(b)%(i.Count+1) != 0 {
		return false
	}
	c.ids, c.data = c.ids[:0], c.data[:0]
	for ; len(b) > 0; b = b[i.Count+1:] {
		c.ids = append(c.ids, b[0])
		c.data = append(c.data, b[1:i.Count+1]...)
	}
	i.IDs, i.Data = c.ids, c.data
	return true
}
