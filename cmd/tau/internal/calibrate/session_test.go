package calibrate

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

func TestAnArmIsCalibratedByHand(t *testing.T) {
	h := newHand(t, "so101", "feetech", nil)
	h.powered[2], h.powered[5] = true, true
	h.begin()
	h.says("torque is off the whole time", "No opt-in", "shoulder_pan     ID 1", "STS3215, firmware 3.10",
		"WITH TORQUE NOW: elbow_flex, gripper", "THE ARM DROPS", "By 0.1 m.", "type yes")
	require.False(t, h.s.Sampling())
	h.types("yes")
	require.Equal(t, make([]bool, 6), h.powered)
	h.says("Torque is off", "stands behind the base", "shoulder_lift", "Enter")
	h.poses(0.12)
	h.says("about 2048", "ID 1   reads", "offset 0 becomes", "Type yes to write them, or no")
	require.Empty(t, h.wrote)
	h.written()
	require.Len(t, h.wrote, 6)
	h.says("Written and read back", "The offsets fit", "Move shoulder_pan alone", "so that the tool goes to the right")
	h.turns()
	h.says("Move shoulder_lift alone", "so that the gripper opens", "from one end to the other")
	h.ends(0)
	require.Equal(t, "  shoulder_pan        1", h.out.Live[1][:23])
	h.types("")
	h.says("Measured:", "Type yes to write these ticks as the bounds of their goals into the memory of 6 servos, and arm.toml")
	require.Nil(t, h.file)
	require.Empty(t, h.limit)
	h.types("yes")
	require.Equal(t, DoEnd, h.out.Do)
	require.NoError(t, h.out.Err)
	h.says("Written: arm.toml")

	f := h.parsed()
	require.Equal(t, "feetech", f.Driver)
	require.Equal(t, noon.Truncate(24*60*60*1e9), f.Calibrated)
	require.False(t, f.EStopPowersOff)
	for i := range f.Joints {
		j := &f.Joints[i]
		require.Equal(t, i+1, j.Channel)
		require.Equal(t, h.direction[i], j.Direction)
		require.Equal(t, h.offset[i], j.Offset)
		require.Equal(t, Limit{i + 1, int(j.TickMin), int(j.TickMax)}, h.limit[i])
		require.Equal(t, h.m.Limits[i].Velocity, j.Velocity)
	}
	require.Equal(t, []float64{1, 0.5}, []float64{f.Joints[0].TorqueLimit, f.Joints[5].TorqueLimit})
	h.agrees(f, 0.004) // both ends were found, so what the eye was off by is out
}

// Wherever servos were put in, whichever way round, and however the eye was off, what
// comes out has the arm where it is, and never a seam inside a range.
func TestWhatComesOutHasTheArmWhereItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"so101", "pantilt"}).Draw(t, "robot")
		h := newHand(t, name, "feetech", nil)
		for i := range h.q {
			h.mount[i] = rapid.IntRange(0, 4095).Draw(t, "mount")
			h.offset[i] = rapid.IntRange(-2047, 2047).Draw(t, "offset")
			h.direction[i] = rapid.SampledFrom([]float64{-1, 1}).Draw(t, "direction")
		}
		off, less := rapid.Float64Range(-0.15, 0.15).Draw(t, "eye"), rapid.Float64Range(0, 0.02).Draw(t, "short")
		h.begin()
		h.poses(off)
		if h.s.stage == writing {
			h.written()
		}
		h.turns()
		h.ends(less)
		h.types("")
		h.types("yes")
		require.NoError(t, h.out.Err, h.said.String())
		h.agrees(h.parsed(), 0.01)
	})
}

// Where an arm isn't moved to its ends the pose has the last word, and the limits are what was shown.
func TestANarrowRangeIsWhatTheArmMayDo(t *testing.T) {
	h := newHand(t, "pantilt", "dynamixel", nil)
	h.mount[0], h.mount[1] = 1900, 2300
	h.begin()
	h.poses(0.01)
	h.types("yes")
	h.look(steadyOf)
	h.types("")
	h.turns()
	h.ends(0.4)
	h.types("")
	h.types("yes")
	f := h.parsed()
	require.InDelta(t, h.m.Limits[0].Lower+0.4, f.Joints[0].Lower, 0.02)
	require.InDelta(t, h.m.Limits[1].Upper-0.4, f.Joints[1].Upper, 0.02)
	h.agrees(f, 0.02)
}

// What a person set in an earlier file stays: IDs, guards, rates, voltages.
func TestAnEarlierFileIsKept(t *testing.T) {
	first := newHand(t, "pantilt", "feetech", nil).begin()
	first.poses(0)
	first.written()
	first.turns()
	first.ends(0)
	first.types("")
	first.types("yes")
	old := first.parsed()
	old.Joints[0].Channel, old.Joints[1].Channel = 11, 7
	old.Joints[0].MaxCurrent, old.Joints[0].TorqueLimit, old.Joints[0].Velocity = 0.7, 0.3, 1
	old.Joints[0].Upper = 0.2
	old.MaxVoltage, old.EStopPowersOff, old.Valid = 8.4, true, 24*60*60*1e9

	h := newHand(t, "pantilt", "feetech", old)
	h.begin()
	h.says("pan              ID 11", "tilt             ID 7")
	h.poses(0)
	h.written()
	h.turns()
	h.ends(0)
	h.types("")
	h.says("the old one is kept beside it")
	h.types("yes")
	f := h.parsed()
	require.Equal(t, []int{11, 7}, []int{f.Joints[0].Channel, f.Joints[1].Channel})
	require.Equal(t, []float64{0.7, 0.3, 1}, []float64{f.Joints[0].MaxCurrent, f.Joints[0].TorqueLimit, f.Joints[0].Velocity})
	require.Equal(t, []any{8.4, true, old.Valid}, []any{f.MaxVoltage, f.EStopPowersOff, f.Valid})
	require.InDelta(t, h.m.Limits[0].Upper, f.Joints[0].Upper, 0.01) // narrowed for another zero
}

// A servo that won't take its bounds leaves the file unwritten: it would stop short of a
// goal, and the bridge would refuse it.
func TestBoundsThatAreNotWrittenLeaveTheFile(t *testing.T) {
	h := newHand(t, "pantilt", "feetech", nil).begin()
	h.poses(0)
	h.written()
	h.turns()
	h.ends(0)
	h.types("")
	require.Equal(t, DoLimits, h.s.Typed("yes").Do)
	o := h.s.Limited(errors.New("ID 1 is mute"))
	require.Equal(t, DoEnd, o.Do)
	require.ErrorContains(t, o.Err, "mute")
	require.Contains(t, o.Say, "new offsets or limits")
	require.Nil(t, o.File)

	// One that has them already isn't written.
	h = newHand(t, "pantilt", "feetech", nil).begin()
	h.poses(0)
	h.written()
	h.turns()
	h.ends(0)
	for i := range h.s.found {
		h.s.found[i].Low, h.s.found[i].High = h.s.tracks[i].min, h.s.tracks[i].max
	}
	h.types("")
	h.says("Type yes to write arm.toml")
	h.types("yes")
	require.Empty(t, h.limit)
	require.NotNil(t, h.file)
}

// A servo that sits right keeps its offset, and nothing is written.
func TestServosThatSitRightAreNotWritten(t *testing.T) {
	h := newHand(t, "pantilt", "feetech", nil)
	h.mount[0], h.offset[0] = 3000, 952+30
	h.mount[1], h.offset[1] = 2048, 0
	h.begin()
	h.poses(0)
	h.says("offset 982 stays", "offset 0 stays", "Move pan alone")
	require.Empty(t, h.wrote)
}

// Half a turn doesn't fit a sign and 11 bits: the nearest that does is written.
func TestTheOffsetThatDoesNotFitIsTheNearestThatDoes(t *testing.T) {
	for driver, most := range map[string]int{"feetech": 2047, "dynamixel": 1024} {
		h := newHand(t, "pantilt", driver, nil)
		h.mount[0], h.mount[1] = 0, 4095
		h.begin()
		h.poses(0)
		h.types("yes")
		require.Equal(t, []int{-most, most}, []int{h.wrote[0].Ticks, h.wrote[1].Ticks}, driver)
	}
}

func TestWhatAScanFindsWrongEndsIt(t *testing.T) {
	all := func() (f []Found) {
		for id := 1; id <= 6; id++ {
			f = append(f, Found{ID: id, Model: "STS3215"})
		}
		return f
	}
	clash := all()
	clash[2] = Found{ID: 3, Clash: true}
	for name, c := range map[string]struct {
		found []Found
		err   error
		code  robot.Code
		want  []string
	}{
		"nobody":   {nil, nil, robot.CodeDisconnected, []string{"no servo answers at 1000000 bit/s", "supply", "doctor"}},
		"a clash":  {clash, nil, robot.CodeInvalidArgument, []string{"ID 3", "more than one servo", "alone"}},
		"missing":  {all()[:4], nil, robot.CodeDisconnected, []string{"ID 5 (wrist_roll), ID 6 (gripper)", "there is ID 1, 2, 3, 4"}},
		"an error": {nil, robot.Errf(robot.CodeDisconnected, "port x", "lost"), robot.CodeDisconnected, []string{"port x", "lost"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHand(t, "so101", "feetech", nil)
			h.s.Begin()
			o := h.s.Scanned(c.found, c.err)
			require.Equal(t, DoEnd, o.Do)
			require.Equal(t, c.code, robot.CodeOf(o.Err))
			require.Contains(t, o.Say, "Nothing was written")
			for _, w := range c.want {
				require.Contains(t, o.Err.Error(), w)
			}
		})
	}
	h := newHand(t, "so101", "feetech", nil)
	o := h.s.Scanned(append(all(), Found{ID: 9}), nil)
	require.Contains(t, o.Say, "1 servo more on the bus")
	require.Equal(t, DoNothing, o.Do)
}

func TestTorqueGoesOffOnlyAfterYes(t *testing.T) {
	for _, line := range []string{"", "y", "YES!", "no", "sure"} {
		h := newHand(t, "so101", "feetech", nil)
		h.powered[0] = true
		h.begin()
		h.types(line)
		require.Equal(t, DoEnd, h.out.Do, line)
		require.Equal(t, robot.CodeCancelled, robot.CodeOf(h.out.Err))
		require.True(t, h.powered[0])
	}
	h := newHand(t, "so101", "feetech", nil)
	h.powered[0] = true
	h.begin()
	o := h.s.PoweredOff(errors.New("ID 1 is mute"))
	require.Equal(t, DoEnd, o.Do)
	require.ErrorContains(t, o.Err, "mute")
}

// Torque that is on again is somebody else's doing: no hand should be in that arm.
func TestTorqueThatComesBackEndsIt(t *testing.T) {
	h := newHand(t, "so101", "feetech", nil).begin()
	h.look(3)
	h.powered[4] = true
	h.look(1)
	require.Equal(t, DoEnd, h.out.Do)
	require.ErrorContains(t, h.out.Err, "wrist_roll")
	require.ErrorContains(t, h.out.Err, "on again")
	require.False(t, h.s.Sampling())
}

func TestAServoThatGoesSilentEndsItAndIsNeverAZero(t *testing.T) {
	h := newHand(t, "so101", "feetech", nil).begin()
	h.look(steadyOf)
	h.silent[1] = true
	h.look(1)
	require.Contains(t, h.out.Live[2], "silent")
	h.types("")
	h.says("shoulder_lift hasn't been read often enough")
	h.look(maxSilent - 2)
	require.Equal(t, DoNothing, h.out.Do)
	h.look(1)
	require.Equal(t, DoEnd, h.out.Do)
	require.ErrorContains(t, h.out.Err, "ID 2 doesn't answer any more")
}

func TestAPoseHasToBeHeldStill(t *testing.T) {
	h := newHand(t, "so101", "feetech", nil).begin()
	h.types("")
	h.says("hasn't been read often enough")
	h.look(steadyOf - 1)
	h.q[3] += 0.1
	h.look(1)
	h.types("")
	h.says("wrist_flex still moves")
	h.look(steadyOf)
	h.types("")
	h.says("Type yes to write them")
}

func TestOffsetsAreWrittenOnlyAfterYes(t *testing.T) {
	h := newHand(t, "so101", "feetech", nil).begin()
	h.poses(0)
	h.types("")
	h.types("y")
	require.Empty(t, h.wrote)
	h.says("Type yes or no")
	h.types("no")
	require.Empty(t, h.wrote)
	h.says("keep their offsets", "Move shoulder_pan")
	o := h.s.Interrupted()
	require.Contains(t, o.Say, "Nothing was written")
}

func TestAnOffsetThatIsNotWrittenEndsIt(t *testing.T) {
	for name, spoil := range map[string]func(*Offset){
		"an error":         func(o *Offset) { o.Err = errors.New("mute") },
		"another in there": func(o *Offset) { o.Read = o.Ticks + 1 },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHand(t, "so101", "feetech", nil).begin()
			h.poses(0)
			o := h.s.Typed("yes")
			require.Equal(t, DoOffsets, o.Do)
			for i := range o.Offsets {
				o.Offsets[i].Read = o.Offsets[i].Ticks
			}
			spoil(&o.Offsets[1])
			o = h.s.Wrote(o.Offsets)
			require.Equal(t, DoEnd, o.Do)
			require.ErrorContains(t, o.Err, "ID 2")
			require.NotContains(t, o.Err.Error(), "ID 3")
			require.Contains(t, o.Say, "The servos' memory has new offsets or limits")
		})
	}
}

// A firmware that takes the offset and goes on as before is found out.
func TestAnOffsetThatChangesNothingIsFoundOut(t *testing.T) {
	h := newHand(t, "so101", "feetech", nil).begin()
	h.poses(0)
	o := h.s.Typed("yes")
	for i := range o.Offsets {
		o.Offsets[i].Read = o.Offsets[i].Ticks
	}
	h.take(h.s.Wrote(o.Offsets))
	h.look(steadyOf)
	h.types("")
	require.Equal(t, DoEnd, h.out.Do)
	require.Equal(t, robot.CodeDeviation, robot.CodeOf(h.out.Err))
	require.ErrorContains(t, h.out.Err, "firmware")
}

func TestRobotsThatNoBusMeasures(t *testing.T) {
	for name, want := range map[string]string{"rover": "wheels", "gantry": "slides"} {
		_, err := New(Options{Model: model(t, name), Driver: hardware.DriverFeetech})
		require.ErrorContains(t, err, want, name)
	}
	m := *model(t, "so101")
	m.Limits = append([]robot.JointLimits(nil), m.Limits...)
	m.Limits[0].Upper = 5
	_, err := New(Options{Model: &m})
	require.ErrorContains(t, err, "one turn")
	m.Limits[0].Bounded = false
	_, err = New(Options{Model: &m})
	require.ErrorContains(t, err, "without end")
}
