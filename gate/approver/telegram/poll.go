package telegram

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tau-robot/tau/gate"
)

const (
	pollWait   = 25 * time.Second // that Telegram holds a poll without updates
	pollLimit  = 50               // updates of one poll
	drainWait  = 3 * time.Second  // for what is on its way when the channel ends
	maxKnown   = 1024             // ids that are remembered
	helloLimit = 2 * callTimeout
)

// Hello asks Telegram whether it knows the bot, once. An error whose code is
// INVALID_ARGUMENT says that it doesn't; any other one may pass.
func (c *Channel) Hello(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, helloLimit)
	defer cancel()
	var me user
	err := c.api.call(ctx, callTimeout, "getMe", struct{}{}, &me)
	switch {
	case noToken(err):
		return gate.Errf(gate.CodeInvalidArgument, "telegram.token_file", "Telegram doesn't know this bot's token, or no Bot API is at telegram.api: %w", err)
	case err != nil:
		return gate.Errf(gate.CodeDisconnected, "telegram", "%w", err)
	case me.ID <= 0:
		return gate.Errf(gate.CodeDisconnected, "telegram", "the Bot API doesn't say who the bot is")
	}
	c.mu.Lock()
	c.me = me
	c.mu.Unlock()
	return nil
}

// Run polls for presses and commands until ctx ends, or Telegram no longer knows the
// bot, which is an error. What was sent before it began never counts. It may be called
// once. When it returns, nothing of the channel runs, every question that was open on
// it has ended, and for a bounded time it was tried to take their buttons away.
func (c *Channel) Run(ctx context.Context) error {
	replied := make(chan struct{})
	go func() {
		defer close(replied)
		c.answer()
	}()
	err := c.poll(ctx)
	c.finish()
	<-replied
	select {
	case <-ctx.Done():
		return nil // as it was told to
	default:
		return err
	}
}

// answer sends what is queued, one after the other.
func (c *Channel) answer() {
	for {
		select {
		case <-c.life.Done():
			return
		case f := <-c.replies:
			ctx, cancel := context.WithTimeout(c.life, callTimeout)
			f(ctx)
			cancel()
		}
	}
}

// finish ends every question, waits a bounded time for what is on its way, and cuts the
// rest.
func (c *Channel) finish() {
	c.mu.Lock()
	for q := range c.open {
		how := c.o.Lang.TelegramClosedEnd()
		if q.done {
			how = "" // a press was taken
		}
		c.closeLocked(q, how)
	}
	c.closing = true
	c.mu.Unlock()
	close(c.ended)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.later.Wait()
	}()
	t := time.NewTimer(drainWait)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
	c.endLife()
	<-done
}

// poll settles where to begin and then takes updates.
func (c *Channel) poll(ctx context.Context) error {
	next, err := c.settle(ctx) // behind the last update that is known
	if err != nil {
		return err
	}
	close(c.ready)
	c.log.Info("Telegram is polled", "bot", c.me.Username)
	var known ring
	// A poll from next on confirms what came before it. Once nothing is left, polls are
	// from 0 on, which is what isn't confirmed yet: after a week without updates
	// Telegram goes on at any number, also at a smaller one.
	offset, limit, failed := next, pollLimit, 0
	for ctx.Err() == nil {
		began := time.Now()
		raw, err := c.updates(ctx, poll{Offset: offset, Limit: limit, Timeout: int(pollWait / time.Second)}, pollWait+callTimeout)
		var e *apiError
		switch {
		case err == nil:
		case noToken(err):
			c.log.Error("Telegram no longer knows the bot: nobody can approve there", "err", err)
			return gate.Errf(gate.CodeDisconnected, "telegram", "%w", err)
		case errors.As(err, &e) && e.big && limit > 1:
			limit /= 2
			continue
		case errors.As(err, &e) && e.big:
			c.log.Warn("an update of Telegram was skipped: it is larger than an answer may be")
			next++
			offset, limit = next, pollLimit
			continue
		default:
			c.trouble(ctx, failed, err)
			c.wait(ctx, c.pause(failed, err), nil)
			failed++
			continue
		}
		ups, last, broken, err := decodeUpdates(raw)
		if err != nil || broken > 0 && last < 0 {
			c.trouble(ctx, failed, gate.Errf(gate.CodeDisconnected, "telegram", "the updates can't be read"))
			c.wait(ctx, c.pause(failed, nil), nil)
			failed++
			continue
		}
		if failed > 0 {
			c.log.Info("Telegram answers again", "after_failures", failed)
		}
		if broken > 0 {
			c.log.Warn("updates of Telegram could not be read and were left out", "count", broken)
		}
		failed, limit = 0, pollLimit
		c.take(known.fresh(ups))
		if last >= 0 {
			next = last + 1
			offset = next
			continue
		}
		offset = 0
		// A server that holds no poll mustn't be asked without a pause.
		if time.Since(began) < firstPause {
			c.wait(ctx, firstPause, nil)
		}
	}
	return nil
}

// trouble logs a failure of polling, the first of a row as a warning.
func (c *Channel) trouble(ctx context.Context, failed int, err error) {
	if ctx.Err() != nil {
		return
	}
	var e *apiError
	text := "Telegram can't be polled; it is tried again"
	if errors.As(err, &e) && e.code == http.StatusConflict {
		text = "another program polls this bot, or it has a webhook: presses may get lost there, and count nowhere; end the other one"
	}
	if failed == 0 {
		c.log.Warn(text, "err", err)
		return
	}
	c.log.Debug(text, "err", err, "failures", failed+1)
}

// settle learns who the bot is and leaves everything behind that was sent before now.
func (c *Channel) settle(ctx context.Context) (offset int64, err error) {
	for n := 0; ; n++ {
		if c.known() {
			err = nil
		} else {
			err = c.Hello(ctx)
		}
		if err == nil {
			var raw []byte
			if raw, err = c.updates(ctx, poll{Offset: -1, Limit: 1}, callTimeout); err == nil {
				var last int64
				if _, last, _, err = decodeUpdates(raw); err == nil {
					return last + 1, nil
				}
			}
		}
		if noToken(err) {
			c.log.Error("Telegram doesn't know the bot: nobody can approve there", "err", err)
			return 0, err
		}
		c.trouble(ctx, n, err)
		if !c.wait(ctx, c.pause(n, err), nil) {
			return 0, ctx.Err()
		}
	}
}

func (c *Channel) known() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.me.ID > 0
}

func (c *Channel) updates(ctx context.Context, p poll, limit time.Duration) (raw []byte, err error) {
	p.Kinds = []string{"message", "edited_message", "callback_query"}
	var v jsontext.Value
	err = c.api.call(ctx, limit, "getUpdates", p, &v)
	return v, err
}

// take handles the updates of one poll: the stops in it before anything else.
func (c *Channel) take(ups []update) {
	var halted []stop
	for i := range ups {
		if s, ok := c.stopIn(&ups[i]); ok {
			halted = append(halted, s)
		}
	}
	if len(halted) > 0 {
		first := halted[0]
		for _, s := range halted { // the stronger one stands for all of them
			if s.kind == gate.StopEmergency {
				first = s
				break
			}
		}
		c.halt(first)
	}
	for i := range ups {
		u := &ups[i]
		if _, ok := c.stopIn(u); ok {
			continue
		}
		switch {
		case u.Press != nil:
			c.press(u.Press)
		case u.Message != nil:
			c.said(u.Message)
		}
	}
}

// ring remembers the ids of updates, so that one that comes twice, in whatever order,
// is taken once. Ids aren't compared by size, since they may begin anew.
type ring struct {
	ids  [maxKnown]int64
	has  map[int64]bool
	next int
}

func (r *ring) fresh(ups []update) []update {
	if r.has == nil {
		r.has = map[int64]bool{}
	}
	out := ups[:0]
	for _, u := range ups {
		if r.has[u.ID] {
			continue
		}
		if len(r.has) == maxKnown {
			delete(r.has, r.ids[r.next])
		}
		r.has[u.ID] = true
		r.ids[r.next] = u.ID
		r.next = (r.next + 1) % maxKnown
		out = append(out, u)
	}
	return out
}
