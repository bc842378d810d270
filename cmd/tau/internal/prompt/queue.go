package prompt

import (
	"fmt"
	"slices"
	"sync"
)

// maxKeys bounds what the editor may be behind; a person never gets there.
const maxKeys = 1 << 20

// keys is what the reader hands to the editor. Safe for concurrent use.
type keyQueue struct {
	mu     sync.Mutex
	cond   *sync.Cond
	list   []key
	lost   int
	closed bool
}

func newKeyQueue() *keyQueue {
	q := &keyQueue{}
	q.cond = sync.NewCond(&q.mu)
	return q
}

// push appends keys. It never blocks. What a person typed beyond maxKeys is
// counted, and reported by lostKeys.
func (q *keyQueue) push(keys ...key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, k := range keys {
		if len(q.list) >= maxKeys && (k.kind == keyText || k.kind == keyLine) {
			q.lost++
			continue
		}
		q.list = append(q.list, k)
	}
	q.cond.Signal()
}

// pop waits for the next key; false: closed and empty.
func (q *keyQueue) pop() (key, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.list) == 0 && !q.closed {
		q.cond.Wait()
	}
	if len(q.list) == 0 {
		return key{}, false
	}
	k := q.list[0]
	q.list[0] = key{}
	q.list = q.list[1:]
	if len(q.list) == 0 {
		q.list = nil
	}
	return k, true
}

// lostKeys returns how many keys were lost since it was last called.
func (q *keyQueue) lostKeys() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.lost
	q.lost = 0
	return n
}

// close lets pop return what is left, and then false.
func (q *keyQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.cond.Broadcast()
}

// maxLines bounds the commands that wait for the one that runs.
const maxLines = 1024

// line is a command, with the epoch of stops that it was taken in.
type line struct {
	text  string
	epoch uint64
}

// lineQueue holds commands until the worker takes them. Safe for concurrent use.
type lineQueue struct {
	mu      sync.Mutex
	cond    *sync.Cond
	list    []line
	running bool
	closed  bool
}

func newLineQueue() *lineQueue {
	q := &lineQueue{}
	q.cond = sync.NewCond(&q.mu)
	return q
}

// push adds a line. When the queue is full it waits if wait is set, else it is an
// error; a closed queue takes nothing.
func (q *lineQueue) push(l line, wait bool) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for wait && len(q.list) >= maxLines && !q.closed {
		q.cond.Wait()
	}
	switch {
	case q.closed:
		return errClosed
	case len(q.list) >= maxLines:
		return fmt.Errorf("%d lines are waiting already; this one was not taken", maxLines)
	}
	q.list = append(q.list, l)
	q.cond.Broadcast()
	return nil
}

// next ends the line that was running, and waits for another; false: closed.
func (q *lineQueue) next() (line, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running = false
	q.cond.Broadcast()
	for len(q.list) == 0 && !q.closed {
		q.cond.Wait()
	}
	if q.closed {
		return line{}, false
	}
	l := q.list[0]
	q.list = q.list[1:]
	q.running = true
	q.cond.Broadcast()
	return l, true
}

// busy reports whether a line runs or waits.
func (q *lineQueue) busy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running || len(q.list) > 0
}

// waiting returns how many lines wait.
func (q *lineQueue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.list)
}

// drop throws the waiting lines away and returns how many there were.
func (q *lineQueue) drop() int { return q.dropIf(func(line) bool { return true }) }

// dropIf throws those of the waiting lines away that f picks, and returns how many.
func (q *lineQueue) dropIf(f func(line) bool) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.list)
	q.list = slices.DeleteFunc(q.list, f)
	q.cond.Broadcast()
	return n - len(q.list)
}

// drain waits until nothing runs or waits, or the queue is closed.
func (q *lineQueue) drain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for (q.running || len(q.list) > 0) && !q.closed {
		q.cond.Wait()
	}
}

// close ends next, push and drain; waiting lines are dropped.
func (q *lineQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.list = nil
	q.cond.Broadcast()
}
