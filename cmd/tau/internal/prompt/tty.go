package prompt

import (
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

// suspend is ctrl-Z.
func (p *Prompt) suspend(at time.Time) {
	// Here and not in the goroutine: what is typed after ctrl-Z is no answer.
	p.refuseSuspended(at)
	p.hooks.Go(func() {
		defer p.guard()
		p.suspendBy(p.o.suspend)
	})
}

// Suspend is ctrl-Z that came from elsewhere (SIGTSTP): an open card refuses, the
// hook stops what moves, the terminal is given back as it was, and stop, which
// stops the process and returns when it goes on, is called; then the terminal is
// taken again. It returns after all of that. Without a terminal the hook and stop
// are all there is.
func (p *Prompt) Suspend(stop func() error) {
	if p.interactive {
		p.refuseSuspended(p.o.Now())
	}
	p.suspendBy(stop)
}

func (p *Prompt) refuseSuspended(at time.Time) {
	if !p.answer(terminal.Answer{Kind: terminal.Suspended, At: at}, "^Z\n") {
		p.discard()
	}
}

func (p *Prompt) suspendBy(stop func() error) {
	if !p.suspending.CompareAndSwap(false, true) {
		return
	}
	defer p.suspending.Store(false)
	dropped := p.lines.drop()
	if p.o.OnSuspend != nil {
		defer p.o.OnSuspend(p.ctx)()
	}
	p.printDropped(dropped)
	if p.ctx.Err() != nil {
		return
	}
	taken := p.raw.Load()
	p.restore()
	err := stop()
	if taken {
		_ = p.enter() // closed, or gone: the reader sees that
	}
	if err != nil {
		p.Print(err.Error() + "; what moved has been stopped")
	}
}
