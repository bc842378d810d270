package terminal

import (
	"context"
	"time"
)

// Console is an interactive terminal that can show a card. Its methods may be
// called from any goroutine.
type Console interface {
	// Interactive reports whether a person can see a card and answer it.
	Interactive() bool
	// OpenCard discards a half-typed line, writes card (lines, each with its
	// newline, nothing left out: what is taller than the screen scrolls) and puts
	// question up as the prompt. It returns once all of that has been written.
	// Until the answer is there or the view is closed, nothing else is written but
	// the echo of what is typed and the view's notes; other output is held back and
	// follows. At most
	// one card is open; ctx ends only the wait for the terminal.
	OpenCard(ctx context.Context, card, question string) (View, error)
}

// View is an open card. It may have a method Note(line string), too, which writes a line,
// the whole card again under it, and the question, with what has been typed, under that.
// From when it is called until that has been written Shown is zero, so that nothing
// approves, and then it is the time of that. It neither blocks nor answers.
type View interface {
	// Shown is when the end of the card had been written and everything typed
	// until then had been read.
	Shown() time.Time
	// Answer gives the first line that was completed after the card was opened,
	// or the end of input, and then nothing more: that closes the card.
	Answer() <-chan Answer
	// Close takes the card away if it is still open: it discards a half-typed
	// answer, writes note (a line) and then what was held back. It doesn't wait
	// for a person, and closing twice is fine.
	Close(note string)
}

// AnswerKind says what came instead of a line.
type AnswerKind uint8

// The kinds. The zero value is not an answer.
const (
	Typed       AnswerKind = iota + 1 // a line
	EndOfInput                        // ctrl-D, or the terminal is gone
	Interrupted                       // ctrl-C
	Suspended                         // ctrl-Z
)

// Answer is what came from a person while a card was open.
type Answer struct {
	Kind   AnswerKind
	Text   string    // of a line, without its end
	At     time.Time // when it was completed, on the clock of View.Shown
	Pasted bool      // some of it came from a paste
}
