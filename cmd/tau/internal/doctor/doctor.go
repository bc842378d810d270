package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tau-robot/tau/drivers/port"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// Level says how bad a finding is.
type Level string

// The levels.
const (
	Good Level = "ok"      // it was looked at, and nothing is wrong
	Note Level = "note"    // not wrong, and worth knowing
	Bad  Level = "problem" // what keeps the robot from being driven, or driven well
)

// Finding is what one check came to.
type Finding struct {
	Level Level  `json:"level"`
	Check string `json:"check"` // "port", "permission", "busy", "latency", …
	Text  string `json:"text"`
	Do    string `json:"do,omitempty"` // what to do about it
}

// Servo is a servo of a bus as it says of itself.
type Servo struct {
	ID          int
	Shared      bool // two may have this ID
	Model       string
	Known       bool
	Firmware    string
	Offset      int // ticks, as hardware.Joint.Offset
	Low, High   int // ticks, its own bounds
	Voltage     float64
	Temperature float64
	Powered     bool
	Trouble     string // why the driver wouldn't move it as it is set up; ""
}

// Bus asks the servos of a line at one speed, with pings and reads alone. It opens the
// port and closes it again. IDs are looked for beside those that arms come with.
type Bus func(ctx context.Context, baud int, ids []int) ([]Servo, error)

// Machine is what is known of this computer, without opening a port.
type Machine interface {
	// Ports lists the serial ports.
	Ports() ([]port.Info, error)
	// Device looks at a path: what it is, and whether this user may use it.
	Device(path string) Device
	// Latency is how long a USB adapter waits for more bytes, ms; false: it has no such timer.
	Latency(path string) (ms int, ok bool)
	// ModemManager reports that it runs, and that it leaves the port alone.
	ModemManager(path string) (runs, ignores bool)
	// User is who runs this.
	User() string
}

// Device is a path that may be a port.
type Device struct {
	Exists, Serial bool
	Allowed        bool   // this user may read and write it
	Group          string // that it belongs to
	GroupMay       bool   // the group may read and write it
	InGroup        bool   // this user is in the group, in this login or only by the list
	Holders        []port.Holder
}

// Options say what is examined.
type Options struct {
	Port, Driver string // "" where none is named
	// File is the robot's, nil where none was named or it is wrong; FileErr then says how.
	File    *hardware.File
	FileErr error
	Name    string // of the file
	Machine Machine
	Bus     Bus // nil where the driver has no bus
	Now     time.Time
}

// Examine makes all checks that can be made, in the order in which somebody would: the
// port before what is behind it. It blocks for seconds where a bus is silent, and ends with ctx.
func Examine(ctx context.Context, o Options) []Finding {
	var out []Finding
	if o.Name != "" {
		out = append(out, checkFile(o.Name, o.File, o.FileErr, o.Driver, o.Now)...)
	}
	if o.Port == "" {
		ports, err := o.Machine.Ports()
		out = append(out, checkPorts(ports, err, o.Machine)...)
		if len(ports) > 0 {
			out = append(out, Finding{Note, "devices", "nothing was asked: without --port and --driver it isn't known what is where", "name them, as in --port " + ports[0].Path + " --driver feetech"})
		}
		return out
	}
	d := o.Machine.Device(o.Port)
	found := checkDevice(o.Port, d, o.Machine.User())
	out = append(out, found...)
	if d.Exists {
		out = append(out, about(o)...)
	}
	switch {
	case bad(found):
	case o.Bus != nil:
		out = append(out, examineBus(ctx, o)...)
	case o.Driver == "":
		out = append(out, Finding{Note, "devices", "nothing was asked: without --driver it isn't known what is at the port", "name it, as in --driver feetech"})
	default:
		out = append(out, Finding{Note, "devices", "the board wasn't asked: opening its port may reset it, and what it holds drops", "'tau robot real' asks it, and says what is wrong"})
	}
	return out
}

// about are the checks of a port by what is known of it; of one that isn't listed that is
// its name.
func about(o Options) (out []Finding) {
	p := port.Info{Path: o.Port}
	if ports, err := o.Machine.Ports(); err == nil {
		if i := slices.IndexFunc(ports, func(p port.Info) bool { return p.Path == o.Port || p.ByID == o.Port }); i >= 0 {
			p = ports[i]
		}
	}
	// By the device's own name: what is to be done is spelled with it, and not with a link's.
	ms, timed := o.Machine.Latency(p.Path)
	out = append(checkLatency(p.Path, ms, timed), checkBoard(p)...)
	if p.USB() {
		out = append(out, checkModemManager(p, o.Machine)...)
	}
	return out
}

func checkModemManager(p port.Info, m Machine) []Finding {
	runs, ignores := m.ModemManager(p.Path)
	if !runs || ignores {
		return nil
	}
	return []Finding{modemManager(p.Path)}
}

func bad(fs []Finding) bool {
	for _, f := range fs {
		if f.Level == Bad {
			return true
		}
	}
	return false
}

// Healthy reports that nothing is wrong.
func Healthy(fs []Finding) bool { return !bad(fs) }

// textOf is an error without its code, which says nothing to a person.
func textOf(err error) string {
	var e *robot.Error
	if errors.As(err, &e) {
		where := ""
		if e.Where != "" {
			where = e.Where + ": "
		}
		return where + e.Text
	}
	return fmt.Sprint(err)
}
