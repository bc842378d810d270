package tui

import (
	"slices"
	"sync"
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/card"
)

const (
	keysAhead  = 256  // keys that wait for the screen at most; a screen that is stuck gets no more
	eventsKept = 2000 // that can be scrolled through; older ones are in the log
)

// question is the one that is asked.
type question struct {
	number uint64 // counts questions, so that what is known of one is never taken for another's
	req    gate.Request
	lines  []card.Line
	drawn  *rehearsal // nil: nothing to draw
	word   chan gate.Word
	said   bool
	// notices, of which there may be more with time; the slice is replaced, never changed
	notices []string
}

// State is what is known of the robot.
type State struct {
	Known    bool // false: it couldn't be read
	Moving   bool
	EStopped bool
}

// motion is where a motion is.
type motion struct {
	call, tool  string
	t, duration float64
}

// board is what the screen shows and what was typed. Whoever puts something on it
// never waits for the screen.
type board struct {
	wake   chan struct{} // holds one: there is something new
	relist chan struct{} // holds one: the requests may be others

	mu       sync.Mutex
	question *question
	numbers  uint64
	closed   bool
	err      error // how it was left
	keys     []key
	records  []gate.Record
	state    State
	running  *motion
	events   history
	written  uint64 // the write that was waited for, once it is done
	at       time.Time
	redraw   bool
}

func newBoard() *board {
	return &board{wake: make(chan struct{}, 1), relist: make(chan struct{}, 1)}
}

// refresh has the list of requests read again.
func (b *board) refresh() {
	select {
	case b.relist <- struct{}{}:
	default:
	}
}

// poke makes the screen look.
func (b *board) poke() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// change changes the board and makes the screen look.
func (b *board) change(f func()) {
	b.mu.Lock()
	f()
	b.mu.Unlock()
	b.poke()
}

// put makes a request the one that is asked; nil: the screen was left.
func (b *board) put(q *question) bool {
	b.mu.Lock()
	defer b.poke()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.numbers++
	q.number = b.numbers
	b.question = q
	return true
}

// take takes a question away.
func (b *board) take(q *question) {
	b.change(func() {
		q.said = true
		if b.question == q {
			b.question = nil
		}
	})
}

// answer gives a question its word, unless it has one or is over.
func (b *board) answer(q *question, w gate.Word) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answerLocked(q, w)
}

func (b *board) answerLocked(q *question, w gate.Word) {
	if q == nil || q.said || b.question != q {
		return
	}
	q.said = true
	q.word <- w // has room for the one
}

// refuse answers the open question, if there is one, with what isn't a yes.
func (b *board) refuse(d gate.Decision, why gate.Reason) {
	if d == gate.Approved {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answerLocked(b.question, gate.Word{Decision: d, Reason: why})
}

// close takes no more questions and refuses the open one. The first close says how
// the screen was left.
func (b *board) close(d gate.Decision, why gate.Reason, err error) {
	b.mu.Lock()
	if !b.closed {
		b.closed, b.err = true, err
	}
	b.mu.Unlock()
	b.refuse(d, why)
	b.poke()
}

// pressed takes keys for the screen.
func (b *board) pressed(ks []key) {
	b.change(func() {
		if room := keysAhead - len(b.keys); len(ks) > room {
			ks = ks[:room]
		}
		b.keys = append(b.keys, ks...)
	})
}

// view is what the screen takes from the board: a copy, but for the question, of which
// only said and notices change.
type view struct {
	question *question
	notices  []string // of the question
	keys     []key
	records  []gate.Record
	state    State
	running  *motion
	written  uint64
	at       time.Time
	redraw   bool
	closed   bool
}

func (b *board) look() view {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := view{
		question: b.question, keys: b.keys, records: b.records, state: b.state, running: b.running,
		written: b.written, at: b.at, redraw: b.redraw, closed: b.closed,
	}
	if b.question != nil {
		v.notices = b.question.notices
	}
	b.keys, b.redraw = nil, false
	return v
}

// lines gives what the events pane shows: up to n lines, the last of which is back
// lines from the newest, and how many there were before them.
func (b *board) lines(n, back int) (lines []string, more int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines, more = b.events.page(n, back)
	return lines, more + b.events.gone
}

// count is how many lines of events can be scrolled through.
func (b *board) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.events.lines)
}

// history is what has happened, oldest first, as lines.
type history struct {
	lines  []string
	gone   int    // lines that there was no room for
	last   string // what the last line says without its count, to fold equal ones
	count  int
	early  []gate.Event // came before the earlier ones were there
	primed bool
}

// add adds a line; fold says that it may be counted with an equal one before it.
func (h *history) add(line string, fold string, times func(n int) string) {
	if fold != "" && fold == h.last && len(h.lines) > 0 {
		h.count++
		h.lines[len(h.lines)-1] = times(h.count)
		return
	}
	h.last, h.count = fold, 1
	h.lines = append(h.lines, line)
	if over := len(h.lines) - eventsKept; over > eventsKept/10 {
		h.lines = slices.Clone(h.lines[over:])
		h.gone += over
	}
}

func (h *history) page(n, back int) ([]string, int) {
	back = min(back, max(0, len(h.lines)-n))
	end := len(h.lines) - back
	from := max(0, end-n)
	return slices.Clone(h.lines[from:end]), from
}
