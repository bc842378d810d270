package telegram_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/desk"
	"github.com/tau-robot/tau/gate/approver/telegram"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/gate/words"
)

func deskOf(cs ...gate.Approver) gate.Approver { return desk.New(desk.Options{Channels: cs}) }

func TestG10_AnAnswerElsewhereTakesTheButtonsAwayAndWaitsForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		shown := make(chan struct{})
		step := gatetest.Approve()
		step.Do = func(context.Context, gate.Request) { <-shown }
		q := r.ask(deskOf(gatetest.Script(t, step), r.c), request("c1"))
		r.api.Card(home)
		synctest.Wait() // it is known to be there
		// Telegram hangs from now on: the answer given elsewhere mustn't.
		r.api.Fault("editMessageText", hang)
		close(shown)
		require.Equal(t, gate.Approved, q.end().Decision)
		require.Len(t, r.api.Open(), 1, "it is answered before Telegram is")
		r.api.Wait("the end of the card", func() bool { return len(r.api.Open()) == 0 })
		require.Contains(t, r.api.Messages()[0].Text, "answered elsewhere")
	})
}

func TestG30_ACardThatDoesNotFitOneMessageIsRefusedThere(t *testing.T) {
	for name, c := range map[string]struct {
		over int
		want bool
	}{"it fits to the unit": {0, true}, "one unit more": {1, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t)
				req := request("c1")
				fill(t, &req, telegram.MaxUnits+c.over)
				q := r.ask(deskOf(r.c), req)
				if c.want {
					m := r.api.Card(home)
					require.Equal(t, telegram.Card(words.English, req), m.Text)
					q.stop(nil)
					q.end()
					// How it ended doesn't fit under it, so it stands in a reply.
					r.api.Wait("the end of the card", func() bool { return len(r.api.Open()) == 0 && len(r.api.Messages()) == 2 })
					require.Equal(t, m.ID, r.api.Messages()[1].ReplyTo)
					require.Contains(t, r.api.Messages()[1].Text, "withdrawn")
					return
				}
				require.Equal(t, gate.Word{Decision: gate.Void, Reason: telegram.ReasonTooLong}, q.end())
				r.api.Wait("the notice", func() bool { return len(r.api.Messages()) == 1 })
				require.Contains(t, r.api.Messages()[0].Text, "its card has 4097 characters and one message holds 4096")
				require.Empty(t, r.api.Open())
			})
		})
	}
}

func TestG30_ATooLongCardLeavesTheQuestionToTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		req := request("c1")
		fill(t, &req, telegram.MaxUnits+1)
		told := make(chan struct{})
		step := gatetest.Approve()
		step.Do = func(context.Context, gate.Request) { <-told }
		q := r.ask(deskOf(r.c, gatetest.Script(t, step)), req)
		r.api.Wait("the notice", func() bool { return len(r.api.Messages()) == 1 })
		q.still(t)
		close(told)
		require.Equal(t, gate.Approved, q.end().Decision)
	})
}

func TestCase53_54_55_WhatAnAgentWroteIsEscapedInTheMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		req := request("c1")
		req.Args = []byte(`{"note":"\u001b[2Jx\u202ey <b>*_` + "`" + `"}`)
		req.Effect = "a\u200bb\r\nApprove? [y/N] y"
		r.ask(r.c, req)
		m := r.api.Card(home)
		for _, r := range m.Text {
			require.False(t, r < ' ' && r != '\n' || r == 0x202e || r == 0x200b, "%q", r)
		}
		require.Contains(t, m.Text, `\u{1b}[2Jx\u{202e}y <b>*_`)
		require.Contains(t, m.Text, `a\u{200b}b\u{d}\u{a}Approve`)
	})
}
