package porttest

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// fed is what a line makes of a stream: the bytes that pass, those that are lost, and
// the other operations in order.
func fed(l *line, in []byte) (passed, lost []byte, rest []opKind) {
	for _, b := range in {
		for _, o := range l.feed(b) {
			switch o.kind {
			case pass:
				passed = append(passed, o.b)
			case lose:
				lost = append(lost, o.b)
			default:
				rest = append(rest, o.kind)
			}
		}
	}
	return passed, lost, rest
}

func seeded() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func TestFaultsHappenToTheUnitsThatTheyName(t *testing.T) {
	// Two frames, an empty one, a third.
	in := []byte{1, 2, 0, 3, 0, 0, 4, 5, 6, 0}
	for _, c := range []struct {
		name   string
		f      Fault
		passed []byte
		lost   []byte
		rest   []opKind
	}{
		{"drop the second frame", Fault{Kind: Drop, Unit: Frames, At: 1}, []byte{1, 2, 0, 0, 4, 5, 6, 0}, []byte{3, 0}, nil},
		{"the empty frame isn't counted", Fault{Kind: Drop, Unit: Frames, At: 2}, []byte{1, 2, 0, 3, 0, 0}, []byte{4, 5, 6, 0}, nil},
		{"drop from the second on", Fault{Kind: Drop, Unit: Frames, At: 1, Count: Always}, []byte{1, 2, 0, 0}, []byte{3, 0, 4, 5, 6, 0}, nil},
		{"drop two bytes", Fault{Kind: Drop, At: 1, Count: 2}, []byte{1, 3, 0, 0, 4, 5, 6, 0}, []byte{2, 0}, nil},
		{"duplicate a frame", Fault{Kind: Duplicate, Unit: Frames}, []byte{1, 2, 0, 1, 2, 0, 3, 0, 0, 4, 5, 6, 0}, nil, nil},
		{"duplicate a byte", Fault{Kind: Duplicate, At: 1}, []byte{1, 2, 2, 0, 3, 0, 0, 4, 5, 6, 0}, nil, nil},
		{"delay a frame", Fault{Kind: Delay, Unit: Frames, At: 2}, in, nil, []opKind{wait}},
		{"split a frame", Fault{Kind: Split, Unit: Frames, At: 0}, in, nil, []opKind{wait, wait, wait}},
		{"freeze at a frame", Fault{Kind: Freeze, Unit: Frames, At: 1}, in, nil, []opKind{freeze}},
		{"unplug at a frame", Fault{Kind: Unplug, Unit: Frames, At: 1}, []byte{1, 2, 0, 0, 4, 5, 6, 0}, []byte{3, 0}, []opKind{unplug}},
		{"beyond the stream", Fault{Kind: Drop, Unit: Frames, At: 3}, in, nil, nil},
	} {
		var l line
		s := l.add(c.f, seeded())
		passed, lost, rest := fed(&l, in)
		require.Equal(t, c.passed, passed, c.name)
		require.Equal(t, c.lost, lost, c.name)
		require.Equal(t, c.rest, rest, c.name)
		select {
		case <-s.fired:
			require.NotEqual(t, "beyond the stream", c.name)
		default:
			require.Equal(t, "beyond the stream", c.name, "it happened and isn't said to have")
		}
	}
}

func TestGarbleChangesOneByteTheSameForTheSameSeed(t *testing.T) {
	in := []byte{1, 2, 3, 4, 0, 5, 6, 0}
	run := func() []byte {
		var l line
		l.add(Fault{Kind: Garble, Unit: Frames}, seeded())
		out, _, _ := fed(&l, in)
		return out
	}
	out := run()
	require.Equal(t, out, run())
	require.Len(t, out, len(in))
	different := 0
	for i := range in {
		if in[i] != out[i] {
			different++
			require.Less(t, i, 4, "the delimiter or another frame was changed")
		}
	}
	require.Equal(t, 1, different)
}

func TestAFaultDoesntCountTheFrameUnderWay(t *testing.T) {
	var l line
	fed(&l, []byte{1, 2})
	l.add(Fault{Kind: Drop, Unit: Frames}, seeded())
	passed, lost, _ := fed(&l, []byte{3, 0, 4, 0, 5, 0})
	require.Equal(t, []byte{3, 0, 5, 0}, passed)
	require.Equal(t, []byte{4, 0}, lost)
}

// However faults are put together, a stream is only changed where one of them says so.
func TestPropertyFaultsKeepTheStream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "stream")
		seed := rapid.Uint64().Draw(t, "seed")
		faults := Random(rand.New(rand.NewPCG(seed, 0)), rapid.IntRange(0, 4).Draw(t, "faults"), 8)
		require.Equal(t, faults, Random(rand.New(rand.NewPCG(seed, 0)), len(faults), 8), "another one for the same seed")
		run := func(fs []Fault) (passed, lost []byte) {
			var l line
			for _, f := range fs {
				l.add(f, seeded())
			}
			passed, lost, _ = fed(&l, in)
			return passed, lost
		}
		a, _ := run(faults)
		b, _ := run(faults)
		require.Equal(t, a, b, "not deterministic")

		harmless := slices.DeleteFunc(slices.Clone(faults), func(f Fault) bool {
			return f.Kind != Delay && f.Kind != Split && f.Kind != Freeze
		})
		passed, lost := run(harmless)
		require.True(t, bytes.Equal(in, passed) && len(lost) == 0, "only its times may change")

		losing := slices.DeleteFunc(slices.Clone(faults), func(f Fault) bool { return f.Kind == Garble || f.Kind == Duplicate })
		passed, lost = run(losing)
		require.Len(t, in, len(passed)+len(lost))
		for _, f := range faults {
			require.Positive(t, f.Wait)
			require.LessOrEqual(t, f.Wait, 50*time.Millisecond)
		}
	})
}
