package emulator

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// flood is a host that writes without end and never reads.
type flood struct {
	taken atomic.Int64
	gone  chan struct{}
}

func (f *flood) Read(p []byte) (int, error) {
	if f.taken.Add(int64(len(p))) > 1_000_000 {
		return 0, io.EOF // nobody holds it back
	}
	for i := range p {
		p[i] = 0x55
	}
	return len(p), nil
}

func (f *flood) Write(p []byte) (int, error) { return len(p), nil }

func (f *flood) Close() error { close(f.gone); return nil }

// A host that floods the line is held back to what the wire can carry: nothing grows with
// what it would like to send.
func TestAServedHostIsNoFasterThanTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := New(Options{Kind: STS3215, IDs: all()})
		require.NoError(t, err)
		f := &flood{gone: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- b.Serve(ctx, f, nil) }()
		time.Sleep(200 * time.Millisecond)
		require.InDelta(t, 20_000, f.taken.Load(), 4000)
		b.at(func(now time.Duration) {
			require.Less(t, len(b.wire.frames), 8192)
			require.LessOrEqual(t, b.wire.free-now, 2*ahead)
		})
		cancel()
		require.NoError(t, <-ended)
	})
}
