package bridge

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/desk"
	"github.com/tau-robot/tau/gate/approver/signed"
)

// Outside is whether answers from outside of the bridge's own terminal count: those
// that are signed with an enrolled key.
type Outside struct {
	// Answers: they do, if a key is trusted.
	Answers bool
	// Required: the bridge doesn't start without a trusted key.
	Required bool
	// Key is the id of the operator's key that the bridge is told to trust; "": the one
	// that it was told of before.
	Key string
}

// operatorSide is what decides from outside, and what it decides on.
type operatorSide struct {
	desk     *desk.Desk // nil: no answer from outside counts
	ring     *signed.Ring
	nonces   *signed.Nonces
	verifier *signed.Verifier
	pairing  *signed.Pairing
	outcomes *outcomes
	notice   string // about the operator's key, for whoever starts the bridge
	keyless  bool   // there is no operator's key at all

	mu      sync.Mutex
	waiting *signed.Candidate // the device that waits for its entry to be signed
}

// openOperatorSide reads which operator's key is trusted. A bridge trusts a key that
// it was told of on its command line, in this run or an earlier one, and no other:
// that a key's file lies in the data folder means nothing, since any process of this
// user could have put it there.
func (h *Host) openOperatorSide() error {
	s := h.setup
	pin, err := signed.ReadPin(h.dir.Path())
	if err != nil && s.Outside.Key == "" {
		h.Log.Warn("the operator's key isn't trusted", "err", err)
		pin = signed.Pin{}
	}
	root := pin.Key
	if s.Outside.Key != "" {
		root = s.Outside.Key
	}
	o := &operatorSide{
		ring: signed.OpenRing(h.dir.Path(), root), nonces: signed.NewNonces(rand.Reader),
		pairing: signed.NewPairing(rand.Reader, s.Now), outcomes: newOutcomes(),
	}
	o.verifier = &signed.Verifier{Keys: o.ring, Nonces: o.nonces, Now: s.Now}
	h.operator = o
	if s.Outside.Key != "" {
		if _, err := o.ring.Find(root); err != nil {
			return exit.Usagef("--operator-key: %w", err)
		}
		if pin.Key != root {
			pin = signed.Pin{Key: root, Since: s.Now()}
			if err := signed.WritePin(h.dir.Path(), pin); err != nil {
				return err
			}
			if err := h.sink.Emit(h.note("the operator's key " + root + " is trusted from now on")); err != nil {
				return err
			}
		}
	}
	o.notice = h.keyNotice(pin)
	if s.Outside.Required && !o.ring.Enrolled() {
		return exit.Usagef("--approve-from attach: %s", o.notice)
	}
	return nil
}

// note is an event of the bridge itself about its operator's side.
func (h *Host) note(text string) gate.Event {
	return h.noteIn(h.setup.Session, text)
}

// noteIn is one of a session, with the robot that it moves.
func (h *Host) noteIn(session, text string) gate.Event {
	of := h.moves(session)
	return gate.Event{
		Type: "session", Time: h.setup.Now(), SessionID: session, Principal: Operator, Origin: "bridge",
		Mode: of.Mode, Backend: of.Backend, Text: text,
	}
}

// keyNotice says which operator's key is trusted, or what to do for one to be.
func (h *Host) keyNotice(pin signed.Pin) string {
	l := h.setup.Settings.Lang()
	ring := h.operator.ring
	e, err := ring.Find(ring.Root())
	if err == nil {
		return l.KeyTrusted(signed.Grouped(e.ID), gate.Escape(e.Name), pin.Since.Local().Format(time.DateOnly))
	}
	if ring.Root() != "" {
		return l.KeyNotAsPinned(signed.Grouped(ring.Root()), gate.Escape(err.Error()))
	}
	if info, err := signed.ReadKeyInfo(signed.KeyPath(h.dir.Path())); err == nil {
		return l.KeyNotTrusted(signed.Grouped(info.ID), gate.Escape(info.Name))
	}
	h.operator.keyless = true
	return l.KeyNone()
}

// answerable reports whether somebody could answer from outside now.
func (h *Host) answerable() bool { return h.setup.Outside.Answers && h.operator.ring.Enrolled() }

// outsideNotice is a line about answers from outside: which key is trusted, or why none
// is. hint: also that there could be one, for a run in which nobody else can answer.
func (h *Host) outsideNotice(hint bool) string {
	if !h.setup.Outside.Answers || !hint && h.operator.keyless {
		return ""
	}
	return h.operator.notice + "\n"
}

// openDesk puts a desk before the approver of this run, so that answers from outside
// count beside its own. nil: nobody asks in this process.
func (h *Host) openDesk(local gate.Approver) gate.Approver {
	if !h.setup.Outside.Answers {
		return local
	}
	var channels []gate.Approver
	if local != nil {
		channels = append(channels, local)
	}
	for _, c := range h.channels {
		channels = append(channels, c.approver())
	}
	h.operator.desk = desk.New(desk.Options{Channels: channels, Remote: h.operator.ring.Enrolled, Now: h.setup.Now, Rand: rand.Reader})
	return h.operator.desk
}

// outcomes remembers how the last questions ended, for those who watch from outside.
type outcomes struct {
	mu      sync.Mutex
	byCall  map[string]outcome
	order   []string      // oldest first
	changed chan struct{} // closed and made anew with each
}

type outcome struct{ how, by string }

// outcomesKept bounds them.
const outcomesKept = 64

var _ Watcher = (*outcomes)(nil)

func newOutcomes() *outcomes {
	return &outcomes{byCall: map[string]outcome{}, changed: make(chan struct{})}
}

// Motion implements Watcher.
func (*outcomes) Motion(gate.Running, float64, float64) {}

// Event implements Watcher.
func (o *outcomes) Event(e gate.Event) {
	if e.Type != "approval" || e.CallID == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, again := o.byCall[e.CallID]; !again {
		o.order = append(o.order, e.CallID)
		if len(o.order) > outcomesKept {
			delete(o.byCall, o.order[0])
			o.order = o.order[1:]
		}
	}
	o.byCall[e.CallID] = outcome{how: e.Decision, by: e.Decider}
	close(o.changed)
	o.changed = make(chan struct{})
}

// wait returns how a question ended, which is known a moment after its card has gone;
// the zero value if it isn't by the end of ctx.
func (o *outcomes) wait(ctx context.Context, call string) outcome {
	for {
		o.mu.Lock()
		got, ok := o.byCall[call]
		changed := o.changed
		o.mu.Unlock()
		if ok {
			return got
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return outcome{}
		}
	}
}

// watchers tells several.
type watchers []Watcher

var _ Watcher = watchers(nil)

// Event implements Watcher.
func (ws watchers) Event(e gate.Event) {
	for _, w := range ws {
		w.Event(e)
	}
}

// Motion implements Watcher.
func (ws watchers) Motion(of gate.Running, t, duration float64) {
	for _, w := range ws {
		w.Motion(of, t, duration)
	}
}

// decider is what is recorded of who has signed.
func decider(e signed.Entry, root string) string {
	if e.ID == root {
		return Operator
	}
	return string(e.Kind) + ":" + e.ID // a name may be anybody's
}
