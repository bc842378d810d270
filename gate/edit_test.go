package gate_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

func TestG46_AnEditIsSlowerOrShorter(t *testing.T) {
	for _, e := range []gate.Edit{{SpeedScale: 0.5}, {Fraction: 0.999}, {SpeedScale: 0.1, Fraction: 0.1}} {
		require.NoError(t, e.Check(), "%+v", e)
	}
	for _, bad := range []float64{1, 1.5, -0.5, math.NaN(), math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64} {
		for _, e := range []gate.Edit{{SpeedScale: bad}, {Fraction: bad}, {SpeedScale: 0.5, Fraction: bad}} {
			require.Equal(t, gate.CodeInvalidArgument, gate.CodeOf(e.Check()), "%+v", e)
		}
	}
	require.Equal(t, gate.CodeInvalidArgument, gate.CodeOf(gate.Edit{}.Check()))
}
