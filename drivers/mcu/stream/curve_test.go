package stream_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/drivers/mcu/stream"
	"github.com/tau-robot/tau/motion/trajectory"
)

// wave leads all joints along arcs of their own, as a straight line of the tool does.
type wave struct {
	mid, by, phase []float64
}

func (w wave) At(s float64, q, d1, d2, d3 []float64) {
	for i := range w.mid {
		sin, cos := math.Sincos(w.phase[i] + 2*s)
		q[i] = w.mid[i] + w.by[i]*sin
		d1[i], d2[i], d3[i] = 2*w.by[i]*cos, -4*w.by[i]*sin, -8*w.by[i]*cos
	}
}

// TestCurvesAreFollowed: motions of a great many segments, in which each joint turns
// where it likes.
func TestCurvesAreFollowed(t *testing.T) {
	all := models(t)
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(all).Draw(t, "robot")
		ax := axes(m, rapid.Bool().Draw(t, "stepper"))
		names := make([]string, len(ax))
		var w wave
		for i, l := range m.Limits {
			names[i] = ax[i].Name
			lower, upper := l.Lower, l.Upper
			if !l.Bounded {
				lower, upper = -math.Pi, math.Pi
			}
			// Amid its travel: what brakes off the line needs room.
			w.mid = append(w.mid, (lower+upper)/2)
			w.by = append(w.by, min((upper-lower)*0.1, l.Velocity*0.3)*rapid.Float64Range(-1, 1).Draw(t, "by"))
			w.phase = append(w.phase, rapid.Float64Range(-3, 3).Draw(t, "phase"))
		}
		tr, err := trajectory.ThroughCurves(names, m.Limits, []trajectory.Curve{w}, rapid.Float64Range(0.3, 1).Draw(t, "scale"))
		require.NoError(t, err)
		start := starts(ax, tr.Start())
		p, err := stream.New(tr, ax, stream.Options{Start: start})
		require.NoError(t, err)
		b := run(t, p, start, limitsOf(ax))
		require.Equal(t, starts(ax, tr.End()), b.told[len(b.told)-1])
		for _, d := range p.Deviations() {
			require.LessOrEqual(t, d.Units, float64(stream.DefaultMaxDeviation))
		}
		require.LessOrEqual(t, p.Len(), p.Ticks()/stream.DefaultMinTicks+1+b.short)
		for i := range ax {
			end, err := p.Brake(rapid.IntRange(1, p.Ticks()).Draw(t, "stop"))
			require.NoError(t, err)
			require.GreaterOrEqual(t, end.End(i), float64(ax[i].Limits.Lower))
			require.LessOrEqual(t, end.End(i), float64(ax[i].Limits.Upper))
		}
	})
}
