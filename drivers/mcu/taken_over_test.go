package mcu_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// Joints that a bridge before has left with power are where the board holds them, whatever
// is said of them: a card that says they are at home would be of another place.
func TestWhatIsSaidOfJointsThatHavePowerDoesNotCount(t *testing.T) {
	inBubble(t, func(t *testing.T, bin string) {
		ctx := context.Background()
		b := servos().newBench(t, bin)
		b.o.At = []float64{0.2, -0.3}
		r := b.open(t)
		actuate(t, r, robot.TorqueOn)
		b.s.unplug() // as the end of a bridge that was killed
		time.Sleep(time.Second)
		require.NoError(t, r.Close())
		b.s.replug()

		b.o.At = []float64{0, 0}
		r = b.open(t)
		s, err := r.State(ctx)
		require.NoError(t, err)
		require.True(t, s.Powered)
		require.Nil(t, s.Declared)
		require.InDeltaSlice(t, []float64{0.2, -0.3}, s.Setpoints, 1e-5)
		actuate(t, r, robot.EStopReset)
		out := actuate(t, r, robot.TorqueOn)
		require.InDeltaSlice(t, []float64{0.2, -0.3}, out.Final.Setpoints, 1e-5)
		time.Sleep(100 * time.Millisecond)
		require.InDeltaSlice(t, []float64{0.2, -0.3}, b.observe(), 1e-4)
	})
}

// A board that ran dry can't tell a bridge that was killed from one that was too slow, so
// both are said.
func TestABoardThatRanDrySaysBothReasons(t *testing.T) {
	inBubble(t, func(t *testing.T, bin string) {
		ctx := context.Background()
		b := servos().newBench(t, bin)
		r := b.open(t)
		actuate(t, r, robot.TorqueOn)
		go func() {
			time.Sleep(500 * time.Millisecond)
			b.s.unplug()
		}()
		out, err := r.Execute(ctx, moveTo(t, r, []float64{0.8, 0.1}, 3), nil)
		require.Error(t, err)
		require.NotEqual(t, robot.OutcomeDone, out.Status)
		time.Sleep(time.Second)
		require.NoError(t, r.Close())
		b.s.replug()
		s, err := b.open(t).State(ctx)
		require.NoError(t, err)
		require.NotEmpty(t, s.Faults)
		require.Equal(t, robot.CodeLinkTimeout, s.Faults[0].Code)
		require.Contains(t, s.Faults[0].Text, "the bridge was ended, or")
	})
}
