package hosted

import (
	"context"
	"errors"
	"time"

	"github.com/tau-robot/tau/robot"
)

// Open connects the hardware, reads it, and sets what stands beside the joints to off.
// It blocks for at most Options.Within and a few exchanges, or until ctx ends. The robot
// starts disabled, whatever it was before, and nothing moves; joints that have power keep
// it. After an error nothing is open: it is the Body's own where that is one of
// robot.Error.
func Open(ctx context.Context, o Options) (*Engine, error) {
	e, err := newEngine(o)
	if err != nil {
		return nil, err
	}
	opening, end := context.WithTimeoutCause(ctx, e.opts.Within,
		robot.LimitErr(robot.CodeLinkTimeout, e.traits.Device, e.opts.Within.Seconds(), e.opts.Within.Seconds(), "s", "the hardware wasn't ready in time"))
	defer end()
	first := make(chan error, 1)
	go e.keep(opening, first)
	if err := e.opened(opening, first); err != nil {
		switch {
		case robot.CodeOf(err) != "":
		case ctx.Err() != nil:
			err = robot.Errf(robot.CodeCancelled, e.traits.Device, "not opened: %w", err)
		default:
			err = robot.Errf(robot.CodeDisconnected, e.traits.Device, "opening: %w", err)
		}
		return nil, err
	}
	if e.opts.At != nil {
		e.mu.Lock()
		if e.cur.powered {
			// A bridge before has left them with power: the hardware holds them where it was
			// told, which counts more than where somebody thinks that is.
			e.opts.Log.Warn("the joints have power, so where the operator says they are doesn't count", "device", e.traits.Device)
		} else {
			err = e.declare(e.opts.At)
		}
		e.mu.Unlock()
		if err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	return e, nil
}

// opened waits for what becomes of the first link, for a little longer than there is time:
// a Body that hangs, and goes on hanging when it is disconnected, is left alone.
func (e *Engine) opened(opening context.Context, first <-chan error) error {
	var err error
	select {
	case err = <-first:
	case <-opening.Done():
		if !e.unblocked(e.kept, first, &err) {
			e.cancel()
			return robot.Errf(robot.CodeLinkTimeout, e.traits.Device, "the hardware hangs, and goes on hanging when it is disconnected: %w", context.Cause(opening))
		}
		if err == nil { // it was ready just after nobody waited any more
			return errors.Join(context.Cause(opening), e.Close())
		}
	}
	if err != nil {
		e.cancel()
		<-e.kept
	}
	return err
}

// unblocked waits for the loop, or for its first word, for a moment; then it disconnects
// the Body and waits again. It reports whether that helped.
func (e *Engine) unblocked(kept <-chan struct{}, first <-chan error, err *error) bool {
	for try := range 2 {
		late := time.NewTimer(connectPatience)
		defer late.Stop()
		select {
		case *err = <-first:
			return true
		case <-kept:
			if first != nil {
				*err = <-first // it has had its first word before it ended
			}
			return true
		case <-late.C:
		}
		if try == 0 {
			go func() { _ = e.opts.Body.Disconnect() }() // who knows whether that returns
		}
	}
	return false
}

// keep is the loop's goroutine: it makes a link, serves it to its end, and makes the next.
// first gets what became of the first one, which opening bounds.
func (e *Engine) keep(opening context.Context, first chan<- error) {
	defer close(e.kept)
	backoff, told := firstBackoff, ""
	for again := false; ; again = true {
		e.broken = nil
		err := e.connect(opening, again)
		if err == nil {
			backoff, told = firstBackoff, ""
			if !again {
				first <- nil
			}
			err = e.serve()
			if err == nil {
				return
			}
			if e.hangUp(err) {
				return
			}
		} else if !again {
			first <- err
			return
		}
		if text := err.Error(); text != told { // once for each reason, however often it is tried
			told = text
			e.opts.Log.Warn("there is no link to the robot", "device", e.traits.Device, "error", err)
		}
		e.mu.Lock()
		e.why = err
		e.mu.Unlock()
		wait := time.NewTimer(backoff)
		select {
		case <-e.closing:
			wait.Stop()
			return
		case <-wait.C:
		}
		backoff = min(2*backoff, lastBackoff)
		opening = e.life
	}
}

// hangUp gives a link up that has failed. It reports whether that was while the robot was
// let go of: then it is what Close answers. One that was lost before isn't.
func (e *Engine) hangUp(err error) (closed bool) {
	e.mu.Lock()
	if closed = e.closed; closed {
		e.failures = append(e.failures, err)
	}
	e.lose(err)
	e.mu.Unlock()
	e.guard.begin(e.traits.patience())
	failed := e.opts.Body.Disconnect()
	e.guard.end()
	switch {
	case failed == nil:
	case closed:
		e.mu.Lock()
		e.failures = append(e.failures, failed)
		e.mu.Unlock()
	default:
		e.opts.Log.Warn("hardware whose link was lost doesn't disconnect well", "device", e.traits.Device, "error", failed)
	}
	return closed
}

// connect makes a link: the hardware is connected, each joint has answered, and what
// stands beside the joints is off where that is known to be needed. After an error nothing
// is open.
func (e *Engine) connect(opening context.Context, again bool) error {
	ctx, end := context.WithTimeoutCause(opening, e.opts.Within,
		robot.LimitErr(robot.CodeLinkTimeout, e.traits.Device, e.opts.Within.Seconds(), e.opts.Within.Seconds(), "s", "the hardware wasn't ready in time"))
	defer end()
	e.guard.begin(e.opts.Within + connectPatience)
	err := e.opts.Body.Connect(ctx)
	over := context.Cause(ctx)
	named := robot.CodeOf(err) != ""
	if err = e.called("connecting", err); err != nil {
		if over != nil && !named {
			return over
		}
		return err
	}
	e.mu.Lock()
	e.link, e.unlink = context.WithCancel(e.life)
	e.mu.Unlock()
	err = e.greet(again)
	e.mu.Lock()
	e.ready = err == nil && e.link != nil
	e.mu.Unlock()
	if err != nil {
		e.mu.Lock()
		if e.link != nil { // it wasn't abandoned meanwhile
			e.unlink()
			e.link, e.unlink = nil, nil
		}
		e.mu.Unlock()
		e.guard.begin(e.traits.patience())
		failed := e.opts.Body.Disconnect()
		e.guard.end()
		return errors.Join(err, failed)
	}
	return nil // one that was abandoned meanwhile ends with its first turn
}
