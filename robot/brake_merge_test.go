package robot

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBrakeTrajectory(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		n := 1 + r.IntN(12)
		names, limits := make([]string, n), make([]JointLimits, n)
		q, v, a := make([]float64, n), make([]float64, n), make([]float64, n)
		var total float64
		for i := range n {
			names[i], limits[i] = fmt.Sprint("j", i), randomLimits(r)
			q[i] = 20*r.Float64() - 10
			if r.IntN(4) > 0 {
				v[i], a[i] = randomMotion(r, limits[i])
			}
			total = math.Max(total, StoppingTime(v[i], a[i], limits[i]))
		}
		tr := BrakeTrajectory(names, q, v, a, limits)
		require.Equal(t, names, tr.Joints)
		if total == 0 {
			require.Equal(t, Hold(names, q), tr)
			require.NoError(t, tr.Validate(limits))
			continue
		}
		require.InEpsilon(t, total, tr.Duration(), 1e-9)
		// It is the start alone that keeps it from being a trajectory from rest
		// to rest: with the state before put in as where it comes from, it passes.
		require.NoError(t, tr.validateShape(limits))
		var start float64
		for k := range tr.Segments {
			for i := range n {
				if k > 0 {
					require.NoError(t, relaxed(tr, k, i, start, limits[i], a[i]))
				}
			}
			start += tr.Segments[k].Duration
		}
		require.Equal(t, q, tr.Start())
		end, last := tr.End(), tr.Segments[len(tr.Segments)-1]
		for i := range n {
			_, v1, a1 := cubic(last.Q[i], last.V[i], last.A[i], last.J[i], last.Duration)
			require.InDelta(t, 0, v1, 1e-12*(limits[i].Velocity+a[i]*a[i]/limits[i].Jerk))
			require.InDelta(t, 0, a1, 1e-12*limits[i].Acceleration)
			d := StoppingDistance(v[i], a[i], limits[i])
			require.InDelta(t, q[i]+d, end[i], 1e-9*(1+math.Abs(d)))
		}
	}
}

// relaxed validates one joint's segment with limits wide enough for the draws
// that start beyond them.
func relaxed(tr Trajectory, k, i int, start float64, lim JointLimits, a float64) error {
	lim.Velocity *= 4
	lim.Velocity += a * a / lim.Jerk
	lim.Acceleration *= 1 + 1e-9
	return tr.validateJoint(k, i, start, lim)
}

// What braking is for: from any point of a trajectory within the limits, the
// stop stays within position, velocity, acceleration and jerk limits, and never
// turns round.
func TestBrakeFromWithinAMoveStaysInside(t *testing.T) {
	tr, limits := sample(t), sampleLimits()
	names := tr.Joints
	q, v, a := make([]float64, 2), make([]float64, 2), make([]float64, 2)
	for s := 0.0; s < tr.Duration(); s += 1e-3 {
		tr.Sample(s, q, v, a)
		stop := BrakeTrajectory(names, q, v, a, limits)
		// Put in front what leads from rest to here, and the whole is a valid
		// trajectory from rest to rest: the prefix of the move, then the stop.
		whole := Trajectory{Joints: names, Segments: append(prefix(tr, s), stop.Segments...)}
		require.NoError(t, whole.Validate(limits), "stopped at %g s", s)
		end := stop.End()
		require.GreaterOrEqual(t, end[0], q[0]-1e-12, "stopped at %g s", s)
		require.LessOrEqual(t, end[0], 1+1e-12)
	}
}

// prefix returns the segments of tr up to time s.
func prefix(tr Trajectory, s float64) []Segment {
	var out []Segment
	for _, seg := range tr.Segments {
		if s <= 0 {
			break
		}
		seg.Duration = math.Min(seg.Duration, s)
		s -= seg.Duration
		out = append(out, seg)
	}
	return out
}

func TestBrakeTrajectoryCounts(t *testing.T) {
	lim := []JointLimits{unitLimits()}
	one := []float64{1}
	require.Empty(t, BrakeTrajectory(nil, nil, nil, nil, nil).Segments)
	require.Empty(t, BrakeTrajectory([]string{"a"}, one, one, nil, lim).Segments)
	require.Empty(t, BrakeTrajectory([]string{"a"}, one, one, one, nil).Segments)
}

func BenchmarkBrakeTrajectory(b *testing.B) {
	const n = 7
	names, limits := make([]string, n), make([]JointLimits, n)
	q, v, a := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		names[i], limits[i], v[i], a[i] = fmt.Sprint("j", i), unitLimits(), 0.1*float64(i), 0.2
	}
	b.ReportAllocs()
	for b.Loop() {
		BrakeTrajectory(names, q, v, a, limits)
	}
}
