package calibrate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// bench is a bus of servos that a script moves, in a synctest bubble.
type bench struct {
	h     *hand
	mu    sync.Mutex
	calls []string
	gone  error
	stop  context.CancelFunc // called before the second offset, if there is one
}

func (b *bench) note(s string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, s)
}

func (b *bench) Scan(context.Context) ([]Found, error) {
	b.note("scan")
	var out []Found
	for i := range b.h.q {
		out = append(out, Found{ID: i + 1, Model: "STS3215", Powered: b.h.powered[i], Offset: b.h.offset[i]})
	}
	return out, nil
}

func (b *bench) Read(_ context.Context, ids []int, into []Reading) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone != nil {
		return b.gone
	}
	for i := range ids {
		into[i] = b.h.reading(i)
	}
	return nil
}

func (b *bench) PowerOff(context.Context, []int) error {
	b.note("off")
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.h.powered)
	return nil
}

func (b *bench) SetOffset(_ context.Context, id, ticks int) (int, error) {
	b.note("offset")
	b.mu.Lock()
	defer b.mu.Unlock()
	b.h.offset[id-1] = ticks
	if b.stop != nil {
		b.stop()
	}
	return ticks, nil
}

func (b *bench) SetLimits(_ context.Context, _, low, high int) error {
	b.note("limits")
	if low >= high {
		return errors.New("no range")
	}
	return nil
}

// put moves a joint at once, from one reading to the next.
func (b *bench) put(i int, q float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.h.q[i] = q
}

// glide moves a joint slowly enough to be followed.
func (b *bench) glide(i int, to float64) {
	const step = 0.2 // rad between two readings
	for b.h.q[i] != to {
		b.put(i, b.h.q[i]+min(max(to-b.h.q[i], -step), step))
		time.Sleep(every)
	}
	time.Sleep((steadyOf + 2) * every)
}

type walk struct {
	*bench
	t    *testing.T
	in   *io.PipeWriter
	out  bytes.Buffer // guarded by bench.mu
	file []byte
	err  error
	done chan struct{}
	stop context.CancelFunc
}

func (w *walk) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

func (w *walk) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.String()
}

func (w *walk) types(line string) {
	_, err := io.WriteString(w.in, line+"\n")
	require.NoError(w.t, err)
	synctest.Wait()
}

// start runs a walk in the bubble that it is called in.
func start(t *testing.T, h *hand) *walk {
	ctx, cancel := context.WithCancel(t.Context())
	r, in := io.Pipe()
	w := &walk{bench: &bench{h: h}, t: t, in: in, done: make(chan struct{}), stop: cancel}
	go func() {
		defer close(w.done)
		w.err = Run(ctx, h.s, w.bench, Terminal{In: r, Out: w, Paint: true}, func(data []byte) (string, error) {
			w.file = data
			return "arm.toml.old-2026-12-01", nil
		})
	}()
	t.Cleanup(func() { cancel(); _ = r.Close(); _ = in.Close() })
	synctest.Wait()
	return w
}

func TestAWalkAtATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHand(t, "pantilt", "feetech", nil)
		h.powered[0] = true
		w := start(t, h)
		require.Contains(t, w.text(), "type yes to switch the torque off")
		w.types("yes")
		require.Equal(t, []string{"scan", "off"}, w.calls)
		w.glide(0, 0)
		w.glide(1, 0)
		require.Contains(t, w.text(), "\x1b[3A\r  joint") // three lines, painted over
		w.types("")
		w.types("yes")
		require.Equal(t, []string{"scan", "off", "offset", "offset"}, w.calls)
		time.Sleep((steadyOf + 2) * every)
		w.types("")
		w.glide(0, 0.4)
		w.types("")
		w.glide(1, 0.4)
		w.types("")
		for i, l := range h.m.Limits {
			w.glide(i, l.Lower)
			w.glide(i, l.Upper)
		}
		w.types("")
		require.Contains(t, w.text(), "and arm.toml: ")
		require.Nil(t, w.file)
		w.types("yes")
		<-w.done
		require.Equal(t, []string{"limits", "limits"}, w.calls[len(w.calls)-2:])
		require.NoError(t, w.err)
		require.Contains(t, w.text(), "The earlier one is arm.toml.old-2026-12-01")
		h.file = w.file
		h.agrees(h.parsed(), 0.004)
	})
}

// Whenever ctrl-C comes, no file is written, and nothing more goes to the servos.
func TestCtrlCLeavesEverythingAsItIs(t *testing.T) {
	for _, lines := range [][]string{{}, {"yes"}, {"yes", ""}, {"yes", "", "no"}} {
		synctest.Test(t, func(t *testing.T) {
			h := newHand(t, "pantilt", "feetech", nil)
			h.powered[0] = true
			w := start(t, h)
			for _, l := range lines {
				time.Sleep((steadyOf + 2) * every)
				w.types(l)
			}
			before := len(w.calls)
			w.stop()
			<-w.done
			require.Equal(t, robot.CodeCancelled, robot.CodeOf(w.err))
			require.Contains(t, w.text(), "Nothing was written")
			require.Nil(t, w.file)
			require.Len(t, w.calls, before)
			require.Equal(t, []int{0, 0}, h.offset)
		})
	}
}

// Ctrl-C among the offsets: the one that was begun is done, the next one isn't, and the
// person is told that the servos aren't what they were.
func TestCtrlCAmongTheOffsets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHand(t, "pantilt", "feetech", nil)
		w := start(t, h)
		time.Sleep((steadyOf + 2) * every)
		w.types("")
		w.bench.stop = w.stop
		w.types("yes")
		<-w.done
		require.Error(t, w.err)
		require.Contains(t, w.text(), "The servos' memory has new offsets or limits")
		require.NotZero(t, h.offset[0])
		require.Zero(t, h.offset[1])
		require.Nil(t, w.file)
	})
}

func TestALineThatIsLostOrATerminalEndsAWalk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, newHand(t, "pantilt", "feetech", nil))
		w.mu.Lock()
		w.gone = robot.Errf(robot.CodeDisconnected, "port x", "unplugged")
		w.mu.Unlock()
		<-w.done
		require.ErrorIs(t, w.err, w.gone)
		require.Nil(t, w.file)
	})
	synctest.Test(t, func(t *testing.T) {
		w := start(t, newHand(t, "pantilt", "feetech", nil))
		require.NoError(t, w.in.Close())
		<-w.done
		require.Equal(t, robot.CodeCancelled, robot.CodeOf(w.err))
	})
	synctest.Test(t, func(t *testing.T) {
		w := start(t, newHand(t, "pantilt", "feetech", nil))
		broken := errors.New("read: EIO")
		require.NoError(t, w.in.CloseWithError(broken))
		<-w.done
		require.ErrorIs(t, w.err, broken)
	})
}

// A yes from before the question is no answer to it.
func TestAYesThatWasTypedAheadIsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHand(t, "pantilt", "feetech", nil)
		w := start(t, h)
		time.Sleep((steadyOf + 2) * every)
		w.types("\nyes") // two lines at once: the first is the pose
		require.Contains(t, w.text(), "Type yes to write them")
		require.Equal(t, []string{"scan"}, w.calls)
		w.types("yes")
		require.Equal(t, []string{"scan", "offset", "offset"}, w.calls)
	})
}
