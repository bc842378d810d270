package tui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/terminal"
)

// Each way in which a screen ends refuses what is open, for its own reason, and gives
// the terminal back.
func TestCase58_EachEndRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		end    func(s *sitting)
		want   gate.Decision
		reason gate.Reason
		err    error
	}{
		"q q":      {func(s *sitting) { s.press("q"); s.press("q") }, gate.Void, ReasonClosed, nil},
		"ctrl-C":   {func(s *sitting) { s.press("\x03") }, gate.Rejected, terminal.ReasonInterrupted, ErrInterrupted},
		"ctrl-D":   {func(s *sitting) { s.press("\x04") }, gate.Rejected, terminal.ReasonEOF, nil},
		"eof":      {func(s *sitting) { s.tty.end(io.EOF); s.settle() }, gate.Rejected, terminal.ReasonEOF, ErrHangup},
		"gone":     {func(s *sitting) { s.tty.end(errGone); s.settle() }, gate.Rejected, terminal.ReasonEOF, ErrHangup},
		"told to":  {func(s *sitting) { s.cancel(); s.settle() }, gate.Void, ReasonClosed, nil},
		"y and ^C": {func(s *sitting) { s.tty.typed("y\x03"); s.settle() }, gate.Rejected, terminal.ReasonInterrupted, ErrInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := sit(t, 80, 24, Options{}, Bridge{})
				s.ask(t.Context(), request())
				time.Sleep(time.Second)
				c.end(s)
				s.answered(c.want, c.reason)
				require.ErrorIs(t, <-s.ended, c.err)
				s.restored()
				<-s.tui.Ending()
				w, err := s.tui.Decide(t.Context(), request())
				require.NoError(t, err)
				require.Equal(t, gate.Word{Decision: gate.Void, Reason: ReasonClosed}, w, "nobody is asked any more")
			})
		})
	}
}

func TestCase59_TimeRunsOutAndTheCardIsTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sit(t, 100, 30, Options{}, Bridge{})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		began := time.Now()
		s.ask(ctx, request())
		time.Sleep(5 * time.Minute)
		s.settle()
		s.answered(gate.TimedOut, terminal.ReasonTimeout)
		require.Contains(t, s.tty.String(), "move_joints: the question is closed, nothing was approved: nobody answered in time")
		require.NotContains(t, s.tty.String(), "Approval needed")
		require.GreaterOrEqual(t, time.Since(began), 5*time.Minute)

		withdraw, end := context.WithCancelCause(t.Context())
		s.ask(withdraw, request())
		time.Sleep(time.Second)
		end(errors.New("stop\x1b[2J"))
		s.tty.typed("y") // behind the end, while the card may still be there: it doesn't approve
		s.settle()
		s.answered(gate.Rejected, terminal.ReasonWithdrawn)
		require.Contains(t, s.tty.String(), `withdrawn: stop\u{1b}[2J`)

		// A yes after the request's expiry is none, though the gate hasn't said so yet.
		late := request()
		late.Expiry = time.Now().Add(2 * time.Second)
		s.ask(t.Context(), late)
		time.Sleep(3 * time.Second)
		s.press("y")
		s.open()
		require.Contains(t, s.tty.String(), "not counted: expired")
		require.NoError(t, s.leave())
	})
}

func TestG11_ASecondQuestionWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sit(t, 80, 24, Options{}, Bridge{})
		s.ask(t.Context(), request())
		second := request()
		second.Tool = "gripper_close"
		s.ask(t.Context(), second)
		time.Sleep(time.Second)
		require.NotContains(t, s.tty.String(), "gripper_close")
		s.press("y")
		s.answered(gate.Approved, terminal.ReasonAnswered)
		s.settle()
		require.Contains(t, s.tty.String(), "Tool: gripper_close")
		require.Contains(t, s.tty.String(), ">[ Reject ]<")
		s.open()
		// What answered the first isn't the second's answer; it arms by itself.
		s.tty.typed("y")
		s.settle()
		s.open()
		time.Sleep(time.Second)
		s.press("n")
		s.answered(gate.Rejected, terminal.ReasonAnswered)
		require.NoError(t, s.leave())
	})
}

// stopsOf counts what a screen stops.
type stopsOf struct {
	mu    sync.Mutex
	kinds []gate.StopKind
}

func (k *stopsOf) stop(kind gate.StopKind) []gate.StopVerdict {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kinds = append(k.kinds, kind)
	return []gate.StopVerdict{{Backend: "sim", Commanded: "yes", Acknowledged: "yes", Stationary: "yes"}}
}

func (k *stopsOf) take() []gate.StopKind {
	k.mu.Lock()
	defer k.mu.Unlock()
	got := k.kinds
	k.kinds = nil
	return got
}

func TestG6_AStopIsOneKeyWhateverIsOnTheScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k stopsOf
		s := sit(t, 80, 24, Options{}, Bridge{Stop: k.stop})
		for name, at := range map[string]func(){
			"idle": func() {}, "open": func() { s.ask(t.Context(), long()) }, "tiny": func() { s.tty.resize(3, 1); s.settle() },
			"events": func() { s.tty.resize(80, 24); s.settle(); s.press("v") }, "leaving": func() { s.press("q") },
			"in a paste": func() { s.tty.typed("\x1b[200~") }, "in a sequence": func() { s.tty.typed("\x1b["); synctest.Wait() },
		} {
			at()
			s.tty.typed("!")
			synctest.Wait() // no frame, no time
			require.Equal(t, []gate.StopKind{gate.StopEmergency}, k.take(), name)
			s.tty.typed("\x1b[201~")
			s.settle()
			s.press("x") // whatever it was, it is over
		}
		s.tty.resize(80, 24)
		s.settle()
		for _, key := range []string{"s", "S"} {
			s.press(key)
			require.Equal(t, []gate.StopKind{gate.StopControlled}, k.take())
		}
		s.press("hold! s")
		require.ElementsMatch(t, []gate.StopKind{gate.StopEmergency, gate.StopControlled}, k.take(), "together with others too")
		require.Contains(t, s.tty.String(), "■ E-STOP sent")
		require.Contains(t, s.tty.String(), "■ sim: commanded yes, acknowledged yes, stationary yes")
		s.tty.typed("\x1b[200~s\x1b[201~")
		s.settle()
		require.Empty(t, k.take(), "a pasted letter stops nothing")
		require.NoError(t, s.leave())
	})
}

// A terminal that takes no output holds up no stop, no answer of another channel and
// not the end. Real time: the renderer's own lock is what is waited for.
func TestG6_ATerminalThatIsStuckHoldsNothingUp(t *testing.T) {
	stopped := make(chan gate.StopKind, 1)
	tty := newFake(80, 24)
	tui := New(Options{Terminal: tty, Term: "xterm-256color"})
	tui.Bind(Bridge{Stop: func(kind gate.StopKind) []gate.StopVerdict { stopped <- kind; return nil }})
	ended := make(chan error, 1)
	go func() { ended <- tui.Run(t.Context()) }()
	for changed := tty.Changed(); !tty.Alt(); changed = tty.Changed() {
		<-changed
	}
	writing := make(chan struct{})
	tty.mu.Lock()
	tty.stuck = make(chan struct{})
	tty.early = sync.OnceFunc(func() { close(writing) })
	tty.mu.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan gate.Word, 1)
	go func() { w, _ := tui.Decide(ctx, request()); answered <- w }()
	<-writing
	for i := range 3000 { // more than anything holds
		tui.Event(gate.Event{Type: "error", Time: time.Now(), Text: fmt.Sprint(i)})
		tui.Motion(gate.Running{CallID: "a", Tool: "b"}, 1, 2)
	}
	tty.typed("!")
	require.Equal(t, gate.StopEmergency, <-stopped)
	tty.typed("y")
	cancel()
	require.Equal(t, gate.Word{Decision: gate.Rejected, Reason: terminal.ReasonWithdrawn}, <-answered)
	tty.typed("\x03")
	require.ErrorIs(t, <-ended, ErrInterrupted)
	require.False(t, tty.isTaken())
}

// A stop that hangs, or a State and a list that do, hold nothing else up.
func TestG6_AStopThatHangsIsntWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var calls atomic.Int64
		s := sit(t, 80, 24, Options{}, Bridge{
			Stop:  func(gate.StopKind) []gate.StopVerdict { calls.Add(1); <-release; return nil },
			State: func(ctx context.Context) State { <-ctx.Done(); return State{} },
			Open:  func(ctx context.Context) ([]gate.Record, error) { <-ctx.Done(); return nil, ctx.Err() },
		})
		for range 20 {
			s.press("!")
		}
		require.EqualValues(t, stopsAtOnce, calls.Load())
		s.ask(t.Context(), request())
		time.Sleep(time.Second)
		s.press("y")
		s.answered(gate.Approved, terminal.ReasonAnswered)
		close(release)
		require.NoError(t, s.leave())
	})
}

func TestG51_EarlierEventsComeFirstAndEachOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reading := make(chan struct{})
		both := gate.Event{Type: "error", Time: time.Now(), Text: "recorded and told"}
		s := sit(t, 100, 40, Options{}, Bridge{Earlier: func(context.Context) []gate.Event {
			<-reading
			return append(earlier(), both)
		}})
		s.tui.Event(both)
		s.tui.Event(gate.Event{Type: "error", Time: time.Now(), Text: "told since"})
		close(reading)
		s.settle()
		s.press("v")
		text := s.tty.String()
		at := -1
		for _, part := range []string{"started: robot so101", "robot_state (agent, mcp), 2 times", "home: rejected by tui", "✗ home: not approved", "recorded and told", "told since"} {
			i := strings.Index(text, part)
			require.Greater(t, i, at, "%s\n%s", part, text)
			require.Equal(t, i, strings.LastIndex(text, part), part)
			at = i
		}
		require.NoError(t, s.leave())
	})
}

// A long backlog doesn't hold the screen up, and all of what is kept can be seen.
func TestG51_AThousandEarlierEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sit(t, 80, 24, Options{}, Bridge{Earlier: func(context.Context) []gate.Event {
			var all []gate.Event
			for i := range 5000 {
				all = append(all, gate.Event{Type: "error", Time: time.Now(), Text: fmt.Sprintf("number %d.", i)})
			}
			return all
		}})
		require.Contains(t, s.tty.String(), "number 4999.")
		s.press("v")
		require.Contains(t, s.tty.String(), "(4979 before these)")
		for range 3000 {
			s.tty.typed("\x1b[5~")
		}
		s.settle()
		require.Contains(t, s.tty.String(), "(3000 before these)", "the others are in the log")
		require.Contains(t, s.tty.String(), "number 3000.")
		require.NoError(t, s.leave())
	})
}

// A screen that fails inside refuses, gives the terminal back and says so in the log.
func TestG9_AScreenThatFailsInsideRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := sit(t, 80, 24, Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, Bridge{})
		s.tui.board.change(func() { s.tui.board.question = &question{number: 1, word: make(chan gate.Word, 1)} })
		s.settle()
		s.ask(t.Context(), request())
		// Rows that aren't there: an index out of range in the middle of drawing.
		s.tui.board.change(func() { s.tui.board.question.drawn = &rehearsal{}; s.tui.board.question.notices = []string{"x"} })
		err := <-s.ended
		require.ErrorContains(t, err, "the screen failed inside")
		s.settle()
		s.answered(gate.Void, terminal.ReasonNotShown)
		s.restored()
		require.Contains(t, log.String(), "panic=")
	})
}

func TestG9_SuspendingRefusesHoldsAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := false
		var stopped bool
		var s *sitting
		s = sit(t, 80, 24, Options{}, Bridge{
			Hold: func() func() { held = true; return func() { held = false } },
			Suspend: func() error {
				stopped = held && !s.tty.isTaken() && !s.tty.Alt()
				return nil
			},
		})
		s.ask(t.Context(), request())
		time.Sleep(time.Second)
		s.press("\x1a")
		time.Sleep(time.Second)
		s.answered(gate.Void, terminal.ReasonSuspended)
		require.True(t, stopped, "at rest, with the terminal as it was")
		require.False(t, held)
		require.True(t, s.tty.isTaken())
		require.True(t, s.tty.Alt())
		require.Contains(t, s.tty.String(), "running again")
		s.ask(t.Context(), request())
		time.Sleep(time.Second)
		s.press("y")
		s.answered(gate.Approved, terminal.ReasonAnswered)
		// Whoever stopped the process may have left anything on the terminal.
		_, _ = s.tty.Screen.Write([]byte("\x1b[2Jgarbage"))
		s.ask(t.Context(), request())
		s.tty.changes <- Continued
		time.Sleep(time.Second)
		require.NotContains(t, s.tty.String(), "garbage")
		require.NoError(t, s.leave())
	})
}

// Nothing is written while nothing changes.
func TestAnIdleScreenWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sit(t, 80, 24, Options{}, Bridge{State: func(context.Context) State { return State{Known: true} }})
		before := s.tty.written()
		time.Sleep(time.Hour)
		require.Equal(t, before, s.tty.written())
		require.NoError(t, s.leave())
	})
}

func (f *fakeTTY) written() int { f.mu.Lock(); defer f.mu.Unlock(); return f.writes }
