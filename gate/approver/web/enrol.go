package web

import (
	"net/http"
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/signed"
)

type enrolBody struct {
	Code   string `json:"code"`
	Name   string `json:"name"`
	Public []byte `json:"public_key"`
}

type enrolled struct {
	Key     string      `json:"key"`
	Name    string      `json:"name"`
	Kind    signed.Kind `json:"kind"`
	Waiting bool        `json:"waiting"` // whoever opened the pairing hasn't answered yet
}

// enrolWait is how long an enrolment is held until the operator has confirmed it.
const enrolWait = 2 * time.Minute

// enrol hands in a device's public key with the code that was typed at it, and waits
// until the person who opened the pairing has confirmed the device or hasn't.
func (s *Server) enrol(w http.ResponseWriter, r *http.Request, body []byte) error {
	if !s.enrols.AllowN(s.o.Now(), 1) {
		return &problem{status: http.StatusTooManyRequests, reason: ReasonTooMany, text: s.o.Lang.WebTooMany(), after: 2 * time.Second}
	}
	var b enrolBody
	if err := decode(r, body, &b); err != nil {
		return err
	}
	c, err := s.o.Pairing.Present(b.Code, b.Name, b.Public)
	if err != nil {
		return s.record(err, "")
	}
	s.log.Info("a device asks to be enrolled", "key", c.Entry.ID, "name", gate.Escape(c.Entry.Name))
	out := enrolled{Key: c.Entry.ID, Name: c.Entry.Name, Kind: c.Entry.Kind}
	late := time.NewTimer(enrolWait)
	defer late.Stop()
	select {
	case <-c.Done():
		if err := c.Err(); err != nil {
			return err
		}
		s.write(w, http.StatusOK, out)
	case <-s.quit:
		return newProblem(http.StatusServiceUnavailable, ReasonEnded, s.o.Lang.WebFailed())
	case <-late.C:
		out.Waiting = true
		s.write(w, http.StatusAccepted, out)
	case <-r.Context().Done():
	}
	return nil
}
