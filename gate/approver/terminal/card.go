package terminal

import (
	"strings"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/card"
	"github.com/tau-robot/tau/gate/words"
)

// Question is the last line of a card, where the answer is typed.
const Question = "  Approve? [y/N] "

// Card returns the card of a request as text, without Question: one block of
// lines, each with its newline. Every string in it went through gate.Escape, so
// nothing in a request can end a line, move the cursor or hide; nothing is cut.
func Card(req gate.Request) string {
	var b strings.Builder
	b.WriteString("⚠️  " + words.English.CardNeeded(req.Tier.Number()) + "\n")
	for _, l := range card.Lines(words.English, req) {
		b.WriteString("  " + l.Label + ": " + l.Text + "\n")
	}
	for _, n := range req.Notices {
		b.WriteString("  " + card.Notice(words.English, n) + "\n")
	}
	if req.Editable {
		b.WriteString("  " + words.English.EditHint() + "\n")
	}
	return b.String()
}
