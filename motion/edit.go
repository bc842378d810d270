package motion

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// An edit by the person at the card (G46): the arguments of the same tool for the same
// motion slower, or for the first part of it. What these arguments make is planned,
// rehearsed and asked anew.

// fields are a call's arguments by name.
type fields map[string]json.RawMessage

func (f fields) put(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return robot.Errf(robot.CodeInvalidArgument, name, "%w", err)
	}
	f[name] = data
	return nil
}

// editor changes the arguments of one tool.
type editor struct {
	slower  func(x *moveAction, call gate.Call, f fields, by float64) error
	shorter func(x *moveAction, call gate.Call, f fields, part float64) error
}

// editorOf returns how a tool's motions are made slower or shorter; false: not at all.
func editorOf(tool string) (editor, bool) {
	switch tool {
	case "move_joints":
		return editor{slowerScale, shorterJoints}, true
	case "move_pose", "move_path", "home":
		return editor{slowerScale, nil}, true
	case "gripper":
		return editor{slowerScale, shorterGrip}, true
	case "jog":
		return editor{slowerScale, shorterJog}, true
	case "drive":
		return editor{slowerDrive, shorterDrive}, true
	}
	return editor{}, false // a plan is what it is; a search goes as far as its switch
}

// editable is a tool whose motions can be edited.
type editable struct {
	tool
	how editor
}

var _ gate.Editable = editable{}

// Edit returns the arguments of the same motion slower or shorter. Both together are
// applied to what was asked.
func (t editable) Edit(_ context.Context, call gate.Call, prepared gate.Action, edit gate.Edit) (json.RawMessage, error) {
	if err := edit.Check(); err != nil {
		return nil, err
	}
	x, ok := prepared.(*moveAction)
	if !ok || call.Tool != t.spec.Name {
		return nil, gate.Errf(gate.CodeInvalidArgument, call.Tool, "isn't a motion that %s has prepared", t.spec.Name)
	}
	f, err := args[fields](call)
	if err != nil {
		return nil, gateErr(err)
	}
	if edit.SpeedScale != 0 {
		if err := t.how.slower(x, call, f, edit.SpeedScale); err != nil {
			return nil, gateErr(err)
		}
	}
	if edit.Fraction != 0 {
		if t.how.shorter == nil {
			return nil, gate.Errf(gate.CodeNotSupported, t.spec.Name, "a part of this motion can't be said in the arguments of %s; only slower is possible", t.spec.Name)
		}
		if err := t.how.shorter(x, call, f, edit.Fraction); err != nil {
			return nil, gateErr(err)
		}
	}
	out, err := json.Marshal(f)
	if err != nil {
		return nil, gate.Errf(gate.CodeInvalidArgument, call.Tool, "%w", err)
	}
	return out, nil
}

// less insists that a number came nearer to 0, which rounding can prevent.
func less(where string, now, was float64) error {
	if math.Abs(now) < math.Abs(was) && now != 0 {
		return nil
	}
	return robot.LimitErr(robot.CodeInvalidArgument, where, now, was, "", "an edit has to make it strictly less, and not nothing")
}

func slowerScale(x *moveAction, _ gate.Call, f fields, by float64) error {
	if err := less("speed_scale", by*x.scale, x.scale); err != nil {
		return err
	}
	return f.put("speed_scale", by*x.scale)
}

// slowerDrive keeps the time, so that the way gets shorter along the same arc.
func slowerDrive(_ *moveAction, call gate.Call, f fields, by float64) error {
	in, err := args[driveInput](call)
	if err != nil {
		return err
	}
	for _, v := range [...]struct {
		name  string
		value float64
	}{{"linear", in.Linear}, {"angular", in.Angular}} {
		if v.value == 0 {
			continue
		}
		if err := less(v.name, by*v.value, v.value); err != nil {
			return err
		}
		if err := f.put(v.name, by*v.value); err != nil {
			return err
		}
	}
	return nil
}

// shorterDrive keeps the speed and the ramps, so that the arc is the first part of the
// same one.
func shorterDrive(_ *moveAction, call gate.Call, f fields, part float64) error {
	in, err := args[driveInput](call)
	if err != nil {
		return err
	}
	if err := less("duration", part*in.Duration, in.Duration); err != nil {
		return err
	}
	return f.put("duration", part*in.Duration)
}

func shorterJog(_ *moveAction, call gate.Call, f fields, part float64) error {
	in, err := args[jogInput](call)
	if err != nil {
		return err
	}
	if err := less("delta", part*in.Delta, in.Delta); err != nil {
		return err
	}
	return f.put("delta", part*in.Delta)
}

// shorterJoints ends a straight motion of joints earlier on its way: where it starts is
// as much part of the new targets as the old ones are.
func shorterJoints(x *moveAction, call gate.Call, f fields, part float64) error {
	in, err := args[jointsInput](call)
	if err != nil {
		return err
	}
	if err := x.straight(); err != nil {
		return err
	}
	start, end := x.motion.Trajectory.Start(), x.motion.Trajectory.End()
	names := make([]string, 0, len(in.Positions))
	for n := range in.Positions {
		names = append(names, n)
	}
	slices.Sort(names)
	moves := false
	targets := make(map[string]float64, len(names))
	for _, n := range names {
		i := x.arm.Model.ActiveIndex(n)
		if i < 0 {
			return x.arm.notMovable("positions."+n, n)
		}
		targets[n] = start[i] + part*(end[i]-start[i])
		if start[i] == end[i] {
			continue
		}
		moves = true
		if err := less("positions."+n, targets[n]-start[i], end[i]-start[i]); err != nil {
			return err
		}
	}
	if !moves {
		return robot.Errf(robot.CodeInvalidArgument, "positions", "the robot is there already: there is no part of this motion")
	}
	return f.put("positions", targets)
}

// shorterGrip ends a motion of the gripper earlier on its way.
func shorterGrip(x *moveAction, call gate.Call, f fields, part float64) error {
	in, err := args[gripperInput](call)
	if err != nil {
		return err
	}
	g := x.arm.Model.Gripper
	if g == nil {
		return robot.Errf(robot.CodeNotSupported, "gripper", "%s has no gripper", x.arm.Model.Name)
	}
	if err := x.straight(); err != nil {
		return err
	}
	start := (x.motion.Trajectory.Start()[g.Joint] - g.Closed) / (g.Open - g.Closed)
	target := start + part*(in.Position-start)
	if !(target >= 0 && target <= 1) {
		return robot.LimitErr(robot.CodeNotSupported, "position", target, math.Round(target), "", "this part of the motion ends outside of what position can say")
	}
	if err := less("position", target-start, in.Position-start); err != nil {
		return err
	}
	return f.put("position", target)
}

// straightness is how far a motion may be off the straight line between its ends, rad or
// m, to count as one: what rounding makes of one that is.
const straightness = 1e-9

// straight refuses a motion whose joints don't go straight from its start to its end: of
// one that goes around something no part is the way to a target of its own. The joints
// that a base's wheels move follow their arc.
func (x *moveAction) straight() error {
	t := &x.motion.Trajectory
	start, end := t.Start(), t.End()
	lead, far := -1, 0.0
	for i := range start {
		if d := math.Abs(end[i] - start[i]); d > far && !x.arm.Model.Base.Carries(i) {
			lead, far = i, d
		}
	}
	if lead < 0 {
		return nil
	}
	for k := range t.Segments {
		s := &t.Segments[k]
		for i := range start {
			if x.arm.Model.Base.Carries(i) {
				continue
			}
			r := (end[i] - start[i]) / (end[lead] - start[lead])
			off := math.Abs(s.Q[i] - start[i] - r*(s.Q[lead]-start[lead]))
			// What the rates are off by counts for as long as the segment lasts.
			off += s.Duration * (math.Abs(s.V[i]-r*s.V[lead]) + s.Duration*(math.Abs(s.A[i]-r*s.A[lead])/2+s.Duration*math.Abs(s.J[i]-r*s.J[lead])/6))
			if !(off <= straightness*(1+math.Abs(s.Q[i]))) {
				return robot.Errf(robot.CodeNotSupported, t.Joints[i], "this motion goes around something, so a part of it has no target of its own; only slower is possible")
			}
		}
	}
	return nil
}
