package porttest

import (
	"math/rand/v2"
	"time"
)

// Dir is a direction on the wire.
type Dir int

// The directions.
const (
	ToBoard Dir = iota
	ToHost
)

func (d Dir) String() string {
	if d == ToBoard {
		return "to board"
	}
	return "to host"
}

// Kind is what happens to a byte or a frame.
type Kind int

// The kinds of faults.
const (
	Drop      Kind = iota // it vanishes
	Duplicate             // it comes twice
	Garble                // a byte of it is another one
	Delay                 // it, and what is behind it, waits
	Split                 // it comes byte by byte, with a wait after each
	Freeze                // both directions stand still from here on
	Unplug                // the bridge's device goes away here; the unit itself is lost
	kinds
)

func (k Kind) String() string {
	switch k {
	case Drop:
		return "drop"
	case Duplicate:
		return "duplicate"
	case Garble:
		return "garble"
	case Delay:
		return "delay"
	case Split:
		return "split"
	case Freeze:
		return "freeze"
	case Unplug:
		return "unplug"
	}
	return "unknown fault"
}

// Unit is what a fault counts and happens to.
type Unit int

// The units. A zero byte alone is no frame; it passes.
const (
	Bytes Unit = iota
	Frames
)

// Always as a Fault's Count is from At on for ever.
const Always = -1

// Fault is something that goes wrong in one direction. Faults act in the order in which
// they were added, each on what the one before let through.
type Fault struct {
	Dir   Dir
	Kind  Kind
	Unit  Unit
	At    int // the first unit that it happens to, from 0, counted since it was added
	Count int // to how many; 0 counts as 1
	// Wait is the time of Delay and Split, and after which a Freeze thaws and an Unplug
	// is plugged in again; 0: on command.
	Wait time.Duration
}

// Random returns n faults for a stream of frames, the same for the same state of r: of
// every kind, at frames below within, each wait at most 50 ms and never for ever.
func Random(r *rand.Rand, n, within int) []Fault {
	out := make([]Fault, n)
	for i := range out {
		out[i] = Fault{
			Dir: Dir(r.IntN(2)), Kind: Kind(r.IntN(int(kinds))), Unit: Frames,
			At: r.IntN(within), Count: 1 + r.IntN(2),
			Wait: time.Duration(1+r.IntN(50)) * time.Millisecond,
		}
		if out[i].Kind == Split {
			out[i].Wait /= 20
		}
	}
	return out
}

// An op is what the proxy has to do next.
type op struct {
	kind opKind
	b    byte
	wait time.Duration
}

type opKind int

const (
	pass opKind = iota
	lose
	wait
	freeze
	unplug
)

// stage carries one fault out on a stream of bytes. It has no clock.
type stage struct {
	Fault
	rng   *rand.Rand
	fired chan struct{} // closed when it happened for the first time

	units  int  // begun so far
	inside bool // a frame
	whole  bool // the frame's beginning was seen
	hit    bool // the present unit is concerned
	done   bool // fired is closed
	held   []byte
}

// feed takes the next byte and appends what becomes of it to out.
func (s *stage) feed(b byte, out []op) []op {
	if s.Unit == Bytes {
		s.begin()
		return s.act(b, true, true, out)
	}
	first := !s.inside
	if first {
		if b == 0 {
			return append(out, op{kind: pass, b: b})
		}
		s.inside, s.whole = true, true
		s.begin()
	}
	last := b == 0
	if last {
		s.inside = false
	}
	if !s.whole {
		return append(out, op{kind: pass, b: b})
	}
	return s.act(b, first, last, out)
}

func (s *stage) begin() {
	i := s.units
	s.units++
	s.hit = i >= s.At && (s.Count == Always || i < s.At+max(s.Count, 1))
	if s.hit && !s.done {
		s.done = true
		close(s.fired)
	}
}

func (s *stage) act(b byte, first, last bool, out []op) []op {
	pb := op{kind: pass, b: b}
	if !s.hit {
		return append(out, pb)
	}
	switch s.Kind {
	case Drop:
		return append(out, op{kind: lose, b: b})
	case Duplicate:
		out = append(out, pb)
		s.held = append(s.held, b)
		if last {
			out = s.release(out)
		}
		return out
	case Garble:
		s.held = append(s.held, b)
		if !last {
			return out
		}
		s.held[s.rng.IntN(max(1, len(s.held)-1))] ^= byte(1 + s.rng.IntN(255))
		return s.release(out)
	case Split:
		return append(out, pb, op{kind: wait, wait: s.Wait})
	}
	if first {
		switch s.Kind {
		case Delay:
			out = append(out, op{kind: wait, wait: s.Wait})
		case Freeze:
			out = append(out, op{kind: freeze, wait: s.Wait})
		case Unplug:
			out = append(out, op{kind: unplug, wait: s.Wait})
		}
	}
	if s.Kind == Unplug {
		return append(out, op{kind: lose, b: b})
	}
	return append(out, pb)
}

func (s *stage) release(out []op) []op {
	for _, h := range s.held {
		out = append(out, op{kind: pass, b: h})
	}
	s.held = s.held[:0]
	return out
}

// line is the stages of one direction.
type line struct {
	stages []*stage
	inside bool // the stream itself is inside a frame
}

func (l *line) feed(b byte) []op {
	l.inside = b != 0
	ops := []op{{kind: pass, b: b}}
	for _, s := range l.stages {
		var next []op
		for _, o := range ops {
			if o.kind == pass {
				next = s.feed(o.b, next)
			} else {
				next = append(next, o)
			}
		}
		ops = next
	}
	return ops
}

// add appends a stage; a frame that is under way isn't counted.
func (l *line) add(f Fault, rng *rand.Rand) *stage {
	s := &stage{Fault: f, rng: rng, fired: make(chan struct{}), inside: l.inside}
	l.stages = append(l.stages, s)
	return s
}
