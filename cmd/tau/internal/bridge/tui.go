package bridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/cmd/tau/internal/jobctl"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/tui"
	"github.com/tau-robot/tau/gate/events"
)

// Screen is a terminal that shows nothing but what the approver shows
// (--approve-from tui). Make one with OpenScreen.
type Screen struct {
	tty   *tui.TTY
	term  string
	ascii bool
	tui   *tui.TUI // once the bridge begins
}

// OpenScreen takes in and out for a screen. An error is a usage error's text: there
// is no terminal, or none on which a cursor can be moved.
func OpenScreen(in, out *os.File, getenv func(string) string) (*Screen, error) {
	name := getenv("TERM")
	if name == "" || name == "dumb" {
		return nil, fmt.Errorf("TERM is %q: the screen needs a terminal on which the cursor can be moved; --approve-from terminal needs none", name)
	}
	tty, err := tui.OpenTTY(in, out)
	if err != nil {
		return nil, err
	}
	return &Screen{tty: tty, term: name, ascii: !utf8Locale(getenv)}, nil
}

// utf8Locale reports whether the terminal is expected to show UTF-8, in the order in
// which the C library looks.
func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

// open makes the approver.
func (s *Screen) open(setup *Setup) *tui.TUI {
	s.tui = tui.New(tui.Options{
		Terminal: s.tty, Lang: setup.Settings.Lang(), ASCII: s.ascii, Term: s.term,
		Robot: setup.Model.Name, Mode: modeOf(setup), Now: setup.Now,
	})
	return s.tui
}

// bind puts the screen before the bridge.
func (s *Screen) bind(h *Host) {
	s.tui.Bind(tui.Bridge{
		Stop: func(kind gate.StopKind) []gate.StopVerdict {
			return h.Gate.Stop(context.Background(), kind, "a key on the screen", "tui", Operator).Verdicts
		},
		Open: h.Gate.Open,
		State: func(ctx context.Context) tui.State {
			all := tui.State{Known: true}
			for _, b := range h.robots() {
				st, err := b.State(ctx)
				all.Known = all.Known && err == nil
				all.Moving, all.EStopped = all.Moving || st.Moving, all.EStopped || st.EStopped
			}
			return all
		},
		Earlier: h.earlierEvents,
		Hold:    func() func() { return h.Hold("suspended") },
		Suspend: jobctl.SuspendGroup,
	})
}

// earlierEvents reads what the session's log has until now. Lines that can't be read
// are left to "robot events verify".
func (h *Host) earlierEvents(ctx context.Context) []gate.Event {
	var out []gate.Event
	for e, err := range events.Read(h.EventsPath()) {
		if ctx.Err() != nil {
			break
		}
		if err == nil {
			out = append(out, e.Event)
		}
	}
	return out
}

// serve shows the screen to its end.
func (s *Screen) serve(ctx context.Context) error {
	err := s.tui.Run(ctx)
	if ctx.Err() != nil { // an interruption decides by itself
		err = nil
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, tui.ErrInterrupted):
		return interrupted("ctrl-C")
	case errors.Is(err, tui.ErrHangup):
		return interrupted("the terminal is gone")
	}
	return exit.Bridgef("the screen: %w", err)
}

// close gives the terminal back, whatever has become of the screen.
func (s *Screen) close() { _ = s.tty.Close() } // nobody to tell
