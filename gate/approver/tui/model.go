package tui

import (
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/terminal"
)

// wakeMsg says that there is something new on the board, or that time has passed.
type wakeMsg struct{}

// model is the screen. Only bubbletea's loop touches it.
type model struct {
	t      *TUI
	now    time.Time
	w, h   int
	seen   view
	layout layout

	question  *question // whose rows these are
	rows      []string
	rowsWide  int
	noticed   int // notices among the rows
	top       int // first row of the card on the screen
	laidAt    time.Time
	arm       arming
	yesAt     time.Time // when a key that says yes came last
	onApprove bool      // the focus
	hint      string    // why the last key wasn't an answer

	allEvents bool
	back      int // lines of events scrolled back
	leaving   bool
	failed    bool
}

func (m *model) Init() tea.Cmd { return nil }

// Update takes everything new and lays the next frame out.
func (m *model) Update(msg tea.Msg) (next tea.Model, cmd tea.Cmd) {
	defer func() {
		if p := recover(); p != nil {
			m.fail(p)
			next, cmd = m, tea.Quit
		}
	}()
	m.now = m.t.o.Now()
	if size, ok := msg.(tea.WindowSizeMsg); ok {
		if size.Width != m.w || size.Height != m.h {
			m.w, m.h = size.Width, size.Height
			m.hint = ""
		}
		m.arm = arming{} // what was on the screen may have moved
	}
	m.seen = m.t.board.look()
	if m.seen.redraw {
		m.arm = arming{}
		cmd = tea.ClearScreen
	}
	m.arrange()
	m.follow()
	visible, at := m.endVisible(), m.place()
	for _, k := range m.seen.keys {
		m.key(k)
	}
	m.arrange()
	if m.endVisible() != visible || m.place() != at {
		m.t.board.poke() // to be followed once this frame is laid out
	}
	if m.seen.closed || m.t.pausing() {
		return m, tea.Quit
	}
	m.t.timer(m.next())
	return m, cmd
}

// fail ends a screen that failed inside: whatever is open is refused.
func (m *model) fail(p any) {
	m.failed = true
	m.t.o.Log.Error("the screen failed inside", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	m.t.leave(gate.Void, terminal.ReasonNotShown, fmt.Errorf("the screen failed inside: %v", p))
}

// arrange brings the layout in line with what there is to show.
func (m *model) arrange() {
	q := m.seen.question
	if q != m.question {
		m.question, m.rows, m.rowsWide = q, nil, 0
		m.top, m.onApprove, m.hint, m.laidAt = 0, false, "", time.Time{}
		m.arm = arming{}
		if q != nil { // it is to be seen, whatever was on the screen
			m.allEvents, m.leaving = false, false
		}
	}
	m.layout = plan(m.w, m.h, len(m.waiting()))
	if q == nil || !m.layout.fits {
		return
	}
	if m.rowsWide != m.w || m.noticed != len(m.seen.notices) {
		part := 0.0 // stay where the reader was
		if len(m.rows) > 0 {
			part = float64(m.top) / float64(len(m.rows))
		}
		m.rows, m.rowsWide, m.noticed = m.cardRows(q, m.w), m.w, len(m.seen.notices)
		m.top = int(part * float64(len(m.rows)))
	}
	m.top = min(max(0, m.top), max(0, len(m.rows)-m.layout.body))
}

// endVisible reports whether the card's end is in the frame.
func (m *model) endVisible() bool {
	return m.question != nil && m.layout.fits && !m.allEvents && m.top+m.layout.body >= len(m.rows)
}

// place is where the card is on the screen.
func (m *model) place() place {
	p := place{notices: m.noticed, w: m.w, h: m.h, top: m.top, rows: len(m.rows), from: m.layout.list, upTo: m.layout.body}
	if m.question != nil {
		p.question = m.question.number
	}
	return p
}

// follow follows the card's end to the terminal.
func (m *model) follow() {
	if m.question != nil && m.laidAt.IsZero() && m.layout.fits && !m.allEvents {
		m.laidAt = m.now
	}
	before := m.arm.step
	if m.arm.look(m.endVisible(), m.place(), m.seen.written, m.seen.at, m.t.await) {
		m.t.board.poke()
	}
	if before == armShown && m.arm.step != armShown {
		m.onApprove = false
	}
}

// next is how long nothing changes by itself; 0: for as long as nothing comes.
func (m *model) next() time.Duration {
	if m.question == nil && len(m.seen.records) == 0 {
		return 0
	}
	d := time.Second - time.Duration(m.now.Nanosecond())%time.Second
	for _, left := range []time.Duration{m.arm.left(m.now), m.held()} {
		if left > 0 {
			d = min(d, left)
		}
	}
	return d
}

// held is how long a key that says yes still counts as held down; 0: it doesn't.
func (m *model) held() time.Duration {
	if m.yesAt.IsZero() {
		return 0
	}
	return max(0, letGo-m.now.Sub(m.yesAt))
}

// waiting are the requests behind the open one.
func (m *model) waiting() []gate.Record {
	var out []gate.Record
	for _, r := range m.seen.records {
		if m.seen.question == nil || r.Request.CallID != m.seen.question.req.CallID {
			out = append(out, r)
		}
	}
	return out
}

// View is called after each Update.
func (m *model) View() (v tea.View) {
	defer func() {
		if p := recover(); p != nil {
			m.fail(p)
			v = tea.View{AltScreen: true}
		}
	}()
	if !m.failed {
		v.SetContent(strings.Join(m.screen(), "\n"))
	}
	v.AltScreen = true
	return v
}
