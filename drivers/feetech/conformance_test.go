package feetech_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech"
	"github.com/tau-robot/tau/robot/robottest"
)

// fixture is a robot for the suite.
func (b *bench) fixture(t *testing.T) robottest.Fixture {
	f := robottest.Fixture{
		Backend: b.open(t), Model: b.o.Model, Disabled: true, Target: b.to(),
		// A setpoint that is cut off on the cable is one period, 0.01 s, of at most 0.9 rad/s.
		Tolerance: 0.013, MaxDeviation: 0.08,
		// Two periods until the brake, and what the emulated servo lags.
		Lag: 0.08, Watchdog: 0.02,
		Freeze: func() { must(t, b.line.Mute(b.id(0), true)) },
		Unplug: b.line.Unplug, Replug: b.line.Plug,
		Silence: func() { b.each(t, func(id byte) error { return b.line.Detach(id, true) }) },
		Reboot:  func() { b.each(t, b.line.Restart) },
		// Hotter than the file allows, and not so hot that the servo lets go by itself.
		Trip:   func() { must(t, b.line.Heat(b.id(0), b.o.Hardware.Joints[0].MaxTemperature+3)) },
		Untrip: func() { must(t, b.line.Heat(b.id(0), math.NaN())) },
		Rival: func() error {
			again, err := feetech.Open(context.Background(), b.o)
			if err != nil {
				return err
			}
			return again.Close()
		},
		Observe:   b.observe,
		Block:     func(j int) { must(t, b.line.Hold(b.id(j), true)) },
		Intrude:   func() { b.rival(t, 0) },
		TorqueOff: true,
	}
	if b.o.Hardware.EStopPowersOff {
		// Closing lets go, and says so of a servo that doesn't answer.
		f.Freeze = nil
	}
	return f
}

func must(t testing.TB, err error) {
	t.Helper()
	require.NoError(t, err)
}

// harness puts the arm to the suite, in simulated time. What the suite blocks or freezes
// is to be found out by its position, so the file bounds no current.
func (a arm) harness(change func(*bench)) robottest.Harness {
	return robottest.Harness{Bubble: true, New: func(t *testing.T) robottest.Fixture {
		b := a.bench(t)
		for i := range b.o.Hardware.Joints {
			b.o.Hardware.Joints[i].MaxCurrent = 0
		}
		change(b)
		return b.fixture(t)
	}}
}

func TestConformanceOfFeetech(t *testing.T) { robottest.Run(t, so101().harness(func(*bench) {})) }

// Servos that keep their torque at an e-stop, as those above do, and servos that let go.
func TestConformanceOfDynamixel(t *testing.T) {
	robottest.Run(t, pantilt().harness(func(b *bench) { b.o.Hardware.EStopPowersOff = false }))
}

func TestConformanceOfDynamixelThatLetsGo(t *testing.T) {
	h := pantilt().harness(func(b *bench) { b.o.Hardware.EStopPowersOff = true })
	for _, number := range []int{37, 40, 41, 44, 49, 50} {
		robottest.RunCase(t, h, number)
	}
}
