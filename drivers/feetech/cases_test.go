package feetech_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech"
	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/robottest"
)

// The cases of the public bug reports, by number, on this driver. Those that every
// backend is held to are robottest's; what is particular to servo buses follows.

func oneCase(t *testing.T, number int) {
	robottest.RunCase(t, pantilt().harness(func(b *bench) { b.o.Hardware.EStopPowersOff = false }), number)
}

func TestCase37_AStopThatIsNotSentIsNotCommanded(t *testing.T)  { oneCase(t, 37) }
func TestCase38_AStopWinsOverWhatIsBeingStarted(t *testing.T)   { oneCase(t, 38) }
func TestCase40_ACancelIsAControlledStop(t *testing.T)          { oneCase(t, 40) }
func TestCase41_AResetEnablesAndStartsNothing(t *testing.T)     { oneCase(t, 41) }
func TestCase43_ASecondStartIsBusy(t *testing.T)                { oneCase(t, 43) }
func TestCase44_AFaultEndsTheMotionForGood(t *testing.T)        { oneCase(t, 44) }
func TestCase45_NonsenseIsNoTarget(t *testing.T)                { oneCase(t, 45) }
func TestCase47_RadiansEverywhere(t *testing.T)                 { oneCase(t, 47) }
func TestCase48_AResultIsMeasuredNotEchoed(t *testing.T)        { oneCase(t, 48) }
func TestCase49_ALostLinkIsUnknownAndNoInvitation(t *testing.T) { oneCase(t, 49) }
func TestCase50_TheNextBridgeGetsTheRobot(t *testing.T)         { oneCase(t, 50) }

// Two servos with one ID are found at the start, and neither is believed.
func TestCase24_TwoServosWithOneID(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		must(t, b.line.Rename(b.id(1), b.id(0)))
		_, err := feetech.Open(context.Background(), b.o)
		require.ErrorContains(t, err, "two devices may share ID 1")
		require.ErrorContains(t, err, b.o.Hardware.Joints[0].Name)
		require.NotEqual(t, robot.CodeInternal, robot.CodeOf(err))
		for _, p := range b.trace.Packets() {
			require.False(t, wrote(p), "and nothing is written to either")
		}
	})
}

// The bytes of that report, in place of a servo's answers: neither is taken for one. What
// was known stays known for as long as a measurement may be old, and is then none.
func TestCase24_WhatTwoServosSayAtOnceIsNoPosition(t *testing.T) {
	for _, said := range [][]byte{{0xFF, 0x60, 0x18, 0xFB, 0xEF}, {0xFF, 0xFF, 0x01, 0x04, 0x00, 0x67}} {
		synctest.Test(t, func(t *testing.T) {
			b := so101().bench(t)
			r := b.open(t)
			before, err := r.State(context.Background())
			require.NoError(t, err)
			// All that comes after an instruction is this, whoever was asked.
			fresh := true
			b.on.Store(&hooks{
				before: func(bus.Instruction) { fresh = true },
				after: func([]byte) []byte {
					if fresh {
						fresh = false
						return said
					}
					return nil
				},
			})
			known := 0
			for range 40 {
				time.Sleep(5 * time.Millisecond)
				s, err := r.State(context.Background())
				if err != nil {
					continue
				}
				known++
				require.InDeltaSlice(t, before.Positions, s.Positions, 2e-3, "never 0, never anything else")
				require.Less(t, time.Since(s.MeasuredAt), 160*time.Millisecond, "and never an old one for a new one")
			}
			require.Less(t, known, 40)
			_, err = r.State(context.Background())
			require.Error(t, err)
			b.on.Store(nil)
		})
	}
}

// A line that loses every tenth answer is asked again, up to three times, and the motion
// runs; a servo that stays silent ends it after a set count.
func TestCase27_LostAnswersAreAskedForAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		r := b.enabled(t)
		b.line.Drop(10)
		out, err := b.moveTo(t, r, b.to(), 2)
		require.NoError(t, err)
		require.InDeltaSlice(t, b.to(), out.Final.Positions, 0.005)
		require.InDeltaSlice(t, b.to(), b.observe(), 0.005)
		tries := map[int]int{} // of one read in a row
		row := 0
		addr, size := b.goal()
		for _, p := range b.trace.Packets() {
			switch {
			case p.FromHost && p.Op == bus.SyncRead:
				row++
				tries[row]++
			case p.FromHost && p.Op == bus.SyncWrite:
				row = 0
			}
		}
		require.Positive(t, tries[2], "something was lost, and asked for again")
		require.NotEmpty(t, b.trace.Writes(addr, size))
		b.line.Drop(0)

		must(t, b.line.Mute(b.id(0), true))
		b.trace.Reset()
		time.Sleep(400 * time.Millisecond)
		_, err = r.State(context.Background())
		require.Equal(t, robot.CodeStaleState, robot.CodeOf(err))
		require.ErrorContains(t, err, b.o.Hardware.Joints[0].Name)
		must(t, b.line.Mute(b.id(0), false))
		time.Sleep(300 * time.Millisecond)
	})
}

// A line that loses an answer here and there loses no servo at the start either.
func TestCase27_NoServoIsMissedForALostAnswer(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		for n := 3; n <= 12; n++ {
			b.line.Drop(n)
			r, err := feetech.Open(context.Background(), b.o)
			require.NoError(t, err, "every %d. answer is lost", n)
			require.NoError(t, r.Close())
		}
	})
}

// Each acknowledgement is read and matched: a mute servo is the one that failed, and the
// read that comes next finds all that answer.
func TestCase28_AMuteServoIsNotConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := so101().bench(t)
		r := b.enabled(t)
		must(t, b.line.Mute(4, true))
		b.trace.Reset()
		s, err := r.State(context.Background())
		require.NoError(t, err)
		_, err = r.Actuate(context.Background(), robot.Command{ID: "off", Kind: robot.TorqueOff, Epoch: s.StopEpoch})
		require.ErrorContains(t, err, "wrist_flex")
		require.ErrorContains(t, err, "servo 4 may still have torque")
		for _, other := range []string{"shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_roll", "gripper"} {
			require.NotContains(t, err.Error(), other)
		}
		for id := byte(1); id <= 6; id++ {
			require.False(t, b.line.Powered(id), "it was told, whoever answers: %d", id)
		}
		got := b.trace.Writes(b.torque(), 1)
		require.Len(t, got, 6, "each once")
		for i, w := range got {
			require.Equal(t, byte(i+1), w.ID)
			require.Equal(t, []byte{0}, w.Data)
		}
		must(t, b.line.Mute(4, false))
		time.Sleep(300 * time.Millisecond)
		s, err = r.State(context.Background())
		require.NoError(t, err)
		require.InDeltaSlice(t, b.observe(), s.Positions, 2e-3)
		var w whole
		b.trace.Reset()
		time.Sleep(time.Second)
		for _, p := range b.trace.Packets() {
			w.take(p)
		}
		require.Empty(t, w.bad)
	})
}

// What never left is no success; what did is one only once it was acknowledged.
func TestCase29_NothingSentIsNoSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := so101().bench(t)
		cause := errors.New("no such device")
		o := b.o
		o.Dial = func(context.Context) (feetech.Port, error) { return nil, cause }
		_, err := feetech.Open(context.Background(), o)
		require.ErrorIs(t, err, cause)
		require.Empty(t, b.trace.Packets())

		r := b.enabled(t)
		b.line.Unplug()
		time.Sleep(100 * time.Millisecond)
		_, err = r.Actuate(context.Background(), robot.Command{ID: "off", Kind: robot.TorqueOff})
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
		require.Equal(t, robot.No, r.Stop(context.Background(), robot.StopEmergency).Commanded)
		require.True(t, b.line.Powered(1), "nobody has told it")

		b.line.Plug()
		time.Sleep(5 * time.Second)
		require.NoError(t, actuate(t, r, robot.EStopReset))
		b.trace.Reset()
		require.NoError(t, actuate(t, r, robot.TorqueOff))
		var sent [][]byte
		for _, p := range b.trace.Packets() {
			if p.FromHost && p.Op == bus.Write {
				sent = append(sent, p.Bytes)
			}
		}
		require.Len(t, sent, 6)
		require.Equal(t, []byte{0xFF, 0xFF, 0x01, 0x04, 0x03, 0x28, 0x00, 0xCF}, sent[0])
	})
}

// A stop is never refused: not before torque, not in a fault, not twice, not while torque
// goes on, and nothing rides on it.
func TestCase39_AStopIsNeverRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		ctx := context.Background()
		r := b.open(t)
		for range 2 {
			require.Equal(t, robot.Yes, r.Stop(ctx, robot.StopControlled).Commanded)
		}
		require.NoError(t, actuate(t, r, robot.TorqueOn))
		got := b.midway(t, r, func() { must(t, b.line.Heat(b.id(0), b.o.Hardware.Joints[0].MaxTemperature+2)) })
		require.Error(t, got.err)
		addr, size := b.goal()
		b.trace.Reset()
		v := r.Stop(ctx, robot.StopControlled)
		require.Equal(t, robot.Yes, v.Commanded, v.Text)
		require.Equal(t, robot.Yes, v.Stationary, v.Text)
		require.Empty(t, b.trace.Writes(addr, size))
		require.Empty(t, b.trace.Writes(b.torque(), 1))
	})
}

// One that doesn't answer keeps nobody from letting go of the others, nor from giving the
// line back; and all that went wrong is said.
func TestCase50_EachServoIsToldAndTheLineIsGivenBack(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		b.o.Hardware.EStopPowersOff = true // so that closing lets go
		r, err := feetech.Open(context.Background(), b.o)
		require.NoError(t, err)
		require.NoError(t, actuate(t, r, robot.TorqueOn))
		must(t, b.line.Mute(b.id(0), true))
		err = r.Close()
		require.ErrorContains(t, err, b.o.Hardware.Joints[0].Name)
		require.NoError(t, r.Close(), "a second one returns nil")
		b.each(t, func(id byte) error {
			require.False(t, b.line.Powered(id), "servo %d", id)
			return nil
		})
		l, err := b.line.Dial()
		require.NoError(t, err, "the line is free")
		require.NoError(t, l.Close())
	})
}

// A servo that is set to turn by speed is refused, and nothing here can set one to.
func TestCase42_NoServoTurnsBySpeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := so101().bench(t)
		b.register(t, 3, 33, 1)
		_, err := feetech.Open(context.Background(), b.o)
		require.Equal(t, robot.CodeNotSupported, robot.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, "elbow_flex")
		require.ErrorContains(t, err, "operating mode is 1")
	})
}

// A Feetech servo has no watchdog of its own: a bridge that is gone leaves it one
// setpoint ahead, at rest.
func TestCase42_AServoWithoutAWatchdogIsOneSetpointAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := so101().bench(t)
		r := b.enabled(t)
		addr, size := b.goal()
		var goals []byte
		got := b.midway(t, r, func() {
			for _, w := range b.trace.Writes(addr, size) {
				if w.ID == 1 {
					goals = w.Data
				}
			}
			b.line.Unplug()
		})
		require.Error(t, got.err)
		time.Sleep(time.Second)
		last, _ := b.register32(goals)
		at := b.o.Hardware.Joints[0].Units(b.observe()[0])
		require.InDelta(t, last, at, 8, "where it was told to be last")
		require.False(t, bytes.Equal(goals, nil))
	})
}
