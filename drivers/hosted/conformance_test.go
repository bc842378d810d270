package hosted_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/hosted"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/robottest"
)

// rig is a kind of robot on a fake device.
type rig struct {
	robot     string
	measured  func(joint int) bool
	powersOff bool
	effort    bool
	period    time.Duration // 0: 10 ms
	every     int           // 0: 2
}

func all(int) bool        { return true }
func none(int) bool       { return false }
func even(joint int) bool { return joint%2 == 0 }

var (
	measuredRig = rig{robot: "so101", measured: all}
	blindRig    = rig{robot: "pantilt", measured: none, powersOff: true}
	halfRig     = rig{robot: "pantilt", measured: even, powersOff: true}
	lampRig     = rig{robot: "pantilt", measured: all, powersOff: true}
)

// bench is a rig's device, and what it is opened with.
type bench struct {
	*device
	o hosted.Options
	m *robot.Model
}

// bench makes a rig's device; in a bubble, in which it lives.
func (g rig) bench(t testing.TB) *bench {
	t.Helper()
	m, err := builtin.Load(g.robot)
	require.NoError(t, err)
	measured := make([]bool, m.DoF())
	for i := range measured {
		measured[i] = g.measured(i)
	}
	d := newDevice(t, measured, len(m.Actuators), m.Home)
	if g.period == 0 {
		g.period = 10 * time.Millisecond
	}
	if g.every == 0 {
		g.every = 2
	}
	o := hosted.Options{
		Model: m, Hardware: servos(m, measured, g.powersOff), Body: &body{d: d},
		Traits: hosted.Traits{
			Backend: "fake", Version: "1", Device: "a fake line", Period: g.period, ReadEvery: g.every,
			Exchange: 5 * time.Millisecond, Measured: measured, Lag: d.lag, Effort: g.effort,
		},
	}
	if slices.Contains(measured, false) {
		o.At = slices.Clone(m.Home)
	}
	b := &bench{device: d, o: o, m: m}
	t.Cleanup(b.judge) // once everything is closed
	return b
}

// judge holds every setpoint that was written to what none may break: it is within its
// limits, no farther from the one before than the joint's largest speed takes it in a
// period, comes no sooner than three quarters of one after it, and only while torque is approved.
func (b *bench) judge() {
	period := b.o.Traits.Period
	var before time.Time
	for k, w := range b.writings() {
		if len(w.q) != len(b.m.Limits) {
			b.wrong("setpoint %d is of %d joints", k, len(w.q))
			return
		}
		for i, l := range b.m.Limits {
			switch by := math.Abs(w.q[i] - w.from[i]); {
			case !(w.q[i] >= l.Lower && w.q[i] <= l.Upper):
				b.wrong("setpoint %d of joint %d is %g, outside of %g to %g", k, i, w.q[i], l.Lower, l.Upper)
			case !(by <= l.Velocity*period.Seconds()*(1+1e-9)) && w.power[i] && !w.foreign[i]:
				b.wrong("setpoint %d of joint %d jumps by %g rad in a period", k, i, by)
			}
		}
		if gap := w.at.Sub(before); gap < period*3/4 {
			b.wrong("setpoint %d comes %v after the one before", k, gap)
		}
		before = w.at
		if !w.approved {
			b.wrong("setpoint %d was written without torque approved", k)
		}
	}
}

func (b *bench) open(t testing.TB) *hosted.Engine {
	t.Helper()
	e, err := hosted.Open(context.Background(), b.o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// target is a place some way from home.
func (b *bench) target() []float64 {
	to := slices.Clone(b.m.Home)
	for i, l := range b.m.Limits {
		by := 0.6
		if to[i]+by > l.Upper-0.05 {
			by = -by
		}
		to[i] += by
	}
	return to
}

func (b *bench) fixture(t *testing.T) robottest.Fixture {
	f := robottest.Fixture{
		Backend: b.open(t), Model: b.o.Model, Disabled: true, Target: b.target(),
		Tolerance: 0.005, MaxDeviation: 0.2,
		// A period, the exchanges of one, and the servos' lag.
		Lag: 0.06, Watchdog: 0.05,
		Unplug: b.unplug, Replug: b.replug, Reboot: b.restart,
		Trip: func() {
			b.do(func() {
				b.complains = []robot.Fault{{Code: robot.CodeOverload, Where: b.m.JointNames()[0], Text: "the servo is too hot"}}
			})
		},
		Untrip:    func() { b.do(func() { b.complains = nil }) },
		Observe:   b.where,
		TorqueOff: true,
		Freeze: func() {
			b.do(func() {
				for i := range b.silent {
					b.silent[i] = true
				}
			})
		},
		Rival: func() error {
			o := b.o
			o.Body = &body{d: b.device}
			again, err := hosted.Open(context.Background(), o)
			if err != nil {
				return err
			}
			return again.Close()
		},
	}
	if !slices.Contains(b.measured, false) {
		f.Block = func(j int) { b.do(func() { b.stuck[j] = true }) }
	}
	return f
}

// harness puts a rig to the suite, in simulated time.
func (g rig) harness() robottest.Harness {
	h := robottest.Harness{Bubble: true, New: func(t *testing.T) robottest.Fixture { return g.bench(t).fixture(t) }}
	if !g.measured(1) {
		h.Unknown = func(t *testing.T) robottest.Fixture {
			b := g.bench(t)
			b.o.At = nil
			return b.fixture(t)
		}
	}
	return h
}

func TestConformanceOfMeasuredServos(t *testing.T) { robottest.Run(t, measuredRig.harness()) }
func TestConformanceOfOpenLoopServos(t *testing.T) { robottest.Run(t, blindRig.harness()) }
func TestConformanceOfHalfMeasured(t *testing.T)   { robottest.Run(t, halfRig.harness()) }
func TestConformanceWithALamp(t *testing.T)        { robottest.Run(t, lampRig.harness()) }
