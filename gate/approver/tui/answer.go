package tui

import (
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/terminal"
)

// key is one key that doesn't act by itself.
func (m *model) key(k key) {
	m.hint = ""
	if k.saysYes {
		m.yesAt = k.at
	}
	if m.leaving {
		m.leaving = false
		if k.kind == keyRune && lower(k.r) == 'q' && !k.together {
			m.t.leave(gate.Void, ReasonClosed, nil)
			m.seen.closed = true
		}
		return
	}
	if m.question != nil && m.layout.fits && !m.allEvents && m.answered(k) {
		return
	}
	switch k.kind {
	case keyUp:
		m.scroll(-1)
	case keyDown:
		m.scroll(1)
	case keyPageUp:
		m.scroll(-m.page())
	case keyPageDown:
		m.scroll(m.page())
	case keyRune:
		switch lower(k.r) {
		case 'q':
			m.leaving = !k.together
		case 'v':
			m.allEvents, m.back = !m.allEvents, 0
		}
	}
}

// answered takes a key that is about the open card.
func (m *model) answered(k key) bool {
	switch k.kind {
	case keyEscape:
		m.no(k)
	case keyEnter:
		if m.onApprove {
			m.hint = m.t.o.Lang.TUIEnterNever()
		} else {
			m.no(k)
		}
	case keyTab, keyLeft, keyRight:
		m.onApprove, m.hint = !m.onApprove, ""
	case keyRune:
		switch lower(k.r) {
		case 'y', 'e':
			m.yes(k, gate.Word{Decision: gate.Approved})
		case '-':
			m.less(k, gate.Edit{SpeedScale: 0.5})
		case '<':
			m.less(k, gate.Edit{Fraction: 0.5})
		case 'n', 'h':
			m.no(k)
		case ' ':
			if m.onApprove {
				m.yes(k, gate.Word{Decision: gate.Approved})
			} else {
				m.no(k)
			}
		default:
			return false
		}
	default:
		return false
	}
	return true
}

// less asks for the same thing slower or shorter, where that can be asked for. It
// approves nothing, and still counts only where a yes would.
func (m *model) less(k key, e gate.Edit) {
	if m.question.req.Editable {
		m.yes(k, gate.Word{Decision: gate.Edited, Edit: e})
	}
}

// yes says a word that isn't a no, if it comes from a key that counts.
func (m *model) yes(k key, w gate.Word) {
	l := m.t.o.Lang
	var why string
	switch q := m.question; {
	case k.pasted:
		why = l.TUIPasted()
	case k.together:
		why = l.TUITogether()
	case k.again:
		why = l.TUIAgain(letGo.Seconds())
	case !m.endVisible():
		why = l.TUINotEnd()
	case !m.arm.armed(k.at):
		why = l.TUITooEarly()
	case !q.req.Expiry.IsZero() && !k.at.Before(q.req.Expiry):
		why = l.TUIExpired()
	case !m.t.sized(m.w, m.h):
		why = l.TUIResized()
	default:
		w.Reason = terminal.ReasonAnswered
		m.t.board.answer(q, w)
		return
	}
	m.hint = l.TUINotCounted(why)
}

// no refuses, once the card has been there to be seen.
func (m *model) no(k key) {
	switch {
	case k.pasted:
		m.hint = m.t.o.Lang.TUINotCounted(m.t.o.Lang.TUIPasted())
	case k.together:
		m.hint = m.t.o.Lang.TUINotCounted(m.t.o.Lang.TUITogether())
	case m.laidAt.IsZero() || k.at.Before(m.laidAt):
	default:
		m.t.board.answer(m.question, gate.Word{Decision: gate.Rejected, Reason: terminal.ReasonAnswered})
	}
}

// scroll moves what is on the screen by rows: the card, or else the events.
func (m *model) scroll(by int) {
	if m.question != nil && !m.allEvents {
		m.top += by
		m.hint = ""
		m.top = min(max(0, m.top), max(0, len(m.rows)-m.layout.body))
		return
	}
	m.back = min(max(0, m.back-by), m.t.board.count())
}

// page is how far a page moves: never over a row that wasn't shown.
func (m *model) page() int {
	if m.question != nil && !m.allEvents {
		return max(1, m.layout.body-1)
	}
	if m.allEvents {
		return max(1, m.h-4)
	}
	return max(1, m.layout.events-1)
}

func lower(r rune) rune {
	if r >= 'A' && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}
