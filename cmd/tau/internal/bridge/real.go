package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/gate/words"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// Real is the one real robot of a bridge, and the consent that Setup.Session may move
// it. Setup.Model has the limits of its file (hardware.File.Tightened).
type Real struct {
	Driver, Port string
	File         *hardware.File
	For          time.Duration // how long the opt-in of Setup.Session lasts; 0: robot.DefaultOptIn
	// Open opens the driver. It may block until ctx ends. An error leaves nothing open.
	Open func(ctx context.Context, log *slog.Logger) (robot.Backend, error)
}

// openWait bounds how long a driver may take to open its port and find its board.
const openWait = 30 * time.Second

// realRobot is the real robot of a running bridge.
type realRobot struct {
	Real
	model   *robot.Model
	info    robot.Info
	backend robot.Backend // as it was opened; what moves it is an optedIn around it
	config  [32]byte      // over all that says how it is moved
}

// openReal opens the driver and holds what it says of itself against what was asked
// for: a driver that moves another robot, or by another file, moves none.
func openReal(s *Setup, log *slog.Logger) (*realRobot, error) {
	r := &realRobot{Real: *s.Real, model: s.Model}
	ctx, cancel := context.WithTimeout(context.Background(), openWait)
	defer cancel()
	var err error
	if r.backend, err = r.Open(ctx, log); err != nil {
		return nil, notOpened(err)
	}
	r.info = r.backend.Info()
	if err := r.check(); err != nil {
		return nil, errors.Join(err, r.backend.Close())
	}
	r.config = r.configuration()
	return r, nil
}

// notOpened gives an error about the port or the board its exit status: what the command
// line names wrongly is a usage error that says where to look.
func notOpened(err error) error {
	var e *robot.Error
	switch {
	case !errors.As(err, &e) || e.Code != robot.CodeInvalidArgument:
		return err
	case strings.HasPrefix(e.Where, "port "):
		return exit.Filef("tau robot ports", "--port: %w", err)
	}
	return exit.Filef("tau robot real --help", "%w", err)
}

func (r *realRobot) check() error {
	i := r.info
	bad := func(format string, args ...any) error {
		return robot.Errf(robot.CodeInternal, "driver "+r.Driver, format, args...)
	}
	switch {
	case i.Mode != robot.ModeReal:
		return bad("it says that its mode is %q, not %q", i.Mode, robot.ModeReal)
	case i.Backend != r.Driver:
		return bad("it calls itself %q", i.Backend)
	case i.Robot != r.model.Name:
		return bad("it moves the robot %q, not %q", i.Robot, r.model.Name)
	case !slices.Equal(i.Joints, r.model.JointNames()):
		return bad("it moves the joints %v, the robot has %v", i.Joints, r.model.JointNames())
	case i.Calibration != r.File.Hash():
		return bad("it doesn't move by the file %s", r.File.Name)
	}
	return nil
}

// configuration is a hash over robot, limits, file, driver and port: a pending request
// of an earlier run is only shown again for the same one (G47).
func (r *realRobot) configuration() [32]byte {
	b := []byte("tau robot real configuration 1\x00")
	b = append(b, r.model.ModelHash[:]...)
	b = append(b, r.info.Identity[:]...)
	b = append(b, r.info.Calibration[:]...)
	for _, s := range []string{r.info.Robot, r.Driver, r.Port} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	return sha256.Sum256(b)
}

// consent is what a session says of its opt-in, in each digest and row: who, to what.
// It says the same of another opt-in of the same person to the same thing.
func (r *realRobot) consent(principal string) string {
	return fmt.Sprintf("%s: robot %s, driver %s, port %s, calibrated %s, configuration %s",
		principal, r.info.Robot, r.Driver, r.Port, r.File.Calibrated.Format(time.DateOnly), hex.EncodeToString(r.config[:]))
}

// describe is what a person is told of the robot before an opt-in: which, by what,
// where, how it was calibrated and within which limits. The lines don't depend on when
// they are made, except for the age of the calibration.
func (r *realRobot) describe(l words.Lang, now time.Time) []control.Line {
	calibrated := r.File.Calibrated.Format(time.DateOnly)
	if old := r.File.Stale(now); old != "" {
		calibrated += " (" + l.OptInStale() + ")"
	}
	hash := r.File.Hash()
	lines := []control.Line{
		{Label: l.OptInRobot(), Text: r.info.Robot},
		{Label: l.OptInDriver(), Text: r.Driver},
		{Label: l.OptInPort(), Text: r.Port},
		{Label: l.OptInCalibrated(), Text: calibrated + ", " + r.File.Name + ", " + hex.EncodeToString(hash[:])},
	}
	lines = append(lines, r.means(l)...)
	for i := range r.File.Joints {
		lines = append(lines, control.Line{Label: l.OptInLimits(), Text: r.joint(l, i)})
	}
	for i := range r.File.Outputs {
		o, a := &r.File.Outputs[i], r.model.Actuators[i]
		lines = append(lines, control.Line{Label: l.OptInOutput(), Text: fmt.Sprintf("%s %g .. %g (%s), %s", o.Actuator, a.Lower, a.Upper, a.Unit, r.place(l, o.Channel, o.Via))})
	}
	if len(r.File.Absent) > 0 {
		lines = append(lines, control.Line{Label: l.OptInAbsent(), Text: strings.Join(r.File.Absent, ", ")})
	}
	estop := l.OptInPowerStays()
	if r.File.EStopPowersOff {
		estop = l.OptInPowerGoes()
	}
	lost := l.OptInPowerStays()
	if r.File.LostLinkPowersOff {
		lost = l.OptInPowerGoes()
	}
	lines = append(lines,
		control.Line{Label: l.OptInEStop(), Text: estop},
		control.Line{Label: l.OptInLost(), Text: lost})
	if r.hosted() {
		text := l.OptInGoesOn()
		if alone := r.info.Watchdog; alone > 0 {
			text = l.OptInStopsItself(strconv.FormatFloat(alone.Seconds(), 'g', -1, 64))
		}
		lines = append(lines, control.Line{Label: l.OptInIfItDies(), Text: text})
	}
	return append(lines,
		control.Line{Label: l.OptInConfiguration(), Text: hex.EncodeToString(r.config[:])})
}

func (r *realRobot) joint(l words.Lang, i int) string {
	j, unit := &r.File.Joints[i], r.model.Joints[r.model.Active[i]].Type.Unit()
	text := fmt.Sprintf("%s %.4g .. %.4g %s, %.4g %s/s, %.4g %s/s², %s", j.Name, j.Lower, j.Upper, unit, j.Velocity, unit,
		j.Acceleration, unit, r.place(l, j.Channel, j.Via))
	if j.Kind == hardware.BusServo {
		text += ", " + guards(l, j)
	}
	if len(r.File.Limits(r.model)[i].Assumed) > 0 {
		text += ", " + l.OptInAssumed(strings.Join(r.File.Limits(r.model)[i].Assumed, ", "))
	}
	if r.info.IsOpenLoop(i) {
		text += ", " + l.OptInOpenLoop()
	}
	return text
}

// place says where something is connected: which channel of our own board, which servo of a
// bus, which pin of another board, which channel of a chip on it.
func (r *realRobot) place(l words.Lang, n int, via string) string {
	switch {
	case via != "":
		return fmt.Sprintf("%s %d %s", l.OptInChannel(), n, l.OptInOnChip(via))
	case r.Driver == hardware.DriverFeetech, r.Driver == hardware.DriverDynamixel:
		return fmt.Sprintf("%s %d", l.OptInBusID(), n)
	case r.Driver == hardware.DriverGobot:
		return fmt.Sprintf("%s %d", l.OptInPin(), n)
	}
	return fmt.Sprintf("%s %d", l.OptInChannel(), n)
}

// guards say how strong a bus servo may be, and where its motion ends by itself.
func guards(l words.Lang, j *hardware.Joint) string {
	text := l.OptInTorque(strconv.FormatFloat(100*j.TorqueLimit, 'g', 4, 64))
	if j.MaxCurrent > 0 {
		text += ", " + l.OptInEnds(fmt.Sprintf("%g A", j.MaxCurrent))
	}
	if j.MaxTemperature > 0 {
		text += ", " + l.OptInEnds(fmt.Sprintf("%g °C", j.MaxTemperature))
	}
	return text
}

// hosted reports hardware that takes one setpoint after another and has no brake.
func (r *realRobot) hosted() bool { return r.Driver != hardware.DriverMCU }

// means are by what the joints are reached, beside the port.
func (r *realRobot) means(l words.Lang) (out []control.Line) {
	f := r.File
	if f.Adaptor != "" {
		out = append(out, control.Line{Label: l.OptInAdaptor(), Text: f.Adaptor})
	}
	if f.MinVoltage > 0 || f.MaxVoltage > 0 {
		text := fmt.Sprintf("%g .. %g V", f.MinVoltage, f.MaxVoltage)
		if f.MaxVoltage == 0 {
			text = fmt.Sprintf("%g V ..", f.MinVoltage)
		}
		out = append(out, control.Line{Label: l.OptInSupply(), Text: text})
	}
	for i := range f.Chips {
		c := &f.Chips[i]
		out = append(out, control.Line{Label: l.OptInChip(), Text: fmt.Sprintf("%s: %s, I2C %d, %#x, %g Hz", c.Name, c.Kind, c.Bus, c.Address, c.Frequency)})
	}
	return out
}

// optInData is the data of an opt-in's event.
type optInData struct {
	Robot         string              `json:"robot"`
	Driver        string              `json:"driver"`
	Port          string              `json:"port"`
	File          string              `json:"file"`
	Calibrated    string              `json:"calibrated"`
	Calibration   string              `json:"calibration"`   // SHA-256 over the file's content
	Configuration string              `json:"configuration"` // over all that says how it is moved
	Joints        []string            `json:"joints"`
	Limits        []robot.JointLimits `json:"limits"`
	Principal     string              `json:"principal"`
	Granted       time.Time           `json:"granted"`
	Expires       time.Time           `json:"expires"`
}

func (r *realRobot) event(o robot.OptIn) (json.RawMessage, error) {
	return json.Marshal(optInData{
		Robot: r.info.Robot, Driver: r.Driver, Port: r.Port, File: r.File.Name,
		Calibrated: r.File.Calibrated.Format(time.DateOnly), Calibration: hexHash(r.File.Hash()), Configuration: hexHash(r.config),
		Joints: r.info.Joints, Limits: r.model.Limits, Principal: o.Principal, Granted: o.Granted, Expires: o.Expires,
	})
}

func hexHash(h [32]byte) string { return hex.EncodeToString(h[:]) }

// ShownParam is the parameter of a signed opt-in that says what its signer was shown.
const ShownParam = "shown"

// ShownOptIn is the hash over what was shown of a robot before an opt-in was signed, so
// that a program between the person and the bridge can't show another robot.
func ShownOptIn(lines []control.Line) string {
	b := []byte("tau-shown-optin-1")
	for _, l := range lines {
		for _, s := range []string{l.Label, l.Text} {
			b = append(b, strconv.Itoa(len(s))...)
			b = append(append(append(b, ':'), s...), ',')
		}
	}
	return hexHash(sha256.Sum256(b))
}
