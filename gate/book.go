package gate

import (
	"sync"
	"time"
)

// book knows the physical calls: those in flight, to be stopped, cancelled and
// counted, and those that have ended, to be asked for. Ended ones are dropped by
// age and number, oldest first.
type book struct {
	keep time.Duration

	mu    sync.Mutex
	calls map[string]*call
	live  map[*call]struct{}
	open  map[string]int // calls of a session that haven't been decided yet
	ended []endedCall
}

type endedCall struct {
	id string
	at time.Time
}

func (b *book) init(keep time.Duration) {
	b.keep = keep
	b.calls, b.live, b.open = map[string]*call{}, map[*call]struct{}{}, map[string]int{}
}

// adopt enters a call of an earlier process, which was counted when it came.
func (b *book) adopt(c *call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[c.session.Name]++
	b.calls[c.id] = c
	b.live[c] = struct{}{}
	c.booked, c.undecided = true, true
}

// add enters a call, unless its id is taken: then it returns the earlier one.
func (b *book) add(c *call, maxOpen int) (earlier *call, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if old := b.calls[c.id]; old != nil {
		return old, nil
	}
	if n := b.open[c.session.Name]; n >= maxOpen {
		return nil, &Error{
			Code: CodeRateLimited, Where: "session " + c.session.Name, Text: "too many open questions; it was not run",
			Value: &Quantity{Value: float64(n + 1)}, Limit: &Quantity{Value: float64(maxOpen)},
		}
	}
	b.open[c.session.Name]++
	b.calls[c.id] = c
	b.live[c] = struct{}{}
	return nil, nil
}

// alias makes a call known by another id, too: of the request that stands in the place
// of its own.
func (b *book) alias(c *call, id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls[id] = c
	c.aliases = append(c.aliases, id)
}

// decided takes a call out of the count of open questions.
func (b *book) decided(session string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open[session]--; b.open[session] <= 0 {
		delete(b.open, session)
	}
}

// leave moves a call from those in flight to those that can be asked for.
func (b *book) leave(c *call, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.live, c)
	b.ended = append(b.ended, endedCall{c.id, now})
	for _, id := range c.aliases {
		b.ended = append(b.ended, endedCall{id, now})
	}
	n := max(len(b.ended)-maxKept, 0)
	for n < len(b.ended) && Expired(now, b.ended[n].at.Add(b.keep)) {
		n++
	}
	for _, e := range b.ended[:n] {
		delete(b.calls, e.id)
	}
	b.ended = append(b.ended[:0], b.ended[n:]...)
}

func (b *book) get(id string, now time.Time) *call {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.ended) > 0 && Expired(now, b.ended[0].at.Add(b.keep)) {
		delete(b.calls, b.ended[0].id)
		b.ended = b.ended[1:]
	}
	return b.calls[id]
}

// cancelAll ends every call in flight with err and returns how many there were.
func (b *book) cancelAll(err error) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.live {
		c.cancel(err)
	}
	return len(b.live)
}

// counts returns a session's undecided calls, and all its calls in flight.
func (b *book) counts(session string) (open, inFlight int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.live {
		if c.inv.Session == session {
			inFlight++
		}
	}
	return b.open[session], inFlight
}

// fatigue remembers what a person has just refused (G33).
type fatigue struct {
	mu      sync.Mutex
	refused map[fatigueKey]time.Time
}

type fatigueKey struct{ session, tool, args string }

func keyOf(c *call) fatigueKey { return fatigueKey{c.session.Name, c.inv.Tool, string(c.args)} }

func (f *fatigue) add(k fatigueKey, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refused == nil {
		f.refused = map[fatigueKey]time.Time{}
	}
	for old, at := range f.refused {
		if Expired(now, at.Add(refusedFor)) {
			delete(f.refused, old)
		}
	}
	f.refused[k] = now
}

// recent says how long ago the call was refused, if that is less than refusedFor.
func (f *fatigue) recent(k fatigueKey, now time.Time) (ago time.Duration, yes bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, ok := f.refused[k]
	if !ok || Expired(now, at.Add(refusedFor)) {
		return 0, false
	}
	return now.Sub(at), true
}
