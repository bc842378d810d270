package bustest

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech/bus"
)

// The files of the makers' tables, from a codec's folder.
const (
	registersFile = "../../../testdata/servobus/registers.txt"
	valuesFile    = "../../../testdata/servobus/values.txt"
)

// Table holds a table of registers to the maker's: each of ours is one of its, and with
// all each of its is one of ours.
func Table(t *testing.T, table string, ours []bus.Register, kept uint16, all bool) {
	type place struct {
		addr, size int
		sign       string
	}
	theirs := map[string]place{}
	for _, w := range Lines(t, registersFile) {
		if w[1] == table {
			theirs[w[2]] = place{number(t, w[3]), number(t, w[4]), w[5]}
		}
	}
	end := uint16(0)
	for _, r := range ours {
		want, ok := theirs[r.Name]
		require.True(t, ok, "the maker has no %s", r.Name)
		sign := "-"
		if r.Sign == bus.Magnitude {
			sign = strconv.Itoa(r.Bit)
		}
		require.Equal(t, want, place{int(r.Addr), r.Size, sign}, r.Name)
		require.GreaterOrEqual(t, r.Addr, end, "%s isn't behind the one before", r.Name)
		end = r.End()
		require.Equal(t, r.Addr < kept, r.Kept, r.Name)
		require.Contains(t, []int{1, 2, 4}, r.Size, r.Name)
		require.Less(t, r.Bit, 8*r.Size, r.Name)
		delete(theirs, r.Name)
	}
	if all {
		require.Empty(t, theirs)
	}
}

// Values holds the numbers in registers to the maker's.
func Values(t *testing.T, table string, ours []bus.Register) {
	byName := map[string]bus.Register{}
	for _, r := range ours {
		byName[r.Name] = r
	}
	for _, w := range Lines(t, valuesFile) {
		if w[1] != table {
			continue
		}
		r, ok := byName[w[2]]
		require.True(t, ok, w[2])
		v, err := strconv.ParseInt(w[3], 10, 64)
		require.NoError(t, err)
		b, err := r.Append(nil, v)
		if w[4] == "-" {
			require.Error(t, err, "%s %d", r.Name, v)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, Hex(t, w[4]), b, "%s %d", r.Name, v)
		got, ok := r.In(append([]byte{1, 2, 3}, b...), r.Addr-3)
		require.True(t, ok)
		require.Equal(t, v, got, r.Name)
		_, ok = r.Value(b[1:])
		require.False(t, ok)
		_, ok = r.In(b, r.Addr+1)
		require.False(t, ok)
		_, ok = r.In(b, 0)
		require.Equal(t, r.Addr == 0, ok)
	}
	for _, r := range ours {
		lo, hi := r.Range()
		for _, v := range []int64{lo - 1, hi + 1, math.MinInt64, math.MaxInt64} {
			_, err := r.Append(nil, v)
			require.Error(t, err, "%s %d", r.Name, v)
		}
	}
}
