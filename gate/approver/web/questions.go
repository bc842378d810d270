package web

import (
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/card"
	"github.com/tau-robot/tau/gate/approver/signed"
)

// summary is a request in the list.
type summary struct {
	CallID    string `json:"call_id"`
	Tool      string `json:"tool"` // escaped
	Session   string `json:"session"`
	Principal string `json:"principal"`
	Asked     int64  `json:"asked_ms"`
	Expires   int64  `json:"expires_ms"`
}

type listBody struct {
	Version  string    `json:"version"`
	Now      int64     `json:"now_ms"`
	Requests []summary `json:"requests"`
}

type sessionBody struct {
	Name    string    `json:"name"`
	Mode    gate.Mode `json:"mode"`
	Backend string    `json:"backend"`
	OptIn   string    `json:"opt_in"`
}

type factBody struct {
	Label string `json:"label"`
	Text  string `json:"text"`
}

// showBody is a whole request: what its hash is made of as it is, and the card as text
// for people, escaped.
type showBody struct {
	CallID    string         `json:"call_id"`
	Digest    string         `json:"digest"`
	Tool      string         `json:"tool"`
	Tier      int            `json:"tier"`
	Arguments jsontext.Value `json:"arguments"`
	Effect    string         `json:"effect"`
	Session   sessionBody    `json:"session"`
	Principal string         `json:"principal"`
	Origin    string         `json:"origin"`
	Asked     int64          `json:"asked_ms"`
	Expires   int64          `json:"expires_ms"`
	Facts     []factBody     `json:"facts"`
	Assumed   []string       `json:"assumed"`
	Data      jsontext.Value `json:"data"`

	Title   string     `json:"title"`
	Lines   []factBody `json:"lines"`
	Notices []string   `json:"notices"`

	Now          int64  `json:"now_ms"`
	ApproveNonce string `json:"approve_nonce"`
	RejectNonce  string `json:"reject_nonce"`
	NonceExpires int64  `json:"nonce_expires_ms"`
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// list returns what is open, and waits for a change where that is asked for.
func (s *Server) list(w http.ResponseWriter, r *http.Request, body []byte) error {
	if _, err := s.authenticate(r, body); err != nil {
		return err
	}
	q := r.URL.Query()
	known, wait := q.Get("version"), time.Duration(0)
	if v := q.Get("wait"); v != "" {
		n, err := strconv.ParseUint(v, 10, 8)
		if err != nil || time.Duration(n)*time.Second > maxWait {
			return newProblem(http.StatusBadRequest, ReasonBody, "wait is a number of seconds from 0 to 25")
		}
		wait = time.Duration(n) * time.Second
	}
	late := time.NewTimer(wait)
	defer late.Stop()
	for {
		now, changed := s.listed()
		if now.Version != known || wait == 0 {
			s.write(w, http.StatusOK, now)
			return nil
		}
		select {
		case <-changed:
		case <-late.C:
			wait = 0
		case <-s.quit:
			wait = 0
		case <-r.Context().Done():
			return nil
		}
	}
}

func (s *Server) listed() (listBody, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := listBody{Version: s.run + strconv.FormatUint(s.version, 10), Now: s.o.Now().UnixMilli(), Requests: []summary{}}
	for _, q := range s.open {
		if q.done {
			continue
		}
		b.Requests = append(b.Requests, summary{
			CallID: q.req.CallID, Tool: gate.Escape(q.req.Tool), Session: gate.Escape(q.req.Session.Name),
			Principal: gate.Escape(q.req.Principal), Asked: millis(q.req.Asked), Expires: millis(q.req.Expiry),
		})
	}
	slices.SortFunc(b.Requests, func(x, y summary) int { return int(x.Asked - y.Asked) })
	return b, s.changed
}

// show returns a whole request, with a nonce for each of the two decisions.
func (s *Server) show(w http.ResponseWriter, r *http.Request, body []byte) error {
	if _, err := s.authenticate(r, body); err != nil {
		return err
	}
	req, nonce, notes, ok := s.find(r.PathValue("call_id"))
	if !ok {
		return newProblem(http.StatusNotFound, ReasonNoRequest, s.o.Lang.WebClosed())
	}
	now := s.o.Now()
	yes, expires, err := s.verifier.Nonces.Issue(signed.AboutRequest(signed.Approve, req, nonce), now)
	if err != nil {
		return err
	}
	no, _, err := s.verifier.Nonces.Issue(signed.AboutRequest(signed.Reject, req, nonce), now)
	if err != nil {
		return err
	}
	b := s.shown(req)
	b.Notices = notes
	b.Now, b.ApproveNonce, b.RejectNonce, b.NonceExpires = now.UnixMilli(), yes, no, millis(expires)
	s.write(w, http.StatusOK, b)
	return nil
}

func (s *Server) shown(req gate.Request) showBody {
	b := showBody{
		CallID: req.CallID, Digest: hex.EncodeToString(req.Digest[:]), Tool: req.Tool, Tier: req.Tier.Number(),
		Arguments: jsontext.Value(req.Args), Effect: req.Effect,
		Session:   sessionBody{req.Session.Name, req.Session.Mode, req.Session.Backend, req.Session.OptIn},
		Principal: req.Principal, Origin: req.Origin, Asked: millis(req.Asked), Expires: millis(req.Expiry),
		Facts: []factBody{}, Assumed: []string{}, Data: jsontext.Value(req.Card.Data),
		Title: s.o.Lang.CardNeeded(req.Tier.Number()),
	}
	for _, f := range req.Card.Facts {
		b.Facts = append(b.Facts, factBody{f.Label, f.Text})
	}
	b.Assumed = append(b.Assumed, req.Card.Assumed...)
	for _, l := range card.Lines(s.o.Lang, req) {
		b.Lines = append(b.Lines, factBody{l.Label, l.Text})
	}
	return b
}

// find returns an open request, the nonce of its asking, and what there is to say of it.
func (s *Server) find(id string) (req gate.Request, nonce string, notes []string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.open[id]
	if q == nil || q.done {
		return gate.Request{}, "", nil, false
	}
	return q.req.Clone(), q.nonce, append([]string{}, q.notes...), true
}
