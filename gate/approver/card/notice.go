package card

import (
	"strings"
	"unicode/utf8"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/words"
)

// maxNotice bounds what comes from elsewhere in a notice, in bytes as it is written.
const maxNotice = 500

// Notice is in one line what a person should know beside the card; "": nothing, because
// its kind isn't known. What comes from elsewhere in it stands within a sentence of ours,
// went through gate.Escape, is bounded, and has no two blanks side by side, so that a
// terminal that breaks the line doesn't make it look like lines of a card.
func Notice(l words.Lang, n gate.Notice) string {
	if !n.Kind.Valid() {
		return ""
	}
	why := strings.Join(strings.Fields(gate.Escape(n.Text)), " ")
	if len(why) > maxNotice {
		cut := maxNotice
		for !utf8.RuneStart(why[cut]) {
			cut--
		}
		why = why[:cut] + "…"
	}
	switch n.Kind {
	case gate.CallerGone:
		return l.NoticeCallerGone(why)
	case gate.CantEdit:
		return l.NoticeCantEdit(why)
	default:
		return l.NoticeCallerBack()
	}
}

// Notices is Notice of each that says something.
func Notices(l words.Lang, all []gate.Notice) []string {
	var lines []string
	for _, n := range all {
		if line := Notice(l, n); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
