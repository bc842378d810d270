package motion

import (
	"context"
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion/planning"
	"github.com/tau-robot/tau/motion/trajectory"
	"github.com/tau-robot/tau/robot"
)

type jointsInput struct {
	Positions  map[string]float64 `json:"positions"`
	SpeedScale *float64           `json:"speed_scale"`
}

type poseInput struct {
	Position    [3]float64  `json:"position"`
	Orientation *[4]float64 `json:"orientation"`
	ToolAxis    *[3]float64 `json:"tool_axis"`
	Frame       string      `json:"frame"`
	Tip         string      `json:"tip"`
	SpeedScale  *float64    `json:"speed_scale"`
}

type gripperInput struct {
	Position   float64  `json:"position"`
	MaxEffort  *float64 `json:"max_effort"`
	SpeedScale *float64 `json:"speed_scale"`
}

func (p *Planner) prepareJoints(ctx context.Context, call gate.Call, a *arm) (*moveAction, error) {
	return p.jointsAction(ctx, call, a, true)
}

func (p *Planner) preparePose(ctx context.Context, call gate.Call, a *arm) (*moveAction, error) {
	return p.poseAction(ctx, call, a, true)
}

func (p *Planner) prepareHome(ctx context.Context, call gate.Call, a *arm) (*moveAction, error) {
	in, err := args[jointsInput](call)
	if err != nil {
		return nil, err
	}
	return p.toHome(ctx, a, in.SpeedScale, true)
}

func (p *Planner) prepareGripper(ctx context.Context, call gate.Call, a *arm) (*moveAction, error) {
	in, err := args[gripperInput](call)
	if err != nil {
		return nil, err
	}
	return p.grip(ctx, a, in.Position, in.MaxEffort, in.SpeedScale, true)
}

// preparePlan takes a plan's handle; from now on it is used, whatever is decided.
func (p *Planner) preparePlan(ctx context.Context, call gate.Call, a *arm) (*moveAction, error) {
	in, err := args[struct {
		PlanID string `json:"plan_id"`
	}](call)
	if err != nil {
		return nil, err
	}
	act, err := p.lookup(call, in.PlanID, true)
	if err != nil {
		return nil, err
	}
	if act.arm != a {
		return nil, robot.Errf(robot.CodePlanExpired, "plan_id", "plan %q was made for another robot; plan again", in.PlanID)
	}
	if err := act.Check(ctx); err != nil {
		return nil, err
	}
	return act, nil
}

func (p *Planner) jointsAction(ctx context.Context, call gate.Call, a *arm, ready bool) (*moveAction, error) {
	in, err := args[jointsInput](call)
	if err != nil {
		return nil, err
	}
	return p.toJoints(ctx, a, in.Positions, in.SpeedScale, ready)
}

func (p *Planner) toJoints(ctx context.Context, a *arm, positions map[string]float64, scale *float64, ready bool) (*moveAction, error) {
	st, err := a.ready(ctx, ready)
	if err != nil {
		return nil, err
	}
	from := a.startOf(st)
	to, err := a.goal(from, positions)
	if err != nil {
		return nil, err
	}
	return p.move(ctx, a, st, from, to, scale, nil)
}

func (p *Planner) toHome(ctx context.Context, a *arm, scale *float64, ready bool) (*moveAction, error) {
	st, err := a.ready(ctx, ready)
	if err != nil {
		return nil, err
	}
	return p.move(ctx, a, st, a.startOf(st), a.Model.Home, scale, nil)
}

func (p *Planner) poseAction(ctx context.Context, call gate.Call, a *arm, ready bool) (*moveAction, error) {
	in, err := args[poseInput](call)
	if err != nil {
		return nil, err
	}
	st, err := a.ready(ctx, ready)
	if err != nil {
		return nil, err
	}
	from := a.startOf(st)
	target, err := a.target(in, from)
	if err != nil {
		return nil, err
	}
	pl, err := a.pathsNow()
	if err != nil {
		return nil, err
	}
	sol, err := pl.free.IK(ctx, target, from, p.rng(from, in.Position[:]))
	if err != nil {
		return nil, err
	}
	return p.move(ctx, a, st, from, sol.Q, in.SpeedScale, nil)
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

// grip moves the gripper joint; the arm holds its setpoints.
func (p *Planner) grip(ctx context.Context, a *arm, position float64, maxEffort, scale *float64, ready bool) (*moveAction, error) {
	g := a.Model.Gripper
	if g == nil {
		return nil, robot.Errf(robot.CodeNotSupported, "gripper", "%s has no gripper", a.Model.Name)
	}
	effort := g.MaxEffort
	if maxEffort != nil {
		if g.MaxEffort > 0 && *maxEffort > g.MaxEffort {
			return nil, robot.LimitErr(robot.CodeTorqueLimit, "max_effort", *maxEffort, g.MaxEffort, "", "is more than the gripper may")
		}
		effort = *maxEffort
	}
	if !(effort > 0) {
		return nil, robot.Errf(robot.CodeInvalidArgument, "max_effort", "the description gives the gripper no effort limit; name one")
	}
	st, err := a.ready(ctx, ready)
	if err != nil {
		return nil, err
	}
	from := a.startOf(st)
	to := append([]float64(nil), from...)
	to[g.Joint] = g.Closed + position*(g.Open-g.Closed)
	return p.move(ctx, a, st, from, to, scale, &robot.Grip{MaxEffort: effort})
}

// ready reads the state and, for calls that will move, refuses what can't.
func (a *arm) ready(ctx context.Context, insist bool) (robot.State, error) {
	st, err := a.state(ctx)
	if err != nil {
		return st, err
	}
	if insist {
		err = a.canMove(st)
	}
	return st, err
}

// move plans from one configuration to another, checks the plan, has it rehearsed
// from the measured state, and returns the finished action.
func (p *Planner) move(ctx context.Context, a *arm, st robot.State, from, to []float64, scale *float64, grip *robot.Grip) (*moveAction, error) {
	s := defaultSpeedScale
	if scale != nil {
		s = *scale
	}
	pl, err := a.pathsNow()
	if err != nil {
		return nil, err
	}
	path, err := pl.path(ctx, from, to, grip != nil, st.Held, p.rng(from, to))
	if err != nil {
		return nil, err
	}
	traj, err := trajectory.ThroughWaypoints(a.info.Joints, a.Model.Limits, path, s)
	if err != nil {
		return nil, err
	}
	if d := traj.Duration(); !(d <= maxDuration) {
		return nil, robot.LimitErr(robot.CodeInvalidArgument, "speed_scale", d, maxDuration, "s",
			fmt.Sprintf("at %.3g of the limits the motion takes too long; ask for it faster, or in parts", s))
	}
	if err := traj.Validate(a.Model.Limits); err != nil {
		return nil, fmt.Errorf("the planner's own trajectory: %w", err)
	}
	m := robot.Motion{
		Epoch: st.StopEpoch, Trajectory: traj,
		StartTolerance: a.startTolerance(), MaxDeviation: a.maxDeviation(), Grip: grip,
	}
	r, err := a.Rehearser.Rehearse(ctx, st, m)
	if err != nil {
		return nil, err
	}
	if err := watchable(r, a.Model.DoF()); err != nil {
		return nil, err
	}
	x := &moveAction{arm: a, motion: m, rehearsal: r, held: st.Held}
	x.digest = digestOf(a, m, r, st.Held)
	return x, nil
}
