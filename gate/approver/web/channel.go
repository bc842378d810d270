package web

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/card"
	"github.com/tau-robot/tau/gate/approver/desk"
	"github.com/tau-robot/tau/gate/approver/signed"
)

// The reasons that are recorded with a word.
const (
	ReasonAnswered  gate.Reason = "answered"
	ReasonTimeout   gate.Reason = "timeout"
	ReasonWithdrawn gate.Reason = "withdrawn"
	ReasonEnded     gate.Reason = "the approval service has ended"
)

// asking is one asking of a request.
type asking struct {
	req   gate.Request
	nonce string         // tells it from an earlier one of the same request
	word  chan gate.Word // takes the one decision that counts
	done  bool
	over  chan struct{} // closed when the service ends under it
	notes []string      // what there is to know beside the card, escaped
}

// Name returns "web".
func (*Server) Name() string { return "web" }

// Timeout returns how long a question waits here.
func (*Server) Timeout() time.Duration { return Timeout }

// Unattended reports whether no device is enrolled, so that nobody could answer.
func (s *Server) Unattended() bool {
	all, _ := s.o.Ring.List()
	for _, e := range all {
		// Find knows whether the operator's key, and with it all that it signed, still counts.
		if _, err := s.o.Ring.Find(e.ID); err == nil && e.Kind == signed.KindDevice {
			return false
		}
	}
	return true
}

// DropsOut reports whether a void word of this channel only says that it couldn't ask.
func (*Server) DropsOut(r gate.Reason) bool { return r == ReasonEnded || r == desk.Absent }

// Decide keeps a request open for enrolled devices until one of them has decided, or
// ctx ends.
func (s *Server) Decide(ctx context.Context, req gate.Request) (gate.Word, error) {
	if s.Unattended() {
		return gate.Word{Decision: gate.Void, Reason: desk.Absent}, nil
	}
	var b [16]byte
	if _, err := io.ReadFull(s.o.Rand, b[:]); err != nil {
		return gate.Word{}, gate.Errf(gate.CodeInternal, "nonce", "there is no randomness: %w", err)
	}
	q := &asking{req: req, nonce: hex.EncodeToString(b[:]), word: make(chan gate.Word, 1), over: make(chan struct{}),
		notes: card.Notices(s.o.Lang, req.Notices)}
	if !s.begin(q) {
		return gate.Word{Decision: gate.Void, Reason: ReasonEnded}, nil
	}
	defer s.finish(q)
	select {
	case <-ctx.Done():
	case <-q.over:
		return gate.Word{Decision: gate.Void, Reason: ReasonEnded}, nil
	case w := <-q.word:
		if ctx.Err() == nil { // else both were there: the question is no longer open
			return w, nil
		}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return gate.Word{Decision: gate.TimedOut, Reason: ReasonTimeout}, nil
	}
	return gate.Word{Decision: gate.Rejected, Reason: ReasonWithdrawn}, nil
}

var _ gate.Noticer = (*Server)(nil)

const maxNotes = 16

// Notice adds to what is shown of an open question. It doesn't block.
func (s *Server) Notice(callID string, n gate.Notice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.open[callID]
	text := card.Notice(s.o.Lang, n)
	if text == "" || q == nil || len(q.notes) >= maxNotes {
		return
	}
	q.notes = append(q.notes, text)
	s.tell()
}

func (s *Server) begin(q *asking) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.open[q.req.CallID] = q
	s.tell()
	return true
}

func (s *Server) finish(q *asking) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q.done = true
	if s.open[q.req.CallID] == q {
		delete(s.open, q.req.CallID)
		s.tell()
	}
}

// tell wakes whoever waits for a change. s.mu is held.
func (s *Server) tell() {
	s.version++
	close(s.changed)
	s.changed = make(chan struct{})
}

// answer hands a decision in that has been checked. The first one counts.
func (s *Server) answer(a signed.Accepted) error {
	l := s.o.Lang
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.open[a.Statement.ID]
	switch {
	case q == nil:
		return newProblem(http.StatusNotFound, ReasonNoRequest, l.WebClosed())
	case q.nonce != a.Asking || q.req.Digest != a.Statement.Digest:
		return newProblem(http.StatusConflict, ReasonAsking, l.WebOtherCard())
	case !q.req.Expiry.IsZero() && gate.Expired(s.o.Now(), q.req.Expiry):
		return newProblem(http.StatusGone, ReasonGone, l.WebLate())
	case q.done:
		return newProblem(http.StatusConflict, ReasonDecided, l.WebClosed())
	}
	w := gate.Word{Decision: gate.Rejected, Reason: ReasonAnswered, By: "device:" + a.Key.ID}
	if a.Statement.Purpose == signed.Approve {
		w.Decision = gate.Approved
	}
	q.done = true
	q.word <- w // has room for the one
	s.tell()
	return nil
}
