package motion

import (
	"context"
	"fmt"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion/collision"
	"github.com/tau-robot/tau/motion/trajectory"
	"github.com/tau-robot/tau/robot"
)

// Every motion is made here: whatever a tool asks for becomes a course, and the
// course an action.

// ready reads the state and refuses what can't be planned from it and, for calls
// that will move, what can't move.
func (a *arm) ready(ctx context.Context, w want) (robot.State, error) {
	st, err := a.stateFor(ctx, w)
	if err != nil {
		return st, err
	}
	if w.moves {
		if err := a.canMove(st); err != nil {
			return st, err
		}
	}
	if err := a.calibrated(st); err != nil {
		return st, err
	}
	if err := a.placed(st); err != nil {
		return st, err
	}
	if st.Held != "" && st.HeldPose == nil {
		return st, robot.Errf(robot.CodeStaleState, st.Held, "it isn't known where in the gripper it is, so nothing can be planned that carries it along")
	}
	return st, nil
}

// course is a motion that was planned and hasn't been timed and checked as a whole.
type course struct {
	timed func(scale float64) (robot.Trajectory, error)
	grip  *robot.Grip
	seek  *robot.Seek
	goal  goal
	whole bool        // it isn't made of straight lines that were checked one by one
	facts []gate.Fact // what its card says beside what every motion's says
	// found, if set, says more of it once it has been rehearsed.
	found func(*robot.Rehearsal) []gate.Fact
	needs float64 // the speed scale that it needs to be allowed; 0: the one that it is timed with
	// way, of a search, is the part of its way that is known, nil where none is.
	way [2][]float64
}

// once is a course's timing that no scale changes.
func once(t robot.Trajectory) func(float64) (robot.Trajectory, error) {
	return func(float64) (robot.Trajectory, error) { return t, nil }
}

// move plans from one configuration to another.
func (p *Planner) move(ctx context.Context, a *arm, w want, st robot.State, from, to []float64, scale *float64, c course) (*moveAction, error) {
	v, err := a.view(w, st, c.grip != nil)
	if err != nil {
		return nil, err
	}
	path, err := v.planner.JointPath(ctx, from, to, p.rng(from, to))
	if err != nil {
		return nil, err
	}
	c.goal.joints, c.goal.turns = to, true
	return p.through(ctx, a, st, v, path, scale, c)
}

// through makes a course of straight lines in joint space.
func (p *Planner) through(ctx context.Context, a *arm, st robot.State, v *view, path [][]float64, scale *float64, c course) (*moveAction, error) {
	c.timed = func(scale float64) (robot.Trajectory, error) {
		return trajectory.ThroughWaypoints(a.info.Joints, a.Model.Limits, path, scale)
	}
	s, err := a.scale(v.want, scale)
	if err != nil {
		return nil, err
	}
	return p.finish(ctx, a, st, v, c, s)
}

// along makes a course of curves in joint space.
func (p *Planner) along(ctx context.Context, a *arm, st robot.State, v *view, curves []trajectory.Curve, scale *float64, g goal, facts []gate.Fact) (*moveAction, error) {
	s, err := a.scale(v.want, scale)
	if err != nil {
		return nil, err
	}
	return p.finish(ctx, a, st, v, course{whole: true, goal: g, facts: facts, timed: func(scale float64) (robot.Trajectory, error) {
		return trajectory.ThroughCurves(a.info.Joints, a.Model.Limits, curves, scale)
	}}, s)
}

// tooLong refuses a motion that nobody would watch to its end, with a scale at which
// somebody might, if there is one.
func (c *course) tooLong(d, scale float64) error {
	if c.seek != nil {
		return robot.LimitErr(robot.CodeInvalidArgument, "duration", d, maxDuration, "s", "the search would take too long")
	}
	e := robot.LimitErr(robot.CodeInvalidArgument, "speed_scale", d, maxDuration, "s", "the motion takes too long; ask for it faster, or in parts")
	// Ramps don't get shorter in proportion, so that the first try may be too little.
	const tries, more = 10, 1.05
	s := scale * d / maxDuration
	for k := 0; k < tries && s <= 1; k, s = k+1, s*more {
		if t, err := c.timed(s); err == nil && t.Duration() <= maxDuration {
			e.Nearest = []robot.Quantity{{Name: "speed_scale", Value: s}}
			break
		}
	}
	return e
}

// finish times a course, checks it as a whole, has it rehearsed from the measured
// state, and returns the finished action.
func (p *Planner) finish(ctx context.Context, a *arm, st robot.State, v *view, c course, scale float64) (*moveAction, error) {
	t, err := c.timed(scale)
	if err != nil {
		return nil, err
	}
	if d := t.Duration(); !(d <= maxDuration) {
		return nil, c.tooLong(d, scale)
	}
	if err := a.reached(t.End(), c.goal); err != nil {
		return nil, err
	}
	m := robot.Motion{
		Epoch: st.StopEpoch, Trajectory: t,
		StartTolerance: a.startTolerance(), MaxDeviation: a.maxDeviation(), Grip: c.grip, Seek: c.seek,
	}
	if c.whole && v.checker != nil {
		if _, err := v.checker.CheckTrajectory(t); err != nil {
			return nil, err
		}
	}
	if v.box != nil && c.seek == nil {
		if _, err := v.box.follow(t.Segments, "s"); err != nil {
			return nil, err
		}
	}
	m.Zones, err = v.enters(func(closed *collision.Checker) error { return c.check(closed, t) })
	if err != nil {
		return nil, err
	}
	if err := m.Validate(a.info.Joints, a.Model.Limits); err != nil {
		return nil, fmt.Errorf("the planner's own trajectory: %w", err)
	}
	r, err := a.rehearsed(ctx, v.want, st, m)
	if err != nil {
		return nil, err
	}
	if err := watchable(r, a.Model.DoF()); err != nil {
		return nil, err
	}
	if err := a.rested(r, m); err != nil {
		return nil, err
	}
	if c.seek == nil { // where a search begins isn't known
		c.facts = append(a.starts(v, st, t.Start(), t.End()), c.facts...)
	}
	c.facts = append(a.openLoopFact(), append(a.entered(v.want, m.Zones), c.facts...)...)
	if c.found != nil {
		c.facts = append(c.facts, c.found(&r)...)
	}
	x := &moveAction{
		arm: a, session: v.session, principal: v.principal, motion: m, rehearsal: r, held: st.Held, heldAt: st.HeldPose,
		scale: scale, power: v.power, facts: append(c.facts, a.sceneFacts(v.scene)...),
	}
	if c.needs > 0 {
		x.scale = c.needs
	}
	if v.after != nil {
		x.loose = v.after.loose
	}
	x.digest = x.digestIn(v.scene)
	return x, nil
}

// check has a checker follow the motion: of a search, the part of its way that is known.
func (c *course) check(by *collision.Checker, t robot.Trajectory) error {
	var err error
	switch {
	case c.seek == nil:
		_, err = by.CheckTrajectory(t)
	case c.way[0] != nil:
		_, err = by.CheckSegment(c.way[0], c.way[1])
	}
	return err
}

// rehearsed runs a motion in the rehearser from a state, in the scene that whoever wants
// it is about.
func (a *arm) rehearsed(ctx context.Context, w want, st robot.State, m robot.Motion) (robot.Rehearsal, error) {
	st = a.assumedPlace(st)
	if w.after == nil || len(w.after.loose) == 0 {
		return a.Rehearser.Rehearse(ctx, st, m)
	}
	in, ok := a.Rehearser.(SceneRehearser)
	if !ok {
		return robot.Rehearsal{}, robot.Errf(robot.CodeNotSupported, a.name, "nothing can rehearse a motion among bodies that the motions before it have moved")
	}
	return in.RehearseIn(ctx, w.after.scene, st, m)
}
