package main

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/mcu/boardtest"
	"github.com/tau-robot/tau/robot"
)

// stockBench is the pan and tilt of the example on an emulated Arduino Uno with a
// StandardFirmata that nobody here wrote or built.
type stockBench struct{ *bench }

// stock starts one, and its bridge.
func stock(t *testing.T) *stockBench {
	t.Helper()
	return &stockBench{newBench(t, "pantilt", "pantilt-firmata2.toml", boardtest.Options{Map: "uno", Hex: boardtest.StandardFirmata(t)}, "--at", "home")}
}

// precise is by how much the firmware's other interrupts may move a pulse's edge, µs.
const precise = 10

// setpoints are the pulses of a joint since a mark.
func (b *stockBench) setpoints(from boardtest.Mark, joint int) (out []told) {
	b.t.Helper()
	for _, e := range b.board.Trace().Of(from, "servo") {
		if e.Int(0) == int64(joint) {
			out = append(out, told{at: e.At, q: []float64{b.hw.Joints[joint].Position(float64(e.Int(1)) / 1000)}})
		}
	}
	return out
}

// slipped is for how long the board stood still since a mark until a time.
func (b *stockBench) slipped(from boardtest.Mark) func(time.Duration) time.Duration {
	return func(until time.Duration) (sum time.Duration) {
		for _, e := range b.board.Trace().Of(from, "slip") {
			if e.At <= until {
				sum += time.Duration(e.Int(0))
			}
		}
		return sum
	}
}

// settles waits for the last pulses of a motion, and requires that they go on unchanged, as
// the places (rad) that it returns.
func (b *stockBench) settles() []float64 {
	b.t.Helper()
	b.board.Pass(3 * period)
	mark := b.board.Mark()
	b.board.Pass(10 * period)
	at := make([]float64, len(b.hw.Joints))
	for j := range at {
		got := b.setpoints(mark, j)
		require.NotEmpty(b.t, got, "%s has no pulses", b.hw.Joints[j].Name)
		at[j] = got[0].q[0]
		for _, p := range got {
			require.InDelta(b.t, at[j], p.q[0], precise/b.hw.Joints[j].Scale, "%s moves", b.hw.Joints[j].Name)
		}
	}
	return at
}

// under has a slow motion of the pan to its other side approved, and returns it once the
// pulses are on their way.
func (b *stockBench) under() (m robot.Motion, mark boardtest.Mark, ok bool) {
	b.t.Helper()
	at := b.settles()[0]
	to := 1.2
	if at > 0 {
		to = -to
	}
	if m, ok = b.asked("move_joints speed_scale=0.3 pan=" + strconv.FormatFloat(to, 'g', -1, 64)); !ok {
		return m, 0, false
	}
	mark = b.board.Mark()
	b.answers("y")
	return m, mark, b.begun(func() bool {
		got := b.setpoints(mark, 0)
		return len(got) > 0 && abs(got[len(got)-1].q[0]-at) > 0.1
	})
}

// Approved, the pulses of a stock board follow the very trajectory that was stored for
// approval, and what is said of it are setpoints; refused, none changes; stopped, they brake
// on their way and hold. Then the cable comes out: the servos hold, what became of the motion
// nobody knows, and a link that is back moves nothing.
func TestHILFirmataApprovedRefusedStoppedUnplugged(t *testing.T) {
	onBench(t, stock, func(t *testing.T, b *stockBench) bool {
		b.typed("move_joints pan=0.5\r")
		if !b.sees("NOT_ENABLED") {
			return false
		}
		require.Empty(t, b.board.Trace().Of(0, "servo"), "nothing is powered before that was approved")
		if !b.approved("torque_on", "✓ torque_on") {
			return false
		}
		require.InDeltaSlice(t, []float64{0, 0}, b.settles(), precise/590.8)

		for _, line := range []string{"move_joints pan=1.1 tilt=-0.6", "move_joints pan=-1.2 tilt=0.7 speed_scale=0.5"} {
			m, ok := b.asked(line)
			if !ok {
				return false
			}
			id, mark := callLine.FindStringSubmatch(b.shown())[1], b.board.Mark()
			b.answers("y")
			if !b.sees("✓ move_joints: done") || !b.sees("the setpoints have the tip at") || !b.sees("tau> ") {
				return false
			}
			b.board.Pass(3 * period)
			for j := range b.hw.Joints {
				along(t, m.Trajectory, []int{j}, b.setpoints(mark, j), []float64{precise / b.hw.Joints[j].Scale}, b.slipped(mark))
			}
			rec, err := b.fetch(id)
			require.NoError(t, err)
			require.Contains(t, string(rec.Answer), `"setpoints":{`)
			require.Contains(t, string(rec.Answer), `"measured":false`)
		}

		at := b.settles()
		if !b.carded("move_joints pan=0.4") {
			return false
		}
		b.answers("n")
		if !b.sees("✗ move_joints: not approved") {
			return false
		}
		require.InDeltaSlice(t, at, b.settles(), precise/590.8, "refused, and moved")

		m, mark, ok := b.under()
		if !ok {
			return false
		}
		b.typed("stop\r")
		if !b.sees("gobot: commanded yes, acknowledged yes, stationary unknown") || !b.sees("tau> ") {
			return false
		}
		if at = b.settles(); abs(at[0]-m.Trajectory.End()[0]) < 0.05 {
			return false // it was at its end before
		}
		b.neverBack(mark)

		if m, mark, ok = b.under(); !ok {
			return false
		}
		b.board.Unplug()
		if !b.unknown() {
			return false
		}
		at = b.settles()
		require.Greater(t, abs(at[0]-m.Trajectory.End()[0]), 0.05, "it didn't go on")
		b.neverBack(mark)
		b.board.Plug()
		b.await("the robot is there again; it moves nothing")
		for _, line := range []string{"move_joints pan=0", "torque_on"} {
			b.typed(line + "\r")
			if !b.sees("estop_reset first") {
				return false
			}
		}
		require.InDeltaSlice(t, at, b.settles(), precise/590.8, "a link that is back moved it")
		if !b.approved("estop_reset", "✓ estop_reset") || !b.approved("torque_on", "✓ torque_on") {
			return false
		}
		require.InDeltaSlice(t, at, b.settles(), precise/590.8, "recovering moved it")
		return b.approved("move_joints pan=0", "✓ move_joints: done")
	})
}

// neverBack requires that the pan never went back on its way since a mark.
func (b *stockBench) neverBack(from boardtest.Mark) {
	b.t.Helper()
	got := b.setpoints(from, 0)
	way := got[len(got)-1].q[0] - got[0].q[0]
	for i := 1; i < len(got); i++ {
		require.GreaterOrEqual(b.t, (got[i].q[0]-got[i-1].q[0])*way, -precise/b.hw.Joints[0].Scale*abs(way), "it turned round")
	}
}
