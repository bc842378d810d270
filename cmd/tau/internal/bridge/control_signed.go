package bridge

import (
	"context"
	"errors"

	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/desk"
	"github.com/tau-robot/tau/gate/approver/signed"
)

// questions are those that are open: the one on the desk, and those at other bridges
// that can be answered here.
func (s socket) questions() []desk.Question {
	if s.h.operator.desk == nil {
		return nil
	}
	return append(s.h.operator.desk.Open(), s.h.share.questions()...)
}

// Signed does what a signed statement says, once it has been checked: that its key is
// enrolled and may do that, that its nonce was issued by this bridge for exactly this
// and hasn't been used, and that neither has expired. Each of the verbs that give power
// ends here, and there is no other way to them from the socket (G34).
func (s socket) Signed(ctx context.Context, verb string, m control.Signed, say func(control.Reply) error) (control.Reply, error) {
	purpose, ok := map[string]signed.Purpose{
		control.Approve: signed.Approve, control.OptIn: signed.OptIn, control.Enrol: signed.Enrol,
		control.Pair: signed.Enrol, control.Session: signed.Session,
	}[verb]
	if !ok {
		return control.Reply{}, gate.Errf(gate.CodeInvalidArgument, "verb", "%q does nothing with a statement", verb)
	}
	if verb == control.Approve {
		if text, elsewhere, err := s.h.share.approve(ctx, m); elsewhere || err != nil {
			return control.Reply{Text: text}, err
		}
	}
	by, err := s.h.check(signed.Message{Statement: m.Statement, Signature: m.Signature}, "control", purpose)
	if err != nil {
		return control.Reply{}, err
	}
	switch verb {
	case control.Approve:
		return s.approve(by)
	case control.Enrol:
		return s.enrol(by)
	case control.Pair:
		return s.pair(ctx, by, say)
	case control.Session:
		return s.session(by)
	default:
		return s.optIn(by)
	}
}

// check checks a signed statement that came over a channel. One that is refused is
// recorded, with its own reason.
func (h *Host) check(m signed.Message, channel string, purposes ...signed.Purpose) (signed.Accepted, error) {
	got, err := h.operator.verifier.Check(m, purposes...)
	if err == nil {
		return got, nil
	}
	var r *signed.Refusal
	reason, key := gate.Reason("it could not be checked"), ""
	if errors.As(err, &r) {
		reason, key = r.Reason, r.Key
	}
	h.Log.Warn("a signed statement was refused", "channel", channel, "key", key, "reason", string(reason), "err", err)
	if eerr := h.sink.Emit(gate.Event{
		Type: "error", Time: h.setup.Now(), SessionID: h.setup.Session, Principal: key, Origin: channel,
		Where: "operator", Reason: string(reason), Text: err.Error(), Code: gate.CodeNotApproved,
	}); eerr != nil {
		h.Log.Error("a refused statement could not be recorded", "err", eerr)
	}
	return signed.Accepted{}, err
}

// answer hands a checked answer in, as one that came over a channel.
func (h *Host) answer(a signed.Accepted, channel string) error {
	d := gate.Rejected
	if a.Statement.Purpose == signed.Approve {
		d = gate.Approved
	}
	if h.operator.desk == nil {
		return gate.Errf(gate.CodeNotSupported, channel, "this bridge takes no answers from outside")
	}
	return h.operator.desk.Answer(desk.Answer{
		ID: a.Statement.ID, Digest: a.Statement.Digest, Nonce: a.Asking,
		Word: gate.Word{Decision: d, Reason: gate.Reason("signed, over " + channel), By: decider(a.Key, h.operator.ring.Root())},
	})
}

func (s socket) approve(a signed.Accepted) (control.Reply, error) {
	if err := s.h.answer(a, "attach"); err != nil {
		return control.Reply{}, err
	}
	return control.Reply{Text: "approved"}, nil
}

// enrol puts an entry into the ring; the device that waits for it is told.
func (s socket) enrol(a signed.Accepted) (control.Reply, error) {
	o := s.h.operator
	e, err := signed.EntryOf(a.Statement)
	if err != nil {
		return control.Reply{}, err
	}
	if err := o.ring.Add(e); err != nil {
		return control.Reply{}, err
	}
	o.mu.Lock()
	c := o.waiting
	o.mu.Unlock()
	if c != nil && c.Entry.ID == e.ID {
		c.Settle(nil)
	}
	text := "enrolled: " + string(e.Kind) + " " + e.ID
	if err := s.h.sink.Emit(s.h.note(text + " (" + gate.Escape(e.Name) + "), by " + decider(a.Key, o.ring.Root()))); err != nil {
		s.h.Log.Error("an enrolment could not be recorded", "key", e.ID, "err", err)
	}
	return control.Reply{Text: text}, nil
}

// pair opens a pairing, tells its code and who came with it, and waits until that
// device's entry is signed, or whoever holds the operator's key goes.
func (s socket) pair(ctx context.Context, a signed.Accepted, say func(control.Reply) error) (control.Reply, error) {
	o := s.h.operator
	if a.Statement.ID != signed.PairingID || len(a.Statement.Params) > 0 {
		return control.Reply{}, gate.Errf(gate.CodeInvalidArgument, "id", "the statement enrols a key; it opens no pairing")
	}
	offer, err := o.pairing.Open()
	if err != nil {
		return control.Reply{}, err
	}
	defer offer.Close()
	if err := say(control.Reply{OK: true, Pairing: &control.Pairing{Code: offer.Code, Expires: offer.Expires}}); err != nil {
		return control.Reply{}, err
	}
	c, err := offer.Wait(ctx)
	if err != nil {
		return control.Reply{}, err
	}
	o.mu.Lock()
	o.waiting = c
	o.mu.Unlock()
	defer func() {
		c.Settle(signed.ErrNotEnrolled)
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.waiting == c {
			o.waiting = nil
		}
	}()
	if err := say(control.Reply{OK: true, Pairing: &control.Pairing{Name: c.Entry.Name, Public: c.Entry.Public}}); err != nil {
		return control.Reply{}, err
	}
	wait, cancel := context.WithTimeoutCause(ctx, signed.PairingLife, signed.ErrNotEnrolled)
	defer cancel()
	select {
	case <-c.Done():
		return control.Reply{Pairing: &control.Pairing{Enrolled: true}}, c.Err()
	case <-wait.Done():
		return control.Reply{}, context.Cause(wait)
	}
}
