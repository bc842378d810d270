package trajectory

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
)

// driven is the arc of a base with wheels of 5 cm and a track of 0.3 m.
type driven struct{ left, right float64 } // travel, rad

func (d driven) At(s float64, q, d1, d2, d3 []float64) {
	const radius, track = 0.05, 0.3
	ds, dyaw := radius*(d.left+d.right)/2, radius*(d.right-d.left)/track
	sin, cos := math.Sincos(dyaw * s)
	q[0], q[1], q[2] = ds*s, 0, dyaw*s
	if dyaw != 0 {
		q[0], q[1] = ds/dyaw*sin, ds/dyaw*(1-cos)
	}
	d1[0], d1[1], d1[2] = ds*cos, ds*sin, dyaw
	d2[0], d2[1], d2[2] = -ds*dyaw*sin, ds*dyaw*cos, 0
	d3[0], d3[1], d3[2] = -ds*dyaw*dyaw*cos, -ds*dyaw*dyaw*sin, 0
	for i, w := range [2]float64{d.left, d.right} {
		q[3+i], d1[3+i], d2[3+i], d3[3+i] = w*s, w, 0, 0
	}
}

var baseNames = []string{"x", "y", "yaw", "left", "right"}

func baseLimits() []robot.JointLimits {
	out := make([]robot.JointLimits, 5)
	for i := range out {
		out[i] = robot.JointLimits{Velocity: 1, Acceleration: 1, Jerk: 10}
	}
	out[2] = robot.JointLimits{Velocity: 3, Acceleration: 6, Jerk: 60}
	out[3] = robot.JointLimits{Velocity: 10, Acceleration: 10, Jerk: 100}
	out[4] = out[3]
	return out
}

func at(left, right float64) func(float64) Curve {
	return func(c float64) Curve { return driven{left * c, right * c} }
}

// TestCurveAtSpeedProperties: the duration is what was asked for, in the middle the
// wheels turn at exactly the speed asked for, and all of it is within the limits; or
// what is offered instead is accepted.
func TestCurveAtSpeedProperties(t *testing.T) {
	limits := baseLimits()
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		left, right := rapid.Float64Range(-11, 11).Draw(t, "left"), rapid.Float64Range(-11, 11).Draw(t, "right")
		duration := rapid.Float64Range(0.1, 20).Draw(t, "duration")
		if max(math.Abs(left), math.Abs(right)) < 1e-3 {
			left = 1
		}
		for try := range 4 {
			tr, c, err := CurveAtSpeed(baseNames, limits, at(left, right), duration, 1)
			if err == nil {
				accepted++
				requireCruise(t, tr, limits, left, right, duration, c)
				return
			}
			e := new(robot.Error)
			require.ErrorAs(t, err, &e)
			require.Equal(t, robot.CodeSpeedLimit, e.Code)
			require.Less(t, try, 3, "what was offered was refused: %v", err)
			require.Len(t, e.Nearest, 1)
			switch n := e.Nearest[0]; n.Name {
			case "speed":
				require.Positive(t, n.Value)
				require.Less(t, n.Value, 1.0)
				require.Contains(t, baseNames, e.Where)
				left, right = left*n.Value, right*n.Value
			case "duration":
				require.Greater(t, n.Value, duration)
				duration = n.Value
			default:
				require.Fail(t, n.Name)
			}
		}
	})
	require.GreaterOrEqual(t, accepted, 50)
}

func requireCruise(t require.TestingT, tr robot.Trajectory, limits []robot.JointLimits, left, right, duration, c float64) {
	require.NoError(t, tr.Validate(limits))
	require.InDelta(t, duration, tr.Duration(), 1e-9)
	require.LessOrEqual(t, c, duration)
	require.GreaterOrEqual(t, c, duration/2)
	v, q := make([]float64, 5), make([]float64, 5)
	tr.Sample(duration/2, q, v, nil)
	require.InDelta(t, left, v[3], 1e-9)
	require.InDelta(t, right, v[4], 1e-9)
	ramp := duration - c
	for _, at := range []float64{ramp * 1.001, c * 0.999} {
		if at > ramp && at < c {
			tr.Sample(at, nil, v, nil)
			require.InDelta(t, left, v[3], 1e-6)
			require.InDelta(t, right, v[4], 1e-6)
		}
	}
	want := make([]float64, 5)
	driven{left * c, right * c}.At(1, want, make([]float64, 5), make([]float64, 5), make([]float64, 5))
	require.InDeltaSlice(t, want, tr.End(), 1e-9)
}

func TestCurveAtSpeedRefuses(t *testing.T) {
	limits := baseLimits()
	run := func(left, right, duration float64) *robot.Error {
		tr, _, err := CurveAtSpeed(baseNames, limits, at(left, right), duration, 1)
		e := new(robot.Error)
		require.ErrorAs(t, err, &e)
		require.Empty(t, tr.Segments)
		return e
	}
	// A wheel's speed: the wheel is named, with the fraction that it can do.
	e := run(5, 12.5, 3)
	require.Equal(t, robot.CodeSpeedLimit, e.Code)
	require.Equal(t, "right", e.Where)
	require.InDelta(t, 12.5, e.Value.Value, 1e-9)
	require.InDelta(t, 10, e.Limit.Value, 1e-9)
	require.Equal(t, "speed", e.Nearest[0].Name)
	require.InDelta(t, 0.8, e.Nearest[0].Value, 1e-9)
	// No time for the ramps: from rest to 8 rad/s takes 0.9 s at 10 rad/s² and 100 rad/s³.
	e = run(8, 8, 1)
	require.Equal(t, "duration", e.Where)
	require.Equal(t, "duration", e.Nearest[0].Name)
	require.InDelta(t, 1.8, e.Nearest[0].Value, 0.05)

	require.Equal(t, robot.CodeInvalidArgument, run(0, 0, 3).Code)
	for _, d := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		require.Equal(t, robot.CodeInvalidArgument, run(1, 1, d).Code)
	}
	require.Equal(t, robot.CodeInvalidArgument, run(math.NaN(), 1, 1).Code)
	_, _, err := CurveAtSpeed(baseNames, limits, nil, 1, 1)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	_, _, err = CurveAtSpeed(baseNames, limits, func(float64) Curve { return nil }, 1, 1)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	_, _, err = CurveAtSpeed(baseNames, limits, at(1, 1), 1, 0)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	// A limit of position is one of the whole motion.
	limits[0].Bounded, limits[0].Lower, limits[0].Upper = true, -1, 1
	require.Equal(t, robot.CodeJointLimit, run(8, 8, 5).Code)
}

func BenchmarkCurveAtSpeed(b *testing.B) {
	limits := baseLimits()
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := CurveAtSpeed(baseNames, limits, at(4, 6), 5, 1); err != nil {
			b.Fatal(err)
		}
	}
}
