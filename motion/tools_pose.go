package motion

import (
	"context"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion/planning"
	"github.com/tau-robot/tau/robot"
)

type poseInput struct {
	Position    [3]float64  `json:"position"`
	Orientation *[4]float64 `json:"orientation"`
	ToolAxis    *[3]float64 `json:"tool_axis"`
	Frame       string      `json:"frame"`
	Tip         string      `json:"tip"`
	SpeedScale  *float64    `json:"speed_scale"`
}

func (p *Planner) preparePose(ctx context.Context, call gate.Call, a *arm, w want) (*moveAction, error) {
	return p.poseAction(ctx, call, a, w)
}

func (p *Planner) planPose(ctx context.Context, call gate.Call, a *arm) (any, error) {
	act, err := p.poseAction(ctx, call, a, a.wantOf(call, false))
	if err != nil {
		return nil, err
	}
	return p.handle(call, act), nil
}

func (p *Planner) poseAction(ctx context.Context, call gate.Call, a *arm, w want) (*moveAction, error) {
	in, err := args[poseInput](call)
	if err != nil {
		return nil, err
	}
	st, err := a.ready(ctx, w)
	if err != nil {
		return nil, err
	}
	from := a.startOf(st)
	target, err := a.target(in, from)
	if err != nil {
		return nil, err
	}
	v, err := a.view(w, st, false)
	if err != nil {
		return nil, err
	}
	if err := v.holds("position", &target); err != nil {
		return nil, err
	}
	if a.onBase(target.Tip) {
		return p.baseThrough(ctx, a, st, v, from, []planning.Target{target}, in.SpeedScale, nil)
	}
	sol, err := v.planner.IK(ctx, target, from, p.rng(from, in.Position[:]))
	if err != nil {
		return nil, err
	}
	return p.move(ctx, a, w, st, from, sol.Q, in.SpeedScale, course{goal: goal{target: &target}})
}

// unitTolerance is how far a given quaternion's or axis' norm may be from 1
// before it is refused rather than normalised.
const unitTolerance = 1e-3

// target turns the arguments into a target in the root frame.
func (a *arm) target(in poseInput, from []float64) (planning.Target, error) {
	t := planning.Target{Tip: a.Model.Tip, Position: mgl64.Vec3(in.Position)}
	if in.Orientation != nil && in.ToolAxis != nil {
		return t, robot.Errf(robot.CodeInvalidArgument, "tool_axis", "give orientation or tool_axis, not both")
	}
	if in.Tip != "" {
		if t.Tip = a.Model.LinkIndex(in.Tip); t.Tip < 0 {
			return t, robot.Errf(robot.CodeInvalidArgument, "tip", "%s has no link %q", a.Model.Name, in.Tip)
		}
	}
	frame := robot.IdentityPose()
	if in.Frame != "" {
		l := a.Model.LinkIndex(in.Frame)
		if l < 0 {
			return t, robot.Errf(robot.CodeInvalidArgument, "frame", "%s has no link %q", a.Model.Name, in.Frame)
		}
		d := a.tree.NewData()
		a.tree.FK(d, from)
		frame = a.linkPose(d, l)
	}
	t.Position = frame.Apply(t.Position)
	if err := planning.CheckPosition("position", t.Position); err != nil {
		return t, err
	}
	if o := in.Orientation; o != nil {
		q := mgl64.Quat{W: o[0], V: mgl64.Vec3{o[1], o[2], o[3]}}
		if n := q.Len(); math.Abs(n-1) > unitTolerance {
			return t, robot.LimitErr(robot.CodeInvalidArgument, "orientation", n, 1, "", "is not a unit quaternion")
		}
		q = frame.Q.Mul(q.Normalize())
		t.Orientation = &q
	}
	if v := in.ToolAxis; v != nil {
		axis := mgl64.Vec3(*v)
		if n := axis.Len(); math.Abs(n-1) > unitTolerance {
			return t, robot.LimitErr(robot.CodeInvalidArgument, "tool_axis", n, 1, "", "is not a unit vector")
		}
		axis = frame.Q.Rotate(axis.Normalize())
		t.ToolAxis = &axis
	}
	return t, nil
}
