package main

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/mcu/boardtest"
	"github.com/tau-robot/tau/drivers/mcu/wire"
)

// steppers is the gantry of the example on an emulated board, switched on a little way from
// each of its switches.
func steppers(t *testing.T) *bench {
	t.Helper()
	o := boardtest.Options{Map: "stepper3", Bytes: true}
	for joint, j := range []struct {
		scale, at float64 // steps per m; m
		from      float64 // where the joint is when it is switched on
		above     bool
	}{{20000, -0.298, -0.29, false}, {-20000, -0.198, -0.195, true}, {100000, -0.002, -0.004, true}} {
		o.SwitchAt = append(o.SwitchAt, boardtest.SwitchAt{Joint: joint, Position: int(math.Round(j.scale * (j.at - j.from))), Above: j.above})
	}
	return newBench(t, "gantry", "gantry-stepper3.toml", o)
}

// steps is where the steps on a joint's pins have taken it by now.
func (b *bench) steps(joint int) int64 {
	b.t.Helper()
	return b.board.Trace().StepsAt(b.hw.Joints[joint].Channel, b.now())
}

// does has a line approved and waits for its end.
func (b *bench) does(line, end string) bool {
	b.t.Helper()
	return b.approved(line, end) && b.sees("tau> ")
}

// Each joint finds its switch, and from there a motion makes exactly the steps that were
// approved; refused it makes none. A switch that closes in mid-motion ends it.
func TestHILSteppers(t *testing.T) {
	onBench(t, steppers, func(t *testing.T, b *bench) bool {
		if !b.approved("torque_on", "✓ torque_on") {
			return false
		}
		b.board.Wait(0, "the drivers' power", func(e boardtest.Event) bool { return e.Is("enable", 1) })
		b.typed("move_joints x=0\r")
		if !b.sees("✗ move_joints: NOT_CALIBRATED") {
			return false
		}
		for _, name := range []string{"z", "x", "y"} {
			mark := b.board.Mark()
			if !b.does("reference "+name, "✓ reference: done") {
				return false
			}
			for i, j := range b.hw.Joints {
				if j.Name == name {
					b.board.Wait(mark, name+"'s switch", func(e boardtest.Event) bool { return e.Is("switch", int64(j.Channel), 1) })
					require.NotZero(t, b.steps(i))
				}
			}
		}
		// Off the switches, from where the steps are whole.
		if !b.does("move_joints x=-0.29 y=-0.19 z=-0.01", "✓ move_joints: done") {
			return false
		}
		var at [3]int64
		for i := range at {
			at[i] = b.steps(i)
		}
		from := b.now()
		m, ok := b.asked("move_joints x=-0.25 y=-0.17 z=-0.015")
		if !ok {
			return false
		}
		b.answers("y")
		if !b.sees("✓ move_joints: done") || !b.sees("tau> ") {
			return false
		}
		b.board.Pass(period)
		start := b.first(wire.TypeGo, from)
		n := len(m.Trajectory.Joints)
		q, v, a := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range at {
			j := &b.hw.Joints[i]
			want := math.Round(j.Units(m.Trajectory.End()[i])) - math.Round(j.Units(m.Trajectory.Start()[i]))
			require.InDelta(t, want, b.steps(i)-at[i], 0, "%s makes the steps that were approved", j.Name)
			// Within 1 % of the motion and 25 ms at any time on its way.
			for _, e := range b.board.Trace().Of(0, "steps", int64(j.Channel)) {
				if e.At < start || e.At > start+seconds(m.Trajectory.Duration()) {
					continue
				}
				near := math.Inf(1)
				for back := time.Duration(0); back <= late; back += time.Millisecond {
					m.Trajectory.Sample(min(max((e.At-back-start).Seconds(), 0), m.Trajectory.Duration()), q, v, a)
					near = min(near, math.Abs(j.Units(q[i])-j.Units(m.Trajectory.Start()[i])-float64(e.Int(1)-at[i])))
				}
				require.LessOrEqual(t, near, within*(b.model.Limits[i].Upper-b.model.Limits[i].Lower)*j.Scale, "%s at %v", j.Name, e.At-start)
			}
		}
		require.Empty(t, b.board.Trace().Of(0, "unpowered"))
		require.Empty(t, b.board.Trace().Of(0, "marginal"))

		from = b.now()
		if !b.carded("move_joints x=-0.2") {
			return false
		}
		b.answers("n")
		if !b.sees("✗ move_joints: not approved") {
			return false
		}
		b.board.Pass(10 * period)
		b.quiet(from)
		mark := b.board.Mark()
		require.Equal(t, at[0]+800, b.steps(0))

		// Its switch closes in mid-motion.
		if !b.carded("move_joints x=0.1") {
			return false
		}
		b.answers("y")
		if !b.begun(func() bool { return b.board.Trace().StepsAt(0, b.board.Trace().Now()) > at[0]+900 }) {
			return false
		}
		b.board.Switch(0, true)
		if !b.sees("✗ move_joints: JOINT_LIMIT") {
			return false
		}
		closed := b.when(mark, "switch", 0, 1)
		b.passes(closed + time.Second)
		rest := b.steps(0)
		// 2,000 steps/s: what it goes on in is bounded by its acceleration and its ramp.
		l := b.model.Limits[0]
		way := l.Velocity*(0.005+l.Acceleration/l.Jerk) + l.Velocity*l.Velocity/(2*l.Acceleration)
		require.LessOrEqual(t, float64(rest-b.board.Trace().StepsAt(0, closed)), way*b.hw.Joints[0].Scale+1)
		b.board.Pass(10 * period)
		require.Equal(t, rest, b.steps(0), "it stands")
		require.Empty(t, b.board.Trace().Of(mark, "enable", 0), "and is held")
		b.typed("move_joints x=-0.2 y=-0.1\r")
		if !b.sees("✗ move_joints: JOINT_LIMIT") {
			return false
		}
		b.board.SwitchAuto(0)
		return b.approved("estop_reset", "✓ estop_reset") && b.approved("torque_on", "✓ torque_on") &&
			b.does("reference x", "✓ reference: done")
	})
}
