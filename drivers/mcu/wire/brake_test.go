package wire

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
)

// drawLimits draws limits as CONFIGURE takes them.
func drawLimits(t *rapid.T) Limits {
	l := Limits{
		Lower: -MaxQ, Upper: MaxQ, Referenced: true,
		V:    rapid.Uint32Range(1, 1<<20).Draw(t, "v"),
		Ramp: uint16(rapid.IntRange(1, MaxRamp).Draw(t, "ramp")),
	}
	least := (l.V*256 + MaxStopping - 1) / MaxStopping
	l.A = max(1, least+rapid.Uint32Range(0, 1<<22).Draw(t, "a"))
	c := Configure{Lower: l.Lower, Upper: l.Upper, V: l.V, A: l.A, Ramp: l.Ramp}
	if err := c.check(); err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	return l
}

// drawState draws a state that a motion within the limits can be in: what is left of
// the velocity when the acceleration has been taken away is within its limit.
func drawState(t *rapid.T, l Limits) Point {
	a := float64(l.A) / 65536 * rapid.Float64Range(-1, 1).Draw(t, "a")
	v := float64(l.V) / 256 * rapid.Float64Range(-1, 1).Draw(t, "v")
	return Point{Q: rapid.Float64Range(-1e6, 1e6).Draw(t, "q"), V: v, A: a}
}

func TestABrakeKeepsItsLimitsAndRests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, MaxJoints).Draw(t, "joints")
		now, limits := make([]Point, n), make([]Limits, n)
		for j := range now {
			limits[j] = drawLimits(t)
			now[j] = drawState(t, limits[j])
		}
		b, err := NewBrake(now, limits)
		require.NoError(t, err)
		require.LessOrEqual(t, b.Ticks(), MaxStopping+3*MaxRamp+3, "it takes no longer than the document lets it")
		for j, m := range now {
			a, fastest := float64(limits[j].A)/65536, float64(limits[j].step())/256
			require.InDelta(t, m.Q, b.At(j, 0).Q, 0)
			last := b.At(j, 0)
			step := max(1, b.Ticks()/200)
			for tick := step; tick <= b.Ticks(); tick += step {
				p := b.At(j, float64(tick))
				require.LessOrEqual(t, math.Abs(p.A), a*(1+1e-9)+1e-9, "acceleration at tick %d", tick)
				// A ramp from a to −p: no acceleration steps.
				slope := 2*a/float64(min(b.Ra, b.Rb))*float64(step) + 1e-9
				require.LessOrEqual(t, math.Abs(p.A-last.A), slope*(1+1e-9), "jerk at tick %d", tick)
				// q is what v adds up to.
				require.InDelta(t, last.Q+(last.V+p.V)/2*float64(step), p.Q, a*float64(step*step)+1e-6*math.Abs(p.Q)+1e-6)
				last = p
			}
			require.LessOrEqual(t, math.Abs(b.after(j, float64(b.Ra))), fastest*(1+1e-12))
			end := b.At(j, float64(b.Ticks()))
			require.Zero(t, end.V)
			require.Zero(t, end.A)
			before := b.At(j, float64(b.Ticks())-1e-6)
			require.InDelta(t, 0, before.V, 1e-5*(1+a), "it comes to rest, and isn't declared to")
			require.InDelta(t, end.Q, before.Q, 1e-4*(1+a))
			require.Equal(t, end, b.At(j, float64(b.Ticks())+1000), "and stays")
		}
	})
}

func TestABrakeKeepsToALine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, MaxJoints).Draw(t, "joints")
		limits, dir := make([]Limits, n), make([]float64, n)
		// What the line lets its joints do: the most restrictive one decides.
		v, a := math.Inf(1), math.Inf(1)
		for j := range limits {
			limits[j] = drawLimits(t)
			dir[j] = rapid.SampledFrom([]float64{-1, 0, 0.001, 0.3, 1, 5}).Draw(t, "direction")
			if dir[j] != 0 {
				v = min(v, float64(limits[j].V)/256/math.Abs(dir[j]))
				a = min(a, float64(limits[j].A)/65536/math.Abs(dir[j]))
			}
		}
		if math.IsInf(v, 1) {
			return
		}
		v *= rapid.Float64Range(0, 1).Draw(t, "v")
		a *= rapid.Float64Range(-1, 0.5).Draw(t, "a")
		now := make([]Point, n)
		for j := range now {
			now[j] = Point{V: v * dir[j], A: a * dir[j]}
		}
		b, err := NewBrake(now, limits)
		require.NoError(t, err)
		var way float64
		for j, d := range dir {
			if d != 0 && way == 0 {
				way = b.End(j) / d
			}
		}
		// Where the speed is held to what a tick may be, the joints aren't in proportion.
		for j := range dir {
			if math.Abs(b.start[j].V+now[j].A*float64(b.Ra)/2) > b.fastest[j] {
				return
			}
		}
		for j, d := range dir {
			require.InDelta(t, way*d, b.End(j), 1e-6*(1+math.Abs(way*d)), "joint %d", j)
		}
	})
}

// TestABrakeIsTheShortestButForWholeTicks holds a joint alone to robot.Brake, which is
// time-optimal and was written for another purpose, by other formulae.
func TestABrakeIsTheShortestButForWholeTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLimits(t)
		m := drawState(t, l)
		a := float64(l.A) / 65536
		// Such that the velocity that is left doesn't need a turn.
		j := a / float64(l.Ramp)
		if m.V*m.A < 0 && math.Abs(m.V) < m.A*m.A/(2*j) {
			m.A = -math.Copysign(math.Sqrt(2*j*math.Abs(m.V)), m.V) * 0.999
		}
		b, err := NewBrake([]Point{m}, []Limits{l})
		require.NoError(t, err)
		if math.Abs(m.V+m.A*float64(b.Ra)/2) > b.fastest[0] {
			return
		}
		lim := robot.JointLimits{Velocity: b.fastest[0], Acceleration: a, Jerk: j}
		best := robot.StoppingTime(m.V, m.A, lim)
		require.LessOrEqual(t, float64(b.Ticks()), best+4, "ticks")
		way := robot.StoppingDistance(m.V, m.A, lim)
		peak := max(math.Abs(m.V), math.Abs(m.V+m.A*math.Abs(m.A)/(2*j)))
		require.InDelta(t, m.Q+way, b.End(0), 4*(peak+a), "way")
	})
}

func TestABrakeThatCantBe(t *testing.T) {
	l := Limits{V: 1, A: 1, Ramp: 1}
	for _, c := range []struct {
		now    []Point
		limits []Limits
	}{{nil, nil}, {make([]Point, 9), make([]Limits, 9)}, {make([]Point, 2), []Limits{l}}, {make([]Point, 1), []Limits{{}}}} {
		_, err := NewBrake(c.now, c.limits)
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	}
	code, _ := Accept(nil, nil, false)
	require.Equal(t, CodeBadLength, code)
}
