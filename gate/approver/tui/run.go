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

// running is what Run has set up, for who isn't its loop.
type running struct {
	mu    sync.Mutex
	out   *output
	timer *time.Timer
	pause *pause // somebody waits for the terminal
	on    bool
}

// pause gives the terminal away for a while.
type pause struct {
	given chan struct{} // closed when the terminal is as it was
	back  chan struct{} // closed when it may be taken again
}

// await asks for word of the next write.
func (t *TUI) await() uint64 {
	t.running.mu.Lock()
	out := t.running.out
	t.running.mu.Unlock()
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
	t.running.mu.Lock()
	defer t.running.mu.Unlock()
	if t.running.timer == nil {
		return
	}
	t.running.timer.Stop()
	if d > 0 {
		t.running.timer.Reset(d)
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
	t.running.mu.Lock()
	t.running.out, t.running.on = out, true
	t.running.timer = time.AfterFunc(time.Hour, t.board.poke)
	t.running.timer.Stop()
	t.running.mu.Unlock()

	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { t.read(in) })
	wg.Go(func() { t.watch(beside) })
	wg.Go(func() { t.list(beside) })
	wg.Go(func() { t.earlier(beside) })
	wg.Go(func() { t.finish(ctx, beside) })
	t.once.begun.Do(func() { close(t.begun) })
	err := t.show(out)
	t.leave(gate.Void, ReasonClosed, err)
	stop()
	_ = tty.Leave()
	tty.Break()
	t.running.mu.Lock()
	t.running.timer.Stop()
	t.running.on = false
	t.running.mu.Unlock()
	t.acts.Wait()
	wg.Wait()
	t.board.mu.Lock()
	defer t.board.mu.Unlock()
	return t.board.err
}

// finish ends the screen when ctx ends, and sees to it that a terminal that takes no
// output doesn't hold the end up.
func (t *TUI) finish(ctx, beside context.Context) {
	select {
	case <-ctx.Done():
		t.leave(gate.Void, ReasonClosed, nil)
	case <-t.ending:
	case <-beside.Done():
		return
	}
	select {
	case <-time.After(outputWait):
		t.o.Terminal.Break()
	case <-beside.Done():
	}
}

// show shows the screen to its end, with pauses in which the terminal is somebody
// else's. Each time it is a new program of bubbletea's, with the same model.
func (t *TUI) show(out *output) error {
	m := &model{t: t}
	for {
		w, h, err := t.o.Terminal.Size()
		if err != nil {
			return err
		}
		program := tea.NewProgram(m,
			tea.WithInput(nil), tea.WithOutput(out), tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond), tea.WithWindowSize(w, h),
			// The renderer knows no terminal of its own; what it draws has no colour.
			tea.WithEnvironment([]string{"TERM=" + t.o.Term, "TTY_FORCE=1", "NO_COLOR=1"}))
		ended := make(chan struct{})
		var pumping sync.WaitGroup
		pumping.Go(func() { t.pump(ended, program) })
		_, err = program.Run()
		close(ended)
		pumping.Wait()
		t.running.mu.Lock()
		p := t.running.pause
		t.running.pause = nil
		t.running.mu.Unlock()
		if p == nil || err != nil {
			return err
		}
		_ = t.o.Terminal.Leave()
		close(p.given)
		select {
		case <-p.back:
		case <-t.ending:
			return nil
		}
		if err := t.o.Terminal.Enter(); err != nil {
			return err
		}
	}
}

// pausing reports whether somebody waits for the terminal.
func (t *TUI) pausing() bool {
	t.running.mu.Lock()
	defer t.running.mu.Unlock()
	return t.running.pause != nil
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
func (t *TUI) pump(ended <-chan struct{}, p *tea.Program) {
	t.board.poke() // what came before it
	for {
		select {
		case <-ended:
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
	select {
	case <-t.ending:
		return
	default:
	}
	p := &pause{given: make(chan struct{}), back: make(chan struct{})}
	defer close(p.back)
	t.running.mu.Lock()
	on := t.running.on
	if on {
		t.running.pause = p
	}
	t.running.mu.Unlock()
	if on {
		t.board.poke()
		select {
		case <-p.given:
		case <-time.After(outputWait): // it takes no output, and still is given back
			_ = t.o.Terminal.Leave()
			defer func() { _ = t.o.Terminal.Enter() }() // closed, or gone: the reader sees that
		}
	}
	if err := stop(); err != nil {
		t.tell(gate.Escape(err.Error()))
	} else {
		t.tell(t.o.Lang.TUIContinued())
	}
}
