package emulator

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

const (
	// tick is how often a served bus moves its arm on though nobody asks.
	tick = 20 * time.Millisecond
	// ahead is how much of what a served host sends may lie ahead of the wire: the rest
	// waits where it is, as at an adapter whose buffer is full.
	ahead = 20 * time.Millisecond
)

// Serve puts the bus behind rw, which is the host's end: what comes out of it are the
// host's bytes, and the servos' answers go in, at the times of the wire or a little later,
// by the wall clock. rate, where it isn't nil, is asked for the rate that the host is set
// to whenever it sends; 0 means that it can't be told, and is that of the servos.
//
// When exactly the host sent something nobody can tell here, least of all on a machine that
// is busy. So the line is never contended: what comes while servos answer goes out behind
// them, as from an adapter that listens before it talks.
//
// A host that doesn't read holds nothing up: what it has no room for is dropped and
// counted. One that writes faster than the wire is read from at the wire's pace. Serve owns rw, and returns nil once ctx has ended, or the error of rw, in both
// cases with rw closed and everything of its own ended. BUSY: the bus has a link.
func (b *Bus) Serve(ctx context.Context, rw io.ReadWriteCloser, rate func() int) error {
	l, err := b.Dial()
	if err != nil {
		return errors.Join(err, rw.Close())
	}
	b.at(func(time.Duration) { b.live = true })
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 2)
	var all sync.WaitGroup
	all.Go(func() { ended <- b.listen(ctx, l, rw, rate) })
	all.Go(func() { ended <- answer(l, rw) })
	all.Go(func() { b.passTime(ctx) })
	select {
	case <-ctx.Done():
	case err = <-ended:
	}
	cancel()
	closed := rw.Close()
	err = errors.Join(err, l.Close())
	all.Wait()
	if err == nil {
		return closed
	}
	return err
}

// listen hands on what the host sends.
func (b *Bus) listen(ctx context.Context, l *Link, r io.Reader, rate func() int) error {
	buf := make([]byte, 512)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if err := b.adopt(l, rate); err != nil {
				return err
			}
			if over, err := b.pour(ctx, l, buf[:n]); over || err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// pour lays bytes on the wire no faster than they leave it; over: ctx has ended.
func (b *Bus) pour(ctx context.Context, l *Link, p []byte) (over bool, err error) {
	for {
		var room int
		var full time.Duration // how much lies ahead
		b.at(func(now time.Duration) {
			room, full = max(1, int(ahead/byteTime(l.baud))), b.wire.free-now
		})
		if full > ahead {
			t := time.NewTimer(full - ahead)
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				return true, nil
			}
			continue
		}
		n, err := l.Write(p[:min(room, len(p))])
		if p = p[n:]; err != nil || len(p) == 0 {
			return false, err
		}
	}
}

// adopt makes the host's rate the link's.
func (b *Bus) adopt(l *Link, rate func() int) error {
	if rate == nil {
		return nil
	}
	if baud := rate(); baud > 0 {
		return l.SetBaud(baud)
	}
	return nil
}

// answer hands the host what the servos say.
func answer(l *Link, w io.Writer) error {
	buf := make([]byte, 512)
	for {
		n, err := l.Read(buf)
		if err != nil {
			return err
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return err
		}
	}
}

func (b *Bus) passTime(ctx context.Context) {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			b.at(nil)
		}
	}
}
