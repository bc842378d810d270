package bridge

import (
	"fmt"
	"io"
	"sync"
)

// notesAhead is how many lines of progress wait for their reader at most.
const notesAhead = 256

// notes writes lines of progress for people. Whoever tells something never waits
// for a reader: progress comes from the goroutine that runs the motion, and one
// that waited there for a terminal or a pipe would hold the motion up. What
// doesn't fit is counted and said.
type notes struct {
	w     io.Writer
	lines chan string
	ended chan struct{}

	mu      sync.Mutex
	closed  bool
	dropped int
}

func newNotes(w io.Writer) *notes {
	n := &notes{w: w, lines: make(chan string, notesAhead), ended: make(chan struct{})}
	go func() {
		defer close(n.ended)
		for l := range n.lines {
			fmt.Fprintln(n.w, l)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.dropped > 0 {
			fmt.Fprintln(n.w, leftOut(n.dropped))
		}
	}()
	return n
}

// tell queues one line. It never blocks.
func (n *notes) tell(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	if n.dropped > 0 {
		line = leftOut(n.dropped) + "\n" + line
	}
	select {
	case n.lines <- line:
		n.dropped = 0
	default:
		n.dropped++
	}
}

func leftOut(n int) string { return fmt.Sprintf("… (%d lines of progress were left out)", n) }

// close takes no more lines. The channel is closed once those that were taken have
// been written, which nobody has to wait for.
func (n *notes) close() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.closed {
		n.closed = true
		close(n.lines)
	}
	return n.ended
}
