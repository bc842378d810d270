// Package desk lets several channels answer the one question that a gate has open:
// those that run in this process (a terminal, Telegram), and decisions that came in
// from outside, checked by whoever hands them in (the control socket, the web). The
// first answer that counts decides; the others lose their card. It imports nothing of
// ours but gate, and nothing that an agent reaches may import it.
package desk

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tau-robot/tau/gate"
)

// Options are what a desk is made of.
type Options struct {
	// Channels ask side by side. One that fails, or finds nobody there, leaves the
	// question to the others.
	Channels []gate.Approver
	// Remote says whether anybody could hand in an answer from outside now: an
	// operator's key or a device is enrolled. nil: nobody.
	Remote func() bool
	Now    func() time.Time // nil: time.Now
	Rand   io.Reader        // of nonces; nil: crypto/rand
}

// Desk is a gate.Approver. Its methods may be called from any goroutine. Make one with New.
type Desk struct {
	o Options

	mu      sync.Mutex
	open    map[string]*question // by call id
	changed chan struct{}        // closed and made anew when open changes
}

var (
	_ gate.Approver = (*Desk)(nil)
	_ gate.Noticer  = (*Desk)(nil)
)

// Question is a question as it lies on the desk; a copy.
type Question struct {
	Request gate.Request
	// Nonce is made for this asking of the request; an answer from outside names it,
	// so that one that was made for an earlier asking is none.
	Nonce string
}

type question struct {
	Question
	word    chan gate.Word // takes the first answer from outside
	decided bool
}

// New makes a desk.
func New(o Options) *Desk {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	return &Desk{o: o, open: map[string]*question{}, changed: make(chan struct{})}
}

// Name lists the channels.
func (d *Desk) Name() string {
	names := make([]string, 0, len(d.o.Channels))
	for _, c := range d.o.Channels {
		names = append(names, c.Name())
	}
	if len(names) == 0 {
		return "desk"
	}
	return strings.Join(names, "+")
}

// Unattended reports whether nobody could answer now.
func (d *Desk) Unattended() bool {
	if d.remote() {
		return false
	}
	for _, c := range d.o.Channels {
		if u, ok := c.(interface{ Unattended() bool }); !ok || !u.Unattended() {
			return false
		}
	}
	return true
}

func (d *Desk) remote() bool { return d.o.Remote != nil && d.o.Remote() }

// Open lists the open questions; there is more than one only in a gate's tests.
func (d *Desk) Open() []Question {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]Question, 0, len(d.open))
	for _, q := range d.open {
		if !q.decided {
			out = append(out, Question{Request: q.Request.Clone(), Nonce: q.Nonce})
		}
	}
	slices.SortFunc(out, func(a, b Question) int { return a.Request.Asked.Compare(b.Request.Asked) })
	return out
}

// Changed returns a channel that closes when the open questions have changed.
func (d *Desk) Changed() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changed
}

// Answer is an answer from outside. Who made it has been checked.
type Answer struct {
	ID     string
	Digest [32]byte
	Nonce  string
	Word   gate.Word
}

// Answer hands an answer in. Of any number of answers to one question the first is
// taken and the others are IN_PROGRESS. A question that isn't open, another digest, or
// a nonce of another asking is an *Error, and changes nothing.
func (d *Desk) Answer(a Answer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	q := d.open[a.ID]
	switch {
	case q == nil:
		return gate.Errf(gate.CodeInvalidArgument, "call_id", "there is no open question %q; it may wait for its turn, or has been answered", a.ID)
	case q.Nonce != a.Nonce || q.Request.Digest != a.Digest:
		return gate.Errf(gate.CodeNotApproved, "nonce", "the answer was made for another asking of it; look at it again")
	case !q.Request.Expiry.IsZero() && gate.Expired(d.o.Now(), q.Request.Expiry):
		return gate.Errf(gate.CodeRequestExpired, "call_id", "the request has expired")
	case q.decided:
		return gate.Errf(gate.CodeInProgress, "call_id", "resume in progress: it has been answered")
	case a.Word.Decision == gate.Edited && !q.Request.Editable:
		return gate.Errf(gate.CodeNotSupported, "decision", "it can't be asked for slower or shorter; approve or refuse it")
	case a.Word.Decision == gate.Edited:
		if err := a.Word.Edit.Check(); err != nil {
			return err
		}
	case a.Word.Decision != gate.Approved && a.Word.Decision != gate.Rejected:
		return gate.Errf(gate.CodeInvalidArgument, "decision", "is neither yes nor no")
	}
	q.decided = true
	q.word <- a.Word // has room for the one
	d.tell()
	return nil
}

// Notice adds a notice to a question that is open, and passes it on to the channels
// that take one.
func (d *Desk) Notice(callID string, n gate.Notice) {
	d.mu.Lock()
	if q := d.open[callID]; q != nil && !q.decided {
		q.Request.Notices = append(q.Request.Notices, n)
		d.tell()
	}
	d.mu.Unlock()
	for _, c := range d.o.Channels {
		if to, ok := c.(gate.Noticer); ok {
			to.Notice(callID, n)
		}
	}
}

// tell wakes whoever waits for a change. d.mu is held.
func (d *Desk) tell() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// said is what a channel said.
type said struct {
	word gate.Word
	err  error
	name string
	out  bool // it had nobody to ask, or no way to
}

// Decide puts a question on the desk and before every channel, and waits for the first
// answer that counts. A channel that fails, that has nobody, or whose own time is over
// drops out; when all have and nobody can answer from outside, the last of them has
// the word. When Decide returns, every channel has taken its card away.
func (d *Desk) Decide(ctx context.Context, req gate.Request) (gate.Word, error) {
	q := &question{word: make(chan gate.Word, 1)}
	q.Request = req.Clone()
	var b [16]byte
	if _, err := io.ReadFull(d.o.Rand, b[:]); err != nil {
		return gate.Word{}, gate.Errf(gate.CodeInternal, "nonce", "there is no randomness: %w", err)
	}
	q.Nonce = hex.EncodeToString(b[:])
	d.mu.Lock()
	d.open[req.CallID] = q
	d.tell()
	d.mu.Unlock()
	defer d.take(q)

	ask, cancel := context.WithCancelCause(ctx)
	answers := make(chan said, len(d.o.Channels))
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel(gate.Errf(gate.CodeCancelled, "", "%w", ErrElsewhere))
	for _, c := range d.o.Channels {
		asking.Go(func() { answers <- askOne(ask, c, req.Clone()) })
	}
	left := len(d.o.Channels)
	last := said{word: gate.Word{Decision: gate.Void, Reason: "nobody can answer"}}
	for {
		if left == 0 && !d.remote() {
			if !d.close(q) { // the answer came while who could give it was still enrolled
				return <-q.word, nil
			}
			return last.word, last.err
		}
		select {
		case w := <-q.word:
			return w, nil
		case s := <-answers:
			left--
			last = s
			if s.err == nil && s.word.Decision != gate.TimedOut && !s.out {
				if !d.close(q) { // an answer from outside came first
					return <-q.word, nil
				}
				if s.word.By == "" {
					s.word.By = s.name
				}
				return s.word, nil
			}
		case <-ctx.Done():
			d.close(q)                 // whoever answers from now on is told that he is late
			cancel(context.Cause(ctx)) // which may not have come down to the channels yet
			return gate.Word{Decision: gate.Rejected, Reason: "withdrawn"}, nil
		}
	}
}

// Absent is the reason with which a channel says that it has nobody to ask.
const Absent gate.Reason = "nobody is there"

// ErrElsewhere is the cause with which a channel's question ends because another one
// has answered it.
var ErrElsewhere = errors.New("answered elsewhere")

// dropsOut reports whether a channel had nobody to ask, or no way to. A channel that
// has reasons of its own for that tells them by a method DropsOut(gate.Reason) bool.
func dropsOut(c gate.Approver, w gate.Word) bool {
	if w.Decision != gate.Void {
		return false
	}
	own, ok := c.(interface{ DropsOut(gate.Reason) bool })
	return w.Reason == Absent || w.Reason == "not interactive" || ok && own.DropsOut(w.Reason)
}

// askOne asks one channel, for no longer than it says itself.
func askOne(ctx context.Context, c gate.Approver, req gate.Request) (s said) {
	s.name = c.Name()
	defer func() {
		if p := recover(); p != nil {
			s.word, s.err = gate.Word{}, gate.Errf(gate.CodeInternal, s.name, "the channel failed inside: %v", p)
		}
	}()
	if t, ok := c.(interface{ Timeout() time.Duration }); ok {
		if limit := t.Timeout(); limit > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, limit)
			defer cancel()
		}
	}
	s.word, s.err = c.Decide(ctx, req)
	s.out = dropsOut(c, s.word)
	return s
}

// close takes no more answers from outside; false: there is one.
func (d *Desk) close(q *question) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if q.decided {
		return false
	}
	q.decided = true
	return true
}

// take takes a question off the desk.
func (d *Desk) take(q *question) {
	d.mu.Lock()
	defer d.mu.Unlock()
	q.decided = true
	if d.open[q.Request.CallID] == q {
		delete(d.open, q.Request.CallID)
	}
	d.tell()
}
