package trajectory

import (
	"math"
	"math/rand/v2"

	"github.com/tau-robot/tau/robot"
)

// spline is a natural cubic spline through points at equal distances of s, by
// joint; its second derivatives m solve the usual tridiagonal system. It is written
// for the tests and knows nothing of package planning's.
type spline struct {
	points [][]float64 // by joint
	m      [][]float64 // by joint, second derivative by s
}

func newSpline(points [][]float64) spline {
	s := spline{points: points}
	for _, y := range points {
		n := len(y) - 1
		h := 1 / float64(n)
		m, c := make([]float64, n+1), make([]float64, n+1)
		for k := 1; k < n; k++ {
			d := 4 - c[k-1]
			c[k] = 1 / d
			m[k] = (6*(y[k+1]-2*y[k]+y[k-1])/(h*h) - m[k-1]) / d
		}
		for k := n - 1; k > 0; k-- {
			m[k] -= c[k] * m[k+1]
		}
		s.m = append(s.m, m)
	}
	return s
}

func (s spline) At(x float64, q, d1, d2, d3 []float64) {
	for i, y := range s.points {
		n := float64(len(y) - 1)
		k := min(int(x*n), len(y)-2)
		h, b := 1/n, x*n-float64(k)
		a, m0, m1 := 1-b, s.m[i][k], s.m[i][k+1]
		q[i] = a*y[k] + b*y[k+1] + h*h/6*((a*a*a-a)*m0+(b*b*b-b)*m1)
		d1[i] = (y[k+1]-y[k])/h + h/6*((3*b*b-1)*m1-(3*a*a-1)*m0)
		d2[i] = a*m0 + b*m1
		d3[i] = (m1 - m0) / h
	}
}

// Breaks makes it a Piecewise.
func (s spline) Breaks() []float64 {
	n := len(s.points[0]) - 1
	out := make([]float64, 0, n)
	for k := 1; k < n; k++ {
		out = append(out, float64(k)/float64(n))
	}
	return out
}

// wave is a curve of sines, each joint with its own amplitude, frequency and phase.
type wave struct{ offset, amplitude, frequency, phase []float64 }

func (w wave) At(s float64, q, d1, d2, d3 []float64) {
	for i, a := range w.amplitude {
		f := w.frequency[i]
		sin, cos := math.Sincos(f*s + w.phase[i])
		q[i] = w.offset[i] + a*sin
		d1[i], d2[i], d3[i] = a*f*cos, -a*f*f*sin, -a*f*f*f*cos
	}
}

// bent hides a line's type, and isn't quite one: it is timed as a curve.
type bent struct {
	Line
	by float64
}

func (c bent) At(s float64, q, d1, d2, d3 []float64) {
	c.Line.At(s, q, d1, d2, d3)
	q[0] += c.by * s * (1 - s)
	d1[0] += c.by * (1 - 2*s)
	d2[0] -= 2 * c.by
}

// randomCurve draws a curve of one of three kinds for n joints.
func randomCurve(r *rand.Rand, n int) Curve {
	list := func(lo, hi float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = lo + (hi-lo)*r.Float64()
		}
		return out
	}
	switch r.IntN(4) {
	case 0:
		return wave{list(-2, 2), list(-1, 1), list(0.1, 7), list(-3, 3)}
	case 1:
		return bent{Line{list(-2, 2), list(-2, 2)}, 1e-8 + 2*r.Float64()}
	default:
		knots := 2 + r.IntN(30)
		points := make([][]float64, n)
		for i := range points {
			points[i] = make([]float64, knots+1)
			drift := r.Float64() - 0.5
			for k := range points[i] {
				points[i][k] = drift*float64(k) + r.NormFloat64()*0.2
			}
		}
		return newSpline(points)
	}
}

func randomLimits(r *rand.Rand, n int) []robot.JointLimits {
	out := make([]robot.JointLimits, n)
	for i := range out {
		out[i] = robot.JointLimits{Velocity: logUniform(r, -1, 1), Acceleration: logUniform(r, -1, 1.5), Jerk: logUniform(r, 0, 3.5)}
	}
	return out
}
