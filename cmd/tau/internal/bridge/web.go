package bridge

import (
	"context"
	"crypto/rand"
	"net"

	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/web"
)

// webChannel serves approvals on a listener of its own, which is never MCP's.
type webChannel struct {
	*web.Server
	h    *Host
	ln   net.Listener
	done chan struct{}
}

func openWeb(h *Host) (channel, error) {
	s := h.setup.Settings.Web
	if !s.Configured() {
		return nil, exit.Usagef("--approve-from web needs a section [web] in the file of --settings: listen")
	}
	w := &webChannel{h: h, done: make(chan struct{})}
	var err error
	w.Server, err = web.New(web.Options{
		Settings: s, Ring: h.operator.ring, Pairing: h.operator.pairing, Stop: h.stopFrom("web"), Refused: w.refused, Lang: h.setup.Settings.Lang(),
		Log: h.Log, Now: h.setup.Now, Rand: rand.Reader,
	})
	if err != nil {
		return nil, exit.Usagef("--settings: %w", err)
	}
	if w.ln, err = web.Listen(s); err != nil {
		return nil, exit.Bridgef("--settings: %w", err)
	}
	return w, nil
}

// refused records a decision or an enrolment that didn't count, as the control socket's are.
func (w *webChannel) refused(reason gate.Reason, text, key string) {
	if err := w.h.sink.Emit(gate.Event{
		Type: "error", Time: w.h.setup.Now(), SessionID: w.h.setup.Session, Principal: key, Origin: "web",
		Where: "operator", Reason: string(reason), Text: text, Code: gate.CodeNotApproved,
	}); err != nil {
		w.h.Log.Error("a refused decision could not be recorded", "err", err)
	}
}

func (w *webChannel) approver() gate.Approver { return w.Server }
func (*webChannel) name() string              { return "the approval service" }

func (w *webChannel) notice() string {
	l := w.h.setup.Settings.Lang()
	s := l.WebServed("http://" + w.ln.Addr().String() + web.Path)
	if w.Unattended() {
		s += "; " + l.WebNobodyEnrolled()
	}
	return s
}

func (w *webChannel) begin() {
	ln := w.ln
	w.ln = begun{ln}
	go func() {
		defer close(w.done)
		if err := w.Serve(ln); err != nil {
			w.h.Log.Error("the approval service ended", "err", err)
		}
	}()
}

// begun is a listener that the server closes.
type begun struct{ net.Listener }

func (w *webChannel) end(ctx context.Context) error {
	if _, ok := w.ln.(begun); !ok {
		return w.ln.Close()
	}
	err := w.Shutdown(ctx)
	select {
	case <-w.done:
	case <-ctx.Done():
	}
	return err
}
