package motion_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// The drawing begins and ends where the rehearsal did, and its tool is where the
// joints put it.
func TestACardsDataHasADrawingOfTheRehearsedMotion(t *testing.T) {
	g, _, reh := newLive(t, rigOptions{})
	names := g.model.JointNames()
	reh.Joints = make([]robot.JointRehearsal, len(names))
	for i, n := range names {
		reh.Joints[i].Joint = n
	}
	reh.SamplePeriod = 0.02
	for k := range 301 {
		q := make([]float64, len(names))
		q[0] = 0.5 * math.Sin(float64(k)/300*math.Pi/2)
		reh.Trace = append(reh.Trace, q)
	}
	var data struct {
		Duration *float64 `json:"duration_s"`
		Drawing  *struct {
			T         []float64    `json:"t_s"`
			Positions [][]float64  `json:"positions"`
			Tool      [][3]float64 `json:"tool"`
		} `json:"drawing"`
	}
	read := func() {
		data.Drawing = nil
		require.NoError(t, json.Unmarshal(g.action("move_joints", turn).Card().Data, &data))
	}
	read()
	require.NotNil(t, data.Duration, "the record is there as well")
	d := data.Drawing
	require.NotNil(t, d)
	n := len(d.T)
	require.Greater(t, n, 20)
	require.LessOrEqual(t, n, 64, "it is small")
	require.Len(t, d.Tool, n)
	require.Len(t, d.Positions, len(names))
	require.Zero(t, d.T[0])
	require.InDelta(t, 6, d.T[n-1], 0.1)
	require.InDelta(t, 0.5, d.Positions[0][n-1], 1e-4)
	for k := 1; k < n; k++ {
		require.Greater(t, d.T[k], d.T[k-1])
	}
	for k := range d.Tool {
		q := make([]float64, len(names))
		for i := range q {
			q[i] = d.Positions[i][k]
		}
		want := newTip(g.model, q)
		require.InDeltaSlice(t, want[:], d.Tool[k][:], 2e-4)
	}

	reh.Trace = nil // the rig adds the end
	read()
	require.Nil(t, data.Drawing, "one moment is no motion")
	reh.Trace, reh.Joints = [][]float64{make([]float64, len(names))}, nil
	read()
	require.Nil(t, data.Drawing, "a record that doesn't name the joints isn't drawn")
}
