package motion

import (
	"context"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion/planning"
	"github.com/tau-robot/tau/robot"
)

// How far a pose may be off the floor's plane for a base to be taken to have
// reached it.
const (
	planeTolerance     = 1e-3 // m
	planeToleranceTurn = 1e-3 // rad
)

// baseThrough takes a link that only a base moves through targets, each by a turn,
// a straight line and a turn.
func (p *Planner) baseThrough(ctx context.Context, a *arm, st robot.State, v *view, from []float64, targets []planning.Target, scale *float64, facts []gate.Fact) (*moveAction, error) {
	var arcs []planning.Arc
	at := from
	for k := range targets {
		more, err := a.baseArcs(v, at, &targets[k])
		if err != nil {
			if len(targets) > 1 {
				err = inWaypoint(k, err)
			}
			return nil, err
		}
		arcs = append(arcs, more...)
		if at, err = after(v, at, more); err != nil {
			return nil, err
		}
		if err := a.onTarget(at, &targets[k]); err != nil {
			return nil, err
		}
	}
	return p.arcs(ctx, a, st, v, from, arcs, scale, goal{target: &targets[len(targets)-1]}, facts)
}

// after is where a base is at the end of arcs.
func after(v *view, from []float64, arcs []planning.Arc) ([]float64, error) {
	n := len(from)
	at, rest := append([]float64(nil), from...), make([]float64, 3*n)
	for _, arc := range arcs {
		c, err := v.planner.ArcCurve(at, arc)
		if err != nil {
			return nil, err
		}
		c.At(1, at, rest[:n], rest[n:2*n], rest[2*n:])
	}
	return at, nil
}

func (a *arm) baseArcs(v *view, from []float64, t *planning.Target) ([]planning.Arc, error) {
	x, y, yaw, err := a.baseTarget(t, from)
	if err != nil {
		return nil, err
	}
	return v.planner.BaseTo(from, x, y, yaw)
}

// baseTarget turns the target of a link that only a base moves into one of the
// base: x, y and, where the target says so, yaw. What isn't in the plane that the
// link moves in is UNREACHABLE, with the nearest pose that is.
func (a *arm) baseTarget(t *planning.Target, from []float64) (x, y float64, yaw *float64, err error) {
	d := a.tree.NewData()
	a.tree.FK(d, from)
	b := a.Model.Base
	base := a.linkPose(d, a.Model.Joints[a.Model.Active[b.Yaw]].Child)
	tip := a.linkPose(d, t.Tip)
	rel := base.Inverse().Mul(tip) // base from tip, which no joint changes
	name := a.Model.Links[t.Tip].Name
	if off := t.Position[2] - tip.P[2]; !(math.Abs(off) <= planeTolerance) {
		e := robot.LimitErr(robot.CodeUnreachable, "position", t.Position[2], tip.P[2], "m", name+" only moves at its own height")
		e.Nearest = quantities(mgl64.Vec3{t.Position[0], t.Position[1], tip.P[2]}, nil)
		return 0, 0, nil, e
	}
	turn := func(psi float64) mgl64.Quat { return mgl64.QuatRotate(psi, mgl64.Vec3{0, 0, 1}) }
	tilted := func(psi, tilt float64) error {
		q := turn(psi).Mul(rel.Q)
		e := robot.LimitErr(robot.CodeUnreachable, "orientation", tilt, planeToleranceTurn, "rad", name+" only turns about the vertical")
		e.Nearest = quantities(t.Position, &q)
		return e
	}
	switch {
	case t.Orientation != nil:
		// The turn of the base that takes the tip there, and what of it isn't one.
		q := t.Orientation.Mul(rel.Q.Conjugate())
		psi := 2 * math.Atan2(q.V[2], q.W)
		left := q.Mul(turn(psi).Conjugate())
		if tilt := 2 * math.Asin(math.Min(1, left.V.Len())); !(tilt <= planeToleranceTurn) {
			return 0, 0, nil, tilted(psi, tilt)
		}
		yaw = &psi
	case t.ToolAxis != nil:
		has, want := rel.Q.Rotate(mgl64.Vec3{0, 0, 1}), *t.ToolAxis
		psi := 0.0
		if math.Hypot(has[0], has[1]) > planeToleranceTurn {
			psi = math.Atan2(want[1], want[0]) - math.Atan2(has[1], has[0])
			yaw = &psi
		}
		if tilt := math.Acos(math.Max(-1, math.Min(1, turn(psi).Rotate(has).Dot(want)))); !(tilt <= planeToleranceTurn) {
			return 0, 0, nil, tilted(psi, tilt)
		}
	}
	off := mgl64.Vec3{rel.P[0], rel.P[1], 0}
	if yaw == nil && off.Len() > planeTolerance {
		return 0, 0, nil, robot.Errf(robot.CodeInvalidArgument, "orientation", "is needed, since %s isn't over the middle between the wheels", name)
	}
	at := t.Position
	if yaw != nil {
		at = at.Sub(turn(*yaw).Rotate(off))
	}
	// The base's joints may stand off the root frame's origin.
	x = from[b.X] + at[0] - base.P[0]
	y = from[b.Y] + at[1] - base.P[1]
	if yaw != nil {
		psi := from[b.Yaw] + math.Remainder(*yaw-yawOf(base.Q), 2*math.Pi)
		yaw = &psi
	}
	return x, y, yaw, nil
}

// yawOf is the turn about z of an orientation that is one.
func yawOf(q mgl64.Quat) float64 { return 2 * math.Atan2(q.V[2], q.W) }
