package bus_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech/bus"
)

// flood is a line on which somebody speaks without end, faster than it can be read.
type flood struct {
	fill  byte
	reads atomic.Int64
	until time.Time
}

func (f *flood) SetReadDeadline(t time.Time) error { f.until = t; return nil }
func (f *flood) Write(p []byte) (int, error)       { return len(p), nil }

func (f *flood) pour(p []byte) int {
	if f.reads.Add(1) > 100_000 {
		return 0 // for a test that fails, to end
	}
	n := min(len(p), 64)
	for i := range p[:n] {
		p[i] = f.fill
	}
	return n
}

func (f *flood) Read(p []byte) (int, error) {
	time.Sleep(50 * time.Microsecond)
	return f.pour(p), nil
}

func (f *flood) ReadArrived(p []byte) (int, error) { return f.pour(p), nil }

// A line that never stops keeps nobody: each exchange ends in its time, and says that
// nothing good came.
func TestAFloodEndsInItsTime(t *testing.T) {
	for _, c := range []func() bus.Codec{feetech, dynamixel} {
		for _, fill := range []byte{0x00, 0x55, 0xFD, 0xFF} {
			for _, echo := range []bus.Echo{bus.EchoUnknown, bus.NoEcho, bus.Echoes} {
				synctest.Test(t, func(t *testing.T) {
					f := &flood{fill: fill}
					b, err := bus.New(f, c(), bus.Options{Baud: baud, Echo: echo})
					require.NoError(t, err)
					var a all
					began := time.Now()
					for _, do := range []func() error{
						func() error { _, err := b.Ping(1); return err },
						func() error { _, err := b.Read(1, 0, make([]byte, 4)); return err },
						func() error { _, err := b.Write(1, 40, []byte{0}); return err },
						func() error {
							n, err := b.SyncRead(56, 2, ids, a.data[:], a.status[:], a.errs[:])
							require.NoError(t, err)
							require.Zero(t, n)
							return a.errs[0]
						},
					} {
						err := do()
						require.True(t, errors.Is(err, bus.ErrDamaged) || errors.Is(err, bus.ErrSilent), "%v", err)
					}
					if err := b.SyncWrite(42, 1, ids, ids); echo == bus.NoEcho {
						require.NoError(t, err)
					}
					require.Less(t, time.Since(began), 2*time.Second)
					require.Less(t, f.reads.Load(), int64(100_000))
				})
			}
		}
	}
}
