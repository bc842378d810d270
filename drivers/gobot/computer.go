package gobot

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	lib "gobot.io/x/gobot/v2"
	"gobot.io/x/gobot/v2/drivers/gpio"
	"gobot.io/x/gobot/v2/drivers/i2c"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// Pins are a computer's own: an adaptor of the library's, or part of one. What else it can
// do is asked of it: lib.PWMPinnerProvider for servos and outputs with PWM,
// gpio.DigitalWriter for the others, i2c.Connector for chips.
type Pins interface {
	Connect() error
	Finalize() error
}

// The times between two pulses of a servo at a computer's pin, and of an output with PWM,
// ns: no eye sees an LED flicker at 1 kHz.
const (
	servoPeriod  = uint32(period)
	outputPeriod = uint32(time.Millisecond)
)

// computer is a rig of a computer's own pins.
type computer struct {
	pins    Pins
	chips   map[string]*chip
	servos  []servo
	outputs []output
}

// computer says how the pins are connected.
func (o *Options) computer() (time.Duration, func(context.Context) (rig, error), error) {
	f := o.Hardware
	for i := range f.Joints {
		if j := &f.Joints[i]; j.Feedback != hardware.None {
			return 0, nil, robot.Errf(robot.CodeNotSupported, j.Name, "a computer's own pins measure nothing; its feedback is %q", j.Feedback)
		}
	}
	open := o.Pins
	if open == nil {
		if f.Adaptor != hardware.AdaptorRaspi {
			return 0, nil, robot.Errf(robot.CodeNotSupported, f.Name, "there is no adaptor %q; there are %s and %s", f.Adaptor, hardware.AdaptorFirmata, hardware.AdaptorRaspi)
		}
		open = raspiPins
	}
	return period, func(ctx context.Context) (rig, error) {
		p, err := open()
		if err != nil {
			return nil, err
		}
		c, err := connectComputer(ctx, p, f)
		if err != nil {
			return nil, err
		}
		return c, nil
	}, nil
}

// connectComputer connects the pins and holds the file against what they can do. It sets
// none of them.
func connectComputer(ctx context.Context, p Pins, f *hardware.File) (_ *computer, err error) {
	chips, err := newChips(f)
	if err != nil {
		return nil, err
	}
	c := &computer{pins: p, chips: chips}
	if err := p.Connect(); err != nil {
		// Nothing of it may be open, and to finalize what was never connected is a panic
		// with some adaptors.
		return nil, robot.Errf(robot.CodeDisconnected, f.Adaptor, "its pins aren't to be had: %w", err)
	}
	defer func() {
		if err != nil {
			_ = p.Finalize() // it complains of what couldn't be opened, which err says better
		}
	}()
	buses := map[int]*wired{}
	for i := range f.Chips {
		hw := &f.Chips[i]
		con, ok := p.(i2c.Connector)
		if !ok {
			return nil, robot.Errf(robot.CodeNotSupported, hw.Name, "%s offers no I2C", f.Adaptor)
		}
		if buses[hw.Bus] == nil {
			buses[hw.Bus] = &wired{con: con, bus: hw.Bus, open: map[int]i2c.Connection{}}
		}
		chips[hw.Name].bus = buses[hw.Bus]
		if err := chips[hw.Name].find(ctx); err != nil {
			return nil, err
		}
	}
	for i := range f.Joints {
		j := &f.Joints[i]
		if j.Via != "" {
			c.servos = append(c.servos, &chipServo{chips[j.Via], j.Channel, j.Name})
			continue
		}
		pin, err := c.pwm(j.Name, f.Adaptor, j.Channel)
		if err != nil {
			return nil, err
		}
		c.servos = append(c.servos, &pwmServo{pin, j.Name})
	}
	return c, c.wire(f)
}

// pwm returns a PWM channel, whatever it is doing.
func (c *computer) pwm(what, adaptor string, channel int) (lib.PWMPinner, error) {
	from, ok := c.pins.(lib.PWMPinnerProvider)
	if !ok {
		return nil, robot.Errf(robot.CodeNotSupported, what, "%s offers no PWM whose pulses are given in ns; use a PCA9685 (via)", adaptor)
	}
	pin, err := from.PWMPin("pwm" + strconv.Itoa(channel)) // as the library calls it
	if err != nil {
		return nil, robot.Errf(robot.CodeDisconnected, what, "PWM %d isn't to be had: %w", channel, err)
	}
	return pin, nil
}

// wire makes the outputs.
func (c *computer) wire(f *hardware.File) error {
	for i := range f.Outputs {
		o := &f.Outputs[i]
		if o.Via != "" {
			c.outputs = append(c.outputs, &chipOutput{chipServo{c.chips[o.Via], o.Channel, o.Actuator}})
			continue
		}
		if o.PWM {
			pin, err := c.pwm(o.Actuator, f.Adaptor, o.Channel)
			if err != nil {
				return err
			}
			c.outputs = append(c.outputs, &pwmOutput{pin, o.Actuator})
			continue
		}
		w, ok := c.pins.(gpio.DigitalWriter)
		if !ok {
			return robot.Errf(robot.CodeNotSupported, o.Actuator, "%s offers no digital outputs", f.Adaptor)
		}
		c.outputs = append(c.outputs, &written{func(v byte) error { return w.DigitalWrite(strconv.Itoa(o.Channel), v) }, o.Actuator})
	}
	return nil
}

func (c *computer) servo(i int) servo                 { return c.servos[i] }
func (c *computer) output(i int) output               { return c.outputs[i] }
func (c *computer) batch(f func() error) error        { return f() }
func (*computer) input(int) (counts int, _ time.Time) { return 0, time.Time{} }

// again sets up the chips that were without power. The pins themselves forget nothing.
func (c *computer) again(ctx context.Context) (bool, error) { return findLost(ctx, c.chips) }

// Close gives the pins back.
func (c *computer) Close() error { return c.pins.Finalize() }

// pwmServo is a servo at a PWM pin of a computer.
type pwmServo struct {
	pin  lib.PWMPinner
	name string
}

func ns(us float64) uint32 { return uint32(math.Round(us * 1000)) }

func (*pwmServo) step(us float64) float64 { return float64(ns(us)) / 1000 }

func (s *pwmServo) set(us float64) error { return s.failed(s.pin.SetDutyCycle(ns(us))) }

func (s *pwmServo) failed(err error) error {
	if err == nil {
		return nil
	}
	return robot.Errf(robot.CodeToolFailed, s.name, "its PWM pin: %w", err)
}

// begin gives a PWM pin its period, and reports whether it is enabled. One that nobody has
// used yet has no period, and the kernel takes nothing else before; a pulse that is longer
// than the new period it refuses, so there is none while that changes. A pin whose pulses
// another program has inverted is high when it should be low.
func begin(pin lib.PWMPinner, period uint32) (on bool, err error) {
	if on, err = pin.Enabled(); err != nil {
		return on, err
	}
	normal, err := pin.Polarity()
	if err != nil {
		return on, err
	}
	if on && !normal {
		return on, errors.New("another program has it, and has inverted its pulses: end that one first")
	}
	old, err := pin.Period()
	if err != nil {
		return on, err
	}
	if old != 0 && old != period {
		err = pin.SetDutyCycle(0)
	}
	if old != period {
		err = errors.Join(err, pin.SetPeriod(period))
	}
	if !normal {
		err = errors.Join(err, pin.SetPolarity(true))
	}
	return on, err
}

// attach sets period and pulse before the pin is enabled: the first pulse is the setpoint.
func (s *pwmServo) attach(ctx context.Context, us float64) error {
	on, err := begin(s.pin, servoPeriod)
	if err != nil {
		return s.failed(err)
	}
	if err := s.set(us); err != nil {
		return err
	}
	if !on {
		if err := s.pin.SetEnabled(true); err != nil {
			return s.failed(err)
		}
	}
	powered, got, err := s.read(ctx)
	if err == nil && (!powered || math.Abs(got-s.step(us)) > samePulse) {
		err = robot.Errf(robot.CodeToolFailed, s.name, "its PWM pin says %g µs after it was enabled at %g µs", got, us)
	}
	return err
}

func (s *pwmServo) detach(context.Context) error {
	on, err := s.pin.Enabled()
	if err != nil || !on {
		return s.failed(err) // the kernel refuses to disable a pin that nobody has used yet
	}
	return s.failed(s.pin.SetEnabled(false))
}

func (s *pwmServo) read(context.Context) (powered bool, us float64, err error) {
	on, err := s.pin.Enabled()
	if err != nil || !on {
		return false, math.NaN(), s.failed(err)
	}
	p, err := s.pin.Period()
	if err != nil {
		return true, math.NaN(), s.failed(err)
	}
	normal, err := s.pin.Polarity()
	if err != nil || !normal {
		return true, math.NaN(), s.failed(err)
	}
	duty, err := s.pin.DutyCycle()
	if err != nil || duty == 0 || p != servoPeriod {
		return duty != 0 || err != nil, math.NaN(), s.failed(err)
	}
	return true, float64(duty) / 1000, nil
}

// pwmOutput is an output at a PWM pin of a computer.
type pwmOutput struct {
	pin  lib.PWMPinner
	name string
}

func (*pwmOutput) most() float64 { return maxDuty }

func (o *pwmOutput) set(_ context.Context, v float64) (float64, error) {
	n := math.Round(v)
	duty := uint32(n * float64(outputPeriod) / maxDuty)
	on, err := begin(o.pin, outputPeriod)
	if err == nil {
		err = o.pin.SetDutyCycle(duty)
	}
	if err == nil && !on {
		err = o.pin.SetEnabled(true)
	}
	if err == nil {
		on, err = o.pin.Enabled()
	}
	if err != nil {
		return 0, robot.Errf(robot.CodeToolFailed, o.name, "its PWM pin: %w", err)
	}
	if got, err := o.pin.DutyCycle(); err != nil || got != duty || !on {
		return 0, robot.Errf(robot.CodeToolFailed, o.name, "its PWM pin has a pulse of %d ns (enabled: %t) after it was set to %d: %w", got, on, duty, err)
	}
	return n, nil
}

// written is an output that is on or off, which the library writes and nobody can ask.
type written struct {
	write func(byte) error
	name  string
}

func (*written) most() float64 { return 1 }

func (w *written) set(_ context.Context, v float64) (float64, error) {
	n := math.Round(v)
	if err := w.write(byte(n)); err != nil {
		return 0, robot.Errf(robot.CodeToolFailed, w.name, "its pin: %w", err)
	}
	return n, nil
}

// wired is an I2C bus of a computer.
type wired struct {
	con  i2c.Connector
	bus  int
	open map[int]i2c.Connection // by address
}

func (w *wired) to(address int) (i2c.Connection, error) {
	if c := w.open[address]; c != nil {
		return c, nil
	}
	c, err := w.con.GetI2cConnection(address, w.bus)
	if err != nil {
		return nil, robot.Errf(robot.CodeToolFailed, "i2c", "bus %d isn't to be had: %w", w.bus, err)
	}
	w.open[address] = c
	return c, nil
}

func (w *wired) batch(f func() error) error { return f() }

func (w *wired) readI2C(_ context.Context, _ time.Duration, address int, register byte, count int) ([]byte, error) {
	c, err := w.to(address)
	if err != nil {
		return nil, err
	}
	data := make([]byte, count)
	if err := c.ReadBlockData(register, data); err != nil {
		return nil, robot.Errf(robot.CodeToolFailed, "i2c", "bus %d: %w", w.bus, err)
	}
	return data, nil
}

func (w *wired) writeI2C(address int, register byte, data ...byte) error {
	c, err := w.to(address)
	if err != nil {
		return err
	}
	if err := c.WriteBlockData(register, data); err != nil {
		return robot.Errf(robot.CodeToolFailed, "i2c", "bus %d: %w", w.bus, err)
	}
	return nil
}
