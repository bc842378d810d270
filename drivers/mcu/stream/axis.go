package stream

import (
	"math"

	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
)

// PerUnit is how many position units of the wire a channel's own unit (µs or step)
// has, and how many units of velocity a position unit per ms.
const PerUnit = 256

// Spare is the Joint of a channel that no joint of the robot uses.
const Spare = -1

// Axis is one joint of the board, in the order of its channels, and how the wire
// speaks of it.
type Axis struct {
	Name  string // for errors
	Unit  string // "rad" or "m"
	Joint int    // which of the trajectory's, or Spare
	// Zero is where the joint's position 0 is, in the channel's unit (µs or steps),
	// Scale how many of it a rad or m has, negative where the channel counts the
	// other way. A Spare holds at Zero.
	Zero, Scale float64
	// Limits are what CONFIGURE told the board, by Unreferenced for a joint that
	// isn't yet.
	Limits wire.Limits
}

// Wire returns a position, rad or m, on the wire, to the nearest. It keeps order, so
// what lies within limits lies within the rounded limits. What is beyond the wire's
// range is held to it.
func (a *Axis) Wire(q float64) int32 { return int32(math.Round(a.units(q))) }

// Position returns where a position on the wire is, rad or m.
func (a *Axis) Position(w int32) float64 { return (float64(w)/PerUnit - a.Zero) / a.Scale }

// Distance returns a way on the wire in rad or m, without its direction.
func (a *Axis) Distance(units float64) float64 { return math.Abs(units / PerUnit / a.Scale) }

// Velocity returns a velocity, rad/s or m/s, on the wire, to the nearest and held to
// the wire's range.
func (a *Axis) Velocity(v float64) int32 {
	return int32(math.Round(hold(v*a.Scale*PerUnit*PerUnit/1000, wire.MaxV)))
}

// units is Wire before it is rounded.
func (a *Axis) units(q float64) float64 { return hold((a.Zero+a.Scale*q)*PerUnit, wire.MaxQ) }

func hold(x, most float64) float64 { return math.Max(-most, math.Min(most, x)) }

// check refuses an axis that can't say anything.
func (a *Axis) check(joints int) error {
	switch {
	case a.Joint != Spare && (a.Joint < 0 || a.Joint >= joints):
		return robot.Errf(robot.CodeInvalidArgument, a.Name, "it is joint %d of a trajectory that has %d", a.Joint, joints)
	case a.Joint != Spare && !(a.Scale != 0 && math.Abs(a.Scale) <= math.MaxFloat32):
		return robot.Errf(robot.CodeInvalidArgument, a.Name, "its scale %g isn't one", a.Scale)
	case !(math.Abs(a.Zero) <= math.MaxFloat32):
		return robot.Errf(robot.CodeInvalidArgument, a.Name, "its zero %g isn't one", a.Zero)
	case a.Limits.V == 0 || a.Limits.A == 0:
		return robot.Errf(robot.CodeInvalidArgument, a.Name, "it has no limits of velocity and acceleration")
	}
	return nil
}
