package trajectory

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
)

// requireSound: a motion that its limits accept, or a typed error. Neither has a
// number that isn't finite.
func requireSound(t require.TestingT, tr robot.Trajectory, limits []robot.JointLimits, err error) {
	finite := func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
	if err == nil {
		require.NoError(t, tr.Validate(limits))
		require.True(t, finite(tr.Duration()))
		for k := range tr.Segments {
			s := &tr.Segments[k]
			for _, row := range [][]float64{s.Q, s.V, s.A, s.J} {
				for _, x := range row {
					require.True(t, finite(x))
				}
			}
		}
		return
	}
	e := new(robot.Error)
	require.ErrorAs(t, err, &e)
	require.NotEmpty(t, e.Where)
	for _, q := range []*robot.Quantity{e.Value, e.Limit} {
		require.True(t, q == nil || finite(q.Value), "%v", err)
	}
	for _, q := range e.Nearest {
		require.True(t, finite(q.Value), "%v", err)
	}
}

// extreme draws ± a number of any exponent from -324 to 300, or 0.
func extreme(t *rapid.T, name string) float64 {
	mantissa := rapid.Float64Range(-10, 10).Draw(t, name+" mantissa")
	return mantissa * math.Pow(10, float64(rapid.IntRange(-324, 300).Draw(t, name+" exponent")))
}

// checkExtremes holds both timings against speeds of any size.
func checkExtremes(t require.TestingT, left, right, duration, scale float64) {
	limits := baseLimits()
	tr, _, err := CurveAtSpeed(baseNames, limits, at(left, right), duration, scale)
	requireSound(t, tr, limits, err)
	for _, c := range []Curve{driven{left, right}, bent{Line{make([]float64, 5), []float64{left, right, 0, 0, 0}}, right}} {
		tr, err = ThroughCurves(baseNames, limits, []Curve{c}, scale)
		requireSound(t, tr, limits, err)
	}
}

// TestExtremeSpeeds: whatever the size of a speed, a motion comes out that the limits
// accept, or a refusal; never a panic.
func TestExtremeSpeeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		left, right := extreme(t, "left"), extreme(t, "right")
		duration := math.Pow(10, rapid.Float64Range(-4, 5.5).Draw(t, "log duration"))
		scale := rapid.SampledFrom([]float64{1, 0.5, 0.01, LeastSpeedScale, LeastSpeedScale / 2, 5e-324}).Draw(t, "scale")
		checkExtremes(t, left, right, duration, scale)
	})
}

// TestSlowSpeeds is TestExtremeSpeeds where the smallest motions begin: each decade
// there, and a few of those below.
func TestSlowSpeeds(t *testing.T) {
	for exponent := -324; exponent <= 8; exponent++ {
		if exponent < -20 && exponent%19 != 0 || raceEnabled && exponent%4 != 0 {
			continue
		}
		speed := 5 * math.Pow(10, float64(exponent))
		for _, duration := range []float64{shortestDuration, 1, 300, longestDuration} {
			checkExtremes(t, speed, speed, duration, 1)
			checkExtremes(t, speed, -0.3*speed, duration, 0.5)
		}
	}
}

func FuzzCurveAtSpeed(f *testing.F) {
	for _, x := range []float64{1e-300, 1e-50, 5e-324, 1e-35, 1e-6, 1, 1e6, 1e300} {
		f.Add(x, x, 1.0, 1.0)
		f.Add(x, 0.0, 0.01, 0.5)
	}
	f.Add(1.0, 1.0, 1.0, 5e-324)
	f.Fuzz(func(t *testing.T, left, right, duration, scale float64) {
		for _, x := range []float64{left, right, duration, scale} {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return // what can't be sent
			}
		}
		checkExtremes(t, left, right, duration, scale)
	})
}

// TestTooSlowIsRefused: a speed at which nothing is seen to move has no motion; the
// one that is offered does.
func TestTooSlowIsRefused(t *testing.T) {
	limits := baseLimits()
	for _, speed := range []float64{1e-300, 1e-50, 1e-35, -1e-7} {
		_, _, err := CurveAtSpeed(baseNames, limits, at(speed, speed), 2, 1)
		e := requireCode(t, err, robot.CodeInvalidArgument, "speed")
		require.InDelta(t, 2*math.Abs(speed), e.Value.Value, 1e-9*math.Abs(speed))
		require.Equal(t, leastCruise, e.Limit.Value)
		require.Len(t, e.Nearest, 1)
		speed *= e.Nearest[0].Value
		tr, _, err := CurveAtSpeed(baseNames, limits, at(speed, speed), 2, 1)
		require.NoError(t, err)
		require.InDelta(t, 2, tr.Duration(), 1e-9)
	}
	_, _, err := CurveAtSpeed(baseNames, limits, at(5e-324, 0), 2, 1)
	require.Empty(t, requireCode(t, err, robot.CodeInvalidArgument, "speed").Nearest, "nothing finite makes it a motion")
}

// TestSpeedScales: what is offered for a scale out of range is in it.
func TestSpeedScales(t *testing.T) {
	for scale, nearest := range map[float64]float64{5e-324: LeastSpeedScale, 9.99e-5: LeastSpeedScale, 0: LeastSpeedScale, -3: LeastSpeedScale, 1.01: 1, 1e300: 1} {
		e := requireCode(t, CheckSpeedScale(scale), robot.CodeInvalidArgument, "speed_scale")
		require.Equal(t, scale, e.Value.Value)
		require.Equal(t, nearest, e.Limit.Value)
		require.Equal(t, []robot.Quantity{{Name: "speed_scale", Value: nearest}}, e.Nearest)
		require.NoError(t, CheckSpeedScale(nearest))
	}
	require.Error(t, CheckSpeedScale(math.NaN()))
}

// TestDurationsOutOfRange: a duration in which nothing can be driven, or that nobody
// waits for.
func TestDurationsOutOfRange(t *testing.T) {
	for duration, nearest := range map[float64]float64{5e-324: shortestDuration, 9e-4: shortestDuration, -1: shortestDuration, 86401: longestDuration} {
		_, _, err := CurveAtSpeed(baseNames, baseLimits(), at(1, 1), duration, 1)
		e := requireCode(t, err, robot.CodeInvalidArgument, "duration")
		require.Equal(t, []robot.Quantity{{Name: "duration", Value: nearest, Unit: "s"}}, e.Nearest)
	}
}

// TestTooManyKnots: a curve that bends too often says how many knots it would take.
func TestTooManyKnots(t *testing.T) {
	_, err := ThroughCurves(baseNames, baseLimits(), []Curve{driven{9999, 0}}, 0.5)
	e := requireCode(t, err, robot.CodeInvalidArgument, "curves[0]")
	require.Equal(t, robot.Quantity{Value: maxKnots, Unit: "knots"}, *e.Limit)
	require.Greater(t, e.Value.Value, float64(maxKnots))
	require.Less(t, e.Value.Value, 4.0*maxKnots)
}
