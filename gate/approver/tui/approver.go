package tui

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/card"
	"github.com/tau-robot/tau/gate/approver/terminal"
	"github.com/tau-robot/tau/gate/words"
)

// Arming is how long after the card's end was shown a yes still doesn't count.
const Arming = terminal.Arming

// ReasonClosed is recorded of a question whose screen was left.
const ReasonClosed gate.Reason = "the screen was closed"

// How a screen is left that isn't left by a person's q.
var (
	ErrInterrupted = errors.New("interrupted (ctrl-C)")
	ErrHangup      = errors.New("interrupted (the terminal is gone)")
)

// Options are what a screen is made of.
type Options struct {
	Terminal Terminal // nil: there is none, and every question is void
	Lang     words.Lang
	ASCII    bool   // drawings of plain characters
	Term     string // the terminal's type, TERM
	Robot    string
	Mode     gate.Mode
	Now      func() time.Time // nil: time.Now
	Log      *slog.Logger     // nil: nothing is logged
}

// Bridge is what a screen shows and does beside asking. Each part may be nil.
type Bridge struct {
	// Stop stops everything at once and says what is known of it. It is called on a
	// goroutine of its own, any number of times at once.
	Stop func(kind gate.StopKind) []gate.StopVerdict
	// Open lists the requests that wait for an answer.
	Open func(ctx context.Context) ([]gate.Record, error)
	// State reads the robot's state.
	State func(ctx context.Context) State
	// Earlier gives the events of this session from before, oldest first. It may take
	// long; the screen doesn't wait for it.
	Earlier func(ctx context.Context) []gate.Event
	// Hold stops what moves and keeps everything at rest until it is released.
	Hold func() (release func())
	// Suspend suspends this process and returns when it goes on: ctrl-Z.
	Suspend func() error
}

// TUI is a gate.Approver with a screen. Decide, Event, Motion and Suspend may be
// called from any goroutine, before Run as well; what is asked then waits for it.
// Make one with New.
type TUI struct {
	o      Options
	bridge Bridge
	board  *board
	turn   chan struct{}
	ending chan struct{}
	begun  chan struct{}
	once   struct{ ending, begun sync.Once }
	acts   sync.WaitGroup // stops and suspensions under way
	// bounds of the stops under way, by kind: an e-stop never waits for another stop
	stops, estops chan struct{}

	running    running
	suspending sync.Mutex
}

var (
	_ gate.Approver = (*TUI)(nil)
	_ gate.Noticer  = (*TUI)(nil)
)

// stopsAtOnce is how many stops of one kind may be waited for at once; each is the same
// as the others, so that more of them would do nothing more.
const stopsAtOnce = 8

// New makes a screen; nothing is shown before Run.
func New(o Options) *TUI {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &TUI{
		o: o, board: newBoard(), turn: make(chan struct{}, 1), ending: make(chan struct{}), begun: make(chan struct{}),
		stops: make(chan struct{}, stopsAtOnce), estops: make(chan struct{}, stopsAtOnce),
	}
}

// Bind says what the screen stands before. It is to be called once, before Run.
func (t *TUI) Bind(b Bridge) { t.bridge = b }

// Name returns "tui".
func (*TUI) Name() string { return "tui" }

// Ending is closed when the screen is being left, whoever leaves it.
func (t *TUI) Ending() <-chan struct{} { return t.ending }

// Begun is closed once the screen has been set up.
func (t *TUI) Begun() <-chan struct{} { return t.begun }

// Decide shows the card and waits for a person's answer. It approves on y, e or the
// Approve button, pressed by itself at least Arming after the card's end had been
// written to the terminal, at the size that the terminal has then, before the request
// expires, and with no key that says yes in the two seconds before it. What comes too
// early, together with other keys or out of a paste is no answer, and the card stays. Under the same conditions - asks for it at half the
// speed and < for half of the way, where that can be asked for. n, h, Esc and the Reject button refuse. When ctx
// ends the card is taken away. One question is asked at a time; others wait.
func (t *TUI) Decide(ctx context.Context, req gate.Request) (gate.Word, error) {
	if t.o.Terminal == nil {
		return gate.Word{Decision: gate.Void, Reason: terminal.ReasonNotInteractive}, nil
	}
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return ended(ctx), nil
	}
	q := &question{
		req: req.Clone(), lines: card.Lines(t.o.Lang, req), drawn: readRehearsal(req.Card.Data), word: make(chan gate.Word, 1),
	}
	q.notices = card.Notices(t.o.Lang, req.Notices)
	if !t.board.put(q) {
		return gate.Word{Decision: gate.Void, Reason: ReasonClosed}, nil
	}
	defer t.board.take(q)
	t.board.refresh()
	select {
	case <-ctx.Done():
	case w := <-q.word:
		if ctx.Err() == nil { // else the question was no longer open
			return w, nil
		}
	}
	t.tell(t.o.Lang.TUIClosed(gate.Escape(req.Tool), t.why(ctx)))
	return ended(ctx), nil
}

// Notice shows something about the open question on its card, which is to be read to
// its end again.
func (t *TUI) Notice(callID string, n gate.Notice) {
	text := card.Notice(t.o.Lang, n)
	if text == "" {
		return
	}
	t.board.change(func() {
		if q := t.board.question; q != nil && q.req.CallID == callID {
			q.notices = append(q.notices[:len(q.notices):len(q.notices)], text)
		}
	})
}

// ended says how a question ended that nobody answered.
func ended(ctx context.Context) gate.Word {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return gate.Word{Decision: gate.TimedOut, Reason: terminal.ReasonTimeout}
	}
	return gate.Word{Decision: gate.Rejected, Reason: terminal.ReasonWithdrawn}
}

// why says it to the person.
func (t *TUI) why(ctx context.Context) string {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, context.DeadlineExceeded):
		return t.o.Lang.TUINobody()
	case errors.Is(cause, context.Canceled):
		return t.o.Lang.TUIWithdrawn()
	}
	return t.o.Lang.TUIWithdrawn() + ": " + gate.Escape(cause.Error())
}

// Tell puts a notice among the events. What is in it is escaped. It never blocks.
func (t *TUI) Tell(notice string) { t.tell(gate.Escape(notice)) }

// tell puts a line of our own among the events.
func (t *TUI) tell(line string) {
	stamped := stamp(t.o.Now()) + line
	t.board.change(func() { t.board.events.add(stamped, "", nil) })
}

// again is tell, and counts lines that say the same.
func (t *TUI) again(line string) {
	stamped := stamp(t.o.Now())
	t.board.change(func() {
		t.board.events.add(stamped+line, line, func(n int) string { return stamped + t.o.Lang.TUITimes(line, n) })
	})
}

// leave ends the screen. The open question is refused in the way that is given; the
// first to leave says how.
func (t *TUI) leave(d gate.Decision, why gate.Reason, err error) {
	t.board.close(d, why, err)
	t.once.ending.Do(func() { close(t.ending) })
}

// act is a key that acts by itself, on the goroutine that reads the terminal.
func (t *TUI) act(k key) {
	switch {
	case k.kind == keyInterrupt:
		t.leave(gate.Rejected, terminal.ReasonInterrupted, ErrInterrupted)
	case k.kind == keyEnd:
		t.leave(gate.Rejected, terminal.ReasonEOF, nil)
	case k.kind == keySuspend:
		if t.bridge.Suspend != nil {
			t.acts.Go(func() { t.Suspend(t.bridge.Suspend) })
		}
	case k.r == estopKey:
		t.stop(gate.StopEmergency)
	default:
		t.stop(gate.StopControlled)
	}
}

// stop sends a stop and tells what is known of it. It doesn't wait for it.
func (t *TUI) stop(kind gate.StopKind) {
	if t.bridge.Stop == nil {
		return
	}
	places, sent, full := t.stops, t.o.Lang.TUIStopSent(), t.o.Lang.TUIStopFull(stopsAtOnce)
	if kind == gate.StopEmergency {
		places, sent, full = t.estops, t.o.Lang.TUIEStopSent(), t.o.Lang.TUIEStopFull(stopsAtOnce)
	}
	select {
	case places <- struct{}{}:
	default: // as many are under way as make a difference
		t.again(full)
		return
	}
	t.acts.Go(func() {
		defer func() { <-places }()
		verdicts := t.bridge.Stop(kind)
		for _, v := range verdicts {
			t.tell(t.o.Lang.TUIStopped(gate.Escape(v.Backend), v.Commanded, v.Acknowledged, v.Stationary))
		}
	})
	t.tell(sent)
}
