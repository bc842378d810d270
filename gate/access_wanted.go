package gate

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// wanted remembers what calls were refused for want of, so that a request for access
// that names nothing asks for that (G48). It is forgotten when a turn ends, and when
// it is asked for.
type wanted struct {
	quiet time.Duration // how long a turn without a name lasts after its last call

	mu   sync.Mutex
	keys []wantKey // those with values, the oldest first
	by   map[wantKey]want
}

type wantKey struct{ session, principal string }

type want struct {
	turn   string    // the front end's name of it; "" ends by itself
	last   time.Time // when a call of it ended
	values []string
}

// maxWanted is of how many sessions and principals something is remembered.
const maxWanted = 256

// add remembers a value of a turn; the oldest goes when there are too many.
func (w *wanted) add(session, principal, turn, value string, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := wantKey{session, principal}
	was, ok := w.by[k]
	if ok && w.over(was, now) {
		was = want{turn: turn}
	}
	if !ok {
		if w.by == nil {
			w.by = map[wantKey]want{}
		}
		if len(w.keys) == maxWanted {
			delete(w.by, w.keys[0])
			w.keys = w.keys[1:]
		}
		w.keys = append(w.keys, k)
	}
	if was.turn != turn {
		was = want{turn: turn}
	}
	was.last = now
	if !slices.Contains(was.values, value) {
		if len(was.values) == maxAccess {
			was.values = was.values[1:]
		}
		was.values = append(slices.Clone(was.values), value)
	}
	w.by[k] = was
}

// went says that a call has ended, which keeps a turn without a name from ending.
func (w *wanted) went(session, principal string, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if was, ok := w.by[wantKey{session, principal}]; ok && !w.over(was, now) {
		was.last = now
		w.by[wantKey{session, principal}] = was
	}
}

// over: a turn that nobody gave a name ends when nothing has happened for a while.
func (w *wanted) over(v want, now time.Time) bool {
	return v.turn == "" && now.Sub(v.last) >= w.quiet
}

// of returns what is remembered of this turn, the oldest first.
func (w *wanted) of(session, principal, turn string, now time.Time) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	got := w.by[wantKey{session, principal}]
	if got.turn != turn || w.over(got, now) {
		return nil
	}
	return slices.Clone(got.values)
}

// forget forgets what is remembered.
func (w *wanted) forget(session, principal string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := wantKey{session, principal}
	if _, ok := w.by[k]; ok {
		delete(w.by, k)
		w.keys = slices.DeleteFunc(w.keys, func(o wantKey) bool { return o == k })
	}
}

// accessEnded is what the end of a call means for requests for access. What would have
// permitted a call that was refused is remembered; a request for access that was asked
// has asked for all of it, and one that was refused leaves nothing granted.
func (g *Gate) accessEnded(c *call, a Answer) {
	if g.cfg.Grants == nil || c.session.Name == "" {
		return
	}
	session, principal := c.session.Name, c.inv.Principal
	g.wanted.went(session, principal, g.cfg.Now())
	if c.inv.Tool == toolAccess {
		if c.digest != ([32]byte{}) {
			g.wanted.forget(session, principal)
		}
		if a.Approval == ApprovalRejected {
			g.denied(c.inv.Tool, c.id)
		}
		return
	}
	var e *Error
	if a.Status == StatusRefused && errors.As(c.cause, &e) && e.Access != "" {
		g.wanted.add(session, principal, c.inv.Turn, e.Access, g.cfg.Now())
	}
}

// turnNameOf returns the turn of a physical call in flight.
func (g *Gate) turnNameOf(callID string) string {
	if c := g.book.get(callID, g.cfg.Now()); c != nil {
		return c.inv.Turn
	}
	return ""
}
