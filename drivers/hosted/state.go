package hosted

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/tau-robot/tau/robot"
)

// State returns the last measurement that the loop has published, and never touches the
// hardware. One that is older than StaleAfter is waited for once more, for as long; then
// it is STALE_STATE, as is one of a joint that hasn't said where it is in SilentReads reads in
// a row.
// MeasuredAt is when the joint answered whose answer is the oldest. Velocities are the
// hardware's own where it measures them, else the slope of the last positions.
func (e *Engine) State(ctx context.Context) (robot.State, error) {
	e.fresh(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state()
}

// fresh waits for a measurement if the last one is old.
func (e *Engine) fresh(ctx context.Context) {
	e.awaitFor(ctx, e.stale, func() bool { return !e.ready || e.closed || e.age() <= e.stale })
}

// age is how old what State says is; Engine.mu is held.
func (e *Engine) age() time.Duration {
	if e.readings == 0 {
		return math.MaxInt64
	}
	return time.Since(e.cur.at)
}

// reachable says why there is nobody to talk to; Engine.mu is held.
func (e *Engine) reachable() error {
	switch {
	case e.closed:
		return robot.Errf(robot.CodeDisconnected, e.traits.Backend, "the robot is closed")
	case !e.ready && e.why != nil:
		return robot.Errf(robot.CodeDisconnected, e.traits.Device, "the link to the robot is lost: %w", e.why)
	case !e.ready:
		return robot.Errf(robot.CodeDisconnected, e.traits.Device, "the link to the robot isn't there yet")
	}
	return nil
}

// state is State with Engine.mu held.
func (e *Engine) state() (robot.State, error) {
	if err := e.reachable(); err != nil {
		return robot.State{}, err
	}
	if i := e.silent(); i >= 0 {
		return robot.State{}, e.silence(i)
	}
	if age := e.age(); age > e.stale {
		return robot.State{}, robot.LimitErr(robot.CodeStaleState, e.traits.Backend, min(age, time.Hour).Seconds(), e.stale.Seconds(), "s", "the last measurement is too old")
	}
	return e.snapshot(&e.cur), nil
}

// silent is a joint of which nothing is known any more, -1 if there is none; Engine.mu is
// held.
func (e *Engine) silent() int {
	return slices.IndexFunc(e.misses, func(n int) bool { return n >= SilentReads })
}

// silence is what is said of a joint that doesn't answer, or not where it is; Engine.mu is
// held.
func (e *Engine) silence(i int) *robot.Error {
	if e.lost[i] {
		return robot.Errf(robot.CodeStaleState, e.joints[i].name, "it isn't known where %s is (%w)", e.joints[i].name, e.missed[i])
	}
	return robot.Errf(robot.CodeStaleState, e.joints[i].name, "nothing is known of %s: it hasn't answered the last %d reads (%w)", e.joints[i].name, e.misses[i], e.missed[i])
}

// snapshot is the state that a view says, however old; Engine.mu is held.
func (e *Engine) snapshot(v *view) robot.State {
	n := len(e.joints)
	s := robot.State{
		Setpoints: slices.Clone(v.set),
		Moving:    v.moving, Enabled: v.enabled, Powered: v.powered && !v.enabled,
		EStopped: e.estopped, StopEpoch: e.epoch, Faults: slices.Clone(e.faults),
	}
	if e.readings > 0 {
		s.MeasuredAt = e.opts.Now().Add(-time.Since(v.at))
		if !e.blind {
			s.Positions, s.Velocities = slices.Clone(v.pos), slices.Clone(v.vel)
			if e.traits.Effort {
				s.Efforts = slices.Clone(v.eff)
			}
		}
	}
	for i := range e.joints {
		if !e.joints[i].open {
			continue
		}
		if math.IsNaN(v.set[i]) {
			s.Unreferenced = flag(s.Unreferenced, n, i)
		} else if !e.told[i] {
			s.Declared = flag(s.Declared, n, i)
		}
	}
	for i, a := range e.opts.Model.Actuators {
		as := robot.ActuatorState{Name: a.Name, Value: e.values[i]}
		if !math.IsNaN(e.gauges[i]) {
			as.Value, as.Measured = e.gauges[i], true
		}
		s.Actuators = append(s.Actuators, as)
	}
	return s
}

// flag sets a flag in a list that is nil while none is.
func flag(flags []bool, n, i int) []bool {
	if flags == nil {
		flags = make([]bool, n)
	}
	flags[i] = true
	return flags
}

// refresh brings what the view says of the whole robot up to date; Engine.mu is held.
func (e *Engine) refresh() {
	on := !slices.Contains(e.powered, false)
	e.cur.powered = slices.Contains(e.powered, true)
	e.cur.enabled = e.armed && on
	e.cur.moving = e.moving() || e.leg != nil && e.leg.commands()
}

// moving reports whether anything is measured to move; Engine.mu is held.
func (e *Engine) moving() bool {
	for i, v := range e.speeds {
		still := restSpeed
		if e.joints[i].unit == "m" {
			still = restSpeedM
		}
		if math.Abs(v) > still {
			return true
		}
	}
	return false
}

// off is how far a joint is measured from its setpoint, NaN if it isn't measured;
// Engine.mu is held.
func (e *Engine) off(i int) float64 { return math.Abs(e.cur.pos[i] - e.cur.set[i]) }

// unreferenced names an open-loop joint of which nobody knows where it is, -1 if there is
// none; Engine.mu is held.
func (e *Engine) unreferenced() int {
	for i := range e.joints {
		if e.joints[i].open && math.IsNaN(e.cur.set[i]) {
			return i
		}
	}
	return -1
}

// Declare says where the joints are, rad or m by active joint, NaN of one of which
// nothing is said: what a person sees who stands beside the robot. It counts for joints
// that nothing measures, until their hardware restarts or torque_on takes it as the
// setpoint. It is refused while the joints have power (BUSY: then the setpoint is known),
// and for places outside of the limits. It never waits for the hardware.
func (e *Engine) Declare(q []float64) error {
	if err := e.opts.Model.CheckPlace(q); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.reachable(); err != nil {
		return err
	}
	if e.run != nil || e.cur.powered {
		return robot.Errf(robot.CodeBusy, e.traits.Backend, "the joints have power, and hold what they were told")
	}
	return e.declare(q)
}

// declare is Declare with Engine.mu held.
func (e *Engine) declare(q []float64) error {
	for i := range e.joints {
		j := &e.joints[i]
		if !j.open || math.IsNaN(q[i]) {
			continue
		}
		if in := j.within(q[i]); math.Abs(in-q[i]) > robot.PositionTolerance {
			return robot.LimitErr(robot.CodeJointLimit, j.name, q[i], in, j.unit, "the joint can't be powered there: move it by hand within its limits")
		}
	}
	for i := range e.joints {
		if e.joints[i].open && !math.IsNaN(q[i]) {
			e.cur.set[i], e.told[i] = e.joints[i].within(q[i]), false
		}
	}
	e.broadcast()
	return nil
}

// within is the place within the joint's limits that is nearest to q.
func (j *joint) within(q float64) float64 {
	return math.Max(j.limits.Lower, math.Min(j.limits.Upper, q))
}
