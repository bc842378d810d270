package trajectory

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// cut returns the part of tr up to part (from 0 to 1) of segment k, and the state
// there. It counts time in the segment: a motion that lasts weeks, as slow limits
// and a long way give, has no precision to spare in the time since its start.
func cut(tr robot.Trajectory, k int, part float64) (segments []robot.Segment, q, v, a []float64) {
	segments = append(segments, tr.Segments[:k+1]...)
	last := &segments[k]
	last.Duration *= part
	for i := range last.Q {
		qi, vi, ai := integrate(last.Q[i], last.V[i], last.A[i], last.J[i], last.Duration)
		q, v, a = append(q, qi), append(v, vi), append(a, ai)
	}
	if last.Duration == 0 {
		segments = segments[:k]
	}
	return segments, q, v, a
}

// A stop at any instant of any planned motion, with the robot's full limits,
// makes with the part of the motion before it a trajectory that passes Validate:
// continuous, within every limit and within the span of the motion's ends, which
// are the position limits here. So a stop never takes a joint over a limit that
// the motion keeps, and never sends one back.
func TestStopFromAnywhereStaysInside(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	n := 40_000
	if raceEnabled {
		n /= 10
	}
	for range n {
		p := randomProblem(r)
		tr, err := PointToPoint(p.names, p.limits, p.from, p.to, p.scale)
		require.NoError(t, err)
		k, part := r.IntN(len(tr.Segments)), r.Float64()
		if r.IntN(4) == 0 { // at a change of phase
			part = math.Round(part)
		}
		before, q, v, a := cut(tr, k, part)
		// The time that the motion has left, and the time in which full jerk makes
		// up for a velocity that is off by its rounding.
		left := tr.Duration() - robot.Trajectory{Segments: before}.Duration() + 1e-9*(1+tr.Duration())
		var rounding float64
		for _, l := range p.limits {
			rounding = math.Max(rounding, 4*math.Sqrt(1e-15*l.Velocity/l.Jerk))
		}

		each := robot.BrakeTrajectory(p.names, q, v, a, p.limits)
		line, ok := robot.BrakeAlongLine(p.names, q, v, a, p.limits)
		require.True(t, ok, "a straight motion is one")
		for name, stop := range map[string]robot.Trajectory{"each": each, "line": line} {
			whole := robot.Trajectory{Joints: p.names, Segments: append(before[:len(before):len(before)], stop.Segments...)}
			require.NoError(t, whole.Validate(p.limits), name)
			atMost(t, stop.Duration(), math.Max(robot.HoldDuration, left+rounding), "a stop ends before the motion would")
		}
		p.checkStops(t, q, v, a, each, line)
	}
}

// checkStops holds the two kinds of stop to what sets them apart.
func (p problem) checkStops(t require.TestingT, q, v, a []float64, each, line robot.Trajectory) {
	endEach, endLine := each.End(), line.End()
	var slowest float64
	lead := 0
	for i, l := range p.limits {
		d := p.to[i] - p.from[i]
		slowest = math.Max(slowest, robot.StoppingTime(v[i], a[i], l))
		tol := 1e-9 + 1e-12*math.Abs(q[i])
		near(t, q[i]+robot.StoppingDistance(v[i], a[i], l), endEach[i], tol, "each joint's own stopping distance")
		// Neither turns round, and the line's stop isn't the nearer one.
		forward := math.Copysign(1, d)
		atMost(t, 0, forward*(endEach[i]-q[i])+tol, "turned round")
		atMost(t, forward*(endEach[i]-q[i]), forward*(endLine[i]-q[i])+tol, "the line's stop is nearer")
		if math.Abs(d) > math.Abs(p.to[lead]-p.from[lead]) {
			lead = i
		}
	}
	if each.Duration() > robot.HoldDuration {
		near(t, slowest, each.Duration(), 1e-9*slowest, "duration")
	}
	// The line's stop ends on the line.
	along := (endLine[lead] - p.from[lead]) / (p.to[lead] - p.from[lead])
	for i := range p.limits {
		near(t, p.from[i]+along*(p.to[i]-p.from[i]), endLine[i], 1e-9+1e-11*math.Abs(q[i]), "off the line")
	}
}

func TestBrakeAlongLineNeedsALine(t *testing.T) {
	names, limits, q := []string{"a", "b"}, plain(2), []float64{0, 0}
	for name, tt := range map[string]struct {
		v, a []float64
		ok   bool
	}{
		"at rest":             {[]float64{0, 0}, []float64{0, 0}, true},
		"one joint":           {[]float64{0.5, 0}, []float64{-1, 0}, true},
		"proportional":        {[]float64{0.5, -0.25}, []float64{1, -0.5}, true},
		"no acceleration":     {[]float64{0.5, 0.3}, []float64{0, 0}, true},
		"no velocity":         {[]float64{0, 0}, []float64{1, 0.3}, true},
		"bent":                {[]float64{0.5, 0.5}, []float64{1, -1}, false},
		"slightly bent":       {[]float64{0.5, 0.5}, []float64{1, 1 + 1e-7}, false},
		"other joint":         {[]float64{0.5, 0}, []float64{0, 1}, false},
		"NaN":                 {[]float64{0.5, math.NaN()}, []float64{0, 0}, false},
		"wrong count":         {[]float64{0.5}, []float64{0, 0}, false},
		"infinite":            {[]float64{0, 0}, []float64{math.Inf(1), 0}, false},
		"beyond acceleration": {[]float64{0.5, 0.5}, []float64{3, 3}, true},
	} {
		t.Run(name, func(t *testing.T) {
			tr, ok := robot.BrakeAlongLine(names, q, tt.v, tt.a, limits)
			require.Equal(t, tt.ok, ok)
			if !ok {
				require.Empty(t, tr)
				return
			}
			require.Equal(t, q, tr.Start())
			last := tr.Segments[len(tr.Segments)-1]
			for i := range names {
				_, v, a := integrate(0, last.V[i], last.A[i], last.J[i], last.Duration)
				require.InDelta(t, 0, v, 1e-15)
				require.InDelta(t, 0, a, 1e-15)
			}
		})
	}
	_, ok := robot.BrakeAlongLine(names, q, []float64{0.5, 0}, q, make([]robot.JointLimits, 2))
	require.False(t, ok, "without limits there is no telling")
}
