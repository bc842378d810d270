// Package gatetest has the approvers that tests use. There is none that approves
// everything: a test scripts each decision and asserts the requests that were
// shown (G9). Its constructors take a testing.TB, so that a program can't hold
// one; only tests import it.
package gatetest

import (
	"context"
	"sync"
	"testing"

	"github.com/tau-robot/tau/gate"
)

// Step is one scripted decision.
type Step struct {
	Decision gate.Decision
	Reason   gate.Reason
	By       string
	Edit     gate.Edit // of Edited
	Err      error
	// Do, if set, runs first, while the question is open. It may block on ctx,
	// panic, or look at the request, which is its own copy.
	Do func(ctx context.Context, req gate.Request)
}

// Approve is a person's yes.
func Approve() Step { return Step{Decision: gate.Approved, Reason: "answered"} }

// Reject is a person's no.
func Reject() Step { return Step{Decision: gate.Rejected, Reason: "answered"} }

// Scripted decides as its script says, in order, and records what it was asked.
// Methods may be called from any goroutine.
type Scripted struct {
	tb testing.TB

	mu       sync.Mutex
	steps    []Step
	requests []gate.Request
	open     int
	overlap  bool
}

var _ gate.Approver = (*Scripted)(nil)

// Script returns an approver for exactly these decisions. A question beyond them
// fails the test and is refused; a decision that nobody asked for fails it too.
func Script(tb testing.TB, steps ...Step) *Scripted {
	tb.Helper()
	s := &Scripted{tb: tb, steps: steps}
	tb.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.steps) > 0 {
			tb.Errorf("gatetest: %d scripted decisions were never asked for", len(s.steps))
		}
		if s.overlap {
			tb.Errorf("gatetest: two questions were open at once")
		}
	})
	return s
}

// Name returns "scripted".
func (s *Scripted) Name() string { return "scripted" }

// Decide takes the next step.
func (s *Scripted) Decide(ctx context.Context, req gate.Request) (gate.Word, error) {
	s.mu.Lock()
	s.requests = append(s.requests, req.Clone())
	s.open++
	s.overlap = s.overlap || s.open > 1
	if len(s.steps) == 0 {
		s.open--
		s.mu.Unlock()
		s.tb.Errorf("gatetest: nobody scripted a decision for %s %s", req.Tool, req.Args)
		return gate.Word{Decision: gate.Rejected, Reason: "not scripted"}, nil
	}
	step := s.steps[0]
	s.steps = s.steps[1:]
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.open--
		s.mu.Unlock()
	}()
	if step.Do != nil {
		step.Do(ctx, req)
	}
	return gate.Word{Decision: step.Decision, Reason: step.Reason, By: step.By, Edit: step.Edit}, step.Err
}

// Requests returns copies of what was asked so far, in order.
func (s *Scripted) Requests() []gate.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]gate.Request, len(s.requests))
	for i, r := range s.requests {
		out[i] = r.Clone()
	}
	return out
}

// Unanswered never decides: each question stays open until its context ends.
// Asked receives each request.
type Unanswered struct {
	Asked chan gate.Request
}

var _ gate.Approver = (*Unanswered)(nil)

// Nobody returns an Unanswered approver; its channel holds up to 64 requests.
func Nobody(testing.TB) *Unanswered { return &Unanswered{Asked: make(chan gate.Request, 64)} }

// Name returns "unanswered".
func (u *Unanswered) Name() string { return "unanswered" }

// Decide waits for ctx to end and says nothing.
func (u *Unanswered) Decide(ctx context.Context, req gate.Request) (gate.Word, error) {
	select {
	case u.Asked <- req.Clone():
	default:
	}
	<-ctx.Done()
	return gate.Word{}, ctx.Err()
}
