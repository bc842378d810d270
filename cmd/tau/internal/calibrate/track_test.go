package calibrate

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The samples of CASES.md 25: the shortest arc that holds them is 296 ticks.
func TestCase25_ARangeOverTheSeamIsNotTheWholeTurn(t *testing.T) {
	var k track
	for _, x := range []int{3900, 4000, 4095, 0, 100} {
		k.add(x)
	}
	require.Equal(t, []int{3900, 4196, 296}, []int{k.min, k.max, k.width()})
	require.True(t, k.crossed(0, turn-1))
	require.False(t, k.lost)
}

// However an encoder goes, and wherever it begins, the track has the way that was gone,
// as long as it goes less than a quarter of a turn at a time.
func TestATrackIsTheWayThatWasGone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(0, turn-1).Draw(t, "start")
		steps := rapid.SliceOf(rapid.IntRange(-fastest, fastest)).Draw(t, "steps")
		var k track
		k.add(at)
		lo, hi := at, at
		for _, d := range steps {
			at += d
			lo, hi = min(lo, at), max(hi, at)
			k.add(wrap(at))
		}
		require.Equal(t, []int{at, lo, hi}, []int{k.at, k.min, k.max})
		require.False(t, k.lost)
		require.Equal(t, lo < 0 || hi >= turn, k.crossed(0, turn-1))
		k.restart()
		require.Equal(t, []int{wrap(at), wrap(at), 0}, []int{k.min, k.at, k.width()})
	})
}

func TestATrackThatIsTooFastIsLost(t *testing.T) {
	for _, c := range []struct {
		to   int
		lost bool
	}{{1000 + fastest, false}, {1000 + fastest + 1, true}, {wrap(1000 - fastest), false}, {wrap(1000 - fastest - 1), true}} {
		var k track
		k.add(1000)
		k.add(c.to)
		require.Equal(t, c.lost, k.lost, "%d", c.to)
		k.restart()
		require.False(t, k.lost)
	}
	var none track
	none.restart()
	require.Zero(t, none)
}

// A servo whose offset leads it over the seam reads what no goal can be.
func TestAReadingOutsideOfTheTurnIsRefusedThoughItsRangeIsNot(t *testing.T) {
	var k track
	k.add(-396)
	k.add(-200)
	require.True(t, k.crossed(0, turn-1))
	require.Equal(t, 196, k.width())
	k.restart()
	require.False(t, k.crossed(0, turn-1))
	k.add(4100)
	require.True(t, k.crossed(0, turn-1))
}
