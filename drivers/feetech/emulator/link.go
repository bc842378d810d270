package emulator

import (
	"errors"
	"os"
	"sync"
	"time"

	"github.com/tau-robot/tau/robot"
)

// Link is the host's end of a bus, as drivers/port's Port is of a serial line. One
// goroutine may read while another one writes; Close and SetReadDeadline may be called at
// any time.
type Link struct {
	bus  *Bus
	baud int
	gone chan struct{}
	once sync.Once

	// Under the bus's lock:
	deadline time.Time
	lost     bool // unplugged since it was opened
}

// Dial opens the host's end at the rate that the servos were made with. BUSY: somebody
// else has it. DISCONNECTED: it is unplugged.
func (b *Bus) Dial() (*Link, error) { return b.DialAt(b.baud) }

// DialAt is Dial at another rate, bit/s.
func (b *Bus) DialAt(baud int) (*Link, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.process(b.now())
	switch {
	case baud <= 0:
		return nil, robot.Errf(robot.CodeInvalidArgument, "servo bus", "%d Bd is no rate", baud)
	case b.unplugged:
		return nil, robot.Errf(robot.CodeDisconnected, "servo bus", "it is unplugged")
	case b.link != nil:
		return nil, robot.Errf(robot.CodeBusy, "servo bus", "another link has it")
	}
	b.in, b.sent = b.in[:0], b.sent[:0]
	b.link = &Link{bus: b, baud: baud, gone: make(chan struct{})}
	return b.link, nil
}

// SetBaud changes the rate of what is sent and heard from now on, bit/s.
func (l *Link) SetBaud(baud int) error {
	if baud <= 0 {
		return robot.Errf(robot.CodeInvalidArgument, "servo bus", "%d Bd is no rate", baud)
	}
	l.bus.at(func(time.Duration) { l.baud = baud })
	return nil
}

// Read blocks until there are bytes, the read deadline passes (LINK_TIMEOUT, which is also
// os.ErrDeadlineExceeded), the bus is unplugged (DISCONNECTED) or Close is called
// (DISCONNECTED, also os.ErrClosed). Bytes come at the speed of the wire, each once its
// stop bit has passed.
func (l *Link) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	var timer *time.Timer
	defer func() {
		if timer != nil {
			timer.Stop()
		}
	}()
	for {
		n, due, changed, err := l.look(p)
		if n > 0 || err != nil {
			return n, err
		}
		var tick <-chan time.Time
		if !due.IsZero() {
			if timer == nil {
				timer = time.NewTimer(time.Until(due))
			} else {
				timer.Reset(time.Until(due))
			}
			tick = timer.C
		}
		select {
		case <-tick:
		case <-changed:
		case <-l.gone:
		}
	}
}

// look takes what has arrived; else it says when to look again, and what says so earlier.
func (l *Link) look(p []byte) (n int, due time.Time, changed <-chan struct{}, err error) {
	b := l.bus
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	b.process(now)
	switch {
	case l.closed():
		return 0, due, nil, l.shut("reading")
	case l.lost:
		return 0, due, nil, l.unplugged("reading")
	case len(b.in) > 0:
		n = copy(p, b.in)
		b.in = append(b.in[:0], b.in[n:]...)
		return n, due, nil, nil
	case !l.deadline.IsZero() && !time.Now().Before(l.deadline):
		return 0, due, nil, robot.Errf(robot.CodeLinkTimeout, "servo bus", "nothing arrived in time: %w", os.ErrDeadlineExceeded)
	}
	if at, ok := b.wire.due(); ok {
		due = b.start.Add(at)
	}
	if !l.deadline.IsZero() && (due.IsZero() || l.deadline.Before(due)) {
		due = l.deadline
	}
	return 0, due, b.changed, nil
}

// ReadArrived reads what has come and doesn't wait: 0 bytes and no error where nothing has.
// Errors are those of Read, deadlines are no matter.
func (l *Link) ReadArrived(p []byte) (int, error) {
	b := l.bus
	b.mu.Lock()
	defer b.mu.Unlock()
	b.process(b.now())
	switch {
	case l.closed():
		return 0, l.shut("reading")
	case l.lost:
		return 0, l.unplugged("reading")
	}
	n := copy(p, b.in)
	b.in = append(b.in[:0], b.in[n:]...)
	return n, nil
}

// SetReadDeadline is when a Read that waits, and every later one, ends with LINK_TIMEOUT;
// the zero time is never.
func (l *Link) SetReadDeadline(t time.Time) error {
	l.bus.mu.Lock()
	defer l.bus.mu.Unlock()
	l.deadline = t
	l.bus.notify()
	return nil
}

// Write lays bytes on the wire behind what the link has sent before, and returns at once,
// as a port does with its output queue.
func (l *Link) Write(p []byte) (int, error) {
	b := l.bus
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	b.process(now)
	switch {
	case l.closed():
		return 0, l.shut("writing")
	case l.lost:
		return 0, l.unplugged("writing")
	}
	b.transmit(p, now)
	return len(p), nil
}

// transmit is the host's adapter sending.
func (b *Bus) transmit(p []byte, now time.Duration) {
	from := max(now, b.wire.free)
	if b.live {
		from = max(from, b.wire.busy())
	}
	b.wire.free = b.wire.put(host, p, from, b.link.baud, nil)
	b.notify()
}

// Close lets go of the bus and unblocks a Read. What was written still goes out. A second
// one does nothing.
func (l *Link) Close() error {
	l.once.Do(func() {
		l.bus.mu.Lock()
		defer l.bus.mu.Unlock()
		l.bus.process(l.bus.now())
		close(l.gone)
		if l.bus.link == l {
			l.bus.link = nil
			l.bus.in = l.bus.in[:0]
		}
		l.bus.notify()
	})
	return nil
}

func (l *Link) closed() bool {
	select {
	case <-l.gone:
		return true
	default:
		return false
	}
}

func (l *Link) shut(doing string) error {
	return robot.Errf(robot.CodeDisconnected, "servo bus", "%s: %w", doing, os.ErrClosed)
}

var errUnplugged = errors.New("it was unplugged")

func (l *Link) unplugged(doing string) error {
	return robot.Errf(robot.CodeDisconnected, "servo bus", "%s: %w", doing, errUnplugged)
}
