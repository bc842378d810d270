package web

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/signed"
)

// The recorded reasons of what is refused here, beside those of package signed.
const (
	ReasonNoPath     gate.Reason = "no such path"
	ReasonHost       gate.Reason = "wrong host"
	ReasonOrigin     gate.Reason = "wrong origin"
	ReasonBusy       gate.Reason = "too many requests at once"
	ReasonTooLarge   gate.Reason = "body too large"
	ReasonBody       gate.Reason = "body malformed"
	ReasonUnsigned   gate.Reason = "request not signed"
	ReasonClock      gate.Reason = "request signed at another time"
	ReasonRepeated   gate.Reason = "request replayed"
	ReasonTooMany    gate.Reason = "too many attempts"
	ReasonNoRequest  gate.Reason = "no such open request"
	ReasonAsking     gate.Reason = "answer for another asking"
	ReasonDecided    gate.Reason = "answered already"
	ReasonGone       gate.Reason = "request expired"
	ReasonForeignKey gate.Reason = "only one's own key"
	ReasonInside     gate.Reason = "the bridge failed inside"
)

// problem is why a request is refused.
type problem struct {
	status int
	reason gate.Reason
	text   string
	key    string        // that it named
	after  time.Duration // when to come again
}

func (p *problem) Error() string { return string(p.reason) + ": " + p.text }

func newProblem(status int, reason gate.Reason, text string) error {
	return &problem{status: status, reason: reason, text: text}
}

// statuses are those of package signed's reasons.
func statusOf(r gate.Reason) int {
	switch r {
	case signed.ReasonUnknown, signed.ReasonSignature:
		return http.StatusUnauthorized
	case signed.ReasonRevoked, signed.ReasonKind, signed.ReasonNoPairing, signed.ReasonPairingCode, signed.ReasonNotEnrolled:
		return http.StatusForbidden
	case signed.ReasonRing:
		return http.StatusServiceUnavailable
	case signed.ReasonPurpose, signed.ReasonOther:
		return http.StatusUnprocessableEntity
	case signed.ReasonDigest, signed.ReasonShown, signed.ReasonReplayed, signed.ReasonPairingUsed:
		return http.StatusConflict
	case signed.ReasonExpired, signed.ReasonNonce, signed.ReasonPairingLate:
		return http.StatusGone
	case signed.ReasonTooMany:
		return http.StatusTooManyRequests
	}
	return http.StatusBadRequest
}

// problemOf turns what a handler returned into an answer.
func (s *Server) problemOf(err error) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	var r *signed.Refusal
	if errors.As(err, &r) {
		return &problem{status: statusOf(r.Reason), reason: r.Reason, text: s.say(r), key: r.Key}
	}
	var e *gate.Error
	if errors.As(err, &e) && e.Code == gate.CodeInvalidArgument {
		return &problem{status: http.StatusBadRequest, reason: ReasonBody, text: gate.Escape(e.Message())}
	}
	s.log.Error("the approval service failed", "err", err)
	return &problem{status: http.StatusInternalServerError, reason: ReasonInside, text: s.o.Lang.WebFailed()}
}

// say is a refusal in the person's language, where the person can do something about it.
func (s *Server) say(r *signed.Refusal) string {
	l := s.o.Lang
	switch r.Reason {
	case signed.ReasonUnknown:
		return l.WebKeyUnknown()
	case signed.ReasonRevoked:
		return l.WebKeyRevoked()
	case signed.ReasonReplayed:
		return l.WebReplayed()
	case signed.ReasonDigest, signed.ReasonShown:
		return l.WebOtherCard()
	case signed.ReasonExpired, signed.ReasonNonce:
		return l.WebLate()
	case signed.ReasonNoPairing, signed.ReasonPairingUsed, signed.ReasonPairingLate, signed.ReasonTooMany:
		return l.WebNoPairing()
	case signed.ReasonPairingCode:
		return l.WebWrongCode()
	case signed.ReasonNotEnrolled:
		return l.WebNotEnrolled()
	}
	return gate.Escape(r.Text)
}

type problemBody struct {
	Error struct {
		Reason gate.Reason `json:"reason"`
		Text   string      `json:"text"`
	} `json:"error"`
}

// refuse writes why a request is refused, and logs it.
func (s *Server) refuse(w http.ResponseWriter, p *problem) {
	s.log.Warn("a request to the approval service was refused", "reason", string(p.reason), "status", p.status, "key", p.key)
	if p.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(p.after/time.Second))))
	}
	var b problemBody
	b.Error.Reason, b.Error.Text = p.reason, p.text
	s.write(w, p.status, b)
}

// write writes an answer. What isn't UTF-8 in it is replaced, so that its hash is
// another one and nothing can be approved on it.
func (s *Server) write(w http.ResponseWriter, status int, v any) {
	b, err := jsonv2.Marshal(v, allowInvalid)
	if err != nil {
		s.log.Error("an answer of the approval service could not be written", "err", err)
		http.Error(w, "", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // who has gone away gets nothing
}
