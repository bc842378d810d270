package sim

import (
	"math"
	"slices"

	"github.com/tau-robot/tau/robot"
)

// ArmOptions are what an Arm is made from.
type ArmOptions struct {
	Model *robot.Model
	Scene *robot.Scene // nil: nothing around the robot
	// Start is where the arm stands, rad or m by active joint; nil: the model's home pose.
	Start []float64
}

// ArmDrive is what the drive of one joint is told for a step.
type ArmDrive struct {
	Powered bool
	Goal    float64 // rad or m
	Speed   float64 // rad/s or m/s, of Goal
	Torque  float64 // of the joint's effort limit, 0 to 1: what the drive may give
}

// Arm is the mechanics of a simulated robot without its controller: each joint's drive is
// told a goal from outside, step by step, as bus servos are, and may be without power. It
// weighs, falls, meets its end stops, itself and what is in the scene, and is blocked by
// what it meets, joint by joint. It grips nothing, and nothing in the scene moves.
//
// It has no limits but those of its mechanics: a goal is where a drive pushes to.
//
// Not safe for concurrent use. The same calls give the same numbers.
type Arm struct {
	tree  *tree
	pl    *plant
	mon   *monitor
	qs    []float64
	vs    []float64
	was   []float64 // positions, velocities and integrators before a step
	wasV  []float64
	wasI  []float64
	tick  int
	ahead float64 // s of what was asked for and not yet simulated
	stuck bool    // the numbers are no more: it stands still
	// told is what the drives were told last, and still for how many steps nothing has moved
	// since that changed.
	told  []ArmDrive
	still int
}

// An arm whose joints have all been slower than dozeSpeed, rad/s or m/s, or those without
// power than stictionSpeed, for dozeAfter steps is taken to stand until something changes:
// what lies on something costs most to step, and a gearbox that nothing drives sticks where
// the simulation, which knows no sliding contacts, creeps.
const (
	dozeSpeed     = 1e-4
	stictionSpeed = 5e-3
	dozeAfter     = 200
	// sameGoal is by how much a goal may differ, rad or m, and be the same one.
	sameGoal = 1e-6
)

// NewArm returns an arm at rest without power. It refuses what New refuses, and, with
// NOT_SUPPORTED, a robot on wheels.
func NewArm(o ArmOptions) (*Arm, error) {
	if o.Model != nil && o.Model.Base != nil {
		return nil, robot.Errf(robot.CodeNotSupported, o.Model.Name, "a robot on wheels isn't driven joint by joint")
	}
	r, err := New(Options{Model: o.Model, Scene: o.Scene, Clock: Fast, Start: o.Start, Disabled: true})
	if err != nil {
		return nil, err
	}
	n := r.tree.n
	a := &Arm{
		tree: r.tree, pl: r.pl, mon: r.mon, qs: make([]float64, n), vs: make([]float64, n),
		was: make([]float64, n), wasV: make([]float64, n), wasI: make([]float64, n),
		told: make([]ArmDrive, n),
	}
	a.pl.off = make([]bool, n)
	a.mon.falling = true // zones, which are no bodies, hold nothing up
	a.mon.refresh(a.pl.q, 0)
	return a, nil
}

// Joints returns the number of active joints.
func (a *Arm) Joints() int { return a.tree.n }

// Step passes dt seconds, in steps of Step, with the drives of drive, by active joint.
// What is left of dt below a step is kept for the next call.
func (a *Arm) Step(dt float64, drive []ArmDrive) {
	p := a.pl
	for i := range drive {
		d := &drive[i]
		if a.told[i].differs(d) {
			a.told[i], a.still = *d, 0
		}
		p.off[i] = !d.Powered || !(d.Torque > 0)
		if p.off[i] {
			p.integ[i], a.qs[i], a.vs[i] = 0, p.q[i], 0
			continue
		}
		a.qs[i], a.vs[i] = d.Goal, d.Speed
		p.effort[i] = p.params[i].effort * math.Min(1, d.Torque)
		p.integ[i] = clamp(p.integ[i], p.effort[i])
	}
	a.ahead += dt
	for ; a.ahead > Step/2 && !a.stuck; a.ahead -= Step {
		if a.still > dozeAfter {
			a.tick++
			continue
		}
		a.step()
		a.doze()
	}
}

// differs says that a drive is told something else.
func (d *ArmDrive) differs(e *ArmDrive) bool {
	if !d.Powered && !e.Powered {
		return false
	}
	return d.Powered != e.Powered || d.Torque != e.Torque || !(math.Abs(d.Goal-e.Goal) <= sameGoal) || !(math.Abs(d.Speed-e.Speed) <= dozeSpeed)
}

// doze counts the steps in which nothing moves, and lays the arm to rest after enough.
func (a *Arm) doze() {
	a.still++
	for i, dq := range a.pl.dq {
		limit := dozeSpeed
		if a.pl.off[i] {
			limit = stictionSpeed
		}
		if !(math.Abs(dq) <= limit*Step) {
			a.still = 0
			return
		}
	}
	if a.still > dozeAfter {
		clear(a.pl.v)
	}
}

// step is one step: if bodies meet in it, it is taken back and made again with the joints
// that press them together blocked, and if they meet all the same, the arm stands still.
func (a *Arm) step() {
	p := a.pl
	copy(a.was, p.q)
	copy(a.wasV, p.v)
	copy(a.wasI, p.integ)
	clear(p.block)
	if !a.forward() {
		return
	}
	if a.met() {
		a.press()
		a.back()
		if !a.forward() {
			return
		}
		if a.met() {
			a.rest()
		}
	}
	clear(p.block)
}

// forward makes a step of the plant. Numbers that are none end all motion.
func (a *Arm) forward() bool {
	a.tick++
	if !a.pl.step(a.qs, a.vs, true) {
		a.stuck = true
		copy(a.pl.q, a.was)
		clear(a.pl.v)
		clear(a.pl.tau)
		return false
	}
	return true
}

// back undoes the last step; the monitor has then moved both ways.
func (a *Arm) back() {
	p := a.pl
	for i := range p.q {
		p.dq[i] = a.was[i] - p.q[i]
	}
	a.mon.stepBack(p.dq, 0)
	copy(p.q, a.was)
	copy(p.v, a.wasV)
	copy(p.integ, a.wasI)
	a.mon.posed = false
}

func (a *Arm) met() bool {
	return a.mon.advance(a.pl.q, a.pl.dq, float64(a.tick)*Step) != nil
}

// press marks the joints whose part of the last step brings bodies nearer that have met in
// it, in the direction in which they do.
func (a *Arm) press() {
	p, m := a.pl, a.mon
	q := slices.Clone(a.was)
	for _, k := range m.met {
		g := &m.groups[k]
		m.pose(a.was)
		before := m.measure(g, math.Inf(1))
		for i, r := range g.reach {
			if r == 0 || p.dq[i] == 0 {
				continue
			}
			q[i] = a.was[i] + p.dq[i]
			m.pose(q)
			if m.measure(g, math.Inf(1)) < before {
				p.block[i] = math.Copysign(1, p.dq[i])
			}
			q[i] = a.was[i]
		}
	}
}

// rest leaves the arm at rest where the bodies meet.
func (a *Arm) rest() {
	p := a.pl
	s := a.mon.until(p.q, p.dq)
	a.mon.stepBack(p.dq, s)
	for i := range p.q {
		p.q[i] -= (1 - s) * p.dq[i]
		p.dq[i] *= s
	}
	clear(p.v)
	a.mon.posed = false
}

// Read overwrites positions (rad or m), velocities, and loads: what each drive gives of its
// effort limit, -1 to 1; 0 where the description gives no limit.
func (a *Arm) Read(q, v, load []float64) {
	for i := range a.pl.q {
		q[i], v[i], load[i] = a.pl.q[i], a.pl.v[i], 0
		if e := a.pl.params[i].effort; !math.IsInf(e, 0) && !a.pl.off[i] {
			load[i] = a.pl.tau[i] / e
		}
	}
}

// Hold blocks a joint where it is, or lets go of it.
func (a *Arm) Hold(joint int, held bool) { a.pl.lock[joint], a.still = held, 0 }

// Place moves a joint to a position, rad or m, within its end stops, and leaves it at rest.
// What it goes into on the way doesn't hold it up; it may be brought out again.
func (a *Arm) Place(joint int, q float64) {
	if math.IsNaN(q) {
		return
	}
	k := &a.pl.params[joint]
	a.pl.q[joint], a.pl.v[joint] = math.Max(k.lower, math.Min(k.upper, q)), 0
	a.mon.refresh(a.pl.q, float64(a.tick)*Step)
	a.still = 0
}
