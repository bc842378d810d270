package porttest

import (
	"context"
	"slices"
	"time"
)

// What is a thing that the proxy notes.
type What int

// What a proxy notes.
const (
	Received  What = iota // bytes came in
	Passed                // bytes went on, at the time at which the first of them did
	Lost                  // bytes never arrive
	Frozen                // the direction stands still
	Thawed                // it goes on
	Unplugged             // the bridge's device is gone
	Plugged               // it is there
	BoardGone             // the board's terminal is gone
	Failed                // the proxy itself failed; Bytes is its error
)

func (w What) String() string {
	names := [...]string{"received", "passed", "lost", "frozen", "thawed", "unplugged", "plugged", "board gone", "failed"}
	if w < 0 || int(w) >= len(names) {
		return "unknown"
	}
	return names[w]
}

// Event is a thing that happened.
type Event struct {
	At    time.Duration // since the proxy's start
	Dir   Dir
	What  What
	Bytes []byte // don't change them
}

// Log returns what happened so far, in its order.
func (p *Proxy) Log() []Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.log)
}

// Bytes returns all bytes of one direction that were received, passed or lost.
func (p *Proxy) Bytes(d Dir, w What) []byte {
	var out []byte
	for _, e := range p.Log() {
		if e.Dir == d && e.What == w {
			out = append(out, e.Bytes...)
		}
	}
	return out
}

// Await waits until the log has an event that matches, and returns the first; false
// when ctx or the proxy ends.
func (p *Proxy) Await(ctx context.Context, match func(Event) bool) (Event, bool) {
	var found Event
	seen := 0
	ok := p.until(ctx, func() (bool, time.Time) {
		for ; seen < len(p.log); seen++ {
			if match(p.log[seen]) {
				found = p.log[seen]
				return true, time.Time{}
			}
		}
		return false, time.Time{}
	})
	return found, ok
}

// note appends to the log; p.mu is held.
func (p *Proxy) note(d Dir, w What, b []byte) { p.noteAt(time.Now(), d, w, b) }

func (p *Proxy) noteAt(at time.Time, d Dir, w What, b []byte) {
	p.log = append(p.log, Event{At: at.Sub(p.start), Dir: d, What: w, Bytes: slices.Clone(b)})
}
