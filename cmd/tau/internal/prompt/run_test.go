package prompt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
	"golang.org/x/term"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/terminal"
)

func TestRun_LinesInOrderAndTheTerminalBack(t *testing.T) {
	r := newRig(t, nil)
	require.False(t, func() bool { s, err := term.GetState(int(r.tts.Fd())); return err == nil && *s == *r.before }(), "raw mode")
	r.typeIn("one\r\n  \rtwo \xc3\xa7\rthr\x7f\x7free\x1b[D\x1b[3~e\r")
	require.Equal(t, "one", r.line())
	require.Equal(t, "two ç", r.line())
	require.Equal(t, "tree", r.line())
	from := r.mark()
	r.typeIn("x\x04\x7f\x04") // ctrl-D at the end of a line does nothing, at an empty one it ends
	require.NoError(t, r.end())
	r.requireRestored()
	require.Contains(t, r.expectAfter(from, pasteOff), pasteOn)
	require.ErrorIs(t, r.Run(t.Context()), errClosed)
	r.Print("after") // goes out plainly
	r.expectAfter(from, "after\r\n")
}

func TestRun_ContextAndCloseEndIt(t *testing.T) {
	for name, stop := range map[string]func(*rig){
		"close":  func(r *rig) { require.NoError(t, r.Close()); r.requireRestored() },
		"hangup": (*rig).hangup,
	} {
		running := make(chan struct{})
		r := newRig(t, func(_ *rig, o *Options) {
			o.Handle = func(ctx context.Context, _ string, _ uint64) {
				close(running)
				<-ctx.Done()
			}
		})
		r.typeIn("long\r")
		<-running
		stop(r)
		err := r.end()
		require.True(t, err == nil || errors.Is(err, ErrHangup), "%s: %v", name, err)
		require.NoError(t, r.Close())
	}
	p, err := New(Options{In: os.Stdin, Out: os.Stdout, Handle: func(context.Context, string, uint64) {}})
	require.NoError(t, err)
	require.NoError(t, p.Close())
	require.Error(t, p.Run(t.Context()))
}

func TestRun_CtrlC(t *testing.T) {
	type call struct{ idle bool }
	calls := make(chan call, 10)
	exit := make(chan bool, 10)
	started := make(chan struct{}, 10)
	r := newRig(t, func(r *rig, o *Options) {
		o.OnInterrupt = func(_ context.Context, idle bool) bool {
			calls <- call{idle}
			return <-exit
		}
		handle := o.Handle
		o.Handle = func(ctx context.Context, line string, _ uint64) {
			if line == "long" {
				started <- struct{}{}
				<-ctx.Done()
			}
			handle(ctx, line, 0)
		}
	})
	// At an empty prompt, but something moves: the hook says so.
	r.typeIn("\x03")
	require.Equal(t, call{true}, <-calls)
	exit <- false
	// Half typed: thrown away.
	r.typeIn("half\x03")
	require.Equal(t, call{false}, <-calls)
	exit <- true
	r.typeIn("whole\r")
	require.Equal(t, "whole", r.line())
	// A card: refused.
	ch := r.question(t.Context(), "home")
	r.typeIn("\x03")
	require.Equal(t, decision{gate.Rejected, terminal.ReasonInterrupted, nil}, r.decided(ch))
	require.Equal(t, call{false}, <-calls)
	exit <- true
	// An escape that never ends, or a paste that doesn't, can't lock it out.
	for _, stuck := range []string{"\x1b", "\x1b[1;", "\x1b[200~", "\xe2\x82"} {
		r.typeIn(stuck + "\x03")
		<-calls
		exit <- false
	}
	r.settle()
	// A command runs and others wait.
	from := r.mark()
	r.typeIn("long\rnext\rlast\r")
	<-started
	r.settle()
	r.typeIn("\x03")
	require.Equal(t, call{false}, <-calls)
	exit <- true
	r.expectAfter(from, "2 waiting lines were dropped")
	require.Empty(t, r.lines)
	require.NoError(t, r.Close())
	require.NoError(t, r.end())
}

func TestRun_CtrlCAtAnEmptyPromptExits(t *testing.T) {
	r := newRig(t, nil)
	r.typeIn("\x03")
	require.ErrorIs(t, r.end(), ErrInterrupted)
	r.requireRestored()
}

func TestG6_StopActsBesideWhatRuns(t *testing.T) {
	var epoch atomic.Uint64
	stopped := make(chan struct{})
	running := make(chan struct{})
	r := newRig(t, func(r *rig, o *Options) {
		o.Epoch = epoch.Load
		o.Act = func(ctx context.Context, line string) (func(), bool) {
			finish, ok := r.acts("stop", "estop")(ctx, line)
			if ok {
				epoch.Add(1) // home's turn may come before it is dropped with what waits
				close(stopped)
			}
			return finish, ok
		}
		o.Handle = func(_ context.Context, line string, _ uint64) {
			if line == "move" {
				close(running)
				<-stopped
			}
			r.lines <- line
		}
	})
	r.typeIn("move\r")
	<-running
	r.typeIn("home\rstop\rlater\r")
	got := []string{r.line(), r.line(), r.line()}
	require.ElementsMatch(t, []string{"move", "stop", "later"}, got, "home was typed before the stop")
	r.expect("1 waiting line was dropped")
}

// A stop from elsewhere drops what was typed before it, as one typed here does.
func TestG6_AStopFromElsewhereDropsWhatWaits(t *testing.T) {
	var epoch atomic.Uint64
	running, end := make(chan struct{}), make(chan struct{})
	r := newRig(t, func(r *rig, o *Options) {
		o.Epoch = epoch.Load
		o.Handle = func(_ context.Context, line string, _ uint64) {
			if line == "move" {
				close(running)
				<-end
			}
			r.lines <- line
		}
	})
	r.typeIn("move\r")
	<-running
	r.typeIn("home\rstate\r")
	r.settle()
	epoch.Add(1)
	r.typeIn("later\r")
	r.settle()
	close(end)
	require.Equal(t, "move", r.line())
	require.Equal(t, "later", r.line())
	r.expect("2 waiting lines were dropped")
	r.noLine()
}

// What changes nothing doesn't wait behind a motion; what does says that it waits.
func TestLinesBesideWhatRunsAndLinesThatWait(t *testing.T) {
	running, end := make(chan struct{}), make(chan struct{})
	r := newRig(t, func(r *rig, o *Options) {
		o.Beside = func(line string) bool { return line == "state" }
		o.Handle = func(_ context.Context, line string, _ uint64) {
			if line == "move" {
				close(running)
				<-end
			}
			r.lines <- line
		}
	})
	r.typeIn("state\rmove\r")
	require.Equal(t, "state", r.line())
	<-running
	r.typeIn("state\r")
	require.Equal(t, "state", r.line(), "beside the motion")
	from := r.mark()
	r.typeIn("\x1b[200~state\x1b[201~\rstate\r")
	r.expectAfter(from, "this waits for what runs")
	r.settle()
	require.Empty(t, r.lines, "what was pasted keeps its order, and what comes behind it too")
	close(end)
	require.Equal(t, []string{"move", "state", "state"}, []string{r.line(), r.line(), r.line()})
}

func TestRun_CtrlZStopsFirst(t *testing.T) {
	order := make(chan string, 10)
	result := make(chan error, 1)
	r := newRig(t, func(r *rig, o *Options) {
		o.OnSuspend = func(context.Context) func() {
			order <- "stopped"
			return func() { order <- "resumed" }
		}
		o.suspend = func() error {
			r.requireRestored()
			order <- "suspended"
			return <-result
		}
	})
	result <- nil
	from := r.mark() // the terminal may have been taken again before the hook says so
	r.typeIn("half\x1a")
	require.Equal(t, "stopped", <-order)
	require.Equal(t, "suspended", <-order)
	require.Equal(t, "resumed", <-order)
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGCONT))
	r.expectAfter(from, pasteOn)
	r.expectAfter(from, "(running again)")
	r.typeIn("whole\r")
	require.Equal(t, "whole", r.line())

	result <- errors.New("no shell")
	ch := r.question(t.Context(), "home")
	r.typeIn("y\x1a")
	require.Equal(t, decision{gate.Void, terminal.ReasonSuspended, nil}, r.decided(ch))
	require.Equal(t, "stopped", <-order)
	require.Equal(t, "suspended", <-order)
	require.Equal(t, "resumed", <-order)
	r.expectAfter(from, "no shell")
	r.typeIn("again\r")
	require.Equal(t, "again", r.line())
}

func TestRun_Resize(t *testing.T) {
	r := newRig(t, nil)
	require.NoError(t, pty.Setsize(r.ptm, &pty.Winsize{Rows: 10, Cols: 20}))
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGWINCH)) // the pty isn't our controlling terminal
	long := strings.Repeat("a", 40)
	require.Eventually(t, func() bool { // the signal is worked off in its own time
		from := r.mark()
		r.typeIn(long)
		r.settle()
		wrapped := strings.Contains(r.expectAfter(from, "aaa")[from:], strings.Repeat("a", 14)) &&
			!strings.Contains(strings.ReplaceAll(r.text()[from:], "\x1b[K", ""), strings.Repeat("a", 21))
		r.typeIn("\x15")
		r.settle()
		return wrapped && strings.Contains(r.text()[from:], "\r\n")
	}, patience, 5*time.Millisecond)
}

func TestRun_PanicGivesTheTerminalBack(t *testing.T) {
	ptm, tts, err := pty.Open()
	require.NoError(t, err)
	defer func() { require.NoError(t, errors.Join(ptm.Close(), tts.Close())) }()
	before, err := term.GetState(int(tts.Fd()))
	require.NoError(t, err)
	p, err := New(Options{In: tts, Out: tts, Handle: func(context.Context, string, uint64) {}})
	require.NoError(t, err)
	require.NoError(t, p.enter())
	for _, locked := range []bool{false, true} {
		require.NoError(t, p.enter())
		if locked {
			p.out.Lock()
		}
		require.PanicsWithValue(t, "oh", func() {
			defer p.guard()
			panic("oh")
		})
		now, err := term.GetState(int(tts.Fd()))
		require.NoError(t, err)
		require.Equal(t, before, now)
	}
}

func TestRun_Completion(t *testing.T) {
	words := []string{"move_joints ", "move_pose ", "home "}
	r := newRig(t, func(_ *rig, o *Options) {
		o.Complete = func(line string, pos int) (int, []string) {
			start := strings.LastIndexByte(line[:pos], ' ') + 1
			var fit []string
			for _, w := range words {
				if strings.HasPrefix(w, line[start:pos]) {
					fit = append(fit, w)
				}
			}
			return start, fit
		}
	})
	from := r.mark()
	r.typeIn("m\t")
	r.typeIn("\t")
	r.expectAfter(from, "move_joints   move_pose ")
	r.typeIn("p\tx\t\x1b[200~\th\t\x1b[201~\r")
	require.Equal(t, "move_pose x h ", r.line())
}

func TestRun_History(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	require.NoError(t, os.WriteFile(path, []byte("old\n\x1b[2J\n\n"), 0o644))
	with := func(_ *rig, o *Options) { o.History = path }
	r := newRig(t, with)
	r.typeIn("\x1b[A\r")
	require.Equal(t, "old", r.line())
	r.typeIn("new\rnew\r")
	require.Equal(t, "new", r.line())
	require.Equal(t, "new", r.line())
	r.typeIn("\x04")
	require.NoError(t, r.end())
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	r = newRig(t, with)
	r.typeIn("\x1bOA\x1bOA!\r")
	require.Equal(t, "old!", r.line())
	_, err = New(Options{In: r.tts, Out: r.tts, Handle: func(context.Context, string, uint64) {}, History: t.TempDir()})
	require.Error(t, err)
}

func TestRun_OverlongLineIsNotRun(t *testing.T) {
	r := newRig(t, nil)
	r.typeIn(strings.Repeat("a", 2500))
	r.settle()
	r.typeIn(strings.Repeat("b", 2500) + "\r")
	r.expect("it was not run")
	r.noLine()
}
