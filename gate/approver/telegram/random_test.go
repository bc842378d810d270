package telegram_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/telegram"
	"github.com/tau-robot/tau/gate/approver/telegram/telegramtest"
)

// life is one asking as the model knows it.
type life struct {
	q     *asked
	begun time.Time
	// The listed person pressed Approve on this asking's own message, while it was open
	// and no stop had come: pressed at any time (a press that is delivered late is armed
	// by then), must when it was armed.
	pressed, must bool
	stopped       bool
}

// TestG31_RandomPressesNeverApproveMoreThanWasPressed drives the channel with presses
// by whoever, on whatever message, in any order, with time, faults, stops, withdrawals
// and restarts of the poller in between. What is approved was pressed, by who is
// listed, for exactly that asking, and is approved once.
func TestG31_RandomPressesNeverApproveMoreThanWasPressed(t *testing.T) {
	approved := 0
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(undated{t}, func(rt *rapid.T) {
			r := start(t)
			defer func() { r.stop() }()
			var now *life
			// Polls may have gone wrong, several in a row, and are tried again, at the
			// latest after half a minute.
			delivered := func() {
				time.Sleep(31 * time.Second)
				synctest.Wait()
			}
			settle := func() {
				synctest.Wait()
				if now == nil {
					return
				}
				if now.must && !now.stopped && len(now.q.word) == 0 {
					delivered()
				}
				select {
				case w := <-now.q.word:
					if w.Decision == gate.Approved {
						approved++
						if !now.pressed {
							rt.Fatalf("approved without a press that counts: %+v", w)
						}
					}
					now = nil
				default:
					if now.must && !now.stopped {
						rt.Fatalf("the press was lost")
					}
				}
			}
			rt.Repeat(map[string]func(*rapid.T){
				"ask": func(rt *rapid.T) {
					if now != nil {
						rt.Skip("one question at a time")
					}
					now = &life{q: r.ask(deskOf(r.c), request("c1")), begun: time.Now()}
					settle()
				},
				"press": func(rt *rapid.T) {
					all := r.api.Messages()
					if len(all) == 0 {
						rt.Skip("there is no message")
					}
					user := rapid.SampledFrom([]int64{ada, ada, mallory}).Draw(rt, "user")
					i := rapid.IntRange(max(0, len(all)-3), len(all)-1).Draw(rt, "message")
					data := all[i]
					if rapid.IntRange(0, 4).Draw(rt, "swap") == 0 {
						data = all[rapid.IntRange(0, len(all)-1).Draw(rt, "data of")]
					}
					label := rapid.SampledFrom([]string{"Approve", "Approve", "Reject"}).Draw(rt, "label")
					d := known(r.api, data, label)
					open := r.api.Open()
					current := now != nil && len(open) > 0 && open[len(open)-1].ID == all[i].ID && open[len(open)-1].Data(label) == d && d != ""
					r.api.PressAs(user, all[i], d)
					if current && user == ada && label == "Approve" && !now.stopped {
						now.pressed = true
						now.must = now.must || time.Since(now.begun) >= telegram.Arming
					}
					settle()
				},
				"wait": func(rt *rapid.T) {
					time.Sleep(rapid.SampledFrom([]time.Duration{100 * time.Millisecond, time.Second, time.Minute, 5 * time.Minute}).Draw(rt, "time"))
					settle()
				},
				"withdraw": func(*rapid.T) {
					if now != nil {
						now.q.stop(nil)
					}
					settle()
				},
				"stop": func(*rapid.T) {
					r.api.Say(home, ada, "/stop")
					if now != nil {
						now.stopped = true
					} else {
						delivered() // else it may come when something is asked already
					}
					settle()
				},
				"a poll goes wrong": func(rt *rapid.T) {
					r.api.Fault("getUpdates", rapid.SampledFrom([]telegramtest.Fault{{Status: 500}, {Cut: true}, {Body: "{"}, {Act: true, Cut: true}}).Draw(rt, "fault"))
					r.api.Say(home, mallory, "x")
					time.Sleep(2 * time.Second) // it is polled again
					settle()
				},
				"restart": func(*rapid.T) {
					r.stop()
					if now != nil {
						if w := now.q.end(); w.Decision == gate.Approved {
							rt.Fatalf("approved by the end of the channel: %+v", w)
						}
						now = nil
					}
					synctest.Wait()
					again := start(t)
					// The chat is the same, and so is what still lies in it.
					again.api.Adopt(r.api)
					r = again
				},
			})
		})
	})
	if !t.Failed() {
		require.Positive(t, approved, "nothing was ever approved: the test proves nothing")
	}
}

// known is the data of a message's button, also after the button has gone.
func known(api *telegramtest.API, m telegramtest.Message, label string) string {
	return api.Sent(m.ID).Data(label)
}

// undated is a test without a deadline, which a bubble's clock knows nothing of.
type undated struct{ testing.TB }
