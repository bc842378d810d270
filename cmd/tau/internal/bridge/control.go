package bridge

import (
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/signed"
	"github.com/tau-robot/tau/gate/words"
)

// socket is the bridge as whoever connects to the control socket reaches it. What it
// does without a signature shows, or takes power away (G34).
type socket struct{ h *Host }

var _ control.Operator = socket{}

// byControl is who has decided at the socket without a key: a process of this user.
const byControl = "control socket"

func (s socket) open(id string) bool {
	for _, q := range s.questions() {
		if q.Request.CallID == id {
			return true
		}
	}
	return false
}

// List lists what waits for an answer, oldest first.
func (s socket) List(ctx context.Context) (control.Reply, error) {
	all, err := s.h.Gate.Open(ctx)
	if err != nil {
		return control.Reply{}, err
	}
	r := control.Reply{Requests: make([]control.Item, 0, len(all))}
	asked := map[string]bool{}
	for _, q := range s.questions() {
		asked[q.Request.CallID] = true
	}
	for _, rec := range all {
		i := itemOf(rec)
		i.Open, i.Bridge = asked[i.CallID], rec.Owner
		r.Requests = append(r.Requests, i)
	}
	return r, nil
}

func itemOf(rec gate.Record) control.Item {
	i := control.ItemOf(rec.Request)
	i.State, i.Decider = rec.State, rec.Decider
	return i
}

// Show shows a request, ended or not.
func (s socket) Show(ctx context.Context, id string) (control.Reply, error) {
	rec, err := s.h.Gate.Stored(ctx, id)
	if err != nil {
		return control.Reply{}, err
	}
	i := itemOf(rec)
	i.Open, i.Bridge = s.open(i.CallID), rec.Owner
	return control.Reply{Requests: []control.Item{i}}, nil
}

// Reject is a no.
func (s socket) Reject(ctx context.Context, id, reason string) (control.Reply, error) {
	why := gate.Reason("rejected at the control socket")
	if reason != "" {
		why += gate.Reason(": " + reason)
	}
	if elsewhere, err := s.h.share.reject(ctx, id, byControl, why); elsewhere || err != nil {
		return control.Reply{}, err
	}
	return control.Reply{}, s.h.Gate.Refuse(ctx, id, byControl, why)
}

// Devices lists the enrolled keys.
func (s socket) Devices(context.Context) (control.Reply, error) {
	ring := s.h.operator.ring
	entries, problems := ring.List()
	r := control.Reply{Keys: make([]control.Key, 0, len(entries)), Text: s.h.operator.notice}
	for _, e := range entries {
		r.Keys = append(r.Keys, control.Key{
			ID: e.ID, Name: e.Name, Kind: string(e.Kind), Created: e.Created, Revoked: e.Revoked, Root: e.ID == ring.Root(),
		})
	}
	for _, p := range problems {
		r.Problems = append(r.Problems, p.Error())
	}
	return r, nil
}

// Sessions lists the sessions with the tokens that open them.
func (s socket) Sessions(context.Context) (control.Reply, error) {
	all := s.h.all.List()
	r := control.Reply{Sessions: make([]control.Opened, 0, len(all))}
	if real := s.h.real; real != nil {
		r.Real = real.describe(words.English, s.h.setup.Now())
	}
	for _, x := range all {
		of := s.h.moves(x.Name) // one whose opt-in has ended is still the real robot's
		o := control.Opened{Name: x.Name, Mode: string(of.Mode), Created: x.Created, Tokens: s.h.tokensOf(x.Name)}
		if x.OptIn != nil {
			o.OptIn = x.OptIn.Robot + " on " + x.OptIn.Driver + " " + x.OptIn.Port + ", by " + x.OptIn.Principal
			o.Expires = x.OptIn.Expires
		}
		r.Sessions = append(r.Sessions, o)
	}
	return r, nil
}

// Revoke takes power away. It needs no key.
func (s socket) Revoke(ctx context.Context, kind, id string) (control.Reply, error) {
	text, err := s.revoke(ctx, kind, id)
	if err != nil {
		return control.Reply{}, err
	}
	if err := s.h.sink.Emit(s.h.note("revoked at the control socket: " + text)); err != nil {
		s.h.Log.Error("a revocation could not be recorded", "what", text, "err", err)
	}
	return control.Reply{Text: text}, nil
}

func (s socket) revoke(ctx context.Context, kind, id string) (string, error) {
	h := s.h
	switch kind {
	case "device":
		if err := h.operator.ring.Revoke(id, h.setup.Now()); err != nil {
			return "", err
		}
		return "key " + id, nil
	case "optin":
		if _, ok := h.all.Get(id); !ok {
			return "", gate.Errf(gate.CodeInvalidArgument, "id", "there is no session %q", id)
		}
		was := h.all.Revoke(id)
		h.Gate.SessionsChanged()
		if !was {
			return "", gate.Errf(gate.CodeNotOptedIn, "id", "session %q has no opt-in in force", id)
		}
		return "opt-in of session " + id, nil
	case "token":
		file, ok := h.revokeToken(id)
		if !ok {
			return "", gate.Errf(gate.CodeInvalidArgument, "id", "there is no token %q", id)
		}
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", gate.Errf(gate.CodeInternal, "id", "the token opens nothing any more; its file stays: %w", err)
		}
		return "token " + id, nil
	case "grant", "routine":
		return s.revokePermit(ctx, kind, id)
	}
	return "", gate.Errf(gate.CodeInvalidArgument, "kind", "%q: want grant, routine, device, optin or token", kind)
}

// Watch tells the open question, each time it changes.
func (s socket) Watch(ctx context.Context, say func(control.Reply) error) (control.Reply, error) {
	d := s.h.operator.desk
	if d == nil {
		return control.Reply{}, gate.Errf(gate.CodeNotSupported, "events", "this bridge takes no answers from outside: it was started with --approve-from none, or for a script")
	}
	tell := func(e control.Event) error { return say(control.Reply{OK: true, Event: &e}) }
	if err := tell(control.Event{Kind: "attached", Text: s.h.describe("runs")}); err != nil {
		return control.Reply{}, err
	}
	said := map[string]string{} // the nonce of what has been told as open, by call
	notices := map[string]int{} // how many of a question's have been told
	current := false
	for {
		changed := d.Changed() // before the look, so that no change is missed
		_, elsewhere := s.h.share.watch()
		open := map[string]bool{}
		for _, q := range s.questions() {
			id := q.Request.CallID
			open[id] = said[id] == "" || said[id] == q.Nonce
			if !open[id] {
				continue
			}
			if said[id] == q.Nonce {
				for _, n := range q.Request.Notices[min(notices[id], len(q.Request.Notices)):] {
					notices[id]++
					note := control.Notice(n)
					if err := tell(control.Event{Kind: "notice", CallID: id, Notice: &note}); err != nil {
						return control.Reply{}, err
					}
				}
				continue
			}
			said[id], notices[id] = q.Nonce, len(q.Request.Notices)
			i := control.ItemOf(q.Request)
			i.Open = true
			if err := tell(control.Event{Kind: "open", Request: &i, CallID: id}); err != nil {
				return control.Reply{}, err
			}
		}
		again := false
		for id := range said {
			if open[id] {
				continue
			}
			again = true // it may be asked again, with another nonce
			o := s.closed(ctx, id, said[id])
			delete(said, id)
			delete(notices, id)
			if err := tell(control.Event{Kind: "closed", CallID: id, How: o.how, By: o.by}); err != nil {
				return control.Reply{}, err
			}
		}
		if again {
			continue
		}
		if !current {
			current = true
			if err := tell(control.Event{Kind: "current"}); err != nil {
				return control.Reply{}, err
			}
		}
		select {
		case <-changed:
		case <-elsewhere:
		case <-ctx.Done():
			return control.Reply{}, context.Cause(ctx)
		}
	}
}

// closed is how a question ended that was told with a nonce, or why it is gone.
func (s socket) closed(ctx context.Context, id, nonce string) outcome {
	if s.h.share.stopped(nonce) {
		return outcome{how: "stopped"} // at once: nobody may say yes to it any more
	}
	soon, cancel := context.WithTimeout(ctx, outcomeWait)
	defer cancel()
	if o := s.h.operator.outcomes.wait(soon, id); o != (outcome{}) {
		return o
	}
	return s.h.share.outcome(ctx, id)
}

// outcomeWait bounds the wait for the record of how a question ended.
const outcomeWait = time.Second

// Nonce issues a nonce for a statement about one thing. It permits nothing.
func (s socket) Nonce(ctx context.Context, purpose, id, digest string) (control.Reply, error) {
	about := signed.About{Purpose: signed.Purpose(purpose), ID: id}
	var item *control.Item
	switch {
	case !about.Purpose.Valid() || about.Purpose == signed.Reject:
		return control.Reply{}, gate.Errf(gate.CodeInvalidArgument, "purpose", "%q: a statement at this socket is to approve, optin, enrol or session", purpose)
	case about.Purpose == signed.Approve:
		if c, elsewhere, err := s.h.share.challenge(ctx, id); elsewhere || err != nil {
			return control.Reply{Nonce: c}, err
		}
		found := false
		for _, q := range s.questions() {
			if q.Request.CallID == id {
				about, found = signed.AboutRequest(signed.Approve, q.Request, q.Nonce), true
				i := control.ItemOf(q.Request)
				i.Open = true
				item = &i
			}
		}
		if !found {
			return control.Reply{}, gate.Errf(gate.CodeInvalidArgument, "id", "there is no open question %q; it may wait for its turn, or has been answered", id)
		}
	default:
		b, err := hex.DecodeString(digest)
		if err != nil || len(b) != len(about.Digest) {
			return control.Reply{}, gate.Errf(gate.CodeInvalidArgument, "digest", "want 64 hex digits")
		}
		copy(about.Digest[:], b)
	}
	nonce, expires, err := s.h.operator.nonces.Issue(about, s.h.setup.Now())
	if err != nil {
		return control.Reply{}, err
	}
	return control.Reply{Nonce: &control.Challenge{Nonce: nonce, Expires: expires, Request: item}}, nil
}
