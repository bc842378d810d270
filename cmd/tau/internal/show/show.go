// Package show turns answers into the short plain text that people read; every
// string of them goes through the gate's escaper. It imports gate for its data types and must
// never import anything that can approve.
package show

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tau-robot/tau/gate"
)

// maxText bounds the text of one answer on a terminal, bytes; the rest is counted.
const maxText = 2000

// Answer returns one line for a person: a tick and the text, or a cross and the
// reason. A call that nobody approved reads "✗ <tool>: not approved" (G8).
func Answer(a gate.Answer) string {
	tool := gate.Escape(a.Tool)
	switch {
	case a.Status == gate.StatusOK:
		return "✓ " + tool + ": " + Text(a.Text)
	case a.Code == gate.CodeNotApproved:
		return "✗ " + tool + ": not approved"
	case a.Status == gate.StatusUnknown:
		return "? " + tool + ": outcome unknown: " + Text(a.Text) + " (call " + gate.Escape(a.CallID) + ")"
	}
	text := Text(a.Text)
	if code := string(a.Code); code != "" && !strings.HasPrefix(text, code) {
		text = code + ": " + text
	}
	return "✗ " + tool + ": " + text
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
