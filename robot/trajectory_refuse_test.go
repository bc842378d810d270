package robot

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// positional returns the trajectory of one joint through positions with the
// given durations, at constant velocity between them: what a list of points with
// time stamps means.
func positional(durations, q []float64) Trajectory {
	tr := Trajectory{Joints: []string{"x"}}
	for k, d := range durations {
		tr.Segments = append(tr.Segments, Segment{
			Duration: d, Q: []float64{q[k]}, V: []float64{(q[k+1] - q[k]) / d}, A: []float64{0}, J: []float64{0},
		})
	}
	return tr
}

// TestCase20 takes the points of the case, times 0, 0.1, 0.1, 0.2 with q 0, 0.1,
// 0.12, 0.2, to both things that they could become: a segment of no duration,
// and a jump between two segments.
func TestCase20_EqualTimeStampsAreRefused(t *testing.T) {
	limits := []JointLimits{{Velocity: 10, Acceleration: 1000, Jerk: 1e6}}
	tr := positional([]float64{0.1, 0, 0.1}, []float64{0, 0.1, 0.12, 0.2})
	e := requireCode(t, tr.Validate(limits), CodeInvalidArgument, "segments[1].duration")
	require.Zero(t, e.Value.Value)
	require.Equal(t, "s", e.Limit.Unit)

	moving := func(q float64) Segment {
		return Segment{Duration: 0.1, Q: []float64{q}, V: []float64{1}, A: []float64{0}, J: []float64{0}}
	}
	up := Segment{Duration: 0.1, Q: []float64{0}, V: []float64{0}, A: []float64{0}, J: []float64{200}}
	up2 := Segment{Duration: 1e-4, Q: []float64{1. / 30}, V: []float64{1}, A: []float64{20}, J: []float64{-2e5}}
	jump := Trajectory{Joints: []string{"x"}, Segments: []Segment{up, up2, moving(0.1), moving(0.22)}}
	limits[0].Jerk = 2e5
	e = requireCode(t, jump.Validate(limits), CodeInvalidArgument, "x")
	require.Contains(t, e.Text, "position jumps")

	for _, d := range []float64{-0.1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		tr := sample(t)
		tr.Segments[2].Duration = d
		requireCode(t, tr.Validate(sampleLimits()), CodeInvalidArgument, "segments[2].duration")
	}
}

func TestCase45_NaNInfAndWrongCountsAreRefused(t *testing.T) {
	fields := map[string]func(*Segment) *[]float64{
		"Q": func(s *Segment) *[]float64 { return &s.Q },
		"V": func(s *Segment) *[]float64 { return &s.V },
		"A": func(s *Segment) *[]float64 { return &s.A },
		"J": func(s *Segment) *[]float64 { return &s.J },
	}
	for name, field := range fields {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for k := range 7 {
				tr := sample(t)
				(*field(&tr.Segments[k]))[1] = bad
				e := requireCode(t, tr.Validate(sampleLimits()), CodeInvalidArgument, "down")
				require.Contains(t, e.Text, fmt.Sprintf("segments[%d].%s", k, name))
			}
		}
		for _, count := range []int{0, 1, 3} {
			tr := sample(t)
			*field(&tr.Segments[3]) = make([]float64, count)
			requireCode(t, tr.Validate(sampleLimits()), CodeInvalidArgument, "segments[3]."+name)
		}
	}
	// 5000 as a target is far outside the limits, not a number to clamp.
	tr := sample(t)
	tr.Segments[0].Q[0] = 5000
	requireCode(t, tr.Validate(sampleLimits()), CodeJointLimit, "up")

	tr = sample(t)
	requireCode(t, tr.Validate(sampleLimits()[:1]), CodeInvalidArgument, "joints")
	requireCode(t, tr.Validate(nil), CodeInvalidArgument, "joints")
	requireCode(t, Trajectory{}.Validate(nil), CodeInvalidArgument, "joints")
	requireCode(t, Trajectory{Joints: tr.Joints}.Validate(sampleLimits()), CodeInvalidArgument, "segments")
	tr.Joints = []string{"up", "up"}
	requireCode(t, tr.Validate(sampleLimits()), CodeInvalidArgument, "up")
	tr.Joints = []string{"up", ""}
	requireCode(t, tr.Validate(sampleLimits()), CodeInvalidArgument, "joints")
}

func TestCase46_LimitsThatAreNoneAreRefused(t *testing.T) {
	tr := sample(t)
	for _, bad := range []float64{math.NaN(), math.Inf(1), -5, 0} {
		for what, field := range map[string]func(*JointLimits) *float64{
			"velocity":     func(l *JointLimits) *float64 { return &l.Velocity },
			"acceleration": func(l *JointLimits) *float64 { return &l.Acceleration },
			"jerk":         func(l *JointLimits) *float64 { return &l.Jerk },
		} {
			limits := sampleLimits()
			*field(&limits[1]) = bad
			code := CodeInvalidArgument
			if bad == 0 && what == "velocity" { // one that nothing gave: it permits no motion
				code = CodeSpeedLimit
			}
			e := requireCode(t, tr.Validate(limits), code, "down")
			require.Contains(t, e.Text, what)
		}
	}
	for _, l := range [][2]float64{{1, 0}, {math.NaN(), 1}, {0, math.NaN()}, {math.Inf(-1), 1}, {0, math.Inf(1)}} {
		limits := sampleLimits()
		limits[0].Lower, limits[0].Upper = l[0], l[1]
		requireCode(t, tr.Validate(limits), CodeInvalidArgument, "up")
	}
	for _, effort := range []float64{-1, math.NaN(), math.Inf(1)} {
		limits := sampleLimits()
		limits[0].Effort = effort
		requireCode(t, tr.Validate(limits), CodeInvalidArgument, "up")
	}
}

// Each of the three kinds of jump, at each of the six joints between segments,
// and each way not to be at rest.
func TestValidateContinuity(t *testing.T) {
	// Limits so wide that nothing but the jump is wrong.
	limits := []JointLimits{{Velocity: 100, Acceleration: 100, Jerk: 100}, {Velocity: 100, Acceleration: 100, Jerk: 100}}
	for k := 1; k < 7; k++ {
		for what, edit := range map[string]func(*Segment){
			"position":     func(s *Segment) { s.Q[1] += 1e-6 },
			"velocity":     func(s *Segment) { s.V[1] -= 1e-6 },
			"acceleration": func(s *Segment) { s.A[1] += 1e-6 },
		} {
			tr := sample(t)
			edit(&tr.Segments[k])
			e := requireCode(t, tr.Validate(limits), CodeInvalidArgument, "down")
			require.Contains(t, e.Text, what+" jumps")
			require.InDelta(t, 1e-6, math.Abs(e.Value.Value), 1e-12)
		}
	}
	for what, cut := range map[string]func(Trajectory) []Segment{
		"start at rest": func(tr Trajectory) []Segment { return tr.Segments[1:] },
		"end at rest":   func(tr Trajectory) []Segment { return tr.Segments[:6] },
	} {
		tr := sample(t)
		tr.Segments = cut(tr)
		e := requireCode(t, tr.Validate(limits), CodeInvalidArgument, "up")
		require.Contains(t, e.Text, what)
	}
	// Numbers so large that the arithmetic overflows are refused, not passed.
	tr := sample(t)
	tr.Segments[3].Duration = math.MaxFloat64
	require.Error(t, tr.Validate(limits))
	still := Hold([]string{"a"}, []float64{0})
	still.Segments[0].Duration = math.MaxFloat64
	still.Segments = append(still.Segments, still.Segments[0])
	requireCode(t, still.Validate(limits[:1]), CodeInvalidArgument, "segments")
}

func BenchmarkTrajectoryValidate(b *testing.B) {
	tr, limits := sample(b), sampleLimits()
	b.ReportAllocs()
	for b.Loop() {
		if err := tr.Validate(limits); err != nil {
			b.Fatal(err)
		}
	}
}
