package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/cmd/tau/internal/bench/farend"
	"github.com/tau-robot/tau/motion/trajectory"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/hardware"
)

// On a port nothing but greetings, limits, heartbeats and stops goes out.
func TestWirePortMovesNothing(t *testing.T) {
	model, err := builtin.Load("so101")
	require.NoError(t, err)
	file, err := hardware.Parse("bench", servoFile(model), model, time.Now())
	require.NoError(t, err)
	model, err = file.Tightened(model)
	require.NoError(t, err)
	line, err := farend.Open(model.DoF(), wireBaud)
	require.NoError(t, err)
	seen := map[string]int{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for f := range line.Frames() {
			seen[f.Type.String()]++
		}
	}()
	r, err := WirePort(t.Context(), model, file, line.Path())
	require.NoError(t, err)
	require.NoError(t, line.Close())
	<-done
	require.Equal(t, "wire", r.Benchmark)
	require.Equal(t, wirePortRounds, r.Runs)
	require.Positive(t, r.Measures[0].Min)
	require.Len(t, r.Also, 1)
	require.GreaterOrEqual(t, seen["STOP"], wirePortRounds)
	for _, moves := range []string{"ENABLE", "BEGIN", "SEGMENT", "GO", "OUTPUT", "CLEAR", "REFERENCE"} {
		require.Zero(t, seen[moves], moves)
	}
}

// A sliced trajectory is the same one, and one that a driver takes.
func TestASlicedTrajectoryIsTheSame(t *testing.T) {
	model, err := builtin.Load("so101")
	require.NoError(t, err)
	to := append([]float64(nil), model.Home...)
	for i, l := range model.Limits {
		to[i] = (l.Lower + 3*l.Upper) / 4
	}
	whole, err := trajectory.PointToPoint(model.JointNames(), model.Limits, model.Home, to, 0.5)
	require.NoError(t, err)
	parts := sliced(whole)
	require.NoError(t, parts.Validate(model.Limits))
	require.InDelta(t, whole.Duration(), parts.Duration(), 1e-9)
	require.Greater(t, len(parts.Segments), 4*len(whole.Segments))
	n := model.DoF()
	a, b := make([]float64, n), make([]float64, n)
	for s := 0.0; s < whole.Duration(); s += 0.003 {
		whole.Sample(s, a, nil, nil)
		parts.Sample(s, b, nil, nil)
		require.InDeltaSlice(t, a, b, 1e-9)
	}
	for _, s := range parts.Segments {
		require.Less(t, s.Duration, 1.5*wireSlice/1000.0)
	}
}
