package hosted

import (
	"math"
	"slices"
	"time"

	"github.com/tau-robot/tau/robot"
)

// settle waits, once the setpoints stand, until what is measured is at rest where it
// should be, and says what it is if it isn't; Engine.mu is held.
func (x *leg) settle(now time.Time) {
	e := x.e
	if x.commands() {
		x.resting = false
		return
	}
	if e.silent() >= 0 {
		x.unsure = true
		x.finish(false)
		return
	}
	if now.Before(x.stoodAt) {
		return // it was measured before the setpoints stood
	}
	if !x.resting {
		x.resting = true
		x.settled, x.stillBad, x.goodBad = now, now, now
	}
	moving := e.moving() || !e.history.whole() && !e.blind
	if moving {
		x.stillBad = now
	}
	if moving || !x.halted && x.away() >= 0 {
		x.goodBad = now
	}
	rest := restTime
	if slices.Contains(e.traits.Measured, false) {
		rest = max(rest, e.traits.Lag) // nobody sees when what isn't measured has arrived
	}
	late, patient := now.Sub(x.settled) > settleTimeout, now.Sub(x.stillBad) > patience
	switch {
	case now.Sub(x.goodBad) >= rest:
		x.ended()
	case x.why == toItsEnd:
		if patient || late {
			x.notThere(moving)
		}
	case late:
		x.finish(!moving)
	case patient, (x.why == byFault || x.why == byGrip) && now.Sub(x.stillBad) >= max(stuckTime, rest):
		x.ended() // a joint that doesn't follow is at rest where it is
	}
}

// notThere ends a leg that came to rest away from its end, or didn't come to rest.
func (x *leg) notThere(moving bool) {
	e := x.e
	if moving {
		e.fail(robot.LimitErr(robot.CodeUnknownOutcome, e.traits.Backend, settleTimeout.Seconds(), settleTimeout.Seconds(), "s", "the robot didn't come to rest in time"))
		x.finish(false)
		return
	}
	for i := range e.joints {
		if d, j := e.off(i), &e.joints[i]; i != x.gripper() && d > j.tolerance() {
			e.fail(robot.LimitErr(robot.CodeDeviation, j.name, d, j.tolerance(), j.unit, j.name+" came to rest away from its end"))
			return // the setpoints go to where it is first
		}
	}
	x.finish(true)
}

// away is a joint that should be at its setpoint and isn't measured there, -1 if all are;
// Engine.mu is held.
func (x *leg) away() int {
	e := x.e
	for i := range e.joints {
		near := arrived
		if e.joints[i].unit == "m" {
			near = arrivedM
		}
		if i != x.gripper() && e.off(i) > near+1.5*e.joints[i].smallest {
			return i
		}
	}
	return -1
}

// ended finishes a leg at rest, unless the setpoints have a way to go to where the joints
// are; Engine.mu is held.
func (x *leg) ended() {
	to := x.relax()
	if to == nil {
		to = x.regrip()
	}
	if to != nil {
		x.follow(x.e.way(x.e.cur.set, to))
		x.braking, x.relaxing, x.took = true, true, x.ticks
		return
	}
	x.finish(true)
}

// plausible is for how long, s, a joint may have moved at its largest speed between two
// looks at its following error: one that is measured farther off is a broken feedback
// rather than a joint.
const plausible = 0.05

// relax returns where the setpoints are to go after a fault that has joints press on
// something, so that they don't any more: to where the joints are measured. nil where there
// is no way to go, or where what is measured is farther away than the error explains.
func (x *leg) relax() []float64 {
	e := x.e
	if x.took > 0 || x.halted || x.why != byFault || e.estopped || e.closed || e.run == nil || e.run.stop || e.cut {
		return nil
	}
	switch x.err.Code {
	case robot.CodeDeviation, robot.CodeContact, robot.CodeOverload:
	default:
		return nil
	}
	to := slices.Clone(e.cur.set)
	for i := range e.joints {
		j := &e.joints[i]
		if j.open || i == x.gripper() && e.gripping || !(e.off(i) > j.presses()) {
			continue
		}
		if x.offAt[i] > x.m.MaxDeviation[i]+j.limits.Velocity*(plausible+e.traits.Lag.Seconds()) ||
			e.off(i) > x.offAt[i]+math.Abs(e.cur.set[i]-x.heldAt[i])+j.tolerance() {
			return nil
		}
		to[i] = j.within(e.cur.pos[i])
	}
	if slices.Equal(to, e.cur.set) {
		return nil
	}
	return to
}
