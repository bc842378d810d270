package bus

import (
	"io"
	"strconv"
	"time"

	"github.com/tau-robot/tau/robot"
)

// Port is the line. A Read waits for bytes until the deadline, whose error is
// os.ErrDeadlineExceeded; any other error says that the line is gone. *port.Port is one.
type Port interface {
	io.ReadWriter
	SetReadDeadline(t time.Time) error
}

// arrived is a Port that can say what has come without waiting: *port.Port can. Of others
// a look at the line takes look.
type arrived interface {
	// ReadArrived reads what is there, and 0 bytes where nothing is.
	ReadArrived(b []byte) (int, error)
}

// Echo says whether the adapter gives back what it is given to send.
type Echo uint8

// The zero value finds out.
const (
	EchoUnknown Echo = iota
	NoEcho
	Echoes
)

// Options say what is on the line. The zero value of each but Baud is its default.
type Options struct {
	Name string // the place in errors: "port /dev/ttyACM0"
	Baud int    // bit/s, for the time of a byte on the wire
	// Turnaround is how late an answer may come beyond the times on the wire and of the
	// servo: the adapter's own buffering (16 ms of an FTDI chip as it comes) and the
	// computer's. 0 is 25 ms.
	Turnaround time.Duration
	// ReturnDelay is how long a servo waits before it answers; 0 is 508 µs, the most
	// that its register can say.
	ReturnDelay time.Duration
	Tries       int // of a Read, SyncRead, Ping; 0 is 3
	// KeptBelow is the address below which registers are kept without power: their Write
	// is answered up to StoreTime later (0 is 100 ms).
	KeptBelow uint16
	StoreTime time.Duration
	Echo      Echo
}

const (
	defaultTurnaround  = 25 * time.Millisecond
	defaultReturnDelay = 508 * time.Microsecond
	defaultTries       = 3
	defaultStore       = 100 * time.Millisecond
	// look is how long is waited to see whether something lies on a line that can't say.
	look = 200 * time.Microsecond
	// bitsPerByte: a start bit, eight of data, a stop bit.
	bitsPerByte = 10
	// mostLooks bounds how often the line is read without waiting: one that never stops is
	// no line of servos.
	mostLooks = 16
	// room is for several of the longest packets.
	room = 4096
)

// Counters count what happened since New. Bytes and packets are counted once.
type Counters struct {
	Sent     uint64 // instructions
	Answered uint64 // good answers that were waited for
	Tries    uint64 // instructions that were sent again
	Failed   uint64 // servos that didn't give a good answer in all tries
	Refused  uint64 // answers that said no
	Damaged  uint64 // packets that were no good
	Foreign  uint64 // good packets that nobody had asked for: late, doubled, of another servo
	Stray    uint64 // bytes that were part of no good packet, or lay on the line before an instruction
	Echoed   uint64 // own bytes that came back
}

// Bus is the host of one line. It isn't safe for concurrent use; only what ends the Port's
// Read (its Close) may come from elsewhere. No method keeps a slice that it is given, and none allocates
// where nothing fails.
//
// Each method but Scan returns within Exchange of what it asks for, for each try. After a
// try that nothing came to, the next exchange that is answered begins only once a late
// answer would have come, a Turnaround behind the last deadline: what another register says can't be told
// apart from it. What nobody answers (SyncWrite) doesn't wait.
type Bus struct {
	port    Port
	arrived arrived // port, or nil
	codec   Codec
	o       Options

	out     []byte // the instruction
	scratch []byte
	held    []byte // parameters of an answer that may be none
	in      []byte // what has come is in[r:w]
	r, w    int
	ids     []byte // of a SyncRead, who hasn't answered

	// free is when the line will have sent what it was given. quiet is until when an
	// answer to an exchange that failed may still come.
	free, quiet time.Time
	echo        Echo
	echoing     bool // this instruction's echo is still to come, or may be
	missed      bool // an answer to a try of this exchange may still come
	hurt        bool // something damaged came since the instruction
	heard       bool // anything came since then, our echo apart
	overdue     int  // looks behind a deadline since then

	count   Counters
	silent  [256]*robot.Error // of reads; made once each
	damaged [256]*robot.Error
}

// New returns the host of a line that the caller opened and closes; it writes and reads
// nothing yet. INVALID_ARGUMENT: a number of the options makes no sense.
func New(p Port, c Codec, o Options) (*Bus, error) {
	if o.Name == "" {
		o.Name = "bus"
	}
	if o.Baud <= 0 {
		return nil, robot.LimitErr(robot.CodeInvalidArgument, o.Name, float64(o.Baud), 1, "Bd", "the baud rate isn't one")
	}
	if o.Turnaround < 0 || o.ReturnDelay < 0 || o.StoreTime < 0 || o.Tries < 0 {
		return nil, robot.Errf(robot.CodeInvalidArgument, o.Name, "a time or number of tries of the bus is negative")
	}
	or := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	or(&o.Turnaround, defaultTurnaround)
	or(&o.ReturnDelay, defaultReturnDelay)
	or(&o.StoreTime, defaultStore)
	if o.Tries == 0 {
		o.Tries = defaultTries
	}
	b := &Bus{port: p, codec: c, o: o, in: make([]byte, room), held: make([]byte, 0, room), echo: o.Echo}
	b.arrived, _ = p.(arrived)
	return b, nil
}

// Counters returns the counts so far.
func (b *Bus) Counters() Counters { return b.count }

// Echo says what is known of the adapter.
func (b *Bus) Echo() Echo { return b.echo }

// WireTime is how long n bytes take on the line.
func (b *Bus) WireTime(n int) time.Duration {
	return time.Duration(int64(n) * bitsPerByte * int64(time.Second) / int64(b.o.Baud))
}

// Exchange bounds one try of an instruction of sent bytes that is answered by servos with
// so many parameters each, from the moment on in which the line is free.
func (b *Bus) Exchange(sent, servos, params int) time.Duration {
	// A packet with stuffing has a byte more for each three, at most.
	answer := b.codec.StatusSize(params) + params/3 + 1
	return b.WireTime(sent) + time.Duration(servos)*(b.o.ReturnDelay+b.WireTime(answer)) + b.o.Turnaround
}

// servo is the place in an error about one servo.
func (b *Bus) servo(id byte) string { return "servo " + strconv.Itoa(int(id)) + " on " + b.o.Name }
