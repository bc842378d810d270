package hosted_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tau-robot/tau/drivers/hosted"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// tick is what the device's encoders resolve, rad.
const tick = 2 * math.Pi / 4096

// device is a row of servos that aren't there, in the time of the clock, which in a
// bubble is simulated: each goes to its goal as a first-order system while it has torque.
// What goes wrong with it is told to its fields, under mu.
type device struct {
	wrong    func(format string, args ...any) // what should never happen has happened
	measured []bool
	lag      time.Duration
	// What an exchange takes.
	reads, writes, switches time.Duration

	mu      sync.Mutex
	at      time.Time
	q, goal []float64
	last    []float64 // where each joint was when it was read last
	sag     []float64 // how far from its goal a joint stands under its load
	power   []bool
	lamps   []float64

	unplugged bool
	inUse     bool
	restarted bool
	silent    []bool // doesn't answer a read
	stuck     []bool // can't be moved
	deaf      []bool // takes no setpoint
	foreign   []bool // holds what another master told it last
	refuses   []bool // takes no torque
	clings    []bool // keeps its torque
	complains []robot.Fault
	garbage   func(*hosted.Sample)
	hang      map[string]bool // methods that don't return until disconnected
	spell     map[string]bool // nor then
	broken    map[string]error
	delay     map[string]time.Duration // the next call of it takes so much longer
	once      map[string]func()        // called as the next call of it begins
	confirm   robot.Tri
	tells     bool // says of its own setpoints
	effort    func(joint int) float64
	jaw       int       // the joint that closes downwards on something, -1: none
	between   float64   // where that is
	said      []float64 // velocities that it says it measures
	breaks    chan struct{}

	approved bool // torque was switched on, and not off
	log      []written
	calls    map[string]int
	switched []bool // each PowerOn and PowerOff
	sets     []float64
}

// written is a setpoint that was written.
type written struct {
	at       time.Time
	q        []float64
	from     []float64 // what the servos held before
	approved bool      // torque was switched on, and not off
	power    []bool
	foreign  []bool // joints that didn't take it, or held what another master had told them
}

func newDevice(t testing.TB, measured []bool, lamps int, at []float64) *device {
	n := len(measured)
	d := &device{
		wrong: t.Errorf, measured: measured, lag: 30 * time.Millisecond,
		reads: 2 * time.Millisecond, writes: 500 * time.Microsecond, switches: 20 * time.Millisecond,
		at: time.Now(), q: slices.Clone(at), goal: slices.Clone(at), last: slices.Clone(at), sag: make([]float64, n), power: make([]bool, n), lamps: make([]float64, lamps),
		silent: make([]bool, n), stuck: make([]bool, n), deaf: make([]bool, n), foreign: make([]bool, n), refuses: make([]bool, n), clings: make([]bool, n),
		hang: map[string]bool{}, spell: map[string]bool{}, broken: map[string]error{}, delay: map[string]time.Duration{}, once: map[string]func(){},
		confirm: robot.Yes, tells: true, jaw: -1, calls: map[string]int{}, breaks: make(chan struct{}),
	}
	return d
}

// pass moves the servos to where they are now; d.mu is held.
func (d *device) pass() {
	now := time.Now()
	part := 1 - math.Exp(-now.Sub(d.at).Seconds()/d.lag.Seconds())
	d.at = now
	for i := range d.q {
		if d.power[i] && !d.stuck[i] {
			d.q[i] += part * (d.goal[i] - d.sag[i] - d.q[i])
			if i == d.jaw {
				d.q[i] = math.Max(d.q[i], d.between)
			}
		}
	}
}

// do changes something of the device.
func (d *device) do(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pass()
	change()
}

// where is where the joints really are.
func (d *device) where() []float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pass()
	return slices.Clone(d.q)
}

// goals is what the servos hold, torque which of them has it.
func (d *device) goals() (out []float64) {
	d.do(func() { out = slices.Clone(d.goal) })
	return out
}

func (d *device) torque() (out []bool) {
	d.do(func() { out = slices.Clone(d.power) })
	return out
}

// used reports whether somebody has the device.
func (d *device) used() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.inUse
}

// writings is what was written so far.
func (d *device) writings() []written {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.log)
}

// count is how often a method was called.
func (d *device) count(method string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[method]
}

// unplug cuts the link, replug allows a new one.
func (d *device) unplug() {
	d.do(func() { d.unplugged = true; close(d.breaks); d.breaks = make(chan struct{}) })
}
func (d *device) replug() { d.do(func() { d.unplugged = false }) }

// restart is a moment without power: all that was told is forgotten.
func (d *device) restart() {
	d.do(func() {
		d.restarted = true
		for i := range d.power {
			d.power[i], d.goal[i] = false, d.q[i]
		}
		clear(d.lamps)
	})
}

var (
	errGone   = robot.Errf(robot.CodeDisconnected, "fake", "the device is gone")
	errSilent = robot.Errf(robot.CodeLinkTimeout, "fake", "it doesn't answer")
)

// body is a link to the device.
type body struct {
	d    *device
	mu   sync.Mutex
	open chan struct{} // closed by Disconnect; nil: not connected
	busy string        // the method that runs; under device.mu
}

var _ hosted.Body = (*body)(nil)

// call is an exchange that takes so long; what it does is done at its end.
func (b *body) call(ctx context.Context, name string, takes time.Duration, do func() error) error {
	d := b.d
	b.mu.Lock()
	open := b.open
	b.mu.Unlock()
	d.mu.Lock()
	d.calls[name]++
	if b.busy != "" {
		d.wrong("%s was called while %s ran: the line has two masters", name, b.busy)
	}
	b.busy = name
	hang, spell, failed, breaks, begins := d.hang[name], d.spell[name], d.broken[name], d.breaks, d.once[name]
	takes += d.delay[name]
	delete(d.delay, name)
	delete(d.once, name)
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		b.busy = ""
		d.mu.Unlock()
	}()
	if begins != nil {
		begins()
	}
	if name != "connect" && open == nil {
		return errGone
	}
	wait := time.NewTimer(takes)
	defer wait.Stop()
	switch {
	case spell:
		time.Sleep(time.Minute)
		return errGone
	case hang && open != nil:
		<-open
		return errGone
	case hang:
		b.mu.Lock()
		b.open = make(chan struct{})
		open = b.open
		b.mu.Unlock()
		<-open
		return errGone
	}
	select {
	case <-wait.C:
	case <-ctx.Done():
		return errGone
	case <-open: // a nil one while connecting
		return errGone
	case <-breaks:
		return errGone
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.unplugged {
		return errGone
	}
	d.pass()
	err := do()
	if failed != nil {
		return failed
	}
	return err
}

func (b *body) Connect(ctx context.Context) error {
	return b.call(ctx, "connect", b.d.switches, func() error {
		if b.d.inUse {
			return robot.Errf(robot.CodeBusy, "fake", "another process has the line")
		}
		if err := b.d.broken["connect"]; err != nil {
			return err
		}
		b.mu.Lock()
		b.open = make(chan struct{})
		b.mu.Unlock()
		b.d.inUse = true
		return nil
	})
}

func (b *body) Disconnect() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	b.d.calls["disconnect"]++
	if b.open == nil {
		return nil
	}
	close(b.open)
	b.open = nil
	b.d.inUse = false
	return b.d.broken["disconnect"]
}

func (b *body) Read(ctx context.Context, s *hosted.Sample) error {
	began := time.Now()
	return b.call(ctx, "read", b.d.reads, func() error {
		d := b.d
		s.At = began
		all := true
		for i := range s.Joints {
			j := &s.Joints[i]
			if d.silent[i] {
				j.Err = errSilent
				continue
			}
			all = false
			if d.last[i] = d.q[i]; d.measured[i] {
				j.Position = math.Round(d.q[i]/tick) * tick
			}
			if d.effort != nil {
				j.Effort = d.effort(i)
			}
			if d.said != nil {
				j.Velocity = d.said[i]
			}
			j.Powered = d.power[i]
			if d.tells && d.measured[i] {
				j.Setpoint = math.Round(d.goal[i]/tick) * tick
			}
		}
		s.Faults = append(s.Faults, d.complains...)
		s.Restarted, d.restarted = d.restarted, false
		if d.garbage != nil {
			d.garbage(s)
		}
		if all {
			return robot.Errf(robot.CodeStaleState, "fake", "nobody answers")
		}
		return nil
	})
}

func (b *body) Write(ctx context.Context, q []float64) error {
	q = slices.Clone(q)
	return b.call(ctx, "write", b.d.writes, func() error {
		d := b.d
		d.log = append(d.log, written{time.Now(), q, slices.Clone(d.goal), d.approved, slices.Clone(d.power), slices.Clone(d.foreign)})
		for i := range q {
			if d.deaf[i] {
				d.log[len(d.log)-1].foreign[i] = true
			} else {
				d.goal[i], d.foreign[i] = q[i], false
			}
		}
		return nil
	})
}

func (b *body) Confirm(ctx context.Context, q []float64) (robot.Tri, error) {
	got := b.d.confirm
	err := b.call(ctx, "confirm", b.d.reads, func() error {
		for i := range q {
			if math.Abs(q[i]-b.d.goal[i]) > tick && got == robot.Yes {
				got = robot.No
			}
		}
		return nil
	})
	return got, err
}

func (b *body) PowerOn(ctx context.Context, q []float64) error {
	q = slices.Clone(q)
	return b.call(ctx, "power on", b.d.switches, func() error {
		d := b.d
		d.switched, d.approved = append(d.switched, true), true
		for i := range q {
			// Nothing snaps, but for a hand just now: 0.02 rad, and what an encoder can't tell apart.
			if by := math.Abs(q[i] - d.last[i]); d.measured[i] && !d.power[i] && by > 0.02+3*tick {
				d.wrong("joint %d is powered %g rad from where it was", i, by)
			}
			if d.refuses[i] {
				return robot.Errf(robot.CodeStaleState, "fake", "joint %d doesn't answer", i)
			}
			d.goal[i], d.power[i], d.foreign[i] = q[i], true, false
		}
		return nil
	})
}

func (b *body) PowerOff(ctx context.Context) error {
	return b.call(ctx, "power off", b.d.switches, func() error {
		d := b.d
		d.switched, d.approved = append(d.switched, false), false
		var errs []error
		for i := range d.power {
			if d.clings[i] {
				errs = append(errs, robot.Errf(robot.CodeStaleState, "fake", "joint %d doesn't answer", i))
				continue
			}
			d.power[i] = false
		}
		return errors.Join(errs...)
	})
}

func (b *body) Set(ctx context.Context, actuator int, v float64) (float64, error) {
	err := b.call(ctx, "set", b.d.writes, func() error {
		b.d.lamps[actuator] = v
		b.d.sets = append(b.d.sets, v)
		return nil
	})
	return v, err
}

func (b *body) Clear(ctx context.Context) error {
	return b.call(ctx, "clear", b.d.writes, func() error { return nil })
}

// servos is a file for these joints of a model.
func servos(m *robot.Model, measured []bool, powersOff bool) *hardware.File {
	f := &hardware.File{Name: "servos.toml", Robot: m.Name, Driver: "fake", EStopPowersOff: powersOff}
	for i, l := range m.Limits {
		j := hardware.Joint{
			Name: m.JointNames()[i], Channel: i + 1, Kind: hardware.BusServo, Direction: 1, Zero: 2048, Scale: 1 / tick,
			Lower: l.Lower, Upper: l.Upper, Velocity: l.Velocity, Acceleration: l.Acceleration, Jerk: l.Jerk,
			Feedback: hardware.Encoder,
		}
		if !measured[i] {
			j.Kind, j.Feedback = hardware.Servo, hardware.None
		}
		f.Joints = append(f.Joints, j)
	}
	for i, a := range m.Actuators {
		f.Outputs = append(f.Outputs, hardware.Output{Actuator: a.Name, Channel: 20 + i, Scale: 1})
	}
	return f
}
