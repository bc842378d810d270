package trajectory

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
)

const shortCases = 200_000

var cases = flag.Int("trajectory.cases", shortCases, "seeded cases of TestPointToPointRandom")

// logUniform returns a number between 10^lo and 10^hi, uniform in its logarithm.
func logUniform(r *rand.Rand, lo, hi float64) float64 {
	return math.Pow(10, lo+(hi-lo)*r.Float64())
}

// problem is a motion to be timed.
type problem struct {
	names    []string
	limits   []robot.JointLimits
	from, to []float64
	scale    float64
}

var jointNames = []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}

// randomProblem draws 1 to 12 joints with limits over six decades each, travels
// from 1e-9 to 1e4, none at one joint in five, at least one.
func randomProblem(r *rand.Rand) problem {
	n := 1 + r.IntN(len(jointNames))
	p := problem{
		names: jointNames[:n], limits: make([]robot.JointLimits, n),
		from: make([]float64, n), to: make([]float64, n), scale: max(LeastSpeedScale, 1-r.Float64()),
	}
	if r.IntN(2) == 0 {
		p.scale = 1
	}
	moves := r.IntN(n)
	for i := range n {
		l := robot.JointLimits{
			Velocity: logUniform(r, -3, 3), Acceleration: logUniform(r, -3, 3), Jerk: logUniform(r, -3, 3),
		}
		p.from[i] = 20*r.Float64() - 10
		p.to[i] = p.from[i]
		if i == moves || r.IntN(5) > 0 {
			p.to[i] += math.Copysign(logUniform(r, -9, 4), r.Float64()-0.5)
		}
		l.Bounded, l.Lower, l.Upper = r.IntN(4) > 0, math.Min(p.from[i], p.to[i]), math.Max(p.from[i], p.to[i])
		p.limits[i] = l
	}
	return p
}

// check holds a trajectory to what PointToPoint promises. Validate re-integrates
// each segment and knows the extrema; what is checked here is what it doesn't
// know: the line, the synchronisation, the scale, and that it is the fastest.
func (p problem) check(t require.TestingT, tr robot.Trajectory) {
	scaled := make([]robot.JointLimits, len(p.limits))
	for i, l := range p.limits {
		scaled[i] = l.Scaled(p.scale)
	}
	require.NoError(t, tr.Validate(scaled))
	require.LessOrEqual(t, len(tr.Segments), 7)
	first, last := tr.Segments[0], tr.Segments[len(tr.Segments)-1]
	end := tr.End()
	longest := 0.0
	for i := range p.names {
		near(t, p.from[i], first.Q[i], 0, "state")
		near(t, p.to[i], end[i], 1e-15*(1+math.Abs(p.to[i])+math.Abs(p.from[i])), "state")
		_, v, a := integrate(0, last.V[i], last.A[i], last.J[i], last.Duration)
		near(t, 0, v, 1e-15*scaled[i].Velocity, "state")
		near(t, 0, a, 1e-15*scaled[i].Acceleration, "state")
		travel := math.Abs(p.to[i] - p.from[i])
		if travel == 0 {
			continue
		}
		alone, err := NewProfile(travel, scaled[i].Velocity, scaled[i].Acceleration, scaled[i].Jerk)
		require.NoError(t, err)
		longest = math.Max(longest, alone.Duration())
	}
	require.GreaterOrEqual(t, tr.Duration(), longest*(1-1e-9), "no joint can be faster than alone")
	if len(p.names) == 1 {
		require.InEpsilon(t, longest, tr.Duration(), 1e-9, "one joint takes no longer than it has to")
	}
	p.checkFastest(t, tr, scaled)
}

// checkFastest: at each moment some joint is at one of its limits, so that no
// motion along the same line is faster. A joint's jerk, then its acceleration,
// then its velocity is what a phase of a double S is limited by.
func (p problem) checkFastest(t require.TestingT, tr robot.Trajectory, scaled []robot.JointLimits) {
	for k := range tr.Segments {
		s := &tr.Segments[k]
		var use float64
		for i, l := range scaled {
			switch {
			case s.J[i] != 0:
				use = math.Max(use, math.Abs(s.J[i])/l.Jerk)
			case s.A[i] != 0:
				use = math.Max(use, math.Abs(s.A[i])/l.Acceleration)
			default:
				use = math.Max(use, math.Abs(s.V[i])/l.Velocity)
			}
		}
		near(t, 1, use, 1e-9, "no joint is at a limit")
	}
}

func TestPointToPointRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	n := *cases
	if raceEnabled && n == shortCases {
		n /= 20
	}
	for k := range n {
		p := randomProblem(r)
		tr, err := PointToPoint(p.names, p.limits, p.from, p.to, p.scale)
		require.NoError(t, err)
		p.check(t, tr)
		if k%1000 == 0 {
			p.checkSamples(t, tr)
		}
	}
}

// checkSamples walks through a trajectory: on the line and within the limits, to
// the last bit, at each millisecond (or 10 000 instants of a longer one), and
// position is what velocity adds up to.
func (p problem) checkSamples(t require.TestingT, tr robot.Trajectory) {
	n := len(p.names)
	q, v, a := make([]float64, n), make([]float64, n), make([]float64, n)
	total := tr.Duration()
	dt := math.Max(1e-3, total/1e4)
	c := robot.NewCursor(tr)
	lead := 0 // the joint with the longest way says how far along the line they are
	for i := range n {
		if math.Abs(p.to[i]-p.from[i]) > math.Abs(p.to[lead]-p.from[lead]) {
			lead = i
		}
	}
	sum := make([]float64, n)
	for s := 0.0; s <= total; s += dt {
		c.Sample(s, q, v, a)
		along := (q[lead] - p.from[lead]) / (p.to[lead] - p.from[lead])
		for i, l := range p.limits {
			atMost(t, math.Abs(v[i]), l.Velocity*p.scale, "limit")
			atMost(t, math.Abs(a[i]), l.Acceleration*p.scale, "limit")
			room := 1e-15 * (10 + math.Abs(q[i]))
			atMost(t, math.Min(p.from[i], p.to[i])-room, q[i], "limit")
			atMost(t, q[i], math.Max(p.from[i], p.to[i])+room, "limit")
			near(t, p.from[i]+along*(p.to[i]-p.from[i]), q[i], 1e-9, "off the line")
			sum[i] += v[i] * dt
			// The error of the trapezoidal rule, by the bound on a and by that on j.
			room = dt * (total + dt) * math.Min(l.Acceleration/4, l.Jerk*dt/12)
			near(t, q[i]-p.from[i], sum[i]-v[i]*dt/2, room+1e-11*(1+math.Abs(q[i])), "state")
		}
	}
}

func TestPointToPointProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		p := randomProblem(r)
		there, err := PointToPoint(p.names, p.limits, p.from, p.to, p.scale)
		require.NoError(t, err)
		p.checkSamples(t, there)

		// The way back takes as long, to the bit, and is the way there mirrored.
		back, err := PointToPoint(p.names, p.limits, p.to, p.from, p.scale)
		require.NoError(t, err)
		require.InDelta(t, there.Duration(), back.Duration(), 0)
		require.Len(t, back.Segments, len(there.Segments))
		for k := range there.Segments {
			for i := range p.names {
				require.InDelta(t, -there.Segments[k].V[i], back.Segments[k].V[i], 0)
				require.InDelta(t, -there.Segments[k].J[i], back.Segments[k].J[i], 0)
			}
		}
		// The joints' order doesn't matter.
		n := len(p.names)
		m := problem{names: append([]string(nil), p.names...), limits: append([]robot.JointLimits(nil), p.limits...), from: append([]float64(nil), p.from...), to: append([]float64(nil), p.to...)}
		r.Shuffle(n, func(i, j int) {
			m.names[i], m.names[j] = m.names[j], m.names[i]
			m.limits[i], m.limits[j] = m.limits[j], m.limits[i]
			m.from[i], m.from[j] = m.from[j], m.from[i]
			m.to[i], m.to[j] = m.to[j], m.to[i]
		})
		mixed, err := PointToPoint(m.names, m.limits, m.from, m.to, p.scale)
		require.NoError(t, err)
		require.InDelta(t, there.Duration(), mixed.Duration(), 0)
		// Slower is longer.
		slow, err := PointToPoint(p.names, p.limits, p.from, p.to, p.scale/2)
		require.NoError(t, err)
		require.Greater(t, slow.Duration(), there.Duration())
		// Stored and read again it is the same.
		again, err := robot.DecodeTrajectory(there.AppendCanonical(nil))
		require.NoError(t, err)
		require.Equal(t, there.Digest(), again.Digest())
	})
}

func TestTinyAndHugeMoves(t *testing.T) {
	limits := []robot.JointLimits{{Velocity: 3, Acceleration: 3, Jerk: 30}, {Velocity: 3, Acceleration: 3, Jerk: 30}}
	names := []string{"a", "b"}
	for _, d := range []float64{5e-324, 1e-300, 1e-15, 1e-12, 1e-9, 1e-6, 1, 1e4, 1e6} {
		for _, from := range []float64{0, -1e-9, 0.1, -1e4} {
			t.Run(fmt.Sprintf("%g from %g", d, from), func(t *testing.T) {
				to := from + d
				if math.Abs(to) > maxPosition {
					return
				}
				p := problem{names, limits, []float64{from, 0}, []float64{to, math.Min(d, 1)}, 1}
				tr, err := PointToPoint(p.names, p.limits, p.from, p.to, p.scale)
				require.NoError(t, err)
				require.NoError(t, tr.Validate(limits))
				require.InDeltaSlice(t, p.to, tr.End(), 1e-15*(1+math.Abs(from)+d))
				if d >= 1e-11 && to != from {
					p.check(t, tr)
				}
			})
		}
	}
}
