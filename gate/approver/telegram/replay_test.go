package telegram_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/telegram/telegramtest"
)

// Presses on what isn't asked any more, or not like that.

// TestCase62_Case63_APressOnWhatWasAskedBeforeIsNone: the same id is asked again with one
// thing changed, and the card before it keeps its buttons, because taking them away failed.
func TestCase62_Case63_APressOnWhatWasAskedBeforeIsNone(t *testing.T) {
	for name, change := range map[string]func(*gate.Request){
		"other arguments": func(q *gate.Request) { q.Args = []byte(`{"q":[3.1]}`) },
		"another tool":    func(q *gate.Request) { q.Tool = "home" },
		"another schema":  func(*gate.Request) {}, // only the digest knows
		"another driver":  func(q *gate.Request) { q.Session.Backend = "real" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t)
				r.api.Fault("editMessageText", telegramtest.Fault{Status: 400})
				first := r.ask(r.c, request("c1"))
				old := r.api.Card(home)
				first.stop(nil)
				require.NotEqual(t, gate.Approved, first.end().Decision)
				r.api.Wait("the edit that fails", func() bool { return r.api.Calls("editMessageText") == 1 })

				req := request("c1")
				req.Digest[0] ^= 1
				change(&req)
				q := r.ask(r.c, req)
				r.api.Wait("the second card", func() bool { return len(r.api.Open()) == 2 })
				now := r.api.Open()[1]
				require.NotEqual(t, old.Text, now.Text, "a person can tell them apart")
				time.Sleep(time.Second)
				for what, press := range map[string]string{
					"the old card":            r.api.Press(ada, old, "Approve"),
					"its data on the new":     r.api.PressAs(ada, now, old.Data("Approve")),
					"the new one's on it":     r.api.PressAs(ada, old, now.Data("Approve")),
					"the new one, other text": r.api.PressAs(ada, telegramtest.Message{ID: now.ID, Chat: home, Text: old.Text}, now.Data("Approve")),
				} {
					require.NotContains(t, r.api.Reply(press), "was taken", what)
					q.still(t)
				}
				r.api.Press(ada, now, "Approve")
				require.Equal(t, gate.Approved, q.end().Decision)
			})
		})
	}
}

// TestCase66_AnOldPressDoesNotCountAgain: a press that was taken is delivered again, by
// Telegram or by somebody who kept it, when the same request is open once more.
func TestCase66_AnOldPressDoesNotCountAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		req := request("c1")
		q := r.ask(r.c, req)
		old := r.api.Card(home)
		time.Sleep(time.Second)
		r.api.Press(ada, old, "Approve")
		require.Equal(t, gate.Approved, q.end().Decision)
		r.api.Wait("the end of the first card", func() bool { return len(r.api.Open()) == 0 })

		again := r.ask(r.c, req) // digest and all, as if nothing were known of it any more
		now := r.api.Card(home)
		time.Sleep(time.Second)
		for range 3 {
			require.NotContains(t, r.api.Reply(r.api.Press(ada, old, "Approve")), "was taken")
			require.NotContains(t, r.api.Reply(r.api.PressAs(ada, now, old.Data("Approve"))), "was taken")
		}
		again.still(t)

		// Another process that knows nothing of the first.
		require.NoError(t, r.end())
		require.NotEqual(t, gate.Approved, again.end().Decision)
		next := newRig(t)
		next.api.Adopt(r.api)
		next.run()
		next.api.Wait("the first poll", func() bool { return next.api.Calls("getUpdates") >= 2 })
		third := next.ask(next.c, req)
		card := next.api.Card(home)
		time.Sleep(time.Second)
		for _, m := range []telegramtest.Message{old, now} {
			require.NotContains(t, next.api.Reply(next.api.Press(ada, m, "Approve")), "was taken")
			require.NotContains(t, next.api.Reply(next.api.PressAs(ada, card, m.Data("Approve"))), "was taken")
		}
		third.still(t)
		next.api.Press(ada, card, "Reject")
		require.Equal(t, gate.Rejected, third.end().Decision)
	})
}
