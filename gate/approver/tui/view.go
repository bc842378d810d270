package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/tau-robot/tau/gate"
)

// What a screen needs at least to show a card.
const (
	minWide = 50
	minHigh = 10
)

// layout says which row of the screen is what.
type layout struct {
	fits   bool
	list   int // rows of waiting requests
	body   int // rows of the card
	events int // rows of events, 0 for none; its heading not counted
}

// plan divides the screen. Fixed rows are the state, the card's heading, the buttons
// and the keys.
func plan(w, h, waiting int) layout {
	if w < minWide || h < minHigh {
		return layout{}
	}
	l := layout{fits: true}
	free := h - 4
	l.list = min(waiting, 3, free/6)
	free -= l.list
	if free >= 12 {
		l.events = min(max(3, free/4), 10)
		free -= l.events + 1
	}
	l.body = free
	return l
}

// cardRows lays the card's text out for a width.
func (m *model) cardRows(q *question, w int) []string {
	var rows []string
	for _, line := range q.lines {
		for i, r := range wrap(line.Label+": "+line.Text, w-4) {
			switch lead := "  | "; {
			case i > 0:
				rows = append(rows, lead+r)
			case width(line.Label)+2 <= w-4 && strings.HasPrefix(r, line.Label+":"):
				rows = append(rows, "  "+bold(line.Label)+r[len(line.Label):])
			default:
				rows = append(rows, "  "+r)
			}
		}
	}
	for _, n := range m.seen.notices { // at the end, where it is sure to be read
		for i, r := range wrap(n, w-4) {
			lead := "  ! "
			if i > 0 {
				lead = "  | "
			}
			rows = append(rows, lead+r)
		}
	}
	for _, r := range q.drawn.rows(m.t.o.Lang, m.t.o.ASCII, w-4) {
		rows = append(rows, "    "+r)
	}
	return rows
}

// screen draws the whole screen: exactly h rows of at most w columns.
func (m *model) screen() []string {
	l, p := m.t.o.Lang, m.layout
	switch {
	case m.w < 1 || m.h < 1:
		return nil
	case !p.fits:
		rows := []string{clip(l.TUIStops(), m.w)}
		for _, r := range []string{m.stateLine(), l.TUISmall(minWide, minHigh)} {
			rows = append(rows, wrap(r, max(1, m.w))...)
		}
		return rows[:min(len(rows), m.h)]
	case m.allEvents:
		rows := []string{reverse(pad(clip(m.stateLine(), m.w), m.w))}
		return append(append(rows, m.eventRows(m.h-2)...), m.keysRow(l.TUIKeysEvents()))
	}
	rows := append([]string{reverse(pad(clip(m.stateLine(), m.w), m.w))}, m.listRows(p.list)...)
	if q := m.question; q != nil {
		rows = append(rows, m.cardHead(q))
		end := min(m.top+p.body, len(m.rows))
		rows = append(rows, m.rows[m.top:end]...)
		for range p.body - (end - m.top) {
			rows = append(rows, "")
		}
		rows = append(rows, m.buttons(q))
	} else {
		rows = append(rows, "", "  "+clip(l.TUINothing(), m.w-2))
		for range p.body {
			rows = append(rows, "")
		}
	}
	if p.events > 0 {
		rows = append(rows, m.eventRows(p.events+1)...)
	}
	return append(rows, m.keysRow(l.TUIKeys()))
}

// stateLine says what the robot is at.
func (m *model) stateLine() string {
	l := m.t.o.Lang
	parts := []string{"tau", gate.Escape(m.t.o.Robot)}
	if m.t.o.Mode == gate.ModeSim {
		parts = append(parts, l.TUISimulated())
	} else {
		parts = append(parts, l.TUIReal())
	}
	switch s := m.seen.state; {
	case m.seen.running != nil && s.Moving:
		r := m.seen.running
		parts = append(parts, l.TUIMoving()+" "+l.TUIMotion(r.tool, r.t, r.duration))
	case !s.Known:
		parts = append(parts, l.TUIStateUnknown())
	case s.Moving:
		parts = append(parts, l.TUIMoving())
	default:
		parts = append(parts, l.TUIAtRest())
	}
	if m.seen.state.EStopped {
		parts = append(parts, l.TUIEStopped())
	}
	return strings.Join(parts, " - ")
}

// listRows lists what waits behind the open request.
func (m *model) listRows(n int) []string {
	if n == 0 {
		return nil
	}
	l := m.t.o.Lang
	waiting := m.waiting()
	var rows []string
	for i, r := range waiting {
		if i == n-1 && len(waiting) > n {
			rows = append(rows, clip("  "+l.TUIWaits(len(waiting)-i), m.w))
			break
		}
		q := r.Request
		rows = append(rows, clip(fmt.Sprintf("  %s: %s (%s, %s), %s", l.TUIWaiting(), gate.Escape(q.Tool),
			gate.Escape(q.Session.Name), gate.Escape(q.Principal), m.expiry(q.Expiry)), m.w))
	}
	return rows
}

// cardHead is the card's first line, which says how much of it is shown.
func (m *model) cardHead(q *question) string {
	l := m.t.o.Lang
	end := min(m.top+m.layout.body, len(m.rows))
	text := l.CardNeeded(q.req.Tier.Number()) + " - " + l.TUIRows(m.top+1, end, len(m.rows))
	switch {
	case end < len(m.rows):
		text += " - " + l.TUIMore()
	case m.arm.step >= armWaits: // not before: what comes with it makes the renderer write
		text += " - " + l.TUIEnd()
	}
	return bold(clip(text, m.w))
}

// buttons is the row below the card.
func (m *model) buttons(q *question) string {
	l := m.t.o.Lang
	reject, approve := " [ "+l.TUIReject()+" ] ", " [ "+l.TUIApprove()+" ] "
	if m.onApprove {
		approve = ">[ " + l.TUIApprove() + " ]<"
	} else {
		reject = ">[ " + l.TUIReject() + " ]<"
	}
	var hint string
	switch {
	case !m.endVisible():
		hint = l.TUIScroll()
	case !m.arm.armed(m.now) || m.held() > 0:
		hint = l.TUIArming()
	case q.req.Editable:
		hint = l.TUIReadyEdit()
	default:
		hint = l.TUIReady()
	}
	row := reject + " " + approve + "  " + m.expiry(q.req.Expiry) + "  " + hint
	if width(row) > m.w { // the hint matters more than the time
		row = reject + " " + approve + "  " + hint
	}
	return clip(row, m.w)
}

// expiry says how long a request still stands.
func (m *model) expiry(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	left := at.Sub(m.now)
	if left <= 0 {
		return m.t.o.Lang.TUIExpired()
	}
	s := int((left + time.Second - 1) / time.Second)
	return m.t.o.Lang.TUIExpiresIn(fmt.Sprintf("%d:%02d", s/60, s%60))
}

// eventRows is the events' heading and n-1 rows of them, the newest last.
func (m *model) eventRows(n int) []string {
	l := m.t.o.Lang
	lines, before := m.t.board.lines(n-1, m.back)
	head := "-- " + l.TUIEvents() + " "
	if before > 0 {
		head += "(" + l.TUIBefore(before) + ") "
	}
	rows := []string{faint(clip(head, m.w))}
	if len(lines) == 0 {
		lines = []string{l.TUINoEvents()}
	}
	if m.allEvents { // in full, as many of the last as there is room for
		var all []string
		for _, line := range lines {
			for i, r := range wrap(line, m.w-4) {
				lead := "  "
				if i > 0 {
					lead = "  | "
				}
				all = append(all, lead+r)
			}
		}
		rows = append(rows, all[max(0, len(all)-(n-1)):]...)
	} else {
		for _, line := range lines {
			rows = append(rows, clip("  "+line, m.w))
		}
	}
	for len(rows) < n {
		rows = append(rows, "")
	}
	return rows[:n]
}

// keysRow lists the keys, or the stops and what there is to say about the last one.
func (m *model) keysRow(keys string) string {
	switch l := m.t.o.Lang; {
	case m.leaving:
		keys = l.TUIStops() + "  " + l.TUILeave()
	case m.hint != "":
		keys = l.TUIStops() + "  " + m.hint
	}
	return reverse(pad(clip(keys, m.w), m.w))
}

// No colour says anything: these are all the attributes there are.
func bold(s string) string    { return "\x1b[1m" + s + "\x1b[22m" }
func faint(s string) string   { return "\x1b[2m" + s + "\x1b[22m" }
func reverse(s string) string { return "\x1b[7m" + s + "\x1b[27m" }
