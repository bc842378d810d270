// Package show turns answers into the short plain text that people read; every
// string of them goes through the gate's escaper. It imports gate for its data types and must
// never import anything that can approve.
package show

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tau-robot/tau/gate"
)

// maxText bounds the text of one answer on a terminal, bytes; the rest is counted.
const maxText = 2000

// Answer returns one line for a person: a tick and the text, or a cross and the
// reason. A call that nobody approved reads "✗ <tool>: not approved" (G8).
func Answer(a gate.Answer) string { return AnswerTo(a, "", "") }

// AnswerTo is Answer for one of several callers: whose names it behind the tool, and
// why says why a question wasn't answered with yes; "": neither is said.
func AnswerTo(a gate.Answer, whose, why string) string {
	tool := gate.Escape(a.Tool)
	if whose != "" {
		tool += " " + whose
	}
	switch {
	case a.Status == gate.StatusOK:
		return "✓ " + tool + ": " + Text(a.Text)
	case a.Code == gate.CodeNotApproved:
		return gate.RefusedNotice(tool) + refusal(a, why)
	case a.Status == gate.StatusUnknown:
		return "? " + tool + ": outcome unknown: " + Text(a.Text) + " (call " + gate.Escape(a.CallID) + ")"
	}
	text := Text(a.Text)
	if code := string(a.Code); code != "" && !strings.HasPrefix(text, code) {
		text = code + ": " + text
	}
	return "✗ " + tool + ": " + text
}

// refusal is what follows the notice of a call that wasn't approved: why it wasn't,
// or what the gate says beyond that.
func refusal(a gate.Answer, why string) string {
	if why != "" {
		return " (" + Text(why) + ")"
	}
	// What the model is told, without the sentence that is for it alone.
	_, more, _ := strings.Cut(a.Text, gate.NotApprovedText(a.Tool))
	if more = strings.TrimSpace(more); more == "" {
		return ""
	}
	return ": " + Text(more)
}

// Verdict returns one line for a stop's verdict on one backend.
func Verdict(v gate.StopVerdict) string {
	s := fmt.Sprintf("%s: commanded %s, acknowledged %s, stationary %s", gate.Escape(v.Backend), v.Commanded, v.Acknowledged, v.Stationary)
	if v.DurationS > 0 {
		s += fmt.Sprintf(" after %.3f s", v.DurationS)
	}
	if v.Text != "" {
		s += " (" + Text(v.Text) + ")"
	}
	return s
}

// AtRest reports whether every verdict says that its backend is at rest; no
// verdict at all is not at rest.
func AtRest(vs []gate.StopVerdict) bool {
	for _, v := range vs {
		if v.Stationary != "yes" {
			return false
		}
	}
	return len(vs) > 0
}

// Text escapes s and bounds its length.
func Text(s string) string {
	if len(s) > maxText {
		cut := maxText
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + fmt.Sprintf("… (%d bytes more)", len(s)-cut)
	}
	return gate.Escape(s)
}

// state is what State shows of robot_state's result.
type state struct {
	Positions map[string]float64 `json:"positions"`
	Tip       *struct {
		Position [3]float64 `json:"position"`
	} `json:"tip"`
	Moving   bool   `json:"moving"`
	Mode     string `json:"mode"`
	Backend  string `json:"backend"`
	Enabled  bool   `json:"enabled"`
	EStopped bool   `json:"estopped"`
	Held     string `json:"held"`
	Faults   []struct {
		Code string `json:"code"`
		Text string `json:"text"`
	} `json:"faults"`
}

// State returns a few lines for a person about robot_state's result; what wasn't
// measured isn't there.
func State(result json.RawMessage) string {
	var s state
	if err := json.Unmarshal(result, &s); err != nil {
		return Text(string(result))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): moving %t, torque %t, e-stop latched %t", gate.Escape(s.Backend), gate.Escape(s.Mode), s.Moving, s.Enabled, s.EStopped)
	for _, name := range slices.Sorted(maps.Keys(s.Positions)) {
		fmt.Fprintf(&b, "\n  %-20s % .4f", gate.Escape(name), s.Positions[name])
	}
	if s.Tip != nil {
		fmt.Fprintf(&b, "\n  %-20s (%.4f, %.4f, %.4f) m", "tip", s.Tip.Position[0], s.Tip.Position[1], s.Tip.Position[2])
	}
	if s.Held != "" {
		fmt.Fprintf(&b, "\n  %-20s %s", "holds", gate.Escape(s.Held))
	}
	for _, f := range s.Faults {
		fmt.Fprintf(&b, "\n  fault: %s: %s", gate.Escape(f.Code), Text(f.Text))
	}
	return b.String()
}
