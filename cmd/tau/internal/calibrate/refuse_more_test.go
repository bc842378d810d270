package calibrate

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// A Dynamixel's ticks don't go round: its seam is where its offset has it, and where that
// can't be far enough away nothing but the horn helps. A range over it would be refused by
// the driver, or worse.
func TestADynamixelsSeamIsWhereItsOffsetHasIt(t *testing.T) {
	h := newHand(t, "pantilt", "dynamixel", nil)
	// In the pose the encoder of the first reads 4000: with all of its offset that is 2976,
	// and the last tick before the seam 3071.
	h.mount[0], h.mount[1], h.direction[0] = 4000, 2048, 1
	h.limp = true
	h.begin()
	h.poses(0)
	h.written()
	require.Equal(t, 1024, h.offset[0])
	h.turns()
	h.ends(0.2)
	h.types("")
	h.says("REFUSED", "pan: ", "seam", "take its horn off", "begin again with the pose")
	require.Nil(t, h.file)
	require.Equal(t, pose, h.s.stage)

	// The servo was turned in its horn.
	h.mount[0] = 2048 - 300
	h.poses(0)
	h.written()
	h.turns()
	h.ends(0)
	h.types("")
	h.types("yes")
	f := h.parsed()
	require.Greater(t, f.Joints[0].TickMin, 0.0)
	h.agrees(f, 0.004)
}

// A joint that was moved too fast to be followed has no direction, and one that was silent
// meanwhile hasn't either: it may have gone the other way round.
func TestADirectionThatNobodyCouldFollowIsAskedForAgain(t *testing.T) {
	h := turningArm(t)
	h.q[0] += 4.7 // more than half a turn: it reads like a way back
	h.look(steadyOf)
	h.types("")
	h.says("REFUSED: shoulder_pan was moved so fast", "Move shoulder_pan alone")
	require.Zero(t, h.s.joint)

	h = turningArm(t)
	h.silent[0] = true
	h.look(unsure)
	h.q[0] += 4.9
	h.silent[0] = false
	h.look(steadyOf)
	h.types("")
	h.says("REFUSED: shoulder_pan was moved so fast, or was silent")
	require.Zero(t, h.s.joint)
	h.moves(0, h.q[0]+0.4)
	h.types("")
	h.says("Move shoulder_lift alone")
	require.Equal(t, 1.0, h.s.direction[0])
}

// A file that is written is said to be, also where its folder couldn't be synced.
func TestAFileThatIsWrittenIsSaidToBe(t *testing.T) {
	h := newHand(t, "pantilt", "feetech", nil).begin()
	o := h.s.Saved("arm.toml.old", robot.Errf(robot.CodeInternal, "arm.toml", "written, but: %w", errUnsynced))
	require.Equal(t, DoEnd, o.Do)
	require.Error(t, o.Err)
	require.Contains(t, o.Say, "Written: arm.toml\nThe earlier one is arm.toml.old\n")
	o = h.s.Saved("", robot.Errf(robot.CodeInternal, "arm.toml", "not written"))
	require.Contains(t, o.Say, "Nothing was written.")
	require.NotContains(t, o.Say, "Written:")
}

// Torque that went off of some servos only is said: the arm has to be held.
func TestTorqueThatDidntGoOffIsSaid(t *testing.T) {
	h := newHand(t, "so101", "feetech", nil)
	h.powered[0] = true
	h.begin()
	o := h.s.PoweredOff(errors.New("ID 1 is mute"))
	require.Contains(t, o.Say, "Hold the arm: the torque of some servos may be off now")
}

// A joint's servo that its driver wouldn't move is named before the work, one of nobody's
// isn't.
func TestAServoInTroubleIsNamedFirst(t *testing.T) {
	h := newHand(t, "pantilt", "feetech", nil)
	h.s.Begin()
	found := []Found{{ID: 1}, {ID: 2, Trouble: "its operating mode is 1"}, {ID: 9, Trouble: "another maker's"}}
	o := h.s.Scanned(found, nil)
	require.Equal(t, DoEnd, o.Do)
	require.Equal(t, robot.CodeNotSupported, robot.CodeOf(o.Err))
	require.ErrorContains(t, o.Err, "tilt: ID 2: its operating mode is 1")
	require.Contains(t, o.Say, "Nothing was written.")
	found[1].Trouble = ""
	require.Equal(t, DoNothing, h.s.Scanned(found, nil).Do)
}
