package trajectory

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
)

// integrate adds up a phase on its own, in the plain form of the cubic.
func integrate(q, v, a, j, t float64) (float64, float64, float64) {
	return q + v*t + a*t*t/2 + j*t*t*t/6, v + a*t + j*t*t/2, a + j*t
}

// The durations are worked out by hand for each of the four shapes: with a/j =
// 0.25 s the full velocity 1 needs 0.25+0.25+0.25 s and covers 0.375.
func TestProfileKnown(t *testing.T) {
	tests := []struct {
		name               string
		d, v, a, j         float64
		phases             int
		duration, peak, a2 float64
	}{
		{"all limits", 1, 1, 2, 8, 7, 1.75, 1, 2},
		// d = v·(v/a + a/j): the cruise just vanishes.
		{"all limits, no cruise", 0.75, 1, 2, 8, 6, 1.5, 1, 2},
		// w²/2 + w/4 = 0.375: w = (√13-1)/4; T = 2(w/2 + 1/4).
		{"acceleration only", 0.375, 1, 2, 8, 6, (math.Sqrt(13)-1)/4 + 0.5, (math.Sqrt(13) - 1) / 4, 2},
		// 2·j·r³ = d: r = 1/8 s, T = 4r, w = j·r², a = j·r.
		{"jerk only", 8. / 256, 1, 2, 8, 4, 0.5, 0.125, 1},
		// v·j < a²: r = √(v/j) = 0.25 s; acceleration and deceleration cover v·2r.
		{"velocity and jerk", 1, 0.5, 10, 8, 5, 1/0.5 + 2*0.25, 0.5, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := NewProfile(tt.d, tt.v, tt.a, tt.j)
			require.NoError(t, err)
			require.InEpsilon(t, tt.duration, p.Duration(), 1e-11)
			require.InEpsilon(t, tt.peak, p.PeakVelocity(), 1e-11)
			require.InEpsilon(t, tt.a2, p.PeakAcceleration(), 1e-11)
			require.InDelta(t, tt.d, p.Distance(), 0)
			if tt.name != "all limits, no cruise" { // where it may be 1e-12 s long
				require.Len(t, p.Phases(), tt.phases)
			}
		})
	}
}

func TestProfileRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for k, name := range []string{"distance", "velocity", "acceleration", "jerk"} {
		for _, bad := range []float64{nan, inf, -inf, -1, 0} {
			if k == 0 && bad == 0 {
				continue
			}
			x := [4]float64{1, 1, 1, 1}
			x[k] = bad
			_, err := NewProfile(x[0], x[1], x[2], x[3])
			require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
			require.ErrorContains(t, err, name)
		}
	}
	_, err := NewProfile(1e308, 1e-300, 1e-300, 1e-300)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	p, err := NewProfile(0, 1, 1, 1)
	require.NoError(t, err)
	require.Zero(t, p.Duration())
	require.Empty(t, p.Phases())
}

// bisected returns the duration by another way: the peak velocity by bisection
// over what acceleration and deceleration to it cover.
func bisected(d, v, a, j float64) float64 {
	accelerating := func(w float64) float64 {
		if w*j < a*a {
			return 2 * math.Sqrt(w/j)
		}
		return w/a + a/j
	}
	if d >= v*accelerating(v) {
		return d/v + accelerating(v)
	}
	lo, hi := 0.0, v
	for range 200 {
		if w := (lo + hi) / 2; w*accelerating(w) < d {
			lo = w
		} else {
			hi = w
		}
	}
	return 2 * accelerating(lo)
}

// checkProfile integrates a profile and holds it to what makes it the fastest
// one: bang-bang, so that at each moment one of the limits is met (Pontryagin's
// condition), and the duration that bisection finds.
func checkProfile(t require.TestingT, d, v, a, j float64) {
	p, err := NewProfile(d, v, a, j)
	require.NoError(t, err)
	var q1, v1, a1, sum float64
	phases := p.Phases()
	for k, f := range phases {
		atMost(t, math.SmallestNonzeroFloat64, f.Duration, "duration")
		near(t, q1, f.Q, 1e-13*d, "position")
		near(t, v1, f.V, 1e-13*v, "velocity")
		near(t, a1, f.A, 1e-13*a, "acceleration")
		q1, v1, a1 = integrate(f.Q, f.V, f.A, f.J, f.Duration)
		sum += f.Duration
		atMost(t, math.Abs(f.J), j, "limit")
		atMost(t, math.Abs(f.A), a, "limit")
		atMost(t, math.Abs(a1), a, "limit")
		atMost(t, f.V, v, "limit")
		atMost(t, v1, v, "limit")
		atMost(t, 0, f.V, "never backwards")
		switch {
		case f.J != 0:
			near(t, j, math.Abs(f.J), 1e-11*j, "limit met")
		case f.A != 0:
			near(t, a, math.Abs(f.A), 1e-11*a, "limit met")
		default:
			near(t, v, f.V, 1e-11*v, "limit met")
		}
		m := phases[len(phases)-1-k]
		near(t, f.Duration, m.Duration, 0, "symmetric in time")
		// Backwards in time the jerk changes its sign, and seen from the other end
		// of the way once more.
		near(t, f.J, m.J, 0, "symmetric in time")
	}
	near(t, d, q1, 1e-13*d, "limit met")
	near(t, 0, v1, 1e-13*v, "rest")
	near(t, 0, a1, 1e-13*a, "rest")
	near(t, sum, p.Duration(), 1e-13*sum, "limit met")
	want := bisected(d, v, a, j)
	near(t, want, p.Duration(), 1e-10*want, "duration")
}

func TestProfileRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	n := 100_000
	if raceEnabled {
		n /= 10
	}
	for range n {
		checkProfile(t, logUniform(r, -9, 4), logUniform(r, -3, 3), logUniform(r, -3, 3), logUniform(r, -3, 3))
	}
}

func TestProfileProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Float64Range(1e-3, 1e3)
		d, v := rapid.Float64Range(1e-9, 1e4).Draw(t, "d"), limit.Draw(t, "v")
		a, j := limit.Draw(t, "a"), limit.Draw(t, "j")
		checkProfile(t, d, v, a, j)
		p, err := NewProfile(d, v, a, j)
		require.NoError(t, err)

		// Slowed down k times, limits of 1/k, 1/k², 1/k³ give k times the duration.
		k := rapid.Float64Range(0.1, 10).Draw(t, "k")
		slow, err := NewProfile(d, v/k, a/(k*k), j/(k*k*k))
		require.NoError(t, err)
		require.InEpsilon(t, k*p.Duration(), slow.Duration(), 1e-9)
		// Everything k times as large lasts as long.
		large, err := NewProfile(k*d, k*v, k*a, k*j)
		require.NoError(t, err)
		require.InEpsilon(t, p.Duration(), large.Duration(), 1e-9)
		// A longer way and a tighter limit take longer or as long.
		for _, x := range [][4]float64{{d * 1.1, v, a, j}, {d, v / 1.1, a, j}, {d, v, a / 1.1, j}, {d, v, a, j / 1.1}} {
			longer, err := NewProfile(x[0], x[1], x[2], x[3])
			require.NoError(t, err)
			require.GreaterOrEqual(t, longer.Duration(), p.Duration()*(1-1e-12))
		}
	})
}
