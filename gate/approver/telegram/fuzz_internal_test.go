package telegram

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/words"
)

type nowhere struct{}

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) { return nil, context.Canceled }

// FuzzUpdates takes whatever a server could send. Nothing panics, what wasn't armed by
// knowing a nonce approves nothing, and only a listed person's stop stops.
func FuzzUpdates(f *testing.F) {
	for _, s := range []string{
		`[]`, `null`, `[{"update_id":1}]`, `[{"update_id":-1},7,null,"x"]`,
		`[{"update_id":1,"message":{"message_id":1,"date":1,"from":{"id":1},"chat":{"id":100},"text":"/stop now"}}]`,
		`[{"update_id":1,"edited_message":{"chat":{"id":100},"text":"/estop@x"}}]`,
		`[{"update_id":2,"callback_query":{"id":"1","from":{"id":1},"message":{"message_id":5,"date":1,"from":{"id":7},"chat":{"id":100},"text":"card"},"data":"a:AAAAAAAAAAAAAAAAAAAAAA"}}]`,
		`[{"update_id":2,"callback_query":{"id":"1","from":{"id":1},"message":{"message_id":5,"chat":{"id":100}},"data":"a:known"}}]`,
		`[{"update_id":2,"callback_query":{"id":"1","from":{"id":1},"message":{"message_id":5,"chat":{"id":100}},"data":"r:known"}}]`,
		`[{"update_id":9223372036854775807},{"update_id":9223372036854775808},{"update_id":1,"update_id":2}]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		stops := make(chan string, 1)
		token, err := NewToken("7:" + strings.Repeat("a", 35))
		require.NoError(t, err)
		c, err := New(Options{
			Settings: Settings{TokenFile: "/t", Chats: []int64{100}, Users: []int64{1}}, Token: token, Transport: nowhere{},
			Stop: func(_ context.Context, _ gate.StopKind, _, by string) []gate.StopVerdict { stops <- by; return nil },
		})
		require.NoError(t, err)
		c.endLife() // nothing is sent
		c.me = user{ID: 7}
		q := &asking{text: "card", word: make(chan gate.Word, 1), over: make(chan struct{})}
		c.open[q] = true
		c.posts["known"] = &post{of: q, chat: 100} // a card on its way: it isn't known what was sent
		ups, last, broken, err := decodeUpdates(raw)
		if err != nil {
			require.Empty(t, ups)
			return
		}
		for _, u := range ups {
			require.GreaterOrEqual(t, last, u.ID)
		}
		require.GreaterOrEqual(t, broken, 0)
		var r ring
		ups = r.fresh(ups)
		wanted := false
		for i := range ups {
			s, ok := c.stopIn(&ups[i])
			wanted = wanted || ok
			require.False(t, ok && (s.by != "telegram:1" || s.chat != 100))
		}
		c.take(ups)
		c.later.Wait()
		require.Equal(t, wanted, len(stops) == 1)
		select {
		case w := <-q.word:
			require.Equal(t, gate.Rejected, w.Decision, "nothing was shown, so nothing can be approved")
			require.Equal(t, "telegram:1", w.By)
		default:
		}
	})
}

func TestUnitsAreThoseOfUTF16(t *testing.T) {
	for s, want := range map[string]int{"": 0, "a": 1, "ş": 1, "⚠️": 2, "😀": 2, "a\xffb": 3} {
		require.Equal(t, want, units(s), "%q", s)
	}
	require.LessOrEqual(t, units(fit(strings.Repeat("😀", 5000))), MaxUnits)
	require.Equal(t, "x", fit("x"))
	for _, l := range []words.Lang{words.English, words.Turkish} { // what Telegram takes in answer to a press
		for _, s := range []string{l.TelegramPressEarly(), l.TelegramPressForeign(), l.TelegramPressOld(), l.TelegramPressStopped(), l.TelegramPressTaken(), l.TelegramPressWrong()} {
			require.LessOrEqual(t, len([]rune(s)), 200)
		}
	}
}

func TestTheRingForgetsTheOldestFirst(t *testing.T) {
	var r ring
	for i := range int64(3 * maxKnown) {
		require.Len(t, r.fresh([]update{{ID: i}, {ID: i}}), 1)
		require.LessOrEqual(t, len(r.has), maxKnown)
	}
	require.Empty(t, r.fresh([]update{{ID: 3*maxKnown - 1}, {ID: 2 * maxKnown}}))
	require.Len(t, r.fresh([]update{{ID: 5}}), 1)
}
