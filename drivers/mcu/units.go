package mcu

import (
	"fmt"
	"math"
	"time"

	"github.com/tau-robot/tau/drivers/mcu/stream"
	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// axis is one active joint and how the wire speaks of it.
type axis struct {
	hw     *hardware.Joint
	unit   string // "rad" or "m"
	limits robot.JointLimits
	// smallest is what of its position can be told apart by its feedback, rad or m; 0: it
	// has none.
	smallest float64
	config   wire.Configure
	on       stream.Axis // without its limits
}

// newAxes makes the axes of a robot from its file and its model, whichever is tighter.
func newAxes(m *robot.Model, f *hardware.File) ([]axis, error) {
	limits := f.Limits(m)
	out := make([]axis, len(f.Joints))
	for i := range f.Joints {
		a := &out[i]
		a.hw, a.unit = &f.Joints[i], m.Joints[m.Active[i]].Type.Unit()
		a.on = stream.Axis{Name: a.hw.Name, Unit: a.unit, Joint: i, Zero: a.hw.Zero, Scale: a.hw.Direction * a.hw.Scale}
		a.limits = limits[i].Tighter(m.Limits[i])
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

// wire returns a position on the wire, rounded to the nearest.
func (a *axis) wire(q float64) int32 { return a.on.Wire(q) }

// position returns where a position on the wire is, rad or m.
func (a *axis) position(w int32) float64 { return a.on.Position(w) }

// streamed is what a plan is made for: all joints of the board, by channel, with the
// limits that it was told; Robot.mu is held.
func (r *Robot) streamed() []stream.Axis {
	out := make([]stream.Axis, r.board.hello.Joints)
	limits := func(c *wire.Configure) wire.Limits {
		return wire.Limits{Lower: c.Lower, Upper: c.Upper, V: c.V, A: c.A, Ramp: c.Ramp, Referenced: true}
	}
	for i := range r.board.spare {
		c := &r.board.spare[i]
		out[c.Channel] = stream.Axis{
			Name: fmt.Sprintf("spare joint %d", c.Channel), Joint: stream.Spare,
			Zero: float64(c.Lower) / stream.PerUnit, Limits: limits(c),
		}
	}
	for i := range r.axes {
		a := r.axes[i].on
		a.Limits = limits(&r.axes[i].config)
		if r.unref[i] {
			a.Limits = a.Limits.Unreferenced()
		}
		out[r.axes[i].hw.Channel] = a
	}
	return out
}

// rate is how many pieces of all joints the line carries in a second.
func (r *Robot) rate() float64 {
	joints := int(r.board.hello.Joints)
	bytes := 0
	for at := 0; at < joints; at += wire.MaxKnots {
		bytes += wire.Overhead + 3 + 7*min(wire.MaxKnots, joints-at)
	}
	const beats = float64(time.Second/heartbeatPeriod) * (wire.Overhead + 4)
	return (capacity(r.opts.Baud) - beats) / float64(bytes)
}

// shortest is how long a piece is at least, ms, so that the board's queue holds enough
// of a motion.
func (r *Robot) shortest() int {
	pieces := int(r.board.hello.Queue) / wire.PieceBytes(int(r.board.hello.Joints))
	return min(stream.DefaultMaxTicks, max(stream.DefaultMinTicks, (buffered+pieces-1)/max(1, pieces)))
}

// configure fills in what the board is told of the joint. The brake's ramp is rounded
// down: a brake that builds up faster is shorter, and so never longer than what the
// planner left room for.
func (a *axis) configure(flags wire.JointFlags) error {
	l, h := &a.limits, a.hw
	if !l.Bounded {
		return robot.Errf(robot.CodeInvalidArgument, h.Name, "the joint has no limits of position, and a board needs some")
	}
	for _, q := range [...]float64{l.Lower, l.Upper} {
		if u := h.Units(q) * stream.PerUnit; math.Abs(u) > wire.MaxQ {
			return robot.LimitErr(robot.CodeInvalidArgument, h.Name, h.Units(q), wire.MaxQ/stream.PerUnit, h.Kind.Unit(),
				"the limit of position is more than the wire can say; correct zero and scale")
		}
	}
	lower, upper := a.wire(l.Lower), a.wire(l.Upper)
	v := math.Round(l.Velocity * h.Scale * stream.PerUnit * stream.PerUnit / 1000)
	acc := math.Round(l.Acceleration * h.Scale * stream.PerUnit * 65536 / 1e6)
	ramp := math.Floor(l.Acceleration/l.Jerk*1000 + 1e-6)
	for _, k := range [...]struct {
		what            string
		value, from, to float64
	}{
		{"velocity", v, 1, wire.MaxV}, {"acceleration", acc, math.Max(1, v*stream.PerUnit/wire.MaxStopping), wire.MaxA}, {"acceleration / jerk", ramp, 0, wire.MaxRamp},
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
