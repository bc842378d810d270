package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
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

// What CASES.md tells of other programs' prompts, on this channel.

const evil = "\r\x1b[2K\x1b[A\n  Tool: home\u202e\u200b\u2028\u009b"

// TestCase53_54_55_HostileTextIsEscapedInTheListAndOnTheCard: every text that is meant to
// be shown is escaped. What a request's hash is made of comes as it is, and then the hash
// has to be the same on both sides.
func TestCase53_54_55_HostileTextIsEscapedInTheListAndOnTheCard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		req := request("c1")
		args, err := json.Marshal([]string{evil})
		require.NoError(t, err)
		req.Args, req.Card.Data = args, args
		req.Tool, req.Effect, req.Session.Name, req.Session.Backend, req.Session.Mode = evil, evil, evil, evil, gate.Mode(evil)
		req.Principal, req.Origin = evil, evil
		req.Card.Facts, req.Card.Assumed = []gate.Fact{{Label: evil, Text: evil}}, []string{evil}
		req.Notices = []gate.Notice{{Kind: gate.CallerGone, Text: evil}}
		q := r.ask(r.s, req)
		synctest.Wait()
		harmless := func(s string) {
			t.Helper()
			require.Equal(t, gate.Escape(s), strings.ReplaceAll(s, `\u{`, `\u{5c}u{`))
		}
		raw := func(path string) string {
			w := httptest.NewRecorder()
			r.s.ServeHTTP(w, r.dev.request("GET", web.Path+path, ""))
			body := strings.TrimSuffix(w.Body.String(), "\n")
			require.NotContains(t, body, "\n", path)
			require.NotContains(t, body, "\x1b", path)
			require.NotContains(t, body, "\r", path)
			return body
		}
		list := r.do(r.dev.request("GET", web.Path+"requests", "")).body["requests"].([]any)[0].(map[string]any)
		for _, k := range []string{"tool", "session", "principal"} {
			require.Equal(t, gate.Escape(evil), list[k], k)
		}
		raw("requests")
		raw("requests/c1")
		s := r.show(r.dev, "c1")
		harmless(s.Title)
		whole := 0
		for _, l := range s.Lines {
			harmless(l.Label)
			harmless(l.Text)
			whole += strings.Count(l.Label+l.Text, gate.Escape(evil))
		}
		require.Equal(t, 11, whole, "each of them is there whole")
		require.Len(t, s.Notices, 1)
		harmless(s.Notices[0])
		require.Equal(t, evil, s.Effect, "what is signed is what was asked")
		require.Equal(t, 200, r.do(post(web.Path+"decide", r.dev.Decision(r.dev.Statement(s, "reject")))).status)
		require.Equal(t, gate.Rejected, (<-q.word).Decision)
	})
}

// TestCase56_WhatComesInBetweenChangesNoCard: notices, other questions and their ends come
// after a card was read; what was read is still what a decision is about.
func TestCase56_WhatComesInBetweenChangesNoCard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		q := r.ask(r.s, request("c1"))
		synctest.Wait()
		s := r.show(r.dev, "c1")
		for i := range 40 {
			r.s.Notice("c1", gate.Notice{Kind: gate.CallerGone, Text: "Tool: home"})
			other := r.ask(r.s, request(fmt.Sprint("other", i)))
			synctest.Wait()
			other.stop()
			<-other.word
		}
		again := r.show(r.dev, "c1")
		require.Equal(t, s.Hash(), again.Hash())
		require.Equal(t, s.Lines, again.Lines, "a notice is no line of the card")
		require.Equal(t, 200, r.do(post(web.Path+"decide", r.dev.Decision(r.dev.Statement(s, "approve")))).status)
		require.Equal(t, gate.Approved, (<-q.word).Decision)
	})
}

// TestCase57_ADecisionBeforeTheCardWasReadIsNone: whoever decides before the bridge has
// shown the card has no nonce that it gave out.
func TestCase57_ADecisionBeforeTheCardWasReadIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ahead := webtest.Shown{CallID: "c1", Digest: fmt.Sprintf("%x", request("c1").Digest), ApproveNonce: webtest.Nonce(), NonceExpires: time.Now().Add(time.Minute).UnixMilli()}
		body := r.dev.Decision(r.dev.Statement(ahead, "approve"))
		require.Equal(t, "nonce unknown", r.do(post(web.Path+"decide", body)).reason())
		q := r.ask(r.s, request("c1"))
		synctest.Wait()
		require.Equal(t, "nonce unknown", r.do(post(web.Path+"decide", body)).reason())
		q.still(t, "typed ahead")
	})
}

// TestCase61_WhatAnAgentCouldSendApprovesNothing sends what a program without an enrolled
// key can put together, where a decision goes and where none does.
func TestCase61_WhatAnAgentCouldSendApprovesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		q := r.ask(r.s, request("c1"))
		synctest.Wait()
		s := r.show(r.dev, "c1")
		st := r.dev.Statement(s, "approve")
		forger := newDevice(t)
		for body, want := range map[string][2]any{
			`{"approved":true}`:                                               {400, "body malformed"},
			`{"call_id":"c1","decision":"approve"}`:                           {400, "body malformed"},
			webtest.Body([]byte(`{"approved":true}`), nil):                    {400, "statement malformed"},
			webtest.Body(st.Bytes(), nil):                                     {401, "signature wrong"},
			webtest.Body(st.Bytes(), make([]byte, 64)):                        {401, "signature wrong"},
			webtest.Body(st.Bytes(), forger.Sign(st.Bytes())):                 {401, "signature wrong"},
			forger.Decision(forger.Statement(s, "approve")):                   {401, "key unknown"},
			`{"approved":true,` + strings.TrimPrefix(r.dev.Decision(st), "{"): {400, "body malformed"},
		} {
			req := post(web.Path+"decide?approved=true", body)
			req.Header.Set("Approved", "true")
			a := r.do(req)
			require.Equal(t, want, [2]any{a.status, a.reason()}, body)
			q.still(t, body)
		}
		for _, to := range [][2]string{{"POST", "requests/c1"}, {"PUT", "requests/c1"}, {"POST", "requests/c1/approve"}, {"GET", "decide"}} {
			req := r.dev.request(to[0], web.Path+to[1], "")
			require.NotEqual(t, http.StatusOK, r.serve(req), to)
			q.still(t, to[1])
		}
		require.Equal(t, 200, r.do(post(web.Path+"decide", r.dev.Decision(st))).status, "and the person's own counts")
		require.Equal(t, gate.Approved, (<-q.word).Decision)
	})
}

// TestCase62_Case63_ADecisionOnWhatWasAskedBeforeIsNone: the same id is asked again with
// one thing changed, be it its arguments or what the tool has become since.
func TestCase62_Case63_ADecisionOnWhatWasAskedBeforeIsNone(t *testing.T) {
	for name, change := range map[string]func(*gate.Request){
		"other arguments": func(q *gate.Request) { q.Args = []byte(`{"q":[3.1]}`) },
		"another tool":    func(q *gate.Request) { q.Tool = "home" },
		"another schema":  func(*gate.Request) {}, // only the digest knows
		"another driver":  func(q *gate.Request) { q.Session.Backend = "real" },
		"another robot":   func(q *gate.Request) { q.Session.Name, q.Session.Mode = "arm", gate.ModeReal },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				first := r.ask(r.s, request("c1"))
				synctest.Wait()
				s := r.show(r.dev, "c1")
				first.stop()
				<-first.word
				req := request("c1")
				req.Digest[0] ^= 1
				change(&req)
				second := r.ask(r.s, req)
				synctest.Wait()
				now := r.show(r.dev, "c1")
				require.NotEqual(t, s.Digest, now.Digest)
				require.Equal(t, "answer for another asking", r.do(post(web.Path+"decide", r.dev.Decision(r.dev.Statement(s, "approve")))).reason())
				// The first card's nonce for the second's digest, and the other way round.
				mixed := r.dev.Statement(now, "approve")
				mixed.Nonce = r.show(r.dev, "c1").RejectNonce
				require.Equal(t, "statement for another purpose", r.do(post(web.Path+"decide", r.dev.Decision(mixed))).reason())
				mixed = r.dev.Statement(r.show(r.dev, "c1"), "approve")
				mixed.Digest = s.Digest
				require.Equal(t, "statement about another digest", r.do(post(web.Path+"decide", r.dev.Decision(mixed))).reason())
				mixed = r.dev.Statement(r.show(r.dev, "c1"), "approve")
				mixed.Shown = s.Hash()
				require.Equal(t, "statement about another card", r.do(post(web.Path+"decide", r.dev.Decision(mixed))).reason())
				second.still(t, name)
			})
		})
	}
}

// TestCase64_OfTwoDevicesAtOnceOneCounts: each has read the card, and both approve.
func TestCase64_OfTwoDevicesAtOnceOneCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		other := newDevice(t)
		r.vouch(other)
		q := r.ask(r.s, request("c1"))
		synctest.Wait()
		got := make(chan answer, 2)
		by := map[string]bool{}
		var bodies []string
		for _, d := range []*device{r.dev, other} {
			bodies = append(bodies, d.Decision(d.Statement(r.show(d, "c1"), "approve")))
			by["device:"+d.ID] = true
		}
		for _, body := range bodies {
			go func() { got <- r.do(post(web.Path+"decide", body)) }()
		}
		a, b := <-got, <-got
		if a.status != 200 {
			a, b = b, a
		}
		require.Equal(t, 200, a.status)
		require.Contains(t, []string{"answered already", "no such open request"}, b.reason())
		w := <-q.word
		require.Equal(t, gate.Approved, w.Decision)
		require.True(t, by[w.By], w.By)
		synctest.Wait()
		require.Empty(t, q.word, "there is one word")
	})
}

// TestCase66_AnOldDecisionDoesNotCountAgain: one that was taken is sent again when the
// bridge has forgotten that it was, and the same request is open once more.
func TestCase66_AnOldDecisionDoesNotCountAgain(t *testing.T) {
	for name, c := range map[string]struct {
		between func(*rig)
		reason  string
	}{
		"at once":                {func(*rig) {}, "statement replayed"},
		"by another bridge":      {func(r *rig) { r.fresh() }, "nonce unknown"},
		"when it has run out":    {func(*rig) { time.Sleep(2 * time.Minute) }, "statement expired"},
		"when all is forgotten":  {func(r *rig) { time.Sleep(40 * 24 * time.Hour); r.fresh() }, "statement expired"},
		"after many other cards": {func(r *rig) { flood(r) }, "statement replayed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				req := request("c1")
				q := r.ask(r.s, req)
				synctest.Wait()
				body := r.dev.Decision(r.dev.Statement(r.show(r.dev, "c1"), "approve"))
				require.Equal(t, 200, r.do(post(web.Path+"decide", body)).status)
				require.Equal(t, gate.Approved, (<-q.word).Decision)
				c.between(r)
				req.Asked, req.Expiry = time.Now(), time.Now().Add(10*time.Minute)
				again := r.ask(r.s, req)
				synctest.Wait()
				require.Equal(t, c.reason, r.do(post(web.Path+"decide", body)).reason())
				again.still(t, name)
			})
		})
	}
}

// flood has the nonces of many cards come after the one that was used.
func flood(r *rig) {
	q := r.ask(desk.New(desk.Options{Channels: []gate.Approver{r.s}}), request("flood"))
	synctest.Wait()
	for range 50 {
		r.show(r.dev, "flood")
	}
	q.stop()
	<-q.word
}
