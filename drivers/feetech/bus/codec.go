package bus

import (
	"errors"
	"fmt"
)

// Op is an instruction that both makers' protocols have.
type Op uint8

// The instructions. The zero value is none.
const (
	Ping Op = iota + 1
	Read
	Write
	SyncRead
	SyncWrite
	Reboot
)

func (o Op) String() string {
	switch o {
	case Ping:
		return "ping"
	case Read:
		return "read"
	case Write:
		return "write"
	case SyncRead:
		return "sync read"
	case SyncWrite:
		return "sync write"
	case Reboot:
		return "reboot"
	}
	return "no instruction"
}

// Broadcast is the ID that every servo listens to and none answers, but for a SyncRead's
// servos, each in its turn, and for a Ping: Feetech's servos answer that all at once.
const Broadcast = 0xFE

// Instruction is a packet from the host.
type Instruction struct {
	// Op is 0, of ParseInstruction, where the packet is whole and asks for something
	// else: Data is then all that it carries, and Count its length.
	Op    Op
	ID    byte   // Broadcast for the sync instructions
	Addr  uint16 // of the first register
	Count int    // bytes of each servo: of a Read or SyncRead, what is asked for
	IDs   []byte // of the sync instructions, in the order of the answers
	Data  []byte // of a Write, Count bytes; of a SyncWrite Count bytes for each of IDs, in their order
}

// Status is a packet from a servo.
type Status struct {
	ID     byte
	Error  byte   // as the protocol has it; 0 is none
	Params []byte // the codec's own or a part of what Parse was given: valid until the next Parse
}

// ErrMore says that what Parse was given may be the beginning of a packet.
var ErrMore = errors.New("the packet isn't whole yet")

// Damaged is what looked like a packet and isn't a good one.
type Damaged struct{ Why Damage }

// Damage is what is wrong with a packet.
type Damage uint8

// The damages. The zero value is none.
const (
	WrongSum Damage = iota + 1
	WrongLength
	WrongStuffing
	WrongError // a servo's error byte that none has
)

func (d *Damaged) Error() string { return "damaged packet: " + d.Why.String() }

func (w Damage) String() string {
	switch w {
	case WrongSum:
		return "its sum is wrong"
	case WrongLength:
		return "its length is wrong"
	case WrongStuffing:
		return "its stuffing is wrong"
	case WrongError:
		return "its error byte is none"
	}
	return fmt.Sprintf("damage %d", uint8(w))
}

// The one Damaged of each kind: Parse gives no error of its own to the heap.
var damages = [...]Damaged{{}, {WrongSum}, {WrongLength}, {WrongStuffing}, {WrongError}}

// Err is the *Damaged of that kind, always the same, not to be changed. Codecs use it.
func (w Damage) Err() error { return &damages[w] }

// Codec makes and reads the packets of one protocol. It is a value without state but a
// scratch buffer: one codec serves one Bus or one emulated bus.
type Codec interface {
	// Name is "feetech" or "dynamixel 2.0".
	Name() string
	// Append appends the packet of an instruction. It refuses what the packet can't say
	// (INVALID_ARGUMENT), and what the protocol doesn't have (NOT_SUPPORTED); dst is then
	// returned as it was.
	Append(dst []byte, i Instruction) ([]byte, error)
	// AppendStatus appends a servo's packet, for the emulator; what was parsed stays as it is. What no servo can say (an
	// ID of more than Broadcast-1, an error byte that none has, too many parameters) is its caller's
	// mistake: the packet is then one that Parse doesn't take.
	AppendStatus(dst []byte, s Status) []byte
	// Parse finds the first packet of a servo in b. n is how many bytes are done with:
	// those before the packet, and the packet. err is nil with a packet; ErrMore where b
	// may be the beginning of one (n bytes before it are no part of it); *Damaged where
	// a packet's sum, length or stuffing is wrong (n then ends where the search for the
	// next header goes on, at least one byte).
	Parse(b []byte) (s Status, n int, err error)
	// ParseInstruction is the same of the host's packets, for the emulator. The slices of
	// i are parts of b, or the codec's own until the next call.
	ParseInstruction(b []byte) (i Instruction, n int, err error)
	// StatusSize is the length of a status packet with that many parameters, without stuffing.
	StatusSize(params int) int
	// PingParams is how many parameters a servo answers a Ping with.
	PingParams() int
	// AnswersReboot says whether a servo answers a Reboot before it restarts.
	AnswersReboot() bool
	// Instruction reports whether the same bytes are an instruction of a host too, which
	// only the other side of the line can tell apart.
	Instruction(s Status) bool
	// Refused says why a servo that answers with this error byte hasn't done what it
	// was told; "" where it has, whatever else the byte complains of.
	Refused(status byte) string
}
