package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate/words"
)

// The card at the bridge's own terminal is in the language of the settings, and is
// answered in it.
func TestG53_TheCardAtTheTerminalIsInTheSettingsLanguage(t *testing.T) {
	t.Parallel()
	l := words.Turkish
	s := seat(t, dataDir(t), "--clock", "fast", "--mcp", "off", "--settings", settingsFile(t, "[ui]\nlanguage = \"tr\"\n"))
	s.await("tau> ")
	for _, c := range []struct{ to, answer, then string }{{"0.4", "h", "✗ move_joints"}, {"0.5", "e", "✓ move_joints"}} {
		from := s.at
		s.typed("move_joints shoulder_pan=" + c.to + "\r")
		s.await("⚠️  " + l.CardNeeded(2))
		s.await("  " + l.CardTool() + ": move_joints\r\n")
		s.await(l.TerminalQuestion())
		s.answers(c.answer)
		s.await(c.then)
		shown := s.out.String()[from:s.at]
		for _, english := range []string{words.English.CardNeeded(2), words.English.CardArguments(), words.English.TerminalQuestion()} {
			require.NotContains(t, shown, english)
		}
	}
	s.leave()
}
