package hosted

import (
	"context"
	"fmt"
	"time"

	"github.com/tau-robot/tau/robot"
)

// guard is what happens to a Body's method that doesn't return: the Body is disconnected,
// which unblocks it. The loop begins and ends each call with it; nothing is allocated for
// that.
type guard struct {
	e     *Engine
	timer *time.Timer   // for the present call
	bit   chan struct{} // the Body was disconnected
	given time.Duration // what the present call was given
	late  *time.Timer   // for whoever waits while not even that helps
}

func (g *guard) init(e *Engine) {
	g.e, g.bit = e, make(chan struct{}, 1)
	g.late = time.AfterFunc(time.Hour, func() { g.e.abandon() })
	g.late.Stop()
	g.timer = time.AfterFunc(time.Hour, g.bite)
	g.timer.Stop()
}

// begin gives the call that follows so much time.
func (g *guard) begin(d time.Duration) {
	g.given = d
	g.timer.Reset(d)
}

// end ends what begin began; false: the call took so long that the Body was disconnected.
func (g *guard) end() bool {
	if g.timer.Stop() {
		return true
	}
	<-g.bit
	g.late.Stop()
	return false
}

func (g *guard) bite() {
	g.late.Reset(unblockWithin)
	g.e.mu.Lock()
	unlink := g.e.unlink
	g.e.mu.Unlock()
	if unlink != nil {
		unlink()
	}
	if err := g.e.opts.Body.Disconnect(); err != nil {
		g.e.opts.Log.Warn("hardware that hangs doesn't disconnect well", "device", g.e.traits.Device, "error", err)
	}
	g.bit <- struct{}{}
}

// abandon tells whoever waits that nothing is to be expected of the hardware any more.
func (e *Engine) abandon() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lose(robot.Errf(robot.CodeLinkTimeout, e.traits.Device, "the hardware hangs, and goes on hanging when it is disconnected"))
}

// called ends a call of a Body's method: what it returned, or that it hung. An error that
// says that the link itself is gone is remembered for the loop.
func (e *Engine) called(what string, err error) error {
	if !e.guard.end() {
		text := fmt.Sprintf("%s took longer than %v, and the link was closed", what, e.guard.given)
		if err != nil {
			err = robot.Errf(robot.CodeLinkTimeout, e.traits.Device, "%s: %w", text, err)
		} else {
			err = robot.Errf(robot.CodeLinkTimeout, e.traits.Device, "%s", text)
		}
		e.broken = err
		return err
	}
	if err == nil {
		return nil
	}
	switch robot.CodeOf(err) {
	case robot.CodeDisconnected, robot.CodeLinkTimeout:
		e.broken = err
	case "":
		return robot.Errf(robot.CodeInternal, e.traits.Backend, "%s: %w", what, err)
	}
	return err
}

// context is that of the present link. The loop alone calls it.
func (e *Engine) context() context.Context {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.link == nil { // it was given up, and the Body knows
		return e.life
	}
	return e.link
}

// asError is an error as one of ours.
func (e *Engine) asError(err error) *robot.Error {
	if r, ok := err.(*robot.Error); ok { //nolint:errorlint // a wrapped one keeps its text
		return r
	}
	return robot.Errf(robot.CodeOf(err), e.traits.Backend, "%w", err)
}
