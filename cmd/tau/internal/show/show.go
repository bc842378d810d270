// Package show turns answers into the short plain text that people read; every
// string of them goes through the gate's escaper. It imports gate for its data types and must
// never import anything that can approve.
package show

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/words"
)

// maxText bounds the text of one answer on a terminal, bytes; the rest is counted.
const maxText = 2000

// Answer returns one line for a person: a tick and the text, or a cross and the
// reason. A call that nobody approved reads "✗ <tool>: not approved" (G8).
func Answer(l words.Lang, a gate.Answer) string { return AnswerTo(l, a, "", "") }

// AnswerTo is Answer for one of several callers: whose names it behind the tool, and
// why says why a question wasn't answered with yes; "": neither is said.
func AnswerTo(l words.Lang, a gate.Answer, whose, why string) string {
	tool := gate.Escape(a.Tool)
	if whose != "" {
		tool += " " + whose
	}
	switch {
	case a.Status == gate.StatusOK:
		return "✓ " + tool + ": " + Text(l, a.Text)
	case a.Code == gate.CodeNotApproved:
		return l.NotApproved(tool) + refusal(l, a, why)
	case a.Status == gate.StatusUnknown:
		return "? " + tool + ": " + l.UnknownOutcome() + ": " + Text(l, a.Text) + " (call " + gate.Escape(a.CallID) + ")"
	}
	text := Text(l, a.Text)
	if code := string(a.Code); code != "" && !strings.HasPrefix(text, code) {
		text = code + ": " + text
	}
	return "✗ " + tool + ": " + text
}

// refusal is what follows the notice of a call that wasn't approved: why it wasn't,
// or what the gate says beyond that.
func refusal(l words.Lang, a gate.Answer, why string) string {
	if why != "" {
		return " (" + Text(l, why) + ")"
	}
	// What the model is told, without the sentence that is for it alone.
	_, more, _ := strings.Cut(a.Text, gate.NotApprovedText(a.Tool))
	if more = strings.TrimSpace(more); more == "" {
		return ""
	}
	return ": " + Text(l, more)
}

// Verdict returns one line for a stop's verdict on one backend.
func Verdict(l words.Lang, v gate.StopVerdict) string {
	s := gate.Escape(v.Backend) + ": " + l.Verdict(v.Commanded, v.Acknowledged, v.Stationary)
	if v.DurationS > 0 {
		s += " " + l.After(v.DurationS)
	}
	if v.Text != "" {
		s += " (" + Text(l, v.Text) + ")"
	}
	return s
}

// AtRest reports whether every verdict says that its backend is at rest, or of what
// stands beside a robot that it has acknowledged; no verdict at all is not at rest.
func AtRest(vs []gate.StopVerdict) bool {
	for _, v := range vs {
		if !v.AtRest() {
			return false
		}
	}
	return len(vs) > 0
}

// Text escapes s and bounds its length.
func Text(l words.Lang, s string) string {
	if len(s) > maxText {
		cut := maxText
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "… " + l.MoreBytes(len(s)-cut)
	}
	return gate.Escape(s)
}

// state is what the first line of State says.
type state struct {
	Moving   bool   `json:"moving"`
	Mode     string `json:"mode"`
	Backend  string `json:"backend"`
	Enabled  bool   `json:"enabled"`
	EStopped bool   `json:"estopped"`
}

// State returns a few lines for a person about robot_state's result; what wasn't
// measured isn't there.
func State(l words.Lang, result json.RawMessage) string {
	var s state
	if err := json.Unmarshal(result, &s); err != nil {
		return Text(l, string(result))
	}
	first := fmt.Sprintf("%s (%s): %s", gate.Escape(s.Backend), gate.Escape(s.Mode), l.State(s.Moving, s.Enabled, s.EStopped))
	rest := Table(l, result, "moving", "mode", "backend", "enabled", "estopped", "measured_at", "age_s")
	return strings.TrimRight(first+"\n"+rest, "\n")
}

// omitted is what a person at a prompt isn't shown of a tool's result.
var omitted = map[string][]string{
	"robot_describe": {"joints.parent", "joints.child", "joints.limits.bounded", "joints.limits.jerk", "joints.in_arm"},
	"scene_describe": {"hash"},
	"plan_joints":    {"digest", "rehearsal.sample_period_s"},
	"plan_pose":      {"digest", "rehearsal.sample_period_s"},
	"plan_path":      {"digest", "rehearsal.sample_period_s"},
	"rehearse":       {"digest", "rehearsal.sample_period_s"},
}

// Result returns an answer for a person at a prompt: that of a tool that only reads
// with what it read, laid out; any other as Answer does.
func Result(l words.Lang, a gate.Answer) string {
	data := strings.HasPrefix(strings.TrimSpace(a.Text), "{")
	switch {
	case a.Status != gate.StatusOK || len(a.Result) == 0:
		return Answer(l, a)
	case a.Tool == "robot_state":
		return State(l, a.Result)
	case !data:
		return "✓ " + gate.Escape(a.Tool) + ": " + Text(l, a.Text) + "\n" + Table(l, a.Result, omitted[a.Tool]...)
	}
	return "✓ " + gate.Escape(a.Tool) + "\n" + Table(l, a.Result, omitted[a.Tool]...)
}
