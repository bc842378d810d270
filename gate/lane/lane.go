// Package lane runs prepared actions: one queue, one goroutine, one action at a
// time. It implements gate.Lane. It knows neither tools nor approvals and must
// never import anything of ours but gate.
//
// Two things make it safe. An action is taken from the queue, its epoch compared
// and its context published in one critical section, and Stop raises the epoch in
// the same one: so an action either sees the new epoch and isn't run, or is seen
// by Stop and has its context ended. And no lock is held while an action runs, so
// that Stop waits behind nothing. What remains is an action that a stop meets
// between being taken and its first instruction: it may still be called, with a
// context that has ended. So an action looks at its context before it actuates,
// and a backend compares the epoch under the lock of its first actuation.
package lane

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tau-robot/tau/gate"
)

// Lane is a gate.Lane. All methods may be called from any goroutine.
type Lane struct {
	epoch atomic.Uint64 // changed only with mu held

	mu      sync.Mutex
	queue   []*item
	running *item
	closed  bool
	holds   int           // that haven't been released; while there is one, nothing begins
	wake    chan struct{} // capacity 1: something was queued, or the lane closed
	ended   chan struct{} // closed when the goroutine has returned
}

type item struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	epoch  uint64
	fn     func(context.Context)
	done   chan struct{}
	err    error // valid once done is closed
}

var _ gate.Lane = (*Lane)(nil)

// New starts a lane. Close ends it.
func New() *Lane {
	l := &Lane{wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go l.loop()
	return l
}

// Epoch returns how many stops there have been. It never blocks.
func (l *Lane) Epoch() uint64 { return l.epoch.Load() }

// Len returns how many actions wait, without the one that runs.
func (l *Lane) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue)
}

// Do queues fn and waits until it has run or been dropped; see gate.Lane. It
// returns nil if and only if fn has been called and has returned. A panic of fn
// is UNKNOWN_OUTCOME, because nobody can say how far it came; the lane goes on.
// fn must not call Do or Close.
func (l *Lane) Do(ctx context.Context, epoch uint64, fn func(context.Context)) error {
	if fn == nil {
		return gate.Errf(gate.CodeInvalidArgument, "lane", "there is nothing to run")
	}
	it := &item{epoch: epoch, fn: fn, done: make(chan struct{})}
	it.ctx, it.cancel = context.WithCancelCause(ctx)
	defer it.cancel(nil)

	l.mu.Lock()
	switch {
	case l.closed:
		l.mu.Unlock()
		return errClosed()
	case l.holds > 0:
		l.mu.Unlock()
		return errHeld()
	case l.epoch.Load() != epoch:
		l.mu.Unlock()
		return errStopped()
	case ctx.Err() != nil:
		l.mu.Unlock()
		return causeOf(ctx)
	}
	l.queue = append(l.queue, it)
	l.mu.Unlock()
	l.signal()

	select {
	case <-it.done:
		return it.err
	case <-ctx.Done():
	}
	l.mu.Lock()
	for i, q := range l.queue {
		if q == it {
			l.queue = append(l.queue[:i], l.queue[i+1:]...)
			l.mu.Unlock()
			return causeOf(ctx)
		}
	}
	l.mu.Unlock()
	// It runs, and its context has ended with ctx: it brings itself to rest.
	<-it.done
	return it.err
}

// Stop raises the epoch, drops everything that is queued and ends the running
// action's context with STOPPED. It never blocks on an action and returns the new epoch.
func (l *Lane) Stop() uint64 {
	l.mu.Lock()
	epoch := l.epoch.Add(1)
	l.drop(errStopped(), errStoppedRunning())
	l.mu.Unlock()
	return epoch
}

// Hold is a stop that lasts: it does what Stop does, and until release is called
// nothing begins; what is offered meanwhile is refused with STOPPED. It never
// blocks. Holds may overlap: each has a release of its own, which may be called
// more than once.
func (l *Lane) Hold() (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holds++
	l.epoch.Add(1)
	l.drop(errHeld(), errStoppedRunning())
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.holds--
	})
}

// Close drops what is queued, ends the running action's context and waits until
// it has returned. A second Close waits as well.
func (l *Lane) Close() error {
	l.mu.Lock()
	l.closed = true
	l.epoch.Add(1)
	l.drop(errClosed(), errClosedRunning())
	l.mu.Unlock()
	l.signal()
	<-l.ended
	return nil
}

// drop ends everything in the lane: what is queued with waiting, what runs with
// running, which must not claim that it was not run; mu is held.
func (l *Lane) drop(waiting, running error) {
	for _, it := range l.queue {
		it.err = waiting
		close(it.done)
	}
	l.queue = nil
	if l.running != nil {
		l.running.cancel(running)
	}
}

func (l *Lane) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *Lane) loop() {
	// Only an action that ends this goroutine (runtime.Goexit) gets here with the
	// lane open: then nothing may run any more, and nobody may wait for ever.
	defer close(l.ended)
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.closed = true
		l.epoch.Add(1)
		if it := l.running; it != nil {
			l.running = nil
			it.err = gate.Errf(gate.CodeUnknownOutcome, "lane", "the action ended the lane")
			close(it.done)
		}
		l.drop(errClosed(), errClosedRunning())
	}()
	for {
		it, closed := l.next()
		if closed {
			return
		}
		if it == nil {
			<-l.wake
			continue
		}
		err := run(it)
		l.mu.Lock()
		l.running = nil
		it.err = err
		close(it.done)
		l.mu.Unlock()
	}
}

// next takes the first action that may run.
func (l *Lane) next() (it *item, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, true
	}
	for len(l.queue) > 0 {
		it := l.queue[0]
		l.queue = l.queue[1:]
		switch {
		case it.epoch != l.epoch.Load():
			it.err = errStopped()
		case it.ctx.Err() != nil:
			it.err = causeOf(it.ctx)
		default:
			l.running = it
			return it, false
		}
		close(it.done)
	}
	return nil, false
}

func run(it *item) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = gate.Errf(gate.CodeUnknownOutcome, "lane", "the action panicked: %v", p)
		}
	}()
	if it.ctx.Err() != nil {
		return causeOf(it.ctx)
	}
	it.fn(it.ctx)
	return nil
}

func errStopped() error {
	return gate.Errf(gate.CodeStopped, "lane", "a stop came first; it was not run")
}

func errStoppedRunning() error {
	return gate.Errf(gate.CodeStopped, "lane", "a stop ended it")
}

func errHeld() error {
	return gate.Errf(gate.CodeStopped, "lane", "the bridge holds everything still; it was not run")
}

func errClosedRunning() error {
	return gate.Errf(gate.CodeCancelled, "lane", "the bridge is closing and ended it")
}

func errClosed() error {
	return gate.Errf(gate.CodeCancelled, "lane", "the bridge is closing; it was not run")
}

// causeOf says why ctx ended: its own cause where that is typed, else CANCELLED.
func causeOf(ctx context.Context) error {
	cause := context.Cause(ctx)
	var e *gate.Error
	if errors.As(cause, &e) {
		return e
	}
	return &gate.Error{Code: gate.CodeCancelled, Where: "lane", Text: fmt.Sprintf("it was not run: %v", cause), Err: cause}
}
