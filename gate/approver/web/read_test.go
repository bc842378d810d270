package web_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate/approver/signed"
	"github.com/tau-robot/tau/gate/approver/web"
	"github.com/tau-robot/tau/gate/approver/web/webtest"
	"github.com/tau-robot/tau/gate/mcp"
)

func TestG30_AWholeCardIsShownAsTextAndAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		req := request("c1")
		r.ask(r.s, req)
		synctest.Wait()
		w := httptest.NewRecorder()
		r.s.ServeHTTP(w, r.dev.request("GET", web.Path+"requests/c1", ""))
		var b webtest.Shown
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &b))
		require.Equal(t, signed.Shown(req), b.Hash(), "the document's hash is the bridge's")
		require.Equal(t, "Approval needed (tier 2)", b.Title)
		text := fmt.Sprint(b.Lines)
		require.Contains(t, text, `ş\u{202e}`)
		require.Contains(t, text, `{Duration 1.2 s\u{1b}}`)
		require.Equal(t, "1.2 s\x1b", b.Facts[0].Text)
		require.NotContains(t, w.Body.String(), b.Hash(), "a device has to compute it")
	})
}

// TestG32_NothingIsReadOrStoppedWithoutAKey asks each path in every way that isn't a
// signed request of an enrolled device.
func TestG32_NothingIsReadOrStoppedWithoutAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.ask(r.s, request("c1"))
		synctest.Wait()
		token, err := mcp.NewToken(rand.Reader, "agent", "sim")
		require.NoError(t, err)
		stranger := newDevice(t)
		for _, to := range [][2]string{{"GET", "requests"}, {"GET", "requests/c1"}, {"POST", "stop"}, {"POST", "estop"}, {"POST", "revoke"}} {
			path := web.Path + to[1]
			make := func(change func(*http.Request)) *http.Request {
				req := r.dev.request(to[0], path, "")
				change(req)
				return req
			}
			used := r.dev.request(to[0], path, "")
			if to[1] == "requests" {
				require.Equal(t, 200, r.do(used).status)
			}
			for name, c := range map[string]struct {
				req    *http.Request
				reason string
			}{
				"nothing":          {httptest.NewRequest(to[0], path, nil), "request not signed"},
				"the MCP token":    {make(func(q *http.Request) { q.Header = http.Header{"Authorization": {"Bearer " + token.Bearer()}} }), "request not signed"},
				"a stranger":       {stranger.request(to[0], path, ""), "key unknown"},
				"another method":   {make(func(q *http.Request) { q.URL.RawQuery = "x=1" }), "signature wrong"},
				"another body":     {make(func(q *http.Request) { q.Body = http.NoBody; *q = *q.Clone(q.Context()); q.Body = nopBody("{}") }), "signature wrong"},
				"another host":     {make(func(q *http.Request) { q.Host = "localhost" }), "signature wrong"},
				"another time":     {make(func(q *http.Request) { q.Header.Set("Tau-Time", strconv.FormatInt(time.Now().UnixMilli()+1, 10)) }), "signature wrong"},
				"another nonce":    {make(func(q *http.Request) { q.Header.Set("Tau-Nonce", webtest.Nonce()) }), "signature wrong"},
				"another path":     {make(func(q *http.Request) { q.Header = r.dev.request(to[0], web.Path+"x", "").Header }), "signature wrong"},
				"two signatures":   {make(func(q *http.Request) { q.Header.Add("Tau-Signature", q.Header.Get("Tau-Signature")) }), "request not signed"},
				"a padded number":  {make(func(q *http.Request) { q.Header.Set("Tau-Time", "0"+q.Header.Get("Tau-Time")) }), "request not signed"},
				"a short key":      {make(func(q *http.Request) { q.Header.Set("Tau-Key", "ab") }), "request not signed"},
				"another's key id": {make(func(q *http.Request) { q.Header.Set("Tau-Key", stranger.ID) }), "key unknown"},
			} {
				time.Sleep(time.Second) // for the rate limit of what fails
				a := r.do(onHost(c.req))
				require.Equal(t, c.reason, a.reason(), "%s %s", path, name)
				require.Contains(t, []int{401, 403}, a.status)
			}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		require.Empty(t, r.stops)
	})
}

func nopBody(s string) *body { return &body{bytes.NewReader([]byte(s))} }

type body struct{ *bytes.Reader }

func (*body) Close() error { return nil }

func onHost(r *http.Request) *http.Request {
	if r.Host == "example.com" { // httptest's own
		r.Host = host
	}
	return r
}

func TestASignedRequestCountsOnceAndNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		req := r.dev.request("GET", web.Path+"requests", "")
		require.Equal(t, 200, r.do(req).status)
		require.Equal(t, "request replayed", r.do(req.Clone(t.Context())).reason())
		late := r.dev.request("GET", web.Path+"requests", "")
		time.Sleep(web.MaxSkew + time.Second)
		a := r.do(late)
		require.Equal(t, 401, a.status)
		require.Equal(t, "request signed at another time", a.reason())
		require.Equal(t, "request signed at another time", r.do(req.Clone(t.Context())).reason())
	})
}

func TestARevokedDeviceReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		other := newDevice(t)
		r.vouch(other)
		a := r.do(r.dev.request("POST", web.Path+"revoke", fmt.Sprintf(`{"key":%q}`, other.ID)))
		require.Equal(t, 403, a.status)
		require.Equal(t, "only one's own key", a.reason())
		require.Equal(t, 200, r.do(r.dev.request("POST", web.Path+"revoke", fmt.Sprintf(`{"key":%q}`, r.dev.ID))).status)
		a = r.do(r.dev.request("GET", web.Path+"requests", ""))
		require.Equal(t, 403, a.status)
		require.Equal(t, "key revoked", a.reason())
		require.Equal(t, 200, r.do(other.request("GET", web.Path+"requests", "")).status)
	})
}

// TestG32_OtherOriginsAndHostsAreRefused has a device's good requests come with what a
// browser adds for a page of another origin, or under another name.
func TestG32_OtherOriginsAndHostsAreRefused(t *testing.T) {
	r := newRig(t)
	for _, to := range [][2]string{{"GET", "requests"}, {"POST", "stop"}, {"POST", "enrol"}, {"POST", "decide"}, {"OPTIONS", "decide"}} {
		for name, c := range map[string]struct {
			change func(*http.Request)
			reason string
		}{
			"another origin":      {func(q *http.Request) { q.Header.Set("Origin", "https://evil.example") }, "wrong origin"},
			"another port":        {func(q *http.Request) { q.Header.Set("Origin", "http://127.0.0.1:1") }, "wrong origin"},
			"no origin":           {func(q *http.Request) { q.Header.Set("Origin", "null") }, "wrong origin"},
			"two origins":         {func(q *http.Request) { q.Header["Origin"] = []string{"http://" + host, "https://evil.example"} }, "wrong origin"},
			"fetch metadata":      {func(q *http.Request) { q.Header.Set("Sec-Fetch-Site", "cross-site") }, "wrong origin"},
			"a sibling":           {func(q *http.Request) { q.Header.Set("Sec-Fetch-Site", "same-site") }, "wrong origin"},
			"a rebinding name":    {func(q *http.Request) { q.Host = "evil.example:8477" }, "wrong host"},
			"a name of loopback":  {func(q *http.Request) { q.Host = "127.0.0.1.nip.io" }, "wrong host"},
			"another machine":     {func(q *http.Request) { q.Host = "192.168.0.7:8477" }, "wrong host"},
			"no host":             {func(q *http.Request) { q.Host = "" }, "wrong host"},
			"a listed one's port": {func(q *http.Request) { q.Host = "console.example:81" }, "wrong host"},
		} {
			req := r.dev.request(to[0], web.Path+to[1], "")
			c.change(req)
			a := r.do(req)
			require.Equal(t, c.reason, a.reason(), "%v %s", to, name)
			for k := range a.head {
				require.False(t, strings.HasPrefix(k, "Access-Control-"), "no CORS")
			}
		}
	}
	require.Empty(t, r.stops)
	same := r.dev.request("GET", web.Path+"requests", "")
	same.Header.Set("Origin", "http://"+host)
	same.Header.Set("Sec-Fetch-Site", "same-origin")
	a := r.do(same)
	require.Equal(t, 200, a.status)
	for k, want := range map[string]string{
		"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
		"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox", "Cross-Origin-Resource-Policy": "same-origin", "Content-Type": "application/json",
	} {
		require.Equal(t, want, a.head.Get(k))
	}
}

func TestTheListWaitsForAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		first := r.do(r.dev.request("GET", web.Path+"requests", ""))
		version := first.body["version"].(string)
		got := make(chan answer, 1)
		wait := func() {
			go func() { got <- r.do(r.dev.request("GET", web.Path+"requests?wait=25&version="+version, "")) }()
			synctest.Wait()
		}
		wait()
		require.Empty(t, got)
		q := r.ask(r.s, request("c1"))
		a := <-got
		require.Len(t, a.body["requests"], 1)
		version = a.body["version"].(string)
		wait()
		q.stop()
		a = <-got
		require.Empty(t, a.body["requests"])
		version = a.body["version"].(string)
		wait()
		before := time.Now()
		a = <-got
		require.Equal(t, 25*time.Second, time.Since(before))
		require.Equal(t, version, a.body["version"])
		wait()
		require.NoError(t, r.s.Shutdown(t.Context()))
		<-got
		for _, w := range []string{"26", "-1", "x", "1e9"} {
			require.Equal(t, 400, r.do(r.dev.request("GET", web.Path+"requests?wait="+w, "")).status)
		}
	})
}

func TestG6_ADeviceStops(t *testing.T) {
	r := newRig(t)
	for _, c := range [][3]string{{"stop", `{"reason":"enough"}`, "stop|enough|"}, {"estop", "", "estop||"}, {"stop", "{{", "stop|with a body that can't be read|"}, {"estop", `{"x":1}`, "estop|with a body that can't be read|"}} {
		a := r.do(r.dev.request("POST", web.Path+c[0], c[1]))
		require.Equal(t, 200, a.status)
		require.Len(t, a.body["verdicts"], 1)
		require.Equal(t, c[2]+"device:"+r.dev.ID, r.stops[len(r.stops)-1])
	}
}

func TestPathsThatAreNotThere(t *testing.T) {
	r := newRig(t)
	for _, p := range []string{"/", "/mcp", web.Path, web.Path + "requests/", web.Path + "../mcp", web.Path + "approve"} {
		w := httptest.NewRecorder()
		r.s.ServeHTTP(w, r.dev.request("GET", p, ""))
		require.Contains(t, []int{404, 301, 307}, w.Code, p)
	}
	require.Equal(t, "no such open request", r.do(r.dev.request("GET", web.Path+"requests/none", "")).reason())
}
