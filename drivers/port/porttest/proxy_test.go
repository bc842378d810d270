package porttest_test

import (
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tau-robot/tau/drivers/port/porttest"
)

// bridge opens the proxy's device as a bridge would.
func bridge(t *testing.T, p *porttest.Proxy) *os.File {
	t.Helper()
	f, err := os.OpenFile(p.Path(), os.O_RDWR|syscall.O_NOCTTY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	require.NoError(t, f.SetDeadline(time.Now().Add(30*time.Second)))
	return f
}

func send(t *testing.T, w io.Writer, b ...byte) {
	t.Helper()
	_, err := w.Write(b)
	require.NoError(t, err)
}

func expect(t *testing.T, r io.Reader, want ...byte) {
	t.Helper()
	got := make([]byte, len(want))
	_, err := io.ReadFull(r, got)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func started(t *testing.T, o porttest.Options) (*porttest.Proxy, *os.File) {
	t.Helper()
	p := porttest.Start(t, o)
	if b := p.Board(); b != nil {
		require.NoError(t, b.SetDeadline(time.Now().Add(30*time.Second)))
	}
	return p, bridge(t, p)
}

func is(d porttest.Dir, w porttest.What) func(porttest.Event) bool {
	return func(e porttest.Event) bool { return e.Dir == d && e.What == w }
}

func TestTheProxyPassesAndRecords(t *testing.T) {
	p, f := started(t, porttest.Options{})
	send(t, f, 1, 2, 0)
	expect(t, p.Board(), 1, 2, 0)
	send(t, p.Board(), 0, 255, 13, 10, 3, 4)
	expect(t, f, 0, 255, 13, 10, 3, 4)
	require.NoError(t, p.Inject(porttest.ToHost, []byte{9}))
	expect(t, f, 9)
	require.NoError(t, p.Inject(porttest.ToBoard, []byte{8}))
	expect(t, p.Board(), 8)
	_, ok := p.Await(t.Context(), is(porttest.ToHost, porttest.Passed))
	require.True(t, ok)
	require.Equal(t, []byte{1, 2, 0}, p.Bytes(porttest.ToBoard, porttest.Received))
	require.Equal(t, []byte{1, 2, 0}, p.Bytes(porttest.ToBoard, porttest.Passed))
	var last time.Duration
	for _, e := range p.Log() {
		require.NotEqual(t, porttest.Failed, e.What)
		require.GreaterOrEqual(t, e.At, time.Duration(0))
		last = max(last, e.At)
	}
	require.Positive(t, last)
}

func TestTheProxyOfABoardElsewhere(t *testing.T) {
	board, err := porttest.OpenTerminal()
	require.NoError(t, err)
	defer board.Close()
	p, f := started(t, porttest.Options{Board: board.Path})
	require.Nil(t, p.Board())
	send(t, f, 5)
	expect(t, board.Far, 5)
	require.NoError(t, board.Close())
	_, ok := p.Await(t.Context(), is(porttest.ToHost, porttest.BoardGone))
	require.True(t, ok)
}

func TestCountedFaultsOnTheWire(t *testing.T) {
	p, f := started(t, porttest.Options{Seed: 7})
	fired := p.Add(porttest.Fault{Dir: porttest.ToBoard, Kind: porttest.Drop, Unit: porttest.Frames, At: 1})
	p.Add(porttest.Fault{Dir: porttest.ToHost, Kind: porttest.Duplicate, Unit: porttest.Frames})
	p.Add(porttest.Fault{Dir: porttest.ToHost, Kind: porttest.Split, Unit: porttest.Frames, Count: porttest.Always, Wait: time.Millisecond})
	send(t, f, 1, 0, 2, 0, 3, 0)
	expect(t, p.Board(), 1, 0, 3, 0)
	<-fired
	require.Equal(t, []byte{2, 0}, p.Bytes(porttest.ToBoard, porttest.Lost))
	send(t, p.Board(), 4, 0, 5, 0)
	expect(t, f, 4, 0, 4, 0, 5, 0)
	p.Clear()
	send(t, f, 6, 0, 7, 0)
	expect(t, p.Board(), 6, 0, 7, 0)
}

func TestAFreezeHoldsWhatComesUntilItThaws(t *testing.T) {
	p, f := started(t, porttest.Options{})
	p.Freeze()
	send(t, f, 1)
	send(t, p.Board(), 2)
	require.NoError(t, f.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
	_, err := f.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.Empty(t, p.Bytes(porttest.ToBoard, porttest.Passed))
	// A board that doesn't read blocks its writer once the kernel's buffers are full.
	require.NoError(t, f.SetDeadline(time.Now().Add(200*time.Millisecond)))
	n, err := f.Write(make([]byte, 1<<20))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.Less(t, n, 1<<20)
	require.NoError(t, f.SetDeadline(time.Now().Add(30*time.Second)))
	p.Thaw()
	expect(t, p.Board(), 1)
	expect(t, f, 2)
}

func TestACountedFreezeThawsByItself(t *testing.T) {
	p, f := started(t, porttest.Options{})
	p.Add(porttest.Fault{Kind: porttest.Freeze, Unit: porttest.Frames, At: 1, Wait: 30 * time.Millisecond})
	send(t, f, 1, 0, 2, 0)
	expect(t, p.Board(), 1, 0, 2, 0)
	frozen, ok := p.Await(t.Context(), is(porttest.ToBoard, porttest.Frozen))
	require.True(t, ok)
	thawed, ok := p.Await(t.Context(), is(porttest.ToBoard, porttest.Thawed))
	require.True(t, ok)
	require.GreaterOrEqual(t, thawed.At-frozen.At, 30*time.Millisecond)
}

func TestUnplugCutsOffAndReplugIsAnotherDevice(t *testing.T) {
	p, f := started(t, porttest.Options{})
	first, err := os.Readlink(p.Path())
	require.NoError(t, err)
	require.NoError(t, p.Unplug())
	require.NoError(t, p.Unplug())
	_, err = f.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	_, err = os.Lstat(p.Path())
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = os.Stat(first)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorIs(t, p.Inject(porttest.ToHost, []byte{1}), io.ErrClosedPipe)

	send(t, p.Board(), 1)
	_, ok := p.Await(t.Context(), is(porttest.ToHost, porttest.Lost))
	require.True(t, ok, "what the board sent to no bridge went somewhere")
	require.NoError(t, p.Replug())
	require.NoError(t, p.Replug())
	g := bridge(t, p)
	send(t, p.Board(), 2)
	expect(t, g, 2)
	send(t, g, 3)
	expect(t, p.Board(), 3)
}

func TestACountedUnplugPlugsInAgain(t *testing.T) {
	p, f := started(t, porttest.Options{})
	p.Add(porttest.Fault{Dir: porttest.ToHost, Kind: porttest.Unplug, Unit: porttest.Frames, At: 1, Wait: time.Millisecond})
	send(t, p.Board(), 1, 0)
	expect(t, f, 1, 0) // what a bridge hasn't read when the plug is pulled is gone
	send(t, p.Board(), 2, 0)
	seen := 0
	_, ok := p.Await(t.Context(), func(e porttest.Event) bool {
		if e.What == porttest.Plugged {
			seen++
		}
		return seen == 2
	})
	require.True(t, ok)
	g := bridge(t, p)
	send(t, p.Board(), 3, 0)
	expect(t, g, 3, 0)
	require.Equal(t, []byte{2, 0}, p.Bytes(porttest.ToHost, porttest.Lost))
}

func TestABridgeThatDoesntReadBlocksNoBoard(t *testing.T) {
	p, _ := started(t, porttest.Options{})
	b := make([]byte, 16<<10)
	for range 2 {
		send(t, p.Board(), b...)
	}
	_, ok := p.Await(t.Context(), is(porttest.ToHost, porttest.Lost))
	require.True(t, ok)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
