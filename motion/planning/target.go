package planning

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/robot"
)

// unitTolerance bounds how far the norm of a given quaternion or direction may
// be from 1; inside it, it is normalised.
const unitTolerance = 1e-3

// LargestPosition bounds each coordinate of a target's position, m: what a scene may
// reach to as well. Beyond it no robot is, and what is computed of it is no answer.
const LargestPosition = 1000.0

// CheckPosition refuses a position in the root frame, m, with a coordinate that isn't
// finite or is beyond LargestPosition, as INVALID_ARGUMENT.
func CheckPosition(where string, p mgl64.Vec3) error {
	for i, x := range p {
		if !finite(x) {
			return robot.Errf(robot.CodeInvalidArgument, where, "isn't finite")
		}
		if math.Abs(x) > LargestPosition {
			e := robot.LimitErr(robot.CodeInvalidArgument, where, x, math.Copysign(LargestPosition, x), "m",
				"is farther from the root than any position that is planned for")
			e.Value.Name, e.Limit.Name = string("xyz"[i]), string("xyz"[i])
			return e
		}
	}
	return nil
}

// Target is where a link has to be, in the root frame. Orientation and ToolAxis
// exclude each other; with neither only the position counts.
type Target struct {
	Tip         int        // index of the link
	Position    mgl64.Vec3 // of the link's origin, m, each coordinate up to LargestPosition
	Orientation *mgl64.Quat
	// ToolAxis is the direction, in the root frame, that Axis has to point in;
	// the turn about it is free. It is what a five-joint arm can do.
	ToolAxis *mgl64.Vec3
	Axis     mgl64.Vec3 // in the link's frame; the zero value means its z axis
}

// goal is a checked target.
type goal struct {
	tip     int
	p       mgl64.Vec3
	turn    turnKind
	r       [9]float64 // by rows
	axis    mgl64.Vec3 // in the tip's frame
	towards mgl64.Vec3 // in the root frame
}

type turnKind uint8

const (
	anyTurn turnKind = iota
	fullTurn
	axisTurn
)

func (p *Planner) check(t *Target) (goal, error) {
	bad := func(where, text string) (goal, error) {
		return goal{}, robot.Errf(robot.CodeInvalidArgument, where, "%s", text)
	}
	g := goal{tip: t.Tip, p: t.Position}
	if t.Tip < 0 || t.Tip >= len(p.m.Links) {
		return bad("tip", "the robot has no such link")
	}
	if err := CheckPosition("position", t.Position); err != nil {
		return goal{}, err
	}
	if t.Orientation != nil && t.ToolAxis != nil {
		return bad("tool_axis", "can't be given together with an orientation")
	}
	if q := t.Orientation; q != nil {
		n := q.Len()
		if !finite(n) || math.Abs(n-1) > unitTolerance {
			return bad("orientation", "isn't a unit quaternion")
		}
		g.turn, g.r = fullTurn, kinematics.Rotation(*q)
	}
	if a := t.ToolAxis; a != nil {
		n := a.Len()
		if !finite(n) || math.Abs(n-1) > unitTolerance {
			return bad("tool_axis", "isn't a unit vector")
		}
		g.turn, g.towards, g.axis = axisTurn, a.Normalize(), mgl64.Vec3{0, 0, 1}
		if t.Axis != (mgl64.Vec3{}) {
			n := t.Axis.Len()
			if !finite(n) || math.Abs(n-1) > unitTolerance {
				return bad("axis", "isn't a unit vector")
			}
			g.axis = t.Axis.Normalize()
		}
	}
	return g, nil
}

func finite(v ...float64) bool {
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}

// turnError returns the rotation vector, in the root frame, that brings the tip
// from its frame to the goal's direction or orientation. Its length is the angle.
func (g *goal) turnError(d *kinematics.Data) mgl64.Vec3 {
	switch g.turn {
	case fullTurn:
		return rotationVector(relativeRotation(&g.r, &d.Frames[g.tip]))
	case axisTurn:
		a := d.Direction(g.tip, g.axis)
		c := a.Cross(g.towards)
		s, k := c.Len(), a.Dot(g.towards)
		if s > 1e-9 {
			return c.Mul(math.Atan2(s, k) / s)
		}
		if k > 0 {
			return c
		}
		// Opposite: any axis across will do.
		across := mgl64.Vec3{1, 0, 0}
		if math.Abs(a[0]) > 0.7 {
			across = mgl64.Vec3{0, 1, 0}
		}
		return a.Cross(across).Normalize().Mul(math.Pi)
	}
	return mgl64.Vec3{}
}

// relativeRotation returns the rotation that takes the frame's orientation to
// the goal's, in the root frame: R_goal · R_frameᵀ.
func relativeRotation(want *[9]float64, f *kinematics.Frame) (r [9]float64) {
	for i := range 3 {
		for j := range 3 {
			r[3*i+j] = want[3*i]*f[3*j] + want[3*i+1]*f[3*j+1] + want[3*i+2]*f[3*j+2]
		}
	}
	return r
}

// rotationVector returns axis times angle, the angle in [0, π].
func rotationVector(r [9]float64) mgl64.Vec3 {
	v := mgl64.Vec3{r[7] - r[5], r[2] - r[6], r[3] - r[1]} // 2·sin·axis
	s := v.Len() / 2
	angle := math.Atan2(s, (r[0]+r[4]+r[8]-1)/2)
	if s > 1e-7 {
		return v.Mul(angle / (2 * s))
	}
	if angle < 1 {
		return v.Mul(0.5)
	}
	// Half a turn: the axis is the largest column of (R + I)/2.
	f := kinematics.Frame{}
	copy(f[:9], r[:])
	return kinematics.PoseOf(&f).Q.V.Normalize().Mul(angle)
}
