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
	samples := []float64{3900, 4000, 4095, 0, 100}
	require.Equal(t, []float64{3900, 4000, 4095, 4096, 4196}, feetech.Unwrap(samples))
	require.Equal(t, []float64{3900, 4000, 4095, 0, 100}, samples, "the slice is a new one")
	require.Equal(t, []float64{100, 0, -1, -96}, feetech.Unwrap([]float64{100, 0, 4095, 4000}))

	var turns feetech.Turns
	for _, s := range samples {
		turns.Add(s)
	}
	low, high := turns.Range()
	require.InDelta(t, 3900, low, 0)
	require.InDelta(t, 4196, high, 0)
}

func TestTurnsOfNothing(t *testing.T) {
	var turns feetech.Turns
	low, high := turns.Range()
	require.True(t, math.IsNaN(low) && math.IsNaN(high))
	require.True(t, math.IsNaN(turns.Add(math.NaN())))
	low, _ = turns.Range()
	require.True(t, math.IsNaN(low), "what isn't a number is no sample")
	require.InDelta(t, 7, turns.Add(7), 0)
	require.True(t, math.IsNaN(turns.Add(math.NaN())))
	require.InDelta(t, 4, turns.Add(4), 0)
	require.Empty(t, feetech.Unwrap(nil))
}

// Whatever a shaft does between two samples, as long as it is less than half a turn, it
// is followed, over any number of turns.
func TestTurnsFollowAShaft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(0, feetech.Turn-1).Draw(t, "start")
		var turns feetech.Turns
		require.InDelta(t, at, turns.Add(float64(at)), 0)
		low, high := at, at
		for _, d := range rapid.SliceOfN(rapid.IntRange(-feetech.Turn/2+1, feetech.Turn/2-1), 0, 200).Draw(t, "steps") {
			at += d
			low, high = min(low, at), max(high, at)
			read := ((at % feetech.Turn) + feetech.Turn) % feetech.Turn
			require.InDelta(t, at, turns.Add(float64(read)), 0)
		}
		l, h := turns.Range()
		require.InDelta(t, low, l, 0)
		require.InDelta(t, high, h, 0)
	})
}
