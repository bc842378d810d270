package robot

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// fuzzCodec: whatever a decoder accepts is encoded as the very same bytes, and
// nothing makes it panic.
func fuzzCodec(f *testing.F, name string) {
	c := codecs(f)[name]
	f.Add(c.data)
	f.Add(c.data[:len(c.data)/2])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := c.recode(data)
		if err != nil {
			require.ErrorIs(t, err, ErrCode(CodeInvalidArgument))
			return
		}
		require.Equal(t, data, got)
	})
}

func FuzzDecodeTrajectory(f *testing.F) { fuzzCodec(f, "trajectory") }
func FuzzDecodeMotion(f *testing.F)     { fuzzCodec(f, "motion") }
func FuzzDecodeRehearsal(f *testing.F)  { fuzzCodec(f, "rehearsal") }

// FuzzValidate: no trajectory that can be decoded makes Validate or sampling
// panic, and one that is accepted stays in its limits wherever it is sampled.
func FuzzValidate(f *testing.F) {
	f.Add(sample(f).AppendCanonical(nil), 0.5)
	f.Add(Hold([]string{"a", "b"}, []float64{0.5, 0}).AppendCanonical(nil), 0.0)
	f.Fuzz(func(t *testing.T, data []byte, part float64) {
		tr, err := DecodeTrajectory(data)
		if err != nil || tr.Validate(sampleLimits()) != nil {
			return
		}
		var q, v, a [2]float64
		tr.Sample(part*tr.Duration(), q[:], v[:], a[:])
		for i, lim := range sampleLimits() {
			if lim.Bounded {
				require.GreaterOrEqual(t, q[i], lim.Lower-2*PositionTolerance)
				require.LessOrEqual(t, q[i], lim.Upper+2*PositionTolerance)
			}
			require.LessOrEqual(t, v[i]*v[i], lim.Velocity*lim.Velocity*(1+1e-8))
			require.LessOrEqual(t, a[i]*a[i], lim.Acceleration*lim.Acceleration*(1+1e-8))
		}
	})
}
