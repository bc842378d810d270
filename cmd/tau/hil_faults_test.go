package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/mcu/boardtest"
	"github.com/tau-robot/tau/drivers/mcu/wire"
)

// when is the time of a board's event from a mark on.
func (b *bench) when(mark boardtest.Mark, kind string, numbers ...int64) time.Duration {
	b.t.Helper()
	return b.board.Wait(mark, kind, func(e boardtest.Event) bool { return e.Is(kind, numbers...) }).At
}

// recovers has what is latched cleared and the joints powered, each approved.
func (b *bench) recovers() bool {
	b.t.Helper()
	return b.approved("estop_reset", "✓ estop_reset") && b.powers()
}

// The button in mid-motion: the board brakes by itself and, as the file says, takes the
// power off; nothing is let go by itself when the button is. Then a board whose clock
// stands: nobody can know what becomes of the motion, and once the clock goes on again it
// finds no host in its line, brakes, and holds.
func TestHILTheButtonAndAFrozenBoard(t *testing.T) {
	onBench(t, servos, func(t *testing.T, b *bench) bool {
		if !b.powers() {
			return false
		}
		m, start, ok := b.midway()
		if !ok {
			return false
		}
		mark := b.board.Mark()
		b.board.Button(true)
		if !b.sees("✗ move_joints: ESTOPPED: mcu: the board's e-stop input is active") || !b.brakes(m, start, b.when(mark, "button", 1), 3*time.Millisecond, false) {
			return false
		}
		from := b.now()
		if !b.approved("estop_reset", "✗ estop_reset: ESTOPPED") {
			return false
		}
		b.board.Button(false)
		b.typed("state\r")
		if !b.sees("torque no, e-stop latched yes") {
			return false
		}
		b.typed("move_joints pan=0\r")
		if !b.sees("✗ move_joints: ESTOPPED") {
			return false
		}
		b.silent(from)
		if !b.recovers() {
			return false
		}

		if m, start, ok = b.midway(); !ok {
			return false
		}
		froze := b.board.Do("freeze").At
		if !b.unknown("the robot isn't there") {
			return false
		}
		thawed := b.board.Do("thaw").At // the trace's time has gone on
		b.await("the robot is there again; it moves nothing")
		if !b.brakes(m, start, froze, thawed-froze+watchdog, true) {
			return false
		}
		from = b.now()
		b.refusedUntilCleared(from)
		return b.recovers()
	})
}

// watchdog is how long the board goes on without its host at most.
const watchdog = (wire.Watchdog + 5) * time.Millisecond

// refusedUntilCleared requires that nothing moves after a lost link, whatever is asked.
func (b *bench) refusedUntilCleared(from time.Duration) {
	b.t.Helper()
	b.typed("move_joints pan=0\r")
	b.await("estop_reset first")
	b.typed("torque_on\r")
	b.await("estop_reset first")
	b.board.Pass(10 * period)
	b.unchanged(from)
	b.quiet(from)
}

// The bridge is killed in mid-motion: the board brakes by itself and holds. The next one
// has an opt-in of its own, says that nobody knows what became of the motion, and moves
// nothing before it was cleared and powered anew. Then the cable comes out.
func TestHILTheBridgeIsKilledAndTheCableComesOut(t *testing.T) {
	onBench(t, servos, func(t *testing.T, b *bench) bool {
		if !b.powers() {
			return false
		}
		m, start, ok := b.midway()
		if !ok {
			return false
		}
		b.kill9()
		heard := b.line("rx", start)
		require.NotEmpty(t, heard)
		if !b.brakes(m, start, heard[len(heard)-1].at, watchdog, true) {
			return false
		}
		from := b.now()
		b.begins(t, "may move a REAL robot until", "ran when the bridge ended: what it did can't be known, and it is not run again")
		b.refusedUntilCleared(from)
		if !b.recovers() {
			return false
		}

		if m, start, ok = b.midway(); !ok {
			return false
		}
		mark := b.board.Mark()
		b.board.Unplug()
		out := b.when(mark, "unplugged")
		if !b.unknown() {
			return false
		}
		if !b.brakes(m, start, out, watchdog, true) {
			return false
		}
		b.typed("stop\r")
		b.await("mcu: commanded no, acknowledged no, stationary unknown")
		from = b.now()
		b.board.Plug()
		b.await("the robot is there again; it moves nothing")
		b.refusedUntilCleared(from)
		return b.recovers()
	})
}

// The board boots in mid-motion, by its reset pin and by its supply: its pulses end, and
// it has forgotten where everything is, so that nothing can be powered before a person has
// said that anew, by another start.
func TestHILTheBoardBootsAgain(t *testing.T) {
	onBench(t, servos, func(t *testing.T, b *bench) bool {
		for _, how := range []struct {
			boots func()
			cause string
			text  string
		}{
			{b.board.Reset, "reset", "the board has restarted and has forgotten"},
			{b.board.BrownOut, "brownout", "the board has restarted (its supply had broken down: brown-out) and has forgotten"},
		} {
			if !b.powers() {
				return false
			}
			if _, _, ok := b.midway(); !ok {
				return false
			}
			mark := b.board.Mark()
			how.boots()
			boot := b.board.Wait(mark, "a boot", func(e boardtest.Event) bool { return e.Kind == "boot" })
			require.Equal(t, how.cause, boot.Args[0])
			if !b.unknown(how.text) {
				return false
			}
			b.silent(boot.At)
			if !b.approved("estop_reset", "✓ estop_reset") {
				return false
			}
			b.typed("torque_on\r")
			if !b.sees("✗ torque_on: NOT_CALIBRATED") {
				return false
			}
			b.silent(boot.At)
			for _, f := range b.line("rx", boot.At) {
				require.NotContains(t, []wire.Type{wire.TypeEnable, wire.TypeBegin, wire.TypeSegment, wire.TypeGo}, f.kind)
			}
			b.typed("quit\r")
			require.Equal(t, 0, b.status(), b.out)
			b.begins(t, "may move a REAL robot until")
			b.silent(boot.At)
		}
		return b.powers()
	})
}
