package motion

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion/planning"
	"github.com/tau-robot/tau/robot"
)

type pathInput struct {
	Waypoints []struct {
		Position    [3]float64  `json:"position"`
		Orientation *[4]float64 `json:"orientation"`
	} `json:"waypoints"`
	Frame      string   `json:"frame"`
	Tip        string   `json:"tip"`
	SpeedScale *float64 `json:"speed_scale"`
}

func (p *Planner) preparePath(ctx context.Context, call gate.Call, a *arm, w want) (*moveAction, error) {
	return p.pathAction(ctx, call, a, w)
}

func (p *Planner) planPath(ctx context.Context, call gate.Call, a *arm) (any, error) {
	act, err := p.pathAction(ctx, call, a, a.wantOf(call, false))
	if err != nil {
		return nil, err
	}
	return p.handle(call, act), nil
}

// pathAction plans straight lines of the tip through the waypoints. A tip that only
// a base moves goes from one to the next as move_pose takes it there.
func (p *Planner) pathAction(ctx context.Context, call gate.Call, a *arm, w want) (*moveAction, error) {
	in, err := args[pathInput](call)
	if err != nil {
		return nil, err
	}
	st, err := a.ready(ctx, w)
	if err != nil {
		return nil, err
	}
	from := a.startOf(st)
	targets := make([]planning.Target, len(in.Waypoints))
	for k, w := range in.Waypoints {
		if targets[k], err = a.target(poseInput{Position: w.Position, Orientation: w.Orientation, Frame: in.Frame, Tip: in.Tip}, from); err != nil {
			return nil, inWaypoint(k, err)
		}
	}
	v, err := a.view(w, st, false)
	if err != nil {
		return nil, err
	}
	for k := range targets {
		if err := v.holds("position", &targets[k]); err != nil {
			return nil, inWaypoint(k, err)
		}
	}
	facts := []gate.Fact{{Label: "Path", Text: a.pathText(from, targets)}}
	if a.onBase(targets[0].Tip) {
		return p.baseThrough(ctx, a, st, v, from, targets, in.SpeedScale, facts)
	}
	curves, err := v.planner.Lines(ctx, from, targets, p.rng(from, flat(targets)))
	if err != nil {
		return nil, err
	}
	return p.along(ctx, a, st, v, curves, in.SpeedScale, goal{target: &targets[len(targets)-1]}, facts)
}

// pathText says how long a path is.
func (a *arm) pathText(from []float64, targets []planning.Target) string {
	d := a.tree.NewData()
	a.tree.FK(d, from)
	at, length := a.linkPose(d, targets[0].Tip).P, 0.0
	for k := range targets {
		length += targets[k].Position.Sub(at).Len()
		at = targets[k].Position
	}
	s := "s"
	if len(targets) == 1 {
		s = ""
	}
	return fmt.Sprintf("%s through %d waypoint%s, %.3f m in straight lines", a.Model.Links[targets[0].Tip].Name, len(targets), s, length)
}

// flat is the targets' positions one after the other.
func flat(targets []planning.Target) []float64 {
	var out []float64
	for k := range targets {
		out = append(out, targets[k].Position[:]...)
	}
	return out
}

// inWaypoint says of an error which waypoint it is about.
func inWaypoint(k int, err error) error {
	var e *robot.Error
	if !errors.As(err, &e) {
		return err
	}
	out := *e
	out.Where = fmt.Sprintf("waypoints[%d].%s", k, e.Where)
	return &out
}

// quantities are a pose as the nearest alternative of a refusal, in the root frame.
func quantities(at mgl64.Vec3, q *mgl64.Quat) []robot.Quantity {
	out := []robot.Quantity{{Name: "x", Value: at[0], Unit: "m"}, {Name: "y", Value: at[1], Unit: "m"}, {Name: "z", Value: at[2], Unit: "m"}}
	if q != nil {
		out = append(out, robot.Quantity{Name: "qw", Value: q.W}, robot.Quantity{Name: "qx", Value: q.V[0]},
			robot.Quantity{Name: "qy", Value: q.V[1]}, robot.Quantity{Name: "qz", Value: q.V[2]})
	}
	return out
}
