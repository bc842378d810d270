package boardtest

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// An Event is one line of the bench's trace.
type Event struct {
	// At is the bench's own time, from the first boot on. In it, and not in the wall
	// clock's, tests measure what a board does.
	At   time.Duration
	Kind string
	// Text is the line after its kind; Args are its words.
	Text string
	Args []string
	// Wall is when the line was read.
	Wall time.Time
}

func (e Event) String() string { return fmt.Sprintf("%v %s %s", e.At, e.Kind, e.Text) }

// Int returns the i-th word as a number, or 0 where there is none.
func (e Event) Int(i int) int64 {
	if i >= len(e.Args) {
		return 0
	}
	n, err := strconv.ParseInt(e.Args[i], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Is says whether e is of that kind and, where numbers are given, its first words are
// those: Is("output", 0, 1) is output 0 becoming 1.
func (e Event) Is(kind string, numbers ...int64) bool {
	if e.Kind != kind || len(e.Args) < len(numbers) {
		return false
	}
	for i, n := range numbers {
		if e.Int(i) != n {
			return false
		}
	}
	return true
}

// parse reads a line of the trace.
func parse(line string, wall time.Time) (Event, error) {
	ns, rest, ok := strings.Cut(line, " ")
	at, err := strconv.ParseInt(ns, 10, 64)
	if !ok || err != nil || at < 0 {
		return Event{}, fmt.Errorf("a line of the trace doesn't begin with its time: %q", line)
	}
	kind, text, _ := strings.Cut(rest, " ")
	return Event{At: time.Duration(at), Kind: kind, Text: text, Args: strings.Fields(text), Wall: wall}, nil
}
