package web_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/web"
)

// FuzzBodies sends whatever to every path that takes a body, without a signature of an
// enrolled device. Nothing panics, nothing is decided, enrolled or stopped.
func FuzzBodies(f *testing.F) {
	for _, s := range []string{
		`{"statement":"","signature":""}`, `{"statement":"dGF1LXN0YXRlbWVudC0xCg==","signature":"AA=="}`, `{"code":"ABCD-2345","name":"x","public_key":"BA=="}`,
		`{`, `[]`, `null`, `{"statement":null}`, `{"a":{"b":[1e999,"\ud800"]}}`, `{"key":"0123456789abcdef0123456789abcdef"}`, "\x00\xff",
	} {
		f.Add("decide", s, "application/json", "a:1")
		f.Add("enrol", s, "application/json; charset=utf-8", "")
		f.Add("requests/c1", s, "text/plain", "0123456789abcdef0123456789abcdef")
	}
	r := newRig(f) // making keys is slow
	f.Fuzz(func(t *testing.T, path, body, kind, head string) {
		r.t = t
		r.fresh()
		q := r.ask(r.s, request("c1"))
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			req := httptest.NewRequest(method, web.Path, nil)
			req.URL.Path, req.Host, req.Body = web.Path+path, host, nopBody(body)
			req.Header.Set("Content-Type", kind)
			for _, h := range []string{web.HeaderKey, web.HeaderTime, web.HeaderNonce, web.HeaderSignature} {
				req.Header.Set(h, head)
			}
			w := httptest.NewRecorder()
			r.s.ServeHTTP(w, req)
			require.NotContains(t, []int{200, 202, 500}, w.Code, w.Body)
		}
		q.stop()
		require.NotEqual(t, gate.Approved, (<-q.word).Decision)
		all, _ := r.ring.List()
		require.Len(t, all, 2)
		require.Empty(t, r.stops)
	})
}
