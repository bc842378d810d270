package motion

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion/planning"
	"github.com/tau-robot/tau/robot"
)

type jointsInput struct {
	Positions  map[string]float64 `json:"positions"`
	SpeedScale *float64           `json:"speed_scale"`
}

func (p *Planner) prepareJoints(ctx context.Context, call gate.Call, a *arm, w want) (*moveAction, error) {
	return p.jointsAction(ctx, call, a, w)
}

func (p *Planner) prepareHome(ctx context.Context, call gate.Call, a *arm, w want) (*moveAction, error) {
	in, err := args[jointsInput](call)
	if err != nil {
		return nil, err
	}
	return p.toHome(ctx, a, in.SpeedScale, w)
}

func (p *Planner) planJoints(ctx context.Context, call gate.Call, a *arm) (any, error) {
	act, err := p.jointsAction(ctx, call, a, a.wantOf(call, false))
	if err != nil {
		return nil, err
	}
	return p.handle(call, act), nil
}

func (p *Planner) jointsAction(ctx context.Context, call gate.Call, a *arm, w want) (*moveAction, error) {
	in, err := args[jointsInput](call)
	if err != nil {
		return nil, err
	}
	return p.toJoints(ctx, a, in.Positions, in.SpeedScale, w)
}

func (p *Planner) toJoints(ctx context.Context, a *arm, positions map[string]float64, scale *float64, w want) (*moveAction, error) {
	st, err := a.ready(ctx, w)
	if err != nil {
		return nil, err
	}
	from := a.startOf(st)
	to, err := a.goal(from, positions)
	if err != nil {
		return nil, err
	}
	arc, wheels, err := a.wheelArc(from, to, positions)
	if err != nil {
		return nil, err
	}
	if wheels {
		v, err := a.view(w, st, false)
		if err != nil {
			return nil, err
		}
		return p.arcs(ctx, a, st, v, from, []planning.Arc{arc}, scale, a.wheelGoal(to), nil)
	}
	return p.move(ctx, a, w, st, from, to, scale, course{})
}

func (p *Planner) toHome(ctx context.Context, a *arm, scale *float64, w want) (*moveAction, error) {
	st, err := a.ready(ctx, w)
	if err != nil {
		return nil, err
	}
	if a.Model.Base != nil {
		v, err := a.view(w, st, false)
		if err != nil {
			return nil, err
		}
		return p.baseHome(ctx, a, st, v, a.startOf(st), scale)
	}
	return p.move(ctx, a, w, st, a.startOf(st), a.Model.Home, scale, course{})
}

type jogInput struct {
	Joint      string   `json:"joint"`
	Delta      float64  `json:"delta"`
	SpeedScale *float64 `json:"speed_scale"`
}

func (p *Planner) prepareJog(ctx context.Context, call gate.Call, a *arm, w want) (*moveAction, error) {
	in, err := args[jogInput](call)
	if err != nil {
		return nil, err
	}
	return p.jog(ctx, a, in.Joint, in.Delta, in.SpeedScale, w)
}

// jog moves one joint straight: where something is in the way it is refused with
// how far it could go, since no other joint may move.
func (p *Planner) jog(ctx context.Context, a *arm, joint string, delta float64, scale *float64, w want) (*moveAction, error) {
	i := a.Model.ActiveIndex(joint)
	if i < 0 || a.Model.Base.Carries(i) {
		return nil, a.notMovable("joint", joint)
	}
	st, err := a.ready(ctx, w)
	if err != nil {
		return nil, err
	}
	from := a.startOf(st)
	to := append([]float64(nil), from...)
	to[i] += delta
	v, err := a.view(w, st, false)
	if err != nil {
		return nil, err
	}
	if a.isWheel(i) {
		arc := planning.Arc{Left: to[a.Model.Base.Left] - from[a.Model.Base.Left], Right: to[a.Model.Base.Right] - from[a.Model.Base.Right]}
		return p.arcs(ctx, a, st, v, from, []planning.Arc{arc}, scale, a.wheelGoal(to), nil)
	}
	if a.isInside(from) {
		if l := a.Model.Limits[i]; l.Bounded && !(to[i] >= l.Lower && to[i] <= l.Upper) {
			return nil, a.jogBeyond(v, from, i, delta)
		}
		if _, err := v.lines.CheckSegment(from, to); err != nil {
			return nil, v.nearestJog(err, from, i, delta, a.unit(i))
		}
	}
	path := [][]float64{from, to}
	if math.Abs(delta) < halfTurn || a.Model.Limits[i].Bounded {
		// Beyond half a turn a path to a configuration would take the shorter way.
		if path, err = v.planner.JointPath(ctx, from, to, p.rng(from, to)); err != nil {
			return nil, err
		}
	}
	return p.through(ctx, a, st, v, path, scale, course{whole: true, goal: goal{joints: to}})
}

// jogBeyond refuses a jog beyond a limit of joint i, with the largest one that way
// that is admissible, if there is one. from is inside the limits.
func (a *arm) jogBeyond(v *view, from []float64, i int, delta float64) error {
	n, u, l := a.info.Joints[i], a.unit(i), a.Model.Limits[i]
	bound, side := l.Upper, "above its upper"
	if delta < 0 {
		bound, side = l.Lower, "below its lower"
	}
	most := bound - from[i]
	// Rounding mustn't take the sum beyond the limit, after this offer least of all.
	for most != 0 && (from[i]+most < l.Lower || from[i]+most > l.Upper) {
		most = math.Nextafter(most, 0)
	}
	e := robot.LimitErr(robot.CodeJointLimit, "delta", delta, most, u,
		fmt.Sprintf("would take joint %s to %.4f %s, %s limit of %.4f %s", n, from[i]+delta, u, side, bound, u))
	if math.Abs(most) <= movedRad {
		return e // it stands there
	}
	to := append([]float64(nil), from...)
	to[i] += most
	e.Nearest = []robot.Quantity{{Name: "delta", Value: most, Unit: u}}
	if _, err := v.lines.CheckSegment(from, to); err != nil {
		contact := v.nearestJog(err, from, i, most, u)
		var c *robot.Error
		if !errors.As(contact, &c) || !isContact(contact) {
			return contact
		}
		e.Text += "; on the way there " + c.Text
		e.Nearest = c.Nearest
	}
	return e
}

// halfTurn is below half a turn, rad, by more than rounding.
const halfTurn = math.Pi - 1e-6

// jogSteps is how often the free part of a jog is halved: to a part of 4096.
const jogSteps = 12

// nearestJog adds to the contact that a jog met how far it could go.
func (v *view) nearestJog(contact error, from []float64, i int, delta float64, unit string) error {
	var e *robot.Error
	if !errors.As(contact, &e) || !isContact(contact) {
		return contact
	}
	lo, hi := 0.0, 1.0
	to := append([]float64(nil), from...)
	for range jogSteps {
		mid := (lo + hi) / 2
		to[i] = from[i] + mid*delta
		switch _, err := v.lines.CheckSegment(from, to); {
		case err == nil:
			lo = mid
		case !isContact(err):
			return err
		default:
			hi = mid
		}
	}
	if lo == 0 {
		return contact
	}
	out := *e
	out.Nearest = []robot.Quantity{{Name: "delta", Value: lo * delta, Unit: unit}}
	return &out
}
