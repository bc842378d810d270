package terminal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/card"
	"github.com/tau-robot/tau/gate/words"
)

// Arming is how long after the end of a card a line still can't approve: what
// was typed until then wasn't an answer to what is on the screen.
const Arming = 500 * time.Millisecond

// The reasons that are recorded. Only ReasonAnswered can come with an approval. A
// person refuses with ReasonAnswered, ReasonEOF and ReasonInterrupted; every other one
// says that there was no answer that counts.
const (
	ReasonAnswered       gate.Reason = "answered"
	ReasonEOF            gate.Reason = "eof"
	ReasonInterrupted    gate.Reason = "interrupted"
	ReasonSuspended      gate.Reason = "suspended"
	ReasonNotInteractive gate.Reason = "not interactive"
	ReasonBeforeEnd      gate.Reason = "before the card's end"
	ReasonTooEarly       gate.Reason = "within 0.5 s of the card's end"
	ReasonPasted         gate.Reason = "pasted"
	ReasonExpired        gate.Reason = "expired"
	ReasonTimeout        gate.Reason = "timeout"
	ReasonWithdrawn      gate.Reason = "withdrawn"
	ReasonNotShown       gate.Reason = "the card could not be shown"
	ReasonNoAnswer       gate.Reason = "the terminal gave no answer"
	ReasonNotAnEdit      gate.Reason = "neither slower nor shorter"
)

// Approver asks at a Console. It asks one question at a time; others wait their
// turn. Make one with New; the zero value refuses.
type Approver struct {
	console Console
	lang    words.Lang
	turn    chan struct{}

	mu   sync.Mutex
	id   string        // of the call whose card is open, or being opened; "": none is
	view View          // nil: it is being opened
	kept []gate.Notice // that came while it was
}

var (
	_ gate.Approver = (*Approver)(nil)
	_ gate.Noticer  = (*Approver)(nil)
)

// New returns an approver that asks at con, in a language.
func New(con Console, l words.Lang) *Approver {
	return &Approver{console: con, lang: l, turn: make(chan struct{}, 1)}
}

// Name returns "terminal".
func (*Approver) Name() string { return "terminal" }

// Decide shows the card and waits for the answer. It approves only on a line y,
// yes, e or evet (any case, blanks around it ignored) that a person typed, without
// a paste, at least Arming after the end of the card had been shown and before
// the request expires. Under the same conditions s asks for it at half the speed, l for
// half of the way, and either with a fraction above 0 and below 1 behind it for that
// ([gate.Edited]); every other answer refuses, for good. One that comes too early
// to be an answer, and isn't a no, was pasted or came too late is no person's refusal
// either ([gate.Void]). When ctx ends, the card is taken away with a line that says so.
func (a *Approver) Decide(ctx context.Context, req gate.Request) (gate.Word, error) {
	if a.console == nil || !a.console.Interactive() {
		return void(ReasonNotInteractive), nil
	}
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return ended(ctx), nil
	}
	a.showing(req.CallID, nil)
	defer a.showing("", nil)
	view, err := a.console.OpenCard(ctx, Card(a.lang, req), a.lang.TerminalQuestion())
	if err != nil {
		if ctx.Err() != nil {
			return ended(ctx), nil
		}
		return void(ReasonNotShown), fmt.Errorf("terminal: %w", err)
	}
	defer view.Close(a.lang.TerminalClosed(a.lang.TerminalTakenAway())) // also if something below panics
	for _, n := range a.showing(req.CallID, view) {
		a.Notice(req.CallID, n)
	}
	select {
	case <-ctx.Done():
	case answer, ok := <-view.Answer():
		if ctx.Err() != nil { // both were there: the question is no longer open
			break
		}
		if !ok {
			return void(ReasonNoAnswer), nil
		}
		return judge(answer, view.Shown(), req), nil
	}
	view.Close(a.lang.TerminalClosed(a.closing(ctx)))
	return ended(ctx), nil
}

func void(why gate.Reason) gate.Word { return gate.Word{Decision: gate.Void, Reason: why} }

// showing says what is shown, and returns the notices that came before it was there.
func (a *Approver) showing(id string, v View) []gate.Notice {
	a.mu.Lock()
	defer a.mu.Unlock()
	kept := a.kept
	a.id, a.view, a.kept = id, v, nil
	return kept
}

// maxKept bounds the notices that wait for their card.
const maxKept = 16

// Notice writes a line over the open card, where the console can: the card is written
// again in full under it, and has to be there for Arming again; what is being typed stays.
// A kind that isn't known is nothing.
func (a *Approver) Notice(callID string, n gate.Notice) {
	a.mu.Lock()
	v := a.view
	if a.id != callID {
		v = nil
	} else if v == nil && callID != "" && len(a.kept) < maxKept {
		a.kept = append(a.kept, n)
	}
	a.mu.Unlock()
	line := card.Notice(a.lang, n)
	if to, ok := v.(interface{ Note(line string) }); ok && line != "" {
		to.Note(NoticeMark + line)
	}
}

// Early reports whether a line that was completed at a time comes too early to be
// an answer to a card whose end was shown at another; zero: it hasn't been. A
// console may leave such a line out instead of answering with it: it would only
// refuse.
func Early(at, shown time.Time) bool {
	return shown.IsZero() || at.Sub(shown) < Arming
}

// No reports whether a line says no, in English or Turkish. It counts at any time.
func No(text string) bool {
	switch strings.ToLower(strings.Trim(text, " \t")) {
	case "n", "no", "h", "hayır", "hayir":
		return true
	}
	return false
}

// judge is the whole rule.
func judge(a Answer, shown time.Time, req gate.Request) gate.Word {
	no := func(why gate.Reason) gate.Word { return gate.Word{Decision: gate.Rejected, Reason: why} }
	switch a.Kind {
	case Typed:
	case EndOfInput:
		return no(ReasonEOF)
	case Interrupted:
		return no(ReasonInterrupted)
	case Suspended:
		return void(ReasonSuspended)
	default:
		return void(ReasonNoAnswer)
	}
	if No(a.Text) {
		return no(ReasonAnswered)
	}
	switch after := a.At.Sub(shown); {
	case shown.IsZero(), a.At.IsZero(), after < 0:
		return void(ReasonBeforeEnd)
	case after < Arming:
		return void(ReasonTooEarly)
	case a.Pasted:
		return void(ReasonPasted)
	case !req.Expiry.IsZero() && !a.At.Before(req.Expiry):
		return void(ReasonExpired)
	}
	switch strings.ToLower(strings.Trim(a.Text, " \t")) {
	case "y", "yes", "e", "evet":
		return gate.Word{Decision: gate.Approved, Reason: ReasonAnswered}
	}
	if edit, is := editOf(a.Text); is && req.Editable {
		if edit.Check() != nil {
			return void(ReasonNotAnEdit)
		}
		return gate.Word{Decision: gate.Edited, Reason: ReasonAnswered, Edit: edit}
	}
	return no(ReasonAnswered)
}

// editOf reads a line that asks for less: s or slower, l or less, and a fraction that
// may be left out and is a half then. What the fraction is worth Check says.
func editOf(text string) (gate.Edit, bool) {
	f := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r == ' ' || r == '\t' })
	if len(f) == 0 || len(f) > 2 {
		return gate.Edit{}, false
	}
	fraction := 0.5
	if len(f) == 2 {
		var err error
		if fraction, err = strconv.ParseFloat(f[1], 64); err != nil || fraction == 0 {
			fraction = math.NaN() // no edit, and no other answer
		}
	}
	switch f[0] {
	case "s", "slower":
		return gate.Edit{SpeedScale: fraction}, true
	case "l", "less":
		return gate.Edit{Fraction: fraction}, true
	}
	return gate.Edit{}, false
}

// ended says how a question ended that nobody answered.
func ended(ctx context.Context) gate.Word {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return gate.Word{Decision: gate.TimedOut, Reason: ReasonTimeout}
	}
	return gate.Word{Decision: gate.Rejected, Reason: ReasonWithdrawn}
}

// closing is why a card was taken away, for the person.
func (a *Approver) closing(ctx context.Context) string {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, context.DeadlineExceeded):
		return a.lang.TUINobody()
	case errors.Is(cause, context.Canceled):
		return a.lang.TUIWithdrawn()
	}
	return a.lang.TUIWithdrawn() + ": " + gate.Escape(cause.Error())
}
