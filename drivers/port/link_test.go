package port_test

import (
	"bytes"
	"context"
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

func noDeadline() context.Context { return context.Background() }

// openFiles is how many descriptors this process has.
func openFiles(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs /proc")
	}
	return len(fds)
}

// A hundred times unplugged and back: the new link has nothing of the old one, and
// nothing is left over. goleak looks for goroutines after all tests.
func TestUnplugAndReplugAHundredTimes(t *testing.T) {
	x := porttest.Start(t, porttest.Options{})
	p := opened(t, port.Options{Path: x.Path()})
	before := openFiles(t)
	for i := range 100 {
		old, fresh := []byte{1, byte(i), 0}, []byte{2, byte(i), 0}
		_, err := x.Board().Write(old)
		require.NoError(t, err)
		passed := 0
		_, ok := x.Await(t.Context(), func(e porttest.Event) bool {
			if e.Dir == porttest.ToHost && e.What == porttest.Passed && bytes.Contains(e.Bytes, old) {
				passed++
			}
			return passed > 0
		})
		require.True(t, ok)

		lost := make(chan error, 1)
		if i%2 == 0 { // lost by a read that waits, or by a write
			require.NoError(t, p.SetReadDeadline(time.Time{}))
			go func() {
				_, err := io.Copy(io.Discard, p)
				lost <- err
			}()
			require.NoError(t, x.Unplug())
		} else {
			require.NoError(t, x.Unplug())
			_, err := p.Write(old)
			lost <- err
		}
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(<-lost))

		again := make(chan *port.Port, 1)
		go func() {
			n, err := p.Reopen(t.Context())
			if err != nil {
				t.Errorf("cycle %d: %v", i, err)
			}
			again <- n
		}()
		require.NoError(t, x.Replug())
		n := <-again
		require.NotNil(t, n)
		_, err = p.Write(old)
		require.ErrorIs(t, err, os.ErrClosed)
		p = n
		_, err = x.Board().Write(fresh)
		require.NoError(t, err)
		got := make([]byte, len(fresh))
		require.NoError(t, p.SetReadDeadline(time.Now().Add(20*time.Second)))
		_, err = io.ReadFull(p, got)
		require.NoError(t, err)
		require.Equal(t, fresh, got)
	}
	require.NoError(t, p.Close())
	require.Equal(t, before-1, openFiles(t))
}

func TestBytesFromBeforeTheOpeningAreGone(t *testing.T) {
	pt := terminal(t)
	_, err := pt.Far.WriteString("old")
	require.NoError(t, err)
	p := opened(t, port.Options{Path: pt.Path, ResetOnOpen: true}) // nothing to reset here
	_, err = pt.Far.WriteString("new")
	require.NoError(t, err)
	got := make([]byte, 3)
	_, err = io.ReadFull(p, got)
	require.NoError(t, err)
	require.Equal(t, "new", string(got))
}

func TestAWriteIsWholeHoweverSlowlyItIsTaken(t *testing.T) {
	pt := terminal(t)
	p := opened(t, port.Options{Path: pt.Path, WriteTimeout: 20 * time.Second})
	sent := bytes.Repeat([]byte("tau robot"), 10_000) // many times what the kernel holds
	var got []byte
	var wg sync.WaitGroup
	wg.Go(func() {
		got = make([]byte, len(sent))
		for n := 0; n < len(got); {
			m, err := pt.Far.Read(got[n:min(n+1000, len(got))])
			if err != nil {
				t.Errorf("after %d bytes: %v", n, err)
				return
			}
			n += m
		}
	})
	n, err := p.Write(sent)
	require.NoError(t, err)
	require.Equal(t, len(sent), n)
	wg.Wait()
	require.True(t, bytes.Equal(sent, got))
}

// A board that takes nothing: a Write ends with what was taken, the next one as well and
// within its own time, and the port is as usable as before once the board reads again.
func TestCase33AWriteThatIsntTakenEndsInTime(t *testing.T) {
	// A writer that gets no time for as long as that wouldn't even try.
	const within = 300 * time.Millisecond
	x := porttest.Start(t, porttest.Options{})
	p := opened(t, port.Options{Path: x.Path(), WriteTimeout: within, Baud: 4_000_000})
	x.Freeze()
	const most = 1 << 18 // 0.7 s on the line
	start := time.Now()
	n, err := p.Write(make([]byte, most))
	require.Equal(t, robot.CodeLinkTimeout, robot.CodeOf(err), "%v", err)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.Positive(t, n)
	require.Less(t, n, most)
	require.GreaterOrEqual(t, time.Since(start), within)
	for err = nil; err == nil && n < most; { // to the last byte that the kernel takes
		var more int
		more, err = p.Write([]byte{0})
		n += more
	}
	require.Equal(t, robot.CodeLinkTimeout, robot.CodeOf(err), "%v", err)

	var wg sync.WaitGroup
	for range 4 { // in turn or not at all, never behind the others for ever
		wg.Go(func() {
			n, err := p.Write([]byte{1})
			if n != 0 || robot.CodeOf(err) != robot.CodeLinkTimeout {
				t.Errorf("%d bytes written, %v", n, err)
			}
		})
	}
	finishes(t, "a write behind others", wg.Wait)
	x.Thaw()
	got := make([]byte, n)
	_, err = io.ReadFull(x.Board(), got)
	require.NoError(t, err)
	_, err = p.Write([]byte{7})
	require.NoError(t, err)
	_, err = io.ReadFull(x.Board(), got[:1])
	require.NoError(t, err)
	require.Equal(t, byte(7), got[0])
}

func TestFramesOfManyWritersStayWhole(t *testing.T) {
	pt := terminal(t)
	p := opened(t, port.Options{Path: pt.Path, WriteTimeout: 20 * time.Second})
	const writers, frames, size = 8, 100, 40
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for range frames {
				if _, err := p.Write(bytes.Repeat([]byte{byte(w)}, size)); err != nil {
					t.Errorf("writer %d: %v", w, err)
				}
			}
		})
	}
	counts := map[byte]int{}
	frame := make([]byte, size)
	for range writers * frames {
		_, err := io.ReadFull(pt.Far, frame)
		require.NoError(t, err)
		require.Equal(t, bytes.Repeat(frame[:1], size), frame)
		counts[frame[0]]++
	}
	wg.Wait()
	for w := range writers {
		require.Equal(t, frames, counts[byte(w)])
	}
}

func TestAheadIsTheWireTimeThatIsLeft(t *testing.T) {
	pt := terminal(t)
	p := opened(t, port.Options{Path: pt.Path, Baud: 9600})
	require.Zero(t, p.Ahead())
	start := time.Now()
	_, err := p.Write(make([]byte, 48)) // 50 ms
	require.NoError(t, err)
	first := p.Ahead()
	require.LessOrEqual(t, first, 50*time.Millisecond)
	_, err = p.Write(make([]byte, 48))
	require.NoError(t, err)
	wrote := time.Since(start)
	require.GreaterOrEqual(t, p.Ahead()+time.Since(start), 100*time.Millisecond-wrote)
	for p.Ahead() > 0 {
		time.Sleep(p.Ahead())
	}
	require.GreaterOrEqual(t, time.Since(start), 100*time.Millisecond)
}

// What a process opens after Close gets the descriptor's number; nothing that was or is
// being written may get into it.
func TestNoWriteReachesAReusedDescriptor(t *testing.T) {
	dir := t.TempDir()
	for i := range 30 {
		pt := terminal(t)
		p := opened(t, port.Options{Path: pt.Path, WriteTimeout: 20 * time.Second})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for {
					if _, err := p.Write([]byte("to the board")); err != nil {
						return
					}
				}
			})
		}
		require.NoError(t, p.Close())
		var files []*os.File
		for j := range 8 {
			f, err := os.Create(filepath.Join(dir, string(rune('a'+j))))
			require.NoError(t, err)
			files = append(files, f)
		}
		finishes(t, "writing to a closed port", wg.Wait)
		_, err := p.Write([]byte("to the board"))
		require.ErrorIs(t, err, os.ErrClosed)
		for _, f := range files {
			st, err := f.Stat()
			require.NoError(t, err)
			require.Zero(t, st.Size(), "round %d", i)
			require.NoError(t, f.Close())
		}
		require.NoError(t, pt.Close())
	}
}
