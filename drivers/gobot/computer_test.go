package gobot_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	lib "gobot.io/x/gobot/v2"
	"gobot.io/x/gobot/v2/drivers/i2c"

	"github.com/tau-robot/tau/drivers/gobot"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/robottest"
)

// pi is a computer's pins as the library's adaptors offer them.
type pi struct {
	pwm       map[string]*pwmPin
	digital   map[string]byte
	mu        sync.Mutex // of chip
	chip      *pca
	connected bool
	fails     error // of Connect
	finalized int
}

func newPi() *pi {
	p := &pi{pwm: map[string]*pwmPin{}, digital: map[string]byte{}, chip: newPCA(0x41)}
	for i := range 2 {
		p.pwm[fmt.Sprintf("pwm%d", i)] = &pwmPin{}
	}
	return p
}

func (p *pi) Connect() error { p.connected = p.fails == nil; return p.fails }

func (p *pi) Finalize() error {
	if !p.connected {
		panic("finalized and never connected")
	}
	p.connected = false
	p.finalized++
	return nil
}

func (p *pi) PWMPin(id string) (lib.PWMPinner, error) {
	if pin := p.pwm[id]; pin != nil {
		return pin, nil
	}
	return nil, errors.New("no such pin")
}

func (p *pi) DigitalWrite(id string, v byte) error { p.digital[id] = v; return nil }

func (p *pi) DefaultI2cBus() int { return 1 }

func (p *pi) GetI2cConnection(address, bus int) (i2c.Connection, error) {
	if bus != 1 {
		return nil, errors.New("no such bus")
	}
	return i2c.NewConnection(&i2cBus{pi: p}, address), nil
}

// i2cBus is a bus with one chip, by the library's interface of one.
type i2cBus struct {
	lib.I2cSystemDevicer // what isn't used is nil
	*pi
}

func (b *i2cBus) ReadBlockData(address int, register uint8, data []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.chip.away || address != b.chip.address {
		return errors.New("remote I/O error")
	}
	b.chip.at = register
	copy(data, b.chip.read(len(data)))
	return nil
}

func (b *i2cBus) WriteBlockData(address int, register uint8, data []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.chip.away || address != b.chip.address {
		return errors.New("remote I/O error")
	}
	b.chip.write(append([]byte{register}, data...))
	return nil
}

// pwmPin is one of the kernel's. Whatever is written to it, it refuses what would leave it
// without a period, or with a pulse longer than that (drivers/pwm/core.c, pwm_apply…), and
// another polarity while it is enabled.
type pwmPin struct {
	is     pwmState
	pulses []uint32 // while it is enabled
}

type pwmState struct {
	enabled, inverted bool
	period, duty      uint32
}

func (p *pwmPin) apply(change func(*pwmState)) error {
	next := p.is
	if change(&next); next.period == 0 || next.duty > next.period || next.inverted != p.is.inverted && p.is.enabled {
		return errors.New("invalid argument")
	}
	if p.is = next; next.enabled {
		p.pulses = append(p.pulses, next.duty)
	}
	return nil
}

func (p *pwmPin) Export() error               { return nil }
func (p *pwmPin) Unexport() error             { return nil }
func (p *pwmPin) Enabled() (bool, error)      { return p.is.enabled, nil }
func (p *pwmPin) Polarity() (bool, error)     { return !p.is.inverted, nil }
func (p *pwmPin) Period() (uint32, error)     { return p.is.period, nil }
func (p *pwmPin) DutyCycle() (uint32, error)  { return p.is.duty, nil }
func (p *pwmPin) SetEnabled(on bool) error    { return p.apply(func(s *pwmState) { s.enabled = on }) }
func (p *pwmPin) SetPolarity(n bool) error    { return p.apply(func(s *pwmState) { s.inverted = !n }) }
func (p *pwmPin) SetPeriod(v uint32) error    { return p.apply(func(s *pwmState) { s.period = v }) }
func (p *pwmPin) SetDutyCycle(v uint32) error { return p.apply(func(s *pwmState) { s.duty = v }) }

// onPins is one servo at a computer's PWM, one at a chip, and the lamp at a PWM pin.
func onPins() rig {
	h := strings.Replace(strings.Replace(head, `"firmata"`, `"raspi"`, 1), "baud = 57600\n", "", 1)
	return rig{
		file: h + strings.Replace(hat, "address", "bus = 1\naddress", 1) +
			fmt.Sprintf(joint, "pan", 0, 1) + "feedback = \"none\"\nlower = -1.4\nupper = 1.4\n" +
			fmt.Sprintf(joint, "tilt", 5, -1) + "via = \"hat\"\nfeedback = \"none\"\n" +
			"\n[output.lamp]\nchannel = 1\npwm = true\nscale = 254\n",
		at: []float64{0, 0},
	}
}

func (g rig) withPins(t testing.TB, p *pi) gobot.Options {
	t.Helper()
	m, f := g.parts(t)
	return gobot.Options{Model: m, Hardware: f, At: g.at, Pins: func() (gobot.Pins, error) { return p, nil }}
}

func (g rig) onPins(t *testing.T) robottest.Fixture {
	p := newPi()
	o := g.withPins(t, p)
	r, err := gobot.Open(context.Background(), o)
	require.NoError(t, err)
	return robottest.Fixture{
		Backend: r, Model: o.Model, Disabled: true, Target: []float64{1.3, 0.9},
		Tolerance: 0.012, MaxDeviation: 0.25, Lag: 0.06, TorqueOff: true,
	}
}

func TestConformanceOnAComputersPins(t *testing.T) {
	unknown := onPins()
	unknown.at = nil
	robottest.Run(t, robottest.Harness{Bubble: true, New: onPins().onPins, Unknown: unknown.onPins})
}

func TestAComputersPins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, p := onPins(), newPi()
		r, err := gobot.Open(context.Background(), g.withPins(t, p))
		require.NoError(t, err)
		require.Equal(t, "raspi", r.Info().Port)
		pan := p.pwm["pwm0"]
		require.False(t, pan.is.enabled, "connecting powers nothing")
		actuate(t, r, robot.TorqueOn)
		require.True(t, pan.is.enabled)
		require.Equal(t, uint32(20e6), pan.is.period)
		for _, d := range pan.pulses {
			require.Equal(t, uint32(1472000), d, "each pulse is the setpoint, the first as well")
		}
		require.NoError(t, light(t, r, 1))
		require.Equal(t, pwmState{enabled: true, period: 1e6, duty: 996078}, p.pwm["pwm1"].is)
		_, err = r.Execute(context.Background(), moveTo(t, r, []float64{0.5, 0.5}, 0), nil)
		require.NoError(t, err)
		_, f := g.parts(t)
		require.InDelta(t, f.Joints[0].Units(0.5)*1000, pan.is.duty, 1)
		require.InDelta(t, f.Joints[1].Units(0.5), p.chip.pulse(5), 2.5)
		require.NoError(t, r.Close())
		require.False(t, pan.is.enabled)
		require.Zero(t, p.chip.pulse(5))
		require.Equal(t, 1, p.finalized)
	})
}

// What another program has left of a pin: another period is changed without a pulse of a
// length that nobody asked for, an inverted one that is idle is set right, and one that is
// in use isn't ours.
func TestWhatAnotherProgramLeftOfAPin(t *testing.T) {
	for _, c := range []struct {
		name string
		left pwmState
		want string // why torque_on is refused; "": it isn't
	}{
		{"another period", pwmState{period: 1e6, duty: 9e5}, ""},
		{"an inverted pin", pwmState{inverted: true, period: 20e6, duty: 1e6}, ""},
		{"an inverted pin in use", pwmState{enabled: true, inverted: true, period: 20e6, duty: 1e6}, "inverted"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPi()
			pan := p.pwm["pwm0"]
			pan.is = c.left
			r, err := gobot.Open(context.Background(), onPins().withPins(t, p))
			require.NoError(t, err, c.name)
			defer func() { require.NoError(t, r.Close(), c.name) }()
			s, err := r.State(context.Background())
			require.NoError(t, err, c.name)
			require.Equal(t, c.left.enabled, s.Powered, c.name)
			if c.want != "" {
				require.True(t, s.Unreferenced[0], "%s: nothing is known of its pulses", c.name)
				_, err = r.Actuate(context.Background(), robot.Command{ID: "on", Kind: robot.TorqueOn, Epoch: s.StopEpoch})
				require.Error(t, err, c.name)
				require.Equal(t, c.left, pan.is, "%s: it is as it was", c.name)
				pan.is.enabled = false // the other program ends
				return
			}
			actuate(t, r, robot.TorqueOn)
			require.Equal(t, pwmState{enabled: true, period: 20e6, duty: 1472000}, pan.is, c.name)
			for _, d := range pan.pulses {
				require.Equal(t, uint32(1472000), d, c.name)
			}
		})
	}
}

// A chip that was without power has let its servo go; the one at a pin still holds.
func TestAChipWithoutPowerIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPi()
		r, err := gobot.Open(context.Background(), onPins().withPins(t, p))
		require.NoError(t, err)
		defer func() { require.NoError(t, r.Close()) }()
		actuate(t, r, robot.TorqueOn)
		p.mu.Lock()
		p.chip.powerUp()
		p.mu.Unlock()
		time.Sleep(time.Second)
		s, err := r.State(context.Background())
		require.NoError(t, err)
		require.False(t, s.Enabled)
		require.True(t, s.Powered)
		p.mu.Lock()
		require.Zero(t, p.chip.pulse(5))
		p.mu.Unlock()
		require.True(t, s.Unreferenced[1])
	})
}

// What a computer can't do, or hasn't, is refused by name when it is opened, and nothing
// that was never connected is finalized.
func TestWhatAComputerHasNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPi()
		p.fails = errors.New("no /dev/gpiochip0")
		_, err := gobot.Open(context.Background(), onPins().withPins(t, p))
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)

		p = newPi()
		p.chip.away = true
		_, err = gobot.Open(context.Background(), onPins().withPins(t, p))
		require.ErrorContains(t, err, "hat")
		require.Equal(t, 1, p.finalized)

		p = newPi()
		delete(p.pwm, "pwm0")
		_, err = gobot.Open(context.Background(), onPins().withPins(t, p))
		require.ErrorContains(t, err, "pan")

		o := onPins().withPins(t, newPi())
		o.Pins = func() (gobot.Pins, error) { return bare{}, nil }
		_, err = gobot.Open(context.Background(), o)
		require.Equal(t, robot.CodeNotSupported, robot.CodeOf(err), "%v", err)
	})
}

// bare is an adaptor that offers nothing.
type bare struct{}

func (bare) Connect() error  { return nil }
func (bare) Finalize() error { return nil }
