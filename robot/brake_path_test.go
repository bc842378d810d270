package robot

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// bentTrajectory draws a trajectory on which each joint goes its own way in its own
// time, and so all of them a curve; each keeps a fraction of its limits.
func bentTrajectory(r *rand.Rand, n int) (Trajectory, []JointLimits) {
	tr := Trajectory{}
	limits := make([]JointLimits, n)
	phases := make([][]Phase, n)
	end := make([]float64, n)
	scale := 0.05 + 0.95*r.Float64()
	for i := range n {
		tr.Joints = append(tr.Joints, fmt.Sprint("j", i))
		l := JointLimits{Velocity: logUniform(r, -1, 1), Acceleration: logUniform(r, -1, 1.5), Jerk: logUniform(r, 0, 3.5)}
		limits[i] = l
		q := 4*r.Float64() - 2
		lo, hi := q, q
		for range 1 + r.IntN(3) {
			wait, d := 0.001+0.6*r.Float64(), 4*r.Float64()-2
			t := math.Abs(d) / (2 * scale * l.Velocity)
			t = max(t, math.Sqrt(math.Abs(d)/(2*scale*l.Acceleration)), math.Cbrt(math.Abs(d)/(2*scale*l.Jerk)))
			t *= 1 + 1e-9
			j := d / (2 * t * t * t)
			p := Phase{Duration: wait, Q: q}
			phases[i] = append(phases[i], p)
			for _, k := range [...]struct{ t, j float64 }{{t, j}, {2 * t, -j}, {t, j}} {
				p.Q, p.V, p.A = cubic(p.Q, p.V, p.A, p.J, p.Duration)
				p.Duration, p.J = k.t, k.j
				phases[i] = append(phases[i], p)
			}
			q, _, _ = cubic(p.Q, p.V, p.A, p.J, p.Duration)
			lo, hi = min(lo, q), max(hi, q)
		}
		end[i] = q
		limits[i].Bounded, limits[i].Lower, limits[i].Upper = true, lo, hi
	}
	tr.Segments = merge(phases, end)
	return tr, limits
}

// widened allows a stop along a path to be as far beyond a position limit as it may
// be from the path.
func widened(limits []JointLimits) []JointLimits {
	out := append([]JointLimits(nil), limits...)
	for i := range out {
		out[i].Lower -= BrakePathTolerance
		out[i].Upper += BrakePathTolerance
	}
	return out
}

// checkPathStop holds a stop at a time of a trajectory to what BrakeAlongPath
// promises. It knows nothing of how the stop was made.
func checkPathStop(t require.TestingT, tr Trajectory, at float64, limits []JointLimits, stop Trajectory) {
	n := len(tr.Joints)
	q, v, a := make([]float64, n), make([]float64, n), make([]float64, n)
	tr.Sample(at, q, v, a)
	require.Equal(t, tr.Joints, stop.Joints)
	// Continuous, within the limits by its extrema and at rest at last: with the way
	// to the stop before it, it is a trajectory like any other.
	whole := Trajectory{Joints: tr.Joints, Segments: append(prefix(tr, at), stop.Segments...)}
	require.NoError(t, whole.Validate(widened(limits)), "stopped at %g s", at)

	// How long it takes.
	least := 0.0
	for i, l := range limits {
		least = max(least, StoppingTime(v[i], a[i], l))
	}
	duration, rest := stop.Duration(), tr.Duration()-at
	if duration > HoldDuration {
		require.LessOrEqual(t, duration, rest*(1+1e-9)+1e-9, "longer than following the trajectory")
	}
	if _, straight := BrakeAlongLine(tr.Joints, q, v, a, limits); !straight {
		require.LessOrEqual(t, duration, BrakePathFactor*least+BrakePathExtra+1e-9)
		require.GreaterOrEqual(t, duration, least*(1-1e-9), "no joint can do that")
	}

	// Where it goes: along the trajectory, never back. The trajectory is walked in
	// short chords, and each sample's place on it is looked for from the last one's on.
	const chords, samples = 8000, 120
	span := min(duration, rest)
	point := func(k int) []float64 {
		x := make([]float64, n)
		tr.Sample(at+span*float64(k)/chords, x, nil, nil)
		return x
	}
	var curved float64 // by how much a chord may be off the curve
	for i := range limits {
		h := span / chords
		curved = max(curved, limits[i].Acceleration*h*h/8)
	}
	way := 0.0
	for i, x := range stop.End() {
		way = max(way, math.Abs(x-q[i]))
	}
	tol := max(2*PositionTolerance, 1.5*BrakePathTolerance*min(1, way)) + curved
	k, from, to := 0, point(0), point(1)
	x := make([]float64, n)
	for m := range samples + 1 {
		stop.Sample(duration*float64(m)/samples, x, nil, nil)
		part, off := onChord(from, to, x)
		for k < chords-1 && part >= 1 {
			k++
			from, to = to, point(k+1)
			part, off = onChord(from, to, x)
		}
		require.GreaterOrEqual(t, part, -0.5-tol/(1e-300+distance(from, to)), "goes back %g s after the stop at %g s", duration*float64(m)/samples, at)
		require.LessOrEqual(t, off, tol, "%g s after the stop at %g s", duration*float64(m)/samples, at)
	}
}

func distance(a, b []float64) float64 {
	var s float64
	for i := range a {
		s += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(s)
}

// onChord returns where x is along a chord, 0 at its start and 1 at its end, and how
// far any joint is from there. A chord of no length is passed at once.
func onChord(from, to, x []float64) (part, off float64) {
	var dd, xd float64
	for i := range from {
		d := to[i] - from[i]
		dd += d * d
		xd += d * (x[i] - from[i])
	}
	part = 1
	if dd > 0 {
		part = xd / dd
	}
	on := min(1, max(0, part))
	for i := range from {
		off = max(off, math.Abs(x[i]-from[i]-on*(to[i]-from[i])))
	}
	return part, off
}

func TestBrakeAlongPathProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		tr, limits := bentTrajectory(r, rapid.IntRange(1, 7).Draw(t, "joints"))
		at := tr.Duration() * rapid.Float64Range(0, 1).Draw(t, "part")
		if stop, ok := BrakeAlongPath(tr, at, limits); ok {
			checkPathStop(t, tr, at, limits, stop)
			again, _ := BrakeAlongPath(tr, at, limits)
			require.Equal(t, stop, again)
		} else {
			require.Empty(t, stop)
		}
	})
}

// It is found where it is needed: on all but a few of the draws, within the limits,
// and seldom much longer than the joints' own stops.
func TestBrakeAlongPathIsFound(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	n := 3000
	if raceEnabled {
		n /= 10
	}
	none, slow, most := 0, 0, 0
	for range n {
		tr, limits := bentTrajectory(r, 2+r.IntN(6))
		at := tr.Duration() * r.Float64()
		stop, ok := BrakeAlongPath(tr, at, limits)
		if !ok {
			none++
			continue
		}
		whole := Trajectory{Joints: tr.Joints, Segments: append(prefix(tr, at), stop.Segments...)}
		require.NoError(t, whole.Validate(widened(limits)))
		q, v, a := make([]float64, len(limits)), make([]float64, len(limits)), make([]float64, len(limits))
		tr.Sample(at, q, v, a)
		own := BrakeTrajectory(tr.Joints, q, v, a, limits).Duration()
		if stop.Duration() > 1.5*own {
			slow++
		}
		if stop.Duration() > 1.25*own {
			most++
		}
	}
	t.Logf("of %d stops %d not found, %d longer than 1.5 times each joint's own, %d than 1.25 times", n, none, slow, most)
	require.LessOrEqual(t, none, n/20)
	require.LessOrEqual(t, slow, n/5)
}

func BenchmarkBrakeAlongPath(b *testing.B) {
	r := rand.New(rand.NewPCG(9, 10))
	type stop struct {
		tr     Trajectory
		at     float64
		limits []JointLimits
	}
	var all []stop
	for range 200 {
		tr, limits := bentTrajectory(r, 7)
		all = append(all, stop{tr, tr.Duration() * r.Float64(), limits})
	}
	b.ReportAllocs()
	k := 0
	for b.Loop() {
		s := &all[k%len(all)]
		k++
		BrakeAlongPath(s.tr, s.at, s.limits)
	}
}

// ahead returns two joints of which the second stands until the first has gone some
// way at constant speed: at 0.3 s both are on a line, which leads off the path.
func ahead() (Trajectory, []JointLimits) {
	lim := JointLimits{Velocity: 1, Acceleration: 10, Jerk: 400}
	var phases [2][]Phase
	p := Phase{}
	for _, k := range [...]struct{ t, j float64 }{{0.1, 80}, {0.1, -80}, {0.6, 0}, {0.1, -80}, {0.1, 80}} {
		p.Duration, p.J = k.t, k.j
		phases[0] = append(phases[0], p)
		p.Q, p.V, p.A = cubic(p.Q, p.V, p.A, p.J, p.Duration)
	}
	end := []float64{p.Q, 0}
	p = Phase{Duration: 0.33}
	for _, k := range [...]struct{ t, j float64 }{{0.33, 0}, {0.1, 100}, {0.2, -100}, {0.1, 100}} {
		p.Duration, p.J = k.t, k.j
		phases[1] = append(phases[1], p)
		p.Q, p.V, p.A = cubic(p.Q, p.V, p.A, p.J, p.Duration)
	}
	end[1] = p.Q
	return Trajectory{Joints: []string{"a", "b"}, Segments: merge(phases[:], end)}, []JointLimits{lim, lim}
}

// Joints that move along a line now may be about to leave it.
func TestBrakeAlongPathLooksAhead(t *testing.T) {
	tr, limits := ahead()
	require.NoError(t, tr.Validate(limits))
	q, v, a := make([]float64, 2), make([]float64, 2), make([]float64, 2)
	tr.Sample(0.3, q, v, a)
	line, ok := BrakeAlongLine(tr.Joints, q, v, a, limits)
	require.True(t, ok)
	require.Zero(t, line.End()[1])
	stop, ok := BrakeAlongPath(tr, 0.3, limits)
	require.True(t, ok)
	require.Greater(t, stop.End()[1], 1e-4, "it goes round the bend")
	checkPathStop(t, tr, 0.3, limits, stop)

	// Where the line is the path, its stop is the one.
	tr.Sample(0.1, q, v, a)
	line, ok = BrakeAlongLine(tr.Joints, q, v, a, limits)
	require.True(t, ok)
	stop, ok = BrakeAlongPath(tr, 0.1, limits)
	require.True(t, ok)
	require.Equal(t, line, stop)
	checkPathStop(t, tr, 0.1, limits, stop)
}

// A joint that decelerates as hard as it may can't be slowed down further on its
// path, and the trajectory's own end is the nearest stop.
func TestBrakeAlongPathFollowsToTheEnd(t *testing.T) {
	var phases [2][]Phase
	end := make([]float64, 2)
	limits := []JointLimits{{Velocity: 1}, {Velocity: 1}}
	for i, ts := range [2][]float64{{0.2, 0.2, 0.2, 0.05, 0.1, 0.05}, {0.2, 0.2, 0.21, 0.05, 0.09, 0.05}} {
		p := Phase{}
		up := 0.4 // what the first two phases reach
		down := up / (ts[3] * (ts[3] + ts[4]))
		for k, j := range []float64{10, -10, 0, -down, 0, down} {
			p.Duration, p.J = ts[k], j
			phases[i] = append(phases[i], p)
			p.Q, p.V, p.A = cubic(p.Q, p.V, p.A, p.J, p.Duration)
		}
		end[i] = p.Q
		limits[i].Acceleration, limits[i].Jerk = down*ts[3], down
	}
	tr := Trajectory{Joints: []string{"a", "b"}, Segments: merge(phases[:], end)}
	require.NoError(t, tr.Validate(limits))
	at := 0.67
	stop, ok := BrakeAlongPath(tr, at, limits)
	require.True(t, ok)
	require.InDelta(t, tr.Duration()-at, stop.Duration(), 1e-12)
	require.InDeltaSlice(t, tr.End(), stop.End(), 1e-12)
	checkPathStop(t, tr, at, limits, stop)

	// A stop of a stop ends where that one does, or before.
	at = 0.5
	stop, ok = BrakeAlongPath(tr, at, limits)
	require.True(t, ok)
	for _, s := range []float64{0, stop.Duration() / 2, stop.Duration() * 0.9} {
		second, ok := BrakeAlongPath(stop, s, limits)
		require.True(t, ok)
		require.LessOrEqual(t, second.Duration(), stop.Duration()-s+1e-9)
		q := make([]float64, 2)
		if stop.Sample(s, q, nil, nil); s > 0 {
			require.InDeltaSlice(t, q, second.Start(), 1e-15)
		}
		require.LessOrEqual(t, second.End()[0], stop.End()[0]+1e-9)
	}
}

func TestBrakeAlongPathAtItsEndsAndOfNothing(t *testing.T) {
	tr, limits := ahead()
	for _, at := range []float64{-1, 0, tr.Duration(), 100} {
		stop, ok := BrakeAlongPath(tr, at, limits)
		require.True(t, ok)
		q := make([]float64, 2)
		tr.Sample(at, q, nil, nil)
		require.Equal(t, Hold(tr.Joints, q), stop, "at %g", at)
	}
	for name, refuse := range map[string]func() (Trajectory, bool){
		"no time":     func() (Trajectory, bool) { return BrakeAlongPath(tr, math.NaN(), limits) },
		"no segments": func() (Trajectory, bool) { return BrakeAlongPath(Trajectory{Joints: tr.Joints}, 0.2, limits) },
		"no joints":   func() (Trajectory, bool) { return BrakeAlongPath(Trajectory{}, 0.2, nil) },
		"too few":     func() (Trajectory, bool) { return BrakeAlongPath(tr, 0.2, limits[:1]) },
		"no limits":   func() (Trajectory, bool) { return BrakeAlongPath(tr, 0.2, make([]JointLimits, 2)) },
		"bad limits": func() (Trajectory, bool) {
			return BrakeAlongPath(tr, 0.5, []JointLimits{limits[0], {Velocity: 1, Acceleration: math.NaN(), Jerk: 1}})
		},
		// No pace is slow enough for limits that the trajectory itself breaks.
		"tight limits": func() (Trajectory, bool) {
			tight := limits[1].Scaled(0.01)
			return BrakeAlongPath(tr, 0.5, []JointLimits{limits[0], tight})
		},
	} {
		t.Run(name, func(t *testing.T) {
			stop, ok := refuse()
			require.False(t, ok)
			require.Empty(t, stop)
		})
	}
}
