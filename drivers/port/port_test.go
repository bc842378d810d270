package port_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/port"
	"github.com/tau-robot/tau/drivers/port/porttest"
	"github.com/tau-robot/tau/robot"
)

const baud = 115200

// terminal is a pseudo-terminal for one test.
func terminal(t *testing.T) *porttest.Terminal {
	t.Helper()
	p, err := porttest.OpenTerminal()
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func opened(t *testing.T, o port.Options) *port.Port {
	t.Helper()
	if o.Baud == 0 {
		o.Baud = baud
	}
	p, err := port.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// finishes fails the test where f blocks; the bound is for a stalled machine.
func finishes(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s doesn't end", what)
	}
}

func TestBytesOfEveryValueGoBothWays(t *testing.T) {
	pt := terminal(t)
	p := opened(t, port.Options{Path: pt.Path})
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	n, err := p.Write(all)
	require.NoError(t, err)
	require.Equal(t, len(all), n)
	got := make([]byte, len(all))
	_, err = io.ReadFull(pt.Far, got)
	require.NoError(t, err)
	require.Equal(t, all, got)

	_, err = pt.Far.Write(all)
	require.NoError(t, err)
	clear(got)
	require.NoError(t, p.SetReadDeadline(time.Now().Add(20*time.Second)))
	_, err = io.ReadFull(p, got)
	require.NoError(t, err)
	require.Equal(t, all, got)
}

// reads counts the Reads that go through it.
type reads struct {
	io.Reader
	n int
}

func (r *reads) Read(b []byte) (int, error) {
	r.n++
	return r.Reader.Read(b)
}

// CASE 32: a read timeout as (0, nil) has io.ReadFull spin for ever.
func TestCase32AReadTimeoutIsAnError(t *testing.T) {
	pt := terminal(t)
	p := opened(t, port.Options{Path: pt.Path})
	require.NoError(t, p.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	counted := &reads{Reader: p}
	start := time.Now()
	finishes(t, "ReadFull", func() {
		n, err := io.ReadFull(counted, make([]byte, 8))
		require.Zero(t, n)
		require.Equal(t, robot.CodeLinkTimeout, robot.CodeOf(err), "%v", err)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	})
	require.GreaterOrEqual(t, time.Since(start), 50*time.Millisecond)
	require.Equal(t, 1, counted.n, "the reader was asked again and again")

	// It is a timeout of that read and no loss: the port goes on.
	require.NoError(t, p.SetReadDeadline(time.Time{}))
	_, err := pt.Far.Write([]byte{7})
	require.NoError(t, err)
	b := make([]byte, 8)
	n, err := p.Read(b)
	require.NoError(t, err)
	require.Equal(t, []byte{7}, b[:n])
}

// CASE 33: Close has to end a Write that a board doesn't take.
func TestCase33CloseEndsABlockedWrite(t *testing.T) {
	pt := terminal(t)
	p := opened(t, port.Options{Path: pt.Path, WriteTimeout: time.Hour})
	var wrote sync.WaitGroup
	var last error
	blocked := make(chan struct{})
	wrote.Go(func() {
		b := make([]byte, 1024)
		for i := 0; last == nil; i++ {
			if i == 64 { // more than a pseudo-terminal holds, so a Write is or will be blocked
				break
			}
			if i == 3 {
				close(blocked)
			}
			_, last = p.Write(b)
		}
	})
	<-blocked
	var unread sync.WaitGroup
	unread.Go(func() {
		_, err := p.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrClosed)
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err))
	})
	finishes(t, "Close, or what it should end", func() {
		require.NoError(t, p.Close())
		wrote.Wait()
		unread.Wait()
	})
	require.ErrorIs(t, last, os.ErrClosed)
	require.Equal(t, robot.CodeDisconnected, robot.CodeOf(last))
}

func TestASecondOpenerIsRefused(t *testing.T) {
	pt := terminal(t)
	link := filepath.Join(t.TempDir(), "by-id")
	require.NoError(t, os.Symlink(pt.Path, link))
	p := opened(t, port.Options{Path: link})
	for _, path := range []string{pt.Path, link} {
		_, err := port.Open(t.Context(), port.Options{Path: path, Baud: baud})
		require.Equal(t, robot.CodeBusy, robot.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, path)
		require.ErrorContains(t, err, "this process")
	}
	require.NoError(t, p.Close())
	require.NoError(t, opened(t, port.Options{Path: pt.Path}).Close())
}

func TestUnplugIsDisconnected(t *testing.T) {
	pt := terminal(t)
	p := opened(t, port.Options{Path: pt.Path})
	require.NoError(t, pt.Close())
	finishes(t, "Read", func() {
		_, err := p.Read(make([]byte, 8))
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
	})
	_, err := p.Write([]byte{1})
	require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
	require.Zero(t, p.Ahead())
	require.NoError(t, p.Close())
	require.NoError(t, p.Close())
	_, err = p.Write([]byte{1})
	require.ErrorIs(t, err, os.ErrClosed)
	_, err = port.Open(t.Context(), port.Options{Path: pt.Path, Baud: baud})
	require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestWhatIsNoPortIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	pt := terminal(t)
	for name, c := range map[string]struct {
		o    port.Options
		code robot.Code
	}{
		"no path":         {port.Options{Baud: baud}, robot.CodeInvalidArgument},
		"a file":          {port.Options{Path: file, Baud: baud}, robot.CodeInvalidArgument},
		"a folder":        {port.Options{Path: t.TempDir(), Baud: baud}, robot.CodeInvalidArgument},
		"below a file":    {port.Options{Path: file + "/x", Baud: baud}, robot.CodeInvalidArgument},
		"a device":        {port.Options{Path: "/dev/null", Baud: baud}, robot.CodeInvalidArgument},
		"not there":       {port.Options{Path: file + "x", Baud: baud}, robot.CodeDisconnected},
		"no baud rate":    {port.Options{Path: pt.Path}, robot.CodeInvalidArgument},
		"below zero":      {port.Options{Path: pt.Path, Baud: -1}, robot.CodeInvalidArgument},
		"too fast":        {port.Options{Path: pt.Path, Baud: 1e9}, robot.CodeInvalidArgument},
		"negative time":   {port.Options{Path: pt.Path, Baud: baud, WriteTimeout: -1}, robot.CodeInvalidArgument},
		"control in path": {port.Options{Path: "/dev/tty\x1b[2J", Baud: baud}, robot.CodeDisconnected},
	} {
		_, err := port.Open(t.Context(), c.o)
		require.Equal(t, c.code, robot.CodeOf(err), "%s: %v", name, err)
		require.NotContains(t, err.Error(), "\x1b", name)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := port.Open(ctx, port.Options{Path: pt.Path, Baud: baud})
	require.Equal(t, robot.CodeCancelled, robot.CodeOf(err))
	require.True(t, errors.Is(err, context.Canceled))
}
