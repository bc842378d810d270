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
)

func TestG6_StopsFromAListedChatActAtOnce(t *testing.T) {
	for text, want := range map[string]string{
		"/stop": "stop||telegram:1", "/estop": "estop||telegram:1", "/STOP" + "  now, please ": "stop|now, please|telegram:1", "\n/estop": "estop||telegram:1",
		"/stop@tau_test_bot": "stop||telegram:1", "/estop@other": "estop||telegram:1", "/stop\nreason": "stop|reason|telegram:1",
	} {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t)
				r.api.Say(home, ada, text)
				r.api.Wait("the verdict", func() bool { return len(r.api.Messages()) == 1 })
				require.Equal(t, []string{want}, r.stopped())
				require.Contains(t, r.api.Messages()[0].Text, "sim: commanded yes, acknowledged yes, stationary yes")
			})
		})
	}
}

func TestG6_AStopOvertakesThePressInTheSameUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		q := r.ask(r.c, request("c1"))
		m := r.api.Card(home)
		time.Sleep(time.Second)
		// The poller is away while both are sent, the press first.
		r.api.Fault("getUpdates", telegramtest.Fault{Status: 500})
		r.api.Say(home, ada, "wake up")
		r.api.Wait("the poll that goes wrong", func() bool { return r.api.Calls("getUpdates") >= 3 })
		press := r.api.Press(ada, m, "Approve")
		r.api.Say(home, ada, "/estop")
		require.Contains(t, r.api.Reply(press), "Everything was stopped")
		synctest.Wait()
		require.Equal(t, []string{"estop||telegram:1"}, r.stopped())
		q.still(t) // it ends with the gate's stop, as stopped
		late := r.api.Press(ada, m, "Approve")
		require.Contains(t, r.api.Reply(late), "Everything was stopped")
		q.still(t)
	})
}

func TestG6_AStopWaitsForNoStopAndNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		began := make(chan gate.StopKind, 2)
		r := start(t, func(o *telegram.Options) {
			o.Stop = func(_ context.Context, kind gate.StopKind, _, _ string) []gate.StopVerdict {
				began <- kind
				<-release
				return nil
			}
		})
		// What answers is busy for long.
		r.api.Fault("sendMessage", hang, hang, hang)
		for range 3 {
			r.api.Say(home, ada, "/status")
		}
		r.api.Say(home, ada, "/stop")
		before := time.Now()
		require.Equal(t, gate.StopControlled, <-began)
		r.api.Say(home, ada, "/estop")
		require.Equal(t, gate.StopEmergency, <-began)
		require.Zero(t, time.Since(before))
		close(release)
	})
}

func TestG6_AStopMayBeAMessageThatWasCorrected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.api.Push(`"edited_message":{"message_id":1,"date":1,"from":{"id":1},"chat":{"id":100},"text":"/stop"}`)
		r.api.Wait("the stop", func() bool { return len(r.stopped()) == 1 })
	})
}

func TestStrangersAreNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, func(o *telegram.Options) { o.Settings.Chats = []int64{home, group} })
		for i := range int64(300) {
			r.api.Say(1000+i, mallory, "/estop")
		}
		r.api.Say(group, mallory, "/stop")
		r.api.Say(999, ada, "/stop") // a chat that isn't listed
		r.api.Push(`"message":{"message_id":1,"date":1,"chat":{"id":100},"text":"/stop"}`)
		r.api.Push(`"message":{"message_id":1,"date":1,"from":{"id":1,"is_bot":true},"chat":{"id":100},"text":"/stop"}`)
		r.api.Say(home, ada, "/status")
		r.api.Wait("the answer to whom is listed", func() bool { return len(r.api.Messages()) == 1 })
		require.Equal(t, "all is well", r.api.Messages()[0].Text)
		require.Empty(t, r.stopped())
		require.Contains(t, r.log.String(), "chat=1005 user=66", "an operator finds the id of his chat")
		require.NotContains(t, r.log.String(), "chat=1250", "and nobody can fill the log")
	})
}

func TestG10_WhatWasSentBeforeTheStartNeverCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for i := range 5 {
			r.api.Say(home, ada, fmt.Sprint("/stop ", i))
		}
		r.run()
		r.api.Wait("the first poll", func() bool { return r.api.Calls("getUpdates") >= 2 })
		synctest.Wait()
		require.Empty(t, r.stopped())
		r.api.Say(home, ada, "/stop now")
		r.api.Wait("the stop", func() bool { return len(r.stopped()) == 1 })
		require.Equal(t, []string{"stop|now|telegram:1"}, r.stopped())
	})
}

func TestG10_NothingIsAskedBeforeTheBacklogIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.api.Fault("getUpdates", telegramtest.Fault{Status: 500}, telegramtest.Fault{Status: 500})
		q := r.ask(r.c, request("c1"))
		r.run()
		r.api.Wait("two failures", func() bool { return r.api.Calls("getUpdates") == 2 })
		require.Empty(t, r.api.Messages())
		r.api.Card(home)
		require.GreaterOrEqual(t, r.api.Calls("getUpdates"), 3)
		q.still(t)
	})
}

func TestAPressOnACardOfAnEarlierProcessTakesItsButtonsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.api.Fault("editMessageText", telegramtest.Fault{Status: 400})
		q := r.ask(r.c, request("c1"))
		m := r.api.Card(home)
		q.stop(nil) // the edit fails for good, as if the process had been killed
		q.end()
		time.Sleep(time.Second)
		require.Len(t, r.api.Open(), 1)
		require.Contains(t, r.api.Reply(r.api.Press(ada, m, "Approve")), "is closed")
		r.api.Wait("no buttons", func() bool { return len(r.api.Open()) == 0 })
	})
}
