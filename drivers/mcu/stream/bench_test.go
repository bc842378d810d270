package stream_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/mcu/stream"
	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot/builtin"
)

// gantry is a motion of three joints, and a board's axes for it.
func gantry(t require.TestingT) (*stream.Plan, func() (*stream.Plan, error)) {
	m, err := builtin.Load("gantry")
	require.NoError(t, err)
	ax := axes(m, true)
	from, to := make([]float64, len(ax)), make([]float64, len(ax))
	for i, l := range m.Limits {
		from[i], to[i] = l.Lower, l.Upper
	}
	tr := line(t, m, from, to, 1)
	make := func() (*stream.Plan, error) {
		return stream.New(tr, ax, stream.Options{Start: starts(ax, from), MinTicks: 5, MaxTicks: 5})
	}
	p, err := make()
	require.NoError(t, err)
	require.Len(t, ax, 3)
	return p, make
}

// send appends the frames of a piece.
func send(t require.TestingT, p *stream.Plan, i int, dst []byte) []byte {
	ticks, knots, last := p.Piece(i)
	line, err := wire.Segment{Index: byte(i), Ticks: byte(ticks), Last: last, Knots: knots}.Append(dst, byte(i))
	if err != nil {
		require.NoError(t, err)
	}
	return line
}

func TestSendingAllocatesNothing(t *testing.T) {
	p, _ := gantry(t)
	buf := make([]byte, 0, wire.MaxFrame)
	i := 0
	require.Zero(t, testing.AllocsPerRun(200, func() {
		send(t, p, i%p.Len(), buf)
		i++
	}))
}

// BenchmarkSend is a piece of three joints from the plan to its bytes; 200 of them a
// second are asked for.
func BenchmarkSend(b *testing.B) {
	p, _ := gantry(b)
	buf := make([]byte, 0, wire.MaxFrame)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		send(b, p, i, buf)
		if i++; i == p.Len() {
			i = 0
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pieces/s")
}

// BenchmarkNew cuts and proves a motion in pieces of 5 ms.
func BenchmarkNew(b *testing.B) {
	p, again := gantry(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := again(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(p.Len())*float64(b.N)/b.Elapsed().Seconds(), "pieces/s")
	b.ReportMetric(float64(p.Ticks())/1000*float64(b.N)/b.Elapsed().Seconds(), "s/s")
}
