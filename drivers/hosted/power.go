package hosted

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/tau-robot/tau/robot"
)

// powerOff takes the torque of all joints away and looks whether it is gone: told is what
// the Body said, found what a read found after it: STALE_STATE of a joint that says nothing,
// UNKNOWN_OUTCOME of one that still has torque. Where a read finds that all of it is gone
// it doesn't matter what was told. The loop alone calls it.
func (e *Engine) powerOff() (told, found error) {
	e.mu.Lock()
	e.armed, e.gripping = false, false
	e.refresh()
	e.mu.Unlock()
	ctx := e.context()
	e.guard.begin(e.traits.patience() + switchPatience)
	told = e.called("switching torque off", e.opts.Body.PowerOff(ctx))
	if e.broken != nil {
		return told, nil
	}
	e.read()
	if e.broken != nil {
		return told, e.broken
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.joints {
		name := e.joints[i].name
		switch {
		case !e.heard(i) && found == nil:
			found = robot.Errf(robot.CodeStaleState, name, "%s doesn't say whether it has torque: %w", name, e.missed[i])
		case e.heard(i) && e.powered[i]:
			return told, robot.Errf(robot.CodeUnknownOutcome, name, "%s still has torque", name)
		}
	}
	if found == nil {
		told = nil
	}
	return told, found
}

// powerOn has each joint hold where it was measured just now, or at its setpoint, and looks
// whether it does. The loop alone calls it.
func (e *Engine) powerOn(j *job, c *robot.Command) error {
	if err := e.look(); err != nil {
		return err
	}
	e.mu.Lock()
	q, already, err := e.places()
	before := e.cur.powered
	stopped := e.epoch != c.Epoch
	if already = already && err == nil; already && !stopped {
		// It holds what it held, at nobody's word: it has been looked at, and is taken up again.
		e.armed = true
		e.refresh()
	}
	e.mu.Unlock()
	switch {
	case err != nil:
		return err
	case stopped:
		return robot.Errf(robot.CodeStopped, c.ID, "a stop came before torque was switched on")
	case already:
		return nil
	}
	if err := e.stoppedBefore(j, c); err != nil {
		return err
	}
	ctx := context.WithValue(e.context(), stopKey{}, func() bool { return e.stoppedSince(c.Epoch) })
	e.guard.begin(e.traits.patience() + switchPatience)
	err = e.called("switching torque on", e.opts.Body.PowerOn(ctx, q))
	if e.broken != nil {
		return err
	}
	if err == nil {
		err = e.holds(q, c)
	}
	if err != nil && e.broken == nil && !before {
		// As it was before: without torque, and not half an arm with it.
		told, found := e.powerOff()
		err = errors.Join(append([]error{err}, told, found)...)
	}
	return err
}

// stopKey is where the context of PowerOn says whether a stop has come.
type stopKey struct{}

// Stopped reports whether a stop has come since the call of PowerOn began that ctx was handed
// to. A Body that powers one joint after another asks between two of them, powers no more
// once it is so, and returns STOPPED.
func Stopped(ctx context.Context) bool {
	stopped, ok := ctx.Value(stopKey{}).(func() bool)
	return ok && stopped()
}

// stoppedSince reports whether a stop has come since an epoch.
func (e *Engine) stoppedSince(epoch uint64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.epoch != epoch
}

// look reads until each joint has answered, a few times at most.
func (e *Engine) look() error {
	for try := 1; ; try++ {
		e.read()
		if e.broken != nil {
			return e.broken
		}
		e.mu.Lock()
		i := slices.IndexFunc(e.misses, func(n int) bool { return n > 0 })
		var err error
		if i >= 0 {
			err = e.silence(i)
		}
		e.mu.Unlock()
		if err == nil || try == SilentReads {
			return err
		}
	}
}

// places is where each joint is to hold when its torque is switched on, and whether all of
// them do already; Engine.mu is held. One that has power and whose setpoint is known keeps
// both.
func (e *Engine) places() (q []float64, already bool, err error) {
	q, already = make([]float64, len(e.joints)), true
	for i := range e.joints {
		j := &e.joints[i]
		at, text := e.cur.pos[i], "the joint stands outside its limits; move it inside by hand"
		switch {
		case e.powered[i] && e.astray[i] > 0: // it holds what somebody else told it, and goes on
			at, already = e.theirs[i], false
		case e.powered[i] && e.told[i]:
			at, text = e.cur.set[i], "the joint is held outside its limits; take its torque away and move it inside by hand"
		case j.open && math.IsNaN(e.cur.set[i]):
			return nil, false, robot.Errf(robot.CodeNotCalibrated, j.name, "nothing measures where %s is, and it was never told since it was switched on: say where it is first", j.name)
		case j.open:
			at, already = e.cur.set[i], false
		default:
			already = false
		}
		if q[i] = j.within(at); math.Abs(at-q[i]) > j.presses() {
			return nil, false, robot.LimitErr(robot.CodeJointLimit, j.name, at, q[i], j.unit, text)
		}
	}
	return q, already, nil
}

// holds looks whether each joint has torque where it was to be held, and takes them into use,
// unless a stop came meanwhile: that wins.
func (e *Engine) holds(q []float64, c *robot.Command) error {
	if err := e.look(); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.joints {
		j := &e.joints[i]
		if !e.powered[i] {
			return robot.Errf(robot.CodeNotEnabled, j.name, "%s was told to hold, and says that it has no torque", j.name)
		}
		if d := math.Abs(e.cur.pos[i] - q[i]); d > j.tolerance()+j.presses() {
			return robot.LimitErr(robot.CodeDeviation, j.name, d, j.tolerance()+j.presses(), j.unit, j.name+" isn't where it was to be held")
		}
	}
	for i := range e.joints {
		e.cur.set[i], e.told[i], e.astray[i] = q[i], true, 0
	}
	stopped := e.run != nil && e.run.stop
	if !stopped && !e.estopped && len(e.faults) == 0 {
		e.armed = true
	}
	e.recent.forget()
	e.recent.add(time.Now(), q)
	e.refresh()
	e.broadcast()
	if stopped {
		return robot.Errf(robot.CodeStopped, c.ID, "a stop came while torque was switched on")
	}
	return nil
}
