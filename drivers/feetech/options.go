package feetech

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/tau-robot/tau/drivers/hosted"
	"github.com/tau-robot/tau/drivers/port"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// Version names what this driver does with a motion; it changes when the same motion
// leads to other packets.
const Version = "tau-feetech/1"

// Port is the line to the servos. Read blocks until there are bytes, the deadline passes
// (LINK_TIMEOUT) or it fails; Write writes all or fails within a deadline of its own;
// Close unblocks both. *port.Port is one.
type Port interface {
	io.ReadWriteCloser
	SetReadDeadline(t time.Time) error
}

// Options are what a Robot is made from.
type Options struct {
	Model *robot.Model
	// Hardware is the robot's file. Its Driver, "feetech" or "dynamixel", says which
	// servos they are.
	Hardware *hardware.File
	// Port names the line in Info and in errors. Dial opens it, within ctx; it is called
	// again whenever the line was lost, until Close, never twice at once. nil: Port is a
	// serial device, which drivers/port opens for this process alone at Hardware.Baud.
	Port string
	Dial func(ctx context.Context) (Port, error)
	// DialAt opens the line at another speed, to find out at which one servos answer
	// where none does at the file's. nil: of a serial device, drivers/port; with a Dial,
	// nothing is looked for.
	DialAt func(ctx context.Context, baud int) (Port, error)
	// At is where the operator says that the joints are. Bus servos measure that
	// themselves: it is checked and has no effect.
	At []float64
	// Within bounds Open; 0: hosted.OpenWithin.
	Within time.Duration
	// Now is the time that measurements are stamped with; nil: time.Now. It has to carry
	// a monotonic reading or never go back.
	Now func() time.Time
	Log *slog.Logger // nil: nothing is logged
}

// check completes the options, or says what is wrong with them.
func (o *Options) check() (*family, error) {
	if o.Model == nil || o.Hardware == nil {
		return nil, robot.Errf(robot.CodeInvalidArgument, "feetech", "a robot needs its model and its file")
	}
	f := o.Hardware
	fam, ok := familyOf(f.Driver)
	switch {
	case !ok:
		return nil, robot.Errf(robot.CodeInvalidArgument, f.Name, "the file is for the driver %q; servo buses are \"feetech\" and \"dynamixel\"", f.Driver)
	case len(f.Joints) != o.Model.DoF():
		return nil, robot.Errf(robot.CodeInvalidArgument, f.Name, "the file is about another robot than %q", o.Model.Name)
	case len(f.Joints) == 0:
		return nil, robot.Errf(robot.CodeInvalidArgument, f.Name, "%q has no joint that a servo could move", o.Model.Name)
	case len(o.Model.Actuators) != 0 || len(f.Outputs) != 0:
		return nil, robot.Errf(robot.CodeNotSupported, f.Name, "%q has something beside its joints, and a servo bus has not", o.Model.Name)
	case f.Baud <= 0:
		return nil, robot.Errf(robot.CodeInvalidArgument, f.Name, "%d bit/s is no speed", f.Baud)
	case o.Port == "":
		return nil, robot.Errf(robot.CodeInvalidArgument, "port", "no port is named")
	}
	if o.Dial == nil {
		s := newSerial(o.Port, f.Baud)
		o.Dial = s.dial
		if o.DialAt == nil {
			o.DialAt = s.dialAt
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return fam, nil
}

// serial opens a serial device.
type serial struct{ d port.Dialer }

func newSerial(path string, baud int) *serial {
	return &serial{port.Dialer{Options: port.Options{Path: path, Baud: baud}}}
}

// dial opens it, and opens it again after it was lost.
func (s *serial) dial(ctx context.Context) (Port, error) { return line(s.d.Dial(ctx)) }

// dialAt opens it once, at another speed.
func (s *serial) dialAt(ctx context.Context, baud int) (Port, error) {
	o := s.d.Options
	o.Baud = baud
	return line(port.Open(ctx, o))
}

// line is what was opened, and never a nil *port.Port in an interface.
func line(p *port.Port, err error) (Port, error) {
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Robot is an arm of bus servos. All methods may be called from any goroutine.
type Robot struct{ *hosted.Engine }

var _ robot.Backend = (*Robot)(nil)

// Open finds the servos, holds them against the file, and reads where the joints are. It
// blocks for at most Options.Within, or until ctx ends. Nothing is written to a servo:
// the robot starts disabled, and what had power keeps it. After an error nothing is open.
//
// The error says what is wrong and what to do: no servo at all (and at which other speed
// there are some), one that is silent, two that share an ID, another model, another
// calibration than the file's.
func Open(ctx context.Context, o Options) (*Robot, error) {
	fam, err := o.check()
	if err != nil {
		return nil, err
	}
	b, err := newBody(o, fam)
	if err != nil {
		return nil, err
	}
	e, err := hosted.Open(ctx, hosted.Options{
		Model: o.Model, Hardware: o.Hardware, Body: b, Traits: b.traits(),
		At: o.At, Within: o.Within, Now: o.Now, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	return &Robot{e}, nil
}
