package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

const (
	// maxUnread is how many bytes wait for a client that doesn't read before the
	// connection counts as broken.
	maxUnread = 8 << 20
	// maxUnreadNotes is how many wait before progress is left out.
	maxUnreadNotes = 256 << 10
)

// outbox writes lines to a client in a goroutine of its own, so that nobody else
// ever waits for a reader.
type outbox struct {
	w      io.WriteCloser
	broken func() // called once when writing fails

	mu    sync.Mutex
	lines [][]byte
	size  int // bytes in lines and of the one being written
	over  bool
	err   error
	more  chan struct{} // capacity 1
	ended chan struct{} // closed when the goroutine has ended
}

func newOutbox(w io.WriteCloser, broken func()) *outbox {
	o := &outbox{w: w, broken: broken, more: make(chan struct{}, 1), ended: make(chan struct{})}
	go o.run()
	return o
}

func (o *outbox) run() {
	defer close(o.ended)
	for {
		o.mu.Lock()
		lines, over := o.lines, o.over
		o.lines = nil
		o.mu.Unlock()
		for _, line := range lines {
			n, err := o.w.Write(line)
			if err == nil && n < len(line) {
				err = io.ErrShortWrite
			}
			if err != nil {
				o.fail(fmt.Errorf("mcp: writing to the client: %w", err))
				return
			}
			o.mu.Lock()
			o.size -= len(line)
			o.mu.Unlock()
		}
		if len(lines) > 0 {
			continue
		}
		if over {
			return
		}
		<-o.more
	}
}

// put queues a line; the message must hold no newline, which encoded JSON doesn't. A
// notification may be left out where the client is slow; nothing else is.
func (o *outbox) put(message []byte, notification bool) error {
	o.mu.Lock()
	switch {
	case o.err != nil:
		defer o.mu.Unlock()
		return o.err
	case o.over:
		defer o.mu.Unlock()
		return errShutdown
	case notification && o.size+len(message) > maxUnreadNotes:
		o.mu.Unlock() // progress says nothing that the answer doesn't
		return nil
	case o.size+len(message) > maxUnread:
		o.mu.Unlock()
		o.fail(ErrDeaf)
		return ErrDeaf
	}
	o.lines = append(o.lines, append(message, '\n'))
	o.size += len(message) + 1
	o.mu.Unlock()
	o.wake()
	return nil
}

func (o *outbox) wake() {
	select {
	case o.more <- struct{}{}:
	default:
	}
}

// fail ends the outbox with the first error.
func (o *outbox) fail(err error) {
	o.mu.Lock()
	first := o.err == nil
	if first {
		o.err = err
	}
	o.over, o.lines = true, nil
	o.mu.Unlock()
	o.wake()
	if first {
		o.broken()
	}
}

func (o *outbox) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// end takes no more lines, writes those that there are until ctx ends, and closes the
// output, which ends a Write that nobody reads. The error is the first one of all.
func (o *outbox) end(ctx context.Context) error {
	o.mu.Lock()
	o.over = true
	failed := o.err
	o.mu.Unlock()
	o.wake()
	err := failed
	if failed == nil {
		err = o.flushed(ctx)
	}
	if cerr := o.w.Close(); cerr != nil && err == nil {
		err = fmt.Errorf("mcp: closing the output: %w", cerr)
	}
	<-o.ended
	return err
}

func (o *outbox) flushed(ctx context.Context) error {
	select {
	case <-o.ended:
		return o.failure()
	case <-ctx.Done():
		return fmt.Errorf("mcp: writing the last answers: %w", context.Cause(ctx))
	}
}

// outBatch collects the answers to a batch, which go out in one line once all are there.
type outBatch struct {
	mu    sync.Mutex
	parts []json.RawMessage // nil: not there yet, or none
	left  int
}

// set puts an answer, or nil for none, in its place. The last one returns the line,
// nil where there is nothing to answer.
func (b *outBatch) set(slot int, part []byte) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.parts[slot] = part
	if b.left--; b.left > 0 {
		return nil
	}
	out := []byte{'['}
	for _, p := range b.parts {
		if p == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, p...)
	}
	if len(out) == 1 {
		return nil
	}
	return append(out, ']')
}
