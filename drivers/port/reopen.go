package port

import (
	"context"
	"errors"
	"time"

	"github.com/tau-robot/tau/robot"
)

const (
	firstBackoff = 50 * time.Millisecond
	lastBackoff  = 2 * time.Second
)

// Reopen closes p and opens the same port anew: at once, then after 50 ms, 100 ms and so
// on up to every 2 s, until it succeeds or ctx ends (DISCONNECTED, with why the last
// attempt failed). A port that is gone, not yet permitted or held is tried again; a wrong
// one (INVALID_ARGUMENT) isn't. Where the lost device was on USB, another one at the same
// path isn't opened. The board isn't reset by being found again, whatever ResetOnOpen
// says. What it returns is a new Port: nothing that the old link sent is read from it, and
// nothing that was written to the old one is sent again. Where the board is by now, and
// what it still knows, is for the driver to ask; nothing of a robot may move because a
// link came back. It blocks; p is closed also after an error, and may be reopened again.
func (p *Port) Reopen(ctx context.Context) (*Port, error) {
	closed := p.Close() // whatever it says, the descriptor is gone
	o := p.opts
	o.ResetOnOpen = false
	n, err := retry(ctx, p.where, func() (*Port, error) { return open(ctx, o, p.id) })
	if err != nil {
		return nil, errors.Join(err, closed)
	}
	return n, nil
}

// retry calls try until it succeeds, fails for good, or ctx ends.
func retry(ctx context.Context, where string, try func() (*Port, error)) (*Port, error) {
	var last error
	wait := firstBackoff
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			if last == nil {
				last = ctx.Err()
			}
			return nil, robot.Errf(robot.CodeDisconnected, where, "not there again: %w", last)
		case <-timer.C:
		}
		p, err := try()
		if err == nil || robot.CodeOf(err) == robot.CodeInvalidArgument {
			return p, err
		}
		if robot.CodeOf(err) != robot.CodeCancelled {
			last = err
		}
		timer.Reset(wait)
		wait = min(2*wait, lastBackoff)
	}
}
