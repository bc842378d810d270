package attach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/cmd/tau/internal/prompt"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/signed"
	"github.com/tau-robot/tau/gate/approver/terminal"
	"github.com/tau-robot/tau/gate/words"
)

// Options are what an attached terminal needs.
type Options struct {
	In, Out *os.File // a terminal
	Socket  string   // of the bridge
	// Unlock opens the operator's key; it may ask at In. It is called once, or, with
	// AskEach, for each approval.
	Unlock  func(ctx context.Context) (*signed.Private, error)
	AskEach bool
	Only    string // the call that is to be answered; "": all that are asked
	Lang    words.Lang
	Now     func() time.Time
}

// ErrBridgeGone says that the bridge has ended, or has let go of this terminal.
var ErrBridgeGone = errors.New("the bridge is gone")

// ErrNotAsked says that the one call that was to be answered isn't being asked.
var ErrNotAsked = errors.New("it isn't the open question: it waits for its turn, or has been answered")

// Run shows each question of a bridge at the terminal, from its opening to its end, and
// hands in what is answered, until the person leaves (nil after quit, ErrInterrupted
// after ctrl-C, prompt.ErrHangup), the bridge goes, or ctx ends. Leaving answers
// nothing: an open question stays open. With Only it returns after that call: approved
// says that the bridge has taken a yes.
func Run(ctx context.Context, o Options) (approved bool, err error) {
	s := &session{o: o, news: make(chan struct{}, 1), answered: map[string]bool{}, told: map[string]bool{}, closed: map[string]int{}}
	if !o.AskEach {
		if s.key, err = o.Unlock(ctx); err != nil {
			return false, err
		}
		defer s.key.Wipe()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel(nil)
	following.Go(func() { cancel(s.follow(ctx)) })
	for {
		again, err := s.phase(ctx)
		if !again || err != nil {
			return s.approved, err
		}
	}
}

// session is one attached terminal.
type session struct {
	o   Options
	key *signed.Private // nil with AskEach

	news chan struct{} // something below has changed

	mu       sync.Mutex
	open     []question         // what the bridge has open, and other bridges of its database, in order of coming
	ended    string             // how the last one ended, for whoever was looking at it
	answered map[string]bool    // the calls that were answered here, and aren't shown again
	closed   map[string]int     // how often a call's question was taken away: then it is another asking
	told     map[string]bool    // the calls that were said to be open in this connection
	seen     bool               // the bridge has said all that is open
	asking   *terminal.Approver // at the open card
	greeted  bool
	stopping bool // stop or estop was typed at the card
	approved bool
}

// question is one that is open.
type question struct {
	req   gate.Request
	shown string // what signed.Shown says of it, and which asking of it this is
}

func (s *session) tell() {
	select {
	case s.news <- struct{}{}:
	default: // told already
	}
}

// follow keeps open up to date until the bridge is gone or ctx ends, and returns why.
func (s *session) follow(ctx context.Context) error {
	for {
		heard := false
		err := control.Follow(ctx, s.o.Socket, control.Request{Verb: control.Events}, func(r control.Reply) error {
			if !r.OK {
				return &Refused{r}
			}
			if r.Event != nil {
				heard = true
				s.take(*r.Event)
			}
			return nil
		})
		var no *Refused
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &no) && no.Reply.Code == gate.CodeNotSupported:
			return no
		case errors.Is(err, control.ErrNoBridge), !heard:
			return errors.Join(ErrBridgeGone, err)
		}
		// The bridge runs and has made room for others: look again.
	}
}

// take takes one event in.
func (s *session) take(e control.Event) {
	if e.Kind == "notice" {
		s.mu.Lock()
		approver := s.asking
		s.mu.Unlock()
		if e.Notice == nil || approver == nil {
			return
		}
		if n, known := e.Notice.Notice(); known {
			approver.Notice(e.CallID, n) // outside of the lock: it goes to the terminal
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.tell()
	switch e.Kind {
	case "attached":
		s.told = map[string]bool{} // what is open is said next
	case "open":
		if e.Request == nil {
			return
		}
		if req, ok := e.Request.Request(); ok {
			s.close(req.CallID)
			s.open = append(s.open, question{req, fmt.Sprint(s.closed[req.CallID], " ", signed.Shown(req))})
			s.told[req.CallID] = true
		}
	case "current":
		s.seen = true
		s.open = slices.DeleteFunc(s.open, func(q question) bool { return !s.told[q.req.CallID] })
	case "closed":
		if s.close(e.CallID) {
			s.ended = s.o.Lang.AttachClosed(outcome(s.o.Lang, e.How))
			if e.How == "approved" || e.How == "rejected" {
				s.ended = s.o.Lang.AttachEnded(outcome(s.o.Lang, e.How), foreign(e.By))
			}
			delete(s.answered, e.CallID)
			s.closed[e.CallID]++
		}
	}
}

// close takes a question away; false: it wasn't there. s.mu is held.
func (s *session) close(call string) bool {
	n := len(s.open)
	s.open = slices.DeleteFunc(s.open, func(q question) bool { return q.req.CallID == call })
	return len(s.open) < n
}

// foreign is a text of the bridge's, or of what stands in its place, for a line between
// cards.
func foreign(text string) string {
	return control.Foreign(gate.Escape(text), control.MaxNoticeText)
}

// outcome is how a question ended, in a word.
func outcome(l words.Lang, how string) string {
	switch how {
	case "approved":
		return l.OutcomeApproved()
	case "rejected":
		return l.OutcomeRejected()
	case "timeout":
		return l.OutcomeTimeout()
	case "withdrawn":
		return l.OutcomeWithdrawn()
	case "stopped":
		return l.OutcomeStopped()
	}
	return l.OutcomeUnknown()
}

// asked returns the question to show now; nil: none.
func (s *session) asked() (*gate.Request, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.open {
		if !s.answered[q.req.CallID] && (s.o.Only == "" || q.req.CallID == s.o.Only) {
			req := q.req.Clone()
			return &req, q.shown
		}
	}
	return nil, ""
}

// phase owns the terminal with a prompt, until the person leaves or a passphrase has
// to be typed, for which the prompt has to go: again says that there is another phase.
func (s *session) phase(ctx context.Context) (again bool, err error) {
	p, err := s.prompt()
	if err != nil {
		return false, err
	}
	pctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ran := make(chan error, 1)
	go func() { ran <- p.Run(pctx) }()
	defer func() {
		_ = p.Close()
		if rerr := <-ran; err == nil && !again {
			err = rerr
		}
		if errors.Is(err, prompt.ErrInterrupted) {
			err = ErrInterrupted
		}
	}()
	select {
	case <-p.Begun():
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	p.Print(s.greeting())
	for {
		req, shown := s.asked()
		if req == nil {
			if s.o.Only != "" && s.looked() {
				return false, ErrNotAsked
			}
			select {
			case <-s.news:
				continue
			case <-p.Ending():
				return false, nil
			case <-ctx.Done():
				return false, context.Cause(ctx)
			}
		}
		switch next, err := s.ask(ctx, p, *req, shown); {
		case err != nil:
			return false, err
		case next == nextLeave:
			return false, nil
		case next == nextSign: // with AskEach
			_ = p.Close() // so that the terminal is free; the deferred end finds it closed
			ran <- <-ran
			s.signAsking(ctx, *req)
			return s.o.Only == "" && ctx.Err() == nil, nil
		case s.o.Only != "" && next == nextDone:
			return false, nil
		}
	}
}

// looked reports that the bridge has said what is open.
func (s *session) looked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

type next uint8

const (
	nextAgain next = iota // look what is open
	nextDone              // it was answered
	nextSign              // yes, and the key has to be unlocked for it
	nextLeave
)

// ask shows one question until it is answered or gone.
func (s *session) ask(ctx context.Context, p *prompt.Prompt, req gate.Request, shown string) (next, error) {
	qctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			if now, what := s.asked(); now == nil || now.CallID != req.CallID || what != shown {
				cancel(errors.New("answered elsewhere"))
				return
			}
			select {
			case <-s.news:
			case <-stop:
				return
			}
		}
	})
	approver := terminal.New(&console{Console: p, note: s.note}, s.o.Lang)
	s.mu.Lock()
	s.stopping, s.asking = false, approver
	s.mu.Unlock()
	w, err := approver.Decide(qctx, req)
	close(stop)
	watching.Wait()
	s.tell() // what the watch may have taken
	switch {
	case err != nil:
		return nextLeave, err
	case qctx.Err() != nil && ctx.Err() == nil:
		return nextDone, nil
	case w.Decision == gate.Approved:
		if s.o.AskEach {
			return nextSign, nil
		}
		s.answer(ctx, p.Print, req, Client{Socket: s.o.Socket, Key: s.key})
		return nextDone, nil
	case w.Decision == gate.Rejected && w.Reason == terminal.ReasonAnswered && s.stopped():
		s.mark(req.CallID, true) // the stop ends it
		return nextDone, nil
	case w.Decision == gate.Rejected && w.Reason == terminal.ReasonAnswered:
		s.reject(ctx, p.Print, req)
		return nextDone, nil
	case w.Decision == gate.Void && (w.Reason == terminal.ReasonPasted || w.Reason == terminal.ReasonSuspended || w.Reason == terminal.ReasonTooEarly || w.Reason == terminal.ReasonBeforeEnd):
		p.Print(s.o.Lang.AttachAgain(string(w.Reason)))
		return nextAgain, nil
	case w.Decision == gate.Void && w.Reason == terminal.ReasonExpired:
		s.mark(req.CallID, true)
		return nextDone, nil
	}
	// ctrl-C, ctrl-D, or the terminal is gone: the question stays.
	if w.Reason == terminal.ReasonInterrupted {
		return nextLeave, ErrInterrupted
	}
	return nextLeave, nil
}

// note is what a card that goes away is followed by.
func (s *session) note() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == "" {
		return s.o.Lang.AttachGone()
	}
	return s.ended
}

// stopped reports whether what was typed at the card is a stop.
func (s *session) stopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

// forget has everything that is open shown again.
func (s *session) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.answered)
	s.tell()
}

// mark says whether a call was answered here.
func (s *session) mark(call string, answered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if answered {
		s.answered[call] = true
	} else {
		delete(s.answered, call)
	}
}

// answerWait bounds the exchange of an answer.
const answerWait = 15 * time.Second

// answer signs a yes and hands it in.
func (s *session) answer(ctx context.Context, say func(string), req gate.Request, c Client) {
	s.mark(req.CallID, true)
	actx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	if err := c.Approve(actx, req); err != nil {
		say(s.o.Lang.AttachNotTaken(foreign(err.Error())))
		s.mark(req.CallID, false) // if it is still open it is shown again
		return
	}
	s.mu.Lock()
	s.approved = true
	s.mu.Unlock()
	say(s.o.Lang.AttachApproved(gate.Escape(req.Tool)))
}

func (s *session) reject(ctx context.Context, say func(string), req gate.Request) {
	s.mark(req.CallID, true)
	actx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	if _, err := Do(actx, s.o.Socket, control.Request{Verb: control.Reject, ID: req.CallID, Reason: "over attach"}); err != nil {
		say(s.o.Lang.AttachNotTaken(foreign(err.Error())))
		s.mark(req.CallID, false)
		return
	}
	say(s.o.Lang.NotApproved(gate.Escape(req.Tool)))
}

// signAsking unlocks the key for one answer and hands that in. The terminal is free.
func (s *session) signAsking(ctx context.Context, req gate.Request) {
	say := func(text string) { fmt.Fprintln(s.o.Out, strings.TrimRight(text, "\n")) }
	key, err := s.o.Unlock(ctx)
	if err != nil {
		say(s.o.Lang.AttachNotTaken(foreign(err.Error())))
		return
	}
	defer key.Wipe()
	s.answer(ctx, say, req, Client{Socket: s.o.Socket, Key: key})
}

// console is the prompt with the note of a card that goes away put right: what was
// answered elsewhere may have been approved.
type console struct {
	terminal.Console
	note func() string
}

type view struct {
	terminal.View
	note  func() string
	notes atomic.Int32 // that were written into the card
}

// OpenCard implements terminal.Console.
func (c *console) OpenCard(ctx context.Context, card, question string) (terminal.View, error) {
	v, err := c.Console.OpenCard(ctx, card, question)
	if err != nil {
		return nil, err
	}
	return &view{View: v, note: c.note}, nil
}

// Note writes a line over the card, where the terminal can, and no more than a few of
// them: each shows the card again, and nobody signs that there was one.
func (v *view) Note(line string) {
	if to, ok := v.View.(interface{ Note(string) }); ok && v.notes.Add(1) <= control.MaxNotices {
		to.Note(line)
	}
}

// Close implements terminal.View.
func (v *view) Close(string) { v.View.Close("  (" + v.note() + ")") }
