package hosted

import (
	"math"
	"slices"
	"time"

	"github.com/tau-robot/tau/robot"
)

// read has the Body measure, publishes what it found, and judges it. The loop alone calls
// it.
func (e *Engine) read() {
	ctx := e.context()
	s := &e.sample
	if len(s.Joints) != len(e.joints) {
		s.Joints = make([]Joint, len(e.joints))
	}
	for i := range s.Joints {
		s.Joints[i] = Joint{Position: math.NaN(), Velocity: math.NaN(), Effort: math.NaN(), Setpoint: math.NaN()}
	}
	s.Faults, s.Restarted, s.At = s.Faults[:0], false, time.Time{}
	for i := range s.Actuators {
		s.Actuators[i] = math.NaN()
	}
	began := time.Now()
	e.readAt, e.sinceRead = began, 0
	e.guard.begin(e.traits.patience())
	err := e.called("reading", e.opts.Body.Read(ctx, s))
	if e.broken != nil {
		return
	}
	if err == nil && len(s.Joints) != len(e.joints) {
		err = robot.Errf(robot.CodeInternal, e.traits.Backend, "it says something of %d joints, there are %d", len(s.Joints), len(e.joints))
	}
	// What hardware reports by itself is older than the read that hands it on, and says so.
	if s.At.IsZero() || s.At.After(time.Now()) {
		s.At = began
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.link == nil {
		return
	}
	if err != nil {
		for i := range e.joints {
			e.missing(i, err)
		}
	} else {
		e.publish(s)
	}
	e.refresh()
	e.judge(s, err == nil)
	e.refresh()
	e.broadcast()
}

// missing counts a read that found nothing of a joint; Engine.mu is held.
func (e *Engine) missing(i int, err error) {
	e.misses[i]++
	e.missed[i], e.lost[i] = err, false
}

// heard reports whether the last read found anything of a joint, if only whether it has
// torque; Engine.mu is held.
func (e *Engine) heard(i int) bool { return e.misses[i] == 0 || e.lost[i] }

// publish takes over what a read found; Engine.mu is held. Of a joint that didn't answer
// what was known stays, with the time at which it was.
func (e *Engine) publish(s *Sample) {
	row := e.history.next(s.At)
	for i := range e.joints {
		j, from := &e.joints[i], &s.Joints[i]
		row[i] = math.NaN()
		switch {
		case from.Err != nil:
			e.missing(i, from.Err)
			continue
		case from.Lost != nil:
			e.missing(i, from.Lost)
			e.lost[i], e.powered[i] = true, from.Powered
			continue
		case !j.open && (math.IsNaN(from.Position) || math.IsInf(from.Position, 0)):
			e.missing(i, robot.Errf(robot.CodeInternal, j.name, "the hardware says %g of its position", from.Position))
			continue
		}
		e.misses[i], e.missed[i], e.lost[i], e.heardAt[i] = 0, nil, false, s.At
		e.powered[i] = from.Powered
		if !j.open {
			row[i], e.cur.pos[i], e.cur.eff[i] = from.Position, from.Position, from.Effort
		}
		e.held(i, from.Setpoint)
	}
	e.history.speeds(e.speeds)
	if e.moving() {
		e.movedAt = s.At
	}
	oldest := s.At
	for i := range e.joints {
		j := &e.joints[i]
		if e.heardAt[i].Before(oldest) {
			oldest = e.heardAt[i]
		}
		if j.open {
			continue
		}
		e.cur.vel[i] = e.speeds[i]
		if v := s.Joints[i].Velocity; e.traits.Velocity && e.misses[i] == 0 && !math.IsNaN(v) && !math.IsInf(v, 0) {
			e.cur.vel[i] = v
		}
	}
	for i := range e.gauges {
		e.gauges[i] = math.NaN()
		if i < len(s.Actuators) && !math.IsInf(s.Actuators[i], 0) {
			e.gauges[i] = s.Actuators[i]
		}
	}
	e.cur.at = oldest
	e.readings++
}

// held takes the setpoint that a device says it has: that of a joint with power of which
// nothing is known here, or one that isn't what it was sent; Engine.mu is held.
func (e *Engine) held(i int, q float64) {
	if math.IsNaN(q) || math.IsInf(q, 0) || !e.powered[i] {
		e.astray[i] = 0
		return
	}
	if !e.told[i] || e.readings == 0 {
		// On a new link too: what was sent last over the old one may never have got there.
		e.cur.set[i], e.told[i] = q, true
	}
	e.theirs[i] = q
	if math.Abs(q-e.cur.set[i]) > 2*e.joints[i].smallest+robot.PositionTolerance {
		e.astray[i]++
	} else {
		e.astray[i] = 0
	}
}

// judge looks at what a read found for reasons not to move any more; Engine.mu is held.
func (e *Engine) judge(s *Sample, ok bool) {
	x := e.leg
	if ok && s.Restarted {
		e.restarted()
	}
	if ok {
		for i := range s.Faults {
			// What the hardware goes on complaining of isn't news: the way out of what a
			// joint presses on must not end for the overload that it ends.
			f := &s.Faults[i]
			if f.Code == "" {
				f.Code, f.Text = robot.CodeInternal, "the hardware complains and doesn't say of what"
			}
			if !e.knows(f) {
				e.fail(robot.Errf(f.Code, f.Where, "%s", f.Text))
			}
		}
	}
	active := x != nil && x.going && !x.over
	for i := range e.joints {
		j := &e.joints[i]
		switch {
		case e.misses[i] >= SilentReads && active:
			e.fail(e.silence(i))
		case e.heard(i) && !e.powered[i] && (e.armed || active && !x.halted):
			e.fail(robot.Errf(robot.CodeNotEnabled, j.name, "%s lost its torque by itself", j.name))
			e.halt() // a setpoint might give it power where it isn't any more
		case e.astray[i] >= SilentReads && (e.armed || active && !x.halted):
			e.fail(robot.Errf(robot.CodeDisconnected, j.name, "%s holds another setpoint than it was sent: somebody else commands it, or it doesn't take what it is sent", j.name))
			e.halt() // the next setpoint that it takes would be a jump
		}
	}
	if !active || x.over {
		return
	}
	if ok {
		x.watch(s.At)
	}
	// What is known of a joint that has just missed a read is too old to find it at rest.
	if e.silent() >= 0 || ok && !slices.ContainsFunc(e.misses, func(n int) bool { return n > 0 }) {
		x.settle(s.At)
	}
}

// halt has nothing more written of what moves; Engine.mu is held.
func (e *Engine) halt() {
	if x := e.leg; x != nil && x.going {
		x.halted = true
	}
}

// watch compares what is measured with what it should be; Engine.mu is held.
func (x *leg) watch(at time.Time) {
	e := x.e
	x.feel(at)
	for i := range e.joints {
		j := &e.joints[i]
		if j.open || e.misses[i] > 0 {
			continue
		}
		if off := e.off(i); math.IsNaN(x.max[i]) || off > x.max[i] {
			x.max[i] = off
		}
		if x.why != toItsEnd || i == x.gripper() {
			continue
		}
		if off := e.behind(i, at); off > x.m.MaxDeviation[i] {
			e.fail(robot.LimitErr(robot.CodeDeviation, j.name, off, x.m.MaxDeviation[i], j.unit, j.name+" is off its setpoint"))
			return
		}
		q := e.cur.pos[i]
		in := j.within(q)
		if beyond := math.Abs(q-in) > j.tolerance(); !beyond {
			x.outside[i] = false
		} else if !x.outside[i] {
			e.fail(robot.LimitErr(robot.CodeJointLimit, j.name, q, in, j.unit, j.name+" is measured out of its limits"))
			return
		}
	}
}

// behind is how far a joint is measured from where it should be: from the setpoints of the
// last moments, of the hardware's lag and a period, in which it may have been told to be
// where it is. Engine.mu is held.
func (e *Engine) behind(i int, at time.Time) float64 {
	q := e.cur.pos[i]
	if e.recent.n == 0 {
		return e.off(i)
	}
	lo, hi := e.recent.span(i, at, e.traits.Lag+e.traits.Period)
	return math.Max(0, math.Max(lo-q, q-hi))
}

// tolerance is how far from where it should be a joint may be at rest.
func (j *joint) tolerance() float64 {
	if j.unit == "m" {
		return settleToleranceM + 2*j.smallest
	}
	return settleTolerance + 2*j.smallest
}

// presses is from how far off its setpoint a joint presses on something.
func (j *joint) presses() float64 {
	if j.unit == "m" {
		return pressToleranceM + 2*j.smallest
	}
	return pressTolerance + 2*j.smallest
}
