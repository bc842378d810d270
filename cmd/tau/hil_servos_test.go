package main

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/sts"
	"github.com/tau-robot/tau/drivers/mcu/boardtest"
)

// Before torque_on is approved nothing is written to any servo. Approved, the goals on the
// wire are the very trajectory that was stored for approval, and the result is what was
// measured; refused, no goal is written; stopped, the arm brakes on its way and holds where
// it is, which is measured.
func TestHILServosApprovedRefusedStopped(t *testing.T) {
	onBench(t, arm, func(t *testing.T, b *busBench) bool {
		b.typed("move_joints shoulder_pan=0.5\r")
		if !b.sees("NOT_ENABLED") {
			return false
		}
		b.silent(0)
		if !b.powers() {
			return false
		}
		b.poweredWhereItStood()

		for _, line := range []string{"move_joints shoulder_pan=0.6 elbow_flex=0.2 gripper=0.5", "move_joints shoulder_pan=-0.6 wrist_roll=0.8 speed_scale=0.5"} {
			m, ok := b.asked(line)
			if !ok {
				return false
			}
			id, from := callLine.FindStringSubmatch(b.shown())[1], b.clock()
			b.answers("y")
			if !b.sees("✓ move_joints: done") || !b.sees("tau> ") {
				return false
			}
			b.follows(m, from)
			require.InDeltaSlice(t, m.Trajectory.End(), b.settles(), 0.01, "where it was approved to go")
			rec, err := b.fetch(id)
			require.NoError(t, err)
			require.Contains(t, string(rec.Answer), `"positions":{`)
			require.NotContains(t, string(rec.Answer), `"measured":false`)
		}

		from := b.clock()
		if !b.carded("move_joints shoulder_pan=0.4") {
			return false
		}
		b.answers("n")
		if !b.sees("✗ move_joints: not approved") {
			return false
		}
		b.looks(10)
		b.silent(from)

		m, from, ok := b.underway()
		if !ok {
			return false
		}
		b.typed("stop\r")
		if !b.sees("feetech: commanded yes, acknowledged yes, stationary yes") || !b.sees("tau> ") {
			return false
		}
		at := b.settles()
		if abs(at[0]-m.Trajectory.End()[0]) < 0.05 {
			return false // it was at its end before
		}
		goals := b.goals(from)
		require.InDelta(t, at[0], goals[len(goals)-1].q[0], 0.01, "it holds where the last goal is")
		b.held(from)
		after := b.clock()
		b.looks(10)
		b.silent(after)
		return true
	})
}

// poweredWhereItStood requires that each servo was given the place where it stands for a
// goal before its torque.
func (b *busBench) poweredWhereItStood() {
	b.t.Helper()
	at := b.observed()
	for i := range b.hw.Joints {
		j, goal, on := &b.hw.Joints[i], false, false
		for _, p := range b.wrote(0) {
			if p.Op != bus.Write || p.ID != b.id(i) {
				continue
			}
			reaches := func(r bus.Register) bool {
				return p.Addr <= r.Addr && int(r.Addr) < int(p.Addr)+len(p.Data)
			}
			if reaches(sts.GoalPosition) {
				d := p.Data[sts.GoalPosition.Addr-p.Addr:]
				require.InDelta(b.t, at[i], j.Position(float64(int(d[0])|int(d[1])<<8)), 2*tick, "%s's goal is where it stands", j.Name)
				goal = true
			}
			if reaches(sts.TorqueEnable) && p.Data[sts.TorqueEnable.Addr-p.Addr] == 1 {
				require.True(b.t, goal, "%s was powered before it had a goal", j.Name)
				on = true
			}
		}
		require.True(b.t, on, "%s has no torque", j.Name)
		require.True(b.t, b.bus.Powered(b.id(i)), j.Name)
	}
}

// held requires that the shoulder never went back on its way since a time.
func (b *busBench) held(from time.Duration) {
	b.t.Helper()
	goals := b.goals(from)
	way := goals[len(goals)-1].q[0] - goals[0].q[0]
	for i := 1; i < len(goals); i++ {
		require.GreaterOrEqual(b.t, (goals[i].q[0]-goals[i-1].q[0])*way, -tick*abs(way), "it turned round")
	}
}

// refusedUntilCleared requires that nothing is written after what ended a motion, whatever is
// asked, until a person has cleared it.
func (b *busBench) refusedUntilCleared() {
	b.t.Helper()
	from := b.clock()
	for _, line := range []string{"move_joints shoulder_pan=0", "torque_on"} {
		b.typed(line + "\r")
		b.await("estop_reset first")
	}
	b.looks(10)
	b.silent(from)
}

// recovers has what is latched cleared and the joints powered, each approved, and requires
// that neither moves the arm.
func (b *busBench) recovers() bool {
	b.t.Helper()
	at := b.settles()
	if !b.approved("estop_reset", "✓ estop_reset") || !b.powers() {
		return false
	}
	require.InDeltaSlice(b.t, at, b.settles(), 0.01, "recovering moved it")
	return true
}

// The cable comes out in mid-motion: what becomes of the motion nobody knows, the servos hold
// their last goal, and a link that is back moves nothing. Then the bridge is killed: the next
// one has an opt-in of its own, and moves nothing before it was powered anew.
func TestHILServosTheCableComesOutAndTheBridgeIsKilled(t *testing.T) {
	onBench(t, arm, func(t *testing.T, b *busBench) bool {
		if !b.powers() {
			return false
		}
		m, from, ok := b.underway()
		if !ok {
			return false
		}
		require.NoError(t, b.cable.Unplug())
		if !b.doubted("DISCONNECTED") {
			return false
		}
		at := b.settles()
		require.Greater(t, abs(at[0]-m.Trajectory.End()[0]), 0.05, "it didn't go on")
		b.held(from)
		b.typed("stop\r")
		b.await("feetech: commanded no, acknowledged no, stationary unknown")
		back := b.clock()
		require.NoError(t, b.cable.Replug())
		b.await("the robot is there again; it moves nothing")
		b.refusedUntilCleared()
		b.silent(back)
		require.InDeltaSlice(t, at, b.settles(), tick)
		if !b.recovers() {
			return false
		}

		if m, from, ok = b.underway(); !ok {
			return false
		}
		b.kill9()
		at = b.settles()
		require.Greater(t, abs(at[0]-m.Trajectory.End()[0]), 0.05, "the servos know no motion, only their last goal")
		b.held(from)
		gone := b.clock()
		b.begins(t, "may move a REAL robot until", "ran when the bridge ended: what it did can't be known, and it is not run again")
		b.looks(10)
		b.silent(gone)
		require.InDeltaSlice(t, at, b.settles(), tick)
		if !b.powers() {
			return false
		}
		require.InDeltaSlice(t, at, b.settles(), 0.01, "torque_on moved it")
		return b.approved("move_joints shoulder_pan=0", "✓ move_joints: done")
	})
}

// A servo that says nothing any more, and one that carries too much, end a motion with their
// joint's name; the arm stands, and moves again only once a person has cleared it.
func TestHILServosAMuteAndAnOverloadedOne(t *testing.T) {
	onBench(t, arm, func(t *testing.T, b *busBench) bool {
		if !b.powers() {
			return false
		}
		m, from, ok := b.underway()
		if !ok {
			return false
		}
		require.NoError(t, b.bus.Overload(b.id(2)))
		if !b.sees("✗ move_joints: OVERLOAD: elbow_flex") {
			return false
		}
		at := b.settles()
		require.Greater(t, abs(at[0]-m.Trajectory.End()[0]), 0.05, "it didn't go on")
		b.held(from)
		b.refusedUntilCleared()
		if !b.recovers() {
			return false
		}

		if m, from, ok = b.underway(); !ok {
			return false
		}
		require.NoError(t, b.bus.Mute(b.id(2), true))
		if !b.doubted("STALE_STATE: elbow_flex") {
			return false
		}
		at = b.settles()
		require.Greater(t, abs(at[0]-m.Trajectory.End()[0]), 0.05, "it didn't go on")
		b.held(from)
		b.typed("state\r")
		b.await("✗ robot_state: STALE_STATE: elbow_flex")
		b.typed("stop\r")
		b.await("stationary unknown")
		require.NoError(t, b.bus.Mute(b.id(2), false))
		b.stateIsBack()
		b.refusedUntilCleared()
		return b.recovers() && b.approved("move_joints shoulder_pan=0", "✓ move_joints: done")
	})
}

// starved is what a bridge says whose computer gave it, or the servos, no time.
var starved = regexp.MustCompile(`comes too late|none of the \d+ servos answers any more`)

// doubted waits for the answer that nobody knows what became of a motion, and for the reason.
// It returns false if a busy machine had ended the motion before.
func (b *busBench) doubted(reason string) bool {
	b.t.Helper()
	ours := false
	eventually(b.t, func() bool {
		got := b.out.String()[b.at:]
		i := strings.Index(got, "? move_joints: outcome unknown")
		if strings.Contains(got, "✗ move_joints") || starved.MatchString(got) {
			return true
		}
		ours = i >= 0 && strings.Contains(got[i:], "\n") && strings.Contains(got, reason)
		return ours
	}, reason)
	if ours {
		b.awaits("? move_joints: outcome unknown", reason)
	}
	return ours
}

// stateIsBack waits until every joint is known again.
func (b *busBench) stateIsBack() {
	b.t.Helper()
	for range 100 {
		from := b.at
		b.typed("state\r")
		b.await("tau> ")
		if strings.Contains(b.out.String()[from:b.at], "elbow_flex ") {
			return
		}
		b.looks(5)
	}
	b.t.Fatal("it is never known again where the arm is")
}

// An arm that is moved by hand while the card of torque_on is up takes its torque where it is
// then, and doesn't snap back to where it was shown; what was planned from where it was isn't
// run.
func TestHILServosAHandMovesTheArmBeforeItsTorque(t *testing.T) {
	onBench(t, arm, func(t *testing.T, b *busBench) bool {
		if !b.carded("torque_on") {
			return false
		}
		for q := 0.0; q <= 0.5; q += 0.05 { // slowly, as a hand does
			require.NoError(t, b.bus.ByHand(b.id(0), b.shaft(0, q)))
			b.looks(2)
		}
		at := b.settles()
		require.InDelta(t, 0.5, at[0], tick)
		b.answers("y")
		if !b.sees("torque_on") || !b.sees("tau> ") {
			return false
		}
		require.InDeltaSlice(t, at, b.settles(), 2*tick, "it snapped")
		return true
	})
}

// A gripper of bus servos grips by the call that is made for it, within the torque that the
// robot's file allows, and opens again.
func TestHILServosGrip(t *testing.T) {
	onBench(t, arm, func(t *testing.T, b *busBench) bool {
		if !b.powers() {
			return false
		}
		gripper := len(b.hw.Joints) - 1
		for _, to := range []float64{0.6, 0.2} {
			m, ok := b.asked("gripper " + strconv.FormatFloat(to, 'g', -1, 64))
			if !ok {
				return false
			}
			b.answers("y")
			if !b.sees("✓ gripper: done") || !b.sees("tau> ") {
				return false
			}
			require.InDelta(t, m.Trajectory.End()[gripper], b.settles()[gripper], 0.02)
		}
		return true
	})
}

// exposed is the arm that another bridge exposes, with weight and end stops, and a bridge
// that has it.
func exposed(t *testing.T) *busBench {
	t.Helper()
	boardtest.OnTheWallClock(t)
	b := &busBench{bench: benchOf(t, "so101", "so101-feetech.toml")}
	b.port = filepath.Join(t.TempDir(), "so101.tty")
	other := start(t, nil, "robot", "sim", "--script", "-", "--data-dir", dataDir(t), "--expose", "feetech:"+b.port, "--expose-config", b.file)
	other.stderr.await(t, b.port+" leads to ", 0)
	b.begins(t)
	return b
}

// An arm that isn't there, as docs/HARDWARE.md has it: what one bridge exposes another one
// moves, and what is measured is where it was sent.
func TestHILTheExposedArmIsMovedByAnotherBridge(t *testing.T) {
	onBench(t, exposed, func(t *testing.T, b *busBench) bool {
		if !b.powers() || !b.approved("home", "✓ home: done") || !b.approved("move_joints shoulder_pan=0.3", "✓ move_joints: done") {
			return false
		}
		b.sees("tau> ")
		require.Regexp(t, `^0\.(29|30|31)`, b.pan())
		b.typed("quit\r")
		require.Equal(t, 0, b.status(), b.out)
		return true
	})
}
