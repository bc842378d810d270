package prompt

import (
	"bytes"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tau-robot/tau/gate/approver/terminal"
)

// maxPlainLine bounds a line of plain input, in bytes.
const maxPlainLine = 1 << 20

// poke ends the reader's poll.
func (p *Prompt) poke() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started && p.wake[1] > 0 {
		_, _ = unix.Write(p.wake[1], []byte{0}) // a full pipe wakes as well
	}
}

// read reads the input until it ends or Run does.
func (p *Prompt) read() {
	defer close(p.gone)
	take := p.plainTaker()
	if p.interactive {
		take = p.keyTaker()
	}
	buf := make([]byte, 4096)
	for {
		fds := []unix.PollFd{{Fd: int32(p.inFD), Events: unix.POLLIN}, {Fd: int32(p.wake[0]), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			p.inputGone(take)
			return
		}
		if p.isStopped() {
			return
		}
		if fds[0].Revents != 0 && !p.readOnce(buf, take) {
			return
		}
		if fds[1].Revents != 0 && !p.serveBarriers(buf, take) {
			return
		}
	}
}

// readOnce reads a chunk; false: there will be no more.
func (p *Prompt) readOnce(buf []byte, take func(chunk []byte, at time.Time)) bool {
	n, err := unix.Read(p.inFD, buf)
	at := p.o.Now()
	switch {
	case n > 0:
		take(buf[:n], at)
		return true
	case errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN):
		return true
	}
	p.inputGone(take)
	return false
}

// serveBarriers reads what is there without waiting for more, and then says when
// that was.
func (p *Prompt) serveBarriers(buf []byte, take func([]byte, time.Time)) bool {
	_, _ = unix.Read(p.wake[0], make([]byte, 64)) // level triggered: a rest wakes again
	p.mu.Lock()
	waiting := p.barriers
	p.barriers = nil
	p.mu.Unlock()
	for len(waiting) > 0 {
		fds := []unix.PollFd{{Fd: int32(p.inFD), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, 0); errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil || n == 0 {
			break
		}
		if !p.readOnce(buf, take) {
			return false
		}
	}
	now := p.o.Now()
	for _, ch := range waiting {
		ch <- now
	}
	return true
}

// inputGone ends the input: a card refuses, a terminal hangs up, plain input
// ends once its lines have run.
func (p *Prompt) inputGone(take func([]byte, time.Time)) {
	if p.interactive {
		p.answer(terminal.Answer{Kind: terminal.EndOfInput, At: p.o.Now()}, "\n")
		p.keys.push(key{kind: keyGone})
		return
	}
	take(nil, p.o.Now())
	p.hooks.Go(func() {
		p.lines.drain()
		p.cancel(errClosed)
	})
}

// keyTaker takes the bytes of a terminal.
func (p *Prompt) keyTaker() func([]byte, time.Time) {
	var f filter
	return func(chunk []byte, at time.Time) {
		for _, k := range f.feed(nil, chunk, at) {
			switch k.kind {
			case keyInterrupt:
				p.interrupt(at)
			case keySuspend:
				p.suspend(at)
			default:
				switch k.kind {
				case keyLine:
					k.epoch = p.epoch() // before a ctrl-C behind it acts, and before the editor gets there
				case keyText:
					p.mu.Lock()
					p.typed = true
					p.mu.Unlock()
				}
				p.keys.push(k)
			}
		}
	}
}

// plainTaker takes the bytes of a file or pipe; a nil chunk is its end.
func (p *Prompt) plainTaker() func([]byte, time.Time) {
	var line []byte
	long := false
	end := func() {
		if long {
			p.Print("a line is longer than " + itoa(maxPlainLine) + " bytes; it was not run")
		} else {
			p.command(string(bytes.TrimSuffix(line, []byte{'\r'})), p.epoch(), true, false)
		}
		line, long = line[:0], false
	}
	return func(chunk []byte, _ time.Time) {
		if chunk == nil && (len(line) > 0 || long) {
			end()
		}
		for _, c := range chunk {
			switch {
			case c == '\n':
				end()
			case len(line) >= maxPlainLine:
				long = true
			default:
				line = append(line, c)
			}
		}
	}
}

// interrupt is ctrl-C: an open card refuses, what is half typed goes, what waits
// is dropped, and the hook stops what moves.
func (p *Prompt) interrupt(at time.Time) {
	p.mu.Lock()
	idle := !p.typed && p.view == nil
	p.typed = false
	p.mu.Unlock()
	idle = idle && !p.lines.busy()
	dropped := p.lines.drop()
	if !p.answer(terminal.Answer{Kind: terminal.Interrupted, At: at}, "^C\n") {
		p.discard()
	}
	p.hooks.Go(func() {
		defer p.guard()
		exit := true
		if p.o.OnInterrupt != nil {
			exit = p.o.OnInterrupt(p.ctx, idle)
		}
		p.printDropped(dropped)
		if idle && exit {
			p.cancel(ErrInterrupted)
		}
	})
}

func (p *Prompt) isStopped() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopped
}
