package robot

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var brakeCases = flag.Int("brake.cases", 100_000, "seeded cases of TestBrakeRandom")

func unitLimits() JointLimits {
	return JointLimits{Velocity: 1, Acceleration: 2, Jerk: 8}
}

// logUniform returns a number between 10^lo and 10^hi, uniform in its logarithm.
func logUniform(r *rand.Rand, lo, hi float64) float64 {
	return math.Pow(10, lo+(hi-lo)*r.Float64())
}

func randomLimits(r *rand.Rand) JointLimits {
	return JointLimits{
		Velocity:     logUniform(r, -3, 3),
		Acceleration: logUniform(r, -3, 3),
		Jerk:         logUniform(r, -2, 4),
	}
}

// randomMotion returns a velocity and an acceleration that a trajectory within
// the limits can have, or at one draw in eight any at all.
func randomMotion(r *rand.Rand, lim JointLimits) (v, a float64) {
	a = lim.Acceleration * (2*r.Float64() - 1)
	switch r.IntN(8) {
	case 0:
		return lim.Velocity * (2*r.Float64() - 1), a
	case 1: // at the acceleration limit but for rounding
		a = math.Copysign(lim.Acceleration*(1+1e-14*r.Float64()), a)
	case 2: // at rest but for an acceleration, or but for a velocity
		if r.IntN(2) == 0 {
			return 0, a
		}
		a = 0
	case 3: // on the line that leads to rest, but for rounding
		v = -a * math.Abs(a) / (2 * lim.Jerk) * (1 + 1e-13*(r.Float64()-0.5))
		if math.Abs(v) <= lim.Velocity {
			return v, a
		}
	}
	// After braking the acceleration, and before building it up, |v| is within
	// its limit.
	room := lim.Velocity - a*a/(2*lim.Jerk)
	if room <= 0 {
		a = math.Copysign(math.Sqrt(lim.Jerk*lim.Velocity), a)
		room = lim.Velocity / 2
	}
	return room * (2*r.Float64() - 1), a
}

// checkBrake integrates a profile phase by phase and holds it to what Brake
// promises.
func checkBrake(t require.TestingT, q, v, a float64, lim JointLimits) {
	phases := Brake(q, v, a, lim)
	require.LessOrEqual(t, len(phases), 3)
	ta := 1e-9 * lim.Acceleration
	topA := math.Max(lim.Acceleration, math.Abs(a)) + ta
	// What a full jerk against a leads to can't be avoided; nothing that Brake
	// does goes faster.
	topV := math.Max(lim.Velocity, math.Max(math.Abs(v), math.Abs(v+a*math.Abs(a)/(2*lim.Jerk))))
	tv := 1e-9 * topV
	var total float64
	q1, v1, a1 := q, v, a
	for k, p := range phases {
		require.Greater(t, p.Duration, 0.0)
		require.InDelta(t, q1, p.Q, 1e-9+1e-12*math.Abs(q1), "phase %d of %+v", k, phases)
		require.InDelta(t, v1, p.V, tv, "phase %d of %+v", k, phases)
		require.InDelta(t, a1, p.A, ta, "phase %d of %+v", k, phases)
		require.LessOrEqual(t, math.Abs(p.J), lim.Jerk*(1+1e-9))
		// An acceleration within its limit stays within, one beyond it comes back.
		require.LessOrEqual(t, math.Abs(p.A), topA)
		require.LessOrEqual(t, math.Abs(p.V), topV+tv)
		if p.J == 0 {
			require.InEpsilon(t, lim.Acceleration, math.Abs(p.A), 1e-9, "a phase without jerk is at the acceleration limit")
		} else {
			require.InEpsilon(t, lim.Jerk, math.Abs(p.J), 1e-9, "a phase with jerk has all of it")
		}
		total += p.Duration
		q1, v1, a1 = cubic(p.Q, p.V, p.A, p.J, p.Duration)
	}
	if len(phases) > 0 {
		require.Zero(t, v1, "%+v", phases)
		require.Zero(t, a1, "%+v", phases)
	} else {
		require.InDelta(t, 0, v, restRounding*lim.Velocity)
		require.InDelta(t, 0, a, restRounding*lim.Acceleration)
	}
	require.InDelta(t, total, StoppingTime(v, a, lim), 1e-9*total)
	require.InDelta(t, q1-q, StoppingDistance(v, a, lim), 1e-9*(math.Abs(q1-q)+topV*total)+1e-12*math.Abs(q))
	mirrored := Brake(-q, -v, -a, lim)
	require.Len(t, mirrored, len(phases))
	for k := range phases {
		p, m := phases[k], mirrored[k]
		require.Equal(t, Phase{p.Duration, -p.Q, -p.V, -p.A, -p.J}, Phase{m.Duration, m.Q, m.V, m.A, m.J})
	}
}

func TestBrakeRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	n := *brakeCases
	if raceEnabled && n == 100_000 {
		n /= 10
	}
	for range n {
		lim := randomLimits(r)
		v, a := randomMotion(r, lim)
		checkBrake(t, 20*r.Float64()-10, v, a, lim)
	}
}

func TestBrakeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lim := JointLimits{
			Velocity:     rapid.Float64Range(1e-3, 1e3).Draw(t, "velocity"),
			Acceleration: rapid.Float64Range(1e-3, 1e3).Draw(t, "acceleration"),
			Jerk:         rapid.Float64Range(1e-2, 1e4).Draw(t, "jerk"),
		}
		v := lim.Velocity * rapid.Float64Range(-1, 1).Draw(t, "v")
		a := lim.Acceleration * rapid.Float64Range(-1, 1).Draw(t, "a")
		checkBrake(t, rapid.Float64Range(-10, 10).Draw(t, "q"), v, a, lim)
	})
}

// The expected phases are worked out by hand from v = a²/(2j).
func TestBrakeKnown(t *testing.T) {
	lim := unitLimits() // v 1, a 2, j 8: a²/j = 0.5
	tests := []struct {
		name      string
		v, a      float64
		durations []float64
		jerks     []float64
		distance  float64
	}{
		{"at rest", 0, 0, nil, nil, 0},
		// From v = 0.5 the acceleration limit is just reached: 2·(1/4 s), mean
		// speed 0.25 by symmetry.
		{"triangle", 0.5, 0, []float64{0.25, 0.25}, []float64{-8, 8}, 0.125},
		{"triangle, backwards", -0.5, 0, []float64{0.25, 0.25}, []float64{8, -8}, -0.125},
		// v = 1: 0.5 of it in the two ramps, the other half at 2 rad/s² for 0.25 s.
		{"trapezoid", 1, 0, []float64{0.25, 0.25, 0.25}, []float64{-8, 0, 8}, 0.375},
		// Half way down the last ramp of a trapezoid: v = a²/(2j) = 1/16.
		{"on the way to rest", 1. / 16, -1, []float64{0.125}, []float64{8}, 1. / 384},
		// a = 1 at v = 0: peak = 1/√2; q = t²/2 - 4t³/3 in the first phase, and
		// j·t³/6 = (1/√2)³/(6·64) in the second.
		{"accelerating from rest", 0, 1, []float64{(1 + math.Sqrt2/2) / 8, math.Sqrt2 / 16}, []float64{-8, 8}, 0.0098118 + 0.00092071},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			phases := Brake(3, tt.v, tt.a, lim)
			require.Len(t, phases, len(tt.durations))
			var sum float64
			for k, p := range phases {
				require.InDelta(t, tt.durations[k], p.Duration, 1e-12)
				require.InDelta(t, tt.jerks[k], p.J, 1e-12)
				sum += tt.durations[k]
			}
			require.InDelta(t, sum, StoppingTime(tt.v, tt.a, lim), 1e-12)
			require.InDelta(t, tt.distance, StoppingDistance(tt.v, tt.a, lim), 1e-6)
		})
	}
}

// A state beyond the acceleration limit is taken down to the limit first.
func TestBrakeBeyondAcceleration(t *testing.T) {
	lim := unitLimits()
	phases := Brake(0, 2, -3, lim)
	require.Len(t, phases, 3)
	require.InDelta(t, 0.125, phases[0].Duration, 1e-12)
	require.InDelta(t, 8, phases[0].J, 1e-12)
	require.InDelta(t, -2, phases[1].A, 1e-12)
	p := phases[2]
	_, v, a := cubic(p.Q, p.V, p.A, p.J, p.Duration)
	require.Zero(t, v)
	require.Zero(t, a)
	checkBrake(t, 0, 0.5, 5, lim)
}

func TestBrakeOfNothingUsable(t *testing.T) {
	lim := unitLimits()
	nan, inf := math.NaN(), math.Inf(1)
	for _, x := range [][3]float64{{nan, 1, 1}, {0, nan, 0}, {0, 0, nan}, {0, inf, 0}, {0, 0, -inf}} {
		require.Empty(t, Brake(x[0], x[1], x[2], lim))
	}
	for _, bad := range []float64{0, -1, nan, inf} {
		require.Empty(t, Brake(0, 1, 0, JointLimits{Velocity: 1, Acceleration: bad, Jerk: 1}))
		require.Empty(t, Brake(0, 1, 0, JointLimits{Velocity: 1, Acceleration: 1, Jerk: bad}))
	}
}

// No feasible control stops sooner: at each state on the profile the time that
// is left falls by exactly the time that passes, and any other admissible jerk
// for a moment leaves at least as much.
func TestBrakeIsTimeOptimal(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		lim := randomLimits(r)
		v, a := randomMotion(r, lim)
		total := StoppingTime(v, a, lim)
		if total == 0 {
			continue
		}
		dt := total * math.Pow(10, -3*r.Float64())
		j := lim.Jerk * (2*r.Float64() - 1)
		_, v1, a1 := cubic(0, v, a, j, dt)
		if math.Abs(a) > lim.Acceleration || math.Abs(a1) > lim.Acceleration {
			continue // that moment isn't admissible
		}
		require.GreaterOrEqual(t, dt+StoppingTime(v1, a1, lim), total*(1-1e-9))
	}
}
