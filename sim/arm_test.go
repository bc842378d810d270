package sim

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
)

// bench is an arm under test with what was read of it.
type armBench struct {
	*Arm
	drive      []ArmDrive
	q, v, load []float64
}

func newArmBench(t require.TestingT, o ArmOptions) *armBench {
	a, err := NewArm(o)
	require.NoError(t, err)
	n := a.Joints()
	b := &armBench{Arm: a, drive: make([]ArmDrive, n), q: make([]float64, n), v: make([]float64, n), load: make([]float64, n)}
	a.Read(b.q, b.v, b.load)
	return b
}

// hold makes each drive hold where its joint is, with all its torque.
func (b *armBench) hold() {
	for i := range b.drive {
		b.drive[i] = ArmDrive{Powered: true, Goal: b.q[i], Torque: 1}
	}
}

// pass passes s seconds.
func (b *armBench) pass(s float64) {
	for range int(math.Round(s / Step)) {
		b.Step(Step, b.drive)
	}
	b.Read(b.q, b.v, b.load)
}

// deepest is the smallest distance of all that is watched, m; below 0 inside each other.
func (b *armBench) deepest() float64 {
	b.mon.posed = false
	b.mon.pose(b.pl.q)
	least := math.Inf(1)
	for i := range b.mon.groups {
		least = math.Min(least, b.mon.measure(&b.mon.groups[i], math.Inf(1)))
	}
	return least
}

func TestArmFollowsItsGoals(t *testing.T) {
	b := newArmBench(t, ArmOptions{Model: so101(t)})
	b.hold()
	b.pass(1)
	home := append([]float64(nil), b.q...)
	require.InDeltaSlice(t, so101(t).Home, home, 0.01, "it sags a little and comes back")
	for k := range 1000 {
		b.drive[0].Goal, b.drive[0].Speed = home[0]+0.5*float64(k)*Step, 0.5
		b.pass(Step)
	}
	require.InDelta(t, 0.5, b.v[0], 0.02)
	require.InDelta(t, home[0]+0.5-0.5*(1-feedForward)/servoPosition, b.q[0], 0.002, "the lag of the drive")
	b.drive[0].Speed = 0
	b.pass(1)
	require.InDelta(t, b.drive[0].Goal, b.q[0], 1e-4)
	require.Greater(t, math.Abs(b.load[1]), 0.05, "the shoulder carries the arm")
	for _, l := range b.load {
		require.LessOrEqual(t, math.Abs(l), 1.0)
	}
}

func TestArmWithoutPowerFalls(t *testing.T) {
	b := newArmBench(t, ArmOptions{Model: so101(t)})
	b.hold()
	b.pass(0.5)
	before := append([]float64(nil), b.q...)
	b.drive[1].Powered = false // the shoulder alone
	b.pass(1.5)
	require.Greater(t, math.Abs(b.q[1]-before[1]), 0.2)
	require.Zero(t, b.load[1])
	require.InDelta(t, before[0], b.q[0], 0.02, "the others hold")
	require.InDelta(t, before[4], b.q[4], 0.02)
	for i := range b.drive {
		b.drive[i].Torque = 0 // as good as none
	}
	b.pass(3)
	for i, l := range b.load {
		require.Zero(t, l)
		require.InDelta(t, 0, b.v[i], 0.01, "it lies")
	}
	require.GreaterOrEqual(t, b.deepest(), -restSlack)
}

func TestArmStopsAtItsEnds(t *testing.T) {
	m := so101(t)
	b := newArmBench(t, ArmOptions{Model: m})
	b.hold()
	b.pass(0.5)
	b.drive[0].Goal = 4
	b.pass(1.5)
	require.LessOrEqual(t, b.q[0], m.Limits[0].Upper)
	require.InDelta(t, m.Limits[0].Upper, b.q[0], 0.01)
	require.InDelta(t, 1, b.load[0], 1e-9, "and pushes with all it has")
}

func TestArmOfLittleTorqueCannotLift(t *testing.T) {
	b := newArmBench(t, ArmOptions{Model: so101(t)})
	b.hold()
	b.pass(0.5)
	at := b.q[1]
	b.drive[1].Torque = 0.02
	b.pass(2)
	require.Greater(t, math.Abs(b.q[1]-at), 0.1)
	require.LessOrEqual(t, math.Abs(b.load[1]), 0.02+1e-9)
}

func TestArmHeldAndPlaced(t *testing.T) {
	b := newArmBench(t, ArmOptions{Model: so101(t)})
	b.hold()
	b.pass(0.5)
	at := b.q[0]
	b.Hold(0, true)
	b.drive[0].Goal = at + 0.5
	b.pass(1)
	require.Equal(t, at, b.q[0])
	require.InDelta(t, 1, b.load[0], 1e-9)
	b.Hold(0, false)
	b.pass(2)
	require.InDelta(t, at+0.5, b.q[0], 0.01)
	b.Place(0, -0.3)
	b.Place(0, math.NaN())
	b.Read(b.q, b.v, b.load)
	require.Equal(t, -0.3, b.q[0])
	b.Place(0, 99)
	b.Read(b.q, b.v, b.load)
	require.Equal(t, so101(t).Limits[0].Upper, b.q[0])
}

// wall is a box that the arm's turn meets.
func wall() *robot.Scene {
	return &robot.Scene{Bodies: []robot.Body{{
		Name: "wall", Pose: robot.Pose{P: vec3{0.25, 0.25, 0.25}, Q: mgl64.QuatIdent()},
		Geometry: robot.Geometry{Kind: robot.Box, Size: vec3{0.4, 0.05, 0.5}},
	}}}
}

// What it meets blocks the joints that press, and no others; it comes away again.
func TestArmIsBlockedByWhatItMeets(t *testing.T) {
	m := so101(t)
	free, blocked := newArmBench(t, ArmOptions{Model: m}), newArmBench(t, ArmOptions{Model: m, Scene: wall()})
	for _, b := range []*armBench{free, blocked} {
		b.hold()
		b.pass(0.5)
	}
	require.InDeltaSlice(t, free.q, blocked.q, 1e-9)
	sign := 0.0
	for _, s := range []float64{1, -1} { // whichever way the wall is
		free.drive[0].Goal, blocked.drive[0].Goal = s*1.5, s*1.5
		free.pass(1.5)
		blocked.pass(1.5)
		if math.Abs(free.q[0]-blocked.q[0]) > 0.1 {
			sign = s
			break
		}
	}
	require.NotZero(t, sign, "it never met the wall")
	require.InDelta(t, sign, blocked.load[0], 1e-6, "it pushes")
	require.GreaterOrEqual(t, blocked.deepest(), -restSlack)
	at := blocked.q[0]
	roll := blocked.q[4]
	blocked.drive[4].Goal = roll + 0.3
	blocked.pass(1)
	require.InDelta(t, roll+0.3, blocked.q[4], 0.1, "another joint turns meanwhile")
	blocked.drive[4].Goal = roll
	blocked.drive[0].Goal = at - sign*0.5
	blocked.pass(1)
	require.InDelta(t, at-sign*0.5, blocked.q[0], 0.01)
}

// Whatever is asked of it, an arm's numbers stay numbers, its joints stay between their ends,
// and its bodies out of each other; and it does the same again.
func TestArmProperty(t *testing.T) {
	m, err := builtin.Load("so101")
	require.NoError(t, err)
	checkOneIn(t, 20, func(t *rapid.T) {
		a, again := newArmBench(t, ArmOptions{Model: m, Scene: wall()}), newArmBench(t, ArmOptions{Model: m, Scene: wall()})
		floor := math.Min(0, a.deepest())
		again.deepest() // looking leaves its mark on what the next look begins with
		for range rapid.IntRange(1, 4).Draw(t, "phases") {
			for i := range a.drive {
				a.drive[i] = ArmDrive{
					Powered: rapid.IntRange(0, 4).Draw(t, "power") > 0,
					Goal:    rapid.Float64Range(-4, 4).Draw(t, "goal"),
					Speed:   rapid.Float64Range(-3, 3).Draw(t, "speed"),
					Torque:  rapid.Float64Range(0, 1).Draw(t, "torque"),
				}
			}
			copy(again.drive, a.drive)
			s := rapid.Float64Range(0.01, 0.2).Draw(t, "time")
			a.pass(s)
			again.pass(s)
			require.Equal(t, a.q, again.q)
			require.Equal(t, a.load, again.load)
			for i := range a.q {
				require.False(t, math.IsNaN(a.q[i]) || math.IsInf(a.q[i], 0))
				require.GreaterOrEqual(t, a.q[i], m.Limits[i].Lower-1e-9)
				require.LessOrEqual(t, a.q[i], m.Limits[i].Upper+1e-9)
				require.LessOrEqual(t, math.Abs(a.load[i]), 1+1e-9)
			}
			require.GreaterOrEqual(t, a.deepest(), floor-restSlack-contactMargin)
			again.deepest()
		}
	})
}

func TestArmIsRefused(t *testing.T) {
	rover, err := builtin.Load("rover")
	require.NoError(t, err)
	_, err = NewArm(ArmOptions{Model: rover})
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeNotSupported))
	_, err = NewArm(ArmOptions{Model: so101(t), Start: []float64{1}})
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	_, err = NewArm(ArmOptions{})
	require.Error(t, err)
}

// Steps shorter than the simulation's are added up.
func TestArmKeepsWhatIsLeftOfAStep(t *testing.T) {
	a, b := newArmBench(t, ArmOptions{Model: so101(t)}), newArmBench(t, ArmOptions{Model: so101(t)})
	for range 100 {
		a.Step(Step, a.drive)
	}
	for range 400 {
		b.Step(Step/4, b.drive)
	}
	a.Read(a.q, a.v, a.load)
	b.Read(b.q, b.v, b.load)
	require.InDeltaSlice(t, a.q, b.q, 2e-3)
	require.InDelta(t, 100, b.tick, 1)
}

// What stands costs nothing, and moves again as soon as something changes.
func TestArmDozes(t *testing.T) {
	b := newArmBench(t, ArmOptions{Model: so101(t)})
	b.pass(3) // without power it lies
	checks := b.mon.checks
	b.pass(1)
	require.Equal(t, checks, b.mon.checks)
	at := append([]float64(nil), b.q...)
	b.hold()
	b.drive[1].Goal = at[1] - 0.3 // up from where it lies
	b.drive[0].Goal = at[0] + 0.3
	b.pass(4)
	require.InDelta(t, at[0]+0.3, b.q[0], 0.01)
	require.InDelta(t, at[1]-0.3, b.q[1], 0.01)
	held := append([]float64(nil), b.q...)
	require.NotZero(t, b.load[1], "what holds it is still told")
	require.Greater(t, b.still, dozeAfter)
	b.drive[1].Powered = false
	b.Hold(1, true)
	b.pass(0.5)
	require.Equal(t, held[1], b.q[1])
	b.Place(0, 0)
	b.pass(1)
	require.InDelta(t, at[0]+0.3, b.q[0], 0.01)
}

func BenchmarkArmStep(b *testing.B) {
	a := newArmBench(b, ArmOptions{Model: so101(b), Scene: wall()})
	a.hold()
	for b.Loop() {
		a.Step(Step, a.drive)
	}
}
