package motion

import (
	"context"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

type gripperInput struct {
	Position   float64  `json:"position"`
	MaxEffort  *float64 `json:"max_effort"`
	SpeedScale *float64 `json:"speed_scale"`
}

func (p *Planner) prepareGripper(ctx context.Context, call gate.Call, a *arm, w want) (*moveAction, error) {
	in, err := args[gripperInput](call)
	if err != nil {
		return nil, err
	}
	return p.grip(ctx, a, in.Position, in.MaxEffort, in.SpeedScale, w)
}

// grip moves the gripper joint; the arm holds its setpoints.
func (p *Planner) grip(ctx context.Context, a *arm, position float64, maxEffort, scale *float64, w want) (*moveAction, error) {
	g := a.Model.Gripper
	if g == nil {
		return nil, robot.Errf(robot.CodeNotSupported, "gripper",
			"%s has no gripper; an end_effector in its SRDF, whose group has exactly one driven joint with limits, makes that joint one", a.Model.Name)
	}
	effort := g.MaxEffort
	if maxEffort != nil && a.isOpenLoop(g.Joint) {
		return nil, robot.Errf(robot.CodeNotSupported, "max_effort", "nothing measures %s, so its effort can't be bounded; leave it out", a.info.Joints[g.Joint])
	}
	if maxEffort != nil {
		if g.MaxEffort > 0 && *maxEffort > g.MaxEffort {
			return nil, robot.LimitErr(robot.CodeTorqueLimit, "max_effort", *maxEffort, g.MaxEffort, "", "is more than the gripper may")
		}
		effort = *maxEffort
	}
	if !(effort > 0) && !a.isOpenLoop(g.Joint) {
		return nil, robot.Errf(robot.CodeInvalidArgument, "max_effort", "the description gives the gripper no effort limit; name one")
	}
	st, err := a.ready(ctx, w)
	if err != nil {
		return nil, err
	}
	from := a.startOf(st)
	to := append([]float64(nil), from...)
	to[g.Joint] = g.Closed + position*(g.Open-g.Closed)
	if a.isOpenLoop(g.Joint) {
		// What closes on something without noticing it isn't a grip.
		return p.move(ctx, a, w, st, from, to, scale, course{facts: []gate.Fact{{
			Label: "Grip", Text: "nothing measures " + a.info.Joints[g.Joint] + ": it goes to its end whatever is between, with all that its motor can",
		}}})
	}
	return p.move(ctx, a, w, st, from, to, scale, course{grip: &robot.Grip{MaxEffort: effort}})
}
