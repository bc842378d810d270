package tui

import (
	"context"
	"errors"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/terminal"
)

const (
	framesPerSecond = 30
	stateEvery      = 500 * time.Millisecond
	listEvery       = 5 * time.Second // beside each time that something happens
	outputWait      = time.Second     // for a terminal that takes no output, at the end
)

// programHolder is the running program, for who isn't its loop.
type programHolder struct {
	mu    sync.Mutex
	p     *tea.Program
	out   *output
	timer *time.Timer
}

// await asks for word of the next write.
func (t *TUI) await() uint64 {
	t.program.mu.Lock()
	out := t.program.out
	t.program.mu.Unlock()
	if out == nil {
		return 1 << 63 // no write ever comes so far
	}
	return out.await()
}

// sized reports whether the terminal has this size now.
func (t *TUI) sized(w, h int) bool {
	tw, th, err := t.o.Terminal.Size()
	return err == nil && tw == w && th == h
}

// timer makes the screen look once d has passed; 0: it doesn't.
func (t *TUI) timer(d time.Duration) {
	t.program.mu.Lock()
	defer t.program.mu.Unlock()
	if t.program.timer == nil {
		return
	}
	t.program.timer.Stop()
	if d > 0 {
		t.program.timer.Reset(d)
	}
}

// Run shows the screen until a person leaves it, ctx ends or the terminal is gone, and
// gives the terminal back as it was. nil says that a person left it or ctx ended; else
// it is ErrInterrupted, ErrHangup, or what failed. Whatever was open is refused. It is
// to be called once.
func (t *TUI) Run(ctx context.Context) error {
	if t.o.Terminal == nil {
		return errors.New("there is no terminal to show the screen on")
	}
	tty := t.o.Terminal
	if err := tty.Enter(); err != nil {
		t.leave(gate.Void, terminal.ReasonNotShown, err)
		return err
	}
	defer func() { _ = tty.Leave() }() // nobody to tell
	in := &input{tty: tty, now: t.o.Now, act: t.act, pass: t.board.pressed}
	out := &output{tty: tty, written: t.wrote, settle: func() time.Time {
		_ = in.drain() // its end is the reader's to tell
		return t.o.Now()
	}}
	w, h, err := tty.Size()
	if err != nil {
		t.leave(gate.Void, terminal.ReasonNotShown, err)
		return err
	}
	program := tea.NewProgram(&model{t: t},
		tea.WithInput(nil), tea.WithOutput(out), tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond), tea.WithWindowSize(w, h),
		// The renderer knows no terminal of its own; what it draws has no colour.
		tea.WithEnvironment([]string{"TERM=" + t.o.Term, "TTY_FORCE=1", "NO_COLOR=1"}))
	t.program.mu.Lock()
	t.program.p, t.program.out = program, out
	t.program.timer = time.AfterFunc(time.Hour, t.board.poke)
	t.program.timer.Stop()
	t.program.mu.Unlock()

	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { t.read(in) })
	wg.Go(func() { t.pump(beside, program) })
	wg.Go(func() { t.watch(beside) })
	wg.Go(func() { t.list(beside) })
	wg.Go(func() { t.earlier(beside) })
	wg.Go(func() {
		select {
		case <-ctx.Done():
			t.leave(gate.Void, ReasonClosed, nil)
		case <-t.ending:
		case <-beside.Done():
			return
		}
		// A terminal that takes no output would hold the end up.
		select {
		case <-time.After(outputWait):
			tty.Break()
		case <-beside.Done():
		}
	})
	t.once.begun.Do(func() { close(t.begun) })
	_, err = program.Run()
	t.leave(gate.Void, ReasonClosed, err)
	stop()
	_ = tty.Leave()
	tty.Break()
	t.program.mu.Lock()
	t.program.timer.Stop()
	t.program.p = nil
	t.program.mu.Unlock()
	t.acts.Wait()
	wg.Wait()
	t.board.mu.Lock()
	defer t.board.mu.Unlock()
	return t.board.err
}

// read reads the terminal to its end.
func (t *TUI) read(in *input) {
	if err := in.run(); hungUp(err) {
		t.leave(gate.Rejected, terminal.ReasonEOF, ErrHangup)
	}
}

// wrote says that a write that was waited for is done.
func (t *TUI) wrote(n uint64, at time.Time) {
	t.board.change(func() { t.board.written, t.board.at = n, at })
}

// pump makes bubbletea's loop look when there is something new, and nobody else waits
// for it.
func (t *TUI) pump(ctx context.Context, p *tea.Program) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.board.wake:
			p.Send(wakeMsg{}) // returns when the program has ended
		case c := <-t.o.Terminal.Changes():
			if c == Continued {
				t.resume()
			}
			if w, h, err := t.o.Terminal.Size(); err == nil {
				p.Send(tea.WindowSizeMsg{Width: w, Height: h})
			}
		}
	}
}

// resume takes the terminal again after the process was stopped by somebody else.
func (t *TUI) resume() {
	if !t.suspending.TryLock() {
		return // we did it, and see to it
	}
	defer t.suspending.Unlock()
	if t.o.Terminal.Enter() == nil {
		t.board.change(func() { t.board.redraw = true })
	}
}

// watch keeps the robot's state up to date.
func (t *TUI) watch(ctx context.Context) {
	if t.bridge.State == nil {
		return
	}
	tick := time.NewTicker(stateEvery)
	defer tick.Stop()
	for {
		s := t.bridge.State(ctx)
		t.board.mu.Lock()
		changed := t.board.state != s || t.board.running != nil && !s.Moving
		t.board.state = s
		if !s.Moving {
			t.board.running = nil
		}
		t.board.mu.Unlock()
		if changed {
			t.board.poke()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// list keeps the requests up to date.
func (t *TUI) list(ctx context.Context) {
	if t.bridge.Open == nil {
		return
	}
	tick := time.NewTicker(listEvery)
	defer tick.Stop()
	for {
		records, err := t.bridge.Open(ctx)
		if err == nil {
			t.board.mu.Lock()
			changed := len(records) != len(t.board.records)
			for i := 0; !changed && i < len(records); i++ {
				changed = records[i].Request.CallID != t.board.records[i].Request.CallID
			}
			t.board.records = records
			t.board.mu.Unlock()
			if changed {
				t.board.poke()
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-t.board.relist:
		}
	}
}

// earlier reads what happened before.
func (t *TUI) earlier(ctx context.Context) {
	var events []gate.Event
	if t.bridge.Earlier != nil {
		events = t.bridge.Earlier(ctx)
	}
	t.prime(events)
}

// Suspend gives the terminal back, has the process stopped and takes the terminal
// again when it goes on: what is open is no longer answered, and what moves is stopped
// first and kept at rest until then. It returns after all of that.
func (t *TUI) Suspend(stop func() error) {
	if !t.suspending.TryLock() {
		return
	}
	defer t.suspending.Unlock()
	t.board.refuse(gate.Void, terminal.ReasonSuspended)
	if t.bridge.Hold != nil {
		defer t.bridge.Hold()()
	}
	t.program.mu.Lock()
	p := t.program.p
	t.program.mu.Unlock()
	select {
	case <-t.ending:
		return
	default:
	}
	if p != nil {
		_ = p.ReleaseTerminal() // it has none of its own to give back
		_ = t.o.Terminal.Leave()
	}
	err := stop()
	if p != nil {
		if t.o.Terminal.Enter() == nil {
			_ = p.RestoreTerminal()
			t.board.change(func() { t.board.redraw = true })
		}
	}
	if err != nil {
		t.tell(gate.Escape(err.Error()))
	} else {
		t.tell(t.o.Lang.TUIContinued())
	}
}
