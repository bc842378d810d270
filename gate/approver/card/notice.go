package card

import (
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/words"
)

// Notice is in one line what a person should know beside the card. What comes from
// elsewhere in it went through gate.Escape.
func Notice(l words.Lang, n gate.Notice) string {
	switch why := gate.Escape(n.Text); n.Kind {
	case gate.CallerGone:
		return l.NoticeCallerGone(why)
	case gate.CallerBack:
		return l.NoticeCallerBack()
	case gate.CantEdit:
		return l.NoticeCantEdit(why)
	default:
		return why
	}
}
