package motion

import (
	"context"
	"encoding/hex"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/robot"
)

func (p *Planner) describe(_ context.Context, _ gate.Call, a *arm) (any, error) {
	m := a.Model
	out := describeResult{
		Robot: m.Name, Mode: a.info.Mode, Backend: a.info.Backend, Port: a.info.Port,
		Root: m.Links[m.Root].Name, Tip: m.Links[m.Tip].Name, DoF: m.DoF(),
		Scene: []string{}, Zones: []string{}, Assumed: append([]string{}, m.Assumed...),
	}
	for i := range m.Links {
		out.Links = append(out.Links, m.Links[i].Name)
	}
	inArm := map[int]bool{}
	for _, i := range m.Arm {
		inArm[i] = true
	}
	for i := range m.Joints {
		j := &m.Joints[i]
		r := jointResult{Name: j.Name, Type: j.Type.String(), Unit: j.Type.Unit(), Parent: m.Links[j.Parent].Name, Child: m.Links[j.Child].Name}
		if j.Mimic != nil {
			r.Mimics = m.Joints[j.Mimic.Joint].Name
		}
		if k := j.Active; k >= 0 {
			r.Limits, r.InArm = &m.Limits[k], inArm[k]
			r.Gripper = m.Gripper != nil && m.Gripper.Joint == k
			if k < len(m.Home) {
				r.Home = &m.Home[k]
			}
		}
		out.Joints = append(out.Joints, r)
	}
	scene := a.sceneNow()
	for i := range scene.Bodies {
		out.Scene = append(out.Scene, scene.Bodies[i].Name)
	}
	for i := range scene.Zones {
		out.Zones = append(out.Zones, scene.Zones[i].Name)
	}
	return out, nil
}

func (p *Planner) readState(ctx context.Context, _ gate.Call, a *arm) (any, error) {
	st, err := a.state(ctx)
	if err != nil {
		return nil, err
	}
	out := stateResult{
		Positions: byName(a.info.Joints, st.Positions), Velocities: byName(a.info.Joints, st.Velocities),
		Efforts: byName(a.info.Joints, st.Efforts), MeasuredAt: st.MeasuredAt, AgeS: p.now().Sub(st.MeasuredAt).Seconds(),
		Moving: st.Moving, Mode: a.info.Mode, Backend: a.info.Backend, Enabled: st.Enabled, EStopped: st.EStopped,
		Held: st.Held, Faults: append([]robot.Fault{}, st.Faults...),
	}
	if len(st.Positions) == a.Model.DoF() {
		tip := a.tipPose(st.Positions)
		out.Tip = &tip
	} else if len(st.Setpoints) == a.Model.DoF() {
		out.Setpoints = map[string]setpointResult{}
		for i, n := range a.info.Joints {
			out.Setpoints[n] = setpointResult{Value: st.Setpoints[i]}
		}
	}
	return out, nil
}

// tipPose is the tip in the root frame at q.
func (a *arm) tipPose(q []float64) poseResult {
	d := a.tree.NewData()
	a.tree.FK(d, q)
	return poseOf(a.linkPose(d, a.Model.Tip))
}

func (a *arm) linkPose(d *kinematics.Data, link int) robot.Pose {
	return kinematics.PoseOf(&d.Frames[link])
}

func (p *Planner) listActuators(_ context.Context, _ gate.Call, a *arm) (any, error) {
	return actuatorsResult{Actuators: append([]robot.Actuator{}, a.info.Actuators...)}, nil
}

func (p *Planner) planJoints(ctx context.Context, call gate.Call, a *arm) (any, error) {
	act, err := p.jointsAction(ctx, call, a, false)
	if err != nil {
		return nil, err
	}
	return p.handle(call, act), nil
}

func (p *Planner) planPose(ctx context.Context, call gate.Call, a *arm) (any, error) {
	act, err := p.poseAction(ctx, call, a, false)
	if err != nil {
		return nil, err
	}
	return p.handle(call, act), nil
}

// handle keeps a planned action and tells the caller its handle.
func (p *Planner) handle(call gate.Call, act *moveAction) planResult {
	pl := p.keep(call, act)
	return planResult{
		PlanID: pl.id, Digest: hex.EncodeToString(act.digest[:]), ExpiresAt: pl.expires,
		DurationS: act.rehearsal.Duration, Rehearsal: &act.rehearsal,
	}
}

type rehearseInput struct {
	PlanID     *string            `json:"plan_id"`
	Positions  map[string]float64 `json:"positions"`
	Gripper    *float64           `json:"gripper"`
	Home       *bool              `json:"home"`
	SpeedScale *float64           `json:"speed_scale"`
}

func (p *Planner) rehearse(ctx context.Context, call gate.Call, a *arm) (any, error) {
	in, err := args[rehearseInput](call)
	if err != nil {
		return nil, err
	}
	given := 0
	for _, g := range []bool{in.PlanID != nil, in.Positions != nil, in.Gripper != nil, in.Home != nil} {
		if g {
			given++
		}
	}
	if given != 1 {
		return nil, robot.Errf(robot.CodeInvalidArgument, "rehearse", "give exactly one of plan_id, positions, gripper and home; got %d", given)
	}
	var act *moveAction
	switch {
	case in.PlanID != nil:
		act, err = p.again(ctx, call, a, *in.PlanID)
	case in.Positions != nil:
		act, err = p.toJoints(ctx, a, in.Positions, in.SpeedScale, false)
	case in.Gripper != nil:
		act, err = p.grip(ctx, a, *in.Gripper, nil, in.SpeedScale, false)
	case !*in.Home:
		err = robot.Errf(robot.CodeInvalidArgument, "home", "must be true if it is given")
	default:
		act, err = p.toHome(ctx, a, in.SpeedScale, false)
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
	st, err := a.state(ctx)
	if err != nil {
		return nil, err
	}
	if err := act.atStart(st); err != nil {
		return nil, err
	}
	fresh := *act
	if fresh.rehearsal, err = a.Rehearser.Rehearse(ctx, st, act.motion); err != nil {
		return nil, err
	}
	return &fresh, nil
}
