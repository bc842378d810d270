package planning

import (
	"fmt"
	"math"

	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/robot"
)

// Checker says whether configurations and the straight lines between them are
// free. collision.Checker is one. An error with a code other than SELF_COLLISION,
// SCENE_COLLISION, ZONE_NOT_GRANTED and WORKSPACE ends the planning. The
// slices remain the caller's. It must be safe for concurrent use.
type Checker interface {
	Check(q []float64) (*robot.Clearance, error)
	CheckSegment(from, to []float64) (*robot.Clearance, error)
}

// Planner plans for one robot. It is immutable and may be used from any
// goroutine; its methods don't block but for the work they do.
type Planner struct {
	m       *robot.Model
	tree    *kinematics.Tree
	checker Checker
	names   []string
	spans   []bool // by active joint: continuous, so that whole turns don't matter
}

// New returns a planner. A nil checker is refused: a robot without a checker is
// not a robot without obstacles.
func New(m *robot.Model, tree *kinematics.Tree, c Checker) (*Planner, error) {
	if m == nil || m.Description == nil || tree == nil || c == nil {
		return nil, robot.Errf(robot.CodeInvalidArgument, "planner", "needs a model, its kinematics and a checker")
	}
	if len(m.Limits) != m.DoF() || tree.DoF() != m.DoF() {
		return nil, robot.Errf(robot.CodeInvalidArgument, "planner", "limits and kinematics don't belong to the same robot")
	}
	p := &Planner{m: m, tree: tree, checker: c, names: m.JointNames(), spans: make([]bool, m.DoF())}
	for i, l := range m.Limits {
		p.spans[i] = !l.Bounded && m.Joints[m.Active[i]].Type == robot.Continuous
		if l.Bounded && !(l.Lower <= l.Upper) || !l.Bounded && !p.spans[i] {
			return nil, robot.Errf(robot.CodeInvalidArgument, p.names[i], "joint has no usable position limits")
		}
	}
	for _, i := range m.Arm {
		if i < 0 || i >= m.DoF() {
			return nil, robot.Errf(robot.CodeInvalidArgument, "arm", "names a joint that the robot doesn't have")
		}
	}
	// A follower that doesn't turn in whole multiples of its master makes the
	// master's whole turns matter.
	for i := range m.Joints {
		if k := m.Joints[i].Mimic; k != nil && k.Joint >= 0 && k.Joint < len(m.Joints) {
			if a := m.Joints[k.Joint].Active; a >= 0 &&
				(k.Multiplier != math.Trunc(k.Multiplier) || m.Joints[i].Type == robot.Prismatic) {
				p.spans[a] = false
			}
		}
	}
	return p, nil
}

// unit returns the unit of an active joint.
func (p *Planner) unit(i int) string { return p.m.Joints[p.m.Active[i]].Type.Unit() }

// clamp moves q to the nearest value inside joint i's limits.
func (p *Planner) clamp(i int, q float64) float64 {
	if l := &p.m.Limits[i]; l.Bounded {
		return min(max(q, l.Lower), l.Upper)
	}
	return q
}

// nearTurn returns the representation of q nearest to ref for a joint whose
// whole turns don't matter, and q itself for others.
func (p *Planner) nearTurn(i int, q, ref float64) float64 {
	if !p.spans[i] {
		return q
	}
	return ref + math.Remainder(q-ref, 2*math.Pi)
}

// largestTurns bounds the position of a joint without limits, rad or m, which counts
// on for ever: that of package trajectory, beyond which rounding is a motion.
const largestTurns = 1e6

// checkVector refuses what isn't one finite number for each joint, and a joint without
// limits that has counted too far. The others' limits are checkLimits'.
func (p *Planner) checkVector(name string, q []float64) error {
	if len(q) != len(p.names) {
		return robot.Errf(robot.CodeInvalidArgument, name, "has %d elements, the robot has %d joints", len(q), len(p.names))
	}
	for i, x := range q {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return robot.Errf(robot.CodeInvalidArgument, name+"."+p.names[i], "isn't a finite number")
		}
		if !p.m.Limits[i].Bounded && math.Abs(x) > largestTurns {
			return robot.LimitErr(robot.CodeInvalidArgument, name+"."+p.names[i], x, math.Copysign(largestTurns, x), p.unit(i), "has counted farther than can be planned for")
		}
	}
	return nil
}

// checkLimits refuses a configuration with a joint outside its limits.
func (p *Planner) checkLimits(name string, q []float64) error {
	for i, x := range q {
		if in := p.clamp(i, x); x != in {
			side := "below its lower"
			if x > in {
				side = "above its upper"
			}
			e := robot.LimitErr(robot.CodeJointLimit, name+"."+p.names[i], x, in, p.unit(i), fmt.Sprintf("joint %s is %s limit", p.names[i], side))
			e.Nearest = []robot.Quantity{{Name: p.names[i], Value: in, Unit: p.unit(i)}}
			return e
		}
	}
	return nil
}

// isContact reports whether an error is an answer of the checker about bodies, zones
// or a workspace, and not a failure to answer.
func isContact(err error) bool {
	switch robot.CodeOf(err) {
	case robot.CodeSelfCollision, robot.CodeSceneCollision, robot.CodeZoneNotGranted, robot.CodeWorkspace:
		return true
	}
	return false
}
