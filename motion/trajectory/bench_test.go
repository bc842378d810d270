package trajectory

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// sevenJoints is a move of a seven-joint arm with the speed limits of a Panda
// (Franka Emika, FCI documentation, "Robot and interface specifications").
func sevenJoints() problem {
	p := problem{
		names: jointNames[:7], limits: make([]robot.JointLimits, 7), scale: 0.5,
		from: []float64{0, -0.785, 0, -2.356, 0, 1.571, 0.785},
		to:   []float64{1, 0.2, -0.4, -1.6, 0.3, 2, -0.5},
	}
	for i := range p.limits {
		p.limits[i] = robot.JointLimits{Velocity: 2.175, Acceleration: 10, Jerk: 5000}
		if i >= 4 {
			p.limits[i].Velocity = 2.61
		}
	}
	return p
}

// trapezoidal is the baseline: the same move timed with bounded velocity and
// acceleration alone, in the same kind of segments.
func trapezoidal(p problem) robot.Trajectory {
	v, a := math.Inf(1), math.Inf(1)
	for i, l := range p.limits {
		if d := math.Abs(p.to[i] - p.from[i]); d > 0 {
			v, a = math.Min(v, p.scale*l.Velocity/d), math.Min(a, p.scale*l.Acceleration/d)
		}
	}
	ramp := v / a
	cruise := 1/v - ramp
	if cruise < 0 {
		ramp, cruise = math.Sqrt(1/a), 0
	}
	w := a * ramp
	n := len(p.names)
	out := robot.Trajectory{Joints: append([]string(nil), p.names...), Segments: make([]robot.Segment, 0, 3)}
	flat := make([]float64, 4*n*3)
	for k, f := range [3][4]float64{{ramp, 0, 0, a}, {cruise, w * ramp / 2, w, 0}, {ramp, 1 - w*ramp/2, w, -a}} {
		row := flat[4*n*k:]
		s := robot.Segment{Duration: f[0], Q: row[:n:n], V: row[n : 2*n : 2*n], A: row[2*n : 3*n : 3*n], J: row[3*n : 4*n : 4*n]}
		for i := range n {
			d := p.to[i] - p.from[i]
			s.Q[i], s.V[i], s.A[i] = p.from[i]+d*f[1], d*f[2], d*f[3]
		}
		out.Segments = append(out.Segments, s)
	}
	return out
}

func TestBenchmarksMove(t *testing.T) {
	p := sevenJoints()
	tr, err := PointToPoint(p.names, p.limits, p.from, p.to, p.scale)
	require.NoError(t, err)
	p.check(t, tr)
	base := trapezoidal(p)
	require.InDeltaSlice(t, p.to, base.End(), 1e-12)
	require.Greater(t, tr.Duration(), base.Duration(), "a bounded jerk costs time")
}

func BenchmarkPointToPoint7(b *testing.B) {
	p := sevenJoints()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := PointToPoint(p.names, p.limits, p.from, p.to, p.scale); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBaselineTrapezoidal7(b *testing.B) {
	p := sevenJoints()
	b.ReportAllocs()
	for b.Loop() {
		trapezoidal(p)
	}
}

func BenchmarkValidate7(b *testing.B) {
	p := sevenJoints()
	tr, err := PointToPoint(p.names, p.limits, p.from, p.to, p.scale)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if err := tr.Validate(p.limits); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkSample(b *testing.B, sample func(tr robot.Trajectory) func(s float64, q, v, a []float64)) {
	p := sevenJoints()
	tr, err := PointToPoint(p.names, p.limits, p.from, p.to, p.scale)
	require.NoError(b, err)
	q, v, a := make([]float64, 7), make([]float64, 7), make([]float64, 7)
	f, total, s := sample(tr), tr.Duration(), 0.0
	b.ReportAllocs()
	for b.Loop() {
		f(s, q, v, a)
		if s += 1e-3; s > total {
			s = 0
		}
	}
}

func BenchmarkSample7(b *testing.B) {
	benchmarkSample(b, func(tr robot.Trajectory) func(float64, []float64, []float64, []float64) { return tr.Sample })
}

func BenchmarkCursor7(b *testing.B) {
	benchmarkSample(b, func(tr robot.Trajectory) func(float64, []float64, []float64, []float64) {
		return robot.NewCursor(tr).Sample
	})
}

func BenchmarkBaselineCopy7(b *testing.B) {
	benchmarkSample(b, func(tr robot.Trajectory) func(float64, []float64, []float64, []float64) {
		s := &tr.Segments[0]
		return func(_ float64, q, v, a []float64) {
			copy(q, s.Q)
			copy(v, s.V)
			copy(a, s.A)
		}
	})
}
