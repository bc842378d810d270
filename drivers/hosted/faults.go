package hosted

import (
	"math"
	"slices"

	"github.com/tau-robot/tau/robot"
)

// maxFaults bounds what is remembered after the first reason.
const maxFaults = 8

// latch remembers a reason why the robot doesn't move until estop_reset, and has done what
// a stop does to the actuators; Engine.mu is held.
func (e *Engine) latch(err *robot.Error) {
	if e.remember(err) {
		e.switchOff()
	}
}

// remember is latch without the actuators, and reports whether the reason is a new one;
// Engine.mu is held. The first reason stays the first, and none is there twice.
func (e *Engine) remember(err *robot.Error) bool {
	e.armed = false
	defer e.refresh()
	for i := range e.faults {
		if f := &e.faults[i]; f.Code == err.Code && f.Where == err.Where {
			return false
		}
	}
	if len(e.faults) == maxFaults {
		return false
	}
	e.faults = append(e.faults, robot.Fault{Code: err.Code, Where: err.Where, Text: err.Said(), Since: e.opts.Now()})
	e.opts.Log.Warn("a fault is latched", "device", e.traits.Device, "error", err)
	return true
}

// knows reports whether a complaint of the hardware's is latched, or there is no room for
// more; Engine.mu is held.
func (e *Engine) knows(f *robot.Fault) bool {
	return len(e.faults) == maxFaults || slices.ContainsFunc(e.faults, func(l robot.Fault) bool { return l.Code == f.Code && l.Where == f.Where })
}

// switchOff has the actuators set to off that declare it for a stop; Engine.mu is held.
func (e *Engine) switchOff() {
	for i := range e.offs {
		if e.opts.Model.Actuators[i].OnStop == "off" {
			e.offs[i] = true
		}
	}
}

// fail latches a fault and ends the leg by it, if there is one; Engine.mu is held.
func (e *Engine) fail(err *robot.Error) {
	e.latch(err)
	if x := e.leg; x != nil {
		x.fail(err)
	}
}

// voided is what happens to everything that was prepared when the robot isn't what it was
// any more; Engine.mu is held.
func (e *Engine) voided(err *robot.Error) {
	e.epoch++
	e.latch(err)
}

// restarted is called when a device has forgotten what it was told; Engine.mu is held.
// Nothing more is written: a setpoint might power what has no power any more, where it
// isn't.
func (e *Engine) restarted() {
	err := robot.Errf(robot.CodeDisconnected, e.traits.Device, "a device has restarted, or was without power, and has forgotten what it was told")
	for i := range e.joints {
		e.told[i], e.cur.set[i] = false, math.NaN()
	}
	for i := range e.values {
		// What it starts with it is told as well, once nothing else is to be done.
		e.values[i], e.offs[i] = e.opts.Model.Actuators[i].Off, true
	}
	e.gripping = false
	e.recent.forget()
	e.voided(err)
	if e.leg != nil {
		e.leg.lost(err)
	}
}

// lose ends the link, the first reason counting, and with it whatever runs; Engine.mu is
// held.
func (e *Engine) lose(err error) {
	if e.link == nil {
		return
	}
	e.unlink()
	e.link, e.unlink, e.ready, e.why = nil, nil, false, err
	e.readings = 0
	e.history.forget()
	if !e.closed {
		lost := robot.Errf(robot.CodeDisconnected, e.traits.Device, "the link to the robot was lost: %w", err)
		e.voided(lost)
		if e.leg != nil {
			e.leg.lost(lost)
		}
	} else if e.leg != nil {
		e.leg.lost(robot.Errf(robot.CodeDisconnected, e.traits.Backend, "the robot was closed"))
	}
	for _, s := range e.stops {
		s.fail(err)
	}
	e.stops = nil
	if e.job != nil { // which the loop hasn't taken, and won't
		e.job.err = e.reachable()
		close(e.job.done)
		e.job = nil
	}
	e.broadcast()
}
