package web_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/desk"
	"github.com/tau-robot/tau/gate/approver/web"
	"github.com/tau-robot/tau/gate/approver/web/webtest"
)

func TestG34_ADeviceDecidesWithItsKeyOnce(t *testing.T) {
	for purpose, want := range map[string]gate.Decision{"approve": gate.Approved, "reject": gate.Rejected} {
		t.Run(purpose, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				q := r.ask(r.s, request("c1"))
				synctest.Wait()
				s := r.show(r.dev, "c1")
				body := r.dev.Decision(r.dev.Statement(s, purpose))
				a := r.do(post(web.Path+"decide", body))
				require.Equal(t, 200, a.status, a.body)
				require.Equal(t, purpose, a.body["decision"])
				require.Equal(t, gate.Word{Decision: want, Reason: web.ReasonAnswered, By: "device:" + r.dev.ID}, <-q.word)
				again := r.do(post(web.Path+"decide", body))
				require.Equal(t, 409, again.status)
				require.Equal(t, "statement replayed", again.reason())
				require.Contains(t, r.log.String(), "statement replayed")
			})
		})
	}
}

// TestG34_EveryOtherStatementIsRefusedWithItsReason breaks a good statement in one way
// at a time; the question stays open, and the good one counts after all of them.
func TestG34_EveryOtherStatementIsRefusedWithItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		stranger := newDevice(t)
		lost := newDevice(t)
		r.vouch(lost)
		q := r.ask(r.s, request("c1"))
		other := r.ask(r.s, request("c2"))
		_ = other
		synctest.Wait()
		s, lostShow, s2 := r.show(r.dev, "c1"), r.show(lost, "c1"), r.show(r.dev, "c2")
		require.NoError(t, r.ring.Revoke(lost.ID, time.Now()))
		good := r.dev.Statement(s, "approve")
		with := func(f func(*webtest.Statement)) string {
			c := good
			f(&c)
			return r.dev.Decision(c)
		}
		signedByOther := func() string { return webtest.Body(good.Bytes(), stranger.Sign(good.Bytes())) }
		cases := map[string]struct {
			body   string
			status int
			reason string
		}{
			"unknown device":          {stranger.Decision(stranger.Statement(s, "approve")), 401, "key unknown"},
			"revoked device":          {lost.Decision(lost.Statement(lostShow, "approve")), 403, "key revoked"},
			"another's signature":     {signedByOther(), 401, "signature wrong"},
			"another digest":          {with(func(c *webtest.Statement) { c.Digest = s2.Digest }), 409, "statement about another digest"},
			"another request's nonce": {with(func(c *webtest.Statement) { c.Nonce = s2.ApproveNonce }), 422, "statement about something else"},
			"another card":            {with(func(c *webtest.Statement) { c.Shown = s2.Hash() }), 409, "statement about another card"},
			"a nonce of nobody's":     {with(func(c *webtest.Statement) { c.Nonce = webtest.Nonce() }), 410, "nonce unknown"},
			"the other button's":      {with(func(c *webtest.Statement) { c.Nonce = s.RejectNonce }), 422, "statement for another purpose"},
			"another decision":        {with(func(c *webtest.Statement) { c.Decision = "reject" }), 400, "statement malformed"},
			"another purpose":         {r.dev.Decision(webtest.Statement{Purpose: "grant", Key: r.dev.ID, ID: "sim", Digest: s.Digest, Nonce: good.Nonce, Expiry: good.Expiry, Shown: s.Hash()}), 400, "statement malformed"},
			"expired":                 {with(func(c *webtest.Statement) { c.Expiry = strconv.FormatInt(time.Now().UnixMilli(), 10) }), 410, "statement expired"},
			"holds too long":          {with(func(c *webtest.Statement) { c.Expiry = strconv.FormatInt(s.NonceExpires+1, 10) }), 410, "statement expired"},
			"no signature":            {webtest.Body(good.Bytes(), nil), 401, "signature wrong"},
			"unknown member":          {`{"approved":true,` + r.dev.Decision(good)[1:], 400, "body malformed"},
			"member twice":            {`{"signature":"",` + r.dev.Decision(good)[1:], 400, "body malformed"},
			"data behind":             {r.dev.Decision(good) + "{}", 400, "body malformed"},
			"no object":               {`["approve"]`, 400, "body malformed"},
			"nothing":                 {``, 400, "body malformed"},
			"too large":               {`{"statement":"` + strings.Repeat("A", 17<<10) + `"}`, 413, "body too large"},
		}
		for name, c := range cases {
			a := r.do(post(web.Path+"decide", c.body))
			require.Equal(t, c.reason, a.reason(), name)
			require.Equal(t, c.status, a.status, name)
			require.Contains(t, r.log.String(), fmt.Sprintf("reason=%q", c.reason), name)
			if !strings.HasPrefix(c.reason, "body ") { // nothing that is a decision
				require.Contains(t, r.refused[len(r.refused)-1], c.reason+"|", name)
			}
			q.still(t, name)
		}
		plain := post(web.Path+"decide", r.dev.Decision(good))
		plain.Header.Set("Content-Type", "text/plain")
		require.Equal(t, 415, r.do(plain).status, "what a form of another page could send")
		require.Equal(t, 200, r.do(post(web.Path+"decide", r.dev.Decision(good))).status, "nothing above used it up")
		require.Equal(t, gate.Approved, (<-q.word).Decision)
	})
}

func TestG34_ADecisionForAnEarlierAskingIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		req := request("c1")
		first := r.ask(r.s, req)
		synctest.Wait()
		s := r.show(r.dev, "c1")
		body := r.dev.Decision(r.dev.Statement(s, "approve"))
		first.stop()
		require.NotEqual(t, gate.Approved, (<-first.word).Decision)
		closed := r.do(post(web.Path+"decide", r.dev.Decision(r.dev.Statement(s, "reject"))))
		require.Equal(t, 404, closed.status)
		require.Equal(t, "no such open request", closed.reason())
		again := r.ask(r.s, req) // the same request, digest and all
		synctest.Wait()
		a := r.do(post(web.Path+"decide", body))
		require.Equal(t, 409, a.status)
		require.Equal(t, "answer for another asking", a.reason())
		again.still(t, "the earlier asking's decision")
	})
}

func TestG34_ANonceThatHasExpiredIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		q := r.ask(r.s, request("c1"))
		synctest.Wait()
		s := r.show(r.dev, "c1")
		time.Sleep(2 * time.Minute)
		a := r.do(post(web.Path+"decide", r.dev.Decision(r.dev.Statement(s, "approve"))))
		require.Equal(t, 410, a.status)
		require.Equal(t, "statement expired", a.reason())
		q.still(t, "an expired nonce")
	})
}

func TestG10_Case59_TheWebWaitsFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		q := r.ask(desk.New(desk.Options{Channels: []gate.Approver{r.s}}), request("c1"))
		synctest.Wait()
		time.Sleep(4 * time.Minute)
		s := r.show(r.dev, "c1")
		time.Sleep(time.Minute)
		require.Equal(t, gate.Word{Decision: gate.TimedOut, Reason: web.ReasonTimeout}, <-q.word)
		a := r.do(post(web.Path+"decide", r.dev.Decision(r.dev.Statement(s, "approve"))))
		require.Equal(t, "no such open request", a.reason())
	})
}

func TestG10_Case65_AnExpiredRequestIsNotApproved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		req := request("c1")
		req.Expiry = time.Now().Add(10 * time.Second)
		q := r.ask(r.s, req)
		synctest.Wait()
		s := r.show(r.dev, "c1")
		time.Sleep(10 * time.Second)
		a := r.do(post(web.Path+"decide", r.dev.Decision(r.dev.Statement(s, "approve"))))
		require.Equal(t, 410, a.status)
		require.Equal(t, "request expired", a.reason())
		q.still(t, "an expired request")
	})
}

// over is a context that has ended and hasn't said so yet: what Decide finds when a
// decision and the end of the question come together.
type over struct{ context.Context }

func (over) Done() <-chan struct{} { return nil }
func (over) Err() error            { return context.Canceled }

func TestG9_ADecisionThatComesWithTheEndOfTheQuestionIsNoWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		word := make(chan gate.Word, 1)
		go func() {
			w, err := r.s.Decide(over{t.Context()}, request("c1"))
			if err == nil {
				word <- w
			}
		}()
		synctest.Wait()
		require.Equal(t, 200, r.do(post(web.Path+"decide", r.dev.Decision(r.dev.Statement(r.show(r.dev, "c1"), "approve")))).status)
		require.Equal(t, gate.Word{Decision: gate.Rejected, Reason: web.ReasonWithdrawn}, <-word)
	})
}

func TestG49_TheCardSaysThatTheCallerHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.s.Notice("c1", gate.Notice{Kind: gate.CallerGone}) // nothing is open
		r.ask(r.s, request("c1"))
		synctest.Wait()
		require.Empty(t, r.show(r.dev, "c1").Notices)
		version := r.do(r.dev.request("GET", web.Path+"requests", "")).body["version"]
		r.s.Notice("c1", gate.Notice{Kind: gate.CallerGone, Text: "the client\x1b left"})
		r.s.Notice("c1", gate.Notice{Kind: 99, Text: "Tool: home"})
		r.s.Notice("c1", gate.Notice{Kind: gate.CallerBack})
		got := r.show(r.dev, "c1").Notices
		require.Len(t, got, 2)
		require.Contains(t, got[0], `has gone (the client\u{1b} left)`)
		require.NotEqual(t, version, r.do(r.dev.request("GET", web.Path+"requests", "")).body["version"], "whoever waits for a change is told")
	})
}

// What there is to know of a question when it comes stands with its card.
func TestG46_TheCardSaysWhatIsKnownFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		req := request("c1")
		req.Notices = []gate.Notice{{Kind: gate.CallerGone, Text: "left\x1b"}, {Kind: gate.CantEdit, Text: "NO_PATH"}, {Kind: 99, Text: "Tool: home"}}
		r.ask(r.s, req)
		synctest.Wait()
		require.Equal(t, []string{
			`Whoever asked this has gone (left\u{1b}); the question stays open until it expires`,
			"It can't be changed like that (NO_PATH); it is asked again as it was",
		}, r.show(r.dev, "c1").Notices)
	})
}

// TestCase64_OfManyDecisionsOneCounts has a hundred good decisions on one request at once.
func TestCase64_OfManyDecisionsOneCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		q := r.ask(r.s, request("c1"))
		synctest.Wait()
		const n = 100
		got := make(chan answer, n)
		var bodies []string
		for i := range n {
			bodies = append(bodies, r.dev.Decision(r.dev.Statement(r.show(r.dev, "c1"), []string{"approve", "reject"}[i%2])))
		}
		for _, body := range bodies {
			go func() { got <- r.do(post(web.Path+"decide", body)) }()
		}
		taken := ""
		for range n {
			a := <-got
			if a.status == 200 {
				require.Empty(t, taken, "two were taken")
				taken = a.body["decision"].(string)
				continue
			}
			require.Contains(t, []string{"answered already", "no such open request", "too many requests at once"}, a.reason())
		}
		w := <-q.word
		require.Equal(t, taken == "approve", w.Decision == gate.Approved)
	})
}

func TestG25_Case60_WithoutADeviceNobodyIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		require.False(t, r.s.Unattended())
		require.NoError(t, r.ring.Revoke(r.dev.ID, time.Now()))
		require.True(t, r.s.Unattended())
		w, err := r.s.Decide(t.Context(), request("c1"))
		require.NoError(t, err)
		require.Equal(t, gate.Word{Decision: gate.Void, Reason: desk.Absent}, w)
		require.True(t, r.s.DropsOut(desk.Absent))
	})
}

func TestCase58_TheEndApprovesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		q := r.ask(r.s, request("c1"))
		synctest.Wait()
		require.NoError(t, r.s.Shutdown(t.Context()))
		require.NoError(t, r.s.Shutdown(t.Context()))
		require.Equal(t, gate.Word{Decision: gate.Void, Reason: web.ReasonEnded}, <-q.word)
		w, err := r.s.Decide(t.Context(), request("c2"))
		require.NoError(t, err)
		require.Equal(t, web.ReasonEnded, w.Reason)
	})
}
