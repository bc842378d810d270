package planning

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
)

// TestSplineIsTwiceDifferentiable: through all knots, with slopes and second
// derivatives that agree on both sides of each, and derivatives that are those of
// the positions.
func TestSplineIsTwiceDifferentiable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, dof := rapid.IntRange(leastKnots, 20).Draw(t, "n"), rapid.IntRange(1, 3).Draw(t, "dof")
		knots := make([]float64, (n+1)*dof)
		for i := range knots {
			knots[i] = rapid.Float64Range(-2, 2).Draw(t, "q")
		}
		s := newSpline(knots, dof)
		h := 1 / float64(n)
		q, d1, d2, d3 := make([]float64, dof), make([]float64, dof), make([]float64, dof), make([]float64, dof)
		for k := range n {
			for i := range dof {
				q0, v, a, j := s.piece(k, i)
				require.InDelta(t, knots[k*dof+i], q0, 1e-15)
				require.InDelta(t, knots[(k+1)*dof+i], q0+h*(v+h*(a/2+h*j/6)), 1e-13)
				if k+1 < n {
					_, v1, a1, _ := s.piece(k+1, i)
					scale := float64(n * n)
					require.InDelta(t, v1, v+h*(a+h*j/2), 1e-12*scale)
					require.InDelta(t, a1, a+h*j, 1e-12*scale)
				}
				x := (float64(k) + 0.3) * h
				s.At(x, q, d1, d2, d3)
				y := 0.3 * h
				require.InDelta(t, q0+y*(v+y*(a/2+y*j/6)), q[i], 1e-12)
				require.InDelta(t, v+y*(a+y*j/2), d1[i], 1e-9)
				require.InDelta(t, a+y*j, d2[i], 1e-9)
				require.InDelta(t, j, d3[i], 1e-6)
			}
		}
		s.At(1, q, d1, d2, d3)
		require.Equal(t, knots[n*dof:], q)
		require.Len(t, s.Breaks(), n-1)
	})
}

// TestSplineFollowsSmoothCurves: a cubic exactly, a sine with the fourth power of
// the distance of the knots.
func TestSplineFollowsSmoothCurves(t *testing.T) {
	off := func(n int, f func(float64) float64) (worst float64) {
		knots := make([]float64, n+1)
		for k := range knots {
			knots[k] = f(float64(k) / float64(n))
		}
		s := newSpline(knots, 1)
		q, d := make([]float64, 1), make([]float64, 3)
		for k := range 1000 {
			x := float64(k) / 999
			s.At(x, q, d[:1], d[1:2], d[2:])
			worst = max(worst, math.Abs(q[0]-f(x)))
		}
		return worst
	}
	require.Less(t, off(5, func(x float64) float64 { return 3 - x + 2*x*x - 5*x*x*x }), 1e-13)
	sine := func(x float64) float64 { return math.Sin(3 * x) }
	require.Less(t, off(32, sine), off(16, sine)/10)
	require.Less(t, off(64, sine), 1e-6)
}

func TestSplineWithin(t *testing.T) {
	limits := []robot.JointLimits{{Bounded: true, Lower: -1, Upper: 1}, {}}
	bump := func(top float64) *spline {
		return newSpline([]float64{0, 0, 0.5, 9, top, -9, 0.5, 0, 0, 5}, 2)
	}
	i, _ := bump(0.9).within(limits)
	require.Equal(t, -1, i)
	i, x := bump(1.001).within(limits)
	require.Equal(t, 0, i)
	require.Greater(t, x, 1.0)
	// Inside at all knots, outside between two of them.
	i, x = newSpline([]float64{0, 0, 0.99, 0, 0.99, 0, 0, 0, -0.5, 0}, 2).within(limits)
	require.Equal(t, 0, i)
	require.Greater(t, x, 1.0)
}
