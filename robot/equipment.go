package robot

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-gl/mathgl/mgl64"
)

// Equipment is what a robot has besides its joints' description: actuators beside
// the joints, wheels that carry its base, switches that its joints are referenced
// by. Names are as spelled in File, where Line says; Equip holds them against a
// model.
type Equipment struct {
	File       string
	Actuators  []ActuatorEntry
	Base       *BaseEntry
	References []ReferenceEntry
}

// ActuatorEntry is an actuator and the line that names it.
type ActuatorEntry struct {
	Actuator
	Line int
}

// BaseEntry says by name which joints a differential drive is made of.
type BaseEntry struct {
	X, Y, Yaw, Left, Right string
	Radius, Track          float64 // m
	Line                   int
}

// ReferenceEntry says of a joint, by name, how it finds its switch.
type ReferenceEntry struct {
	Joint  string
	Switch float64 // position at which the switch closes, rad or m
	Upper  bool    // the switch is at the joint's upper end, else at its lower
	Speed  float64 // largest speed of the search, rad/s or m/s
	Travel float64 // largest travel of the search, rad or m
	Line   int
}

// Base is a differential drive. Its wheels turn the three joints that carry the
// base over the plane; those three have no drive of their own and follow, by
//
//	ds = Radius·(dl + dr)/2   dyaw = Radius·(dr − dl)/Track
//	dx = ds·cos(yaw)          dy = ds·sin(yaw)
//
// so that forward is the base's x axis. A motion of the base has to obey that.
type Base struct {
	X, Y, Yaw   int     // positions in q: prismatic along the root's x and y, then a turn about z
	Left, Right int     // positions in q of the wheels
	Radius      float64 // m, from MinWheelRadius to MaxWheelRadius
	Track       float64 // m between the wheels' points of contact, from MinTrack to MaxTrack
}

// Carries reports whether active joint i is one of those that the wheels move.
func (b *Base) Carries(i int) bool { return b != nil && (i == b.X || i == b.Y || i == b.Yaw) }

// Reference says how an active joint that counts steps finds out where it is: it
// moves towards one end until a switch closes, and is then at Switch.
type Reference struct {
	Joint     int     // position in q
	Switch    float64 // rad or m, within the joint's limits
	Direction float64 // -1 towards the lower end, +1 towards the upper one
	Speed     float64 // largest speed of the search, rad/s or m/s, > 0
	Travel    float64 // largest travel of the search, rad or m, > 0
}

// Actuator returns the actuator beside the joints of that name, nil if there is none.
func (m *Model) Actuator(name string) *Actuator {
	for i := range m.Actuators {
		if m.Actuators[i].Name == name {
			return &m.Actuators[i]
		}
	}
	return nil
}

// CheckActuator says which actuator a SetActuator is about, by its place in Actuators,
// or what is wrong with the command whatever the robot does.
func (m *Model) CheckActuator(c *Command) (int, error) {
	if math.IsNaN(c.Value) || math.IsInf(c.Value, 0) {
		return 0, &Error{Code: CodeInvalidArgument, Where: "value", Text: "the value must be finite", Value: &Quantity{Value: c.Value}}
	}
	if m.JointIndex(c.Name) >= 0 {
		return 0, Errf(CodeInvalidArgument, c.Name, "%s is a joint: motions move it", c.Name)
	}
	if len(m.Actuators) == 0 {
		return 0, Errf(CodeNotSupported, c.Name, "the robot has no actuators beside its joints")
	}
	i := slices.IndexFunc(m.Actuators, func(a Actuator) bool { return a.Name == c.Name })
	if i < 0 {
		return 0, Errf(CodeInvalidArgument, c.Name, "the robot has no actuator %q", c.Name)
	}
	if a := &m.Actuators[i]; c.Value < a.Lower || c.Value > a.Upper {
		limit := a.Lower
		if c.Value > a.Upper {
			limit = a.Upper
		}
		e := LimitErr(CodeInvalidArgument, a.Name, c.Value, limit, a.Unit, fmt.Sprintf("the value is out of the range from %g to %g", a.Lower, a.Upper))
		e.Nearest = []Quantity{{Name: a.Name, Value: limit, Unit: a.Unit}}
		return 0, e
	}
	return i, nil
}

// Reference returns how active joint i is referenced, nil if it needs no switch.
func (m *Model) Reference(i int) *Reference {
	for k := range m.References {
		if m.References[k].Joint == i {
			return &m.References[k]
		}
	}
	return nil
}

// The largest number of actuators beside the joints, and of the bytes of a name.
const (
	MaxActuators    = 256
	maxActuatorName = 64
)

// The wheels that a base may have, m: from a toy's to those of the largest machines.
// Outside these ranges a figure is a slip or in another unit.
const (
	MinWheelRadius = 1e-3
	MaxWheelRadius = 10.0
	MinTrack       = 1e-3
	MaxTrack       = 100.0
)

// Equip returns a copy of the model with its equipment, whose hash covers it. m is
// not modified. It refuses, naming file and line, what the model lacks, names
// given twice, numbers that aren't finite, ranges that hold no value, wheels of a size
// or distance that no robot's have, a base whose
// joints don't carry it in the order that Base describes or whose wheels turn the
// other way, and a reference that leads out of the joint's limits or is faster
// than the joint may be.
func (m *Model) Equip(e *Equipment) (*Model, error) {
	if e == nil {
		return m, nil
	}
	out := *m
	b := equipper{m: &out, e: e}
	if err := b.actuators(); err != nil {
		return nil, err
	}
	if err := b.base(); err != nil {
		return nil, err
	}
	if err := b.references(); err != nil {
		return nil, err
	}
	out.ModelHash = out.hash()
	return &out, nil
}

type equipper struct {
	m *Model
	e *Equipment
}

func (b *equipper) bad(line int, format string, args ...any) error {
	return Errf(CodeInvalidArgument, fileLine(b.e.File, line), format, args...)
}

func (b *equipper) actuators() error {
	if n := len(b.e.Actuators); n > MaxActuators {
		return b.bad(1, "%d actuators, more than the %d that are read", n, MaxActuators)
	}
	b.m.Actuators = nil
	for i := range b.e.Actuators {
		a := &b.e.Actuators[i]
		switch {
		case a.Name == "" || len(a.Name) > maxActuatorName:
			return b.bad(a.Line, "an actuator's name has 1 to %d bytes", maxActuatorName)
		case b.m.JointIndex(a.Name) >= 0:
			return b.bad(a.Line, "actuator %q has the name of a joint", a.Name)
		case b.m.Actuator(a.Name) != nil:
			return b.bad(a.Line, "actuator %q is there twice", a.Name)
		case a.Kind == "" || a.Kind == "joint" || a.Kind == "gripper":
			return b.bad(a.Line, "actuator %q: kind %q isn't one beside the joints", a.Name, a.Kind)
		case !finite(a.Lower) || !finite(a.Upper) || !(a.Lower < a.Upper):
			return b.bad(a.Line, "actuator %q: the range %g to %g holds no two values", a.Name, a.Lower, a.Upper)
		case !(a.Off >= a.Lower && a.Off <= a.Upper):
			return b.bad(a.Line, "actuator %q: off is %g, outside its range %g to %g", a.Name, a.Off, a.Lower, a.Upper)
		}
		for _, on := range []struct{ name, what string }{{"on_stop", a.OnStop}, {"on_lost_link", a.OnLost}} {
			if on.what != "off" && on.what != "unchanged" {
				return b.bad(a.Line, `actuator %q: %s is %q; it must be "off" or "unchanged"`, a.Name, on.name, on.what)
			}
		}
		b.m.Actuators = append(b.m.Actuators, a.Actuator)
	}
	return nil
}

// By how much the base's axes may be off the root frame's, and an axle off the
// base's y axis. Descriptions turn wheels by a rounded quarter turn; the others
// they needn't turn.
const (
	axisTolerance = 1e-9
	axleTolerance = 1e-2
)

func (b *equipper) base() error {
	e := b.e.Base
	if e == nil {
		b.m.Base = nil
		return nil
	}
	out := &Base{Radius: e.Radius, Track: e.Track}
	seen := map[int]bool{}
	for _, w := range []struct {
		what, joint string
		into        *int
		kind        JointType
	}{
		{"x", e.X, &out.X, Prismatic}, {"y", e.Y, &out.Y, Prismatic}, {"yaw", e.Yaw, &out.Yaw, Continuous},
		{"left", e.Left, &out.Left, Continuous}, {"right", e.Right, &out.Right, Continuous},
	} {
		i := b.m.ActiveIndex(w.joint)
		switch {
		case i < 0:
			return b.bad(e.Line, "base: %s: %q isn't a joint that can be commanded", w.what, w.joint)
		case seen[i]:
			return b.bad(e.Line, "base: joint %q is named twice", w.joint)
		case b.m.Joints[b.m.Active[i]].Type != w.kind:
			return b.bad(e.Line, "base: %s: joint %q is %s, not %s", w.what, w.joint, b.m.Joints[b.m.Active[i]].Type, w.kind)
		}
		seen[i] = true
		*w.into = i
	}
	for _, v := range []struct {
		what               string
		value, least, most float64
	}{{"radius", e.Radius, MinWheelRadius, MaxWheelRadius}, {"track", e.Track, MinTrack, MaxTrack}} {
		if limit := min(max(v.value, v.least), v.most); v.value != limit {
			if math.IsNaN(limit) {
				return b.bad(e.Line, "base: %s isn't a number", v.what)
			}
			return LimitErr(CodeInvalidArgument, fileLine(b.e.File, e.Line), v.value, limit, "m",
				fmt.Sprintf("base: %s must be from %g to %g m", v.what, v.least, v.most))
		}
	}
	at := b.m.Root
	for _, c := range []struct {
		what string
		i    int
		axis mgl64.Vec3
	}{{"x", out.X, mgl64.Vec3{1, 0, 0}}, {"y", out.Y, mgl64.Vec3{0, 1, 0}}, {"yaw", out.Yaw, mgl64.Vec3{0, 0, 1}}} {
		j := &b.m.Joints[b.m.Active[c.i]]
		if j.Parent != at {
			return b.bad(e.Line, "base: %s: joint %q doesn't hang on link %q; x, y and yaw follow each other from the root", c.what, j.Name, b.m.Links[at].Name)
		}
		turned := math.Abs(math.Abs(j.Origin.Q.W) - 1)
		if d := j.Axis.Sub(c.axis).Len(); d > axisTolerance || turned > axisTolerance {
			return b.bad(e.Line, "base: %s: joint %q isn't along the root frame's axis", c.what, j.Name)
		}
		at = j.Child
	}
	left, right := &b.m.Joints[b.m.Active[out.Left]], &b.m.Joints[b.m.Active[out.Right]]
	for _, j := range []*Joint{left, right} {
		axle := j.Origin.Q.Rotate(j.Axis)
		switch {
		case j.Parent != at:
			return b.bad(e.Line, "base: wheel %q doesn't hang on link %q, which the base's joints carry", j.Name, b.m.Links[at].Name)
		case axle.Sub(mgl64.Vec3{0, 1, 0}).Len() > axleTolerance:
			// The other way round the wheel would drive backwards where it counts forwards.
			return b.bad(e.Line, "base: wheel %q turns about (%.3g, %.3g, %.3g) of link %q; an axle points along y, to the left",
				j.Name, axle[0], axle[1], axle[2], b.m.Links[at].Name)
		}
	}
	if l, r := left.Origin.P[1], right.Origin.P[1]; !(l > r) {
		return b.bad(e.Line, "base: the left wheel %q is at y = %g m, the right wheel %q at %g m: left is the side of larger y", left.Name, l, right.Name, r)
	}
	b.m.Base = out
	return nil
}

func (b *equipper) references() error {
	b.m.References = nil
	for i := range b.e.References {
		e := &b.e.References[i]
		k := b.m.ActiveIndex(e.Joint)
		if k < 0 {
			return b.bad(e.Line, "reference: %q isn't a joint that can be commanded", e.Joint)
		}
		l, unit := b.m.Limits[k], b.m.Joints[b.m.Active[k]].Type.Unit()
		switch {
		case b.m.Reference(k) != nil:
			return b.bad(e.Line, "reference: joint %q is named twice", e.Joint)
		case b.m.Base.Carries(k):
			return b.bad(e.Line, "reference: joint %q is moved by the base's wheels", e.Joint)
		case !l.Bounded || !(e.Switch >= l.Lower && e.Switch <= l.Upper):
			return b.bad(e.Line, "reference: joint %q: the switch at %g %s isn't within the joint's limits", e.Joint, e.Switch, unit)
		case !(e.Speed > 0) || !(e.Speed <= l.Velocity):
			return LimitErr(CodeInvalidArgument, fileLine(b.e.File, e.Line), e.Speed, l.Velocity, unit+"/s",
				"reference: joint "+e.Joint+": the search's speed must be above 0 and no more than the joint's limit")
		case !(e.Travel > 0) || !finite(e.Travel):
			return b.bad(e.Line, "reference: joint %q: the search's travel must be finite and above 0, not %g", e.Joint, e.Travel)
		}
		r := Reference{Joint: k, Switch: e.Switch, Direction: -1, Speed: e.Speed, Travel: e.Travel}
		if e.Upper {
			r.Direction = 1
		}
		b.m.References = append(b.m.References, r)
	}
	slices.SortFunc(b.m.References, func(x, y Reference) int { return x.Joint - y.Joint })
	return nil
}
