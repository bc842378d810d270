package tui

import (
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/terminal"
)

// Event takes what was recorded, or couldn't be. It never blocks.
func (t *TUI) Event(e gate.Event) {
	if e.Tier == nil || *e.Tier == gate.TierPhysical.Number() {
		t.board.refresh()
	}
	t.board.change(func() {
		if h := &t.board.events; !h.primed {
			h.early = append(h.early, e)
			return
		}
		t.addEvent(e)
	})
}

// addEvent adds an event's line. The board is held.
func (t *TUI) addEvent(e gate.Event) {
	line, fold := t.line(e)
	at := stamp(e.Time)
	t.board.events.add(at+line, fold, func(n int) string { return at + t.o.Lang.TUITimes(line, n) })
	if r := t.board.running; r != nil && e.Type == "tool_call" && e.CallID == r.call {
		t.board.running = nil
	}
}

// prime shows the earlier events before those that have come meanwhile, each once: an
// event is in the log before it is told.
func (t *TUI) prime(earlier []gate.Event) {
	type id struct {
		kind, call, decision, text string
		at                         int64
	}
	of := func(e gate.Event) id { return id{e.Type, e.CallID, e.Decision, e.Text, e.Time.UnixNano()} }
	t.board.change(func() {
		h := &t.board.events
		told := h.lines // our own
		h.lines, h.primed, h.last = nil, true, ""
		seen := map[id]bool{}
		early := h.early
		h.early = nil
		if over := len(earlier) - eventsKept; over > 0 {
			h.gone, earlier = over, earlier[over:]
		}
		for _, e := range earlier {
			seen[of(e)] = true
			t.addEvent(e)
		}
		for _, e := range early {
			if !seen[of(e)] {
				t.addEvent(e)
			}
		}
		h.lines, h.last = append(h.lines, told...), ""
	})
}

// Motion takes where a motion is, in s of motion time. It never blocks.
func (t *TUI) Motion(of gate.Running, at, duration float64) {
	t.board.change(func() {
		t.board.running = &motion{call: of.CallID, tool: gate.Escape(of.Tool), t: at, duration: duration}
		t.board.state = State{Known: true, Moving: true, EStopped: t.board.state.EStopped}
	})
}

// stamp is the time of day before a line.
func stamp(at time.Time) string { return at.UTC().Format("15:04:05 ") }

// line says an event in one line, and what equal ones are folded by; "": they aren't.
func (t *TUI) line(e gate.Event) (line, fold string) {
	tool, from := gate.Escape(e.Tool), " ("+gate.Escape(e.Principal)+", "+gate.Escape(e.Origin)+")"
	switch e.Type {
	case "tool_call":
		var text string
		switch {
		case e.Status == gate.StatusOK:
			text = "✓ " + tool + from
			if e.Tier != nil && *e.Tier == gate.TierRead.Number() {
				return text, text // what was read isn't told, only that it was
			}
		case e.Code == gate.CodeNotApproved:
			return t.o.Lang.NotApproved(tool) + from, "" // the rest is for the model
		default:
			text = "✗ " + tool + from + ": " + gate.Escape(string(e.Status))
			if e.Code != "" {
				text += " " + gate.Escape(string(e.Code))
			}
		}
		if e.ResultSummary != "" {
			text += ": " + gate.Escape(e.ResultSummary)
		}
		return text, ""
	case "approval":
		return t.decided(tool, e), ""
	}
	text := "· "
	if e.Type == "stop" || e.Type == "estop" || e.Type == "fault" {
		text = "■ "
	}
	text += gate.Escape(e.Type)
	if tool != "" {
		text += " " + tool
	}
	if e.Principal != "" {
		text += from
	}
	for _, s := range [...]string{string(e.Code), e.Text, e.Reason} {
		if s != "" {
			text += ": " + gate.Escape(s)
		}
	}
	return text, ""
}

// decided says how a question ended, and why where it isn't that a person said so.
func (t *TUI) decided(tool string, e gate.Event) string {
	l := t.o.Lang
	decision := l.TUIEnded()
	switch e.Decision {
	case "approved":
		decision = l.TUIApproved()
	case "rejected":
		decision = l.TUIRejected()
	case "timeout":
		decision = l.TUITimedOut()
	}
	text := l.TUIDecided(tool, decision, gate.Escape(e.Decider))
	if e.Reason != "" && gate.Reason(e.Reason) != terminal.ReasonAnswered {
		text += " (" + gate.Escape(e.Reason) + ")"
	}
	return text
}
