package prompt

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/tau-robot/tau/gate/approver/terminal"
)

const (
	pasteOn  = "\x1b[?2004h" // the terminal marks what is pasted
	pasteOff = "\x1b[?2004l"
)

// enter puts the terminal into raw mode.
func (p *Prompt) enter() error {
	p.out.Lock()
	defer p.out.Unlock()
	p.mu.Lock()
	stopped := p.stopped
	p.mu.Unlock()
	if stopped {
		return errClosed
	}
	was, err := term.MakeRaw(p.inFD)
	if err != nil {
		return err
	}
	if !p.raw.Load() { // else it was raw already, and how it was before is known
		p.tty = was
		p.raw.Store(true)
		_, _ = p.o.Out.WriteString(pasteOn)
	}
	p.resize()
	return nil
}

// restore gives the terminal back as it was. It never waits, even for a terminal
// that takes no output, so that it serves in a panic too; doing it twice is fine.
func (p *Prompt) restore() {
	if !p.raw.CompareAndSwap(true, false) {
		return
	}
	_ = term.Restore(p.inFD, p.tty) // nobody to tell
	if p.out.TryLock() {
		defer p.out.Unlock()
	}
	fds := []unix.PollFd{{Fd: int32(p.outFD), Events: unix.POLLOUT}}
	if n, err := unix.Poll(fds, 0); err == nil && n > 0 {
		_, _ = p.o.Out.WriteString("\r" + pasteOff + "\x1b[K") // the prompt's line goes
	}
}

// resize tells the editor how wide the terminal is.
func (p *Prompt) resize() {
	if w, h, err := term.GetSize(p.outFD); err == nil && w > 0 {
		_ = p.term.SetSize(w, h) // its error is the terminal's, which the reader sees too
	}
}

// follow handles the signals that a terminal sends.
func (p *Prompt) follow(signals <-chan os.Signal, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case s := <-signals:
			if s == syscall.SIGCONT {
				p.resume()
			}
			p.resize()
		}
	}
}

// resume takes the terminal again after the process was stopped.
func (p *Prompt) resume() {
	if err := p.enter(); err != nil {
		return // closed, or gone: the reader sees that
	}
	p.keys.push(key{kind: keyDo, do: func() { p.Print("(running again)") }})
}

// suspend is ctrl-Z: an open card refuses, the hook stops what moves, and then
// the terminal is given back and the process group stops.
func (p *Prompt) suspend(at time.Time) {
	if !p.answer(terminal.Answer{Kind: terminal.Suspended, At: at}, "^Z\n") {
		p.discard()
	}
	if !p.suspending.CompareAndSwap(false, true) {
		return
	}
	dropped := p.lines.drop()
	p.hooks.Go(func() {
		defer p.guard()
		defer p.suspending.Store(false)
		if p.o.OnSuspend != nil {
			p.o.OnSuspend(p.ctx)
		}
		p.printDropped(dropped)
		if p.ctx.Err() != nil {
			return
		}
		p.restore()
		if err := p.o.suspend(); err != nil {
			_ = p.enter() // as in resume
			p.Print(err.Error())
		}
	})
}

// suspendGroup stops this process and those that started with it (make, say), as
// the terminal would have done for ctrl-Z; SIGSTOP, because whoever catches
// SIGTSTP would stop the motion a second time. A session leader has no shell to
// come back to.
func suspendGroup() error {
	if sid, err := unix.Getsid(0); err == nil && sid == os.Getpid() {
		return errors.New("there is no shell to go back to; ctrl-Z only stops what moves")
	}
	return unix.Kill(0, unix.SIGSTOP)
}
