package port

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// socket is where a Dialer finds a pseudo-terminal, while it is plugged in.
type socket struct{ link, device string }

func newSocket(t *testing.T) (*socket, *Dialer) {
	t.Helper()
	_, near := openPair(t)
	s := &socket{link: filepath.Join(t.TempDir(), "port"), device: near.Name()}
	return s, &Dialer{Options: Options{Path: s.link, Baud: 9600, ResetOnOpen: true}}
}

func (s *socket) plug() error   { return os.Symlink(s.device, s.link) }
func (s *socket) unplug() error { return os.Remove(s.link) }

// The first time says at once that nothing is there, and is the first one until it has
// succeeded; only that one resets the board.
func TestADialerResetsTheBoardOnce(t *testing.T) {
	s, d := newSocket(t)
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		for range 2 {
			p, err := d.Dial(t.Context())
			require.Nil(t, p)
			require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
			require.ErrorContains(t, err, "there is no such device")
		}
		require.Zero(t, time.Since(start))
		require.NoError(t, s.plug())
		first, err := d.Dial(t.Context())
		require.NoError(t, err)
		require.True(t, first.opts.ResetOnOpen)
		before := first
		for range 2 {
			p, err := d.Dial(t.Context())
			require.NoError(t, err)
			require.False(t, p.opts.ResetOnOpen, "the board is reset by being found again")
			require.Equal(t, 9600, p.opts.Baud)
			_, err = before.Write([]byte{1})
			require.ErrorIs(t, err, os.ErrClosed, "the one before it is still open")
			before = p
		}
		require.NoError(t, before.Close())
	})
}

// Later ones wait for the device, or for the end of ctx, after which it can be dialled again.
func TestADialerWaitsForWhatItHad(t *testing.T) {
	s, d := newSocket(t)
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, s.plug())
		_, err := d.Dial(t.Context())
		require.NoError(t, err)
		require.NoError(t, s.unplug())
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		p, err := d.Dial(ctx)
		require.Nil(t, p)
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, "there is no such device")
		require.Equal(t, 10*time.Second, time.Since(start))

		plugged := make(chan error, 1)
		time.AfterFunc(time.Second, func() { plugged <- s.plug() })
		start = time.Now()
		p, err = d.Dial(t.Context())
		require.NoError(t, err)
		require.NoError(t, <-plugged)
		require.GreaterOrEqual(t, time.Since(start), time.Second)
		require.False(t, p.opts.ResetOnOpen)
		require.NoError(t, p.Close())
	})
}

// Another USB device in the place of the one that was lost isn't opened, however often
// somebody dials.
func TestADialerOpensNoOtherDevice(t *testing.T) {
	s, d := newSocket(t)
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, s.plug())
		p, err := d.Dial(t.Context())
		require.NoError(t, err)
		p.id = identity{"2341", "0043", "A1"} // as if it had been one
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			_, err = d.Dial(ctx)
			cancel()
			require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
			require.ErrorContains(t, err, "another device")
		}
	})
}
