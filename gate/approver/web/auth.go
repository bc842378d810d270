package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/signed"
	"github.com/tau-robot/tau/gate/conns"
)

// The headers of a signed request.
const (
	HeaderKey       = "Tau-Key"       // the id of the key
	HeaderTime      = "Tau-Time"      // milliseconds since 1970
	HeaderNonce     = "Tau-Nonce"     // 32 lower-case hex digits, made anew for each request
	HeaderSignature = "Tau-Signature" // base64
)

const (
	// MaxSkew is how far the clock of a device may be off.
	MaxSkew = time.Minute
	maxUsed = 1024 // nonces that are remembered, of each key
)

var hex32 = regexp.MustCompile(`^[0-9a-f]{32}$`)

// RequestBytes is what a device signs of a request: the line "tau-request-1" and, as
// netstrings: method, host as in the Host header, path with its query, time
// (milliseconds since 1970, decimal), nonce, and the SHA-256 of the body (hex).
func RequestBytes(method, host, path string, ms int64, nonce string, body []byte) []byte {
	sum := sha256.Sum256(body)
	var b bytes.Buffer
	b.WriteString("tau-request-1\n")
	for _, v := range []string{method, host, path, strconv.FormatInt(ms, 10), nonce, hex.EncodeToString(sum[:])} {
		b.WriteString(strconv.Itoa(len(v)) + ":" + v + ",")
	}
	return b.Bytes()
}

// authenticate finds out which enrolled device has signed a request. Each signed
// request counts once, but for a stop: one that is sent again stops again, which harms
// nobody, and no bound on what is remembered may keep one out.
func (s *Server) authenticate(r *http.Request, body []byte) (signed.Entry, error) {
	e, err := s.signer(r, body)
	if err == nil && !stops(r) {
		err = s.once(e.ID, r.Header.Get(HeaderNonce))
	}
	if err != nil && !s.bad.AllowN(s.o.Now(), 1) {
		// Only what fails is slowed down, so that nobody can keep a device out.
		return e, &problem{status: http.StatusTooManyRequests, reason: ReasonTooMany, text: s.o.Lang.WebTooMany(), after: time.Second}
	}
	return e, err
}

func (s *Server) signer(r *http.Request, body []byte) (signed.Entry, error) {
	var none signed.Entry
	one := func(name string) string {
		if v := r.Header.Values(name); len(v) == 1 {
			return v[0]
		}
		return ""
	}
	key, nonce := one(HeaderKey), one(HeaderNonce)
	ms, terr := strconv.ParseInt(one(HeaderTime), 10, 64)
	sig, serr := base64.StdEncoding.Strict().DecodeString(one(HeaderSignature))
	if !hex32.MatchString(key) || !hex32.MatchString(nonce) || terr != nil || strconv.FormatInt(ms, 10) != one(HeaderTime) || serr != nil || len(sig) != signed.SignatureLen {
		return none, newProblem(http.StatusUnauthorized, ReasonUnsigned, s.o.Lang.WebUnsigned())
	}
	e, err := s.o.Ring.Find(key)
	if err != nil {
		return none, err
	}
	if !e.Signed(RequestBytes(r.Method, r.Host, r.URL.RequestURI(), ms, nonce, body), sig) {
		return none, &problem{status: http.StatusUnauthorized, reason: signed.ReasonSignature, text: s.o.Lang.WebUnsigned(), key: key}
	}
	now := s.o.Now()
	if off := now.Sub(time.UnixMilli(ms)); off > MaxSkew || off < -MaxSkew {
		return none, &problem{status: http.StatusUnauthorized, reason: ReasonClock, text: s.o.Lang.WebClock(), key: key}
	}
	return e, nil
}

// once lets a nonce of a key through one time. What one key has used takes nothing from
// another.
func (s *Server) once(key, nonce string) error {
	now := s.o.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	used := s.used[key]
	if used == nil {
		used = map[string]time.Time{}
		s.used[key] = used
	}
	for n, until := range used {
		if len(used) < maxUsed/2 {
			break // looked through only when there are many
		}
		if gate.Expired(now, until) {
			delete(used, n)
		}
	}
	switch {
	case !used[nonce].IsZero():
		return &problem{status: http.StatusConflict, reason: ReasonRepeated, text: s.o.Lang.WebReplayed(), key: key}
	case len(used) >= maxUsed:
		return &problem{status: http.StatusTooManyRequests, reason: ReasonTooMany, text: s.o.Lang.WebTooMany(), key: key, after: MaxSkew}
	}
	used[nonce] = now.Add(2*MaxSkew + time.Second)
	return nil
}

// stops reports a request to stop.
func stops(r *http.Request) bool {
	return r.URL.Path == Path+"stop" || r.URL.Path == Path+"estop"
}

// checkOrigin refuses a request that isn't meant for this server, or that a page of
// another one makes.
func (s *Server) checkOrigin(r *http.Request) *problem {
	if !s.ownHost(r.Host) {
		return &problem{status: http.StatusMisdirectedRequest, reason: ReasonHost, text: s.o.Lang.WebForeign()}
	}
	foreign := &problem{status: http.StatusForbidden, reason: ReasonOrigin, text: s.o.Lang.WebForeign()}
	if err := s.cross.Check(r); err != nil {
		return foreign
	}
	// It lets a GET through, which reads here.
	for _, o := range r.Header.Values("Origin") {
		if u, err := url.Parse(o); err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return foreign
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return foreign
	}
	return nil
}

// ownHost reports a loopback address, "localhost" or a name that is listed. A name that
// only resolves to loopback isn't one: that is what DNS rebinding uses.
func (s *Server) ownHost(host string) bool {
	return conns.IsLoopbackHost(host) ||
		slices.ContainsFunc(s.o.Settings.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

var allowInvalid = jsontext.AllowInvalidUTF8(true)

// decode reads a body strictly: one object of JSON, no member that isn't known, none
// twice, nothing behind it.
func decode(r *http.Request, body []byte, into any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return newProblem(http.StatusUnsupportedMediaType, ReasonBody, "Content-Type must be application/json")
	}
	if jsontext.Value(body).Kind() != '{' {
		return newProblem(http.StatusBadRequest, ReasonBody, "the body must be one object of JSON")
	}
	if err := jsonv2.Unmarshal(body, into, jsonv2.RejectUnknownMembers(true)); err != nil {
		return newProblem(http.StatusBadRequest, ReasonBody, gate.Escape(err.Error()))
	}
	return nil
}
