package hosted

import (
	"context"
	"errors"
	"time"

	"github.com/tau-robot/tau/robot"
)

// settleWithin is how long a command waits for the joints to lie or hold still.
const settleWithin = 4 * time.Second

func refused(err error) (robot.Outcome, error) {
	return robot.Outcome{Status: robot.OutcomeRefused}, err
}

// Actuate does one command and returns once the hardware has said that it is done and the
// joints are measured at rest, after at most a few seconds. ctx counts only before it
// begins: half a switching is no state to leave an arm in. TorqueOn reads where the joints
// are and powers them there: a measured joint where it is measured, one that nothing
// measures at its setpoint of this power-up, or where a person has said that it is. If a
// joint can't be powered, or a stop comes meanwhile, the others lose their torque again, if
// none had it before. What
// the hardware was told and didn't do is a fault. EStopReset takes away what is latched
// here and in the devices, and leaves the robot disabled. SetActuator sets one of
// Model.Actuators, with torque or without.
func (e *Engine) Actuate(ctx context.Context, c robot.Command) (robot.Outcome, error) {
	j := &job{done: make(chan struct{})}
	var after func() bool // what has to be measured besides rest
	switch c.Kind {
	case robot.TorqueOn:
		j.do = func() error { return e.powerOn(j, &c) }
		after = func() bool { return e.cur.enabled }
	case robot.TorqueOff:
		j.do = func() error { return e.torqueOff(j, &c) }
		after = func() bool { return !e.cur.powered }
	case robot.EStopReset:
		j.do = func() error { return e.reset(j, &c) }
	case robot.SetActuator:
		i, err := e.opts.Model.CheckActuator(&c)
		if err != nil {
			return refused(err)
		}
		j.do = func() error { return e.set(j, &c, i) }
	default:
		return refused(robot.Errf(robot.CodeInvalidArgument, "kind", "%q is not a command", c.Kind))
	}
	if err := context.Cause(ctx); err != nil {
		return refused(robot.Errf(robot.CodeCancelled, c.ID, "cancelled before it began: %w", err))
	}
	e.fresh(ctx)
	e.mu.Lock()
	began := time.Now()
	var err error
	if c.Kind == robot.EStopReset {
		err = e.admitReset(c.Epoch)
	} else {
		err = e.admit(c.Epoch)
	}
	if err != nil {
		e.mu.Unlock()
		return refused(err)
	}
	x := e.beginRun()
	e.job = j
	e.mu.Unlock()
	signal(e.wake)
	defer e.finish(x)
	err = e.await(context.Background(), func() bool { return j.finished() || !e.ready })
	if err == nil && j.finished() {
		err = j.err
	}
	if err == nil && after != nil {
		err = e.stands(after)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil && !e.ready {
		err = e.reachable()
	}
	out := robot.Outcome{Status: robot.OutcomeDone, Duration: time.Since(began).Seconds(), Final: e.snapshot(&e.cur)}
	switch {
	case err == nil:
	case j.finished() && !j.acted:
		return refused(err)
	case !e.ready:
		out.Status = robot.OutcomeUnknown
		claimless(&out.Final)
	case x.stop:
		out.Status = robot.OutcomeStopped
	case c.Kind == robot.SetActuator:
		out.Status = robot.OutcomeUnknown // nobody knows what became of it, and nothing else is wrong
	default:
		out.Status = robot.OutcomeFaulted
		if len(e.faults) == 0 {
			e.latch(e.asError(err))
		}
	}
	return out, err
}

// finished reports whether the loop has done the job.
func (j *job) finished() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// admit says why nothing may be actuated now; Engine.mu is held.
func (e *Engine) admit(epoch uint64) error {
	if err := e.free(); err != nil {
		return err
	}
	return e.clear(epoch)
}

// admitReset is admit for what takes away what admit refuses by; Engine.mu is held.
func (e *Engine) admitReset(epoch uint64) error {
	if err := e.free(); err != nil {
		return err
	}
	if epoch != e.epoch {
		return e.between(epoch)
	}
	return nil
}

// free says why nothing may be asked of the robot at all; Engine.mu is held.
func (e *Engine) free() error {
	if err := e.reachable(); err != nil {
		return err
	}
	if e.run != nil {
		return robot.Errf(robot.CodeBusy, e.traits.Backend, "another motion or command is running")
	}
	return nil
}

// clear says what is latched, or came between; Engine.mu is held.
func (e *Engine) clear(epoch uint64) error {
	switch {
	case e.estopped:
		return robot.Errf(robot.CodeEStopped, e.traits.Backend, "the e-stop is latched; only estop_reset clears it")
	case epoch != e.epoch:
		return e.between(epoch)
	case len(e.faults) > 0:
		f := &e.faults[0]
		return robot.Errf(f.Code, f.Where, "a fault is latched until estop_reset: %s", f.Text)
	}
	_, err := e.state()
	return err
}

func (e *Engine) between(epoch uint64) error {
	return robot.Errf(robot.CodeStopped, e.traits.Backend, "prepared in stop epoch %d, it is %d now: a stop came between", epoch, e.epoch)
}

// beginRun takes the robot for one run; Engine.mu is held.
func (e *Engine) beginRun() *run {
	e.run = &run{done: make(chan struct{})}
	return e.run
}

// finish gives the robot back.
func (e *Engine) finish(x *run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.run == x {
		e.run, e.leg = nil, nil
	}
	close(x.done)
	e.broadcast()
}

// stands waits until what was done is seen and nothing is measured to move.
func (e *Engine) stands(so func() bool) error {
	ok := e.awaitFor(context.Background(), settleWithin, func() bool {
		return !e.ready || len(e.faults) > 0 || e.run.stop || so() && e.still()
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case !e.ready:
		return e.reachable()
	case len(e.faults) > 0:
		f := &e.faults[0]
		return robot.Errf(f.Code, f.Where, "%s", f.Text)
	case e.run.stop:
		return robot.Errf(robot.CodeStopped, e.traits.Backend, "a stop came in between")
	case !ok:
		return robot.LimitErr(robot.CodeUnknownOutcome, e.traits.Backend, settleWithin.Seconds(), settleWithin.Seconds(), "s", "it is done, and the robot doesn't come to rest")
	}
	return nil
}

// still reports whether all that is measured is measured at rest, and was for a moment: a
// joint that swings stands still where it turns round. Engine.mu is held.
func (e *Engine) still() bool {
	return e.readings > 0 && e.silent() < 0 && e.age() <= e.stale &&
		(e.blind || e.history.whole() && !e.moving() && e.cur.at.Sub(e.movedAt) >= restTime)
}

// stoppedBefore says that a stop came before a command told the hardware anything; else the
// command has begun.
func (e *Engine) stoppedBefore(j *job, c *robot.Command) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.epoch != c.Epoch {
		return robot.Errf(robot.CodeStopped, c.ID, "a stop came before it began")
	}
	j.acted = true
	return nil
}

// torqueOff takes the power away.
func (e *Engine) torqueOff(j *job, c *robot.Command) error {
	if err := e.stoppedBefore(j, c); err != nil {
		return err
	}
	told, found := e.powerOff()
	if found == nil {
		return told
	}
	return errors.Join(told, found)
}

// reset takes away what is latched, here and in the devices. It moves and enables nothing.
func (e *Engine) reset(j *job, c *robot.Command) error {
	if err := e.stoppedBefore(j, c); err != nil {
		return err
	}
	ctx := e.context()
	e.guard.begin(e.traits.patience() + switchPatience)
	if err := e.called("clearing what the devices have latched", e.opts.Body.Clear(ctx)); err != nil {
		return err
	}
	e.mu.Lock()
	if e.epoch != c.Epoch { // an e-stop since is another one
		e.mu.Unlock()
		return robot.Errf(robot.CodeStopped, c.ID, "a stop came in between")
	}
	e.faults, e.estopped = nil, false
	e.refresh()
	e.mu.Unlock()
	e.read() // what is still there is latched again
	if e.broken != nil {
		return e.broken
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.faults) > 0 {
		f := &e.faults[0]
		return robot.Errf(f.Code, f.Where, "it is there again right after the reset: %s", f.Text)
	}
	return nil
}

// set sets an actuator. What State says of it is what the hardware made of the value.
func (e *Engine) set(j *job, c *robot.Command, i int) error {
	if err := e.stoppedBefore(j, c); err != nil {
		return err
	}
	ctx := e.context()
	e.guard.begin(e.traits.patience())
	v, err := e.opts.Body.Set(ctx, i, c.Value)
	if err = e.called("setting "+c.Name, err); err != nil {
		switch robot.CodeOf(err) {
		case robot.CodeInvalidArgument, robot.CodeNotSupported:
			j.acted = false // it was told nothing
		}
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.values[i] = v
	return nil
}
