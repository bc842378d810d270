package sim

import (
	"math"

	"github.com/tau-robot/tau/robot"
)

// A grip is simulated without contact forces: the jaw that moves closes until it
// touches a body that may be gripped; that body then moves with the gripper, and
// the jaw presses on it with at most the grip's effort until it opens by more
// than release. A body that is let go of stays where it is.

// closing is the sign of the gripper joint's displacement that closes it.
func (r *Robot) closing() float64 {
	g := r.opts.Model.Gripper
	return math.Copysign(1, g.Closed-g.Open)
}

// gripping reports whether joint i is a gripper that is pressing or about to.
func (r *Robot) gripping(i int, m *robot.Motion) bool {
	g := r.opts.Model.Gripper
	return g != nil && g.Joint == i && (r.mon.held >= 0 || m != nil && m.Grip != nil)
}

// setEffort sets a drive's limit from all that bounds it.
func (r *Robot) setEffort(i int) {
	e := r.pl.params[i].effort
	if r.weak[i] != 1 {
		e *= r.weak[i]
	}
	if g := r.opts.Model.Gripper; g != nil && g.Joint == i && r.gripTo > 0 {
		e = math.Min(e, r.gripTo)
	}
	r.pl.effort[i] = e
}

// startGrip bounds the gripper's effort, and ends a grip at once on a body that
// is held already.
func (x *motion) startGrip() {
	if x.m.Grip == nil {
		return
	}
	r := x.r
	g := r.opts.Model.Gripper.Joint
	r.gripTo = x.m.Grip.MaxEffort
	r.setEffort(g)
	if r.mon.held < 0 {
		return
	}
	r.pl.integ[g] = r.closing() * r.pl.effort[g]
	if (x.m.Trajectory.End()[g]-r.gripAt)*r.closing() > -release {
		x.gripped()
	}
}

// gripped ends the motion in the grip.
func (x *motion) gripped() {
	r := x.r
	x.why = byGrip
	g := r.opts.Model.Gripper.Joint
	r.qs[g], r.vs[g], r.as[g] = r.pl.q[g]+r.s.offset[g], 0, 0
	if r.tree.model.Base != nil {
		x.follow(x.braking())
		return
	}
	x.follow(robot.BrakeTrajectory(r.info.Joints, r.qs, r.vs, r.as, r.info.Limits))
}

// leave undoes what a grip that found nothing has bounded.
func (x *motion) leave() {
	r := x.r
	r.mon.grip = false
	if x.m.Grip != nil && r.mon.held < 0 {
		r.gripTo = 0
		r.setEffort(r.opts.Model.Gripper.Joint)
	}
}

// grip takes hold of what a contact is with, if it is one of a jaw that the
// gripper joint moves with a body that may be gripped.
func (r *Robot) grip(c *contact, effort, t float64) bool {
	g := r.opts.Model.Gripper
	if c.a.link < 0 || !r.mon.isGripper(c.a.link) || c.b.scene < 0 || !r.mon.scene.Bodies[c.b.scene].Movable || r.mon.held >= 0 {
		return false
	}
	moves := false
	for b := c.a.body; b >= 0; b = r.tree.bodies[b].parent {
		moves = moves || r.tree.bodies[b].active == g.Joint
	}
	if !moves {
		return false
	}
	for it := range r.mon.items {
		if &r.mon.items[it] == c.b {
			r.mon.pose(r.pl.q)
			w := r.mon.world(c.b)
			r.hold(it, &w, effort)
			r.mon.refresh(r.pl.q, t)
			return true
		}
	}
	return false
}

// base is the body that carries the gripper, -1 for the root.
func (r *Robot) base() int {
	k := &r.opts.Model.Joints[r.opts.Model.Active[r.opts.Model.Gripper.Joint]]
	return r.tree.linkOf[k.Parent]
}

// hold makes the gripper hold an item that is at world, root from shape; the
// monitor is posed.
func (r *Robot) hold(it int, world *frame, effort float64) {
	g := r.opts.Model.Gripper.Joint
	base := r.base()
	at := *world
	if base >= 0 {
		at = r.mon.d.world[base].inverseMul(world)
		in, _ := boxInertia(&r.mon.scene.Bodies[r.mon.items[it].scene].Geometry)
		up := at.up(&in)
		r.pl.d.in[base].add(&up)
	}
	tip := r.mon.d.linkFrame(r.opts.Model.Tip)
	rel := tip.inverseMul(world)
	pose := rel.pose()
	r.mon.attach(it, base, at)
	r.gripAt, r.gripTo = r.pl.q[g], effort
	r.setEffort(g)
	r.pl.block[g] = r.closing()
	if !math.IsInf(r.pl.effort[g], 0) {
		r.pl.integ[g] = r.closing() * r.pl.effort[g]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held, r.heldPose = r.mon.scene.Bodies[r.mon.items[it].scene].Name, &pose
}

// letGo leaves what is held where it is.
func (r *Robot) letGo() {
	if r.mon.held < 0 {
		return
	}
	g := r.opts.Model.Gripper.Joint
	if b := r.base(); b >= 0 {
		r.pl.d.in[b] = r.tree.bodies[b].inertia
	}
	r.mon.pose(r.pl.q)
	r.mon.detach()
	r.pl.block[g], r.gripTo = 0, 0
	r.pl.integ[g] = 0 // what it pressed with has nothing left to press on
	r.setEffort(g)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held, r.heldPose = "", nil
}

// releaseGrip lets go when the setpoint has opened the gripper.
func (r *Robot) releaseGrip(t float64) {
	if r.mon.held < 0 || (r.qs[r.opts.Model.Gripper.Joint]-r.gripAt)*r.closing() > -release {
		return
	}
	r.letGo()
	r.mon.refresh(r.pl.q, t)
}
