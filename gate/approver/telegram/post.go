package telegram

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/tau-robot/tau/gate"
)

const (
	sendAttempts = 4           // of a card, in one chat
	closeFor     = time.Minute // how long it is tried to take buttons away
)

// post sends an asking's card to a chat and reports whether it got there. It waits
// between attempts as Telegram asks, and no longer than the question is open.
func (c *Channel) post(q *asking, chat int64) bool {
	for n := range sendAttempts {
		p, nonce, err := c.newPost(q, chat)
		if err != nil {
			c.log.Error("a card was not sent over Telegram", "err", err)
			return false
		}
		var got message
		err = c.api.call(c.life, callTimeout, "sendMessage", cardMessage(q, chat, c.keys(nonce)), &got)
		if err == nil {
			return c.sent(p, nonce, got)
		}
		// It may have got there all the same: its buttons are bound to nothing now.
		c.drop(nonce)
		var e *apiError
		moved := int64(0)
		if errors.As(err, &e) {
			moved = e.moved
		}
		c.log.Warn("a card was not sent over Telegram", "chat", chat, "attempt", n+1, "err", err, "moved_to", moved)
		if e != nil && e.forGood() || n+1 == sendAttempts || !c.wait(c.life, c.pause(n, err), q) {
			break
		}
	}
	return false
}

func (c *Channel) keys(nonce string) *keyboard {
	return &keyboard{Rows: [][]button{{
		{Text: c.o.Lang.TelegramReject(), Data: dataReject + nonce},
		{Text: c.o.Lang.TelegramApprove(), Data: dataApprove + nonce},
	}}}
}

// cardMessage is the message of a card. It has no parse_mode: what an agent wrote is
// never markup.
func cardMessage(q *asking, chat int64, keys *keyboard) outgoing {
	return outgoing{Chat: chat, Text: q.text, Entities: asCode(q.text), Preview: noPreview{true}, Keyboard: keys}
}

// asCode marks the whole of a text as code.
func asCode(s string) []entity { return []entity{{Type: "pre", Length: units(s)}} }

// newPost makes the place of a message that is about to be sent.
func (c *Channel) newPost(q *asking, chat int64) (*post, string, error) {
	nonce, err := newNonce(c.o.Rand)
	if err != nil {
		return nil, "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &post{of: q, chat: chat}
	if q.done {
		return nil, "", gate.Errf(gate.CodeCancelled, "telegram", "the question has ended")
	}
	c.posts[nonce] = p
	return p, nonce, nil
}

func (c *Channel) drop(nonce string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.posts, nonce)
}

// sent takes down what Telegram says it has sent, and reports whether that is the card.
// Where it isn't, or the question has ended meanwhile, the buttons go at once.
func (c *Channel) sent(p *post, nonce string, got message) bool {
	q := p.of
	whole := got.ID > 0 && got.Chat.ID == p.chat && strings.TrimSpace(got.Text) == strings.TrimSpace(q.text)
	c.mu.Lock()
	switch {
	case q.done:
		how := q.how
		c.mu.Unlock()
		c.takeAway(p.chat, got.ID, q.text, how)
		return true
	case !whole:
		delete(c.posts, nonce)
		c.mu.Unlock()
		c.log.Error("Telegram shows another card than the one it was given: nothing can be approved on it", "chat", p.chat, "message", got.ID)
		c.takeAway(p.chat, got.ID, q.text, c.o.Lang.TelegramClosedFailed())
		return false
	}
	p.message, p.sent = got.ID, c.o.Now()
	q.posts = append(q.posts, p)
	notes := q.notes
	c.mu.Unlock()
	for _, text := range notes {
		c.beside(func() { c.tellUnder(p.chat, p.message, text) })
	}
	return true
}

// takeAway takes the buttons of a message away and says under it, or, where that
// doesn't fit, in a reply, how its question ended. It tries for closeFor.
func (c *Channel) takeAway(chat, id int64, text, how string) {
	if id <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(c.life, closeFor)
	defer cancel()
	full := text + "\n\n" + how
	if units(full) <= MaxUnits {
		c.insist(ctx, "editMessageText", outgoing{Chat: chat, Message: id, Text: full, Entities: asCode(text), Preview: noPreview{true}})
		return
	}
	if c.insist(ctx, "editMessageReplyMarkup", markup{Chat: chat, Message: id}) {
		c.tellUnder(chat, id, how)
	}
}

// insist calls a method until it is done or can't be, or ctx ends.
func (c *Channel) insist(ctx context.Context, method string, in any) bool {
	for n := 0; ; n++ {
		err := c.api.call(ctx, callTimeout, method, in, nil)
		var e *apiError
		switch {
		case err == nil, errors.As(err, &e) && e.code == 400 && strings.Contains(e.text, "not modified"):
			return true
		case e != nil && e.forGood(), !c.wait(ctx, c.pause(n, err), nil):
			c.log.Warn("the buttons of a closed question may still be shown on Telegram; they do nothing", "err", err)
			return false
		}
	}
}

// tellAll sends a notice to every chat, beside everything else.
func (c *Channel) tellAll(text string) {
	for _, id := range c.o.Settings.Chats {
		c.beside(func() { c.tell(id, text) })
	}
}

func (c *Channel) tell(chat int64, text string) { c.tellUnder(chat, 0, text) }

// tellUnder sends a notice in reply to a message; 0: to none.
func (c *Channel) tellUnder(chat, message int64, text string) {
	ctx, cancel := context.WithTimeout(c.life, closeFor)
	defer cancel()
	o := outgoing{Chat: chat, Text: text, Preview: noPreview{true}}
	if message > 0 {
		o.Reply = &replyTo{Message: message, Anyway: true}
	}
	c.insist(ctx, "sendMessage", o)
}

const (
	firstPause = time.Second
	maxPause   = 30 * time.Second
)

// pause is how long to wait after the n-th failure in a row, from 0: between half and
// the whole of a time that doubles, and never less than Telegram asks for.
func (c *Channel) pause(n int, err error) time.Duration {
	d := maxPause
	if n < 5 {
		d = min(firstPause<<n, maxPause)
	}
	d = d/2 + time.Duration(float64(d/2)*min(max(c.o.Jitter(), 0), 1))
	var e *apiError
	if errors.As(err, &e) && e.retry > 0 {
		d += e.retry // a little after, so that not all of its clients come at once
	}
	return d
}

// wait waits; false: ctx has ended, or the question has.
func (c *Channel) wait(ctx context.Context, d time.Duration, q *asking) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	var over <-chan struct{}
	if q != nil {
		over = q.over
	}
	select {
	case <-t.C:
		return true
	case <-over:
	case <-ctx.Done():
	}
	return false
}
