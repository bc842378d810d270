package robot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Tighten returns a copy of the model whose limits are those given, by active joint,
// and whose hash covers them. m is not modified. It refuses limits that are wider than
// m's in anything, which hold no position, or which leave out where the robot has to
// be able to go: home, the gripper's two ends, a reference switch. Where m's
// acceleration or jerk are assumed, or it has no velocity or effort, the given ones may
// be any.
func (m *Model) Tighten(limits []JointLimits) (*Model, error) {
	if len(limits) != len(m.Limits) {
		return nil, Errf(CodeInvalidArgument, "limits", "there are limits of %d joints, the robot has %d", len(limits), len(m.Limits))
	}
	out := *m
	out.Limits = make([]JointLimits, len(limits))
	for i, l := range limits {
		l.Assumed = slices.Clone(l.Assumed)
		name, unit := m.Joints[m.Active[i]].Name, m.Joints[m.Active[i]].Type.Unit()
		if err := l.check(name); err != nil {
			return nil, err
		}
		if err := l.within(&m.Limits[i], name, unit); err != nil {
			return nil, err
		}
		if i < len(m.Home) {
			if err := l.keeps(m.Home[i], name, unit, "home"); err != nil {
				return nil, err
			}
		}
		if g := m.Gripper; g != nil && g.Joint == i {
			if err := cmp.Or(l.keeps(g.Closed, name, unit, "the closed gripper"), l.keeps(g.Open, name, unit, "the open gripper")); err != nil {
				return nil, err
			}
		}
		if r := m.Reference(i); r != nil {
			if err := l.keeps(r.Switch, name, unit, "the reference switch"); err != nil {
				return nil, err
			}
			if r.Speed > l.Velocity {
				return nil, LimitErr(CodeInvalidArgument, name, r.Speed, l.Velocity, unit+"/s", "the search for the switch is faster than the limit")
			}
		}
		out.Limits[i] = l
	}
	out.ModelHash = out.hash()
	return &out, nil
}

// within refuses limits that are wider than those of the model.
func (l *JointLimits) within(of *JointLimits, name, unit string) error {
	if of.Bounded {
		if !l.Bounded {
			return Errf(CodeInvalidArgument, name, "the description bounds its position; that can't be taken away")
		}
		if l.Lower < of.Lower {
			return LimitErr(CodeInvalidArgument, name, l.Lower, of.Lower, unit, "the lower limit is wider than the description's")
		}
		if l.Upper > of.Upper {
			return LimitErr(CodeInvalidArgument, name, l.Upper, of.Upper, unit, "the upper limit is wider than the description's")
		}
	}
	for _, v := range []struct {
		what       string
		value, may float64
		unit       string
	}{
		{"velocity", l.Velocity, of.Velocity, "/s"}, {"acceleration", l.Acceleration, of.Acceleration, "/s²"},
		{"jerk", l.Jerk, of.Jerk, "/s³"}, {"effort", l.Effort, of.Effort, ""},
	} {
		switch {
		case v.value <= v.may, v.may == 0, slices.Contains(of.Assumed, v.what):
		default:
			return LimitErr(CodeInvalidArgument, name, v.value, v.may, unit+v.unit, fmt.Sprintf("the limit of %s is wider than the description's", v.what))
		}
	}
	return nil
}

// keeps refuses limits outside of which the robot has to go.
func (l *JointLimits) keeps(q float64, name, unit, what string) error {
	if !l.Bounded {
		return nil
	}
	if in := math.Min(math.Max(q, l.Lower), l.Upper); in != q {
		return LimitErr(CodeInvalidArgument, name, q, in, unit, what+" lies outside the narrower limits")
	}
	return nil
}
