package robot_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// Limits fail at start-up also where no file is between: in a description or a
// table made by a program.
func TestCase46_NewLimitsRefusesWhatIsNotALimit(t *testing.T) {
	made := func(change func(*robot.Joint)) *robot.Description {
		j := robot.Joint{Name: "j", Type: robot.Revolute, Bounded: true, Lower: -1, Upper: 1, Velocity: 2, Effort: 3, Child: 1}
		if change != nil {
			change(&j)
		}
		return &robot.Description{Name: "t", Links: []robot.Link{{Name: "a", Parent: -1}, {Name: "b"}}, Joints: []robot.Joint{j}, Active: []int{0}}
	}
	l, err := robot.NewLimits(made(nil), nil)
	require.NoError(t, err)
	require.Equal(t, []robot.JointLimits{{Bounded: true, Lower: -1, Upper: 1, Velocity: 2, Acceleration: 2, Jerk: 20, Effort: 3,
		Assumed: []string{"acceleration", "jerk"}}}, l)
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -5} {
		for _, change := range []func(*robot.Joint){
			func(j *robot.Joint) { j.Velocity = bad },
			func(j *robot.Joint) { j.Effort = bad },
			func(j *robot.Joint) { j.Upper = bad },
		} {
			_, err := robot.NewLimits(made(change), nil)
			require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), "%g", bad)
			require.Contains(t, err.Error(), "j: ")
		}
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), -5, 0} {
		v := &robot.LimitValue{Value: bad, Line: 7}
		for _, e := range []robot.LimitEntry{{Velocity: v}, {Acceleration: v}, {Jerk: v}, {Effort: v}} {
			e.Joint = "j"
			_, err := robot.NewLimits(made(nil), &robot.LimitTable{File: "f", Joints: []robot.LimitEntry{e}})
			require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), "%g", bad)
			require.Contains(t, err.Error(), "f:7: ")
		}
	}
	// A velocity that nobody gives stays unknown: not infinite, not made up.
	l, err = robot.NewLimits(made(func(j *robot.Joint) { j.Velocity = 0 }), nil)
	require.NoError(t, err)
	require.Zero(t, l[0].Velocity)
	require.Zero(t, l[0].Acceleration)
	require.Zero(t, l[0].Jerk)
}
