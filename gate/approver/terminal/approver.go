package terminal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tau-robot/tau/gate"
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
)

// Approver asks at a Console. It asks one question at a time; others wait their
// turn. Make one with New; the zero value refuses.
type Approver struct {
	console Console
	turn    chan struct{}
}

var _ gate.Approver = (*Approver)(nil)

// New returns an approver that asks at con.
func New(con Console) *Approver {
	return &Approver{console: con, turn: make(chan struct{}, 1)}
}

// Name returns "terminal".
func (*Approver) Name() string { return "terminal" }

// Decide shows the card and waits for the answer. It approves only on a line y,
// yes, e or evet (any case, blanks around it ignored) that a person typed, without
// a paste, at least Arming after the end of the card had been shown and before
// the request expires; every other answer refuses, for good. One that comes too early
// to be an answer, and isn't a no, was pasted or came too late is no person's refusal
// either ([gate.Void]). When ctx ends, the card is taken away with a line that says so.
func (a *Approver) Decide(ctx context.Context, req gate.Request) (gate.Word, error) {
	d, why, err := a.decide(ctx, req)
	return gate.Word{Decision: d, Reason: why}, err
}

func (a *Approver) decide(ctx context.Context, req gate.Request) (gate.Decision, gate.Reason, error) {
	if a.console == nil || !a.console.Interactive() {
		return gate.Void, ReasonNotInteractive, nil
	}
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		d, r := ended(ctx)
		return d, r, nil
	}
	view, err := a.console.OpenCard(ctx, Card(req), Question)
	if err != nil {
		if ctx.Err() != nil {
			d, r := ended(ctx)
			return d, r, nil
		}
		return gate.Void, ReasonNotShown, fmt.Errorf("terminal: %w", err)
	}
	defer view.Close(notice("taken away")) // also if something below panics
	select {
	case <-ctx.Done():
	case answer, ok := <-view.Answer():
		if ctx.Err() != nil { // both were there: the question is no longer open
			break
		}
		if !ok {
			return gate.Void, ReasonNoAnswer, nil
		}
		d, r := judge(answer, view.Shown(), req.Expiry)
		return d, r, nil
	}
	d, r := ended(ctx)
	view.Close(notice(closing(ctx)))
	return d, r, nil
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
func judge(a Answer, shown, expiry time.Time) (gate.Decision, gate.Reason) {
	switch a.Kind {
	case Typed:
	case EndOfInput:
		return gate.Rejected, ReasonEOF
	case Interrupted:
		return gate.Rejected, ReasonInterrupted
	case Suspended:
		return gate.Void, ReasonSuspended
	default:
		return gate.Void, ReasonNoAnswer
	}
	if No(a.Text) {
		return gate.Rejected, ReasonAnswered
	}
	switch after := a.At.Sub(shown); {
	case shown.IsZero(), a.At.IsZero(), after < 0:
		return gate.Void, ReasonBeforeEnd
	case after < Arming:
		return gate.Void, ReasonTooEarly
	case a.Pasted:
		return gate.Void, ReasonPasted
	case !expiry.IsZero() && !a.At.Before(expiry):
		return gate.Void, ReasonExpired
	}
	switch strings.ToLower(strings.Trim(a.Text, " \t")) {
	case "y", "yes", "e", "evet":
		return gate.Approved, ReasonAnswered
	}
	return gate.Rejected, ReasonAnswered
}

// ended says how a question ended that nobody answered.
func ended(ctx context.Context) (gate.Decision, gate.Reason) {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return gate.TimedOut, ReasonTimeout
	}
	return gate.Rejected, ReasonWithdrawn
}

// closing is why a card was taken away, for the person.
func closing(ctx context.Context) string {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, context.DeadlineExceeded):
		return "nobody answered in time"
	case errors.Is(cause, context.Canceled):
		return "withdrawn"
	}
	return "withdrawn: " + gate.Escape(cause.Error())
}

func notice(why string) string {
	return "  (this question is closed, nothing was approved: " + why + ")"
}
