package hosted

import (
	"errors"
	"slices"
	"time"

	"github.com/tau-robot/tau/robot"
)

// greet learns where everything is on a link that has just been made, and has the
// actuators off that have to be. The loop alone calls it.
func (e *Engine) greet(again bool) error {
	e.mu.Lock()
	for i := range e.joints {
		e.misses[i], e.missed[i], e.lost[i], e.astray[i] = 0, nil, false, 0
	}
	for i, a := range e.opts.Model.Actuators {
		e.offs[i] = e.offs[i] || !again || a.OnLost == "off"
	}
	e.mu.Unlock()
	if err := e.look(); err != nil {
		return err
	}
	for {
		found, err := e.setOff()
		switch {
		case e.broken != nil:
			return e.broken
		case err != nil && !again:
			return err
		case !found:
			return nil
		}
	}
}

// serve does what there is to do until the link fails, or, with nil, until the robot is
// closed and let go of.
func (e *Engine) serve() error {
	timer := time.NewTimer(e.traits.Period)
	defer timer.Stop()
	for {
		wait, over := e.turn()
		if e.broken != nil {
			return e.broken
		}
		if over {
			return nil
		}
		if wait <= 0 {
			continue
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-e.wake:
		}
	}
}

// turn does what is due, and says how long nothing else will be.
func (e *Engine) turn() (wait time.Duration, over bool) {
	e.mu.Lock()
	x, linked := e.leg, e.ready
	if x != nil && x.over {
		x = nil
	}
	closed, cut := e.closed, e.cut
	var j *job // one that isn't taken now stays where it is
	if x == nil && linked && !cut {
		j, e.job = e.job, nil
	}
	e.mu.Unlock()
	switch {
	case !linked: // it was abandoned while it hung
		e.broken = robot.Errf(robot.CodeLinkTimeout, e.traits.Device, "the hardware has hung")
		return 0, false
	case x != nil:
		if early := time.Until(e.wroteAt.Add(e.traits.Period)); early > 0 {
			return early, false
		}
		if x.going || e.start(x) {
			e.period(x)
		}
		return 0, false
	}
	e.idleStops()
	switch {
	case cut:
		e.cutPower()
	case j != nil:
		j.err = j.do()
		close(j.done)
	case closed:
		e.letGo()
		return 0, true
	default:
		found, _ := e.setOff()
		e.confirm()
		if e.broken == nil && time.Since(e.readAt) >= e.traits.reading() {
			e.read()
		}
		if !found && e.broken == nil {
			return max(0, time.Until(e.readAt.Add(e.traits.reading()))), false
		}
	}
	return 0, false
}

// start holds a leg against what is measured right now, and begins it; false: it is over
// before it has begun.
func (e *Engine) start(x *leg) bool {
	err := e.look()
	if e.broken != nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if x.over {
		return false
	}
	if err == nil {
		err = e.mayMove(x.m)
	}
	if err != nil {
		x.end(byFault, e.asError(err))
		return false
	}
	// From here on a stop brakes what moves: this is the lock of the first actuation.
	x.begin()
	e.recent.forget()
	e.refresh()
	return true
}

// lateWrite is the part of a period, as a divisor, by which setpoints may be nearer to each
// other than a period, where one took longer to write than the next.
const lateWrite = 4

// period is one control period of a leg: the next setpoint, what else is to be said, and
// every so often a look at where the joints are.
func (e *Engine) period(x *leg) {
	now := time.Now()
	e.mu.Lock()
	if !x.over {
		x.steer(now)
	}
	write := !x.over && !x.halted
	if write {
		x.advance(e.next)
	}
	e.mu.Unlock()
	if write {
		ctx := e.context()
		e.guard.begin(e.traits.patience())
		err := e.called("writing setpoints", e.opts.Body.Write(ctx, e.next))
		if e.broken != nil {
			return // which ends the leg as well
		}
		// One that took long to write was with the hardware late, and so is the next.
		at := now
		if late := time.Now().Add(-e.traits.Period / lateWrite); at.Before(late) {
			at = late
		}
		e.mu.Lock()
		x.wrote(e.next, at, err)
		e.begunAt = now
		e.mu.Unlock()
	} else {
		e.mu.Lock()
		x.ticks++
		e.wroteAt, e.begunAt = now, now
		e.sentStops()
		e.mu.Unlock()
	}
	e.mu.Lock()
	if x.stoodAt.IsZero() && !x.commands() {
		x.stoodAt = time.Now()
	}
	e.mu.Unlock()
	if e.broken == nil {
		_, _ = e.setOff()
		e.confirm()
	}
	if e.sinceRead++; e.broken == nil && e.sinceRead >= e.traits.ReadEvery {
		e.read()
	}
	e.mu.Lock()
	x.report()
	e.mu.Unlock()
}

// setOff sets one of the actuators to off that are to be, and reports whether there was
// one. One that can't be set is latched.
func (e *Engine) setOff() (bool, error) {
	e.mu.Lock()
	i := slices.Index(e.offs, true)
	if i >= 0 {
		e.offs[i] = false
	}
	e.mu.Unlock()
	if i < 0 || e.broken != nil {
		return false, nil
	}
	a := &e.opts.Model.Actuators[i]
	ctx := e.context()
	e.guard.begin(e.traits.patience())
	v, err := e.opts.Body.Set(ctx, i, a.Off)
	err = e.called("switching "+a.Name+" off", err)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil {
		e.values[i] = v
		e.broadcast()
	} else if e.broken == nil {
		failed := robot.Errf(robot.CodeOf(err), a.Name, "%s couldn't be switched off: %w", a.Name, err)
		e.remember(failed)
		err = failed
	}
	return true, err
}

// cutPower takes the power away after an e-stop, and tries it again a few times.
func (e *Engine) cutPower() {
	const tries = 3
	err := errors.Join(e.powerOff())
	if e.broken != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cutTries++
	if err == nil || e.cutTries >= tries {
		e.cut, e.cutTries = false, 0
	}
	if err != nil && !e.cut {
		e.remember(robot.Errf(robot.CodeOf(err), e.traits.Device, "the e-stop couldn't take the power away: %w", err))
	}
	e.broadcast()
}

// letGo leaves the robot for good: what declares it is off, the power is away where its
// file says that this is safe, the link is closed. Each is tried whatever the others do.
func (e *Engine) letGo() {
	var failed []error
	e.mu.Lock()
	e.switchOff()
	powered := e.cur.powered
	e.mu.Unlock()
	for {
		found, err := e.setOff()
		if !found {
			break
		}
		failed = append(failed, err)
	}
	if powered && e.opts.Hardware.EStopPowersOff && e.broken == nil {
		told, found := e.powerOff()
		if told == nil && robot.CodeOf(found) == robot.CodeStaleState {
			found = nil // it was told, and says nothing any more
		}
		if err := errors.Join(told, found); err != nil {
			failed = append(failed, robot.Errf(robot.CodeOf(err), e.traits.Device, "taking the power away: %w", err))
		}
	}
	e.mu.Lock()
	e.lose(robot.Errf(robot.CodeDisconnected, e.traits.Backend, "the robot is closed"))
	e.mu.Unlock()
	e.guard.begin(e.traits.patience())
	err := e.opts.Body.Disconnect()
	if !e.guard.end() && err == nil {
		err = robot.Errf(robot.CodeLinkTimeout, e.traits.Device, "disconnecting took longer than %v", e.guard.given)
	}
	e.broken = nil
	e.mu.Lock()
	e.failures = append(append(e.failures, failed...), err)
	e.mu.Unlock()
}
