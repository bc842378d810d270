package wire

// Version is the protocol's.
const Version = 1

// Sizes in bytes.
const (
	MaxPayload = 64             // of a frame
	MinBody    = 4              // type, seq and crc
	MaxBody    = MaxPayload + 4 // the same with the longest payload
	MaxFrame   = MaxBody + 2    // the longest frame on the wire
	Overhead   = 6              // what a frame on the wire has beside its payload
)

// What a board can have at most, and what else bounds the numbers of a frame.
const (
	MaxJoints   = 8
	MaxOutputs  = 8
	MaxKnots    = 4   // joints in one SEGMENT
	MaxTicks    = 100 // of one piece
	MaxAhead    = 200 // ms of motion in the board's queue
	MinStart    = 50  // ms of motion that GO needs, unless the last piece is there
	MaxQ        = 1<<30 - 1
	MaxV        = 1<<23 - 1
	MaxA        = 1<<31 - 1
	MaxRamp     = 1000 // ms
	MaxStopping = 8000 // ms from the largest velocity to rest
	MaxStops    = 1<<16 - 1
	NoSeek      = 255
	NoSwitch    = 255
	NoChannel   = 255
	NoRaw       = 1<<16 - 1
	NoValue     = 1<<31 - 1 // in FEEDBACK: a joint that has none
)

// Times that the board keeps, ms.
const (
	Watchdog        = 200
	HeartbeatPeriod = 50
	ReportLife      = 2000
)

// Frame is what one frame carries.
type Frame struct {
	Type    Type
	Seq     byte
	Payload []byte
}

// Append appends the frame as it goes over the wire, with its delimiter, to dst and
// returns the result. A payload longer than MaxPayload can't be sent: dst is then
// returned as it was. It keeps nothing of f.
func Append(dst []byte, f Frame) []byte {
	if len(f.Payload) > MaxPayload {
		return dst
	}
	start := len(dst)
	dst = begin(dst, f.Type, f.Seq)
	dst = append(dst, f.Payload...)
	return end(dst, start)
}

// begin appends what is in front of a payload: room for COBS's first code, type and
// sequence number.
func begin(dst []byte, t Type, seq byte) []byte {
	return append(dst, 0, byte(t), seq)
}

// end appends the check to the body that begins after dst[start] and codes it in
// place: a body is shorter than 254 bytes, so that COBS adds the one byte in front
// and otherwise replaces each zero by the distance to the next.
func end(dst []byte, start int) []byte {
	c := CRC(dst[start+1:])
	dst = append(dst, byte(c), byte(c>>8))
	code := start
	for i := start + 1; i < len(dst); i++ {
		if dst[i] == 0 {
			dst[code] = byte(i - code)
			code = i
		}
	}
	dst[code] = byte(len(dst) - code)
	return append(dst, 0)
}

// CRC returns CRC-16/CCITT-FALSE of p: polynomial 0x1021, initial value 0xFFFF,
// nothing reflected or inverted.
func CRC(p []byte) uint16 {
	c := uint16(0xFFFF)
	for _, b := range p {
		// Eight steps of the division at once: x is what the top byte feeds back.
		x := byte(c>>8) ^ b
		x ^= x >> 4
		c = c<<8 ^ uint16(x)<<12 ^ uint16(x)<<5 ^ uint16(x)
	}
	return c
}
