package hosted

import (
	"math"
	"time"

	"github.com/tau-robot/tau/robot"
)

// A grip ends where the gripper's joint is felt to press: its measured effort has reached
// what the grip may have, or it doesn't follow its setpoint any more. The setpoint stays
// where it was then, which is what goes on pressing, and it stays there in later motions
// too that don't open the gripper. Where no effort is measured the second has to do, and the
// device itself has to keep to what the grip may have: by its torque limit.

// stallTime is how long a gripper's joint stands still, short of its setpoint, before it
// is taken to have closed on something.
const stallTime = 100 * time.Millisecond

// canGrip refuses a grip that nothing would feel.
func (e *Engine) canGrip(m *robot.Motion) error {
	g := e.opts.Model.Gripper
	switch {
	case m.Grip == nil:
		return nil
	case g == nil:
		return robot.Errf(robot.CodeNotSupported, "grip", "%s has no gripper", e.info.Robot)
	case e.joints[g.Joint].open:
		return robot.Errf(robot.CodeNotSupported, "grip", "nothing measures %s: a grip would only be a hope", e.joints[g.Joint].name)
	case e.traits.Effort:
		return nil
	}
	own := e.opts.Hardware.Joints[g.Joint].TorqueLimit * e.limits[g.Joint].Effort
	switch {
	case !(own > 0):
		return robot.Errf(robot.CodeNotSupported, "grip", "nothing measures an effort, and nothing limits one: a grip would only be a hope")
	case m.Grip.MaxEffort < own:
		return robot.LimitErr(robot.CodeNotSupported, "max_effort", m.Grip.MaxEffort, own, e.effortUnit(g.Joint),
			"nothing measures an effort, so that "+e.joints[g.Joint].name+" presses with all that its torque limit leaves it; lower torque_limit in the robot's file, or allow as much")
	}
	return nil
}

// effortUnit is that of a joint's effort.
func (e *Engine) effortUnit(i int) string {
	if e.joints[i].unit == "m" {
		return "N"
	}
	return "N·m"
}

// gripper is the joint that a grip of the leg is of, or that grips something already, -1
// for none; Engine.mu is held. It may stand off its setpoint.
func (x *leg) gripper() int {
	if x.m.Grip != nil || x.holds {
		return x.e.opts.Model.Gripper.Joint
	}
	return -1
}

// feel ends the leg in its grip where the gripper is felt to press; Engine.mu is held.
func (x *leg) feel(at time.Time) {
	e := x.e
	if x.m.Grip == nil || x.why != toItsEnd {
		return
	}
	g := x.gripper()
	j, off := &e.joints[g], e.behind(g, at)
	if off <= j.presses() || math.Abs(e.speeds[g]) > restSpeed || !e.history.whole() {
		x.stalledAt = at
	}
	if !(math.Abs(e.cur.eff[g]) >= x.m.Grip.MaxEffort) && off <= x.m.MaxDeviation[g] && at.Sub(x.stalledAt) < stallTime {
		return
	}
	e.gripping, e.gripSet = true, e.cur.set[g]
	x.why = byGrip
}

// keepsGrip reports whether what is gripped is held on to during a motion: one that doesn't
// open the gripper, and doesn't close it beyond where its setpoint is; Engine.mu is held.
func (x *leg) keepsGrip() bool {
	e := x.e
	if !e.gripping || x.m.Grip != nil {
		return false
	}
	g := e.opts.Model.Gripper.Joint
	near := x.m.StartTolerance[g]
	lo, hi := math.Min(e.cur.pos[g], e.gripSet)-near, math.Max(e.cur.pos[g], e.gripSet)+near
	for _, s := range x.m.Trajectory.Segments {
		if s.Q[g] < lo || s.Q[g] > hi {
			return false
		}
	}
	end := x.m.Trajectory.End()[g]
	return end >= lo && end <= hi
}

// regrip returns where the setpoints are to be once a grip's brake has come to rest: the
// gripper's back where it was felt to press. nil: they are there.
func (x *leg) regrip() []float64 {
	e := x.e
	if x.why != byGrip || x.relaxing {
		return nil
	}
	g := e.opts.Model.Gripper.Joint
	if e.cur.set[g] == e.gripSet {
		return nil
	}
	to := append([]float64(nil), e.cur.set...)
	to[g] = e.gripSet
	return to
}
