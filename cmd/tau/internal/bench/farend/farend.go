// Package farend is the other end of a robot's serial line for measurements: a
// pseudo-terminal on which a board answers as firmware/PROTOCOL.md says, and a model of
// the line, which says when each frame's first byte would have left at the line's baud
// rate. The board moves nothing and judges nothing: it takes every piece and says that it
// follows, so that what is measured is the driver and the operating system.
//
// It imports drivers/mcu/wire; only bench imports it.
package farend

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/tau-robot/tau/drivers/mcu/wire"
)

const bitsPerByte = 10 // 8N1

// Frame is a frame of the host.
type Frame struct {
	Type wire.Type
	Len  int       // bytes on the wire, with the delimiter
	Left time.Time // when its first byte went onto the line
}

// arrival is a frame and when the board has it whole.
type arrival struct {
	frame wire.Frame
	at    time.Time
}

// Line is the far end. Frames have to be taken: what isn't waits, and with it the line.
type Line struct {
	far, near *os.File
	byteTime  time.Duration
	frames    chan Frame
	arrived   chan arrival // for the board
	done      chan struct{}
	wg        sync.WaitGroup

	mu    sync.Mutex
	board board
}

// Open makes a line with a board of that many joints, which answers nothing where there
// are none.
func Open(joints, baud int) (*Line, error) {
	far, near, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("pseudo-terminal: %w", err)
	}
	if _, err := term.MakeRaw(int(near.Fd())); err != nil {
		return nil, errors.Join(err, far.Close(), near.Close())
	}
	l := &Line{
		far: far, near: near, byteTime: bitsPerByte * time.Second / time.Duration(baud),
		frames: make(chan Frame, 64), arrived: make(chan arrival, 64), done: make(chan struct{}),
	}
	l.board.begin(joints, time.Now())
	l.wg.Go(l.read)
	l.wg.Go(l.answer)
	if joints > 0 {
		l.wg.Go(l.report)
	}
	return l, nil
}

// Path is the device that the host opens.
func (l *Line) Path() string { return l.near.Name() }

// Frames gives the host's frames, in their order. It is closed at the end of the line.
func (l *Line) Frames() <-chan Frame { return l.frames }

// WireTime is how long n bytes take.
func (l *Line) WireTime(n int) time.Duration { return time.Duration(n) * l.byteTime }

// Close ends the line. Whoever has its device open has to have closed it before.
func (l *Line) Close() error {
	close(l.done)
	err := l.near.Close() // and with nobody at the other end, reading ends
	l.wg.Wait()
	return errors.Join(err, l.far.Close())
}

// read takes what the host writes, and answers it.
func (l *Line) read() {
	defer close(l.frames)
	var (
		buf     [4096]byte
		decoder wire.Decoder
		free    time.Time // when the line has sent what it was given
		first   time.Time // when the first byte of the frame under way left
		size    int       // of the frame under way
	)
	for {
		n, err := l.far.Read(buf[:])
		now := time.Now()
		for i := range buf[:n] {
			if free.Before(now) {
				free = now
			}
			if size == 0 {
				first = free
			}
			size++
			free = free.Add(l.byteTime)
			_, f, ok := decoder.Next(buf[i : i+1])
			if ok && !l.take(f, size, first, free) {
				return
			}
			if buf[i] == 0 {
				size = 0
			}
		}
		if err != nil {
			return
		}
	}
}

// take hands a frame out, and to the board; false at the end.
func (l *Line) take(f wire.Frame, size int, left, whole time.Time) bool {
	f.Payload = slices.Clone(f.Payload)
	select {
	case l.frames <- Frame{Type: f.Type, Len: size, Left: left}:
	case <-l.done:
		return false
	}
	select {
	case l.arrived <- arrival{f, whole}:
	case <-l.done:
		return false
	}
	return true
}

// answer has the board take each frame when it is whole.
func (l *Line) answer() {
	for {
		var a arrival
		select {
		case a = <-l.arrived:
		case <-l.done:
			return
		}
		select {
		case <-time.After(time.Until(a.at)):
		case <-l.done:
			return
		}
		l.mu.Lock()
		ok := l.write(l.board.take(a.frame, time.Now()))
		l.mu.Unlock()
		if !ok {
			return
		}
	}
}

// report says every few milliseconds where the board is.
func (l *Line) report() {
	t := time.NewTicker(statusPeriod)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-l.done:
			return
		}
		l.mu.Lock()
		ok := l.write(l.board.status(nil, time.Now()))
		l.mu.Unlock()
		if !ok {
			return
		}
	}
}

// write writes to the host; false once there is none. l.mu is held.
func (l *Line) write(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	_, err := l.far.Write(b)
	return err == nil
}
