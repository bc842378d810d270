package bridge

import (
	"sync"

	"github.com/tau-robot/tau/cmd/tau/internal/shell"
	"github.com/tau-robot/tau/cmd/tau/internal/show"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/terminal"
	"github.com/tau-robot/tau/gate/words"
)

// Watcher is told what happens on a bridge. Its methods may be called from any
// goroutine, that of a motion too, and must not block.
type Watcher interface {
	// Event says what was recorded, or couldn't be.
	Event(gate.Event)
	// Motion says where a motion is, in s of motion time, of the duration that was
	// planned; 0 when it begins.
	Motion(of gate.Running, t, duration float64)
}

const (
	tellEvery   = 2.0 // s of motion time between two notices of a motion
	reasonsKept = 64  // of refusals, until their answers have been shown
)

// notices tell the person at the prompt, a line each, what others do: an agent's
// motions with their ends, and stops. What is done at the prompt itself, or by a
// script beside it, is answered there; unless an earlier process asked it, whose
// prompt is gone.
type notices struct {
	out  *notes
	lang words.Lang

	mu      sync.Mutex
	told    map[string]float64 // s of motion time, by call
	reasons map[string]string  // why a question wasn't answered with yes, by call
	order   []string           // of reasons, oldest first
}

var _ Watcher = (*notices)(nil)

func newNotices(out *notes, lang words.Lang) *notices {
	return &notices{out: out, lang: lang, told: map[string]float64{}, reasons: map[string]string{}}
}

// ofOthers reports whether a call or stop is none of the prompt's or a script's.
func ofOthers(origin string) bool {
	return origin != shell.Origin && origin != "script" && origin != "bridge"
}

func who(principal, origin string) string {
	return "(" + gate.Escape(principal) + ", " + gate.Escape(origin) + ")"
}

// Motion implements Watcher.
func (n *notices) Motion(of gate.Running, t, duration float64) {
	if !ofOthers(of.Origin) && !of.Restored {
		return
	}
	n.mu.Lock()
	last, begun := n.told[of.CallID]
	due := !begun || t >= last+tellEvery
	if due {
		n.told[of.CallID] = t
	}
	n.mu.Unlock()
	switch what := "… " + gate.Escape(of.Tool) + " " + who(of.Principal, of.Origin); {
	case !begun:
		n.out.tell(what + ": " + n.lang.Running(duration))
	case due:
		n.out.tell(what + ": " + n.lang.Progress(t, duration))
	}
}

// Event implements Watcher.
func (n *notices) Event(e gate.Event) {
	switch {
	case e.Type == "approval":
		n.keep(e.CallID, reasonText(n.lang, e))
	case (e.Type == "stop" || e.Type == "estop") && e.Where == "" && ofOthers(e.Origin):
		text := "■ " + gate.Escape(e.Type) + " " + who(e.Principal, e.Origin) + ": " + show.Text(n.lang, e.Text)
		if e.Reason != "" {
			text += " " + n.lang.Reason(show.Text(n.lang, e.Reason))
		}
		n.out.tell(text)
	case e.Type == "tool_call" && e.Tier != nil && *e.Tier == gate.TierPhysical.Number() && (ofOthers(e.Origin) || e.Restored):
		n.ended(e)
	case e.Type == "session" && e.Where == whereOptIn && e.Origin != originStart, e.Type == "fault" && (e.Where == whereLink || e.Where == whereBoard):
		n.out.tell("■ " + gate.Escape(e.Backend) + " (" + gate.Escape(e.SessionID) + "): " + show.Text(n.lang, e.Text))
	case e.Type == "turn_limit" && e.Where == "session":
		n.out.tell(n.lang.SessionUsedUp(who(e.Principal, e.Origin)))
	case e.Type == "turn_limit":
		n.out.tell(n.lang.TurnUsedUp(who(e.Principal, e.Origin)))
	}
}

// ended is the end of a physical call. One that was refused before anybody was asked
// is its caller's business alone, unless an earlier process asked it. What such a
// process had begun is told once, when the bridge starts (leftNotice).
func (n *notices) ended(e gate.Event) {
	n.mu.Lock()
	_, moved := n.told[e.CallID]
	delete(n.told, e.CallID)
	n.mu.Unlock()
	switch {
	case moved:
	case e.Restored && e.Status == gate.StatusUnknown, !e.Restored && e.Approval == gate.ApprovalNone:
		return
	}
	a := gate.Answer{CallID: e.CallID, Tool: e.Tool, Status: e.Status, Code: e.Code, Text: e.ResultSummary}
	n.out.tell(show.AnswerTo(n.lang, a, who(e.Principal, e.Origin), n.Why(e.CallID)))
}

func (n *notices) keep(call, reason string) {
	if reason == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reasons[call] = reason
	n.order = append(n.order, call)
	if len(n.order) > reasonsKept {
		delete(n.reasons, n.order[0])
		n.order = n.order[1:]
	}
}

// Why says why the question of a call wasn't answered with yes; "": not known.
func (n *notices) Why(call string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.reasons[call]
}

// reasonText says it in a person's words.
func reasonText(l words.Lang, e gate.Event) string {
	why := e.Reason
	switch gate.Reason(e.Reason) {
	case terminal.ReasonAnswered:
		why = l.NotAYes()
	case terminal.ReasonEOF, terminal.ReasonInterrupted:
	default: // no person's refusal: the answer's own text says what it was
		return ""
	}
	if e.Decision == "approved" || e.Decision == "edited" {
		return ""
	}
	return l.NotAskedAgain(why)
}
