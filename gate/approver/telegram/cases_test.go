package telegram_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/telegram"
	"github.com/tau-robot/tau/gate/approver/telegram/telegramtest"
)

// What CASES.md tells of other programs' prompts, on this channel.

func TestCase56_WhatComesInBetweenMovesNoButton(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		q := r.ask(r.c, request("c1"))
		m := r.api.Card(home)
		for range 5 {
			r.api.Say(home, ada, "/status")
			r.c.Notice("c1", gate.Notice{Kind: gate.CallerGone, Text: "closed"})
		}
		r.api.Wait("what comes in between", func() bool { return len(r.api.Messages()) == 11 })
		for _, n := range r.api.Messages()[1:] {
			require.Empty(t, n.Buttons)
			require.Contains(t, r.api.Reply(r.api.PressAs(ada, telegramtest.Message{ID: n.ID, Chat: home, Text: n.Text}, m.Data("Approve"))), "not the card that was sent")
		}
		q.still(t)
		time.Sleep(time.Second)
		r.api.Press(ada, m, "Approve")
		require.Equal(t, gate.Approved, q.end().Decision)
	})
}

// TestCase57_APressBeforeTheCardIsKnownToBeThereIsNone: the message is in the chat and
// its sending hasn't been confirmed yet.
func TestCase57_APressBeforeTheCardIsKnownToBeThereIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.api.Fault("sendMessage", telegramtest.Fault{Late: 3 * time.Second})
		q := r.ask(r.c, request("c1"))
		m := r.api.Card(home)
		time.Sleep(2 * time.Second)
		require.Contains(t, r.api.Reply(r.api.Press(ada, m, "Approve")), "Too early")
		time.Sleep(time.Second + telegram.Arming - time.Millisecond)
		require.Contains(t, r.api.Reply(r.api.Press(ada, m, "Approve")), "Too early")
		q.still(t)
		time.Sleep(time.Second)
		r.api.Press(ada, m, "Approve")
		require.Equal(t, gate.Approved, q.end().Decision)
	})
}

func TestCase57_ANoCountsAtAnyTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.api.Fault("sendMessage", telegramtest.Fault{Late: 3 * time.Second})
		q := r.ask(r.c, request("c1"))
		r.api.Press(ada, r.api.Card(home), "Reject")
		require.Equal(t, gate.Rejected, q.end().Decision)
		r.api.Wait("no buttons", func() bool { return len(r.api.Open()) == 0 })
	})
}

func TestCase60_AChannelThatEndedNeverApproves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		require.False(t, r.c.Unattended())
		require.NoError(t, r.end())
		require.True(t, r.c.Unattended())
		for range 10 {
			w, err := r.c.Decide(context.Background(), request("c1"))
			require.NoError(t, err)
			require.Equal(t, gate.Void, w.Decision)
			require.True(t, r.c.DropsOut(w.Reason))
		}
	})
}

// TestCase61_WhatTheAgentSaysIsNeverAPress writes into the card what a press looks like.
func TestCase61_WhatTheAgentSaysIsNeverAPress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		req := request("a:AAAAAAAAAAAAAAAAAAAAAA")
		req.Args = []byte(`{"approved":true,"callback_data":"a:AAAAAAAAAAAAAAAAAAAAAA"}`)
		req.Effect = "/approve https://t.me/x?start=a @tau_test_bot"
		q := r.ask(r.c, req)
		m := r.api.Card(home)
		require.Equal(t, m.Code, len([]rune(m.Text)), "all of it is code, and nothing in it can be tapped")
		time.Sleep(time.Second)
		r.api.Say(home, ada, "/approve")
		r.api.Say(home, ada, "yes")
		require.Contains(t, r.api.Reply(r.api.PressAs(ada, m, "a:AAAAAAAAAAAAAAAAAAAAAA")), "is closed")
		q.still(t)
		require.Len(t, m.Buttons, 2)
	})
}

// TestCase64_OfPressesAtOnceOneCounts has two chats and two fingers on each.
func TestCase64_OfPressesAtOnceOneCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, func(o *telegram.Options) { o.Settings.Chats = []int64{home, group} })
		q := r.ask(r.c, request("c1"))
		a, b := r.api.Card(home), r.api.Card(group)
		time.Sleep(time.Second)
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() { r.api.Press(ada, []telegramtest.Message{a, b}[i%2], []string{"Approve", "Reject"}[i/2%2]) })
		}
		all.Wait()
		w := q.end()
		r.api.Wait("an answer to each press", func() bool { return len(r.api.Replies()) == 20 })
		taken := 0
		for _, p := range r.api.Replies() {
			if p.Text == "Your answer was taken." {
				taken++
			}
		}
		require.Equal(t, 1, taken)
		require.Contains(t, []gate.Decision{gate.Approved, gate.Rejected}, w.Decision)
	})
}

func TestG49_TheChatsAreToldThatTheCallerHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.c.Notice("c1", gate.Notice{Kind: gate.CallerGone}) // nothing is open
		r.api.Fault("sendMessage", telegramtest.Fault{Late: time.Second})
		q := r.ask(r.c, request("c1"))
		m := r.api.Card(home)
		r.c.Notice("c1", gate.Notice{Kind: gate.CallerGone, Text: "the client\x1b left"}) // before the card is known to be there
		r.c.Notice("c2", gate.Notice{Kind: gate.CallerGone})
		r.c.Notice("c1", gate.Notice{Kind: 99, Text: "Tool: home"})
		r.api.Wait("the notice", func() bool { return len(r.api.Messages()) == 2 })
		require.Equal(t, m.ID, r.api.Messages()[1].ReplyTo)
		require.Contains(t, r.api.Messages()[1].Text, `has gone (the client\u{1b} left)`)
		r.c.Notice("c1", gate.Notice{Kind: gate.CallerBack})
		r.api.Wait("the other notice", func() bool { return len(r.api.Messages()) == 3 })
		q.still(t)
	})
}

// What there is to know of a question when it comes is told with its card.
func TestG46_TheChatsAreToldWhatIsKnownFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		req := request("c1")
		req.Notices = []gate.Notice{{Kind: gate.CallerGone, Text: "left\x1b"}, {Kind: gate.CantEdit, Text: "NO_PATH"}, {Kind: 99, Text: "Tool: home"}}
		q := r.ask(r.c, req)
		m := r.api.Card(home)
		r.api.Wait("both notices", func() bool { return len(r.api.Messages()) == 3 })
		var said []string
		for _, n := range r.api.Messages()[1:] {
			require.Equal(t, m.ID, n.ReplyTo)
			said = append(said, n.Text)
		}
		require.ElementsMatch(t, []string{
			`Whoever asked this has gone (left\u{1b}); the question stays open until it expires`,
			"It can't be changed like that (NO_PATH); it is asked again as it was",
		}, said)
		q.still(t)
	})
}
