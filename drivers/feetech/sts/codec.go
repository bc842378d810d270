package sts

import (
	"fmt"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/robot"
)

// The instructions' bytes, of the maker's description of the protocol ("SCS communication
// protocol", doc.feetech.cn, FT-SCS-Protocol-41ad23fe8a244712ba160b93), section 4.
const (
	instPing      = 0x01
	instRead      = 0x02
	instWrite     = 0x03
	instReboot    = 0x08
	instSyncRead  = 0x82
	instSyncWrite = 0x83
)

const (
	mark    = 0xFF
	headLen = 4 // two marks, ID, length
	maxID   = 0xFD
	// maxPacket is the longest packet that the maker's SDK sends, and maxLength the
	// largest length byte that it takes.
	maxPacket = 250
	maxLength = 250
	minLength = 2 // an instruction or error byte, and the sum
	// maxError is the largest error byte: the top bit is none's. An echoed sync
	// instruction isn't one either.
	maxError = 0x7F
)

// Codec is Feetech's protocol: two marks, ID, length, instruction or error, parameters,
// and the complement of their sum. The zero value is ready.
type Codec struct{ ids, data []byte }

var _ bus.Codec = (*Codec)(nil)

// New returns a codec for one bus.
func New() *Codec { return &Codec{} }

// Name implements bus.Codec.
func (*Codec) Name() string { return "feetech" }

// StatusSize implements bus.Codec.
func (*Codec) StatusSize(params int) int { return headLen + minLength + params }

// PingParams implements bus.Codec.
func (*Codec) PingParams() int { return 0 }

// Instruction implements bus.Codec: the error byte is where an instruction has its own. A
// servo that complains of its voltage (1) answers a Ping with the Ping's bytes; one whose
// encoder is broken (2) answers a Read of two bytes with those of some Read.
func (*Codec) Instruction(s bus.Status) bool {
	switch n := len(s.Params); s.Error {
	case instPing, instReboot:
		return n == 0
	case instRead:
		return n == 2
	case instWrite:
		return n >= 2
	}
	return false
}

// AnswersReboot implements bus.Codec: the servo is gone at once.
func (*Codec) AnswersReboot() bool { return false }

// Refused implements bus.Codec: the error byte is the servo's condition, and says
// nothing of the instruction.
func (*Codec) Refused(byte) string { return "" }

// Append implements bus.Codec.
func (c *Codec) Append(dst []byte, i bus.Instruction) ([]byte, error) {
	if err := check(i); err != nil {
		return dst, err
	}
	start := len(dst)
	dst = append(dst, mark, mark, i.ID, 0)
	switch i.Op {
	case bus.Ping:
		dst = append(dst, instPing)
	case bus.Reboot:
		dst = append(dst, instReboot)
	case bus.Read:
		dst = append(dst, instRead, byte(i.Addr), byte(i.Count))
	case bus.Write:
		dst = append(dst, instWrite, byte(i.Addr))
		dst = append(dst, i.Data...)
	case bus.SyncRead:
		dst = append(dst, instSyncRead, byte(i.Addr), byte(i.Count))
		dst = append(dst, i.IDs...)
	case bus.SyncWrite:
		dst = append(dst, instSyncWrite, byte(i.Addr), byte(i.Count))
		for k, id := range i.IDs {
			dst = append(dst, id)
			dst = append(dst, i.Data[k*i.Count:(k+1)*i.Count]...)
		}
	}
	return seal(dst, start), nil
}

// AppendStatus implements bus.Codec.
func (*Codec) AppendStatus(dst []byte, s bus.Status) []byte {
	start := len(dst)
	dst = append(dst, mark, mark, s.ID, 0, s.Error)
	dst = append(dst, s.Params...)
	return seal(dst, start)
}

// seal writes the length of the packet that begins at start, and its sum.
func seal(dst []byte, start int) []byte {
	dst[start+3] = byte(len(dst) - start - headLen + 1)
	return append(dst, sum(dst[start+2:]))
}

// sum is the complement of the sum of all bytes from the ID on.
func sum(b []byte) byte {
	var s byte
	for _, v := range b {
		s += v
	}
	return ^s
}

// check refuses what a packet can't say.
func check(i bus.Instruction) error {
	const where = "feetech"
	bad := func(format string, args ...any) error {
		return robot.Errf(robot.CodeInvalidArgument, where, "%s: %s", i.Op, fmt.Sprintf(format, args...))
	}
	body := 0
	switch i.Op {
	case bus.Ping, bus.Reboot:
	case bus.Read:
		body = 2
	case bus.Write:
		body = 1 + len(i.Data)
	case bus.SyncRead:
		body = 2 + len(i.IDs)
	case bus.SyncWrite:
		body = 2 + len(i.IDs)*(1+i.Count)
	default:
		return robot.Errf(robot.CodeInvalidArgument, where, "no instruction")
	}
	sync := i.Op == bus.SyncRead || i.Op == bus.SyncWrite
	switch {
	case sync && i.ID != bus.Broadcast:
		return bad("goes to all servos (ID %d), not to %d", bus.Broadcast, i.ID)
	case !sync && i.Op != bus.Write && i.Op != bus.Reboot && i.ID > maxID, i.ID > bus.Broadcast:
		return bad("no servo has the ID %d; IDs go from 0 to %d", i.ID, maxID)
	case sync && len(i.IDs) == 0:
		return bad("no servo is named")
	}
	for _, id := range i.IDs {
		if id > maxID {
			return bad("no servo has the ID %d; IDs go from 0 to %d", id, maxID)
		}
	}
	if i.Op == bus.Ping || i.Op == bus.Reboot {
		return nil
	}
	switch {
	case i.Count < 1 || i.Count > maxPacket || int(i.Addr)+i.Count > 256:
		return bad("%d bytes from address %d on are no registers; addresses go from 0 to 255", i.Count, i.Addr)
	case i.Op == bus.Write && len(i.Data) != i.Count, i.Op == bus.SyncWrite && len(i.Data) != len(i.IDs)*i.Count:
		return bad("%d bytes of data don't fit %d for each servo", len(i.Data), i.Count)
	}
	answer := 0
	if i.Op == bus.Read || i.Op == bus.SyncRead {
		answer = i.Count
	}
	if n := headLen + minLength + max(body, answer); n > maxPacket {
		return robot.LimitErr(robot.CodeInvalidArgument, where, float64(n), maxPacket, "bytes", i.Op.String()+": the packet is longer than servos take")
	}
	return nil
}

// packet finds the first packet in b whose ID is at most last. On success it is b[from:n].
func packet(b []byte, last byte, status bool) (from, n int, err error) {
	for i := 0; ; i++ {
		for i < len(b) && b[i] != mark {
			i++
		}
		rest := b[i:]
		switch {
		case len(rest) < 2:
			return i, i, bus.ErrMore
		case rest[1] != mark:
			continue
		case len(rest) < 3:
			return i, i, bus.ErrMore
		case rest[2] > last: // a third mark too: the header may begin one later
			continue
		case len(rest) < headLen:
			return i, i, bus.ErrMore
		}
		length := int(rest[3])
		if length < minLength || length > maxLength {
			return i, i + 2, bus.WrongLength.Err()
		}
		if status && len(rest) > headLen && rest[headLen] > maxError {
			return i, i + 2, bus.WrongError.Err()
		}
		end := headLen + length
		if len(rest) < end {
			return i, i, bus.ErrMore
		}
		if sum(rest[2:end-1]) != rest[end-1] {
			return i, i + 2, bus.WrongSum.Err()
		}
		return i, i + end, nil
	}
}

// Parse implements bus.Codec. The Params are a part of b.
func (*Codec) Parse(b []byte) (bus.Status, int, error) {
	from, n, err := packet(b, maxID, true)
	if err != nil {
		return bus.Status{}, n, err
	}
	p := b[from:n]
	return bus.Status{ID: p[2], Error: p[headLen], Params: p[headLen+1 : len(p)-1]}, n, nil
}

// ParseInstruction implements bus.Codec.
func (c *Codec) ParseInstruction(b []byte) (bus.Instruction, int, error) {
	from, n, err := packet(b, bus.Broadcast, false)
	if err != nil {
		return bus.Instruction{}, n, err
	}
	p := b[from:n]
	op, args := p[headLen], p[headLen+1:len(p)-1]
	i := bus.Instruction{ID: p[2]}
	var ok bool
	switch op {
	case instPing:
		i.Op, ok = bus.Ping, len(args) == 0
	case instReboot:
		i.Op, ok = bus.Reboot, len(args) == 0
	case instRead:
		i.Op, ok = bus.Read, len(args) == 2
	case instWrite:
		i.Op, ok = bus.Write, len(args) >= 2
		if ok {
			i.Addr, i.Data, i.Count = uint16(args[0]), args[1:], len(args)-1
		}
		args = nil
	case instSyncRead:
		i.Op, ok = bus.SyncRead, len(args) >= 3
		if ok {
			i.IDs = args[2:]
		}
	case instSyncWrite:
		i.Op, ok = bus.SyncWrite, len(args) >= 4
		if ok {
			ok = c.split(&i, args[2:], int(args[1]))
		}
	default:
		i.Data, i.Count = p[headLen:len(p)-1], len(args)+1
		return i, n, nil
	}
	if !ok {
		return bus.Instruction{}, n, bus.WrongLength.Err()
	}
	if len(args) >= 2 {
		i.Addr, i.Count = uint16(args[0]), int(args[1])
	}
	return i, n, nil
}

// split takes a SyncWrite's servos apart into the codec's own slices.
func (c *Codec) split(i *bus.Instruction, b []byte, count int) bool {
	if count == 0 || len(b)%(count+1) != 0 {
		return false
	}
	c.ids, c.data = c.ids[:0], c.data[:0]
	for ; len(b) > 0; b = b[count+1:] {
		c.ids = append(c.ids, b[0])
		c.data = append(c.data, b[1:count+1]...)
	}
	i.IDs, i.Data = c.ids, c.data
	return true
}
