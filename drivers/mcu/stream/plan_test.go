package stream_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/drivers/mcu/stream"
	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
)

// board is told the pieces of a plan as a board is, and keeps what it told its joints.
type board struct {
	at    []wire.Knot
	ticks int
	told  [][]int32 // tick by tick, from 1 on
	ends  map[int]bool
	short int // pieces shorter than the least
}

func run(t require.TestingT, p *stream.Plan, start []int32, limits []wire.Limits) *board {
	b := &board{at: make([]wire.Knot, len(start)), ends: map[int]bool{}}
	for i, q := range start {
		b.at[i].Q = q
	}
	for i := range p.Len() {
		ticks, knots, last := p.Piece(i)
		require.Equal(t, i == p.Len()-1, last)
		require.GreaterOrEqual(t, ticks, 1)
		require.LessOrEqual(t, ticks, stream.DefaultMaxTicks)
		if ticks < stream.DefaultMinTicks && !last {
			b.short++
		}
		pieces := make([]wire.Piece, len(knots))
		for j, k := range knots {
			pieces[j] = wire.Piece{Q0: b.at[j].Q, V0: b.at[j].V, Q1: k.Q, V1: k.V, Ticks: ticks}
			if last {
				require.Zero(t, k.V, "the motion ends at rest")
			}
		}
		code, joint := wire.Accept(pieces, limits, last)
		require.Equal(t, wire.CodeOK, code, "piece %d, joint %d", i, joint)
		for tick := 1; tick <= ticks; tick++ {
			row := make([]int32, len(knots))
			for j, w := range pieces {
				row[j] = w.At(tick)
				// The integers are the cubic's but for rounding, and for the tick's 1/65536
				// of the piece.
				m := w.Point(float64(tick))
				off := math.Abs(m.Q-float64(row[j])) - math.Abs(m.V)*float64(ticks)/65536
				if off > wire.Rounding || row[j] < limits[j].Lower-wire.Rounding || row[j] > limits[j].Upper+wire.Rounding {
					require.Failf(t, "a setpoint", "joint %d, tick %d of %+v: %d, %g off", j, tick, w, row[j], off)
				}
			}
			b.told = append(b.told, row)
		}
		b.ticks += ticks
		b.ends[b.ticks] = true
		copy(b.at, knots)
	}
	return b
}

func limitsOf(axes []stream.Axis) []wire.Limits {
	var out []wire.Limits
	for _, a := range axes {
		out = append(out, a.Limits)
	}
	return out
}

func TestTheBoardFollowsTheTrajectory(t *testing.T) {
	all := models(t)
	rapid.Check(t, func(t *rapid.T) {
		m, tr, ax := drawn(t, all)
		start := starts(ax, tr.Start())
		p, err := stream.New(tr, ax, stream.Options{Start: start})
		require.NoError(t, err)
		require.Zero(t, p.Lead())
		b := run(t, p, start, limitsOf(ax))
		require.Zero(t, b.short)
		require.Equal(t, b.ticks, p.Ticks())
		require.InDelta(t, tr.Duration()*1000, float64(p.Ticks()), 1)

		q := make([]float64, len(m.Limits))
		worst := make([]float64, len(ax))
		for i, row := range b.told {
			at := float64(i+1) / 1000
			tr.Sample(at, q, nil, nil)
			for j := range ax {
				worst[j] = math.Max(worst[j], math.Abs(ax[j].Position(row[j])-q[ax[j].Joint]))
			}
			// A board's clock in ms is the trajectory's time.
			if off := math.Min(at, tr.Duration()) - p.Time(uint32(i+1)); math.Abs(off) > 1e-9 {
				require.Failf(t, "the time", "%g s off at tick %d", off, i+1)
			}
		}
		for j, d := range p.Deviations() {
			require.InDelta(t, worst[j], d.Value, 1e-9, "what was proved is what happens")
			require.LessOrEqual(t, d.Units, float64(stream.DefaultMaxDeviation))
			require.InDelta(t, d.Value, ax[j].Distance(d.Units), 1e-12)
		}
		require.Equal(t, starts(ax, tr.End()), b.told[len(b.told)-1], "it ends where it was approved to")
	})
}

func TestSetpointsAreWhatTheBoardIsTold(t *testing.T) {
	all := models(t)
	rapid.Check(t, func(t *rapid.T) {
		_, tr, ax := drawn(t, all)
		start := starts(ax, tr.Start())
		p, err := stream.New(tr, ax, stream.Options{Start: start})
		require.NoError(t, err)
		b := run(t, p, start, limitsOf(ax))
		got := make([]int32, len(ax))
		p.Setpoints(rapid.IntRange(-5, 0).Draw(t, "before"), got)
		require.Equal(t, start, got)
		tick := rapid.IntRange(1, p.Ticks()).Draw(t, "tick")
		p.Setpoints(tick, got)
		require.Equal(t, b.told[tick-1], got)
		p.Setpoints(p.Ticks()+rapid.IntRange(0, 5).Draw(t, "after"), got)
		require.Equal(t, b.told[len(b.told)-1], got)
	})
}

func TestAStopAnywhereEndsWithinTheLimitsOnTheLine(t *testing.T) {
	all := models(t)
	rapid.Check(t, func(t *rapid.T) {
		_, tr, ax := drawn(t, all)
		p, err := stream.New(tr, ax, stream.Options{Start: starts(ax, tr.Start())})
		require.NoError(t, err)
		tick := rapid.IntRange(0, p.Ticks()).Draw(t, "tick")
		b, err := p.Brake(tick)
		require.NoError(t, err)
		now := make([]int32, len(ax))
		p.Setpoints(tick, now)
		from, to := starts(ax, tr.Start()), starts(ax, tr.End())
		// Which joint has most of the way says how far along the line it is.
		long := 0
		for j := range ax {
			if math.Abs(float64(to[j]-from[j])) > math.Abs(float64(to[long]-from[long])) {
				long = j
			}
		}
		s := (b.End(long) - float64(from[long])) / float64(to[long]-from[long])
		for j := range ax {
			end, v := b.End(j), math.Abs(b.At(j, 0).V)
			require.GreaterOrEqual(t, end, float64(ax[j].Limits.Lower)-2048-12*v)
			require.LessOrEqual(t, end, float64(ax[j].Limits.Upper)+2048+12*v)
			if to[long] != from[long] {
				on := float64(from[j]) + s*float64(to[j]-from[j])
				// A piece's E is known to two units, its acceleration so to 12/T²; and where
				// the jerk changes within it the acceleration is off by up to MinTicks of jerk.
				off := 12 / math.Pow(float64(pieceAt(p, tick)), 2)
				for _, k := range []int{j, long} {
					l := ax[k].Limits
					off = max(off, stream.DefaultMinTicks*float64(l.A)/65536/float64(l.Ramp))
				}
				require.InDelta(t, on, end, 256+2*off*float64(b.Ra)*float64(b.Ra)/3, "off the line")
			}
			if tick == 0 || tick == p.Ticks() {
				require.InDelta(t, float64(now[j]), end, 1e-9, "it is at rest already")
			}
		}
	})
}

// pieceAt is how long the piece is that a tick is in.
func pieceAt(p *stream.Plan, tick int) int {
	for i := range p.Len() {
		ticks, _, _ := p.Piece(i)
		if tick -= ticks; tick <= 0 {
			return ticks
		}
	}
	return 1
}

func TestShortMotions(t *testing.T) {
	ax := []stream.Axis{one()}
	for _, d := range []float64{1e-9, 1e-4, 0.0005, 0.001, 0.0010000001, 0.0099999999, 0.01, 0.0401} {
		tr := robot.Hold([]string{"pan"}, []float64{0.5})
		tr.Segments[0].Duration = d
		p, err := stream.New(tr, ax, stream.Options{Start: starts(ax, []float64{0.5})})
		require.NoError(t, err)
		require.Equal(t, max(1, int(math.Ceil(d*1000-1e-6))), p.Ticks(), "%g s", d)
		run(t, p, starts(ax, []float64{0.5}), limitsOf(ax))
	}
}

func TestSpareChannelsHold(t *testing.T) {
	spare := stream.Axis{Name: "spare", Joint: stream.Spare, Zero: 1500, Limits: one().Limits}
	ax := []stream.Axis{spare, one(), spare}
	start := []int32{1500 * 256, ax[1].Wire(-1), 1501 * 256}
	ax[2].Limits.Lower, ax[0].Limits.Lower = 0, 0
	p, err := stream.New(motion(t, -1, 1), ax, stream.Options{Start: start})
	require.NoError(t, err)
	b := run(t, p, start, limitsOf(ax))
	for _, row := range b.told {
		require.Equal(t, []int32{start[0], row[1], start[2]}, row)
	}
	require.Equal(t, ax[1].Wire(1), b.told[len(b.told)-1][1])
	require.Zero(t, p.Deviations()[0])
}

// parabolas is a motion of a great many segments, as a curve of the tool makes them.
func parabolas(segments int, each, accel float64) robot.Trajectory {
	tr := robot.Trajectory{Joints: []string{"pan"}}
	var q, v, a float64
	for i := range segments {
		j := accel / each
		if k := i % 4; k == 1 || k == 2 {
			j = -j
		}
		if i%8 >= 4 {
			j = -j
		}
		tr.Segments = append(tr.Segments, robot.Segment{Duration: each, Q: []float64{q}, V: []float64{v}, A: []float64{a}, J: []float64{j}})
		q += each * (v + each*(a/2+each*j/6))
		v += each * (a + each*j/2)
		a += each * j
	}
	return tr
}

func TestManySegmentsMakeFewPieces(t *testing.T) {
	tr := parabolas(8*200, 0.0015, 0.2)
	ax := []stream.Axis{one()}
	start := starts(ax, []float64{0})
	p, err := stream.New(tr, ax, stream.Options{Start: start})
	require.NoError(t, err)
	b := run(t, p, start, limitsOf(ax))
	require.Zero(t, b.short)
	require.LessOrEqual(t, p.Len(), p.Ticks()/stream.DefaultMinTicks+1)
	require.LessOrEqual(t, p.Deviations()[0].Units, float64(stream.DefaultMaxDeviation))
}

func TestAClosePieceIsShortened(t *testing.T) {
	// A jolt within what would be one piece: the bound asks for shorter ones there.
	tr := parabolas(8, 0.003, 8)
	ax := []stream.Axis{one()}
	start := starts(ax, []float64{0})
	p, err := stream.New(tr, ax, stream.Options{Start: start, MaxDeviation: 1.5})
	require.NoError(t, err)
	b := run(t, p, start, limitsOf(ax))
	require.Positive(t, b.short)
	require.LessOrEqual(t, p.Deviations()[0].Units, 1.5)
	loose, err := stream.New(tr, ax, stream.Options{Start: start, MaxDeviation: 1000})
	require.NoError(t, err)
	require.Less(t, loose.Len(), p.Len())
	require.Greater(t, loose.Deviations()[0].Units, 1.5)
}
