package gobot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"gobot.io/x/gobot/v2/platforms/firmata/client"

	"github.com/tau-robot/tau/robot"
)

// How often a board that says nothing is asked for its version, over all connections: fewHellos
// times at once, and as often again every seldom. One that was cut off in the middle of a
// message takes each of these bytes for a part of that, and a StandardFirmata of its time
// doesn't look whether they still fit: beyond its 64 bytes they are written over what it has
// behind, its servos' pulses too. One that boots says so by itself, if somebody listens.
const (
	fewHellos  = 12
	mostHellos = 2 * fewHellos
	seldom     = 20 * time.Second
)

// hellos counts how often a board was asked since one has answered.
type hellos struct {
	mu    sync.Mutex
	asked int
	last  time.Time
}

// may reports whether it may be asked once more, and counts that.
func (h *hellos) may() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.asked >= mostHellos || h.asked >= fewHellos && time.Since(h.last) < seldom {
		return false
	}
	h.asked++
	h.last = time.Now()
	return true
}

func (h *hellos) answered() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = 0
}

// replugged is called when the line's device was gone: what is plugged in again is switched
// on by that, mostly, and may have said so before anybody listened.
func (h *hellos) replugged() {
	const again = 4
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = min(h.asked, fewHellos-again)
}

// protocolMajor is the version of Firmata's protocol that is spoken here: another one may
// mean another thing by the same bytes.
const protocolMajor = 2

// The times of an exchange with a board.
const (
	// readWithin is how long a board may take to answer a question of what it does: some
	// milliseconds of the line, what it does beside, and a machine that is busy. It bounds
	// how late a setpoint can be because of it.
	readWithin = 80 * time.Millisecond
	// doneWithin is the same of a question whether something was done.
	doneWithin = 250 * time.Millisecond
	// lostAfter is the silence after which the link counts as lost.
	lostAfter = 1500 * time.Millisecond
	// askAgain is how often a board that has said nothing yet is asked for its version:
	// what comes while its boot loader runs is lost.
	askAgain = 250 * time.Millisecond
	// readerEnds is how long the goroutine that the library connects with goes on after
	// that, asleep.
	readerEnds = 11 * time.Millisecond
)

// input is the newest value of an analogue input.
type input struct {
	counts int
	at     time.Time // it was measured no earlier; zero: none was ever heard
}

// state is what a board says of a pin.
type state struct {
	mode  int
	value int // what the pin was set to last: µs, a duty, 0 or 1
}

// i2cRead is a read on the I2C bus that is under way.
type i2cRead struct {
	address, count int
	data           []byte
	failed         error
	done           bool
}

// board is one connection to an Arduino with StandardFirmata, by way of the library's
// client. It belongs to one goroutine but for Close, and is never connected twice.
type board struct {
	t   *transport
	c   *client.Client
	on  *events
	log *slog.Logger
	// hellos outlives the connection.
	hellos *hellos

	pins     []pin
	channels map[int]int // pin by analogue channel
	firmware string      // and its version, as it names itself
	analog   map[int]input

	protocol           [2]byte // its version of Firmata's protocol, as it says
	connecting         bool
	asked              [2]atomic.Bool // capabilities, mapping: by whoever writes for the library
	versions           int            // heard
	mark               int            // the answer that has to come before any other counts, -1: none
	given              bool           // a question was given up, whose answer may still come
	marks              int            // so far
	heardAt            time.Time
	stateOf            int   // the pin whose state was asked for, -1: none
	state              state // what was answered
	reading            *i2cRead
	restarted          bool
	said               string // the last text of the board's
	texts, unexpected  int
	reportedUnexpected int
	reportedGarbled    int
}

// pin is what a pin of a board can do.
type pin struct{ modes uint64 } // a bit for each mode

func (p pin) can(mode int) bool { return p.modes>>mode&1 == 1 }

// newBoard takes the port over. permit says what may be sent. Nothing has been sent yet.
func newBoard(p Port, permit func([]byte) verdict, log *slog.Logger) *board {
	b := &board{
		on: newEvents(), log: log, hellos: &hellos{}, analog: map[int]input{}, stateOf: -1, mark: -1,
	}
	b.t = newTransport(p, func(f []byte) verdict {
		if bytes.Equal(f, helloFrame) && !b.hellos.may() {
			return withhold
		}
		for i, frame := range [...][]byte{capabilitiesFrame, mappingFrame} {
			if bytes.Equal(f, frame) {
				b.asked[i].Store(true)
			}
		}
		return permit(f)
	})
	b.c = newClient(b.on)
	_ = b.on.On("Error", func(any) {
		// Only a closed transport fails. Without this the library would ask it again for ever.
		_ = b.c.Disconnect()
	})
	_ = b.on.On("ProtocolVersion", func(any) { b.versions++ })
	_ = b.on.On("StringData", func(s any) { b.text(s) })
	return b
}

// newClient makes the library's client without the goroutine that its constructor starts
// and nothing ends.
func newClient(on *events) *client.Client {
	c := &client.Client{Eventer: on, ConnectTimeout: time.Hour} // it is ended by closing the transport
	func() {
		// Disconnect first notes that the client isn't connected, without which no other
		// method works, and then panics, having no connection to close.
		defer func() { _ = recover() }()
		_ = c.Disconnect()
	}()
	return c
}

// connect greets the board and learns what its pins can do. After an error the board is
// closed.
func (b *board) connect(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			if closing := b.Close(); closing != nil {
				err = errors.Join(err, closing)
			}
		}
	}()
	b.connecting = true
	done := make(chan error, 1)
	go func() {
		err := b.c.Connect(b.t)
		if err != nil {
			_ = b.t.Close() // nobody reads any more
		}
		done <- err
	}()
	ended := false
	defer func() {
		if err != nil && !ended {
			_ = b.t.Close()
			<-done //nolint:errcheck // it is the same
		}
	}()
	again := time.NewTicker(askAgain)
	defer again.Stop()
	for {
		for _, m := range b.t.take() {
			b.hear(m)
		}
		select {
		case err := <-done:
			ended = true
			if first := b.t.failed(); first != nil {
				return first
			}
			if err != nil {
				return robot.Errf(robot.CodeInternal, "firmata", "the library doesn't connect: %w", err)
			}
			b.connecting = false
			time.Sleep(readerEnds)
			if b.protocol[0] != protocolMajor {
				return robot.Errf(robot.CodeNotSupported, "firmata", "the board (%q) speaks version %d.%d of Firmata's protocol, and this driver %d: flash the StandardFirmata that comes with the Arduino IDE", b.firmware, b.protocol[0], b.protocol[1], protocolMajor)
			}
			return nil
		case <-b.t.arrived:
		case <-b.t.lost:
			return b.t.why()
		case <-again.C:
			if b.versions == 0 && b.hellos.may() {
				if _, err := b.t.send(helloFrame); err != nil {
					return err
				}
			}
		case <-ctx.Done():
			return b.silent(ctx)
		}
	}
}

// silent says how far a board got that didn't become connected in time.
func (b *board) silent(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return robot.Errf(robot.CodeCancelled, "firmata", "not connected: %w", context.Cause(ctx))
	}
	bad := b.t.garbled()
	switch {
	case b.versions == 0 && bad > 0:
		return robot.Errf(robot.CodeLinkTimeout, "firmata", "the board says what isn't Firmata (%d bytes): is StandardFirmata on it, and is the baud rate in the robot's file its own (57600)?", bad)
	case b.versions == 0:
		return robot.Errf(robot.CodeLinkTimeout, "firmata", "the board doesn't answer: is StandardFirmata on it, and is the baud rate in the robot's file its own (57600)? A board that was cut off in the middle of a message answers once its reset button was pressed, and isn't asked again and again until then: what it is sent it may keep")
	}
	return robot.Errf(robot.CodeLinkTimeout, "firmata", "the board said its version and then not what its pins can do (%d messages were none of Firmata's answers): flash StandardFirmata anew", b.unexpected)
}

// Close ends the connection, and unblocks whoever waits for the board. It may be called
// from any goroutine.
func (b *board) Close() error { return b.t.Close() }

// ask writes and waits until the board has answered, which done says. A board that
// doesn't in time is code, and one that has said nothing for lostAfter is LINK_TIMEOUT,
// which is the end of the connection.
//
// Answers come in order, and don't say which question they are to. So after one that was
// given up, a pin is asked for that no board has, another one each time, before the next
// question: until that answer is there, others are to old questions and don't count.
func (b *board) ask(ctx context.Context, within time.Duration, code robot.Code, what string, write func() error, done func() bool) error {
	if ctx.Err() != nil {
		return robot.Errf(robot.CodeCancelled, "firmata", "not asked for %s: %w", what, context.Cause(ctx))
	}
	if err := b.write(func() error {
		if b.given {
			if err := b.setMark(); err != nil {
				return err
			}
		}
		return write()
	}); err != nil {
		return err
	}
	b.given = true
	// In pieces, each begun anew: a process that had no time for a while has used up one
	// of them, and not all.
	const pieces = 4
	timer := time.NewTimer(within / pieces)
	defer timer.Stop()
	for piece := 1; ; {
		for _, m := range b.t.take() {
			b.hear(m)
		}
		if err := b.t.failed(); err != nil {
			return err
		}
		if b.mark < 0 && done() {
			b.given = false
			return nil
		}
		select {
		case <-b.t.arrived:
		case <-b.t.lost:
			return b.t.why()
		case <-ctx.Done():
			return robot.Errf(robot.CodeCancelled, "firmata", "no longer waiting for %s: %w", what, context.Cause(ctx))
		case <-timer.C:
			if piece++; piece > pieces {
				return b.unanswered(within, code, what)
			}
			timer.Reset(within / pieces)
		}
	}
}

// unanswered is the error of a question that wasn't answered in time.
func (b *board) unanswered(within time.Duration, code robot.Code, what string) error {
	if silent := time.Since(b.heardAt); silent > lostAfter {
		b.t.fail(robot.LimitErr(robot.CodeLinkTimeout, "firmata", silent.Seconds(), lostAfter.Seconds(), "s", "the board doesn't answer any more; is it hung, or without power?"))
		return b.t.why()
	}
	return robot.Errf(code, "firmata", "the board wasn't heard within %v when it was asked for %s", within, what)
}

// setMark asks for a pin that the board doesn't have. It says so, by that pin's number.
func (b *board) setMark() error {
	n := len(b.pins)
	b.mark = n + b.marks%(mostPins-n)
	b.marks++
	return b.c.PinStateQuery(b.mark)
}

// mostPins is how many pins the protocol has numbers for; no board has all of them.
const mostPins = 128

// write has what f writes leave in one go.
func (b *board) write(f func() error) error {
	b.t.begin()
	if err := f(); err != nil {
		b.t.abandon()
		if first := b.t.failed(); first != nil {
			return first
		}
		return robot.Errf(robot.CodeInternal, "firmata", "the library refuses: %w", err)
	}
	return b.t.commit()
}

// pinState asks what a pin was told last.
func (b *board) pinState(ctx context.Context, n int, within time.Duration, code robot.Code) (state, error) {
	b.stateOf = n
	answered := false
	event := fmt.Sprintf("PinState%d", n)
	_ = b.on.Once(event, func(any) { answered = true })
	defer b.on.drop(event)
	err := b.ask(ctx, within, code, fmt.Sprintf("pin %d's state", n), func() error { return b.c.PinStateQuery(n) }, func() bool { return answered })
	b.stateOf = -1
	return b.state, err
}

// readI2C reads count bytes of a device from one of its registers on.
func (b *board) readI2C(ctx context.Context, within time.Duration, address int, register byte, count int) ([]byte, error) {
	r := &i2cRead{address: address, count: count}
	b.reading = r
	_ = b.on.Once("I2cReply", func(v any) {
		if reply, ok := v.(client.I2cReply); ok && b.reading == r {
			r.data, r.done = reply.Data, true
		}
	})
	err := b.ask(ctx, within, robot.CodeStaleState, fmt.Sprintf("%d bytes of the device at %#x", count, address), func() error {
		if err := b.c.I2cWrite(address, []byte{register}); err != nil {
			return err
		}
		return b.c.I2cRead(address, count)
	}, func() bool { return r.done || r.failed != nil })
	b.reading = nil
	if err == nil && r.failed != nil {
		err, b.given = r.failed, true // there may be more of an answer
	}
	if err != nil {
		b.on.drop("I2cReply")
		return nil, err
	}
	return r.data, nil
}

// writeI2C writes bytes to a device from one of its registers on; whether there is one
// is for a read to find out.
func (b *board) writeI2C(address int, register byte, data ...byte) error {
	return b.c.I2cWrite(address, append([]byte{register}, data...))
}

// text notes what a board says in words: always a complaint.
func (b *board) text(v any) {
	s, _ := v.(string)
	b.said = fromFirmata(s)
	b.texts++
	if b.texts&(b.texts-1) == 0 { // the 1st, 2nd, 4th, …: a board may say so all day long
		b.log.Warn("the board complains", "text", b.said, "count", b.texts)
	}
}

// fromFirmata joins a text's characters, each of which comes as two times seven bits,
// without what a terminal would take for a command.
func fromFirmata(s string) string {
	out := make([]rune, 0, len(s)/2)
	for i := 0; i+1 < len(s); i += 2 {
		c := rune(word(s[i], s[i+1]))
		if c < ' ' || c > '~' {
			c = '?'
		}
		out = append(out, c)
	}
	return string(out)
}
