package gobot

import (
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/tau-robot/tau/robot"
)

// Port is the line to the board. Read blocks until there are bytes, or fails; Write
// writes all or fails within a deadline of its own; Close unblocks both. *port.Port is
// one.
type Port interface {
	io.ReadWriteCloser
}

// message is one whole message of the board's.
type message struct {
	bytes []byte
	at    time.Time // when its last byte was read
	// after is when the line was last known to be empty: the message came after that, and
	// maybe long before at, of a process that had no time to read.
	after time.Time
}

// mostQueued is how many messages may wait beside the newest of each input. A board that
// says more than that, unasked, between two exchanges isn't one with Firmata.
const mostQueued = 256

// transport is the connection that the library is given. It is a door with a guard on
// each side:
//
//   - Towards the library it hands out one whole, judged message at a time, when give is
//     called, which returns once the library has done with it. So the library's reader
//     runs only while whoever moves the robot waits for it, and never at the same time
//     as a call: what both of them touch without a lock, they touch one after the other.
//   - Towards the board it lets through only the frames that permit allows.
//
// The first thing that goes wrong is latched: from then on nothing is written, and the
// library's reader gets nothing more, instead of the same error as fast as it can ask.
type transport struct {
	port   Port
	permit func(frame []byte) verdict

	toLibrary chan []byte
	idle      chan struct{} // the library asks for the next message
	asked     bool          // it has; the giver's alone
	rest      []byte        // of the message that it is reading; its reader's alone

	arrived chan struct{} // something is in queue; holds one
	lost    chan struct{} // closed with the first error
	closed  chan struct{} // closed by Close
	pumped  chan struct{} // closed when nothing reads the port any more

	mu       sync.Mutex
	err      error // the first one
	queue    []message
	bad      int // bytes that made no message
	batching bool
	batch    []byte
	closing  sync.Once
	closeErr error
}

// verdict says what becomes of a frame that the library writes.
type verdict uint8

const (
	refuse   verdict = iota // it isn't one that is meant to be sent
	withhold                // the library sends it by itself, and it is known not to be wanted
	pass
)

// newTransport starts to read the port, which is the transport's from now on.
func newTransport(p Port, permit func([]byte) verdict) *transport {
	t := &transport{
		port: p, permit: permit,
		toLibrary: make(chan []byte), idle: make(chan struct{}),
		arrived: make(chan struct{}, 1), lost: make(chan struct{}), closed: make(chan struct{}), pumped: make(chan struct{}),
	}
	go t.pump()
	return t
}

// pump reads the port until that fails.
func (t *transport) pump() {
	defer close(t.pumped)
	var p parser
	buf := make([]byte, 256)
	empty := time.Now()
	for {
		n, err := t.port.Read(buf)
		at := time.Now()
		for _, b := range buf[:n] {
			if m := p.feed(b); m != nil {
				t.put(message{m, at, empty})
			}
		}
		if n < len(buf) {
			empty = at
		}
		t.mu.Lock()
		t.bad = p.bad
		t.mu.Unlock()
		if err != nil {
			t.fail(err)
			return
		}
	}
}

// put queues a message. An input's value takes the place of the one before it that
// nobody has looked at: what is late is then new, and not a row of old values.
func (t *transport) put(m message) {
	t.mu.Lock()
	kind := m.bytes[0]
	i := -1
	if kind&0xF0 == analogMessage || kind&0xF0 == digitalMessage {
		i = slices.IndexFunc(t.queue, func(q message) bool { return q.bytes[0] == kind })
	}
	switch {
	case i >= 0:
		t.queue = append(slices.Delete(t.queue, i, i+1), m)
	case len(t.queue) < mostQueued:
		t.queue = append(t.queue, m)
	default:
		t.mu.Unlock()
		t.fail(robot.Errf(robot.CodeDisconnected, "firmata", "the board says more than anybody asked for: %d messages wait; is it one with StandardFirmata?", mostQueued))
		return
	}
	t.mu.Unlock()
	select {
	case t.arrived <- struct{}{}:
	default:
	}
}

// take returns what has arrived, oldest first.
func (t *transport) take() []message {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.queue
	t.queue = nil
	return out
}

// give hands the library a message and returns when it has done with it: false, when
// there is no library any more. One goroutine at a time may give.
func (t *transport) give(m []byte) bool {
	if !t.asked && !t.awaitIdle() {
		return false
	}
	select {
	case t.toLibrary <- m:
		t.asked = false
	case <-t.closed:
		return false
	}
	return t.awaitIdle()
}

// awaitIdle waits until the library asks for a message, which says that it has done with
// the one before.
func (t *transport) awaitIdle() bool {
	select {
	case <-t.idle:
		t.asked = true
		return true
	case <-t.closed:
		return false
	}
}

// Read is the library's reader's: it blocks until give has something, and fails once the
// transport is closed and not before, whatever became of the line: the library asks
// again at once after an error.
func (t *transport) Read(p []byte) (int, error) {
	if len(t.rest) == 0 {
		select {
		case t.idle <- struct{}{}:
		case <-t.closed:
			return 0, t.why()
		}
		select {
		case t.rest = <-t.toLibrary:
		case <-t.closed:
			return 0, t.why()
		}
	}
	n := copy(p, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

// Write is what the library sends with: one call is one frame. It goes out at once, or
// with the others of the batch that was begun.
func (t *transport) Write(frame []byte) (int, error) {
	switch t.permit(frame) {
	case withhold:
		return len(frame), nil
	case pass:
		return t.send(frame)
	}
	err := robot.Errf(robot.CodeInternal, "firmata", "the library wanted to send % x, which isn't meant to be sent; nothing was, and the link is given up", frame)
	t.fail(err)
	return 0, err
}

func (t *transport) send(frame []byte) (int, error) {
	t.mu.Lock()
	err := t.err
	if err == nil && t.batching {
		t.batch = append(t.batch, frame...)
		t.mu.Unlock()
		return len(frame), nil
	}
	t.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n, err := t.port.Write(frame)
	if err == nil && n != len(frame) {
		err = io.ErrShortWrite
	}
	if err != nil {
		t.fail(err)
		return n, t.why()
	}
	return n, nil
}

// begin keeps what is written until commit sends all of it in one go.
func (t *transport) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.batching, t.batch = true, t.batch[:0]
}

// abandon ends a batch without sending it.
func (t *transport) abandon() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.batching, t.batch = false, t.batch[:0]
}

// commit sends what was written since begin.
func (t *transport) commit() error {
	t.mu.Lock()
	t.batching = false
	all := slices.Clone(t.batch)
	t.mu.Unlock()
	if len(all) == 0 {
		return t.failed()
	}
	_, err := t.send(all)
	return err
}

// fail latches the first error.
func (t *transport) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return
	}
	t.err = linkError(err)
	close(t.lost)
}

// linkError is an error of the port's as the engine is told of it.
func linkError(err error) error {
	var typed *robot.Error
	if errors.As(err, &typed) {
		return typed
	}
	return robot.Errf(robot.CodeDisconnected, "firmata", "the link to the board is lost: %w", err)
}

// failed is the first error, or nil.
func (t *transport) failed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// why is the first error, or that the transport was closed.
func (t *transport) why() error {
	if err := t.failed(); err != nil {
		return err
	}
	return robot.Errf(robot.CodeDisconnected, "firmata", "the link was closed: %w", io.ErrClosedPipe)
}

// garbled returns how many bytes made no message.
func (t *transport) garbled() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bad
}

// Close closes the port, ends the library's reader and waits for the transport's own. A
// second one returns what the first did.
func (t *transport) Close() error {
	t.closing.Do(func() {
		t.fail(robot.Errf(robot.CodeDisconnected, "firmata", "the link was closed: %w", io.ErrClosedPipe))
		close(t.closed)
		t.closeErr = t.port.Close()
		<-t.pumped
	})
	return t.closeErr
}
