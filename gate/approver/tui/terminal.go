package tui

import (
	"errors"
	"time"
)

// Terminal is where the screen is. Read, Ready and Wait are called by one goroutine
// at a time, Write by another; the other methods by any. After Break each of them
// returns at once.
type Terminal interface {
	// Enter takes the terminal: keys come one by one and aren't echoed, output still
	// turns a newline into a new line's beginning. Doing it again is fine.
	Enter() error
	// Leave gives it back as it was. It never waits.
	Leave() error
	// Wait blocks until something can be read (true) or d has passed; 0 is no bound.
	Wait(d time.Duration) (bool, error)
	// Ready reports whether Read would return at once.
	Ready() bool
	// Read reads what is there, or the end: io.EOF, or why there is no more.
	Read(p []byte) (int, error)
	// Write returns when all of p is written.
	Write(p []byte) (int, error)
	// Size is the terminal's, in columns and rows.
	Size() (w, h int, err error)
	// Changes tells of another size, and of a process that goes on after it was
	// stopped. What isn't taken is dropped.
	Changes() <-chan Change
	// Break ends what blocks, for good.
	Break()
}

// Change is news of the terminal.
type Change uint8

// The changes.
const (
	Resized   Change = iota + 1
	Continued        // the process was stopped, and the terminal may be anything
)

// ErrBroken is what a Terminal's methods return after Break.
var ErrBroken = errors.New("the terminal was closed")
