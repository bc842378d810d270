package robot_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// Where a joint is: measured where it is measured, else what it was told, else nothing.
func TestStateWhere(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		positions, setpoints, want []float64
		measures                   []bool
	}{
		"all measured":         {[]float64{1, 2}, []float64{5, 6}, []float64{1, 2}, []bool{true, true}},
		"nothing measured":     {nil, []float64{5, 6}, []float64{5, 6}, []bool{false, false}},
		"one of them":          {[]float64{1, nan}, []float64{5, 6}, []float64{1, 6}, []bool{true, false}},
		"one was told nothing": {[]float64{1, nan}, []float64{5, nan}, []float64{1, nan}, []bool{true, false}},
		"no setpoints":         {[]float64{1, nan}, nil, []float64{1, nan}, []bool{true, false}},
		"nothing at all":       {nil, nil, nil, []bool{false, false}},
	} {
		s := robot.State{Positions: c.positions, Setpoints: c.setpoints}
		got := s.Where()
		require.Len(t, got, len(c.want), name)
		for i := range got {
			if math.IsNaN(c.want[i]) {
				require.True(t, math.IsNaN(got[i]), name)
				continue
			}
			require.Equal(t, c.want[i], got[i], name)
		}
		for i, want := range c.measures {
			require.Equal(t, want, s.Measures(i), "%s: joint %d", name, i)
		}
		if got != nil {
			got[0] = 99
			require.NotEqual(t, 99.0, s.Where()[0], "the slice is the caller's")
		}
	}
	require.False(t, robot.State{Positions: []float64{1}}.Measures(-1))
}

func TestInfoIsOpenLoop(t *testing.T) {
	require.False(t, robot.Info{MeasuresPosition: true}.IsOpenLoop(0))
	require.True(t, robot.Info{}.IsOpenLoop(0))
	some := robot.Info{MeasuresPosition: true, OpenLoop: []bool{false, true}}
	require.False(t, some.IsOpenLoop(0))
	for _, i := range []int{1, 2, -1} {
		require.True(t, some.IsOpenLoop(i), "joint %d: what isn't said to be measured isn't", i)
	}
}

// A clone shares nothing with its state.
func TestStateCloneIsDeep(t *testing.T) {
	s := robot.State{
		Positions: []float64{1}, Velocities: []float64{1}, Efforts: []float64{1}, Setpoints: []float64{1},
		Faults: []robot.Fault{{Text: "1"}}, Unreferenced: []bool{true}, Declared: []bool{true}, Actuators: []robot.ActuatorState{{Name: "1"}},
	}
	c := s.Clone()
	require.Equal(t, s, c)
	c.Positions[0], c.Velocities[0], c.Efforts[0], c.Setpoints[0] = 2, 2, 2, 2
	c.Faults[0].Text, c.Unreferenced[0], c.Declared[0], c.Actuators[0].Name = "2", false, false, "2"
	require.Equal(t, robot.State{
		Positions: []float64{1}, Velocities: []float64{1}, Efforts: []float64{1}, Setpoints: []float64{1},
		Faults: []robot.Fault{{Text: "1"}}, Unreferenced: []bool{true}, Declared: []bool{true}, Actuators: []robot.ActuatorState{{Name: "1"}},
	}, s)
}
