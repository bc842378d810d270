package terminal

import (
	"strings"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/card"
	"github.com/tau-robot/tau/gate/words"
)

// Question is the last line of a card in English, where the answer is typed.
const Question = "  Approve? [y/N] "

// NoticeMark is what a notice begins with. No row of a card does: a card's first one
// begins with a sign of its own, and the others with blanks.
const NoticeMark = "! "

// Card returns the card of a request as text, without the question: one block of
// lines, each with its newline. Every string in it went through gate.Escape, so
// nothing in a request can end a line, move the cursor or hide; nothing is cut. What
// there is to know beside the card stands over it, so that between the card's first line
// and the question there is nothing but the card.
func Card(l words.Lang, req gate.Request) string {
	var b strings.Builder
	for _, n := range card.Notices(l, req.Notices) {
		b.WriteString(NoticeMark + n + "\n")
	}
	b.WriteString("⚠️  " + l.CardNeeded(req.Tier.Number()) + "\n")
	for _, line := range card.Lines(l, req) {
		b.WriteString("  " + line.Label + ": " + line.Text + "\n")
	}
	if !req.Editable {
		return b.String()
	}
	// On the last line, so that a card has no row more for it.
	return strings.TrimSuffix(b.String(), "\n") + "  (" + l.EditHint() + ")\n"
}
