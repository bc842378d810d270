package prompt

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/tau-robot/tau/gate/approver/terminal"
)

// maxHeld bounds the output that is held back while a card is open.
const maxHeld = 4 << 20

// view is an open card. Its fields are guarded by the prompt's mu.
type view struct {
	p        *Prompt
	card     string
	question string
	opened   time.Time
	shown    time.Time            // of what was written last; zero: it hasn't been
	written  int                  // how often the card was to be written again
	answers  chan terminal.Answer // room for the one
}

var _ terminal.View = (*view)(nil)

// OpenCard implements terminal.Console.
func (p *Prompt) OpenCard(ctx context.Context, card, question string) (terminal.View, error) {
	v := &view{p: p, card: card, question: question, answers: make(chan terminal.Answer, 1)}
	p.mu.Lock()
	var err error
	switch {
	case !p.interactive || !p.started || p.stopped:
		err = errors.New("prompt: no terminal to ask at")
	case p.view != nil:
		err = errors.New("prompt: another card is open")
	default:
		v.opened = p.o.Now()
		p.view = v
		p.typed = false
	}
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	p.keys.push(key{kind: keyText, bytes: editAside})
	if err := p.do(ctx, func() { p.show(v, card) }); err != nil {
		v.Close("")
		return nil, err
	}
	shown, err := p.barrier(ctx)
	if err != nil {
		v.Close("")
		return nil, err
	}
	v.end(0, shown)
	return v, nil
}

// notCounted is what a person is told who answers before the card can have been read.
const notCounted = "  (not counted: the card hadn't been there for half a second; read it first, then answer)"

// notYet reports a line that comes too early to be an answer to the open card, and
// says so: the card stays open, and a person has to wait again for as long, so that
// keys that repeat themselves never get through. A no counts at any time.
func (p *Prompt) notYet(text string, at time.Time) bool {
	if terminal.No(text) {
		return false
	}
	p.mu.Lock()
	early := p.view != nil && terminal.Early(at, p.view.shown)
	if early && at.After(p.view.shown) && !p.view.shown.IsZero() {
		p.view.shown = at
	}
	p.mu.Unlock()
	if early {
		p.out.Lock()
		defer p.out.Unlock()
		p.write(notCounted + "\n")
	}
	return early
}

// show writes a card with its question as the prompt, unless it was closed
// meanwhile. It runs in the editor's goroutine, where the line is empty; what was
// being printed when the card was opened is written first.
func (p *Prompt) show(v *view, card string) {
	p.out.Lock()
	defer p.out.Unlock()
	p.mu.Lock()
	open := p.view == v
	p.mu.Unlock()
	if open {
		p.setPrompt()
		p.write(card)
	}
}

// setPrompt chooses the prompt that fits. p.out must be held.
func (p *Prompt) setPrompt() {
	p.mu.Lock()
	prompt := p.o.Prompt
	if p.view != nil {
		prompt = p.view.question
	}
	p.mu.Unlock()
	p.term.SetPrompt(prompt)
}

// Shown implements terminal.View.
func (v *view) Shown() time.Time {
	v.p.mu.Lock()
	defer v.p.mu.Unlock()
	return v.shown
}

// Answer implements terminal.View.
func (v *view) Answer() <-chan terminal.Answer { return v.answers }

// end takes in when the end of the card was shown, unless it is to be written again.
func (v *view) end(written int, at time.Time) {
	v.p.mu.Lock()
	defer v.p.mu.Unlock()
	if v.written == written {
		v.shown = at
	}
}

// Note writes a line, if the card is still open, the whole card again under it, and the
// question with what is typed under that. Until that has been shown nothing approves. It
// doesn't wait.
func (v *view) Note(line string) {
	p := v.p
	p.mu.Lock()
	if p.view != v { // it has its answer, which was given to the card as it was
		p.mu.Unlock()
		return
	}
	v.shown = time.Time{}
	v.written++
	written := v.written
	p.mu.Unlock()
	p.keys.push(key{kind: keyDo, do: func() {
		p.out.Lock()
		defer p.out.Unlock()
		p.mu.Lock()
		open := p.view == v
		p.mu.Unlock()
		if !open {
			return
		}
		p.write(line + "\n" + v.card)
		read := p.whenRead()
		p.hooks.Go(func() {
			select {
			case at := <-read:
				v.end(written, at)
			case <-p.gone:
			}
		})
	}})
}

// Close implements terminal.View.
func (v *view) Close(note string) {
	p := v.p
	p.mu.Lock()
	open := p.view == v
	if open {
		p.view = nil
		p.typed = false
	}
	p.mu.Unlock()
	if !open {
		return
	}
	p.discard() // the next card's text comes behind this in the queue
	p.keys.push(key{kind: keyDo, do: func() { p.afterCard(v.question + "\n" + note) }})
}

// afterCard puts the ordinary prompt back and writes note and what was held. It
// runs in the editor's goroutine.
func (p *Prompt) afterCard(note string) {
	p.out.Lock()
	defer p.out.Unlock()
	p.setPrompt()
	p.mu.Lock()
	text := note
	if p.view == nil { // else the next card is open already: what is held stays so
		if note != "" && note[len(note)-1] != '\n' {
			text += "\n"
		}
		text += string(p.held)
		if p.heldLost > 0 {
			text += "(" + itoa(p.heldLost) + " more bytes of output came while the question was open and are left out)\n"
		}
		p.held, p.heldLost = nil, 0
	}
	p.mu.Unlock()
	if text != "" {
		p.write(text)
	}
	p.keys.push(key{kind: keyText, bytes: editBack})
}

// flushHeld writes what is still held back when Run ends.
func (p *Prompt) flushHeld() {
	p.out.Lock()
	defer p.out.Unlock()
	p.mu.Lock()
	held := p.held
	p.held, p.heldLost = nil, 0
	p.mu.Unlock()
	if len(held) > 0 {
		p.write(string(held))
	}
}

// hold keeps text back if a card is open.
func (p *Prompt) hold(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.view == nil && len(p.held) == 0 && p.heldLost == 0 {
		return false
	}
	if len(p.held)+len(text) > maxHeld {
		p.heldLost += len(text)
	} else {
		p.held = append(p.held, text...)
	}
	return true
}

// answer gives a card that is open its answer and closes it. If that isn't a
// line, the editor is told to discard what is half typed, to write seen behind the
// question and to go on; for a line the caller does that. It never waits.
func (p *Prompt) answer(a terminal.Answer, seen string) bool {
	p.mu.Lock()
	v := p.view
	if v != nil {
		v.answers <- a // the only one: view is nil from here on
		p.view = nil
		p.typed = false
	}
	p.mu.Unlock()
	if v == nil {
		return false
	}
	if a.Kind != terminal.Typed { // the editor itself has that line, and goes on at once
		p.discard()
		p.keys.push(key{kind: keyDo, do: func() { p.afterCard(v.question + seen) }})
	}
	return true
}

// cardOpen reports whether a card is open.
func (p *Prompt) cardOpen() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.view != nil
}

// opened returns when the open card was opened; zero: none is.
func (p *Prompt) openedAt() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.view == nil {
		return time.Time{}
	}
	return p.view.opened
}

// discard throws away what is half typed.
func (p *Prompt) discard() {
	p.keys.push(key{kind: keyText, bytes: editEnd}, key{kind: keyText, bytes: editKill}, key{kind: keyDo, do: p.conn.forget})
}

// do runs f in the editor's goroutine after the keys that are there, and waits.
func (p *Prompt) do(ctx context.Context, f func()) error {
	done := make(chan struct{})
	p.keys.push(key{kind: keyDo, do: func() { f(); close(done) }})
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.ended:
		return errClosed
	}
}

// barrier waits until the reader has read everything that there is to read and
// returns the time then.
func (p *Prompt) barrier(ctx context.Context) (time.Time, error) {
	select {
	case t := <-p.whenRead():
		return t, nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	case <-p.gone:
		return time.Time{}, errClosed
	}
}

// whenRead gives the time at which the reader has read everything that there is to read.
func (p *Prompt) whenRead() <-chan time.Time {
	ch := make(chan time.Time, 1)
	p.mu.Lock()
	p.barriers = append(p.barriers, ch)
	p.mu.Unlock()
	p.poke()
	return ch
}

func itoa(n int) string { return strconv.Itoa(n) }
