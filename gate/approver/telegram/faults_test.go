package telegram_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/telegram"
	"github.com/tau-robot/tau/gate/approver/telegram/telegramtest"
	"github.com/tau-robot/tau/gate/words"
)

var hang = telegramtest.Fault{Delay: 9 * time.Second}

// fill makes a request whose card has exactly so many units, some of them in pairs.
func fill(t *testing.T, req *gate.Request, want int) {
	t.Helper()
	req.Card.Facts = append(req.Card.Facts, gate.Fact{Label: "Note", Text: "😀😀😀 "})
	have := len(utf16.Encode([]rune(telegram.Card(words.English, *req))))
	req.Card.Facts[1].Text += strings.Repeat("x", want-have)
	require.Equal(t, want, len(utf16.Encode([]rune(telegram.Card(words.English, *req)))))
}

func TestACardIsSentAgainAfterAFailureAndOnlyTheNewOneCounts(t *testing.T) {
	for name, f := range map[string]telegramtest.Fault{
		"5xx": {Status: 502}, "429": {Status: 429, RetryAfter: 7}, "cut": {Cut: true}, "cut behind the act": {Cut: true, Act: true},
		"not JSON": {Body: "<html>"}, "no result": {Body: `{"ok":true}`}, "5xx behind the act": {Status: 500, Act: true}, "too slow": {Delay: 11 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t)
				r.api.Fault("sendMessage", f)
				began := time.Now()
				q := r.ask(r.c, request("c1"))
				r.api.Wait("the second attempt", func() bool { return r.api.Calls("sendMessage") == 2 })
				if f.RetryAfter > 0 {
					require.GreaterOrEqual(t, time.Since(began), 7*time.Second, "retry_after is honoured")
				}
				synctest.Wait()
				open := r.api.Open()
				time.Sleep(time.Second)
				if len(open) == 2 { // the first got there, and nobody knows
					require.Contains(t, r.api.Reply(r.api.Press(ada, open[0], "Approve")), "is closed")
					q.still(t)
					r.api.Wait("the first one's buttons are taken away", func() bool { return len(r.api.Open()) == 1 })
				}
				r.api.Press(ada, open[len(open)-1], "Approve")
				require.Equal(t, gate.Approved, q.end().Decision)
			})
		})
	}
}

func TestACardThatReachesNoChatIsVoidWithItsReason(t *testing.T) {
	for name, f := range map[string]telegramtest.Fault{
		"blocked": {Status: 403}, "no such chat": {Status: 400}, "5xx for ever": {Status: 500},
		"altered": {Rewrite: func(s string) string { return strings.ReplaceAll(s, "31 mm", "91 mm") }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t)
				r.api.Fault("sendMessage", f, f, f, f)
				q := r.ask(deskOf(r.c), request("c1"))
				require.Equal(t, gate.Word{Decision: gate.Void, Reason: telegram.ReasonUnreachable}, q.end())
				r.api.Wait("no buttons", func() bool { return len(r.api.Open()) == 0 })
			})
		})
	}
}

func TestOneChatThatFailsLeavesTheQuestionInTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, func(o *telegram.Options) { o.Settings.Chats = []int64{home, group} })
		r.api.Fault("sendMessage", telegramtest.Fault{Status: 403})
		q := r.ask(r.c, request("c1"))
		r.api.Wait("a card", func() bool { return len(r.api.Open()) == 1 })
		time.Sleep(time.Minute)
		q.still(t)
		r.api.Press(ada, r.api.Open()[0], "Reject")
		require.Equal(t, gate.Rejected, q.end().Decision)
	})
}

func TestACardThatArrivesLateIsTakenAwayAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.api.Fault("sendMessage", telegramtest.Fault{Delay: 5 * time.Second, Act: true})
		q := r.ask(r.c, request("c1"))
		time.Sleep(time.Second)
		q.stop(nil)
		q.end()
		require.Empty(t, r.api.Messages())
		r.api.Wait("a card without buttons", func() bool { return len(r.api.Messages()) == 1 && len(r.api.Open()) == 0 })
		require.Contains(t, r.api.Messages()[0].Text, "withdrawn")
	})
}

func TestTakingTheButtonsAwayInsists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		q := r.ask(r.c, request("c1"))
		r.api.Card(home)
		r.api.Fault("editMessageText", telegramtest.Fault{Status: 500}, telegramtest.Fault{Cut: true, Act: true}, telegramtest.Fault{Status: 429, RetryAfter: 9})
		q.stop(nil)
		q.end()
		r.api.Wait("it is done, and known to be", func() bool { return r.api.Calls("editMessageText") == 4 })
		require.Empty(t, r.api.Open())
		synctest.Wait()
		time.Sleep(time.Minute)
		require.Equal(t, 4, r.api.Calls("editMessageText"), "'not modified' is done")
	})
}

// TestPollingSurvivesWhatComes has each poll go wrong in its own way with a press
// behind it, which still counts.
func TestPollingSurvivesWhatComes(t *testing.T) {
	for name, f := range map[string]telegramtest.Fault{
		"5xx": {Status: 503}, "429": {Status: 429, RetryAfter: 30}, "cut": {Cut: true}, "not JSON": {Body: "{"}, "not updates": {Body: `{"ok":true,"result":7}`},
		"nothing": {Body: `{"ok":true,"result":null}`}, "409": {Status: 409}, "redirect": {Status: 302}, "huge": {Body: strings.Repeat(" ", 4<<20+1)},
		"for ever": {Delay: time.Hour}, "duplicate names": {Body: `{"ok":true,"ok":true,"result":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t)
				q := r.ask(r.c, request("c1"))
				m := r.api.Card(home)
				r.api.Fault("getUpdates", f)
				r.api.Say(home, ada, "hello") // ends the poll that is open; the next one goes wrong
				r.api.Wait("the poll that goes wrong", func() bool { return r.api.Calls("getUpdates") >= 3 })
				time.Sleep(time.Second)
				r.api.Press(ada, m, "Approve")
				require.Equal(t, gate.Approved, q.end().Decision)
				if f.Status == 409 {
					require.Contains(t, r.log.String(), "another program polls this bot")
				}
			})
		})
	}
}

func TestPollingWaitsLongerAndAsLongAsItIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var at []time.Time
		var fs []telegramtest.Fault
		for range 8 {
			fs = append(fs, telegramtest.Fault{Status: 500})
		}
		fs = append(fs, telegramtest.Fault{Status: 429, RetryAfter: 100})
		r.api.Fault("getUpdates", fs...)
		r.api.Patience = 10 * time.Minute
		r.run()
		for i := range 10 {
			r.api.Wait("a poll", func() bool { return r.api.Calls("getUpdates") > i })
			at = append(at, time.Now())
			if i < 9 {
				synctest.Wait()
			}
		}
		for i, want := range []time.Duration{500, 1000, 2000, 4000, 8000, 15000, 15000, 15000, 115000} { // ms: half of the whole, since the test's jitter is 0
			require.Equal(t, want*time.Millisecond, at[i+1].Sub(at[i]), i)
		}
	})
}

func TestUpdatesTwiceOutOfOrderBrokenOrRenumbered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		say := func(id int64, text string) string {
			return fmt.Sprintf(`{"update_id":%d,"message":{"message_id":1,"date":1,"from":{"id":1},"chat":{"id":100},"text":%q}}`, id, text)
		}
		r.api.Raw(1000, say(1000, "/stop one"))
		r.api.Raw(1000, say(1000, "/stop one"))
		r.api.Wait("the first stop", func() bool { return len(r.api.Messages()) == 1 })
		r.api.Raw(1003, say(1003, "/stop two"))
		r.api.Raw(1002, say(1002, "/stop two"))
		r.api.Raw(1004, `{"update_id":1004,"message":"a new kind"}`)
		r.api.Raw(1005, `{"update_id":1005,"update_id":1005}`)
		r.api.Raw(1006, say(1006, "/status"))
		r.api.Wait("an answer", func() bool { return len(r.api.Messages()) >= 3 })
		for _, s := range r.stopped() {
			require.NotContains(t, s, "three")
		}
		n := len(r.stopped())
		time.Sleep(time.Minute) // of polls that find nothing
		// After a week without updates Telegram goes on at any number.
		r.api.Raw(5, say(5, "/stop three"))
		r.api.Wait("the stop with a small number", func() bool { return len(r.stopped()) > n })
		require.Contains(t, r.stopped()[n], "stop|three|telegram:1")
	})
}
