package attach

import (
	"context"
	"errors"
	"strings"

	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/cmd/tau/internal/prompt"
	"github.com/tau-robot/tau/cmd/tau/internal/show"
	"github.com/tau-robot/tau/gate"
)

// prompt makes the terminal of one phase.
func (s *session) prompt() (*prompt.Prompt, error) {
	var p *prompt.Prompt
	var err error
	p, err = prompt.New(prompt.Options{
		In: s.o.In, Out: s.o.Out, Prompt: "attach> ", Now: s.o.Now,
		Handle: func(ctx context.Context, line string, _ uint64) { s.handle(ctx, p, line) },
		Act:    func(_ context.Context, line string) (func(), bool) { return s.act(p, line) },
		Beside: func(string) bool { return true },
	})
	if err != nil {
		return nil, err
	}
	if !p.Interactive() {
		return nil, ErrNoTerminal
	}
	return p, nil
}

// greeting is what stands over the first prompt.
func (s *session) greeting() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.greeted {
		return ""
	}
	s.greeted = true
	return s.o.Lang.AttachGreeting()
}

// act takes the words that wait for nothing, at an open card too: stops.
func (s *session) act(p *prompt.Prompt, line string) (finish func(), ok bool) {
	verb := strings.TrimSpace(line)
	if verb != string(gate.StopControlled) && verb != string(gate.StopEmergency) {
		return nil, false
	}
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	type sent struct {
		r   control.Reply
		err error
	}
	done := make(chan sent, 1)
	go func() { // the reader of the terminal never waits for a robot
		ctx, cancel := context.WithTimeout(context.Background(), answerWait)
		defer cancel()
		r, err := Do(ctx, s.o.Socket, control.Request{Verb: verb, Reason: "over attach"})
		done <- sent{r, err}
	}()
	return func() {
		got := <-done
		if got.err != nil {
			s.forget() // what is open may be so still
			p.Print(s.o.Lang.AttachNotStopped(foreign(got.err.Error())))
		}
		for _, v := range got.r.Verdicts {
			p.Print(show.Verdict(s.o.Lang, v))
		}
	}, true
}

// handle runs one line that is no answer.
func (s *session) handle(ctx context.Context, p *prompt.Prompt, line string) {
	switch strings.TrimSpace(line) {
	case "quit", "exit":
		_ = p.Close() // gives the terminal back and returns at once
	case "list":
		r, err := Do(ctx, s.o.Socket, control.Request{Verb: control.List})
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				p.Print(foreign(err.Error()))
			}
			return
		}
		p.Print(Table(r.Requests, s.o.Lang))
	default:
		p.Print(s.o.Lang.AttachHelp())
	}
}
