package mcu

import (
	"fmt"
	"math"

	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// perUnit is what the wire has for one of a channel's own units.
const perUnit = 256

// axis is one active joint and how the wire speaks of it.
type axis struct {
	hw     *hardware.Joint
	unit   string // "rad" or "m"
	limits robot.JointLimits
	// smallest is what of its position can be told apart by its feedback, rad or m; 0: it
	// has none.
	smallest float64
	config   wire.Configure
}

// newAxes makes the axes of a robot from its file and its model, whichever is tighter.
func newAxes(m *robot.Model, f *hardware.File) ([]axis, error) {
	limits := f.Limits(m)
	out := make([]axis, len(f.Joints))
	for i := range f.Joints {
		a := &out[i]
		a.hw, a.unit = &f.Joints[i], m.Joints[m.Active[i]].Type.Unit()
		a.limits = tighter(limits[i], m.Limits[i])
		if err := a.limits.Validate(a.hw.Name); err != nil {
			return nil, err
		}
		switch a.hw.Feedback {
		case hardware.Steps:
			a.smallest = 1 / a.hw.Scale
		case hardware.ADC:
			first, last := a.hw.Points[0], a.hw.Points[len(a.hw.Points)-1]
			a.smallest = math.Abs((last.Position - first.Position) / (last.Counts - first.Counts))
		}
		var flags wire.JointFlags
		if f.EStopPowersOff {
			flags |= wire.EStopPowersOff
		}
		if f.LostLinkPowersOff {
			flags |= wire.LostPowersOff
		}
		if err := a.configure(flags); err != nil {
			return nil, err
		}
		if ref := m.Reference(i); ref != nil {
			if err := a.room(ref); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// tighter is what both of two limits allow.
func tighter(a, b robot.JointLimits) robot.JointLimits {
	if b.Bounded {
		if !a.Bounded {
			a.Bounded, a.Lower, a.Upper = true, b.Lower, b.Upper
		}
		a.Lower, a.Upper = math.Max(a.Lower, b.Lower), math.Min(a.Upper, b.Upper)
	}
	a.Velocity, a.Acceleration, a.Jerk = math.Min(a.Velocity, b.Velocity), math.Min(a.Acceleration, b.Acceleration), math.Min(a.Jerk, b.Jerk)
	return a
}

// wire returns a position on the wire, rounded to the nearest. Rounding keeps order, so
// what lies within limits lies within the rounded limits. q is finite and within what
// configure has accepted, or near it.
func (a *axis) wire(q float64) int32 {
	return int32(math.Round(math.Max(-wire.MaxQ, math.Min(wire.MaxQ, a.hw.Units(q)*perUnit))))
}

// position returns where a position on the wire is, rad or m.
func (a *axis) position(w int32) float64 { return a.hw.Position(float64(w) / perUnit) }

// configure fills in what the board is told of the joint. The brake's ramp is rounded
// down: a brake that builds up faster is shorter, and so never longer than what the
// planner left room for.
func (a *axis) configure(flags wire.JointFlags) error {
	l, h := &a.limits, a.hw
	if !l.Bounded {
		return robot.Errf(robot.CodeInvalidArgument, h.Name, "the joint has no limits of position, and a board needs some")
	}
	for _, q := range [...]float64{l.Lower, l.Upper} {
		if u := h.Units(q) * perUnit; math.Abs(u) > wire.MaxQ {
			return robot.LimitErr(robot.CodeInvalidArgument, h.Name, h.Units(q), wire.MaxQ/perUnit, h.Kind.Unit(),
				"the limit of position is more than the wire can say; correct zero and scale")
		}
	}
	lower, upper := a.wire(l.Lower), a.wire(l.Upper)
	v := math.Round(l.Velocity * h.Scale * perUnit * perUnit / 1000)
	acc := math.Round(l.Acceleration * h.Scale * perUnit * 65536 / 1e6)
	ramp := math.Floor(l.Acceleration/l.Jerk*1000 + 1e-6)
	for _, k := range [...]struct {
		what            string
		value, from, to float64
	}{
		{"velocity", v, 1, wire.MaxV}, {"acceleration", acc, math.Max(1, v*perUnit/wire.MaxStopping), wire.MaxA}, {"acceleration / jerk", ramp, 0, wire.MaxRamp},
	} {
		if !(k.value >= k.from && k.value <= k.to) {
			return robot.Errf(robot.CodeInvalidArgument, h.Name, "its limit of %s is %.6g on the wire, which takes %.6g to %.6g; correct the limits or the scale", k.what, k.value, k.from, k.to)
		}
	}
	a.config = wire.Configure{
		Channel: byte(h.Channel), Flags: flags, Lower: min(lower, upper), Upper: max(lower, upper),
		V: uint32(v), A: uint32(acc), Ramp: uint16(math.Max(1, ramp)),
	}
	return nil
}

// room refuses a reference switch behind which the joint has no room to brake within
// its limits: the board couldn't be told where it is.
func (a *axis) room(ref *robot.Reference) error {
	var way float64
	for _, p := range robot.Brake(0, ref.Speed, 0, a.limits) {
		way += p.Duration * (p.V + p.Duration*(p.A/2+p.Duration*p.J/6))
	}
	end := ref.Switch + ref.Direction*way
	if end >= a.limits.Lower && end <= a.limits.Upper {
		return nil
	}
	limit := a.limits.Lower
	if ref.Direction > 0 {
		limit = a.limits.Upper
	}
	return robot.LimitErr(robot.CodeInvalidArgument, a.hw.Name, end, limit, a.unit,
		fmt.Sprintf("a search at %g %s/s that meets its switch at %g %s comes to rest beyond the joint's limit; search more slowly, or move the limit", ref.Speed, a.unit, ref.Switch, a.unit))
}
