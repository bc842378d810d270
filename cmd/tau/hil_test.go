package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/mcu/boardtest"
	"github.com/tau-robot/tau/drivers/mcu/wire"
)

// Approved, the pulses follow the very trajectory that was stored for approval, and the
// result is of setpoints; refused, none changes and nothing is said to the board; stopped,
// they brake as the limits have it, and hold.
func TestHILApprovedRefusedStopped(t *testing.T) {
	onBench(t, servos, func(t *testing.T, b *bench) bool {
		b.typed("move_joints pan=0.5\r")
		if !b.sees("NOT_ENABLED") {
			return false
		}
		require.Empty(t, b.board.Trace().Of(0, "servo"), "nothing is powered before that was approved")
		if !b.powers() {
			return false
		}
		for _, line := range []string{"move_joints pan=1.2 tilt=-0.6", "move_joints pan=-1.3 tilt=0.8 speed_scale=0.3"} {
			m, ok := b.asked(line)
			if !ok {
				return false
			}
			id, from := callLine.FindStringSubmatch(b.shown())[1], b.now()
			b.answers("y")
			if !b.sees("✓ move_joints: done") || !b.sees("the setpoints have the tip at") || !b.sees("tau> ") {
				return false
			}
			b.follows(m, b.first(wire.TypeGo, from))
			rec, err := b.fetch(id)
			require.NoError(t, err)
			require.Contains(t, string(rec.Answer), `"setpoints":{`)
			require.Contains(t, string(rec.Answer), `"measured":false`)
			require.NotContains(t, string(rec.Answer), `"positions":{`, "nothing was measured")
		}

		from := b.now()
		if !b.carded("move_joints pan=0.4") {
			return false
		}
		b.answers("n")
		if !b.sees("✗ move_joints: not approved") {
			return false
		}
		b.board.Pass(10 * period)
		b.unchanged(from)
		b.quiet(from)

		m, start, ok := b.midway()
		if !ok {
			return false
		}
		b.typed("stop\r")
		if !b.sees("commanded yes, acknowledged yes, stationary unknown") || !b.sees("the setpoints stand still") || !b.sees("tau> ") {
			return false
		}
		if !b.brakes(m, start, b.first(wire.TypeStop, start), 2*time.Millisecond, true) {
			return false
		}
		return true
	})
}

// What needs no pins, on the board that TAU_HIL_PORT names where there is one: keep its
// servos' horns free from 1400 to 1540 µs.
func TestHILOnABoardOfYourOwn(t *testing.T) {
	onBench(t, func(t *testing.T) *bench {
		t.Helper()
		args := []string{"--at", "home"}
		if os.Getenv(boardtest.PortVariable) != "" {
			args = append(args, "--reset-on-open")
		}
		return newBench(t, "pantilt", "pantilt-servo2.toml", boardtest.Options{Map: "servo2", RealToo: true}, args...)
	}, func(t *testing.T, b *bench) bool {
		if !b.approved("torque_on", "✓ torque_on") || !b.approved("move_joints pan=0.1", "✓ move_joints: done") ||
			!b.sees("the setpoints have the tip at") || !b.carded("move_joints pan=0.05") {
			return false
		}
		b.answers("n")
		if !b.sees("✗ move_joints: not approved") {
			return false
		}
		if !b.carded("move_joints pan=-0.1 speed_scale=0.02") {
			return false
		}
		b.answers("y")
		if !b.sees("move_joints: running") {
			return false
		}
		b.typed("stop\r")
		if !b.sees("mcu: commanded yes, acknowledged yes, stationary unknown") {
			return false
		}
		b.typed("quit\r")
		require.Equal(t, 0, b.status(), b.out)
		return true
	})
}
