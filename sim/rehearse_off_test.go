package sim_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/sim"
)

// A rehearsed sag is what the robot then does, each time the same.
func TestARehearsedSagIsWhatTheRobotDoes(t *testing.T) {
	t.Parallel()
	m, err := builtin.Load("so101")
	require.NoError(t, err)
	start := append([]float64(nil), m.Home...)
	start[m.ActiveIndex("shoulder_lift")] += 0.3
	r, err := sim.New(sim.Options{Model: m, Clock: sim.Fast, Seed: 1, Start: start})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	s, err := r.State(t.Context())
	require.NoError(t, err)
	h, err := sim.NewRehearser(m, nil, 1, sim.RehearserOptions{})
	require.NoError(t, err)
	sag, err := h.RehearseOff(t.Context(), s)
	require.NoError(t, err)
	again, err := h.RehearseOff(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, sag, again)
	require.Equal(t, sim.Version, sag.Simulator)
	require.InDeltaSlice(t, s.Positions, sag.Start, 1e-9)

	now, err := r.State(t.Context())
	require.NoError(t, err)
	require.InDeltaSlice(t, s.Positions, now.Positions, 1e-12, "a rehearsal moves nothing")
	out, err := r.Actuate(t.Context(), robot.Command{Kind: robot.TorqueOff, Epoch: s.StopEpoch})
	require.NoError(t, err)
	require.InDeltaSlice(t, out.Final.Positions, sag.End, 0.02)
	require.InDelta(t, out.Duration, sag.Duration, 0.2)
	require.Greater(t, sag.Tip[0][2]-sag.Tip[1][2], 0.02, "the tool sinks")
	far := 0.0
	for i := range sag.End {
		far = math.Max(far, math.Abs(sag.End[i]-sag.Start[i]))
	}
	require.Greater(t, far, 0.1)

	// Where nothing is measured it begins at the setpoints.
	blind := robot.State{Setpoints: s.Setpoints}
	told, err := h.RehearseOff(t.Context(), blind)
	require.NoError(t, err)
	require.InDeltaSlice(t, sag.End, told.End, 0.05)
}

func TestARehearsedSagThatCannotBe(t *testing.T) {
	t.Parallel()
	m, err := builtin.Load("pantilt")
	require.NoError(t, err)
	h, err := sim.NewRehearser(m, nil, 1, sim.RehearserOptions{})
	require.NoError(t, err)
	for name, s := range map[string]robot.State{
		"nothing":       {},
		"NaN":           {Positions: []float64{0, math.NaN()}, Setpoints: []float64{0, 0}},
		"one too few":   {Positions: []float64{0}},
		"nobody's body": {Positions: []float64{0, 0}, Held: "cup"},
	} {
		_, err := h.RehearseOff(t.Context(), s)
		require.Equal(t, robot.CodeRehearsalFailed, robot.CodeOf(err), "%s: %v", name, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = h.RehearseOff(ctx, robot.State{Positions: []float64{0, 0}})
	require.Equal(t, robot.CodeCancelled, robot.CodeOf(err), "%v", err)
}
