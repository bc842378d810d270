package telegram

import (
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/card"
)

var _ gate.Noticer = (*Channel)(nil)

const maxNotes = 16

// Notice tells the chats about a question that is open there, in a reply to its card. It
// doesn't block.
func (c *Channel) Notice(callID string, n gate.Notice) {
	text := card.Notice(c.o.Lang, n)
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
