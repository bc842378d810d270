package telegram

import (
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/words"
)

var _ gate.Noticer = (*Channel)(nil)

const maxNotes = 16

// Notice tells the chats about a question that is open there, in a reply to its card. It
// doesn't block.
func (c *Channel) Notice(callID string, n gate.Notice) {
	text := noticeText(c.o.Lang, n)
	if text == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return
	}
	for q := range c.open {
		if q.req.CallID != callID || q.done || len(q.notes) >= maxNotes {
			continue
		}
		q.notes = append(q.notes, text) // for cards that are on their way still
		for _, p := range q.posts {
			c.later.Go(func() { c.tellUnder(p.chat, p.message, text) })
		}
	}
}

// noticeText is what a notice says; "": nothing that matters here.
func noticeText(l words.Lang, n gate.Notice) string {
	switch n.Kind {
	case gate.CallerGone:
		return fit(l.NoticeCallerGone(gate.Escape(clip(n.Text, maxReason))))
	case gate.CallerBack:
		return l.NoticeCallerBack()
	}
	return ""
}
