package emulator

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/sts"
)

// twoWays is the two ends of a line in memory.
type twoWays struct {
	io.Reader
	io.WriteCloser
	also io.Closer
}

func (w twoWays) Close() error {
	_ = w.also.Close()
	return w.WriteCloser.Close()
}

// A host whose words come late and all at once, as on a machine that stood still, is answered
// one thing after the other.
func TestServedHostsAreNeverInTheirOwnWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &Recorder{}
		b, err := New(Options{Kind: STS3215, IDs: all(), Trace: rec.Add})
		require.NoError(t, err)
		hears, says := io.Pipe()
		back, answers := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- b.Serve(ctx, twoWays{Reader: hears, WriteCloser: answers, also: hears}, nil) }()

		codec := sts.New()
		var words []byte
		for id := byte(1); id <= 6; id++ {
			words, err = codec.Append(words, bus.Instruction{Op: bus.Read, ID: id, Addr: stsPosition, Count: 2})
			require.NoError(t, err)
		}
		words, err = codec.Append(words, syncRead(stsPosition, 2, all()...))
		require.NoError(t, err)
		words, err = codec.Append(words, bus.Instruction{Op: bus.Ping, ID: 3})
		require.NoError(t, err)
		_, err = says.Write(words)
		require.NoError(t, err)
		var ids []byte
		var heard []byte
		for len(ids) < 13 {
			buf := make([]byte, 64)
			n, err := back.Read(buf)
			require.NoError(t, err)
			heard = append(heard, buf[:n]...)
			for {
				s, n, err := codec.Parse(heard)
				if err != nil {
					require.ErrorIs(t, err, bus.ErrMore)
					break
				}
				heard = heard[n:]
				ids = append(ids, s.ID)
			}
		}
		require.Equal(t, []byte{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 3}, ids)
		for _, p := range rec.Packets() {
			require.False(t, p.Collided)
		}
		cancel()
		require.NoError(t, <-ended)
		time.Sleep(time.Second)
	})
}
