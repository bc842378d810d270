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

func TestWhatCantBeProvedIsRefused(t *testing.T) {
	good := motion(t, -1, 1)
	at := []int32{256 * 4000}
	for _, c := range []struct {
		name string
		set  func(tr *robot.Trajectory, ax *[]stream.Axis, o *stream.Options)
		code robot.Code
		text string
	}{
		{"nothing is wrong", func(*robot.Trajectory, *[]stream.Axis, *stream.Options) {}, "", ""},
		{"no trajectory", func(tr *robot.Trajectory, _ *[]stream.Axis, _ *stream.Options) { tr.Segments = nil }, robot.CodeInvalidArgument, "there is none"},
		{"no axes", func(_ *robot.Trajectory, ax *[]stream.Axis, _ *stream.Options) { *ax = nil }, robot.CodeInvalidArgument, "0 is outside 1 to 8"},
		{"nine axes", func(_ *robot.Trajectory, ax *[]stream.Axis, _ *stream.Options) { *ax = make([]stream.Axis, 9) }, robot.CodeInvalidArgument, "9 is outside 1 to 8"},
		{"no start", func(_ *robot.Trajectory, _ *[]stream.Axis, o *stream.Options) { o.Start = nil }, robot.CodeInvalidArgument, "0 positions for 1 axes"},
		{"two tolerances", func(_ *robot.Trajectory, _ *[]stream.Axis, o *stream.Options) { o.StartTolerance = make([]float64, 2) }, robot.CodeInvalidArgument, "start_tolerance"},
		{"pieces too long", func(_ *robot.Trajectory, _ *[]stream.Axis, o *stream.Options) { o.MaxTicks = 101 }, robot.CodeInvalidArgument, "1 to 100 are possible"},
		{"pieces of nothing", func(_ *robot.Trajectory, _ *[]stream.Axis, o *stream.Options) { o.MinTicks = -1 }, robot.CodeInvalidArgument, "1 to 100 are possible"},
		{"the least above the most", func(_ *robot.Trajectory, _ *[]stream.Axis, o *stream.Options) { o.MinTicks = 50 }, robot.CodeInvalidArgument, "pieces of 50 to 40 ms"},
		{"a joint that isn't", func(_ *robot.Trajectory, ax *[]stream.Axis, _ *stream.Options) { (*ax)[0].Joint = 1 }, robot.CodeInvalidArgument, "it is joint 1"},
		{"a joint without a channel", func(_ *robot.Trajectory, ax *[]stream.Axis, _ *stream.Options) { (*ax)[0].Joint = stream.Spare }, robot.CodeInvalidArgument, "no channel moves it"},
		{"two channels for a joint", func(_ *robot.Trajectory, ax *[]stream.Axis, o *stream.Options) {
			*ax, o.Start = append(*ax, (*ax)[0]), append(o.Start, o.Start[0])
		}, robot.CodeInvalidArgument, "two channels move joint pan"},
		{"no scale", func(_ *robot.Trajectory, ax *[]stream.Axis, _ *stream.Options) { (*ax)[0].Scale = 0 }, robot.CodeInvalidArgument, "its scale 0"},
		{"NaN scale", func(_ *robot.Trajectory, ax *[]stream.Axis, _ *stream.Options) { (*ax)[0].Scale = math.NaN() }, robot.CodeInvalidArgument, "its scale NaN"},
		{"infinite zero", func(_ *robot.Trajectory, ax *[]stream.Axis, _ *stream.Options) { (*ax)[0].Zero = math.Inf(1) }, robot.CodeInvalidArgument, "its zero +Inf"},
		{"no limits", func(_ *robot.Trajectory, ax *[]stream.Axis, _ *stream.Options) { (*ax)[0].Limits = wire.Limits{} }, robot.CodeInvalidArgument, "no limits of velocity"},
		{"a day", func(tr *robot.Trajectory, _ *[]stream.Axis, _ *stream.Options) { tr.Segments[0].Duration = 86400 }, robot.CodeInvalidArgument, "may last 4194304"},
		{"an endless one", func(tr *robot.Trajectory, _ *[]stream.Axis, _ *stream.Options) { tr.Segments[0].Duration = math.NaN() }, robot.CodeInvalidArgument, "it lasts NaN"},
		{"NaN", func(tr *robot.Trajectory, _ *[]stream.Axis, _ *stream.Options) {
			tr.Segments[1].J = []float64{math.NaN()}
		}, robot.CodeInvalidArgument, "isn't finite"},
		{"elsewhere", func(_ *robot.Trajectory, _ *[]stream.Axis, o *stream.Options) { o.Start[0] += 3 }, robot.CodeStartMoved, "pan"},
		{"farther than the tolerance", func(_ *robot.Trajectory, _ *[]stream.Axis, o *stream.Options) {
			o.Start[0] += 2561
			o.StartTolerance = []float64{0.01}
		}, robot.CodeStartMoved, "0.01"},
		{"faster than the board allows", func(_ *robot.Trajectory, ax *[]stream.Axis, _ *stream.Options) { (*ax)[0].Limits.V = 65000 }, robot.CodeSpeedLimit, "1 rad/s"},
		{"beyond the lower limit", func(_ *robot.Trajectory, ax *[]stream.Axis, _ *stream.Options) { (*ax)[0].Limits.Lower = 256 * 4100 }, robot.CodeJointLimit, "-0.9 rad"},
		{"beyond the upper limit", func(_ *robot.Trajectory, ax *[]stream.Axis, _ *stream.Options) { (*ax)[0].Limits.Upper = 256 * 5900 }, robot.CodeJointLimit, "0.9 rad"},
		{"no room to brake", func(_ *robot.Trajectory, ax *[]stream.Axis, _ *stream.Options) {
			(*ax)[0].Limits.Upper, (*ax)[0].Limits.A = 256*6000, 60000
		}, robot.CodeJointLimit, "would pass its limit"},
		{"closer than can be", func(_ *robot.Trajectory, _ *[]stream.Axis, o *stream.Options) { o.MaxDeviation = 0.1 }, robot.CodeNotSupported, "as closely as it must"},
		{"more than the line carries", func(_ *robot.Trajectory, _ *[]stream.Axis, o *stream.Options) { o.MaxRate = 20 }, robot.CodeNotSupported, "more pieces than the line carries"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := robot.Trajectory{Joints: good.Joints, Segments: append([]robot.Segment(nil), good.Segments...)}
			ax := []stream.Axis{one()}
			o := stream.Options{Start: append([]int32(nil), at...)}
			c.set(&tr, &ax, &o)
			p, err := stream.New(tr, ax, o)
			if c.code == "" {
				require.NoError(t, err)
				return
			}
			require.Equal(t, c.code, robot.CodeOf(err), "%v", err)
			require.ErrorContains(t, err, c.text)
			require.Nil(t, p, "nothing to be sent by mistake")
		})
	}
}

func TestTheWayToTheStart(t *testing.T) {
	all := models(t)
	rapid.Check(t, func(t *rapid.T) {
		m, tr, ax := drawn(t, all)
		start := starts(ax, tr.Start())
		tolerance := make([]float64, len(m.Limits))
		far := int32(0)
		for i := range ax {
			off := rapid.Int32Range(-2000, 2000).Draw(t, "off")
			from := start[i]
			start[i] = min(max(start[i]+off, ax[i].Limits.Lower), ax[i].Limits.Upper)
			far = max(far, start[i]-from, from-start[i])
			tolerance[ax[i].Joint] = ax[i].Distance(2001)
		}
		p, err := stream.New(tr, ax, stream.Options{Start: start, StartTolerance: tolerance})
		require.NoError(t, err)
		b := run(t, p, start, limitsOf(ax))
		require.Equal(t, starts(ax, tr.End()), b.told[len(b.told)-1])
		if far <= 1 {
			require.Zero(t, p.Lead(), "roundings need no way")
		}
		if far <= 2 {
			return
		}
		require.Positive(t, p.Lead())
		require.True(t, b.ends[p.Lead()], "the trajectory begins with a piece")
		for j, q := range starts(ax, tr.Start()) {
			require.InDelta(t, float64(q), float64(b.told[p.Lead()-1][j]), 1, "and where it was approved to")
		}
		require.Zero(t, p.Time(uint32(p.Lead())))
		require.InDelta(t, math.Min(0.001, tr.Duration()), p.Time(uint32(p.Lead()+1)), 1e-9)
		// Straight, slow and never farther away than it was.
		for j := range ax {
			from, to := start[j], starts(ax, tr.Start())[j]
			for i, last := 0, from; i < p.Lead(); i++ {
				q := b.told[i][j]
				step := math.Abs(float64(q - last))
				if q < min(from, to)-wire.Rounding || q > max(from, to)+wire.Rounding || step > 0.26*float64(ax[j].Limits.V)/256+wire.Rounding {
					require.Failf(t, "the way", "joint %d, tick %d: %d from %d to %d, a step of %g", j, i+1, q, from, to, step)
				}
				last = q
			}
		}
	})
}

func TestUnitsAreThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := stream.Axis{
			Zero:  rapid.Float64Range(-5000, 5000).Draw(t, "zero"),
			Scale: rapid.SampledFrom([]float64{-1, 1}).Draw(t, "direction") * rapid.Float64Range(1, 20000).Draw(t, "scale"),
		}
		q := rapid.Float64Range(-10, 10).Draw(t, "q")
		require.InDelta(t, q, a.Position(a.Wire(q)), 0.5000001/math.Abs(a.Scale)/256)
		w := rapid.Int32Range(-wire.MaxQ, wire.MaxQ).Draw(t, "w")
		require.Equal(t, w, a.Wire(a.Position(w)))
		// Order is kept, in the axis's direction.
		r := q + rapid.Float64Range(0, 1).Draw(t, "more")
		require.GreaterOrEqual(t, float64(a.Wire(r)-a.Wire(q))*a.Scale, 0.0)
	})
	a := one()
	require.EqualValues(t, 5000*256, a.Wire(0))
	require.EqualValues(t, 65536, a.Velocity(1), "1 rad/s is 1,000 µs/s, a µs/ms")
	require.EqualValues(t, wire.MaxQ, a.Wire(1e9), "held to what the wire says")
	require.EqualValues(t, -wire.MaxV, a.Velocity(-1e9))
	require.InDelta(t, 0.001, a.Distance(256), 1e-15)
}
