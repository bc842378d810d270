package urdf

import (
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/robot"
)

func (p *parser) joint(e *element) rawJoint {
	out := rawJoint{line: e.line}
	out.Active = -1
	out.Name = p.name(e, "name")
	who := fmt.Sprintf("joint %q", out.Name)
	p.strangers(e, who,
		[]string{"origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "safety_controller", "calibration", "hardwareInterface"},
		[]string{"name", "type"})
	out.Type = p.jointType(e, who)
	out.Origin = p.origin(e, who)
	out.parent, out.parentLine = p.end(e, who, "parent")
	out.child, out.childLine = p.end(e, who, "child")
	if out.Type == 0 || out.Type == robot.Fixed {
		if m := p.one(e, who, "mimic"); m != nil && out.Type == robot.Fixed {
			p.warn(m.line, who, "<mimic> of a fixed joint is ignored")
		}
		return out
	}
	out.Axis = p.axis(e, who)
	p.limit(e, who, &out)
	p.soft(e, who, &out)
	if dyn := p.one(e, who, "dynamics"); dyn != nil {
		p.strangers(dyn, who, nil, []string{"damping", "friction"})
		out.Damping = p.atLeastZero(dyn, who, "damping")
		out.Friction = p.atLeastZero(dyn, who, "friction")
	}
	if m := p.one(e, who, "mimic"); m != nil {
		p.strangers(m, who, nil, []string{"joint", "multiplier", "offset"})
		raw := &rawMimic{line: m.line}
		raw.joint = p.name(m, "joint")
		raw.multiplier, _, _ = p.optional(m, who, "multiplier", 1)
		raw.offset, _, _ = p.optional(m, who, "offset", 0)
		out.mimic = raw
	}
	return out
}

func (p *parser) jointType(e *element, who string) robot.JointType {
	a, ok := e.attr("type")
	if !ok {
		p.bad(e.line, "%s: the attribute type is missing", who)
		return 0
	}
	switch a.value {
	case "revolute":
		return robot.Revolute
	case "continuous":
		return robot.Continuous
	case "prismatic":
		return robot.Prismatic
	case "fixed":
		return robot.Fixed
	case "floating", "planar":
		p.fail(robot.CodeNotSupported, a.line, "%s: joints of the type %s are not supported", who, a.value)
	default:
		p.bad(a.line, "%s: unknown type %q", who, clip(a.value))
	}
	return 0
}

// end reads <parent link="…"/> or <child link="…"/>.
func (p *parser) end(e *element, who, which string) (string, int) {
	c := p.one(e, who, which)
	if c == nil {
		p.bad(e.line, "%s: <%s> is missing", who, which)
		return "", e.line
	}
	p.strangers(c, who, nil, []string{"link"})
	name := p.name(c, "link")
	return name, c.line
}

// unitTolerance is how far an axis' length may be from one without a warning.
const unitTolerance = 1e-3

// axis reads the joint's axis in the joint frame, (1,0,0) where none is given,
// and makes it a unit vector.
func (p *parser) axis(e *element, who string) mgl64.Vec3 {
	a := p.one(e, who, "axis")
	if a == nil {
		return mgl64.Vec3{1, 0, 0}
	}
	p.strangers(a, who, nil, []string{"xyz"})
	v, ok := p.vector(a, who, "xyz", [3]float64{1, 0, 0})
	if !ok {
		return mgl64.Vec3{1, 0, 0}
	}
	n := math.Hypot(math.Hypot(v[0], v[1]), v[2])
	if n < 1e-9 {
		p.bad(a.line, "%s: the axis has no direction (%g %g %g)", who, v[0], v[1], v[2])
		return mgl64.Vec3{1, 0, 0}
	}
	if math.Abs(n-1) > unitTolerance {
		p.warn(a.line, who, fmt.Sprintf("the axis has the length %.6g and was normalised", n))
	}
	// Zeros keep no sign, and an exact unit axis stays exact.
	for i := range v {
		v[i] = v[i]/n + 0
	}
	return mgl64.Vec3(v)
}

func (p *parser) atLeastZero(e *element, who, name string) float64 {
	v, _, ok := p.optional(e, who, name, 0)
	if a, given := e.attr(name); ok && given && v < 0 {
		p.bad(a.line, "%s: <%s> attribute %s: %g is negative", who, e.name, name, v)
	}
	return v
}

// limit reads <limit>. A joint that isn't continuous needs position limits: one
// of lower and upper may be left out and is then 0, as the specification says,
// but not both, since a joint of the range 0 to 0 is never what was meant.
func (p *parser) limit(e *element, who string, j *rawJoint) {
	l := p.one(e, who, "limit")
	if l == nil {
		if j.Type != robot.Continuous {
			p.bad(e.line, "%s: a %s joint needs <limit>; without one its range isn't known", who, j.Type)
			return
		}
		p.warn(e.line, who, "no velocity limit; the joint can't be moved before a limits file gives one")
		return
	}
	p.strangers(l, who, nil, []string{"lower", "upper", "effort", "velocity"})
	lower, hasLower, okLower := p.optional(l, who, "lower", 0)
	upper, hasUpper, okUpper := p.optional(l, who, "upper", 0)
	switch {
	case j.Type == robot.Continuous:
		if hasLower || hasUpper {
			p.warn(l.line, who, "a continuous joint has no position limits; lower and upper are ignored")
		}
	case !hasLower && !hasUpper:
		p.bad(l.line, "%s: <limit> has neither lower nor upper; a %s joint needs its range", who, j.Type)
	case okLower && okUpper && lower > upper:
		p.bad(l.line, "%s: lower limit %g is above the upper limit %g %s", who, lower, upper, j.Type.Unit())
	case okLower && okUpper:
		j.Bounded, j.Lower, j.Upper = true, lower, upper
		switch {
		case !hasLower:
			p.warn(l.line, who, "no lower limit; the specification makes it 0")
		case !hasUpper:
			p.warn(l.line, who, "no upper limit; the specification makes it 0")
		case lower == upper:
			p.warn(l.line, who, fmt.Sprintf("lower and upper limit are both %g %s; the joint can't be moved", lower, j.Type.Unit()))
		}
	}
	j.Velocity = p.atLeastZero(l, who, "velocity")
	j.Effort = p.atLeastZero(l, who, "effort")
	if j.Velocity == 0 {
		p.warn(l.line, who, "no velocity limit above zero; the joint can't be moved before a limits file gives one")
	}
	if j.Effort == 0 {
		p.warn(l.line, who, "no effort limit above zero; efforts of this joint are not checked")
	}
}

// soft narrows the position limits by those of <safety_controller>. One side may
// be left out and then doesn't count; both at zero with k_position at zero is
// what exporters write for "none".
func (p *parser) soft(e *element, who string, j *rawJoint) {
	s := p.one(e, who, "safety_controller")
	if s == nil {
		return
	}
	p.strangers(s, who, nil, []string{"soft_lower_limit", "soft_upper_limit", "k_position", "k_velocity"})
	lower, hasLower, okLower := p.optional(s, who, "soft_lower_limit", 0)
	upper, hasUpper, okUpper := p.optional(s, who, "soft_upper_limit", 0)
	k, _, okK := p.optional(s, who, "k_position", 0)
	if !okLower || !okUpper || !okK || !j.Bounded || !hasLower && !hasUpper {
		return
	}
	if lower == 0 && upper == 0 && k == 0 {
		p.warn(s.line, who, "soft limits of 0 to 0 with k_position 0 are taken for none")
		return
	}
	if hasLower {
		j.Lower = math.Max(j.Lower, lower)
	}
	if hasUpper {
		j.Upper = math.Min(j.Upper, upper)
	}
	if j.Lower > j.Upper {
		p.bad(s.line, "%s: the soft limits leave no position inside the hard ones", who)
	}
}
