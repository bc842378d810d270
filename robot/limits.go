package robot

import (
	"fmt"
	"math"
)

// What is assumed where nothing gives an acceleration or a jerk limit: full
// speed after one second, full acceleration after a tenth of one.
const (
	assumedRampTime = 1.0 // s
	assumedJerkTime = 0.1 // s
)

// widerTolerance is by how much, as a part of the limit, a limits file may be
// wider than the description before that is an error: two decimal spellings of
// one number. The narrower one counts either way.
const widerTolerance = 1e-9

// NewLimits returns the limits of each active joint: position, velocity and
// effort as the description has them, tightened by the table, which may be nil;
// acceleration and jerk from the table, or else assumed as v / 1 s and
// a / 0.1 s and named in Assumed. What the table says of a mimic joint binds the
// joint that it follows.
//
// A table that is wider than the description, names a joint that doesn't exist
// or can't move, or holds a limit that isn't finite and above zero is an error
// naming file, line, value and limit. Velocity stays 0 where neither gives one;
// such a joint can't be planned for.
func NewLimits(d *Description, t *LimitTable) ([]JointLimits, error) {
	out := make([]JointLimits, len(d.Active))
	for i, j := range d.Active {
		jt := &d.Joints[j]
		out[i] = JointLimits{
			Bounded: jt.Bounded, Lower: jt.Lower, Upper: jt.Upper, Velocity: jt.Velocity, Effort: jt.Effort,
		}
	}
	if t != nil {
		for k := range t.Joints {
			if err := applyEntry(d, t.File, &t.Joints[k], out); err != nil {
				return nil, err
			}
		}
	}
	for i := range out {
		l := &out[i]
		if l.Acceleration == 0 {
			l.Acceleration = l.Velocity / assumedRampTime
			l.Assumed = append(l.Assumed, "acceleration")
		}
		if l.Jerk == 0 {
			l.Jerk = l.Acceleration / assumedJerkTime
			l.Assumed = append(l.Assumed, "jerk")
		}
		if err := l.check(d.Joints[d.Active[i]].Name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// check refuses limits that would disable or invert whatever is held against
// them. Zero velocity is let through: it permits nothing.
func (l *JointLimits) check(joint string) error {
	for _, v := range []struct {
		name  string
		value float64
	}{{"velocity", l.Velocity}, {"acceleration", l.Acceleration}, {"jerk", l.Jerk}, {"effort", l.Effort}} {
		if !(v.value >= 0) || math.IsInf(v.value, 0) {
			return Errf(CodeInvalidArgument, joint, "the %s limit %g isn't finite and above zero", v.name, v.value)
		}
	}
	if !l.Bounded {
		return nil
	}
	if !(l.Lower <= l.Upper) || math.IsInf(l.Lower, 0) || math.IsInf(l.Upper, 0) {
		return Errf(CodeInvalidArgument, joint, "the position limits %g to %g hold no position", l.Lower, l.Upper)
	}
	return nil
}

// entry is one LimitEntry on its way into the limits of an active joint.
type entry struct {
	file   string
	e      *LimitEntry
	joint  *Joint
	target *JointLimits
	mult   float64 // joint = mult·target + offset
	offset float64
}

func applyEntry(d *Description, file string, e *LimitEntry, out []JointLimits) error {
	i := d.JointIndex(e.Joint)
	if i < 0 {
		return Errf(CodeInvalidArgument, fileLine(file, e.Line), "joint %q doesn't exist in the description", e.Joint)
	}
	a := entry{file: file, e: e, joint: &d.Joints[i], mult: 1}
	switch j := a.joint; {
	case j.Type == Fixed:
		return Errf(CodeInvalidArgument, fileLine(file, e.Line), "joint %q is fixed and has no limits", e.Joint)
	case j.Mimic != nil:
		a.target = &out[d.Joints[j.Mimic.Joint].Active]
		a.mult, a.offset = j.Mimic.Multiplier, j.Mimic.Offset
	default:
		a.target = &out[j.Active]
	}
	if err := a.off(); err != nil {
		return err
	}
	if err := a.position(); err != nil {
		return err
	}
	for _, r := range []struct {
		name, unit string
		said       *LimitValue
		known      float64 // the description's, 0 for none
		into       *float64
		scale      float64 // from the joint's quantity to the target's
	}{
		{"max_velocity", "/s", e.Velocity, a.joint.Velocity, &a.target.Velocity, 1 / math.Abs(a.mult)},
		{"max_acceleration", "/s²", e.Acceleration, 0, &a.target.Acceleration, 1 / math.Abs(a.mult)},
		{"max_jerk", "/s³", e.Jerk, 0, &a.target.Jerk, 1 / math.Abs(a.mult)},
		{"max_effort", "", e.Effort, a.joint.Effort, &a.target.Effort, 0},
	} {
		unit := a.joint.Type.Unit() + r.unit
		if r.name == "max_effort" {
			unit = "N·m"
			if a.joint.Type == Prismatic {
				unit = "N"
			}
			if a.joint.Mimic == nil {
				r.scale = 1 // what a mimic joint may bear says nothing of its driver
			}
		}
		if err := a.rate(r.name, unit, r.said, r.known, r.into, r.scale); err != nil {
			return err
		}
	}
	return nil
}

// value returns a number in the joint's unit.
func (a *entry) value(name string, v *LimitValue) (float64, error) {
	if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) {
		return 0, Errf(CodeInvalidArgument, fileLine(a.file, v.Line), "joint %q: %s %g isn't finite", a.e.Joint, name, v.Value)
	}
	if !v.Degrees {
		return v.Value, nil
	}
	if a.joint.Type == Prismatic || name == "max_effort" {
		return 0, Errf(CodeInvalidArgument, fileLine(a.file, v.Line), "joint %q: %s can't be in degrees", a.e.Joint, name)
	}
	return v.Value * math.Pi / 180, nil
}

// rate tightens a limit that bounds a magnitude.
func (a *entry) rate(name, unit string, said *LimitValue, known float64, into *float64, scale float64) error {
	if said == nil {
		return nil
	}
	v, err := a.value(name, said)
	if err != nil {
		return err
	}
	where := fileLine(a.file, said.Line)
	if v <= 0 {
		return Errf(CodeInvalidArgument, where, "joint %q: %s %g %s must be above zero", a.e.Joint, name, v, unit)
	}
	if known > 0 && v > known*(1+widerTolerance) {
		return LimitErr(CodeInvalidArgument, where, v, known, unit,
			fmt.Sprintf("joint %q: %s is wider than the description's limit; a limits file may only tighten", a.e.Joint, name))
	}
	if scale == 0 || math.IsInf(scale, 0) {
		return nil
	}
	if v *= scale; *into == 0 || v < *into {
		*into = v
	}
	return nil
}

// position tightens the position limits.
func (a *entry) position() error {
	for _, side := range []struct {
		name  string
		said  *LimitValue
		upper bool
	}{{"min_position", a.e.Lower, false}, {"max_position", a.e.Upper, true}} {
		if side.said == nil {
			continue
		}
		v, err := a.value(side.name, side.said)
		if err != nil {
			return err
		}
		where, known := fileLine(a.file, side.said.Line), a.joint.Lower
		if side.upper {
			known = a.joint.Upper
		}
		if !a.joint.Bounded || a.mult == 0 {
			return Errf(CodeInvalidArgument, where, "joint %q has no range in the description, so that %s can't narrow it", a.e.Joint, side.name)
		}
		slack := widerTolerance * math.Max(1, math.Abs(known))
		if wider := side.upper && v > known+slack || !side.upper && v < known-slack; wider {
			return LimitErr(CodeInvalidArgument, where, v, known, a.joint.Type.Unit(),
				fmt.Sprintf("joint %q: %s is wider than the description's limit; a limits file may only tighten", a.e.Joint, side.name))
		}
		v = (v - a.offset) / a.mult
		if side.upper == (a.mult > 0) {
			a.target.Upper = math.Min(a.target.Upper, v)
		} else {
			a.target.Lower = math.Max(a.target.Lower, v)
		}
		if a.target.Lower > a.target.Upper {
			return Errf(CodeInvalidArgument, where, "joint %q: %s leaves no position that it may be in", a.e.Joint, side.name)
		}
	}
	return nil
}

// off refuses to switch off a limit that the description gives: that would
// widen it. Where there is none, saying so changes nothing.
func (a *entry) off() error {
	for _, o := range a.e.Off {
		known := false
		switch o.Name {
		case "has_position_limits":
			known = a.joint.Bounded
		case "has_velocity_limits":
			known = a.joint.Velocity > 0
		case "has_effort_limits":
			known = a.joint.Effort > 0
		}
		if known {
			return Errf(CodeInvalidArgument, fileLine(a.file, o.Line),
				"joint %q: %s is false, but the description has that limit; a limits file may only tighten", a.e.Joint, o.Name)
		}
	}
	return nil
}

func fileLine(file string, line int) string { return fmt.Sprintf("%s:%d", file, line) }
