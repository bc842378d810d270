package prompt

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/terminal"
	"github.com/tau-robot/tau/gate/words"
)

func TestMain(m *testing.M) {
	if os.Getenv(childMark) != "" {
		os.Exit(child())
	}
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for what must come.
const patience = time.Minute

// clock is set by the test.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// rig is a prompt on a real pty, with a person at the other end.
type rig struct {
	*Prompt
	t      *testing.T
	clock  *clock
	ptm    *os.File
	tts    *os.File
	before *term.State
	ask    *terminal.Approver
	result chan error // of Run
	lines  chan string
	hungUp bool

	mu     sync.Mutex
	cond   *sync.Cond
	screen string // all that was ever written
}

// newRig starts a prompt; set may change its options.
func newRig(t *testing.T, set func(*rig, *Options)) *rig {
	ptm, tts := openPTY(t)
	var err error
	r := &rig{t: t, ptm: ptm, tts: tts, clock: &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		result: make(chan error, 1), lines: make(chan string, 100)}
	r.cond = sync.NewCond(&r.mu)
	r.before, err = term.GetState(int(tts.Fd()))
	require.NoError(t, err)
	o := Options{In: tts, Out: tts, Now: r.clock.Now, Handle: func(_ context.Context, line string, _ uint64) { r.lines <- line }}
	if set != nil {
		set(r, &o)
	}
	r.Prompt, err = New(o)
	require.NoError(t, err)
	require.True(t, r.Interactive())
	r.ask = terminal.New(r.Prompt, words.English)
	var watch sync.WaitGroup
	watch.Go(r.watch)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.result <- r.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		r.requireRestored()
		_ = tts.Close()
		_ = ptm.Close()
		watch.Wait()
	})
	r.expect("tau> ")
	return r
}

// acts picks lines that act at once, and records that they did.
func (r *rig) acts(words ...string) func(context.Context, string) (func(), bool) {
	return func(_ context.Context, line string) (func(), bool) {
		if !slices.Contains(words, line) {
			return nil, false
		}
		r.lines <- line
		return func() {}, true
	}
}

// openPTY returns a terminal and its other end, whose Read ends when it is closed.
func openPTY(t *testing.T) (ptm, tts *os.File) {
	blocking, tts, err := pty.Open()
	require.NoError(t, err)
	fd, err := unix.Dup(int(blocking.Fd()))
	require.NoError(t, err)
	require.NoError(t, unix.SetNonblock(fd, true))
	require.NoError(t, blocking.Close())
	return os.NewFile(uintptr(fd), "ptm"), tts
}

func (r *rig) watch() {
	buf := make([]byte, 4096)
	for {
		n, err := r.ptm.Read(buf)
		r.mu.Lock()
		r.screen += string(buf[:n])
		r.cond.Broadcast()
		r.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// text is all that was written so far.
func (r *rig) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.screen
}

// expect waits until s has been written.
func (r *rig) expect(s string) string {
	r.t.Helper()
	return r.expectAfter(0, s)
}

func (r *rig) expectAfter(from int, s string) string {
	r.t.Helper()
	expired := false
	timer := time.AfterFunc(patience, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		expired = true
		r.cond.Broadcast()
	})
	defer timer.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for !strings.Contains(r.screen[from:], s) {
		if expired {
			r.t.Fatalf("no %q in %q", s, r.screen[from:])
		}
		r.cond.Wait()
	}
	return r.screen
}

// mark returns where the screen ends now.
func (r *rig) mark() int { return len(r.text()) }

func (r *rig) typeIn(s string) {
	r.t.Helper()
	_, err := r.ptm.WriteString(s)
	require.NoError(r.t, err)
}

// settle waits until everything typed so far has been read and worked off.
func (r *rig) settle() {
	r.t.Helper()
	_, err := r.barrier(r.t.Context())
	require.NoError(r.t, err)
	require.NoError(r.t, r.do(r.t.Context(), func() {}))
}

func (r *rig) line() string {
	r.t.Helper()
	select {
	case l := <-r.lines:
		return l
	case <-time.After(patience):
		r.t.Fatalf("no command came; the screen: %q", r.text())
		return ""
	}
}

func (r *rig) noLine() {
	r.t.Helper()
	r.settle()
	require.Empty(r.t, r.lines)
}

func (r *rig) end() error {
	r.t.Helper()
	select {
	case err := <-r.result:
		r.result <- err
		return err
	case <-time.After(patience):
		r.t.Fatalf("Run didn't end; the screen: %q", r.text())
		return nil
	}
}

func (r *rig) requireRestored() {
	r.t.Helper()
	if r.hungUp {
		return // there is nothing left to look at
	}
	now, err := term.GetState(int(r.tts.Fd()))
	require.NoError(r.t, err)
	require.Equal(r.t, r.before, now, "the terminal isn't as it was")
}

// decision is what an approver said.
type decision struct {
	d   gate.Decision
	r   gate.Reason
	err error
}

// question asks in another goroutine, and returns once the card has been shown.
func (r *rig) question(ctx context.Context, tool string) <-chan decision {
	r.t.Helper()
	from := r.mark()
	ch := make(chan decision, 1)
	go func() {
		w, err := r.ask.Decide(ctx, gate.Request{Tool: tool, Tier: gate.TierPhysical})
		d, reason := w.Decision, w.Reason
		ch <- decision{d, reason, err}
	}()
	r.expectAfter(from, "Tool: "+tool)
	r.expectAfter(from, terminal.Question)
	r.shown()
	return ch
}

// shown waits until the open card counts as shown.
func (r *rig) shown() {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		r.Prompt.mu.Lock()
		defer r.Prompt.mu.Unlock()
		return r.view == nil || !r.view.shown.IsZero()
	}, patience, time.Millisecond)
}

// hangup closes the other end of the terminal.
func (r *rig) hangup() {
	r.hungUp = true
	require.NoError(r.t, r.ptm.Close())
}

func (r *rig) decided(ch <-chan decision) decision {
	r.t.Helper()
	select {
	case d := <-ch:
		return d
	case <-time.After(patience):
		r.t.Fatalf("no decision; the screen: %q", r.text())
		return decision{}
	}
}
