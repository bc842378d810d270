package robot

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// sample returns a trajectory of two joints that was worked out by hand. With
// limits v 1, a 2, j 8 "up" goes from 0 to 1 in seven segments that meet each
// limit exactly: ramps of 0.25 s, 0.25 s at 2 rad/s², 0.25 s at 1 rad/s. "down"
// goes the other way at half the size.
func sample(t testing.TB) Trajectory {
	tr := Trajectory{Joints: []string{"up", "down"}}
	var q, v, a float64
	for _, j := range []float64{8, 0, -8, 0, -8, 0, 8} {
		tr.Segments = append(tr.Segments, Segment{
			Duration: 0.25,
			Q:        []float64{q, -q / 2}, V: []float64{v, -v / 2}, A: []float64{a, -a / 2}, J: []float64{j, -j / 2},
		})
		q, v, a = cubic(q, v, a, j, 0.25)
	}
	require.Equal(t, []float64{1, 0, 0}, []float64{q, v, a})
	return tr
}

func sampleLimits() []JointLimits {
	return []JointLimits{
		{Bounded: true, Lower: 0, Upper: 1, Velocity: 1, Acceleration: 2, Jerk: 8},
		{Velocity: 0.5, Acceleration: 1, Jerk: 4},
	}
}

func TestTrajectorySample(t *testing.T) {
	tr := sample(t)
	require.NoError(t, tr.Validate(sampleLimits()))
	require.InDelta(t, 1.75, tr.Duration(), 0)
	require.Equal(t, []float64{0, 0}, tr.Start())
	require.Equal(t, []float64{1, -0.5}, tr.End())

	at := func(s float64) (q, v, a []float64) {
		q, v, a = make([]float64, 2), make([]float64, 2), make([]float64, 2)
		tr.Sample(s, q, v, a)
		return q, v, a
	}
	// After the first ramp: q = j·t³/6 = 8/384, v = j·t²/2 = 0.25, a = 2.
	q, v, a := at(0.25)
	require.InDeltaSlice(t, []float64{8. / 384, -4. / 384}, q, 1e-15)
	require.InDeltaSlice(t, []float64{0.25, -0.125}, v, 1e-15)
	require.InDeltaSlice(t, []float64{2, -1}, a, 1e-15)
	// Half way by symmetry.
	q, v, a = at(0.875)
	require.InDeltaSlice(t, []float64{0.5, -0.25}, q, 1e-15)
	require.InDeltaSlice(t, []float64{1, -0.5}, v, 1e-15)
	require.InDeltaSlice(t, []float64{0, 0}, a, 1e-15)
	for _, s := range []float64{-1, 0, math.Inf(-1), math.NaN()} {
		q, v, a = at(s)
		require.Equal(t, [][]float64{{0, 0}, {0, 0}, {0, 0}}, [][]float64{q, v, a}, "at %g", s)
	}
	for _, s := range []float64{1.75, 2, math.Inf(1)} {
		q, v, a = at(s)
		require.Equal(t, [][]float64{{1, -0.5}, {0, 0}, {0, 0}}, [][]float64{q, v, a}, "at %g", s)
	}
	only := make([]float64, 2)
	tr.Sample(0.875, nil, only, nil)
	require.InDeltaSlice(t, []float64{1, -0.5}, only, 1e-15)
	Trajectory{}.Sample(1, only, nil, nil)
	require.Nil(t, Trajectory{}.Start())
	require.Nil(t, Trajectory{}.End())
}

func TestCursorEqualsSample(t *testing.T) {
	tr := sample(t)
	rapid.Check(t, func(t *rapid.T) {
		c := NewCursor(tr)
		var got, want [3][2]float64
		for _, s := range rapid.SliceOf(rapid.Float64Range(-0.5, 2.5)).Draw(t, "times") {
			c.Sample(s, got[0][:], got[1][:], got[2][:])
			tr.Sample(s, want[0][:], want[1][:], want[2][:])
			require.Equal(t, want, got, "at %g", s)
		}
	})
}

func TestSampleDoesNotAllocate(t *testing.T) {
	tr := sample(t)
	c := NewCursor(tr)
	q, v, a := make([]float64, 2), make([]float64, 2), make([]float64, 2)
	s := 0.0
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		s += 0.002
		tr.Sample(s, q, v, a)
		c.Sample(s, q, v, a)
	}))
}

func TestHold(t *testing.T) {
	h := Hold([]string{"a", "b"}, []float64{0.5, 0})
	require.NoError(t, h.Validate(sampleLimits()))
	require.InDelta(t, HoldDuration, h.Duration(), 0)
	require.Equal(t, h.Start(), h.End())
}

// The extrema that Validate finds in closed form are those that dense sampling
// finds: with limits a hair tighter than what a segment reaches it refuses, with
// limits a hair wider it accepts.
func TestValidateFindsExtrema(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		num := rapid.Float64Range(-4, 4)
		s := Segment{
			Duration: rapid.Float64Range(0.05, 3).Draw(t, "duration"),
			Q:        []float64{num.Draw(t, "q")}, V: []float64{num.Draw(t, "v")},
			A: []float64{num.Draw(t, "a")}, J: []float64{num.Draw(t, "j")},
		}
		tr := Trajectory{Joints: []string{"x"}, Segments: []Segment{s, s, s}}
		lo, hi, top := math.Inf(1), math.Inf(-1), 0.0
		const steps = 2000
		for k := range steps + 1 {
			q, v, _ := cubic(s.Q[0], s.V[0], s.A[0], s.J[0], s.Duration*float64(k)/steps)
			lo, hi, top = math.Min(lo, q), math.Max(hi, q), math.Max(top, math.Abs(v))
		}
		// Between two samples a cubic strays from them by at most |a|·h²/8, a
		// parabola by |j|·h²/8.
		h := s.Duration / steps
		stray := (4 + 4*s.Duration) * h * h / 8
		wide := JointLimits{Bounded: true, Lower: lo - 2*stray, Upper: hi + 2*stray, Velocity: top + 2*stray + 1e-9, Acceleration: 100, Jerk: 100}
		own := Trajectory{Joints: tr.Joints, Segments: tr.Segments[:1]}
		check := func(lim JointLimits) error { return insideOnly(own, lim) }
		require.NoError(t, check(wide))
		for _, tt := range []struct {
			code Code
			edit func(*JointLimits)
		}{
			{CodeJointLimit, func(l *JointLimits) { l.Lower = lo + 1e-8 }},
			{CodeJointLimit, func(l *JointLimits) { l.Upper = hi - 1e-8 }},
			{CodeSpeedLimit, func(l *JointLimits) { l.Velocity = top - 1e-6 }},
		} {
			tight := wide
			tt.edit(&tight)
			if tight.Lower > tight.Upper || tight.Velocity <= 0 || s.Q[0] < tight.Lower || s.Q[0] > tight.Upper {
				continue
			}
			require.ErrorIs(t, check(tight), ErrCode(tt.code))
		}
	})
}

// insideOnly validates the inside of a single segment: one that leads to its
// start state and one that leads from its end state make up for the missing rest.
func insideOnly(tr Trajectory, lim JointLimits) error {
	s := tr.Segments[0]
	q, v, a := cubic(s.Q[0], s.V[0], s.A[0], s.J[0], s.Duration)
	before := Segment{Duration: 1e-12, Q: s.Q, V: s.V, A: s.A, J: []float64{0}}
	before.Q = []float64{s.Q[0] - s.V[0]*1e-12}
	after := Segment{Duration: 1e-12, Q: []float64{q}, V: []float64{v}, A: []float64{a}, J: []float64{0}}
	return Trajectory{Joints: tr.Joints, Segments: []Segment{before, s, after}}.validateJoint(1, 0, 0, lim)
}

func requireCode(t *testing.T, err error, code Code, where string) *Error {
	t.Helper()
	var e *Error
	require.True(t, errors.As(err, &e), "%v", err)
	require.Equal(t, code, e.Code, "%v", err)
	require.Equal(t, where, e.Where, "%v", err)
	require.NotEmpty(t, e.Text)
	return e
}

func TestValidateLimits(t *testing.T) {
	tr, joint := sample(t), "up"
	edit := func(f func(*JointLimits)) []JointLimits {
		l := sampleLimits()
		f(&l[0])
		return l
	}
	e := requireCode(t, tr.Validate(edit(func(l *JointLimits) { l.Upper = 0.999 })), CodeJointLimit, joint)
	require.InDelta(t, 0.999, e.Limit.Value, 0)
	require.Greater(t, e.Value.Value, 0.999)
	low := sampleLimits()
	low[1].Bounded, low[1].Lower, low[1].Upper = true, -0.5+1e-6, 0
	requireCode(t, tr.Validate(low), CodeJointLimit, "down")
	e = requireCode(t, tr.Validate(edit(func(l *JointLimits) { l.Velocity = 0.99 })), CodeSpeedLimit, joint)
	require.Contains(t, e.Text, "velocity")
	e = requireCode(t, tr.Validate(edit(func(l *JointLimits) { l.Acceleration = 1.99 })), CodeSpeedLimit, joint)
	require.Contains(t, e.Text, "acceleration")
	e = requireCode(t, tr.Validate(edit(func(l *JointLimits) { l.Jerk = 7.99 })), CodeSpeedLimit, joint)
	require.Contains(t, e.Text, "jerk")
	require.InDelta(t, 8, e.Value.Value, 0)
	// A continuous joint has no position limits.
	require.NoError(t, tr.Validate(edit(func(l *JointLimits) { l.Bounded, l.Upper = false, 0.1 })))
}
