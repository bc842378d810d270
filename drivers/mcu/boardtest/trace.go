package boardtest

import (
	"slices"
	"sync"
	"time"
)

// A Mark is a place in the trace: the number of events before it.
type Mark int

// A Trace is everything that a bench has said. It grows while tests read it; all
// methods may be called at once, and what they return is the caller's.
type Trace struct {
	mu     sync.Mutex
	events []Event
	more   chan struct{} // closed and replaced at each growth
	ended  bool          // nothing comes any more
}

func newTrace() *Trace { return &Trace{more: make(chan struct{})} }

func (tr *Trace) add(e Event) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.events = append(tr.events, e)
	close(tr.more)
	tr.more = make(chan struct{})
}

func (tr *Trace) end() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.ended = true
	close(tr.more)
	tr.more = make(chan struct{})
}

// find returns the first event from a mark on that cond is true of, and the mark after
// it. Without one it returns what is closed when there is more to look at, nil if
// nothing comes any more.
func (tr *Trace) find(from Mark, cond func(Event) bool) (e Event, after Mark, more <-chan struct{}, found bool) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for i := int(from); i < len(tr.events); i++ {
		if cond(tr.events[i]) {
			return tr.events[i], Mark(i + 1), nil, true
		}
	}
	if tr.ended {
		return Event{}, Mark(len(tr.events)), nil, false
	}
	return Event{}, Mark(len(tr.events)), tr.more, false
}

// Mark returns the trace's present end.
func (tr *Trace) Mark() Mark {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return Mark(len(tr.events))
}

// Since returns the events from a mark on; Since(0) is all.
func (tr *Trace) Since(from Mark) []Event {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return slices.Clone(tr.events[min(int(from), len(tr.events)):])
}

// Now is the time of the last event.
func (tr *Trace) Now() time.Duration {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if len(tr.events) == 0 {
		return 0
	}
	return tr.events[len(tr.events)-1].At
}

// Of returns the events of a kind from a mark on whose first words are numbers.
func (tr *Trace) Of(from Mark, kind string, numbers ...int64) []Event {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	var of []Event
	for _, e := range tr.events[min(int(from), len(tr.events)):] {
		if e.Is(kind, numbers...) {
			of = append(of, e)
		}
	}
	return of
}

// A Pulse is one pulse on a servo's pin.
type Pulse struct {
	At    time.Duration // of its end
	Width time.Duration
}

// Pulses returns the pulses of a servo joint from a mark on, in order.
func (tr *Trace) Pulses(joint int, from Mark) []Pulse {
	events := tr.Of(from, "servo", int64(joint))
	pulses := make([]Pulse, len(events))
	for i, e := range events {
		pulses[i] = Pulse{At: e.At, Width: time.Duration(e.Int(1))}
	}
	return pulses
}

// last returns the second number of the last event of a kind about one thing at or
// before a time.
func (tr *Trace) last(kind string, index int, at time.Duration) (int64, bool) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for i := len(tr.events) - 1; i >= 0; i-- {
		if e := tr.events[i]; e.At <= at && e.Is(kind, int64(index)) {
			return e.Int(1), true
		}
	}
	return 0, false
}

// PulseAt is the width of the last pulse of a servo joint that ended by then. It is
// false if there was none.
func (tr *Trace) PulseAt(joint int, at time.Duration) (time.Duration, bool) {
	w, ok := tr.last("servo", joint, at)
	return time.Duration(w), ok
}

// StepsAt is how many steps a stepper's driver had taken by then, to the ms.
func (tr *Trace) StepsAt(joint int, at time.Duration) int64 {
	n, _ := tr.last("steps", joint, at)
	return n
}

// OutputAt is an output's value then, 0 before the board's first word about it.
func (tr *Trace) OutputAt(output int, at time.Duration) int64 {
	v, _ := tr.last("output", output, at)
	return v
}

// Slipped is how long the bench's clock has stood still in all because the machine
// couldn't keep up.
func (tr *Trace) Slipped() time.Duration {
	var sum time.Duration
	for _, e := range tr.Of(0, "slip") {
		sum += time.Duration(e.Int(0))
	}
	return sum
}
