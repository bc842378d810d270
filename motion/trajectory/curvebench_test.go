package trajectory

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// tenSeconds is a spline of seven joints that takes about 10 s.
func tenSeconds() (problem, Curve) {
	p := sevenJoints()
	points := make([][]float64, 7)
	for i := range points {
		for k := range 41 {
			x := float64(k) / 40
			points[i] = append(points[i], p.from[i]+x*(p.to[i]-p.from[i])*8+0.4*math.Sin(float64(3+i)*x))
		}
	}
	return p, newSpline(points)
}

func BenchmarkThroughCurves7(b *testing.B) {
	p, c := tenSeconds()
	b.ReportAllocs()
	var d float64
	var n int
	for b.Loop() {
		tr, err := ThroughCurves(p.names, p.limits, []Curve{c}, p.scale)
		if err != nil {
			b.Fatal(err)
		}
		d, n = tr.Duration(), len(tr.Segments)
	}
	b.ReportMetric(d, "s")
	b.ReportMetric(float64(n), "segments")
}

// BenchmarkCurveOnLine times a line as a curve, beside ThroughWaypoints on the
// same line; the metric is how many times as long the motion is.
func BenchmarkCurveOnLine(b *testing.B) {
	p := sevenJoints()
	base, err := PointToPoint(p.names, p.limits, p.from, p.to, p.scale)
	require.NoError(b, err)
	for b.Loop() {
		tr, err := ThroughCurves(p.names, p.limits, []Curve{bent{Line{p.from, p.to}, 2e-8}}, p.scale)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(tr.Duration()/base.Duration(), "×duration")
	}
}
