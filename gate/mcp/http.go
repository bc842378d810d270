package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/conns"
)

// ServeHTTP serves one request. Who may not come in learns nothing but the status.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// What a stop overtakes while its body is still on its way was begun before it.
	taken := s.caller.Stamp()
	if !conns.IsLoopbackHost(r.Host) {
		http.Error(w, "this server answers to localhost only", http.StatusForbidden)
		return
	}
	if err := s.cross.Check(r); err != nil || !sameOrigin(r) {
		http.Error(w, "a request from another origin", http.StatusForbidden)
		return
	}
	id, ok := identity{}, false
	if secret, has := bearer(r); has {
		id, ok = s.tokens.lookup(secret)
	}
	if !ok {
		w.Header().Set("WWW-Authenticate", `Bearer realm="tau robot"`)
		http.Error(w, "a bearer token is required", http.StatusUnauthorized)
		return
	}
	if r.URL.Path != Path {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	// Who has a token keeps the connection; the others make room (package conns).
	defer conns.Hold(r.Context())()
	t := s.tenant(id)
	ctx := context.WithValue(r.Context(), tenantKey{}, t)
	r = r.Clone(ctx)
	r.Header.Del(headerRequestID)
	r.Header.Del(headerArgs)
	r.Header.Del(headerStops)
	r.Header.Del(headerTaken)
	version := r.Header.Get(headerVersion)
	hang := r.Method == http.MethodGet
	if r.Method == http.MethodPost {
		in, done := s.servePost(w, r, t, taken, version >= modern)
		if done {
			return
		}
		hang = in.msgs[0].method == methodListen
		r.Header.Set(headerTaken, stampText(in.taken))
		if len(in.stops) > 0 { // a batch's
			key, drop := t.keep(in.stops)
			defer drop()
			r.Header.Set(headerStops, key)
		}
	}
	leave, ok := t.enter()
	if !ok {
		w.Header().Set("Retry-After", "1")
		http.Error(w, fmt.Sprintf("%d requests with this token are in flight, and that is the limit", s.maxRequests),
			http.StatusServiceUnavailable)
		return
	}
	defer leave()
	if !s.begin(hang) {
		http.Error(w, errShutdown.Error(), http.StatusServiceUnavailable)
		return
	}
	defer s.end(hang)
	if r.Method == http.MethodDelete {
		// The SDK waits for the session's requests to end, so they are ended first.
		t.endTransport(r.Header.Get(headerSession), errSessionEnded)
	}
	if hang {
		ctx, cancel := context.WithCancel(r.Context())
		defer context.AfterFunc(s.streams, cancel)()
		defer cancel()
		r = r.WithContext(ctx)
	}
	w = &deadlineWriter{ResponseWriter: w, rc: http.NewResponseController(w), timeout: writeTimeout}
	if version >= modern {
		s.stateless.ServeHTTP(w, r)
		return
	}
	s.legacy.ServeHTTP(w, r)
}

// servePost reads and checks a POST. Either it has answered it, or it returns at
// least one message and r holds the body again.
func (s *Server) servePost(w http.ResponseWriter, r *http.Request, t *tenant, taken gate.Stamp, modern bool) (_ *intake, done bool) {
	body, rerr := s.readBody(w, r)
	in := t.take(taken, body, rerr)
	var be *bodyError
	if errors.As(rerr, &be) {
		if be.status == http.StatusRequestEntityTooLarge {
			w.Header().Set("Connection", "close")
			in.readRest(r.Body)
		}
		http.Error(w, be.text+in.note(), be.status)
		return nil, true
	}
	switch {
	case in.asksStop() && in.msgs[0].id != nil:
		writeStop(w, modern, in.msgs[0].id, in.stops[0].answer())
		return nil, true
	case in.err != nil:
		writeRPC(w, http.StatusBadRequest, nil, nil, in.refusal())
		return nil, true
	case r.Header.Get("Content-Encoding") != "":
		http.Error(w, "a content encoding is not supported", http.StatusUnsupportedMediaType)
		return nil, true
	case len(in.stops) == 1 && !in.batch:
		writeStop(w, modern, in.msgs[0].id, in.stops[0].answer())
		return nil, true
	}
	if m := in.msgs[0]; !in.batch && m.method == methodCall {
		r.Header.Set(headerRequestID, idText(m.id))
		r.Header.Set(headerArgs, string(m.args))
		body = withoutArgs(body, m)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	return in, false
}
