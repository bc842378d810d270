package stream_test

import (
	"math"

	"github.com/stretchr/testify/require"

	"pgregory.net/rapid"

	"github.com/tau-robot/tau/drivers/mcu/stream"
	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/motion/trajectory"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
)

// models are the built-in robots that a board can have the joints of.
func models(t interface{ Fatal(...any) }) []*robot.Model {
	var out []*robot.Model
	for _, name := range builtin.Names() {
		m, err := builtin.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(m.Limits); n > 0 && n <= wire.MaxJoints {
			out = append(out, m)
		}
	}
	return out
}

// axes are a board's for a robot: servos whose travel is 2,000 µs, or steppers, some of
// them mounted the other way.
func axes(m *robot.Model, stepper bool) []stream.Axis {
	var out []stream.Axis
	for i, l := range m.Limits {
		a := stream.Axis{Name: m.Joints[m.Active[i]].Name, Unit: m.Joints[m.Active[i]].Type.Unit(), Joint: i}
		lower, upper := l.Lower, l.Upper
		if !l.Bounded {
			lower, upper = -math.Pi, math.Pi
		}
		a.Scale, a.Zero = 2000/(upper-lower), 1500-1000/(upper-lower)*(upper+lower)
		if stepper {
			a.Scale, a.Zero = 10000/(upper-lower), 0
		}
		if i%2 == 1 {
			a.Scale = -a.Scale
			if !stepper {
				a.Zero = 3000 - a.Zero
			}
		}
		x, y := a.Wire(lower), a.Wire(upper)
		scale := math.Abs(a.Scale) * stream.PerUnit
		a.Limits = wire.Limits{
			Lower: min(x, y), Upper: max(x, y), Referenced: true,
			V: uint32(math.Round(l.Velocity * scale * 256 / 1000)), A: uint32(math.Round(l.Acceleration * scale * 65536 / 1e6)),
			Ramp: uint16(max(1, math.Floor(l.Acceleration/l.Jerk*1000+1e-6))),
		}
		out = append(out, a)
	}
	return out
}

// place draws a configuration within the limits; a third of its joints are at an end.
func place(t *rapid.T, m *robot.Model, name string) []float64 {
	q := make([]float64, len(m.Limits))
	for i, l := range m.Limits {
		lower, upper := l.Lower, l.Upper
		if !l.Bounded {
			lower, upper = -math.Pi, math.Pi
		}
		switch rapid.IntRange(0, 5).Draw(t, name) {
		case 0:
			q[i] = lower
		case 1:
			q[i] = upper
		default:
			q[i] = lower + (upper-lower)*rapid.Float64Range(0, 1).Draw(t, name)
		}
	}
	return q
}

// starts is where a board is that stands at a configuration.
func starts(axes []stream.Axis, q []float64) []int32 {
	out := make([]int32, len(axes))
	for i := range axes {
		if axes[i].Joint == stream.Spare {
			out[i] = axes[i].Wire(0)
			continue
		}
		out[i] = axes[i].Wire(q[axes[i].Joint])
	}
	return out
}

// line is a straight motion of a robot at part of its limits.
func line(t require.TestingT, m *robot.Model, from, to []float64, scale float64) robot.Trajectory {
	names := make([]string, len(m.Limits))
	for i, j := range m.Active {
		names[i] = m.Joints[j].Name
	}
	tr, err := trajectory.PointToPoint(names, m.Limits, from, to, scale)
	require.NoError(t, err)
	return tr
}

// longest is how long a drawn motion lasts or so, s.
const longest = 3.0

// drawn is a random motion of a random robot and a board's axes for it, in an order of
// channels of their own.
func drawn(t *rapid.T, all []*robot.Model) (*robot.Model, robot.Trajectory, []stream.Axis) {
	m := rapid.SampledFrom(all).Draw(t, "robot")
	ax := rapid.Permutation(axes(m, rapid.Bool().Draw(t, "stepper"))).Draw(t, "channels")
	from, to := place(t, m, "from"), place(t, m, "to")
	scale := rapid.Float64Range(0.1, 1).Draw(t, "scale")
	tr := line(t, m, from, to, scale)
	if d := tr.Duration(); d > longest {
		// The same end, from nearer.
		for i := range from {
			from[i] = to[i] + (from[i]-to[i])*longest/d/2
		}
		tr = line(t, m, from, to, scale)
	}
	return m, tr, ax
}

// one is a robot of a single servo joint: 256 position units a rad, from -π to π, at
// most 1 rad/s, 10 rad/s², 100 rad/s³.
func one() stream.Axis {
	return stream.Axis{Name: "pan", Unit: "rad", Scale: 1000, Zero: 5000, Limits: wire.Limits{
		Lower: 256 * 2000, Upper: 256 * 8000, Referenced: true, V: 65536, A: 167772, Ramp: 100,
	}}
}

// motion is a straight motion of that robot.
func motion(t require.TestingT, from, to float64) robot.Trajectory {
	tr, err := trajectory.PointToPoint([]string{"pan"}, []robot.JointLimits{{
		Bounded: true, Lower: -3, Upper: 3, Velocity: 1, Acceleration: 10, Jerk: 100,
	}}, []float64{from}, []float64{to}, 1)
	require.NoError(t, err)
	return tr
}
