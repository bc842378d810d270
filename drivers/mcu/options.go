package mcu

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"io"
	"log/slog"
	"time"

	"github.com/tau-robot/tau/drivers/port"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// Port is the line to the board. Read blocks until there are bytes, or fails; Write
// writes all or fails within a deadline of its own; Close unblocks both. *port.Port is
// one.
type Port interface {
	io.ReadWriteCloser
}

// Options are what a Robot is made from.
type Options struct {
	Model    *robot.Model
	Hardware *hardware.File
	// Port names the line in Info and in errors. Dial opens it, within ctx; it is called
	// again whenever the line was lost, until Close, never twice at once. nil: Port is a
	// serial device, which drivers/port opens for this process alone.
	Port string
	Dial func(ctx context.Context) (Port, error)
	// Baud is the line's speed, bit/s of 8N1, which bounds its load; 0: the file's.
	Baud int
	// ResetOnOpen resets the board when its serial device is opened for the first time,
	// as port.Options has it.
	ResetOnOpen bool
	// At is where the operator says that the joints are, rad or m by active joint, NaN
	// of a joint of which nothing is said; nil: of none. It counts for joints that nothing measures, in the power-up of the board
	// that Open finds, until they are commanded; not while they have power from before Open,
	// when the board knows their setpoints. See Robot.Declare.
	At []float64
	// Within is how long Open may take until a board that answers wrongly or not at all
	// is refused; 0: OpenWithin.
	Within time.Duration
	// Now is the time that measurements are stamped with; nil: time.Now. It has to carry
	// a monotonic reading or never go back.
	Now func() time.Time
	// Nonce gives the number that tells the answer to one HELLO from that to another;
	// nil: crypto/rand.
	Nonce func() uint32
	Log   *slog.Logger // nil: nothing is logged
}

// The times that the driver keeps.
const (
	// OpenWithin is how long Open waits for a board by default: one that is reset by
	// opening its line spends two seconds in its boot loader.
	OpenWithin = 5 * time.Second
	// StaleAfter is how old the last report may be before State refuses to give it and
	// a motion ends with STALE_STATE.
	StaleAfter = 150 * time.Millisecond
	// LostAfter is the silence after which the link counts as lost.
	LostAfter = 1500 * time.Millisecond

	helloPeriod     = 150 * time.Millisecond // between two HELLOs without an answer
	heartbeatPeriod = 50 * time.Millisecond
	answerWithin    = 400 * time.Millisecond // an acknowledgement
	readWithin      = 200 * time.Millisecond // an answer to a question, which is asked again
	firstBackoff    = 50 * time.Millisecond
	lastBackoff     = 2 * time.Second
)

// The line's load.
const (
	defaultBaud = 115200
	bitsPerByte = 10 // 8N1
	// mostLoad is the part of the line that pieces of motions, heartbeats and commands
	// together may fill.
	mostLoad = 0.7
	// mostBytes is what a board takes in a second, however fast its line is.
	mostBytes = 11_000
	// buffered is how much motion, ms, the board's queue has to hold in the shortest
	// pieces.
	buffered = 120
	// ahead is how much motion, ms, the board may hold; the protocol's bound.
	ahead = 200
	// primed is how much of a motion, ms, is with the board before it starts.
	primed = 150
)

// check completes the options, or says what is wrong with them.
func (o *Options) check() error {
	switch {
	case o.Model == nil || o.Hardware == nil:
		return robot.Errf(robot.CodeInvalidArgument, "mcu", "a robot needs its model and its file")
	case o.Baud < 0:
		return robot.Errf(robot.CodeInvalidArgument, "baud", "%d bit/s is no speed", o.Baud)
	case len(o.Hardware.Joints) != o.Model.DoF() || len(o.Hardware.Outputs) != len(o.Model.Actuators):
		return robot.Errf(robot.CodeInvalidArgument, o.Hardware.Name, "the file is about another robot than %q", o.Model.Name)
	case o.Model.Base != nil:
		return robot.Errf(robot.CodeNotSupported, "mcu", "%q has wheels, and this driver moves no base", o.Model.Name)
	}
	if o.At != nil {
		if err := o.Model.CheckPlace(o.At); err != nil {
			return err
		}
	}
	if o.Baud == 0 {
		o.Baud = o.Hardware.Baud
	}
	if o.Baud == 0 {
		o.Baud = defaultBaud
	}
	if o.Dial == nil {
		o.Dial = serial(port.Options{Path: o.Port, Baud: o.Baud, ResetOnOpen: o.ResetOnOpen})
	}
	if o.Within <= 0 {
		o.Within = OpenWithin
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Nonce == nil {
		o.Nonce = nonce
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}

// serial opens a serial device, and opens it again after it was lost.
func serial(o port.Options) func(context.Context) (Port, error) {
	d := port.Dialer{Options: o}
	return func(ctx context.Context) (Port, error) {
		p, err := d.Dial(ctx)
		if err != nil {
			return nil, err // never a nil *port.Port in an interface
		}
		return p, nil
	}
}

func nonce() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint32(b[:])
}
