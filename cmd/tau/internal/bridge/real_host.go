package bridge

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/signed"
	"github.com/tau-robot/tau/gate/words"
	"github.com/tau-robot/tau/robot"
)

// modeOf is what the bridge's own session moves.
func modeOf(s *Setup) gate.Mode {
	if s.Real != nil {
		return gate.ModeReal
	}
	return gate.ModeSim
}

// moves says which robot a session is of, whether or not it may move it now.
func (h *Host) moves(session string) gate.Session {
	s, _ := sessions{h.all, h.optIns}.Session(session)
	return s
}

// robots are the backends of the bridge, of which there is none before it is built.
func (h *Host) robots() []robot.Backend {
	var out []robot.Backend
	if h.real != nil {
		out = append(out, h.real.backend)
	}
	if h.backend != nil {
		out = append(out, h.backend)
	}
	return out
}

// recorded is a backend whose motions are recorded.
func (h *Host) recorded(b robot.Backend) *recorder {
	return &recorder{Backend: b, sink: h.sink, watch: h.sink.watch, session: h.setup.Session, now: h.setup.Now, log: h.Log}
}

// emitReal records what happens to the real robot or to the consent to move it.
func (h *Host) emitReal(e gate.Event) error {
	e.Time = h.setup.Now()
	err := h.sink.Emit(e)
	if err != nil {
		h.Log.Error("an event about the real robot could not be recorded", "text", e.Text, "err", err)
	}
	return err
}

// beginReal opts the bridge's own session in, as its command line says, and begins to
// watch over the real robot. Without one it does nothing.
func (h *Host) beginReal() error {
	if h.real == nil {
		return nil
	}
	if _, err := h.optIns.grant(h.setup.Session, Operator, originStart, cmp.Or(h.real.For, robot.DefaultOptIn)); err != nil {
		return err
	}
	var ctx context.Context
	ctx, h.watched = context.WithCancel(context.Background())
	l := &link{backend: h.real.backend, name: h.real.Driver, session: h.setup.Session, now: h.setup.Now, emit: h.emitReal}
	h.watching.Go(func() { l.run(ctx) })
	return nil
}

// readyNotice says that the bridge is ready, of which robot, and what its session was
// opted in to.
func (h *Host) readyNotice(l words.Lang) string {
	name, dir := gate.Escape(h.Model.Name), gate.Escape(h.Path())
	if h.real == nil {
		return l.Ready(name, h.setup.Session, dir) + "\n"
	}
	var b strings.Builder
	b.WriteString(l.ReadyReal(name, gate.Escape(h.real.Driver), gate.Escape(h.real.Port), h.setup.Session, dir) + "\n")
	s, ok := h.all.Get(h.setup.Session)
	if !ok || s.OptIn == nil {
		return b.String() // it has ended already, and that was told
	}
	b.WriteString(l.OptedIn(h.setup.Session, s.OptIn.Expires.Local().Format(time.DateTime)) + "\n")
	for _, line := range h.real.describe(l, h.setup.Now()) {
		b.WriteString("  " + gate.Escape(line.Label) + ": " + gate.Escape(line.Text) + "\n")
	}
	b.WriteString(l.OptInHint(h.setup.Session) + "\n")
	return b.String()
}

// optIn opts a session in, as a signed statement says: for how long, and to what its
// signer was shown.
func (s socket) optIn(a signed.Accepted) (control.Reply, error) {
	h, name := s.h, a.Statement.ID
	if h.real == nil {
		return control.Reply{}, gate.Errf(gate.CodeNotSupported, "optin", "this bridge has no real robot, so there is nothing that an opt-in could let session %q move; 'tau robot real' starts one that has", name)
	}
	length, ok := a.Statement.Param("for")
	d, err := time.ParseDuration(length)
	shown, sok := a.Statement.Param(ShownParam)
	switch {
	case !ok || !sok || len(a.Statement.Params) != 2:
		return control.Reply{}, gate.Errf(gate.CodeInvalidArgument, "optin", "the statement has to say for how long, and what was shown, and nothing else")
	case err != nil || d <= 0 || d > robot.MaxOptIn:
		return control.Reply{}, gate.Errf(gate.CodeInvalidArgument, "for", "%q: an opt-in lasts more than 0 and at most %s", length, robot.MaxOptIn)
	case shown != ShownOptIn(h.real.describe(words.English, h.setup.Now())):
		return control.Reply{}, gate.Errf(gate.CodeNotApproved, ShownParam, "what was shown before the signature isn't this bridge's robot")
	}
	if _, there := h.all.Get(name); !there {
		return control.Reply{}, gate.Errf(gate.CodeInvalidArgument, "session", "there is no session %q; 'tau robot session new %s' opens one", name, name)
	}
	in, err := h.optIns.grant(name, decider(a.Key, h.operator.ring.Root()), originControl, d)
	if err != nil {
		return control.Reply{}, gateError(err)
	}
	h.Gate.SessionsChanged()
	return control.Reply{Text: "session " + name + " may move the real robot until " + in.Expires.UTC().Format(time.DateTime+" UTC")}, nil
}
