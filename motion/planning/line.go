package planning

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/robot"
)

// fullJoints is how many of the arm's joints the tip has to depend on for a line
// that says nothing of orientation to keep the start's.
const fullJoints = 6

// halfTurn is the largest turn of one line, rad: near π there are two shortest ways.
const halfTurn = math.Pi - 0.01

// line is the straight way of the tip from one pose to a target.
type line struct {
	goal             // at the end; turn says what of the orientation is held to
	start mgl64.Vec3 // m
	r0    [9]float64 // the tip's orientation at the start, by rows
	axis  mgl64.Vec3 // unit; the turn on the way is about it, in the root frame
	angle float64    // rad, by how much
	away  mgl64.Vec3 // the tool axis at the start, in the root frame
}

// newLine returns the line from the frames in d to a goal. joints is the number of
// the arm's joints that the tip depends on.
func newLine(g goal, d *kinematics.Data, joints int) (line, error) {
	f := &d.Frames[g.tip]
	l := line{goal: g, start: d.Position(g.tip), r0: [9]float64(f[:9])}
	if g.turn == anyTurn && joints >= fullJoints {
		l.turn, l.r = fullTurn, l.r0
	}
	l.away = d.Direction(g.tip, g.axis)
	w := l.turnError(d)
	if l.angle = w.Len(); l.angle > 0 {
		l.axis = w.Mul(1 / l.angle)
	}
	if l.angle > halfTurn {
		return l, robot.LimitErr(robot.CodeInvalidArgument, "orientation", l.angle, halfTurn, "rad",
			"is so far from the line's start that there are two ways to turn; put a waypoint between")
	}
	return l, nil
}

// at returns where the tip has to be, u of the way along the line.
func (l *line) at(u float64) goal {
	g := l.goal
	if u == 1 {
		return g
	}
	g.p = l.start.Add(l.p.Sub(l.start).Mul(u))
	turn := mgl64.QuatRotate(l.angle*u, l.axis)
	switch l.turn {
	case fullTurn:
		if l.angle == 0 {
			g.r = l.r0
			break
		}
		r := kinematics.Rotation(turn)
		for i := range 3 {
			for j := range 3 {
				g.r[3*i+j] = r[3*i]*l.r0[j] + r[3*i+1]*l.r0[3+j] + r[3*i+2]*l.r0[6+j]
			}
		}
	case axisTurn:
		if g.towards = l.away; l.angle > 0 {
			g.towards = turn.Rotate(l.away)
		}
	}
	return g
}

// length returns the length of the line, m.
func (l *line) length() float64 { return l.p.Sub(l.start).Len() }

// turned returns by how much the tip is turned from the line's start, rad.
func (l *line) turned(d *kinematics.Data) float64 {
	return rotationVector(relativeRotation(&l.r0, &d.Frames[l.tip])).Len()
}
