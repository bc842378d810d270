package telegram

import (
	"context"
	"encoding/base64"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tau-robot/tau/gate"
)

// What a button's data begins with; behind it is the nonce of one message.
const (
	dataApprove = "a:"
	dataReject  = "r:"
	nonceBytes  = 16
)

// newNonce makes what binds the buttons of one message to it.
func newNonce(r io.Reader) (string, error) {
	var b [nonceBytes]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return "", gate.Errf(gate.CodeInternal, "nonce", "there is no randomness: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b[:]), nil
}

// mayAct reports whether a chat and a user are among those that may answer and stop.
func (c *Channel) mayAct(chat int64, u *user) bool {
	return u != nil && !u.IsBot && u.ID > 0 && slices.Contains(c.o.Settings.Chats, chat) &&
		(len(c.o.Settings.Users) == 0 || slices.Contains(c.o.Settings.Users, u.ID))
}

// verdict is what a press was worth.
type verdict uint8

const (
	pressForeign verdict = iota // not from whom it may come
	pressOld                    // its question isn't open, or never was
	pressWrong                  // not on the message that was sent
	pressStopped                // after a stop from here
	pressEarly                  // before the card could be read
	pressTaken                  // it decides
)

// press judges a press and, if it counts, decides with it. It never blocks.
func (c *Channel) press(p *callback) {
	v := c.judge(p)
	l := c.o.Lang
	text := map[verdict]string{
		pressForeign: l.TelegramPressForeign(), pressOld: l.TelegramPressOld(), pressWrong: l.TelegramPressWrong(),
		pressStopped: l.TelegramPressStopped(), pressEarly: l.TelegramPressEarly(), pressTaken: l.TelegramPressTaken(),
	}[v]
	c.log.Info("a button was pressed on Telegram", "user", p.From.ID, "outcome", v.String())
	c.reply(func(ctx context.Context) {
		c.answerPress(ctx, p.ID, text, v != pressTaken)
		if m := p.Message; v == pressOld && c.orphan(m) {
			// It was sent by an earlier process, or its end never got through.
			_ = c.api.call(ctx, callTimeout, "editMessageReplyMarkup", markup{Chat: m.Chat.ID, Message: m.ID}, nil)
		}
	})
}

// orphan reports a message of a listed chat that no question is open on.
func (c *Channel) orphan(m *message) bool {
	if m == nil || m.ID <= 0 || !slices.Contains(c.o.Settings.Chats, m.Chat.ID) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.posts {
		if p.chat == m.Chat.ID && (p.message == 0 || p.message == m.ID) { // 0: it may be this one
			return false
		}
	}
	return true
}

func (v verdict) String() string {
	return [...]string{"not allowed", "closed question", "not the card that was sent", "stopped", "too early", "taken"}[v]
}

// judge is the whole rule.
func (c *Channel) judge(p *callback) verdict {
	m := p.Message
	if m == nil || p.Inline != "" || !c.mayAct(m.Chat.ID, &p.From) {
		return pressForeign
	}
	yes := strings.HasPrefix(p.Data, dataApprove)
	if !yes && !strings.HasPrefix(p.Data, dataReject) {
		return pressOld
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.o.Now()
	at := c.posts[p.Data[len(dataApprove):]]
	switch {
	case at == nil:
		return pressOld
	case at.chat != m.Chat.ID, len(m.Forward) > 0, m.ForwardDate != 0, at.message != 0 && at.message != m.ID:
		return pressWrong
	case at.of.stopped:
		return pressStopped
	case at.of.done:
		return pressOld
	}
	q := at.of
	w := gate.Word{Decision: gate.Rejected, Reason: ReasonAnswered, By: "telegram:" + strconv.FormatInt(p.From.ID, 10)}
	who, when := c.nameOf(p.From), now.UTC().Format("15:04:05 UTC")
	q.how = c.o.Lang.TelegramClosedRejected(who, when)
	if yes { // a no counts at any time
		if v := c.approvable(q, at, m, now); v != pressTaken {
			q.how = ""
			return v
		}
		w.Decision = gate.Approved
		q.how = c.o.Lang.TelegramClosedApproved(who, when)
	}
	q.done = true
	q.word <- w // has room for the one
	return pressTaken
}

// approvable says whether an Approve counts now. c.mu is held.
func (c *Channel) approvable(q *asking, at *post, m *message, now time.Time) verdict {
	switch {
	case at.message == 0: // it isn't known yet what was sent
		return pressEarly
	case m.Date == 0, m.From == nil || m.From.ID != c.me.ID, m.Text != q.text:
		return pressWrong
	case now.Sub(at.sent) < Arming:
		return pressEarly
	case !q.req.Expiry.IsZero() && gate.Expired(now, q.req.Expiry):
		return pressOld
	}
	return pressTaken
}

// nameOf is how a person is called in a chat.
func (c *Channel) nameOf(u user) string {
	id := strconv.FormatInt(u.ID, 10)
	name := u.FirstName
	if u.Username != "" {
		name = "@" + u.Username
	}
	if name == "" {
		return id
	}
	return gate.Escape(gate.Clip(name, 64)) + " (" + id + ")"
}

func (c *Channel) answerPress(ctx context.Context, id, text string, alert bool) {
	err := c.api.call(ctx, callTimeout, "answerCallbackQuery", pressAnswer{ID: id, Text: text, Alert: alert}, nil)
	if err != nil { // the card itself says how it ended
		c.log.Debug("a press was not answered", "err", err)
	}
}
