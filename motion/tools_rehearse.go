package motion

import (
	"context"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

type rehearseInput struct {
	PlanID     *string            `json:"plan_id"`
	Positions  map[string]float64 `json:"positions"`
	Gripper    *float64           `json:"gripper"`
	Home       *bool              `json:"home"`
	Jog        *jogInput          `json:"jog"`
	Drive      *driveInput        `json:"drive"`
	Reference  *referenceInput    `json:"reference"`
	SpeedScale *float64           `json:"speed_scale"`
}

func (p *Planner) rehearse(ctx context.Context, call gate.Call, a *arm) (any, error) {
	in, err := args[rehearseInput](call)
	if err != nil {
		return nil, err
	}
	given := 0
	for _, g := range []bool{in.PlanID != nil, in.Positions != nil, in.Gripper != nil, in.Home != nil, in.Jog != nil, in.Drive != nil, in.Reference != nil} {
		if g {
			given++
		}
	}
	if given != 1 {
		return nil, robot.Errf(robot.CodeInvalidArgument, "rehearse", "give exactly one of plan_id, positions, gripper, home, jog, drive and reference; got %d", given)
	}
	w := a.wantOf(call, false)
	var act *moveAction
	switch {
	case in.PlanID != nil:
		act, err = p.again(ctx, call, a, *in.PlanID)
	case in.Positions != nil:
		act, err = p.toJoints(ctx, a, in.Positions, in.SpeedScale, w)
	case in.Gripper != nil:
		act, err = p.grip(ctx, a, *in.Gripper, nil, in.SpeedScale, w)
	case in.Jog != nil:
		act, err = p.jog(ctx, a, in.Jog.Joint, in.Jog.Delta, in.SpeedScale, w)
	case in.Drive != nil:
		in.Drive.SpeedScale = in.SpeedScale
		act, err = p.drive(ctx, a, *in.Drive, w)
	case in.Reference != nil:
		act, err = p.reference(ctx, a, *in.Reference, w)
	case !*in.Home:
		err = robot.Errf(robot.CodeInvalidArgument, "home", "must be true if it is given")
	default:
		act, err = p.toHome(ctx, a, in.SpeedScale, w)
	}
	if err != nil {
		return nil, err
	}
	return rehearseResult{DurationS: act.rehearsal.Duration, Rehearsal: &act.rehearsal}, nil
}

// again rehearses a held plan from the measured state; the plan isn't used up.
func (p *Planner) again(ctx context.Context, call gate.Call, a *arm, id string) (*moveAction, error) {
	act, err := p.lookup(call, id, false)
	if err != nil {
		return nil, err
	}
	if err := act.allowed(); err != nil {
		return nil, err
	}
	st, err := a.ready(ctx, a.wantOf(call, false))
	if err != nil {
		return nil, err
	}
	if err := act.atStart(st); err != nil {
		return nil, err
	}
	fresh := *act
	if fresh.rehearsal, err = a.rehearsed(ctx, want{}, st, act.motion); err != nil {
		return nil, err
	}
	if err := watchable(fresh.rehearsal, a.Model.DoF()); err != nil {
		return nil, err
	}
	if err := a.rested(fresh.rehearsal, act.motion); err != nil {
		return nil, err
	}
	return &fresh, nil
}
