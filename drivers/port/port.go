package port

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tau-robot/tau/robot"
)

const (
	defaultWriteTimeout = 100 * time.Millisecond
	// bitsPerByte is 8N1: a start bit, eight of data, a stop bit.
	bitsPerByte = 10
	// closeDrain is how long Close lets a line that moves finish what it holds, and
	// closeLook how often it looks meanwhile.
	closeDrain = 100 * time.Millisecond
	closeLook  = time.Millisecond
	minBaud    = 50
	maxBaud    = 4_000_000
)

// Options say which port and how.
type Options struct {
	// Path is the device or a link to it. A link under /dev/serial/by-id finds the
	// same board again after it was plugged in elsewhere.
	Path string
	Baud int // bits a second, 50 to 4,000,000; 8 data bits, no parity, 1 stop bit
	// ResetOnOpen pulses DTR after opening, which resets an Arduino. Without it
	// nothing here touches DTR, and closing leaves it up, so that the next opening
	// doesn't reset the board either. Linux itself raises DTR at the first opening
	// after a board was plugged in; a driver learns of such a reset by its hello.
	ResetOnOpen bool
	// WriteTimeout is what a Write may take beyond the wire time of its bytes; 0 is
	// 100 ms.
	WriteTimeout time.Duration
}

// Port is an open serial port that this process alone has. One goroutine may read
// while others write; several Writes take turns, each whole. The first loss of the
// device is latched: from then on everything answers DISCONNECTED with that cause.
type Port struct {
	opts  Options
	where string
	file  *os.File
	id    identity // of the device that was opened
	turn  chan struct{}
	gone  chan struct{} // closed by Close
	lost  atomic.Pointer[robot.Error]

	arrivals *arrivals

	mu   sync.Mutex
	free time.Time // when the line will have sent what it was given

	closing sync.Once
	closed  error
}

var _ io.ReadWriteCloser = (*Port)(nil)

// Open opens the port, takes it for this process alone, sets the line up and throws
// away what had arrived before. It blocks only for the pulse of ResetOnOpen (which
// ends with ctx). BUSY: another process has it, which the text names. DISCONNECTED:
// it isn't there, or may not be opened. INVALID_ARGUMENT: it is no serial port, it
// is the terminal of this process, or the baud rate isn't one. After an error
// nothing is open and nothing was changed on a device that another process has.
func Open(ctx context.Context, o Options) (*Port, error) {
	return open(ctx, o, identity{})
}

// open refuses, untouched, a device that isn't the one expected (a zero identity
// expects nothing).
func open(ctx context.Context, o Options, expect identity) (*Port, error) {
	where := "port " + printable(o.Path)
	if err := o.check(where); err != nil {
		return nil, err
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = defaultWriteTimeout
	}
	if err := ctx.Err(); err != nil {
		return nil, robot.Errf(robot.CodeCancelled, where, "not opened: %w", err)
	}
	f, id, err := openDevice(o.Path, where, expect)
	if err != nil {
		return nil, err
	}
	if err := setUp(ctx, f, o, where); err != nil {
		return nil, errors.Join(err, release(f), f.Close())
	}
	a, err := newArrivals(f)
	if err != nil {
		return nil, errors.Join(cantOpen(o.Path, where, err), release(f), f.Close())
	}
	p := &Port{
		opts: o, where: where, file: f, id: id,
		turn: make(chan struct{}, 1), gone: make(chan struct{}), arrivals: a,
	}
	return p, nil
}

func (o Options) check(where string) error {
	if o.Path == "" {
		return robot.Errf(robot.CodeInvalidArgument, "port", "no port is named")
	}
	if o.Baud < minBaud || o.Baud > maxBaud {
		limit := minBaud
		if o.Baud > maxBaud {
			limit = maxBaud
		}
		return robot.LimitErr(robot.CodeInvalidArgument, where, float64(o.Baud), float64(limit), "Bd", "the baud rate is outside what a port can do")
	}
	if o.WriteTimeout < 0 {
		return robot.LimitErr(robot.CodeInvalidArgument, where, o.WriteTimeout.Seconds(), 0, "s", "the time that a write may take is negative")
	}
	return nil
}

// Read blocks until there are bytes, the read deadline passes (LINK_TIMEOUT, which
// is also os.ErrDeadlineExceeded), the device is lost (DISCONNECTED) or Close is
// called (DISCONNECTED, also os.ErrClosed). It never returns 0 bytes without an
// error unless b is empty. The port keeps no reference to b.
func (p *Port) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if err := p.latched(); err != nil {
		return 0, err
	}
	n, err := p.file.Read(b)
	if n > 0 {
		return n, nil // an error comes again with the next Read
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return 0, p.failed("reading", err)
}

// SetReadDeadline is when a Read that waits, and every later one, ends with
// LINK_TIMEOUT; the zero time is never. It may be called at any time.
func (p *Port) SetReadDeadline(t time.Time) error {
	if err := p.file.SetReadDeadline(t); err != nil {
		return p.failed("setting a deadline", err)
	}
	return nil
}

// Write hands all of b to the line at once, without waiting for what it still has
// to send, or fails within the wire time of b and the write timeout: LINK_TIMEOUT
// with the number of bytes that were taken. These may still leave: where a frame was
// cut, a receiver needs a delimiter before the next one. DISCONNECTED after a loss
// or Close. The port keeps no reference to b.
func (p *Port) Write(b []byte) (int, error) {
	if err := p.latched(); err != nil {
		return 0, err
	}
	within := p.wireTime(len(b)) + p.opts.WriteTimeout
	deadline := time.Now().Add(within)
	if err := p.takeTurn(within); err != nil {
		return 0, err
	}
	defer func() { <-p.turn }()
	if err := p.file.SetWriteDeadline(deadline); err != nil {
		return 0, p.failed("setting a deadline", err)
	}
	n, err := p.file.Write(b)
	p.sent(n)
	if err != nil {
		return n, p.failed("writing", err)
	}
	return n, nil
}

func (p *Port) takeTurn(within time.Duration) error {
	select {
	case p.turn <- struct{}{}:
		return nil
	default:
	}
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case p.turn <- struct{}{}:
		return nil
	case <-p.gone:
		return p.failed("writing", os.ErrClosed)
	case <-t.C:
		return p.failed("waiting for another write", os.ErrDeadlineExceeded)
	}
}

// Ahead is how long what was written and hasn't left still takes on the line: the wait
// of a byte that is written now. It goes by the baud rate (an adapter's own buffer isn't
// seen by the kernel) and by what the kernel still holds (an adapter that is slower, or
// that doesn't take anything). It doesn't block, and is 0 on a port that is closed or lost.
func (p *Port) Ahead() time.Duration {
	left := max(0, p.left(time.Now()))
	queued, err := queuedOut(p.file)
	if err != nil {
		return 0 // the next Write says why
	}
	return max(left, p.wireTime(queued))
}

// wireTime is how long n bytes take on the line.
func (p *Port) wireTime(n int) time.Duration {
	return time.Duration(int64(n) * bitsPerByte * int64(time.Second) / int64(p.opts.Baud))
}

func (p *Port) sent(n int) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free.Before(now) {
		p.free = now
	}
	p.free = p.free.Add(p.wireTime(n))
}

func (p *Port) left(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.free.Sub(now)
}

// Close ends every Read and Write, lets a line that moves finish what it was
// given for up to 100 ms, throws away the rest (the kernel would wait for it for half
// a minute) and gives the port back. A second Close waits for the first and returns
// what it did.
func (p *Port) Close() error {
	p.closing.Do(func() {
		close(p.gone)
		past := time.Unix(1, 0)
		// A deadline first, so that what blocks ends now and not after the drain.
		if err := errors.Join(p.file.SetReadDeadline(past), p.file.SetWriteDeadline(past)); err != nil {
			p.closed = err
		}
		if p.lost.Load() == nil {
			p.closed = errors.Join(p.closed, p.drain())
		}
		p.closed = errors.Join(p.closed, release(p.file), p.file.Close())
		if p.closed != nil {
			p.closed = robot.Errf(robot.CodeDisconnected, p.where, "closing: %w", p.closed)
		}
	})
	return p.closed
}

// drain gives the line up to closeDrain for what it still holds and throws the rest
// away.
func (p *Port) drain() error {
	end := time.Now().Add(closeDrain)
	for {
		now := time.Now()
		queued, err := queuedOut(p.file)
		if err != nil {
			return gone(err)
		}
		d := p.left(now)
		if queued > 0 {
			d = max(d, closeLook)
		}
		if d <= 0 {
			return nil
		}
		if !now.Before(end) {
			return gone(discardOutput(p.file))
		}
		time.Sleep(min(d, end.Sub(now)))
	}
}

// gone is nil where err only says that the device isn't there any more, which is no
// failure to close it.
func gone(err error) error {
	if isLoss(err) {
		return nil
	}
	return err
}

// latched is why nothing works any more, or nil.
func (p *Port) latched() error {
	select {
	case <-p.gone:
		return p.failed("used", os.ErrClosed)
	default:
	}
	if e := p.lost.Load(); e != nil {
		return e
	}
	return nil
}

// failed is the typed error of what the system answered. A loss is latched, and the
// first one is what every later call gets.
func (p *Port) failed(doing string, err error) *robot.Error {
	select {
	case <-p.gone: // whatever it was, it came of closing
		return robot.Errf(robot.CodeDisconnected, p.where, "%s: closed by this process: %w", doing, os.ErrClosed)
	default:
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return robot.Errf(robot.CodeLinkTimeout, p.where, "%s took longer than allowed; is the board hung?: %w", doing, os.ErrDeadlineExceeded)
	}
	e := robot.Errf(robot.CodeDisconnected, p.where, "lost while %s; plug it in again: %w", doing, err)
	if !p.lost.CompareAndSwap(nil, e) {
		e = p.lost.Load()
	}
	return e
}
