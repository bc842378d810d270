package motion

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/motion/planning"
	"github.com/tau-robot/tau/motion/trajectory"
	"github.com/tau-robot/tau/robot"
)

// A planned motion is held to what was asked for: its trajectory to the goal, and
// its rehearsal to the trajectory. Whatever loses a motion on the way, a base whose
// wheels are too large to turn for one, mustn't be told as done.

const (
	// jointGoalTolerance bounds how far a trajectory may end from its goal, rad or m.
	jointGoalTolerance = 2 * trajectory.CurveTolerance
	// poseGoalM and poseGoalRad bound how far a pose may be from its target at a
	// trajectory's end: what a line may be off (planning.Lines), beyond which
	// inverse kinematics and curves are off by far less.
	poseGoalM   = 1e-4
	poseGoalRad = 1e-3
	// restRad and restM bound how far a rehearsed joint may rest from its end.
	restRad = startToleranceRad
	restM   = 2 * startToleranceM
)

// goal is where a motion has to end.
type goal struct {
	joints []float64 // rad or m, by active joint; NaN: wherever; nil: not asked for
	turns  bool      // a joint without limits may end whole turns away
	target *planning.Target
}

// reached refuses a trajectory that doesn't end at its goal, as INTERNAL: that it
// was planned so is this program's fault.
func (a *arm) reached(end []float64, g goal) error {
	for i, want := range g.joints {
		if math.IsNaN(want) {
			continue
		}
		d := end[i] - want
		if j := a.Model.Joints[a.Model.Active[i]]; g.turns && !a.Model.Limits[i].Bounded && j.Type != robot.Prismatic {
			d = math.Remainder(d, 2*math.Pi)
		}
		if !(math.Abs(d) <= jointGoalTolerance) {
			return robot.LimitErr(robot.CodeInternal, a.info.Joints[i], math.Abs(d), jointGoalTolerance, a.unit(i), "the planned motion would end away from its goal")
		}
	}
	if g.target == nil {
		return nil
	}
	return a.onTarget(end, g.target)
}

// onTarget compares where a link is at q with its target. A base's link is as far
// from its target's height and tilt as it was let to be.
func (a *arm) onTarget(q []float64, t *planning.Target) error {
	d := a.tree.NewData()
	a.tree.FK(d, q)
	at, name := a.linkPose(d, t.Tip), a.Model.Links[t.Tip].Name
	far, tilt := poseGoalM, poseGoalRad
	if a.onBase(t.Tip) {
		far, tilt = far+2*planeTolerance, tilt+planeToleranceTurn
	}
	if off := at.P.Sub(t.Position).Len(); !(off <= far) {
		return robot.LimitErr(robot.CodeInternal, name, off, far, "m", "the planned motion would end away from its target")
	}
	turn := 0.0
	switch {
	case t.Orientation != nil:
		turn = 2 * math.Asin(math.Min(1, at.Q.Mul(t.Orientation.Conjugate()).V.Len()))
	case t.ToolAxis != nil:
		axis := t.Axis
		if axis == (mgl64.Vec3{}) {
			axis = mgl64.Vec3{0, 0, 1}
		}
		has := at.Q.Rotate(axis.Normalize())
		turn = math.Atan2(has.Cross(*t.ToolAxis).Len(), has.Dot(*t.ToolAxis))
	}
	if !(turn <= tilt) {
		return robot.LimitErr(robot.CodeInternal, name, turn, tilt, "rad", "the planned motion would end turned away from its target")
	}
	return nil
}

// rested refuses a rehearsal that didn't come to rest where the motion ends. A grip
// may end early on its object, and a search at its switch.
func (a *arm) rested(r robot.Rehearsal, m robot.Motion) error {
	end, bound := m.Trajectory.End(), a.perJoint(restRad, restM)
	last := r.Trace[len(r.Trace)-1]
	for i := range end {
		if m.Grip != nil && a.Model.Gripper != nil && i == a.Model.Gripper.Joint || m.Seek != nil && i == m.Seek.Joint {
			continue
		}
		at := last[i]
		if len(r.Joints) == len(end) {
			at = r.Joints[i].End
		}
		if off := math.Abs(at - end[i]); !(off <= bound[i]) {
			return robot.LimitErr(robot.CodeRehearsalFailed, a.info.Joints[i], off, bound[i], a.unit(i), "rested away from the motion's end in the rehearsal")
		}
	}
	return nil
}
