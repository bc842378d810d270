package gobot_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/gobot"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/robottest"
)

// The cases of the public bug reports, by number, on this driver. Those that every
// backend is held to are robottest's; what is particular to a stock board follows.

func TestCase37_AStopThatIsNotSentIsNotCommanded(t *testing.T) {
	robottest.RunCase(t, servos().harness(), 37)
}

func TestCase38_AStopWinsOverWhatIsBeingStarted(t *testing.T) {
	robottest.RunCase(t, measured().harness(), 38)
}

func TestCase40_ACancelIsAControlledStop(t *testing.T) {
	robottest.RunCase(t, measured().harness(), 40)
}

func TestCase41_AResetEnablesAndStartsNothing(t *testing.T) {
	robottest.RunCase(t, servos().harness(), 41)
}

func TestCase43_ASecondStartIsBusy(t *testing.T) { robottest.RunCase(t, onChip().harness(), 43) }

func TestCase44_AFaultEndsTheMotionForGood(t *testing.T) {
	robottest.RunCase(t, measured().harness(), 44)
}

func TestCase47_RadiansAndMicroseconds(t *testing.T) { robottest.RunCase(t, half().harness(), 47) }

func TestCase49_ALostLinkIsUnknownAndNoInvitation(t *testing.T) {
	robottest.RunCase(t, servos().harness(), 49)
}

// bubble runs a test of a rig in simulated time.
func (g rig) bubble(t *testing.T, f func(t *testing.T, u *uno, r *gobot.Robot)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		u := g.board(t)
		f(t, u, g.open(t, u))
	})
}

// Case 32 and 33: a board that takes nothing and says nothing keeps neither a stop nor
// Close waiting, and nobody spins meanwhile: in a bubble time only passes while all wait.
func TestCase32And33_AHungLineKeepsNobody(t *testing.T) {
	servos().bubble(t, func(t *testing.T, u *uno, r *gobot.Robot) {
		actuate(t, r, robot.TorqueOn)
		u.do(func() { u.hung = true })
		began := time.Now()
		v := r.Stop(context.Background(), robot.StopControlled)
		require.NotEqual(t, robot.Yes, v.Acknowledged)
		require.Less(t, time.Since(began), 10*time.Second)
		began = time.Now()
		_ = r.Close() // it says that nothing is left safe
		require.Less(t, time.Since(began), 10*time.Second)
	})
}

// Case 42: a stock board has no watchdog, so whatever only that could stop is refused, with
// what to use instead; the servos stay where they were told last.
func TestCase42_WithoutAWatchdogNothingContinuous(t *testing.T) {
	robottest.RunCase(t, servos().harness(), 42)
	for _, c := range []struct{ kind, onLost, want string }{
		{"motor", "unchanged", "driver mcu"}, {"pump", "unchanged", "driver mcu"}, {"heater", "unchanged", "driver mcu"},
		{"gluepump", "unchanged", "driver mcu"}, {"Motor", "unchanged", "driver mcu"},
		{"led", "off", "on_lost_link"}, {"relay", "off", "on_lost_link"},
	} {
		g := servos()
		m, f := g.parts(t)
		changed := *m
		changed.Actuators = slices.Clone(m.Actuators)
		changed.Actuators[0].Kind, changed.Actuators[0].OnLost = c.kind, c.onLost
		_, err := gobot.Open(context.Background(), gobot.Options{Model: &changed, Hardware: f, Dial: func(context.Context) (gobot.Port, error) {
			t.Error("nothing is opened")
			return nil, errors.New("never")
		}})
		require.Equal(t, robot.CodeNotSupported, robot.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, c.want)
	}
}

// Case 45: nothing that isn't a place within the limits leaves for the board.
func TestCase45_NonsenseIsNoTarget(t *testing.T) {
	robottest.RunCase(t, servos().harness(), 45)
	servos().bubble(t, func(t *testing.T, u *uno, r *gobot.Robot) {
		actuate(t, r, robot.TorqueOn)
		n := len(u.setpoints())
		for _, bad := range []float64{math.NaN(), math.Inf(1), 5000, 1.45} {
			m := moveTo(t, r, []float64{0.5, 0}, 0)
			m.Trajectory.Segments[1].Q[0] = bad
			_, err := r.Execute(context.Background(), m, nil)
			require.Error(t, err)
			require.Error(t, light(t, r, bad))
		}
		require.Len(t, u.setpoints(), n, "nothing on the wire")
	})
}

// Case 48: a servo that is told to be attached, and isn't, has no torque; a board that
// keeps nothing it is told confirms nothing.
func TestCase48_ASetpointIsReadBack(t *testing.T) {
	robottest.RunCase(t, measured().harness(), 48)
	g := onChip()
	g.bubble(t, func(t *testing.T, u *uno, r *gobot.Robot) {
		u.do(func() { u.chip.deaf = true })
		s, err := r.State(context.Background())
		require.NoError(t, err)
		_, err = r.Actuate(context.Background(), robot.Command{ID: "on", Kind: robot.TorqueOn, Epoch: s.StopEpoch})
		require.ErrorContains(t, err, "registers")
		require.Error(t, light(t, r, 1))
		s, err = r.State(context.Background())
		require.NoError(t, err)
		require.False(t, s.Enabled || s.Powered)
	})
}

// Case 50: what one servo does when the power is taken away keeps nobody else's, nor the
// port.
func TestCase50_EachServoIsLetGo(t *testing.T) {
	robottest.RunCase(t, servos().harness(), 50)
	g := mixed()
	synctest.Test(t, func(t *testing.T) {
		u := g.board(t)
		r, err := gobot.Open(context.Background(), g.options(t, u))
		require.NoError(t, err)
		actuate(t, r, robot.TorqueOn)
		u.do(func() { u.chip.deaf = true }) // pan's
		require.ErrorContains(t, r.Close(), "pan")
		u.do(func() {
			require.Equal(t, 1, u.pins[10].mode, "tilt is let go")
			require.Nil(t, u.line, "the port is closed")
		})
	})
}

// A hundred times the cable is pulled, in a motion and at rest: nothing moves that wasn't
// told to, nothing old is said, and nothing is left over.
func TestAHundredUnplugs(t *testing.T) {
	for _, g := range []rig{servos(), measured()} {
		g.bubble(t, func(t *testing.T, u *uno, r *gobot.Robot) {
			for i := range 100 {
				if s, err := r.State(context.Background()); err == nil && len(s.Faults) > 0 {
					actuate(t, r, robot.EStopReset)
				}
				actuate(t, r, robot.TorqueOn)
				to := []float64{0.8, -0.5}
				if i%2 == 1 {
					to = []float64{-0.8, 0.5}
				}
				m := moveTo(t, r, to, 1)
				if i%3 != 0 {
					time.AfterFunc(300*time.Millisecond+time.Duration(i)*time.Millisecond, u.unplug)
					out, err := r.Execute(context.Background(), m, nil)
					require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
					require.Equal(t, robot.OutcomeUnknown, out.Status)
				} else {
					u.unplug()
					time.Sleep(50 * time.Millisecond)
				}
				_, err := r.State(context.Background())
				require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
				n := len(u.setpoints())
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				u.replug()
				time.Sleep(3 * time.Second)
				s, err := r.State(context.Background())
				require.NoError(t, err)
				require.False(t, s.Enabled)
				require.True(t, s.Powered)
				require.Less(t, time.Since(s.MeasuredAt), 150*time.Millisecond)
				require.Len(t, u.setpoints(), n, "nothing is sent by itself")
				for j, q := range g.observe(t, u)() {
					require.InDelta(t, q, s.Setpoints[j], 0.005, "where the board was told last")
				}
			}
			require.Equal(t, 101, u.opened)
		})
	}
}

// A board that stays frozen: what is true of it is said, and Close doesn't claim that it is
// left safe.
func TestAFrozenBoardIsNotLeftSafe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := measured()
		u := g.board(t)
		r, err := gobot.Open(context.Background(), g.options(t, u))
		require.NoError(t, err)
		actuate(t, r, robot.TorqueOn)
		u.freeze()
		time.Sleep(300 * time.Millisecond)
		_, err = r.State(context.Background())
		require.Equal(t, robot.CodeStaleState, robot.CodeOf(err), "%v", err)
		time.Sleep(2 * time.Second)
		_, err = r.State(context.Background())
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, "doesn't answer")
		u.thaw()
		time.Sleep(5 * time.Second)
		s, err := r.State(context.Background())
		require.NoError(t, err)
		require.False(t, s.Enabled)
		u.freeze()
		require.Error(t, r.Close())
		u.thaw()
	})
}

// A board that is reset forgets its servos; nothing is powered before somebody has said
// anew where they are.
func TestAResetIsSeen(t *testing.T) {
	for _, cut := range []bool{false, true} {
		g := servos()
		g.bubble(t, func(t *testing.T, u *uno, r *gobot.Robot) {
			actuate(t, r, robot.TorqueOn)
			if cut { // while the cable is out
				u.unplug()
				u.reset()
				time.Sleep(time.Second)
				u.replug()
			} else {
				u.reset()
			}
			time.Sleep(5 * time.Second)
			s, err := r.State(context.Background())
			require.NoError(t, err)
			require.False(t, s.Enabled || s.Powered)
			require.Equal(t, []bool{true, true}, s.Unreferenced)
			_, err = r.Actuate(context.Background(), robot.Command{ID: "on", Kind: robot.TorqueOn, Epoch: s.StopEpoch})
			require.Error(t, err)
			require.NoError(t, r.Declare([]float64{0.1, 0.1}))
			if len(s.Faults) > 0 {
				actuate(t, r, robot.EStopReset)
			}
			actuate(t, r, robot.TorqueOn)
		})
	}
}

// A broken wire or another servo's calibration isn't a position.
func TestABrokenFeedbackWireIsNoPosition(t *testing.T) {
	g := measured()
	first, rest, _ := strings.Cut(g.file, "adc = [[-1.5, ")
	_, rest, _ = strings.Cut(rest, "]]")
	g.file = first + "adc = [[-1.5, 100], [1.5, 900]]" + rest
	g.bubble(t, func(t *testing.T, u *uno, r *gobot.Robot) {
		u.do(func() { u.hand[0] = 0 })
		time.Sleep(time.Second)
		_, err := r.State(context.Background())
		require.Equal(t, robot.CodeStaleState, robot.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, "pan")
		u.do(func() { delete(u.hand, 0) })
		time.Sleep(time.Second)
		_, err = r.State(context.Background())
		require.NoError(t, err)
	})
}

// The library sets eight digital outputs at a time, by what it remembers of the pins.
func TestADigitalOutputTouchesNoOther(t *testing.T) {
	g := servos()
	g.file = strings.Replace(g.file, "channel = 11\npwm = true\nscale = 254\n", "channel = 12\nscale = 1\n", 1)
	g.bubble(t, func(t *testing.T, u *uno, r *gobot.Robot) {
		actuate(t, r, robot.TorqueOn)
		require.NoError(t, light(t, r, 1))
		u.do(func() {
			require.True(t, u.pins[12].on)
			for _, n := range []int{8, 11, 13, 14, 15} {
				require.False(t, u.pins[n].on, "pin %d", n)
			}
			for _, n := range []int{9, 10} {
				require.Equal(t, 4, u.pins[n].mode, "pin %d is a servo's", n)
			}
		})
		require.NoError(t, light(t, r, 0))
		u.do(func() { require.False(t, u.pins[12].on) })
	})
}
