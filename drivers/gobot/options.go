package gobot

import (
	"context"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tau-robot/tau/drivers/hosted"
	"github.com/tau-robot/tau/drivers/port"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// Version names what this driver does with a motion; it changes when the same motion
// leads to other bytes.
const Version = "tau-gobot/1"

// Options are what a Robot is made from.
type Options struct {
	Model    *robot.Model
	Hardware *hardware.File
	// Port names the line in Info and in errors. Dial opens it, within ctx; it is called
	// again whenever the line was lost, until Close, never twice at once. nil: Port is a
	// serial device, which drivers/port opens for this process alone. A computer's own
	// pins have neither.
	Port string
	Dial func(ctx context.Context) (Port, error)
	// Pins makes the library's adaptor of this computer's own pins, unconnected, whenever
	// they are connected; nil: the one that the file's adaptor names.
	Pins func() (Pins, error)
	// At is where the operator says that the joints are, as hosted.Options has it.
	At []float64
	// Within is how long Open may take; 0: hosted.OpenWithin.
	Within time.Duration
	Now    func() time.Time // as hosted.Options has it
	Log    *slog.Logger     // nil: nothing is logged
	// ResetOnOpen resets the board when its serial device is opened for the first time,
	// as port.Options has it. All of a stock board's joints lose their power by that.
	ResetOnOpen bool
}

// The times of a control period.
const (
	// period is a hobby servo's own: it takes a new pulse every 20 ms.
	period = 20 * time.Millisecond
	// exchange is how long one takes in which nothing goes wrong: 20 bytes of the line
	// each way, and 19 ms of analogue inputs, which a board reads in one go.
	exchange = 50 * time.Millisecond
	// lag is by how much a hobby servo is behind its pulse, and the report of its position
	// behind that.
	lag = 100 * time.Millisecond
)

// The line's load.
const (
	bitsPerByte = 10 // 8N1
	mostLoad    = 0.7
)

// check completes the options, or says what is wrong with them.
func (o *Options) check() error {
	switch {
	case o.Model == nil || o.Hardware == nil:
		return robot.Errf(robot.CodeInvalidArgument, "gobot", "a robot needs its model and its file")
	case len(o.Hardware.Joints) != o.Model.DoF() || len(o.Hardware.Outputs) != len(o.Model.Actuators):
		return robot.Errf(robot.CodeInvalidArgument, o.Hardware.Name, "the file is about another robot than %q", o.Model.Name)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Dial == nil {
		o.Dial = serial(port.Options{Path: o.Port, Baud: baud(o.Hardware), ResetOnOpen: o.ResetOnOpen})
	}
	for i := range o.Hardware.Joints {
		if j := &o.Hardware.Joints[i]; j.Kind != hardware.Servo {
			return robot.Errf(robot.CodeNotSupported, j.Name, "this driver moves hobby servos, and the joint has a %s", j.Kind)
		}
	}
	return o.outputs()
}

// outputs refuses what nothing would switch off once this program is gone.
func (o *Options) outputs() error {
	for i := range o.Hardware.Outputs {
		out, a := &o.Hardware.Outputs[i], &o.Model.Actuators[i]
		if a.OnLost != "unchanged" {
			return robot.Errf(robot.CodeNotSupported, a.Name, "it is declared to be %q when the link is lost, and this hardware has no watchdog that does so; use a board with this project's firmware (driver mcu), or declare on_lost_link: unchanged where that is safe", a.OnLost)
		}
		if !steady(a.Kind) {
			return robot.Errf(robot.CodeNotSupported, a.Name, "a %s may go on when the link is lost, and this hardware has no watchdog that stops it; of the kinds %s that is known to do no harm; use a board with this project's firmware (driver mcu) for others",
				a.Kind, strings.Join(steadyKinds(), ", "))
		}
		most := 1.0
		switch {
		case out.Via != "":
			most = maxCounts
		case out.PWM:
			most = maxDuty
		}
		if v := math.Round(a.Upper * out.Scale); v > most || v < 1 {
			return robot.LimitErr(robot.CodeInvalidArgument, a.Name, v, most, "", "its largest value is nothing that the output can be set to; correct the scale")
		}
		if a.Lower < 0 {
			return robot.LimitErr(robot.CodeInvalidArgument, a.Name, a.Lower, 0, a.Unit, "an output has no values below 0")
		}
	}
	return nil
}

// steadyKinds are the kinds of actuators that do no more the longer they are on. A kind is a
// free word, so that whatever isn't among them counts as a motor.
func steadyKinds() []string { return []string{"led", "lamp", "light", "indicator", "relay"} }

func steady(kind string) bool { return slices.Contains(steadyKinds(), kind) }

// Robot is a robot whose servos an Arduino with stock firmware, or this computer's own
// pins, move.
type Robot struct{ *hosted.Engine }

var _ robot.Backend = (*Robot)(nil)

// Open connects the hardware and holds it against the file. It blocks for at most
// Options.Within, or until ctx ends. Nothing moves, the robot starts disabled, and after an
// error nothing is open.
func Open(ctx context.Context, o Options) (*Robot, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	every, open, err := o.rig()
	if err != nil {
		return nil, err
	}
	t := hosted.Traits{
		Backend: "gobot", Version: Version, Device: o.Port,
		Period: every, ReadEvery: 1, Exchange: exchange, Lag: lag,
	}
	if t.Device == "" {
		t.Device = o.Hardware.Adaptor
	}
	for i := range o.Hardware.Joints {
		t.Measured = append(t.Measured, o.Hardware.Joints[i].Feedback == hardware.ADC)
	}
	e, err := hosted.Open(ctx, hosted.Options{
		Model: o.Model, Hardware: o.Hardware, Body: newBody(o.Hardware, open), Traits: t,
		At: o.At, Within: o.Within, Now: o.Now, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	return &Robot{e}, nil
}

// rig says how often the hardware gets setpoints, and how it is connected.
func (o *Options) rig() (time.Duration, func(context.Context) (rig, error), error) {
	f := o.Hardware
	chips, err := newChips(f)
	if err != nil {
		return 0, nil, err
	}
	switch f.Adaptor {
	case hardware.AdaptorFirmata, "":
		if _, err := firmataRules(f, chips); err != nil {
			return 0, nil, err
		}
		every, err := pace(f)
		asked := &hellos{}
		return every, func(ctx context.Context) (rig, error) {
			p, err := o.Dial(ctx)
			if err != nil {
				asked.replugged()
				return nil, err
			}
			return connectFirmata(ctx, p, f, asked, o.Log)
		}, err
	}
	return o.computer()
}

// baud is the line's speed, bit/s: the file's, or StandardFirmata's own.
func baud(f *hardware.File) int {
	if f.Baud == 0 {
		return 57600
	}
	return f.Baud
}

// pace is how often a board's line has room for the setpoints of all joints, and for the
// question and answer that go with them: each control period or every second one.
func pace(f *hardware.File) (time.Duration, error) {
	bytes := 4 + 8 // the state of a pin
	for i := range f.Joints {
		j := &f.Joints[i]
		switch {
		case j.Via != "":
			bytes += 15
		case j.Channel > mostAnalogMessagePin:
			bytes += 6
		default:
			bytes += 3
		}
		if j.Feedback == hardware.ADC {
			bytes += 3
		}
	}
	if len(f.Chips) > 0 {
		bytes += 2 * (7 + 8 + 16) // two registers of a chip instead
	}
	takes := time.Duration(float64(bytes*bitsPerByte) / mostLoad / float64(baud(f)) * float64(time.Second))
	for every := period; every <= hosted.LongestPeriod; every += period {
		if takes <= every {
			return every, nil
		}
	}
	return 0, robot.LimitErr(robot.CodeInvalidArgument, f.Name, takes.Seconds(), hosted.LongestPeriod.Seconds(), "s",
		"the line is too slow for the setpoints of that many joints; use a board and a baud rate that are faster")
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
