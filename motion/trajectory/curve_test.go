package trajectory

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
)

// curveProblem is curves to be timed.
type curveProblem struct {
	names  []string
	limits []robot.JointLimits
	curve  Curve
	scale  float64
}

func randomCurveProblem(r *rand.Rand) curveProblem {
	n := 1 + r.IntN(7)
	return curveProblem{jointNames[:n], randomLimits(r, n), randomCurve(r, n), 0.05 + 0.95*r.Float64()}
}

func (p curveProblem) run(t require.TestingT) robot.Trajectory {
	tr, err := ThroughCurves(p.names, p.limits, []Curve{p.curve}, p.scale)
	require.NoError(t, err)
	return tr
}

// bounds returns a duration that no motion along the curve can fall below: some
// joint has to cover its whole way, to and fro, at its velocity limit, and each has
// to cover the distance between its ends from rest to rest. The largest extent is
// returned with it.
func (p curveProblem) bounds(t require.TestingT) (fastest, extent float64) {
	n := len(p.names)
	q, d1, d2, d3 := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	from, to := make([]float64, n), make([]float64, n)
	p.curve.At(0, from, d1, d2, d3)
	p.curve.At(1, to, d1, d2, d3)
	const steps = 2000
	var sum float64
	for k := range steps {
		p.curve.At((float64(k)+0.5)/steps, q, d1, d2, d3)
		var need float64
		for i, l := range p.limits {
			need = max(need, math.Abs(d1[i])/(l.Velocity*p.scale))
			extent = max(extent, math.Abs(q[i]-from[i]))
		}
		sum += need / steps
	}
	fastest = sum * 0.999 // the rule of the middle has an error
	for i, l := range p.limits {
		alone, err := NewProfile(math.Abs(to[i]-from[i]), l.Velocity*p.scale, l.Acceleration*p.scale, l.Jerk*p.scale)
		require.NoError(t, err)
		fastest = max(fastest, alone.Duration()*0.999)
	}
	return fastest, extent
}

// TestThroughCurvesProperties: random waves, bends and splines under random limits.
func TestThroughCurvesProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
		if raceEnabled && r.IntN(4) > 0 {
			return
		}
		p := randomCurveProblem(r)
		tr := p.run(t)
		p.check(t, tr)

		// More generous limits and a larger scale never make it slower.
		double := p
		double.limits = append([]robot.JointLimits(nil), p.limits...)
		for i, l := range p.limits {
			double.limits[i] = l.Scaled(2)
		}
		require.Less(t, double.run(t).Duration(), tr.Duration()/1.2)
		half := p
		half.scale /= 1.1
		require.Greater(t, half.run(t).Duration(), tr.Duration())
		// The same limits twice give the same motion, to the bit.
		require.Equal(t, tr.Digest(), p.run(t).Digest())
		// There and back again: rest between them, and twice the time.
		two, err := ThroughCurves(p.names, p.limits, []Curve{p.curve, back{p.curve}}, p.scale)
		require.NoError(t, err)
		require.InEpsilon(t, 2*tr.Duration(), two.Duration(), 0.05)
		require.InDeltaSlice(t, tr.Start(), two.End(), 1e-9)
	})
}

// back is a curve the other way round.
type back struct{ Curve }

func (b back) At(s float64, q, d1, d2, d3 []float64) {
	b.Curve.At(1-s, q, d1, d2, d3)
	for i := range d1 {
		d1[i], d3[i] = -d1[i], -d3[i]
	}
}

func (b back) Breaks() []float64 {
	p, ok := b.Curve.(Piecewise)
	if !ok {
		return nil
	}
	var out []float64
	for _, s := range p.Breaks() {
		out = append([]float64{1 - s}, out...)
	}
	return out
}

// check holds a motion to what ThroughCurves promises: within the scaled limits
// everywhere, at one of them somewhere, on the curve, from its start to its end.
func (p curveProblem) check(t require.TestingT, tr robot.Trajectory) {
	n := len(p.names)
	scaled := make([]robot.JointLimits, n)
	for i, l := range p.limits {
		scaled[i] = l.Scaled(p.scale)
	}
	require.NoError(t, tr.Validate(scaled))
	near(t, 1, stretch(tr.Segments, scaled), 1e-9, "a joint is at a limit")
	fastest, extent := p.bounds(t)
	require.GreaterOrEqual(t, tr.Duration(), fastest)
	require.LessOrEqual(t, tr.Duration(), 1.1*p.plain(t, scaled))
	require.LessOrEqual(t, len(tr.Segments), 3*maxKnots)

	q, d1, d2, d3, want := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	p.curve.At(0, want, d1, d2, d3)
	require.Equal(t, want, tr.Start())
	p.curve.At(1, want, d1, d2, d3)
	require.InDeltaSlice(t, want, tr.End(), 1e-9)
	// The profile is chosen as ThroughCurves chose it; the segments then took so many
	// times as long.
	b := newTimer(p.names, p.limits, p.scale)
	require.NoError(t, b.ends("curve", p.curve, nil))
	_, err := b.append(nil, "curve", p.curve)
	require.NoError(t, err)
	profile, err := b.shape("curve")
	require.NoError(t, err)
	profile = profile.slowed(tr.Duration() / profile.Duration())
	phases, count := profile.phases()
	tolerance := 1.5 * CurveTolerance * min(1, max(curveLeast, extent))
	c, start := robot.NewCursor(tr), 0.0
	for k := range phases[:count] {
		f := &phases[k]
		const samples = 100
		for m := range samples + 1 {
			at := f.t * float64(m) / samples
			s, _, _ := f.at(at)
			p.curve.At(min(1, max(0, s)), want, d1, d2, d3)
			c.Sample(start+at, q, nil, nil)
			for i := range q {
				near(t, want[i], q[i], tolerance, "off the curve")
			}
		}
		start += f.t
	}
}

// TestLinesKeepTheirClosedForm: a straight line is timed as PointToPoint does,
// whatever its type.
func TestLinesKeepTheirClosedForm(t *testing.T) {
	p := sevenJoints()
	want, err := PointToPoint(p.names, p.limits, p.from, p.to, p.scale)
	require.NoError(t, err)
	for _, c := range []Curve{Line{p.from, p.to}, bent{Line{p.from, p.to}, 0}} {
		got, err := ThroughCurves(p.names, p.limits, []Curve{c}, p.scale)
		require.NoError(t, err)
		require.Equal(t, want.Digest(), got.Digest())
	}
	// Timed as a curve, it is nearly as fast.
	r := rand.New(rand.NewPCG(5, 5))
	for range 100 {
		n := 1 + r.IntN(7)
		c := bent{Line{make([]float64, n), make([]float64, n)}, 2e-8}
		for i := range c.To {
			c.To[i] = 4*r.Float64() - 2
		}
		limits := randomLimits(r, n)
		line, err := PointToPoint(jointNames[:n], limits, c.From, c.To, 1)
		require.NoError(t, err)
		curve, err := ThroughCurves(jointNames[:n], limits, []Curve{c}, 1)
		require.NoError(t, err)
		require.Less(t, curve.Duration(), 1.08*line.Duration())
		require.Greater(t, curve.Duration(), (1-1e-6)*line.Duration())
	}
}

// broken is a curve with one wrong number.
type broken struct {
	Line
	where float64 // from here on
	into  func(q, d1, d2, d3 []float64)
}

func (b broken) At(s float64, q, d1, d2, d3 []float64) {
	b.Line.At(s, q, d1, d2, d3)
	if s >= b.where {
		b.into(q, d1, d2, d3)
	}
}

// zigzag turns round so often that no number of knots follows it.
type zigzag struct{}

func (zigzag) At(s float64, q, d1, d2, d3 []float64) {
	const f = 2e4
	sin, cos := math.Sincos(f * s)
	q[0], q[1] = sin, s
	d1[0], d1[1] = f*cos, 1
	d2[0], d2[1] = -f*f*sin, 0
	d3[0], d3[1] = -f*f*f*cos, 0
}

func TestThroughCurvesRefuses(t *testing.T) {
	names, limits := []string{"a", "b"}, plain(2)
	zero, one := []float64{0, 0}, []float64{1, 1}
	line := Line{zero, one}
	nan := math.NaN()
	for name, tt := range map[string]struct {
		curves []Curve
		scale  float64
		code   robot.Code
		where  string
	}{
		"none":           {nil, 1, robot.CodeInvalidArgument, "curves"},
		"nil":            {[]Curve{nil}, 1, robot.CodeInvalidArgument, "curves[0]"},
		"scale":          {[]Curve{line}, 1.5, robot.CodeInvalidArgument, "speed_scale"},
		"short line":     {[]Curve{line, Line{one, zero[:1]}}, 1, robot.CodeInvalidArgument, "curves[1]"},
		"gap":            {[]Curve{line, Line{[]float64{1, 1.1}, zero}}, 1, robot.CodeInvalidArgument, "curves[1].b"},
		"starts outside": {[]Curve{Line{[]float64{0, 2.1}, zero}}, 1, robot.CodeJointLimit, "curves[0].from.b"},
		"ends outside":   {[]Curve{Line{zero, []float64{0, 2.1}}}, 1, robot.CodeJointLimit, "curves[0].to.b"},
		"leaves limits":  {[]Curve{bent{Line{zero, one}, 10}}, 1, robot.CodeJointLimit, "a"},
		"NaN position":   {[]Curve{broken{line, 0.5, func(q, _, _, _ []float64) { q[1] = nan }}}, 1, robot.CodeInvalidArgument, "curves[0].to.b"},
		"NaN slope":      {[]Curve{broken{line, 0.9, func(_, d1, _, _ []float64) { d1[1] = nan }}}, 1, robot.CodeInvalidArgument, "curves[0]"},
		"infinite bend":  {[]Curve{broken{line, 0.9, func(_, _, d2, _ []float64) { d2[1] = math.Inf(1) }}}, 1, robot.CodeInvalidArgument, "curves[0]"},
		"NaN third":      {[]Curve{broken{line, 0.9, func(_, _, _, d3 []float64) { d3[1] = nan }}}, 1, robot.CodeInvalidArgument, "curves[0]"},
		"not its slope":  {[]Curve{broken{line, 0.1, func(q, _, _, _ []float64) { q[1] *= 1.5 }}}, 1, robot.CodeInvalidArgument, "curves[0]"},
		"zigzag":         {[]Curve{zigzag{}}, 1, robot.CodeInvalidArgument, "curves[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			tr, err := ThroughCurves(names, limits, tt.curves, tt.scale)
			requireCode(t, err, tt.code, tt.where)
			require.Empty(t, tr.Segments)
		})
	}
	limits[1].Velocity = 0
	_, err := ThroughCurves(names, limits, []Curve{line}, 1)
	requireCode(t, err, robot.CodeSpeedLimit, "b")
}

func TestCurvesThatStandStill(t *testing.T) {
	names, limits, q := []string{"a", "b"}, plain(2), []float64{1, -1}
	still := Line{q, q}
	for _, curves := range [][]Curve{{still}, {still, bent{still, 0}}} {
		tr, err := ThroughCurves(names, limits, curves, 1)
		require.NoError(t, err)
		require.Equal(t, robot.Hold(names, q), tr)
	}
	// Between others it takes no time.
	one := Line{q, []float64{0, 0}}
	with, err := ThroughCurves(names, limits, []Curve{still, one, Line{one.To, one.To}}, 1)
	require.NoError(t, err)
	without, err := ThroughCurves(names, limits, []Curve{one}, 1)
	require.NoError(t, err)
	require.Equal(t, without.Digest(), with.Digest())
}

// plain returns the duration of what is easily seen to be possible: the double S
// under constant bounds of s's rates, each joint's limits divided among the terms of
// the chain rule by the largest derivatives of the curve.
func (p curveProblem) plain(t require.TestingT, scaled []robot.JointLimits) float64 {
	n := len(p.names)
	q, d := make([]float64, n), [3][]float64{make([]float64, n), make([]float64, n), make([]float64, n)}
	most := [3][]float64{make([]float64, n), make([]float64, n), make([]float64, n)}
	for k := range 4001 {
		p.curve.At(float64(k)/4000, q, d[0], d[1], d[2])
		for m := range d {
			for i, x := range d[m] {
				most[m][i] = max(most[m][i], math.Abs(x))
			}
		}
	}
	v, a, j := math.Inf(1), math.Inf(1), math.Inf(1)
	for i, l := range scaled {
		v = min(v, l.Velocity/most[0][i], math.Sqrt(l.Acceleration/2/most[1][i]), math.Cbrt(l.Jerk/3/most[2][i]))
		a = min(a, l.Acceleration/2/most[0][i])
	}
	for i, l := range scaled {
		a = min(a, l.Jerk/9/most[1][i]/v)
		j = min(j, l.Jerk/3/most[0][i])
	}
	s, err := NewProfile(1, v, a, j)
	require.NoError(t, err)
	return s.Duration()
}
