package web

import (
	"net/http"
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/signed"
)

type decided struct {
	CallID   string `json:"call_id"`
	Decision string `json:"decision"`
	Key      string `json:"key"`
}

// decide takes a signed decision. The statement is signed itself, so the request needn't be.
func (s *Server) decide(w http.ResponseWriter, r *http.Request, body []byte) error {
	var m signed.Message
	if err := decode(r, body, &m); err != nil {
		return err
	}
	a, err := s.verifier.Check(m, signed.Approve, signed.Reject)
	if err != nil {
		if !s.bad.AllowN(s.o.Now(), 1) {
			return &problem{status: http.StatusTooManyRequests, reason: ReasonTooMany, text: s.o.Lang.WebTooMany(), after: time.Second}
		}
		return s.record(err, "")
	}
	if err := s.answer(a); err != nil {
		return s.record(err, a.Key.ID)
	}
	s.log.Info("a decision came over the web", "call_id", a.Statement.ID, "decision", string(a.Statement.Purpose), "key", a.Key.ID)
	s.write(w, http.StatusOK, decided{a.Statement.ID, a.Statement.Decision, a.Key.ID})
	return nil
}

// record has a refusal recorded, and returns it.
func (s *Server) record(err error, key string) error {
	p := s.problemOf(err)
	if p.key == "" {
		p.key = key
	}
	s.o.Refused(p.reason, p.text, p.key)
	return p
}

type stopBody struct {
	Reason string `json:"reason"`
}

type verdictsBody struct {
	Verdicts []gate.StopVerdict `json:"verdicts"`
}

const maxReason = 256

// stop stops everything, at once. A body that can't be read stops as well.
func (s *Server) stop(w http.ResponseWriter, r *http.Request, body []byte) error {
	e, err := s.authenticate(r, body)
	if err != nil {
		return err
	}
	kind := gate.StopControlled
	if r.URL.Path == Path+"estop" {
		kind = gate.StopEmergency
	}
	var b stopBody
	if len(body) > 0 && decode(r, body, &b) != nil {
		b.Reason = "with a body that can't be read"
	}
	s.write(w, http.StatusOK, verdictsBody{s.o.Stop(r.Context(), kind, gate.Clip(b.Reason, maxReason), "device:"+e.ID)})
	return nil
}

type revokeBody struct {
	Key string `json:"key"`
}

// revoke takes a device's own power away. Another one's is taken at the bridge's
// machine, which needs no key at all.
func (s *Server) revoke(w http.ResponseWriter, r *http.Request, body []byte) error {
	e, err := s.authenticate(r, body)
	if err != nil {
		return err
	}
	var b revokeBody
	if err := decode(r, body, &b); err != nil {
		return err
	}
	if b.Key != e.ID || e.Kind != signed.KindDevice {
		return &problem{status: http.StatusForbidden, reason: ReasonForeignKey, text: s.o.Lang.WebOwnKeyOnly(), key: e.ID}
	}
	if err := s.o.Ring.Revoke(e.ID, s.o.Now()); err != nil {
		return err
	}
	s.log.Info("a device gave up its key", "key", e.ID)
	s.write(w, http.StatusOK, b)
	return nil
}
