package porttest

import (
	"context"
	"errors"
	"os"
	"time"
)

// toBoard carries what the bridge writes.
func (p *Proxy) toBoard() {
	buf := make([]byte, 4096)
	for {
		var host *Terminal
		if !p.until(context.Background(), func() (bool, time.Time) {
			host = p.host
			return host != nil, time.Time{}
		}) {
			return
		}
		n, err := p.read(ToBoard, host.Far, buf)
		if err == nil {
			p.carry(ToBoard, host, buf[:n])
			continue
		}
		// The terminal was unplugged: wait for another one.
		if !p.until(context.Background(), func() (bool, time.Time) { return p.host != host, time.Time{} }) {
			return
		}
	}
}

// toHost carries what the board sends, for as long as the board is there.
func (p *Proxy) toHost() {
	buf := make([]byte, 4096)
	for {
		n, err := p.read(ToHost, p.board, buf)
		if err != nil {
			p.mu.Lock()
			p.note(ToHost, BoardGone, nil)
			p.change()
			p.mu.Unlock()
			return
		}
		p.mu.Lock()
		host := p.host
		p.mu.Unlock()
		p.carry(ToHost, host, buf[:n])
	}
}

func (p *Proxy) read(d Dir, f *os.File, buf []byte) (int, error) {
	if !p.thawed(d) {
		return 0, os.ErrClosed
	}
	n, err := f.Read(buf)
	if n > 0 {
		p.mu.Lock()
		p.note(d, Received, buf[:n])
		p.change()
		p.mu.Unlock()
		return n, nil
	}
	return 0, err
}

// thawed waits out a freeze; false at the end.
func (p *Proxy) thawed(d Dir) bool {
	return p.until(context.Background(), func() (bool, time.Time) {
		if p.frozen[d] && !p.thaw[d].IsZero() && !time.Now().Before(p.thaw[d]) {
			p.frozen[d], p.thaw[d] = false, time.Time{}
			p.note(d, Thawed, nil)
			p.change()
		}
		return !p.frozen[d], p.thaw[d]
	})
}

// carry passes on what was read while host was plugged in, with its faults. Bytes that
// are on their way when the host changes are lost.
func (p *Proxy) carry(d Dir, host *Terminal, b []byte) {
	var out, lost []byte
	flush := func() {
		if len(lost) > 0 {
			p.lose(d, lost)
		}
		if len(out) > 0 {
			p.pass(d, host, out)
		}
		out, lost = nil, nil
	}
	defer flush()
	for _, in := range b {
		p.mu.Lock()
		ops := p.lines[d].feed(in)
		p.mu.Unlock()
		for _, o := range ops {
			switch o.kind {
			case pass:
				out = append(out, o.b)
			case lose:
				lost = append(lost, o.b)
			case wait:
				flush()
				if !p.sleep(o.wait) {
					return
				}
			case freeze:
				flush()
				var until time.Time
				if o.wait > 0 {
					until = time.Now().Add(o.wait)
				}
				p.setFrozen(true, until, nil)
			case unplug:
				flush()
				p.unplugFor(o.wait)
			}
		}
		if p.isFrozen(d) && !p.thawed(d) {
			return
		}
	}
}

func (p *Proxy) isFrozen(d Dir) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.frozen[d]
}

func (p *Proxy) unplugFor(d time.Duration) {
	p.failed(p.Unplug())
	if d > 0 {
		p.wg.Go(func() {
			if p.sleep(d) {
				p.failed(p.Replug())
			}
		})
	}
}

func (p *Proxy) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.done:
		return false
	}
}

// pass writes on and notes what went.
func (p *Proxy) pass(d Dir, host *Terminal, b []byte) {
	p.write[d].Lock()
	defer p.write[d].Unlock()
	p.mu.Lock()
	same := host != nil && p.host == host
	p.mu.Unlock()
	if !same {
		p.lose(d, b)
		return
	}
	f := p.board
	if d == ToHost {
		f = host.Far
		if err := f.SetWriteDeadline(time.Now().Add(overflow)); err != nil {
			p.lose(d, b)
			return
		}
	}
	at := time.Now()
	n, err := f.Write(b)
	p.mu.Lock()
	if n > 0 {
		p.noteAt(at, d, Passed, b[:n])
	}
	if err != nil {
		p.note(d, Lost, b[n:])
	}
	p.change()
	p.mu.Unlock()
}

func (p *Proxy) lose(d Dir, b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note(d, Lost, b)
	p.change()
}

// failed keeps an error of a fault that acts by itself for the log.
func (p *Proxy) failed(err error) {
	if err == nil || errors.Is(err, os.ErrClosed) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note(ToBoard, Failed, []byte(err.Error()))
	p.change()
}
