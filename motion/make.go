package motion

import (
	"context"
	"fmt"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion/trajectory"
	"github.com/tau-robot/tau/robot"
)

// Every motion is made here: whatever a tool asks for becomes a course, and the
// course an action.

// ready reads the state and refuses what can't be planned from it and, for calls
// that will move, what can't move.
func (a *arm) ready(ctx context.Context, insist bool) (robot.State, error) {
	st, err := a.state(ctx)
	if err != nil {
		return st, err
	}
	if insist {
		if err := a.canMove(st); err != nil {
			return st, err
		}
	}
	if err := a.calibrated(st); err != nil {
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
}

// once is a course's timing that no scale changes.
func once(t robot.Trajectory) func(float64) (robot.Trajectory, error) {
	return func(float64) (robot.Trajectory, error) { return t, nil }
}

func scaleOf(scale *float64) float64 {
	if scale == nil {
		return defaultSpeedScale
	}
	return *scale
}

// move plans from one configuration to another.
func (p *Planner) move(ctx context.Context, a *arm, st robot.State, from, to []float64, scale *float64, c course) (*moveAction, error) {
	v, err := a.view(st, c.grip != nil)
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
	return p.finish(ctx, a, st, v, c, scaleOf(scale))
}

// along makes a course of curves in joint space.
func (p *Planner) along(ctx context.Context, a *arm, st robot.State, v *view, curves []trajectory.Curve, scale *float64, g goal, facts []gate.Fact) (*moveAction, error) {
	return p.finish(ctx, a, st, v, course{whole: true, goal: g, facts: facts, timed: func(scale float64) (robot.Trajectory, error) {
		return trajectory.ThroughCurves(a.info.Joints, a.Model.Limits, curves, scale)
	}}, scaleOf(scale))
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
	if err := m.Validate(a.info.Joints, a.Model.Limits); err != nil {
		return nil, fmt.Errorf("the planner's own trajectory: %w", err)
	}
	if c.whole && v.checker != nil {
		if _, err := v.checker.CheckTrajectory(t); err != nil {
			return nil, err
		}
	}
	r, err := a.Rehearser.Rehearse(ctx, st, m)
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
	if c.found != nil {
		c.facts = append(c.facts, c.found(&r)...)
	}
	x := &moveAction{arm: a, motion: m, rehearsal: r, held: st.Held, heldAt: st.HeldPose, facts: append(c.facts, a.sceneFacts(v.scene)...)}
	x.digest = x.digestIn(v.scene)
	return x, nil
}
