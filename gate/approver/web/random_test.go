package web_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/web"
	"github.com/tau-robot/tau/gate/approver/web/webtest"
)

// TestG34_RandomDecisionsNeverApproveMoreThanWasSigned has three devices, one enrolled,
// one revoked and one unknown, look and decide at random, late, twice and on cards of
// earlier askings. What is approved was signed by the enrolled one on exactly that
// asking, within its nonce's life, and is approved once.
func TestG34_RandomDecisionsNeverApproveMoreThanWasSigned(t *testing.T) {
	approved := 0
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		revoked, unknown := newDevice(t), newDevice(t)
		r.vouch(revoked)
		require.NoError(t, r.ring.Revoke(revoked.ID, time.Now()))
		rapid.Check(undated{t}, func(rt *rapid.T) {
			r.fresh()
			defer func() { _ = r.s.Shutdown(t.Context()) }()
			type look struct {
				of    int // which asking
				at    time.Time
				shown webtest.Shown
				used  map[string]bool
			}
			var looks []*look
			var now *asked
			asking := 0
			settle := func() {
				synctest.Wait()
				if now == nil {
					return
				}
				select {
				case w := <-now.word:
					if w.Decision == gate.Approved {
						rt.Fatalf("approved without a decision that was taken")
					}
					now = nil
				default:
				}
			}
			rt.Repeat(map[string]func(*rapid.T){
				"ask": func(rt *rapid.T) {
					if now != nil {
						rt.Skip("one at a time")
					}
					asking++
					req := request("c1")
					req.Asked, req.Expiry = time.Unix(1, 0), time.Now().Add(time.Hour).Truncate(24*time.Hour).Add(48*time.Hour) // so that askings look the same
					now = r.ask(r.s, req)
					settle()
				},
				"look": func(rt *rapid.T) {
					if now == nil {
						rt.Skip("nothing is asked")
					}
					looks = append(looks, &look{asking, time.Now(), r.show(r.dev, "c1"), map[string]bool{}})
				},
				"decide": func(rt *rapid.T) {
					if len(looks) == 0 {
						rt.Skip("nothing was seen")
					}
					l := looks[rapid.IntRange(max(0, len(looks)-4), len(looks)-1).Draw(rt, "look")]
					what := rapid.SampledFrom([]string{"approve", "reject"}).Draw(rt, "decision")
					who := rapid.SampledFrom([]*device{r.dev, r.dev, revoked, unknown}).Draw(rt, "who")
					a := r.do(post(web.Path+"decide", who.Decision(who.Statement(l.shown, what))))
					good := now != nil && who == r.dev && l.of == asking && !l.used[what] && time.Since(l.at) < 2*time.Minute
					if good != (a.status == 200) {
						rt.Fatalf("taken: %v, and it should be %v: %v", a.status, good, a.body)
					}
					if who == r.dev && time.Since(l.at) < 2*time.Minute {
						l.used[what] = true
					}
					if good {
						w := <-now.word
						now = nil
						if (w.Decision == gate.Approved) != (what == "approve") {
							rt.Fatalf("%s became %v", what, w.Decision)
						}
						if w.Decision == gate.Approved {
							approved++
						}
					}
					settle()
				},
				"wait": func(rt *rapid.T) {
					time.Sleep(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, 2 * time.Minute}).Draw(rt, "time"))
					settle()
				},
				"withdraw": func(*rapid.T) {
					if now != nil {
						now.stop()
					}
					settle()
				},
			})
		})
	})
	if !t.Failed() {
		require.Positive(t, approved, "nothing was ever approved: the test proves nothing")
	}
}

// undated is a test without a deadline, which a bubble's clock knows nothing of.
type undated struct{ testing.TB }
