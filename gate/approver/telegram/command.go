package telegram

import (
	"context"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/tau-robot/tau/gate"
)

const (
	cmdStop   = "/stop"
	cmdEStop  = "/estop"
	cmdStatus = "/status"
	maxReason = 256 // bytes of what stands behind a stop
)

// command splits a message into what it asks for and what stands behind that. A bot's
// name behind the command is dropped, whichever it is: a stop that was sent to another
// bot of the same group stops here too.
func command(text string) (cmd, rest string) {
	word, rest := strings.TrimSpace(text), ""
	if i := strings.IndexFunc(word, unicode.IsSpace); i >= 0 {
		word, rest = word[:i], strings.TrimSpace(word[i:])
	}
	word, _, _ = strings.Cut(word, "@")
	return strings.ToLower(word), rest
}

// stop is a stop that somebody sent.
type stop struct {
	kind   gate.StopKind
	reason string
	by     string
	chat   int64
}

// stopIn finds the stop of an update, if there is one from somebody who may.
func (c *Channel) stopIn(u *update) (stop, bool) {
	for _, m := range []*message{u.Message, u.Edited} {
		if m == nil {
			continue
		}
		cmd, rest := command(m.Text)
		kind := gate.StopControlled
		switch cmd {
		case cmdStop:
		case cmdEStop:
			kind = gate.StopEmergency
		default:
			continue
		}
		if c.mayAct(m.Chat.ID, m.From) {
			return stop{kind, gate.Clip(rest, maxReason), "telegram:" + strconv.FormatInt(m.From.ID, 10), m.Chat.ID}, true
		}
	}
	return stop{}, false
}

// halt stops everything, before it returns as far as this channel's questions go, and
// beside everything else as far as the robot does. It never waits.
func (c *Channel) halt(s stop) {
	c.mu.Lock()
	for q := range c.open {
		q.stopped = true // no press of this batch, or of a later one, counts for them
	}
	c.mu.Unlock()
	run := func() {
		began := c.o.Now()
		verdicts := c.o.Stop(c.life, s.kind, s.reason, s.by)
		c.tell(s.chat, c.stopText(s.kind, verdicts, c.o.Now().Sub(began)))
	}
	if !c.beside(run) { // the channel ends; a stop is a stop all the same
		go c.o.Stop(context.WithoutCancel(c.life), s.kind, s.reason, s.by)
	}
}

func (c *Channel) stopText(kind gate.StopKind, verdicts []gate.StopVerdict, took time.Duration) string {
	l := c.o.Lang
	var b strings.Builder
	b.WriteString(l.TelegramStopping(string(kind)))
	for _, v := range verdicts {
		b.WriteString("\n" + l.TelegramStopped(gate.Escape(v.Backend), v.Commanded, v.Acknowledged, v.Stationary))
		if v.Text != "" {
			b.WriteString(": " + gate.Escape(gate.Clip(v.Text, maxReason)))
		}
	}
	b.WriteString("\n" + l.TelegramStopTook(took))
	return fit(b.String())
}

// fit bounds a notice; a card is never cut.
func fit(s string) string {
	if units(s) <= MaxUnits {
		return s
	}
	n := 0
	for i := range s {
		if n++; n > MaxUnits/2-1 { // a code point has two units at most
			return s[:i] + "…"
		}
	}
	return s
}

// said handles a message that is no stop.
func (c *Channel) said(m *message) {
	if !c.mayAct(m.Chat.ID, m.From) {
		c.stranger(m)
		return
	}
	switch cmd, _ := command(m.Text); {
	case cmd == cmdStatus && c.o.Status != nil:
		c.reply(func(ctx context.Context) { c.send(ctx, m.Chat.ID, fit(c.o.Status(ctx))) })
	case strings.HasPrefix(cmd, "/"):
		c.reply(func(ctx context.Context) { c.send(ctx, m.Chat.ID, c.o.Lang.TelegramCommands()) })
	}
}

// send sends a notice once.
func (c *Channel) send(ctx context.Context, chat int64, text string) {
	if err := c.api.call(ctx, callTimeout, "sendMessage", outgoing{Chat: chat, Text: text, Preview: noPreview{true}}, nil); err != nil {
		c.log.Debug("a notice was not sent over Telegram", "err", err)
	}
}

const maxStrangers = 100

// stranger logs who wrote without being allowed to, once for each chat, so that an
// operator can find the id of his own. Nothing is answered.
func (c *Channel) stranger(m *message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.strangers[m.Chat.ID] || len(c.strangers) >= maxStrangers {
		return
	}
	c.strangers[m.Chat.ID] = true
	var from int64
	if m.From != nil {
		from = m.From.ID
	}
	c.log.Info("a message on Telegram from a chat or a user that isn't listed; nothing was answered", "chat", m.Chat.ID, "user", from)
}

// reply queues what is sent in answer; what doesn't fit is dropped, so that nobody can
// make the bridge busy by writing to its bot.
func (c *Channel) reply(f func(context.Context)) {
	select {
	case c.replies <- f:
	default:
		c.log.Debug("an answer over Telegram was dropped: too many")
	}
}
