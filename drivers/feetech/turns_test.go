package feetech_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/drivers/feetech"
)

// A range of 296 ticks across the seam is one of 296 ticks, and not of 4095.
func TestCase25_ARangeAcrossTheSeam(t *testing.T) {
	for _, c := range []struct{ read, want []float64 }{
		{[]float64{3900, 4000, 4095, 0, 100}, []float64{3900, 4000, 4095, 4096, 4196}},
		{[]float64{100, 0, 4095, 4000}, []float64{100, 0, -1, -96}},
	} {
		var turns feetech.Turns
		for i, ticks := range c.read {
			require.InDelta(t, c.want[i], turns.Add(ticks), 0)
		}
	}
}

func TestTurnsOfNothing(t *testing.T) {
	var turns feetech.Turns
	require.True(t, math.IsNaN(turns.Add(math.NaN())))
	require.InDelta(t, 7, turns.Add(7), 0, "what isn't a number is no sample")
	require.True(t, math.IsNaN(turns.Add(math.NaN())))
	require.InDelta(t, 4, turns.Add(4), 0)
}

// Whatever a shaft does between two samples, as long as it is less than half a turn, it
// is followed, over any number of turns.
func TestTurnsFollowAShaft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(0, feetech.Turn-1).Draw(t, "start")
		var turns feetech.Turns
		require.InDelta(t, at, turns.Add(float64(at)), 0)
		for _, d := range rapid.SliceOfN(rapid.IntRange(-feetech.Turn/2+1, feetech.Turn/2-1), 0, 200).Draw(t, "steps") {
			at += d
			read := ((at % feetech.Turn) + feetech.Turn) % feetech.Turn
			require.InDelta(t, at, turns.Add(float64(read)), 0)
		}
	})
}
