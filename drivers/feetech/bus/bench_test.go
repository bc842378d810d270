package bus_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/bus/bustest"
)

// atOnce is a port on which everything has always arrived: what is left is what a Bus
// itself costs.
type atOnce struct {
	answer, left []byte
	sent         int
}

func (p *atOnce) Write(b []byte) (int, error) {
	p.sent, p.left = len(b), p.answer
	return len(b), nil
}

func (p *atOnce) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, os.ErrDeadlineExceeded
	}
	n := copy(b, p.left)
	p.left = p.left[n:]
	return n, nil
}

func (p *atOnce) ReadArrived(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, nil
	}
	return p.Read(b)
}

func (*atOnce) SetReadDeadline(time.Time) error { return nil }

// positions is a SyncRead of six servos' positions, ready to be done again and again.
func positions(t testing.TB, c func() bus.Codec, addr uint16, count int) (*atOnce, func()) {
	codec := c()
	p := &atOnce{}
	for _, id := range ids {
		p.answer = codec.AppendStatus(p.answer, bus.Status{ID: id, Params: make([]byte, count)})
	}
	b, err := bus.New(p, c(), bus.Options{Baud: baud, Echo: bus.NoEcho})
	require.NoError(t, err)
	dst, status, errs := make([]byte, 6*count), make([]byte, 6), make([]error, 6)
	return p, func() {
		n, err := b.SyncRead(addr, count, ids, dst, status, errs)
		if n != 6 || err != nil {
			t.Fatal(n, err, errs)
		}
	}
}

func TestASyncReadAllocatesNothing(t *testing.T) {
	for _, c := range []func() bus.Codec{feetech, dynamixel} {
		_, read := positions(t, c, 56, 2)
		read()
		require.Zero(t, testing.AllocsPerRun(200, read), c().Name())

		// Nor does anything else that succeeds.
		p := &atOnce{answer: c().AppendStatus(nil, bus.Status{ID: 1})}
		b, err := bus.New(p, c(), bus.Options{Baud: baud, Echo: bus.NoEcho})
		require.NoError(t, err)
		data := []byte{1}
		require.Zero(t, testing.AllocsPerRun(200, func() {
			if _, err := b.Write(1, 40, data); err != nil {
				t.Fatal(err)
			}
			if err := b.SyncWrite(42, 1, ids, ids); err != nil {
				t.Fatal(err)
			}
		}), c().Name())
		p.answer = c().AppendStatus(nil, bus.Status{ID: 1, Params: data})
		require.Zero(t, testing.AllocsPerRun(200, func() {
			if _, err := b.Read(1, 40, data); err != nil {
				t.Fatal(err)
			}
		}), c().Name())
	}
}

// A loop that reads a servo which is away makes no garbage either.
func TestASilentServoAllocatesNothing(t *testing.T) {
	for _, c := range []func() bus.Codec{feetech, dynamixel} {
		p := &atOnce{}
		for _, id := range ids[1:] {
			p.answer = c().AppendStatus(p.answer, bus.Status{ID: id, Params: []byte{0, 0}})
		}
		b, err := bus.New(p, c(), bus.Options{Baud: baud, Echo: bus.NoEcho, Turnaround: time.Nanosecond, ReturnDelay: time.Nanosecond})
		require.NoError(t, err)
		dst, status, errs := make([]byte, 12), make([]byte, 6), make([]error, 6)
		read := func() {
			if n, err := b.SyncRead(56, 2, ids, dst, status, errs); n != 5 || err != nil || errs[0] == nil {
				t.Fatal(n, err, errs)
			}
		}
		read()
		require.Zero(t, testing.AllocsPerRun(100, read), c().Name())
	}
}

// What six positions cost the computer, and (wire-µs) the line at 1 Mbaud.
func BenchmarkSyncReadOfSix(b *testing.B) {
	for name, o := range map[string]struct {
		codec func() bus.Codec
		addr  uint16
		count int
	}{"feetech": {feetech, 56, 2}, "dynamixel": {dynamixel, 132, 4}} {
		b.Run(name, func(b *testing.B) {
			p, read := positions(b, o.codec, o.addr, o.count)
			b.ReportAllocs()
			for b.Loop() {
				read()
			}
			bytes := p.sent + len(p.answer)
			b.ReportMetric(float64(bytes), "bytes")
			l := bustest.NewLine(baud)
			b.ReportMetric(float64(time.Duration(bytes)*l.Byte())/float64(time.Microsecond), "wire-µs")
		})
	}
}
