package gobot_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/gobot"
	"github.com/tau-robot/tau/robot"
)

// What boards, chips and other programs do that they shouldn't.

// meanwhile runs a motion of a second or more and does something in the middle of it.
func meanwhile(t *testing.T, r *gobot.Robot, do func()) (robot.Outcome, error) {
	t.Helper()
	actuate(t, r, robot.TorqueOn)
	time.AfterFunc(500*time.Millisecond, do)
	return r.Execute(context.Background(), moveTo(t, r, []float64{0.8, -0.5}, 1), nil)
}

// recovered clears what is latched and moves somewhere, once the robot answers.
func recovered(t *testing.T, r *gobot.Robot) {
	t.Helper()
	time.Sleep(5 * time.Second)
	s, err := r.State(context.Background())
	require.NoError(t, err)
	require.False(t, s.Enabled, "nobody has enabled it since")
	require.NotEmpty(t, s.Faults)
	actuate(t, r, robot.EStopReset)
	actuate(t, r, robot.TorqueOn)
	_, err = r.Execute(context.Background(), moveTo(t, r, []float64{0.1, 0.1}, 0), nil)
	require.NoError(t, err)
}

// Case 39: a stop is never refused: not before torque, not in a fault, not twice; and nothing
// rides on it.
func TestCase39_AStopIsNeverRefused(t *testing.T) {
	measured().bubble(t, func(t *testing.T, u *uno, r *gobot.Robot) {
		ctx := context.Background()
		for range 2 {
			require.Equal(t, robot.Yes, r.Stop(ctx, robot.StopControlled).Commanded)
		}
		require.Empty(t, u.setpoints())
		_, err := meanwhile(t, r, func() { u.do(func() { u.block(9) }) })
		require.Equal(t, robot.CodeDeviation, robot.CodeOf(err), "%v", err)
		n := len(u.setpoints())
		for _, kind := range []robot.StopKind{robot.StopControlled, robot.StopEmergency, robot.StopEmergency} {
			v := r.Stop(ctx, kind)
			require.Equal(t, robot.Yes, v.Commanded, v.Text)
			require.Equal(t, robot.Yes, v.Stationary, v.Text)
		}
		require.Len(t, u.setpoints(), n, "nothing rides on it")
	})
}

// Firmata has no owner: whoever has the line open is obeyed. What somebody else told a servo
// is found, is a fault, and nothing is written over it before somebody has looked.
func TestAnotherMastersSetpointIsFound(t *testing.T) {
	servos().bubble(t, func(t *testing.T, u *uno, r *gobot.Robot) {
		actuate(t, r, robot.TorqueOn)
		n := len(u.setpoints())
		u.do(func() { u.receive([]byte{0xE9, 1600 & 0x7F, 1600 >> 7}) })
		time.Sleep(time.Second)
		s, err := r.State(context.Background())
		require.NoError(t, err)
		require.False(t, s.Enabled)
		require.NotEmpty(t, s.Faults)
		require.Equal(t, "pan", s.Faults[0].Where)
		require.Contains(t, s.Faults[0].Text, "somebody else")
		require.Len(t, u.setpoints(), n+1, "nothing but what the other one said")
		actuate(t, r, robot.EStopReset)
		actuate(t, r, robot.TorqueOn)
		s, err = r.State(context.Background())
		require.NoError(t, err)
		_, f := servos().parts(t)
		require.InDelta(t, f.Joints[0].Position(1600), s.Setpoints[0], 1e-3, "it is held where it is")
	})
}

// A board that says more and more, in whatever messages, ends the link at most, and moves
// nothing.
func TestAFloodEndsTheLinkAtMost(t *testing.T) {
	for name, flood := range map[string][]byte{
		"texts":            {0xF0, 0x71, 'a', 0, 'b', 0, 0xF7},
		"answers over I2C": {0xF0, 0x77, 0x40, 0, 0, 0, 1, 0, 0xF7},
		"states of pins":   {0xF0, 0x6E, 9, 4, 0x40, 0x0B, 0xF7},
		"capabilities":     {0xF0, 0x6C, 0, 1, 0x7F, 0xF7},
		"mappings":         {0xF0, 0x6A, 0, 1, 2, 0xF7},
		"unknown messages": {0xF0, 0x01, 1, 0xF7},
	} {
		servos().bubble(t, func(t *testing.T, u *uno, r *gobot.Robot) {
			out, err := meanwhile(t, r, func() {
				u.do(func() {
					for range 1000 {
						u.say(flood...)
					}
				})
			})
			if err == nil { // it was thrown away as fast as it came
				require.Equal(t, robot.OutcomeDone, out.Status, name)
				require.InDeltaSlice(t, []float64{0.8, -0.5}, out.Final.Setpoints, 1e-9, name)
				return
			}
			require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%s: %v", name, err)
			require.Equal(t, robot.OutcomeUnknown, out.Status, name)
			recovered(t, r)
		})
	}
}

// What begins a message and doesn't end it costs what it swallows, and no memory.
func TestAMessageWithoutAnEnd(t *testing.T) {
	servos().bubble(t, func(t *testing.T, u *uno, r *gobot.Robot) {
		endless := make([]byte, 100_000)
		endless[0] = 0xF0
		_, err := meanwhile(t, r, func() { u.do(func() { u.say(endless...) }) })
		require.NoError(t, err, "the next answer begins anew")
	})
}

// A board whose analogue reports stop, and which answers all else, measures nothing any more.
func TestReportsThatStopEndTheMotion(t *testing.T) {
	measured().bubble(t, func(t *testing.T, u *uno, r *gobot.Robot) {
		out, err := meanwhile(t, r, func() { u.do(func() { u.reports[1] = false }) })
		require.Equal(t, robot.CodeStaleState, robot.CodeOf(err), "%v", err)
		require.Equal(t, robot.OutcomeUnknown, out.Status)
		_, err = r.State(context.Background())
		require.Equal(t, robot.CodeStaleState, robot.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, "tilt")
		s := u.setpoints()
		time.Sleep(time.Second)
		require.Len(t, u.setpoints(), len(s), "nothing is sent any more")
		_, err = r.Actuate(context.Background(), robot.Command{ID: "on", Kind: robot.TorqueOn})
		require.Error(t, err)
		u.do(func() { u.reports[1] = true })
		recovered(t, r)
	})
}

// A board that boots between two looks at it: nothing that was on its way gives a servo
// power, whichever servo is asked first.
func TestABootWithinAHeartbeatPowersNothing(t *testing.T) {
	for after := 500 * time.Millisecond; after < 540*time.Millisecond; after += time.Millisecond {
		servos().bubble(t, func(t *testing.T, u *uno, r *gobot.Robot) {
			actuate(t, r, robot.TorqueOn)
			time.AfterFunc(after, u.reset)
			out, err := r.Execute(context.Background(), moveTo(t, r, []float64{0.8, -0.5}, 1), nil)
			require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v: %v", after, err)
			require.Equal(t, robot.OutcomeUnknown, out.Status)
			time.Sleep(time.Second)
			u.do(func() { require.Zero(t, u.attached, "%v", after) })
			s, err := r.State(context.Background())
			require.NoError(t, err)
			require.False(t, s.Enabled || s.Powered)
			require.Equal(t, []bool{true, true}, s.Unreferenced)
		})
	}
}

// A chip that another program set up anew since would make other pulses of the same counts:
// it isn't given any.
func TestAChipAtAnotherRateIsGivenNoPulses(t *testing.T) {
	onChip().bubble(t, func(t *testing.T, u *uno, r *gobot.Robot) {
		u.do(func() { u.chip.regs[0xFE] = 60 })
		s, err := r.State(context.Background())
		require.NoError(t, err)
		_, err = r.Actuate(context.Background(), robot.Command{ID: "on", Kind: robot.TorqueOn, Epoch: s.StopEpoch})
		require.Error(t, err)
		require.ErrorContains(t, err, "hat")
		u.do(func() { require.Zero(t, u.chip.pulse(0)) })
		time.Sleep(time.Second)
		u.do(func() { require.EqualValues(t, 121, u.chip.regs[0xFE], "it had no pulses, and is set up anew") })
	})
}
