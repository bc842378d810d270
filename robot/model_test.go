package robot_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
)

func TestAPlaceIsOneNumberAJoint(t *testing.T) {
	m, err := builtin.Load("pantilt")
	require.NoError(t, err)
	for _, q := range [][]float64{{0, 0}, {math.NaN(), math.NaN()}, {-7, 1e9}} {
		require.NoError(t, m.CheckPlace(q))
	}
	for _, c := range []struct {
		q    []float64
		says string
	}{
		{nil, "at: 0 positions for 2 joints"}, {[]float64{1}, "1 positions for 2 joints"}, {[]float64{1, 2, 3}, "3 positions for 2 joints"},
		{[]float64{math.Inf(1), 0}, "pan: the place isn't finite"}, {[]float64{math.NaN(), math.Inf(-1)}, "tilt: the place isn't finite"},
	} {
		err := m.CheckPlace(c.q)
		require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err), "%v", c.q)
		require.ErrorContains(t, err, c.says)
	}
}

func TestTheTighterOfTwoLimits(t *testing.T) {
	a := robot.JointLimits{Bounded: true, Lower: -1, Upper: 1, Velocity: 2, Acceleration: 3, Jerk: 40}
	b := robot.JointLimits{Bounded: true, Lower: -2, Upper: 0.5, Velocity: 1, Acceleration: 4, Jerk: 30}
	want := robot.JointLimits{Bounded: true, Lower: -1, Upper: 0.5, Velocity: 1, Acceleration: 3, Jerk: 30}
	require.Equal(t, want, a.Tighter(b))
	require.Equal(t, want, b.Tighter(a))
	a.Bounded = false
	want.Lower = -2
	require.Equal(t, want, a.Tighter(b), "one of two bounds is one")
	require.Equal(t, want, b.Tighter(a))
	b.Bounded = false
	require.False(t, a.Tighter(b).Bounded)
}

// What a caller does to what it was given stays with the caller.
func TestAnInfoIsTheCallers(t *testing.T) {
	fresh := func() robot.Info {
		return robot.Info{
			Joints: []string{"pan"}, OpenLoop: []bool{true}, Actuators: []robot.Actuator{{Name: "lamp"}},
			Limits: []robot.JointLimits{{Upper: 1, Assumed: []string{"jerk"}}},
		}
	}
	i := fresh()
	c := i.Clone()
	require.Equal(t, i, c)
	c.Joints[0], c.OpenLoop[0], c.Actuators[0].Name, c.Limits[0].Upper, c.Limits[0].Assumed[0] = "", false, "", 2, ""
	require.Equal(t, fresh(), i)
}

func TestAFaultSaysItsNumbers(t *testing.T) {
	e := robot.LimitErr(robot.CodeDeviation, "pan", 0.3, 0.2, "rad", "pan is off its setpoint")
	require.Equal(t, "pan is off its setpoint (0.3 rad, limit 0.2 rad)", e.Said())
	require.Equal(t, "gone", robot.Errf(robot.CodeDisconnected, "port", "gone").Said())
}
