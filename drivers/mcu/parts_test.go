package mcu

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/hardware"
)

// The board's time is known to half of the fastest of the last round trips, whatever the
// others waited for, its clock drifts, or it wraps.
func TestClockIsAsGoodAsItsFastestTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c clock
		now := time.Now()
		board := rapid.Uint32().Draw(t, "board")
		fastest := time.Duration(math.MaxInt64)
		for range rapid.IntRange(1, echoWindow).Draw(t, "trips") {
			now = now.Add(50 * time.Millisecond)
			board += 50
			there := time.Duration(rapid.IntRange(1, 30_000).Draw(t, "there")) * time.Microsecond
			back := time.Duration(rapid.IntRange(1, 30_000).Draw(t, "back")) * time.Microsecond
			// board is what its clock shows at now; the frame is there a little later.
			late := uint32(there / time.Millisecond)
			c.echo(now, now.Add(there+back), board+late)
			fastest = min(fastest, there+back)
		}
		later := uint32(rapid.IntRange(0, 1000).Draw(t, "later"))
		truly := now.Add(time.Duration(later) * time.Millisecond)
		got := c.at(board+later, truly.Add(time.Second))
		require.LessOrEqual(t, got.Sub(truly).Abs(), fastest/2+2*time.Millisecond)
	})
}

func TestClockNeverSaysTheFuture(t *testing.T) {
	var c clock
	now := time.Now()
	require.Equal(t, now, c.at(77, now), "a clock that knows nothing takes when it was heard")
	c.echo(now, now.Add(20*time.Millisecond), 1000)
	require.Equal(t, now.Add(5*time.Millisecond), c.at(2000, now.Add(5*time.Millisecond)))
	c.echo(now.Add(time.Second), now, 5) // the host's clock was set back
	require.Equal(t, now.Add(10*time.Millisecond), c.at(1000, now.Add(time.Hour)))
}

// A velocity is the slope of what was measured; what one count explains is none.
func TestMeasuredSpeeds(t *testing.T) {
	const unit = 0.003
	m := newMeasured([]float64{unit, unit, unit})
	require.Nil(t, m.latest())
	v := make([]float64, 3)
	for ms := uint32(math.MaxUint32 - 50); ms != 350-1; ms += 20 { // over the clock's end
		q := m.next(ms)
		s := float64(ms+51) / 1000
		q[0], q[1], q[2] = 0.5*s, math.NaN(), unit*math.Round(math.Mod(s*50, 2))
		m.speeds(v)
	}
	require.InDelta(t, 0.5, v[0], 1e-9)
	require.True(t, math.IsNaN(v[1]), "what isn't measured has no speed")
	require.Zero(t, v[2], "the last digit is no motion")
	require.True(t, m.whole())
	m.forget()
	require.Nil(t, m.latest())
	require.False(t, m.whole())
}

// What is refused or faulted has a cause of its own, for each word of the board.
func TestEachWordOfTheBoardHasItsCause(t *testing.T) {
	for f := wire.FaultEStopInput; f <= wire.FaultOverload; f++ {
		c := causeOf(faultCauses[:], int(f))
		require.NotEmpty(t, c.text, f)
		require.Contains(t, robot.Codes(), c.code, f)
	}
	for k := wire.CodeBadSequence; k <= wire.CodeNotBegun; k++ {
		c := causeOf(refusalCauses[:], int(k))
		require.NotEmpty(t, c.text, k)
		require.Contains(t, robot.Codes(), c.code, k)
	}
	require.Equal(t, robot.CodeInternal, causeOf(faultCauses[:], 200).code, "a word that it doesn't know")
	require.Equal(t, len(faultCauses), int(wire.FaultOverload)+1)
	require.Equal(t, len(refusalCauses), int(wire.CodeNotBegun)+1)
}

func axesOf(t *testing.T, name, file string) ([]axis, *robot.Model) {
	t.Helper()
	m, err := builtin.Load(name)
	require.NoError(t, err)
	f, err := hardware.Parse(name, []byte(file), m, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
	require.NoError(t, err)
	axes, err := newAxes(m, f)
	require.NoError(t, err)
	return axes, m
}

const panTilt = `
robot = "pantilt"
driver = "mcu"
calibrated = 2026-11-30
[joint.pan]
channel = 0
kind = "servo"
direction = 1
zero = 1500
scale = 600
pulse_min = 500
pulse_max = 2500
velocity = 2
feedback = "none"
[joint.tilt]
channel = 1
kind = "servo"
direction = -1
zero = 1500
scale = 600
pulse_min = 500
pulse_max = 2500
lower = -0.5
feedback = "none"
[output.lamp]
channel = 2
scale = 1
`

// The board is told the tighter of the file's and the description's limits, in its units.
func TestTheBoardIsToldTheTighterLimits(t *testing.T) {
	axes, _ := axesOf(t, "pantilt", panTilt)
	pan, tilt := axes[0].config, axes[1].config
	// 1.48 rad are 888 µs; 2 rad/s are 1.2 µs/ms; 20 rad/s² are 0.012 µs/ms²; a/j is 0.1 s.
	require.Equal(t, wire.Configure{
		Channel: 0, Lower: 612 * 256, Upper: 2388 * 256, V: 78643, A: 201327, Ramp: 100,
	}, pan)
	require.Equal(t, int32((1500-1.2*600)*256), tilt.Lower, "the other way round")
	require.Equal(t, int32((1500+0.5*600)*256), tilt.Upper)
	require.Equal(t, []float64{2, 20, 200}, []float64{axes[0].limits.Velocity, axes[0].limits.Acceleration, axes[0].limits.Jerk})
}

// A search has to come to rest within the joint's limits.
func TestASwitchNeedsRoomBehindIt(t *testing.T) {
	a := axis{
		hw: &hardware.Joint{Name: "x"}, unit: "m",
		limits: robot.JointLimits{Bounded: true, Lower: -0.3, Upper: 0.3, Velocity: 0.3, Acceleration: 1, Jerk: 10},
	}
	ref := robot.Reference{Switch: -0.298, Direction: -1, Speed: 0.03}
	require.NoError(t, a.room(&ref))
	ref.Speed = 0.1
	err := a.room(&ref)
	require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err))
	require.ErrorContains(t, err, "x")
	ref = robot.Reference{Switch: 0.299, Direction: 1, Speed: 0.03}
	require.Error(t, a.room(&ref))
}

// Numbers that the wire can't say are refused when the robot is opened.
func TestLimitsThatTheWireCannotSay(t *testing.T) {
	l := robot.JointLimits{Bounded: true, Lower: -1, Upper: 1, Velocity: 1, Acceleration: 1, Jerk: 10}
	for name, spoil := range map[string]func(*axis){
		"too far":     func(a *axis) { a.limits.Upper = 1e7 },
		"too fast":    func(a *axis) { a.limits.Velocity = 1e5 },
		"too slow":    func(a *axis) { a.limits.Velocity = 1e-9 },
		"no brake":    func(a *axis) { a.limits.Acceleration = 0.01 },
		"a long ramp": func(a *axis) { a.limits.Jerk = 0.1 },
		"endless":     func(a *axis) { a.limits.Bounded = false },
	} {
		h := &hardware.Joint{Name: "j", Kind: hardware.Servo, Direction: 1, Zero: 1500, Scale: 600}
		a := axis{hw: h, unit: "rad", limits: l}
		a.on.Zero, a.on.Scale = h.Zero, h.Scale
		require.NoError(t, a.configure(0))
		spoil(&a)
		err := a.configure(0)
		require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err), "%s: %v", name, err)
		require.ErrorContains(t, err, "j", name)
	}
}
