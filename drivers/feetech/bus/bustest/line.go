// Package bustest has what tests of servo buses need: a Line in memory on which each byte
// takes its time, with servos of a few lines, and what holds a codec to its vectors. It
// stands on the clock that the time package shows, so that it runs in a synctest bubble.
// Only tests import it.
//
// It imports bus and robot, and must never import a codec, a driver or the emulator.
package bustest

import (
	"bytes"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/robot"
)

// Piece is what the line brings after an instruction.
type Piece struct {
	After time.Duration // since the last byte of the instruction left, or of the piece before came
	Bytes []byte
}

// Line is a half-duplex line with its adapter, of one host. Its fields are set before it is used, and may
// be changed between two instructions.
type Line struct {
	Baud int
	// Answer returns what the line brings after what the host sent in one Write.
	Answer func(sent []byte) []Piece
	Echo   bool          // the adapter gives back what it is to send
	Late   time.Duration // how much later than on the wire the host gets each byte

	mu   sync.Mutex
	free time.Time // when the wire will be
	in   []arrival
	read time.Time // deadline
	gone chan struct{}
	once sync.Once
	sent [][]byte
}

type arrival struct {
	at time.Time
	b  byte
}

// NewLine returns a line at that rate, with nobody on it.
func NewLine(baud int) *Line { return &Line{Baud: baud, gone: make(chan struct{})} }

// Byte is how long a byte takes.
func (l *Line) Byte() time.Duration { return 10 * time.Second / time.Duration(l.Baud) }

// Sent returns what the host wrote, one element for each Write, and forgets it.
func (l *Line) Sent() [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.sent
	l.sent = nil
	return out
}

// Inject brings bytes after that time, as if somebody else had sent them.
func (l *Line) Inject(after time.Duration, b ...byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bring(time.Now().Add(after), b)
}

// bring puts bytes on the line from t on, and returns when the last one is over. Those of two
// senders at the same time come mixed up.
func (l *Line) bring(t time.Time, b []byte) time.Time {
	for _, v := range b {
		t = t.Add(l.Byte())
		a := arrival{t.Add(l.Late), v}
		at := len(l.in)
		for at > 0 && l.in[at-1].at.After(a.at) {
			at--
		}
		l.in = slices.Insert(l.in, at, a)
	}
	return t
}

// Close takes the line away: reads end, and everything fails from then on.
func (l *Line) Close() error {
	l.once.Do(func() { close(l.gone) })
	return nil
}

func (l *Line) lost() error {
	select {
	case <-l.gone:
		return robot.Errf(robot.CodeDisconnected, "line", "closed: %w", os.ErrClosed)
	default:
		return nil
	}
}

// Write implements bus.Port. It returns at once.
func (l *Line) Write(b []byte) (int, error) {
	if err := l.lost(); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b = bytes.Clone(b)
	l.sent = append(l.sent, b)
	start := time.Now()
	if start.Before(l.free) {
		start = l.free
	}
	end := start.Add(time.Duration(len(b)) * l.Byte())
	l.free = end
	if l.Echo {
		l.bring(start, b)
	}
	if l.Answer != nil {
		t := end
		for _, p := range l.Answer(b) {
			t = l.bring(t.Add(p.After), p.Bytes)
		}
	}
	return len(b), nil
}

// SetReadDeadline implements bus.Port.
func (l *Line) SetReadDeadline(t time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read = t
	return l.lost()
}

// Read implements bus.Port.
func (l *Line) Read(b []byte) (int, error) {
	for {
		if err := l.lost(); err != nil {
			return 0, err
		}
		l.mu.Lock()
		deadline, next := l.read, time.Time{}
		if !deadline.IsZero() && !time.Now().Before(deadline) {
			l.mu.Unlock()
			return 0, os.ErrDeadlineExceeded
		}
		n := l.take(b)
		if n == 0 && len(l.in) > 0 {
			next = l.in[0].at
		}
		l.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		if next.IsZero() || !deadline.IsZero() && deadline.Before(next) {
			next = deadline
		}
		var c <-chan time.Time
		if !next.IsZero() {
			t := time.NewTimer(time.Until(next))
			defer t.Stop()
			c = t.C
		}
		select {
		case <-l.gone:
		case <-c:
		}
	}
}

func (l *Line) take(b []byte) int {
	now, n := time.Now(), 0
	for n < len(b) && n < len(l.in) && !l.in[n].at.After(now) {
		b[n] = l.in[n].b
		n++
	}
	l.in = l.in[n:]
	return n
}

// ReadArrived is what *port.Port has too.
func (l *Line) ReadArrived(b []byte) (int, error) {
	if err := l.lost(); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.take(b), nil
}

// Plain is the line as a port that can't say what has come without waiting.
func (l *Line) Plain() bus.Port {
	return struct {
		bus.Port
	}{l}
}

// Servo is a memory that answers.
type Servo struct {
	ID     byte
	Memory [256]byte
	Error  byte          // of its answers
	Delay  time.Duration // before it answers
	Mute   bool          // hears, does, and says nothing
	Ping   []byte        // parameters of its answer to a Ping
}

// Bus answers a line's instructions from servos, in the order that they are given in.
// Spoil, where it isn't nil, does to each packet of a servo what a bad line does: nil is a
// packet that is lost.
type Bus struct {
	Codec  bus.Codec
	Servos []*Servo
	Spoil  func(packet []byte) []byte
}

// Answer is a Line's.
func (b *Bus) Answer(sent []byte) []Piece {
	i, _, err := b.Codec.ParseInstruction(sent)
	if err != nil {
		return nil
	}
	i.IDs, i.Data = bytes.Clone(i.IDs), bytes.Clone(i.Data)
	var out []Piece
	say := func(s *Servo, params []byte) {
		if s.Mute {
			return
		}
		p := b.Codec.AppendStatus(nil, bus.Status{ID: s.ID, Error: s.Error, Params: params})
		if b.Spoil != nil {
			p = b.Spoil(p)
		}
		if p != nil {
			out = append(out, Piece{s.Delay, p})
		}
	}
	if i.Op == bus.SyncRead || i.Op == bus.SyncWrite {
		for k, id := range i.IDs {
			for _, s := range b.Servos {
				switch {
				case s.ID != id:
				case i.Op == bus.SyncRead:
					say(s, s.Memory[i.Addr:int(i.Addr)+i.Count])
				default:
					copy(s.Memory[i.Addr:], i.Data[k*i.Count:(k+1)*i.Count])
				}
			}
		}
		return out
	}
	for _, s := range b.Servos {
		if s.ID != i.ID && i.ID != bus.Broadcast {
			continue
		}
		switch i.Op {
		case bus.Ping:
			say(s, s.Ping)
		case bus.Read:
			say(s, s.Memory[i.Addr:int(i.Addr)+i.Count])
		case bus.Write:
			copy(s.Memory[i.Addr:], i.Data)
			if i.ID != bus.Broadcast {
				say(s, nil)
			}
		case bus.Reboot:
			if b.Codec.AnswersReboot() {
				say(s, nil)
			}
		}
	}
	return out
}
