package feetech_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech"
	"github.com/tau-robot/tau/drivers/feetech/dxl"
	"github.com/tau-robot/tau/drivers/feetech/emulator"
	"github.com/tau-robot/tau/robot"
)

// result is how a motion ended.
type result struct {
	out robot.Outcome
	err error
}

// midway begins a motion of two seconds to the arm's target, does something after one of
// them, and returns how it ended.
func (b *bench) midway(t *testing.T, r *feetech.Robot, do func()) result {
	t.Helper()
	m := b.motion(t, r, b.to(), 2)
	done := make(chan result, 1)
	go func() {
		out, err := r.Execute(context.Background(), m, nil)
		done <- result{out, err}
	}()
	time.Sleep(time.Second)
	do()
	return <-done
}

// stands requires that nothing moves any more, and that no goal is written.
func (b *bench) stands(t *testing.T) {
	t.Helper()
	time.Sleep(100 * time.Millisecond) // of a servo that still goes to its last goal
	at := b.observe()
	b.trace.Reset()
	time.Sleep(500 * time.Millisecond)
	require.InDeltaSlice(t, at, b.observe(), 1e-3, "it went on")
	addr, size := b.goal()
	require.Empty(t, b.trace.Writes(addr, size), "a goal was written after the end")
}

// faulted requires a latched first fault, and an outcome that says the same.
func (b *bench) faulted(t *testing.T, r *feetech.Robot, got result, code robot.Code, where, text string) {
	t.Helper()
	require.Equal(t, robot.OutcomeFaulted, got.out.Status, "%v", got.err)
	require.Equal(t, code, robot.CodeOf(got.err), "%v", got.err)
	require.ErrorContains(t, got.err, where)
	require.ErrorContains(t, got.err, text)
	b.stands(t)
	s, err := r.State(context.Background())
	require.NoError(t, err)
	require.NotEmpty(t, s.Faults)
	require.Equal(t, code, s.Faults[0].Code)
	require.Equal(t, where, s.Faults[0].Where)
	require.False(t, s.Enabled)
	require.False(t, s.Moving)
}

// movesAgain requires that reset and torque_on bring it back, where it is.
func (b *bench) movesAgain(t *testing.T, r *feetech.Robot) {
	t.Helper()
	at := b.observe()
	require.NoError(t, actuate(t, r, robot.EStopReset))
	require.InDeltaSlice(t, at, b.observe(), 2e-3, "a reset moved it")
	require.NoError(t, actuate(t, r, robot.TorqueOn))
	require.InDeltaSlice(t, at, b.observe(), 2e-3, "switching on moved it")
	_, err := b.moveTo(t, r, configuration(b.o.Model, b.start), 2)
	require.NoError(t, err)
}

// What a servo complains of by itself ends the motion with its joint's name, and is gone
// after a reset once its cause is.
func TestOverloadEndsAMotion(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		r := b.enabled(t)
		got := b.midway(t, r, func() { must(t, b.line.Overload(b.id(1))) })
		b.faulted(t, r, got, robot.CodeOverload, b.o.Hardware.Joints[1].Name, "overload")
		b.movesAgain(t, r)
	})
}

func TestHeatEndsAMotion(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		r := b.enabled(t)
		limit := b.o.Hardware.Joints[0].MaxTemperature
		got := b.midway(t, r, func() { must(t, b.line.Heat(b.id(0), limit+2)) })
		b.faulted(t, r, got, robot.CodeOverload, b.o.Hardware.Joints[0].Name, "too hot")

		// While it is hot a reset is none.
		err := actuate(t, r, robot.EStopReset)
		require.Equal(t, robot.CodeOverload, robot.CodeOf(err), "%v", err)
		s, err := r.State(context.Background())
		require.NoError(t, err)
		require.NotEmpty(t, s.Faults)
		must(t, b.line.Heat(b.id(0), math.NaN()))
		time.Sleep(100 * time.Millisecond)
		b.movesAgain(t, r)
	})
}

func TestSupplyEndsAMotion(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		for _, c := range []struct {
			volts float64
			text  string
		}{{b.o.Hardware.MinVoltage - 0.3, "too low"}, {b.o.Hardware.MaxVoltage + 0.3, "too high"}} {
			if b.kind == emulator.XL430 && c.text == "too high" {
				c.volts, b.o.Hardware.MaxVoltage = 13.5, 13 // the servo's own limit is 14 V
			}
			r := b.enabled(t)
			got := b.midway(t, r, func() { b.line.Voltage(c.volts) })
			b.faulted(t, r, got, robot.CodeOverload, b.o.Hardware.Joints[0].Name, c.text)
			b.line.Voltage(b.volts)
			time.Sleep(100 * time.Millisecond)
			b.movesAgain(t, r)
			require.NoError(t, r.Close())
		}
	})
}

// A dip of the supply that is shorter than three reads is what motors do when they start.
func TestADipOfTheSupplyIsNoFault(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		r := b.enabled(t)
		got := b.midway(t, r, func() {
			b.line.Voltage(b.o.Hardware.MinVoltage - 0.3)
			time.Sleep(25 * time.Millisecond)
			b.line.Voltage(b.volts)
		})
		require.NoError(t, got.err)
	})
}

func TestCurrentEndsAMotion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := so101().bench(t) // an XL430 measures none
		r := b.enabled(t)
		got := b.midway(t, r, func() { must(t, b.line.Hold(b.id(0), true)) })
		b.faulted(t, r, got, robot.CodeOverload, "shoulder_pan", "too much current")
		must(t, b.line.Hold(b.id(0), false))
		b.movesAgain(t, r)
	})
}

// A servo that restarts by itself has no torque and knows nothing: nothing is written to
// it any more, and nothing is switched on until a person does.
func TestAServoThatRestarts(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		r := b.enabled(t)
		got := b.midway(t, r, func() { must(t, b.line.Restart(b.id(1))) })
		require.Error(t, got.err)
		require.Contains(t, []robot.OutcomeStatus{robot.OutcomeUnknown, robot.OutcomeFaulted}, got.out.Status)
		b.stands(t)
		require.False(t, b.line.Powered(b.id(1)))
		s, err := r.State(context.Background())
		require.NoError(t, err)
		require.NotEmpty(t, s.Faults)
		require.False(t, s.Enabled)
		b.movesAgain(t, r)
	})
}

// The supply of the whole arm goes and comes back: it is unknown where it fell, and it
// comes back without torque.
func TestPowerCutInMidMotion(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		r := b.enabled(t)
		got := b.midway(t, r, b.line.PowerCut)
		require.Equal(t, robot.OutcomeUnknown, got.out.Status, "%v", got.err)
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(got.err))
		require.ErrorContains(t, got.err, "supply")
		require.Nil(t, got.out.Final.Positions)
		_, err := r.State(context.Background())
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err))
		b.line.PowerBack()
		time.Sleep(5 * time.Second)
		s, err := r.State(context.Background())
		require.NoError(t, err)
		require.False(t, s.Enabled || s.Powered, "nothing was switched on")
		require.NotEmpty(t, s.Faults)
		b.movesAgain(t, r)
	})
}

// A servo that hears and does what it is told, and says nothing: the motion ends after a
// few reads, and its position is never given as 0 or as what it was.
func TestAMuteServoEndsAMotion(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		r := b.enabled(t)
		joint := b.o.Hardware.Joints[1].Name
		got := b.midway(t, r, func() { must(t, b.line.Mute(b.id(1), true)) })
		require.Equal(t, robot.CodeStaleState, robot.CodeOf(got.err), "%v", got.err)
		require.ErrorContains(t, got.err, joint)
		require.Contains(t, []robot.OutcomeStatus{robot.OutcomeUnknown, robot.OutcomeFaulted}, got.out.Status)
		_, err := r.State(context.Background())
		require.Equal(t, robot.CodeStaleState, robot.CodeOf(err))
		require.ErrorContains(t, err, joint)
		v := r.Stop(context.Background(), robot.StopControlled)
		require.NotEqual(t, robot.Yes, v.Stationary)
		must(t, b.line.Mute(b.id(1), false))
		time.Sleep(500 * time.Millisecond)
		b.movesAgain(t, r)
	})
}

func TestUnpluggedInMidMotion(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		r := b.enabled(t)
		got := b.midway(t, r, b.line.Unplug)
		require.Equal(t, robot.OutcomeUnknown, got.out.Status, "%v", got.err)
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(got.err))
		require.Equal(t, robot.No, r.Stop(context.Background(), robot.StopControlled).Commanded)
		b.stands(t)
		b.line.Plug()
		time.Sleep(5 * time.Second)
		b.stands(t)
		b.movesAgain(t, r)
	})
}

// A joint that is read across the seam of its encoder isn't known to be anywhere, and no
// jump of a turn is ever told.
func TestCase25_AJointThatCrossesTheSeam(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		r := b.open(t)
		j := &b.o.Hardware.Joints[0]
		name := j.Name
		// By hand, in steps that a read sees, down to tick 0 and beyond.
		shaft := func(tick float64) float64 { return (tick + float64(j.Offset) - feetech.Turn/2) / perRadian }
		var last float64
		for tick := j.TickMin; tick > -60; tick -= 20 {
			must(t, b.line.ByHand(b.id(0), shaft(tick)))
			time.Sleep(25 * time.Millisecond)
			s, err := r.State(context.Background())
			if err != nil {
				continue
			}
			if last != 0 {
				require.Less(t, math.Abs(s.Positions[0]-last), 1.0, "at tick %g it jumped", tick)
			}
			last = s.Positions[0]
		}
		time.Sleep(200 * time.Millisecond)
		_, err := r.State(context.Background())
		require.Equal(t, robot.CodeStaleState, robot.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, "crossed the seam")
		require.ErrorContains(t, err, name)
		require.ErrorContains(t, err, "turn it back by hand")
		require.NotContains(t, err.Error(), "answer", "it answers, and that isn't what is wrong")
		err = b.tryPower(r)
		require.ErrorContains(t, err, "crossed the seam", "and what isn't known isn't powered")
		require.False(t, b.line.Powered(b.id(0)))
		// Turned back by hand it is known again.
		for tick := -40.0; tick < (j.TickMin+j.TickMax)/2; tick += 60 {
			must(t, b.line.ByHand(b.id(0), shaft(tick)))
			time.Sleep(25 * time.Millisecond)
		}
		time.Sleep(100 * time.Millisecond)
		s, err := r.State(context.Background())
		require.NoError(t, err)
		require.InDelta(t, b.observe()[0], s.Positions[0], 2e-3)
	})
}

// tryPower switches torque on whatever the state says.
func (b *bench) tryPower(r *feetech.Robot) error {
	_, err := r.Actuate(context.Background(), robot.Command{ID: "power", Kind: robot.TorqueOn})
	return err
}

// When this computer is gone a Dynamixel stops by itself, and takes no goal until a person
// has had it reset.
func TestCase42_TheBusWatchdogStopsAServo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := pantilt().bench(t)
		b.o.Hardware.EStopPowersOff = false // closing leaves it powered, as a kill does
		r := b.enabled(t)
		_, err := b.moveTo(t, r, b.to(), 1)
		require.NoError(t, err)
		v, err := b.line.Register(b.id(0), int(dxl.BusWatchdog.Addr))
		require.NoError(t, err)
		require.Equal(t, uint32(10), v, "200 ms")
		time.Sleep(5 * time.Second)
		s, err := r.State(context.Background())
		require.NoError(t, err)
		require.Empty(t, s.Faults, "reading is enough to be heard")
		require.NoError(t, r.Close())
		at := b.observe()
		time.Sleep(300 * time.Millisecond)
		require.InDeltaSlice(t, at, b.observe(), 1e-3)

		again := b.open(t)
		time.Sleep(200 * time.Millisecond)
		s, err = again.State(context.Background())
		require.NoError(t, err)
		require.NotEmpty(t, s.Faults, "that its watchdog has stopped it is said")
		require.Equal(t, robot.CodeLinkTimeout, s.Faults[0].Code)
		require.True(t, s.Powered)
		b.movesAgain(t, again)
	})
}
