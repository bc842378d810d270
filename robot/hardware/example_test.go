package hardware_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/hardware"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func model(t testing.TB, name string) *robot.Model {
	t.Helper()
	m, err := builtin.Load(name)
	require.NoError(t, err)
	return m
}

func example(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile("../../testdata/hardware/" + file)
	require.NoError(t, err)
	return data
}

func TestTheExamplesAreWhatTheySay(t *testing.T) {
	m := model(t, "pantilt")
	f, err := hardware.Parse("p.toml", example(t, "pantilt-servo2.toml"), m, noon)
	require.NoError(t, err)
	require.Equal(t, "mcu", f.Driver)
	require.Equal(t, 115200, f.Baud)
	require.True(t, f.EStopPowersOff)
	require.False(t, f.LostLinkPowersOff)
	require.Equal(t, []bool{true, true}, f.OpenLoop())
	require.Equal(t, time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), f.Calibrated)
	pan, tilt := &f.Joints[0], &f.Joints[1]
	require.Equal(t, []float64{-1.4, 1.4, 4, 20, 200}, []float64{pan.Lower, pan.Upper, pan.Velocity, pan.Acceleration, pan.Jerk})
	require.Equal(t, []float64{-0.9, 1.2}, []float64{tilt.Lower, tilt.Upper}) // the description's
	require.InDelta(t, 1472+590.8, pan.Units(1), 1e-9)
	require.InDelta(t, 1472-590.8, tilt.Units(1), 1e-9)
	require.InDelta(t, 1, tilt.Position(tilt.Units(1)), 1e-12)
	require.Equal(t, []hardware.Output{{Actuator: "lamp", Channel: 2, Scale: 1}}, f.Outputs)

	narrow, err := f.Tightened(m)
	require.NoError(t, err)
	require.Equal(t, -1.4, narrow.Limits[0].Lower)
	require.Equal(t, -1.48, m.Limits[0].Lower) // the model itself stays what it is
	require.Equal(t, m.Hash, narrow.Hash)
	require.NotEqual(t, m.ModelHash, narrow.ModelHash)

	g := model(t, "gantry")
	f, err = hardware.Parse("g.toml", example(t, "gantry-stepper3.toml"), g, noon)
	require.NoError(t, err)
	require.Equal(t, []bool{false, false, false}, f.OpenLoop())
	require.Equal(t, hardware.Stepper, f.Joints[2].Kind)
	narrow, err = f.Tightened(g)
	require.NoError(t, err)
	require.Equal(t, 0.02, narrow.Limits[2].Velocity)
}
