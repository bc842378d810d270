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
