package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tau-robot/tau/cmd/tau/internal/calibrate"
	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/cmd/tau/internal/fdio"
	"github.com/tau-robot/tau/drivers/feetech"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/private"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
	"github.com/tau-robot/tau/sim"
)

// calibrateFlags are the flags of "calibrate".
type calibrateFlags struct {
	robotFlags
	driver, port, config string
	baud, newID          int

	set func(name string) bool
}

func (a *app) calibrate() *cobra.Command {
	var k calibrateFlags
	c := leaf("calibrate", "Measures an arm on a servo bus by hand and writes its file; torque stays off, nothing moves by itself, and no opt-in is needed", 0,
		func(*cobra.Command, []string) error { return a.runCalibrate(&k) })
	f := c.Flags()
	k.robotFlags.add(f)
	f.StringVar(&k.driver, "driver", "", "feetech or dynamixel")
	f.StringVar(&k.port, "port", "", "device of the servo bus; 'tau robot ports' lists them")
	f.StringVar(&k.config, "config", "", "the robot's file, which is written at the end; an earlier one is kept beside it, and its IDs, limits and guards in it")
	f.IntVar(&k.baud, "baud", 0, "speed of the bus, bit/s (default: the file's, else 1000000)")
	f.IntVar(&k.newID, "new-id", 0, "give the one servo that is connected this ID, and do nothing else")
	k.set = f.Changed
	return c
}

// runCalibrate reads and checks everything before the port is opened.
func (a *app) runCalibrate(k *calibrateFlags) error {
	switch {
	case k.driver != hardware.DriverFeetech && k.driver != hardware.DriverDynamixel:
		return exit.Usagef("robot calibrate --driver %q: want feetech or dynamixel; docs/HARDWARE.md says how a servo without a bus is calibrated", k.driver)
	case k.port == "":
		return exit.Usagef("robot calibrate needs --port, the device of the servo bus")
	case k.set("new-id"):
		return a.newID(k)
	case k.config == "":
		return exit.Usagef("robot calibrate needs --config, the file that it writes")
	case !term.IsTerminal(int(a.in.Fd())) || !term.IsTerminal(int(a.out.Fd())):
		return exit.Usagef("robot calibrate walks a person through it and needs a terminal")
	}
	m, err := k.Model()
	if err != nil {
		return k.wrong(err)
	}
	now := time.Now()
	old, err := earlier(k.config, k.driver, m, now)
	if err != nil {
		return err
	}
	if err := k.speed(old); err != nil {
		return err
	}
	if err := calibrate.Try(k.config); err != nil {
		return exit.Usagef("--config: %w", err) // now, and not at the end of an hour's work
	}
	s, err := calibrate.New(calibrate.Options{
		Model: m, Driver: k.driver, Baud: k.baud, Name: k.config, Old: old, Drop: drop(m), Now: now,
	})
	if err != nil {
		return exit.Usagef("%w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	in, err := fdio.NewReader(a.in)
	if err != nil {
		return exit.Bridgef("%w", err)
	}
	bus := &handBus{o: feetech.CalibratorOptions{Driver: k.driver, Port: k.port, Baud: k.baud}, ids: s.IDs()}
	t := calibrate.Terminal{In: in, Out: a.out, Paint: a.getenv("TERM") != "dumb", Discard: func() { discardTyped(a.in) }}
	err = calibrate.Run(ctx, s, bus, t, func(data []byte) (string, error) { return calibrate.Save(k.config, data, now) })
	interrupted := ctx.Err() != nil
	closed := errors.Join(in.Close(), bus.Close())
	switch {
	case err == nil && closed != nil:
		return exit.Bridgef("%w", closed)
	case err == nil:
		return write(a.out, fmt.Sprintf("Next: tau robot real --session bench --robot %s --driver %s --port %s --config %s\n",
			gate.Escape(k.Name), k.driver, gate.Escape(k.port), gate.Escape(k.config)))
	case interrupted:
		return exit.Silent(exit.Interrupted)
	case robot.CodeOf(err) == robot.CodeCancelled:
		return exit.Callsf("%w", errors.Join(err, closed))
	}
	return exit.Bridgef("%w", errors.Join(err, closed))
}

// newID gives the one servo that is connected another ID: a kit's all have the same.
func (a *app) newID(k *calibrateFlags) error {
	if k.set("config") {
		return exit.Usagef("--new-id does nothing with --config")
	}
	if lo, hi := hardware.Channels(k.driver); k.newID < lo || k.newID > hi {
		return exit.Usagef("--new-id %d: a robot's file takes the IDs %d to %d of %s", k.newID, lo, hi, k.driver)
	}
	if err := k.speed(nil); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	said, err := renumber(ctx, feetech.CalibratorOptions{Driver: k.driver, Port: k.port, Baud: k.baud}, k.newID)
	switch {
	case err == nil:
		return write(a.out, said)
	case ctx.Err() != nil && robot.CodeOf(err) == robot.CodeCancelled:
		return exit.Silent(exit.Interrupted) // before anything was written
	}
	return err
}

// renumber gives the one servo of a line another ID and says so. Nothing is written where
// there isn't one alone, or where it has torque.
func renumber(ctx context.Context, o feetech.CalibratorOptions, to int) (said string, err error) {
	scan := scanOf(o)
	found, err := feetech.Scan(ctx, scan)
	if err == nil && len(found) == 0 { // it may have been given a high one
		scan.All = true
		found, err = feetech.Scan(ctx, scan)
	}
	switch {
	case err != nil:
		return "", exit.Bridgef("%w", err)
	case len(found) == 0:
		return "", exit.Bridgef("no servo answers at %d bit/s: is its supply on (USB alone doesn't power it), is the cable in, the speed right? 'tau robot doctor' tries the other speeds", o.Baud)
	case len(found) > 1:
		return "", exit.Callsf("%d servos answer; connect the one that is to have the ID %d alone", len(found), to)
	}
	d := &found[0]
	switch {
	case d.Shared || !d.Known:
		return "", exit.Callsf("the servo with the ID %d: %s", d.ID, d.Trouble)
	case d.ID == to:
		return fmt.Sprintf("The servo has the ID %d already.\n", to), nil
	case d.Powered:
		return "", exit.Callsf("the servo with the ID %d has torque: switch its supply off and on, which ends that, and try again", d.ID)
	}
	o.IDs = []int{d.ID}
	c, _, err := feetech.OpenCalibrator(ctx, o)
	if err != nil {
		return "", exit.Bridgef("%w", err)
	}
	if err := errors.Join(c.SetID(ctx, d.ID, to), c.Close()); err != nil {
		return "", exit.Bridgef("%w", err)
	}
	return fmt.Sprintf("The servo with the ID %d has the ID %d from now on.\n", d.ID, to), nil
}

// scanOf looks for servos on the line of a calibrator.
func scanOf(o feetech.CalibratorOptions) feetech.ScanOptions {
	s := feetech.ScanOptions{Driver: o.Driver, Port: o.Port, Bauds: []int{o.Baud}}
	if o.Dial != nil {
		s.DialAt = func(ctx context.Context, _ int) (feetech.Port, error) { return o.Dial(ctx) }
	}
	return s
}

// servosOf are the servos of a line: those with the IDs that arms come with as a kit, and
// of ids, which are to be there, the others.
func servosOf(ctx context.Context, o feetech.ScanOptions, ids []int) ([]feetech.Device, error) {
	found, err := feetech.Scan(ctx, o)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(found, func(d feetech.Device) bool { return d.ID == id }) {
			o.IDs = append(o.IDs, id)
		}
	}
	if len(o.IDs) == 0 {
		return found, nil
	}
	more, err := feetech.Scan(ctx, o)
	found = append(found, more...)
	slices.SortFunc(found, func(a, b feetech.Device) int { return a.ID - b.ID })
	return found, err
}

// earlier reads the file that is there, nil if none is. One that can't be read whole isn't
// replaced by one that knows nothing of it.
func earlier(path, driver string, m *robot.Model, now time.Time) (*hardware.File, error) {
	data, err := private.ReadTrusted(path, hardware.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, exit.Usagef("--config: %w", err)
	}
	const away = "move it away to begin without it"
	if is, err := hardware.DriverOf(path, data); err == nil && is != "" && is != driver {
		return nil, exit.Filef("", "--config: %s is for the driver %q, and --driver is %q; %s", path, is, driver, away)
	}
	f, err := hardware.Parse(path, data, m, now)
	if err != nil {
		return nil, exit.Filef("", "--config: %w; %s", err, away)
	}
	return f, nil
}

// speed settles the bus's speed: what the flag says, else the earlier file, else the
// driver's own.
func (k *calibrateFlags) speed(old *hardware.File) error {
	bauds := hardware.Bauds(k.driver)
	switch {
	case k.set("baud") && !slices.Contains(bauds, k.baud):
		return exit.Usagef("--baud %d: want one of %v", k.baud, bauds)
	case k.set("baud"):
	case old != nil:
		k.baud = old.Baud
	default:
		k.baud = bauds[0]
	}
	return nil
}

// drop says how far the arm falls without torque, as the simulator has it, from its home;
// "" where that can't be said.
func drop(m *robot.Model) string {
	r, err := sim.NewRehearser(m, &robot.Scene{}, 1, sim.RehearserOptions{})
	if err != nil {
		return ""
	}
	sag, err := r.RehearseOff(context.Background(), robot.State{Positions: slices.Clone(m.Home), Setpoints: slices.Clone(m.Home), Enabled: true})
	if err != nil {
		return ""
	}
	if d := sag.Tip[0][2] - sag.Tip[1][2]; d > 0.001 {
		return fmt.Sprintf("From its home the tool falls by %.2f m within %.1f s, in %s; from where it is, perhaps by more.", d, sag.Duration, sag.Simulator)
	}
	return "From its home nothing falls, in " + sag.Simulator + "; from where it is, perhaps it does."
}

// handBus is a servo bus whose servos are moved by hand. It is opened by Scan.
type handBus struct {
	o   feetech.CalibratorOptions
	ids []int
	c   *feetech.Calibrator
}

var _ calibrate.Bus = (*handBus)(nil)

// Scan finds the servos, and opens the line to those of the arm alone: nothing else of the
// bus is touched. Where it can't be measured as it is, what was found says why.
func (b *handBus) Scan(ctx context.Context) ([]calibrate.Found, error) {
	devices, err := servosOf(ctx, scanOf(b.o), b.ids)
	if err != nil {
		return nil, err
	}
	found, whole := make([]calibrate.Found, len(devices)), 0
	for i, d := range devices {
		found[i] = calibrate.Found{ID: d.ID, Model: d.Model, Firmware: d.Firmware, Offset: d.Offset, Low: d.Low, High: d.High, Powered: d.Powered, Trouble: d.Trouble, Clash: d.Shared}
		if d.Trouble == "" && slices.Contains(b.ids, d.ID) {
			whole++
		}
	}
	if whole < len(b.ids) {
		return found, nil
	}
	o := b.o
	o.IDs = b.ids
	b.c, _, err = feetech.OpenCalibrator(ctx, o)
	return found, err
}

// Read reads where the servos are.
func (b *handBus) Read(_ context.Context, ids []int, into []calibrate.Reading) error {
	rs, err := b.c.Ticks()
	if err != nil {
		return err
	}
	for i, id := range ids {
		k := slices.IndexFunc(rs, func(r feetech.Reading) bool { return r.ID == id })
		if k < 0 {
			into[i] = calibrate.Reading{Err: robot.Errf(robot.CodeDisconnected, fmt.Sprintf("ID %d", id), "it wasn't found")}
			continue
		}
		into[i] = calibrate.Reading{Ticks: rs[k].Ticks, Powered: rs[k].Powered, Err: rs[k].Err}
	}
	return nil
}

// PowerOff takes the torque of all servos away.
func (b *handBus) PowerOff(context.Context, []int) error { return b.c.Release() }

// SetOffset writes an offset; the driver has read it back.
func (b *handBus) SetOffset(_ context.Context, id, ticks int) (int, error) {
	return ticks, b.c.SetOffset(id, ticks)
}

// SetLimits writes the bounds of a servo's goals; the driver reads them back.
func (b *handBus) SetLimits(_ context.Context, id, low, high int) error {
	return b.c.SetLimits(id, low, high)
}

// Close gives the line back, if it was opened.
func (b *handBus) Close() error {
	if b.c == nil {
		return nil
	}
	return b.c.Close()
}
