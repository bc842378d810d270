package bridge

import (
	"context"
	"time"

	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/telegram"
)

// helloWait bounds the first call of Telegram, which finds a wrong token at the start.
const helloWait = 5 * time.Second

// telegramChannel polls Telegram until it is ended.
type telegramChannel struct {
	*telegram.Channel
	h    *Host
	stop context.CancelFunc
	done chan struct{}
}

// openTelegram reads the bot's token and asks Telegram whether it knows it. A token
// that it doesn't know is an error; a Telegram that can't be reached isn't: it is tried
// again while the bridge runs.
func openTelegram(h *Host) (channel, error) {
	s := h.setup.Settings.Telegram
	if !s.Configured() {
		return nil, exit.Usagef("--approve-from telegram needs a section [telegram] in the file of --settings: token_file and chats")
	}
	token, err := telegram.ReadToken(s.TokenFile)
	if err != nil {
		return nil, exit.Usagef("--settings: %w", err)
	}
	t := &telegramChannel{h: h, done: make(chan struct{})}
	t.Channel, err = telegram.New(telegram.Options{
		Settings: s, Token: token, Stop: h.stopFrom("telegram"), Status: t.status, Lang: h.setup.Settings.Lang(),
		Log: h.Log, Now: h.setup.Now,
	})
	if err != nil {
		return nil, exit.Usagef("--settings: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), helloWait)
	defer cancel()
	switch err := t.Hello(ctx); {
	case gate.CodeOf(err) == gate.CodeInvalidArgument:
		return nil, exit.Usagef("--approve-from telegram: %w", err)
	case err != nil:
		h.Log.Warn("Telegram can't be reached; it is tried again", "err", err)
	}
	return t, nil
}

func (t *telegramChannel) approver() gate.Approver { return t.Channel }
func (*telegramChannel) name() string              { return "Telegram" }

func (t *telegramChannel) notice() string {
	return t.h.setup.Settings.Lang().TelegramAsking(len(t.h.setup.Settings.Telegram.Chats))
}

func (t *telegramChannel) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	t.stop = cancel
	go func() {
		defer close(t.done)
		if err := t.Run(ctx); err != nil {
			t.h.Log.Error("approvals over Telegram ended", "err", err)
		}
	}()
}

func (t *telegramChannel) end(ctx context.Context) error {
	if t.stop == nil { // it never began
		return nil
	}
	t.stop()
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// status answers /status.
func (t *telegramChannel) status(ctx context.Context) string {
	open, err := t.h.Gate.Open(ctx)
	if err != nil {
		t.h.Log.Error("the open requests could not be read", "err", err)
	}
	return t.h.setup.Settings.Lang().TelegramStatus(gate.Escape(t.h.Model.Name), gate.Escape(t.h.setup.Session), t.h.Moving(), len(open))
}
