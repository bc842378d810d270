package telegram_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/telegram"
	"github.com/tau-robot/tau/gate/approver/telegram/telegramtest"
	"github.com/tau-robot/tau/gate/words"
)

func TestG31_APressOnTheCardDecidesOnceAndTakesTheButtonsAway(t *testing.T) {
	for label, want := range map[string]gate.Decision{"Approve": gate.Approved, "Reject": gate.Rejected} {
		t.Run(label, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t)
				req := request("c1")
				q := r.ask(r.c, req)
				m := r.api.Card(home)
				require.Equal(t, telegram.Card(words.English, req), m.Text, "the whole card, and nothing else")
				require.Contains(t, m.Text, "⚠️  Approval needed (tier 2)")
				require.Equal(t, len(m.Text)-4, m.Code, "all of it is code, so that nothing in it becomes a link") // the sign is 6 bytes and 2 units
				require.False(t, m.Preview, "Telegram would fetch an address in it")
				time.Sleep(time.Second)
				id := r.api.Press(ada, m, label)
				require.Equal(t, gate.Word{Decision: want, Reason: telegram.ReasonAnswered, By: "telegram:1"}, q.end())
				require.Equal(t, "Your answer was taken.", r.api.Reply(id))
				r.api.Wait("the end of the card", func() bool { return len(r.api.Open()) == 0 })
				require.Contains(t, r.api.Messages()[0].Text, "P (1) pressed "+label+" at 00:00:01 UTC.")
				again := r.api.Press(ada, m, label)
				require.Contains(t, r.api.Reply(again), "is closed")
			})
		})
	}
}

func TestG31_OnlyTheListedPressOnExactlyThatMessageApproves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, func(o *telegram.Options) { o.Settings.Chats = []int64{home, group} })
		first := r.ask(r.c, request("c1"))
		old := r.api.Card(home)
		first.stop(nil)
		first.end()
		r.api.Wait("the end of the first card", func() bool { return len(r.api.Open()) == 0 })

		// The same call asked again: the same id, tool and digest.
		q := r.ask(r.c, request("c1"))
		m, g := r.api.Card(home), r.api.Card(group)
		require.NotEqual(t, old.Data("Approve"), m.Data("Approve"), "bound to this asking, not to the call")
		require.NotEqual(t, g.Data("Approve"), m.Data("Approve"), "bound to one chat's message")
		early := r.api.Press(ada, m, "Approve")
		require.Contains(t, r.api.Reply(early), "Too early")
		time.Sleep(time.Second)

		other := func(f func(m *telegramtest.Message)) telegramtest.Message {
			c := m
			f(&c)
			return c
		}
		yes := m.Data("Approve")
		for name, press := range map[string]func() string{
			"another user":             func() string { return r.api.Press(mallory, m, "Approve") },
			"another chat":             func() string { return r.api.PressAs(ada, other(func(m *telegramtest.Message) { m.Chat = 999 }), yes) },
			"another listed chat":      func() string { return r.api.PressAs(ada, other(func(m *telegramtest.Message) { m.Chat = group }), yes) },
			"another message":          func() string { return r.api.PressAs(ada, other(func(m *telegramtest.Message) { m.ID += 40 }), yes) },
			"another text":             func() string { return r.api.PressAs(ada, other(func(m *telegramtest.Message) { m.Text += "." }), yes) },
			"the earlier asking":       func() string { return r.api.Press(ada, old, "Approve") },
			"its data on this message": func() string { return r.api.PressAs(ada, m, old.Data("Approve")) },
			"the call's id":            func() string { return r.api.PressAs(ada, m, "a:c1") },
			"no nonce":                 func() string { return r.api.PressAs(ada, m, "a:") },
			"no data":                  func() string { return r.api.PressAs(ada, m, "") },
			"another verb":             func() string { return r.api.PressAs(ada, m, "x:"+yes[2:]) },
		} {
			text := r.api.Reply(press())
			require.NotContains(t, text, "was taken", name)
			q.still(t)
		}
		for name, raw := range map[string]string{
			"forwarded":         `"message":{"message_id":%d,"date":1,"from":{"id":7001,"is_bot":true},"chat":{"id":100},"text":%q,"forward_origin":{"type":"user"}}`,
			"forwarded, old":    `"message":{"message_id":%d,"date":1,"from":{"id":7001,"is_bot":true},"chat":{"id":100},"text":%q,"forward_date":1}`,
			"not to be seen":    `"message":{"message_id":%d,"date":0,"from":{"id":7001,"is_bot":true},"chat":{"id":100},"text":%q}`,
			"somebody else's":   `"message":{"message_id":%d,"date":1,"from":{"id":1},"chat":{"id":100},"text":%q}`,
			"inline":            `"inline_message_id":"7","message":{"message_id":%d,"date":1,"from":{"id":7001,"is_bot":true},"chat":{"id":100},"text":%q}`,
			"no message at all": `"x":[%d,%q]`,
		} {
			r.api.Push(fmt.Sprintf(`"callback_query":{"id":"press-1","from":{"id":1,"first_name":"P"},"data":%q,`+raw+`}`, yes, m.ID, m.Text))
			r.api.Push(fmt.Sprintf(`"callback_query":{"id":"press-1","from":{"id":1,"is_bot":true},"data":%q,"message":{"message_id":%d,"date":1,"from":{"id":7001},"chat":{"id":100},"text":%q}}`, yes, m.ID, m.Text))
			synctest.Wait()
			require.NotEmpty(t, name)
			q.still(t)
		}
		require.Len(t, r.api.Open(), 2, "the question is still asked in both chats")
		r.api.Press(ada, g, "Approve")
		r.api.Press(ada, m, "Reject") // the second one comes too late
		require.Equal(t, gate.Approved, q.end().Decision)
		r.api.Wait("the end in both chats", func() bool { return len(r.api.Open()) == 0 })
	})
}

func TestCase59_WithoutAnAnswerTheButtonsGoAfterFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		q := r.ask(deskOf(r.c), request("c1"))
		m := r.api.Card(home)
		time.Sleep(5*time.Minute - time.Second)
		q.still(t)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Len(t, q.word, 1, "the time is over")
		require.Equal(t, gate.Word{Decision: gate.TimedOut, Reason: telegram.ReasonTimeout}, q.end())
		r.api.Wait("the end of the card", func() bool { return len(r.api.Open()) == 0 })
		require.Contains(t, r.api.Messages()[0].Text, "nobody answered here in time")
		require.Contains(t, r.api.Reply(r.api.Press(ada, m, "Approve")), "is closed")
	})
}

func TestCase65_AnExpiredRequestIsNotApproved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		req := request("c1")
		req.Expiry = time.Now().Add(10 * time.Second)
		q := r.ask(r.c, req)
		m := r.api.Card(home)
		time.Sleep(10 * time.Second)
		require.Contains(t, r.api.Reply(r.api.Press(ada, m, "Approve")), "is closed")
		q.still(t)
	})
}

func TestG10_HowAQuestionEndsElsewhereIsSaidUnderItsCard(t *testing.T) {
	for name, c := range map[string]struct {
		cause error
		want  string
	}{
		"withdrawn": {gate.Errf(gate.CodeCancelled, "", "the caller cancelled"), "withdrawn"},
		"stopped":   {gate.Errf(gate.CodeStopped, "", "a stop"), "Closed by a stop"},
		"expired":   {gate.Errf(gate.CodeRequestExpired, "", "late"), "in time"},
		"unnamed":   {nil, "withdrawn"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t)
				q := r.ask(r.c, request("c1"))
				r.api.Card(home)
				q.stop(c.cause)
				require.NotEqual(t, gate.Approved, q.end().Decision)
				r.api.Wait("the end of the card", func() bool { return len(r.api.Open()) == 0 })
				require.Contains(t, r.api.Messages()[0].Text, c.want)
			})
		})
	}
}

// over is a context that has ended and hasn't said so yet: what Decide finds when a press
// and the end of the question come together.
type over struct{ context.Context }

func (over) Done() <-chan struct{} { return nil }
func (over) Err() error            { return context.Canceled }

func TestG9_APressThatComesWithTheEndOfTheQuestionIsNoWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		q := &asked{t: t, word: make(chan gate.Word, 1)}
		go func() {
			w, err := r.c.Decide(over{t.Context()}, request("c1"))
			if err == nil {
				q.word <- w
			}
		}()
		m := r.api.Card(home)
		time.Sleep(time.Second)
		r.api.Press(ada, m, "Approve")
		require.Equal(t, gate.Word{Decision: gate.Rejected, Reason: telegram.ReasonWithdrawn}, q.end())
		r.api.Wait("the end of the card", func() bool { return len(r.api.Open()) == 0 })
		require.Contains(t, r.api.Messages()[0].Text, "Nothing was approved")
	})
}
