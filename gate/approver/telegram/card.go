package telegram

import (
	"strings"
	"unicode/utf16"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/card"
	"github.com/tau-robot/tau/gate/words"
)

// MaxUnits is how long one message of Telegram may be, in UTF-16 code units.
const MaxUnits = 4096

// Card returns what a question's message says: the card that every channel shows,
// whole, each string of it escaped. Its end is no blank, because Telegram cuts those off.
func Card(l words.Lang, req gate.Request) string {
	var b strings.Builder
	b.WriteString("⚠️  " + l.CardNeeded(req.Tier.Number()))
	for _, line := range card.Lines(l, req) {
		b.WriteString("\n  " + line.Label + ": " + line.Text)
	}
	return strings.TrimRight(b.String(), " ")
}

// units is the length of a text in UTF-16 code units.
func units(s string) int {
	n := 0
	for _, r := range s { // an invalid byte is U+FFFD here, one unit
		n += utf16.RuneLen(r)
	}
	return n
}
