package bus

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

// Broadcast is the ID that every servo listens to and none answers, other than a Ping of
// protocol 2.0 and a SyncRead's servos, each in its turn.
const Broadcast = 0xFE

// Instruction is a packet from the host.
type Instruction struct {
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

// Codec makes and reads the packets of one protocol. It is a value without state but a
// scratch buffer: one codec serves one Bus or one emulated bus.
type Codec interface {
	// Name is "feetech" or "dynamixel 2.0".
	Name() string
	// Append appends the packet of an instruction. It refuses what the packet can't say (INVALID_ARGUMENT).
	Append(dst []byte, i Instruction) ([]byte, error)
	// AppendStatus appends a servo's packet, for the emulator.
	AppendStatus(dst []byte, s Status) []byte
	// Parse finds the first packet of a servo in b. n is how many bytes are done with:
	// those before the packet, and the packet. err is nil with a packet; ErrMore where b
	// may be the beginning of one (n bytes before it are no part of it); *Damaged where
	// a packet's sum, length or stuffing is wrong (n then ends where the search for the
	// next header goes on, at least one byte).
	Parse(b []byte) (s Status, n int, err error)
	// ParseInstruction is the same of the host's packets, for the emulator.
	ParseInstruction(b []byte) (i Instruction, n int, err error)
	// StatusSize is the length of a status packet with that many parameters, without stuffing.
	StatusSize(params int) int
	// Little reports the order of a register's bytes: true for the low byte first.
	Little() bool
}
