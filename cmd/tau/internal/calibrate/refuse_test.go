package calibrate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// turning brings an arm to where the positive side of its first joint is asked for.
func turningArm(t *testing.T) *hand {
	h := newHand(t, "so101", "feetech", nil).begin()
	h.poses(0)
	h.written()
	h.said.Reset()
	return h
}

// ranging brings an arm to where its ends are asked for.
func rangingArm(t *testing.T) *hand {
	h := turningArm(t)
	h.turns()
	h.said.Reset()
	return h
}

// Two servos with each other's ID are found out, since moving one joint turns the other.
func TestSwappedJointsAreRefused(t *testing.T) {
	h := newHand(t, "so101", "feetech", nil)
	h.swap = [2]int{1, 2}
	h.mount[1], h.mount[2], h.direction[1], h.direction[2] = 2048, 2048, 1, 1
	h.begin()
	h.poses(0)
	if h.s.stage == writing {
		h.types("no")
	}
	h.moves(0, 0.4)
	h.types("")
	h.says("Move shoulder_lift alone")
	h.moves(1, h.q[1]+0.4)
	h.types("")
	h.says("REFUSED: shoulder_lift is ID 2, and it was ID 3 (elbow_flex) that turned, by 26", "each other's ID", "Move shoulder_lift alone")
	require.Equal(t, 1, h.s.joint)
	// Moving the other one is what the servo of this ID feels: it isn't believed by name,
	// the file would have them swapped, and the person was told.
	h.moves(1, h.q[1]+0.4)
	h.types("")
	h.says("REFUSED: shoulder_lift is ID 2")
}

func TestADirectionThatIsNotKnownIsAskedForAgain(t *testing.T) {
	h := turningArm(t)
	h.types("")
	h.says("REFUSED: shoulder_pan turned by 0 ticks only", "direction isn't known", "the tool goes to the right")
	h.moves(0, h.q[0]+0.15)
	h.types("")
	h.says("REFUSED: shoulder_pan turned by 98 ticks only")
	h.moves(0, h.q[0]+0.15) // further: what was moved before counts
	h.types("")
	h.says("Move shoulder_lift alone")
	require.Equal(t, 1.0, h.s.direction[0])
}

func TestTwoJointsThatTurnAreNotTakenForOne(t *testing.T) {
	h := turningArm(t)
	h.moves(0, h.q[0]+0.4)
	h.moves(3, h.q[3]+0.3)
	h.types("")
	h.says("REFUSED: shoulder_pan turned by 261 ticks and wrist_flex by", "which of them", "Move shoulder_pan alone")
	h.moves(0, h.q[0]+0.4)
	h.moves(3, h.q[3]-0.1) // it gave a little
	h.types("")
	h.says("Move shoulder_lift alone")
}

func TestADirectionIsTakenOfAnArmThatIsStill(t *testing.T) {
	h := turningArm(t)
	h.moves(0, h.q[0]+0.4)
	h.q[0] += 0.1
	h.look(1)
	h.types("")
	h.says("shoulder_pan still moves")
	require.Zero(t, h.s.joint)
}

func TestRangesThatAreSillyAreRefusedByJoint(t *testing.T) {
	lower, upper := func(h *hand, i int) float64 { return h.m.Limits[i].Lower }, func(h *hand, i int) float64 { return h.m.Limits[i].Upper }
	for name, c := range map[string]struct {
		spoil func(h *hand)
		want  []string
	}{
		"nothing":                  {func(h *hand) { h.s.tracks[0].restart() }, []string{"shoulder_pan: it wasn't moved at all"}},
		"tiny":                     {func(h *hand) { h.s.tracks[5].restart(); h.moves(5, h.q[5]+0.2) }, []string{"gripper: 130 ticks are less than 25 % of the 1252"}},
		"wider than the URDF":      {func(h *hand) { h.moves(3, upper(h, 3)+0.2) }, []string{"wrist_flex: 229", "wider than the 2162", "this robot"}},
		"too fast":                 {func(h *hand) { h.q[1] += 1.58; h.look(1) }, []string{"shoulder_lift: it was moved so fast"}},
		"shifted beyond the limit": {func(h *hand) { h.s.tracks[2].restart(); h.moves(2, lower(h, 2)-0.4); h.moves(2, 0.5) }, []string{"elbow_flex: it goes from -2.09 to 0.50", "limits are -1.69 and 1.69"}},
		"another zero": {func(h *hand) { h.s.tracks[2].restart(); h.moves(2, lower(h, 2)+0.4); h.moves(2, upper(h, 2)+0.4) },
			[]string{"elbow_flex: its ends have its zero 0.40 rad (23°) from where the pose had it"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := rangingArm(t)
			h.ends(0)
			for i := range h.q {
				h.moves(i, (lower(h, i)+upper(h, i))/2)
			}
			c.spoil(h)
			h.look(1)
			h.types("")
			h.says(append(c.want, "REFUSED", "Move these joints from end to end again")...)
			require.Equal(t, ranging, h.s.stage)
			require.Nil(t, h.file)
			// Only what was refused is to be done again, from within the limits.
			for i, l := range h.m.Limits {
				if q := h.q[i]; q < l.Lower || q > l.Upper {
					h.moves(i, 0)
					h.s.tracks[i].restart()
				}
			}
			h.ends(0)
			h.types("")
			h.says("Type yes to write")
		})
	}
}

// The samples of CASES.md 25: never 0 to 4095, and since the seam is inside, refused.
func TestCase25_ARangeOverTheSeamIsRefusedByName(t *testing.T) {
	h := newHand(t, "pantilt", "feetech", nil)
	h.mount[0], h.mount[1] = 4000, 2048
	h.direction[0] = 1
	h.begin()
	h.poses(0)
	h.types("no") // and so the seam stays where it is
	h.turns()
	h.s.tracks[0] = track{}
	for _, x := range []int{3900, 4000, 4095, 0, 100} {
		h.take(h.s.Sampled([]Reading{{Ticks: x}, h.reading(1)}))
	}
	require.Contains(t, h.out.Live[1], "3900   4196     296")
	for x := 100; x != 600; x += 50 { // far enough not to be refused as tiny
		h.take(h.s.Sampled([]Reading{{Ticks: x}, h.reading(1)}))
	}
	h.types("")
	h.says("REFUSED", "pan: the encoder's seam lies within 3900 to 4646", "begin again with the pose")
	require.Equal(t, pose, h.s.stage)

	// With offsets that are written it ends well.
	h.poses(0)
	h.written()
	h.turns()
	h.ends(0)
	h.types("")
	h.types("yes")
	f := h.parsed()
	require.Positive(t, f.Joints[0].TickMin)
	require.Less(t, f.Joints[0].TickMax, 4095.0)
	h.agrees(f, 0.004)
}

// A servo that doesn't bring its ticks back into the turn reads what it can't be sent.
func TestTicksOutsideOfTheTurnAreRefused(t *testing.T) {
	h := newHand(t, "pantilt", "dynamixel", nil)
	h.mount[0], h.mount[1], h.offset[0], h.direction[0] = 600, 2048, 1000, 1
	h.unwrapped = true
	h.begin()
	h.poses(0)
	h.types("no")
	h.turns()
	h.ends(0)
	h.moves(0, -0.3)
	h.types("")
	h.says("REFUSED", "pan: it read less than 0", "offset")
}

// A range without the place that the description calls home is no range for this robot.
func TestARangeWithoutHomeIsRefused(t *testing.T) {
	h := newHand(t, "pantilt", "feetech", nil).begin()
	h.poses(0)
	h.written()
	h.turns()
	h.moves(0, 0.2)
	h.s.tracks[0].restart()
	h.moves(0, 1.3)
	h.moves(1, -0.9)
	h.moves(1, 1.2)
	h.types("")
	h.says("REFUSED", "home", "Move the joints further")
	h.moves(0, -1.3)
	h.types("")
	h.says("Type yes to write")
}

func TestTheFileIsWrittenOnlyAfterYes(t *testing.T) {
	end := func() *hand {
		h := newHand(t, "pantilt", "feetech", nil).begin()
		h.poses(0)
		h.written()
		h.turns()
		h.ends(0)
		h.types("")
		return h
	}
	h := end()
	h.types("")
	h.types("y")
	h.says("Type yes or no")
	require.Nil(t, h.file)
	h.types("no")
	require.Nil(t, h.file)
	require.Equal(t, DoEnd, h.out.Do)
	require.Error(t, h.out.Err)
	h.says("The servos' memory has new offsets or limits: a file from before doesn't fit")

	h = end()
	o := h.s.Interrupted()
	require.Equal(t, DoEnd, o.Do)
	require.Error(t, o.Err)
	require.Nil(t, o.File)
	require.Equal(t, DoNothing, h.s.Typed("yes").Do) // ended is ended
	require.Equal(t, DoNothing, h.s.Sampled(nil).Do)
}

// What is drawn is of the arm as it is described.
func TestPosesAndDirectionsInWords(t *testing.T) {
	m := model(t, "so101")
	w, err := newWords(m, make([]float64, m.DoF()))
	require.NoError(t, err)
	pose := w.pose()
	require.Contains(t, pose[1], "shoulder_lift    at 0.00 rad (0°): from there to elbow_flex the arm points up")
	require.Contains(t, pose[2], "from there to wrist_flex the arm points ahead")
	require.Contains(t, pose[5], "gripper          at 0.00 rad (0°): open by 10 %")
	require.Contains(t, pose[6], "The tool is then 0.39 m ahead of, 0.00 m")
	for i, want := range []string{"the tool goes to the right", "the tool goes down", "the tool goes down", "the tool goes down", "counter-clockwise, seen from", "the gripper opens"} {
		require.Contains(t, w.positive(i), want)
	}
	// Each of them is what the joint does.
	up, err := newWords(m, []float64{0, 0.2, 0, 0, 0, 0})
	require.NoError(t, err)
	require.Less(t, up.data.Position(m.Tip)[2], w.data.Position(m.Tip)[2])
	right, err := newWords(m, []float64{0.2, 0, 0, 0, 0, 0})
	require.NoError(t, err)
	require.Less(t, right.data.Position(m.Tip)[1], w.data.Position(m.Tip)[1])

	p, err := newWords(model(t, "pantilt"), []float64{0, 0})
	require.NoError(t, err)
	require.Equal(t, "it turns counter-clockwise, seen from above", p.positive(0))
}
