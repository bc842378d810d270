package hosted_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/hosted"
	"github.com/tau-robot/tau/robot"
)

// A loop that was held up for a moment goes on from where it was: motion time stretches,
// and nothing jumps (the bench's judge looks at that). Held up for longer it ends the
// motion where the robot was told to be last.
func TestALatePeriodIsNoJump(t *testing.T) {
	for _, method := range []string{"write", "read"} {
		for _, late := range []time.Duration{20, 60, 100, 140} {
			inBubble(t, func(t *testing.T) {
				b, e := measuredRig.enabled(t)
				m := motion(e, state(t, e), b.target(), 1)
				began := time.Now()
				r := during(t, e, m, 0.5, func() { b.do(func() { b.delay[method] = late * time.Millisecond }) })
				require.NoError(t, r.err)
				require.InDeltaSlice(t, b.target(), r.out.Final.Positions, 2*tick)
				require.Greater(t, time.Since(began).Seconds()-r.out.Duration, float64(late)/1e3-0.016, "motion time stood still meanwhile")
			})
		}
		inBubble(t, func(t *testing.T) {
			b, e := measuredRig.enabled(t)
			m := motion(e, state(t, e), b.target(), 1)
			var held []float64
			r := during(t, e, m, 0.5, func() {
				b.do(func() { b.delay[method] = 300 * time.Millisecond })
				time.Sleep(250 * time.Millisecond)
				held = b.goals()
			})
			code(t, robot.CodeLinkTimeout, r.err)
			require.Equal(t, robot.OutcomeFaulted, r.out.Status)
			after := b.goals()
			for i, l := range e.Info().Limits { // the setpoint that was late is the last but one
				require.InDelta(t, held[i], after[i], l.Velocity*b.o.Traits.Period.Seconds())
			}
			require.InDeltaSlice(t, after, r.out.Final.Positions, 2*tick, "it stands where it was told to be last")
			require.Equal(t, robot.CodeLinkTimeout, state(t, e).Faults[0].Code)
		})
	}
}

// What the hardware complains of ends a motion by a brake, and its first word stays the
// first reason; a reset releases nothing while it goes on complaining.
func TestWhatTheHardwareComplainsOfIsLatched(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := lampRig.enabled(t)
		c := robot.Command{Kind: robot.SetActuator, Name: "lamp", Value: 1}
		_, err := e.Actuate(context.Background(), c)
		require.NoError(t, err)
		m := motion(e, state(t, e), b.target(), 2)
		r := during(t, e, m, 1, func() {
			b.do(func() {
				b.complains = []robot.Fault{{Code: robot.CodeOverload, Where: "tilt", Text: "too hot"}, {Code: robot.CodeOverload, Where: "pan", Text: "too much current"}}
			})
		})
		code(t, robot.CodeOverload, r.err)
		require.ErrorContains(t, r.err, "too hot")
		require.Equal(t, robot.OutcomeFaulted, r.out.Status)
		s := state(t, e)
		require.Len(t, s.Faults, 2)
		require.Equal(t, "tilt", s.Faults[0].Where)
		require.False(t, s.Enabled)
		require.True(t, s.Powered, "it goes on being held")
		require.Zero(t, s.Actuators[0].Value, "a fault stops what a stop stops")
		sets := b.count("set")
		time.Sleep(time.Second)
		require.Equal(t, sets, b.count("set"), "once")
		b.do(func() { b.complains = b.complains[1:] })
		out, err := do(e, robot.EStopReset)
		code(t, robot.CodeOverload, err)
		require.Equal(t, robot.OutcomeFaulted, out.Status)
		require.Equal(t, "pan", state(t, e).Faults[0].Where)
		b.do(func() { b.complains = nil })
		_, err = do(e, robot.EStopReset)
		require.NoError(t, err)
		require.Empty(t, state(t, e).Faults)
		require.Equal(t, 2, b.count("clear"))
		enable(t, e)
		_, err = e.Execute(context.Background(), motion(e, state(t, e), b.target(), 1), nil)
		require.NoError(t, err)
	})
}

// Torque that goes away by itself ends a motion, and nothing more is written: a setpoint
// might give it back where the joint isn't any more.
func TestTorqueThatGoesAway(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := measuredRig.enabled(t)
		writes := 0
		r := during(t, e, motion(e, state(t, e), b.target(), 2), 1, func() {
			b.do(func() { b.power[2] = false })
			writes = b.count("write")
		})
		code(t, robot.CodeNotEnabled, r.err)
		require.ErrorContains(t, r.err, b.m.JointNames()[2])
		require.Equal(t, robot.OutcomeFaulted, r.out.Status)
		require.LessOrEqual(t, b.count("write"), writes+2)
		s := state(t, e)
		require.False(t, s.Enabled)
		require.True(t, s.Powered)
		require.InDeltaSlice(t, b.where(), r.out.Final.Positions, 2*tick)

		// At rest as well.
		_, err := do(e, robot.EStopReset)
		require.NoError(t, err)
		enable(t, e)
		b.do(func() { b.power[4] = false })
		time.Sleep(100 * time.Millisecond)
		s = state(t, e)
		require.Equal(t, robot.CodeNotEnabled, s.Faults[0].Code)
		require.False(t, s.Enabled)
	})
}

// A second master, or a servo that takes no setpoint, is noticed by the device's own word.
func TestAnotherSetpointInTheDevice(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := measuredRig.enabled(t)
		b.do(func() { b.goal[1] += 0.05 })
		time.Sleep(100 * time.Millisecond)
		s := state(t, e)
		require.Equal(t, robot.CodeDisconnected, s.Faults[0].Code)
		require.Equal(t, b.m.JointNames()[1], s.Faults[0].Where)
		require.False(t, s.Enabled)
		_, err := do(e, robot.EStopReset)
		require.NoError(t, err)
		at := b.goals()
		enable(t, e)
		require.InDeltaSlice(t, at, b.goals(), tick, "what it holds it goes on holding")
		_, err = e.Execute(context.Background(), motion(e, state(t, e), b.target(), 1), nil)
		require.NoError(t, err)
	})
	inBubble(t, func(t *testing.T) {
		b, e := measuredRig.enabled(t)
		r := during(t, e, motion(e, state(t, e), b.target(), 2), 0.5, func() { b.do(func() { b.deaf[1] = true }) })
		code(t, robot.CodeDisconnected, r.err)
		require.ErrorContains(t, r.err, b.m.JointNames()[1])
	})
}

// One setpoint that was lost on the line is made good by the next.
func TestALostSetpointIsNoFault(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := measuredRig.enabled(t)
		r := during(t, e, motion(e, state(t, e), b.target(), 2), 1, func() {
			b.do(func() { b.deaf[1] = true })
			time.Sleep(10 * time.Millisecond)
			b.do(func() { b.deaf[1] = false })
		})
		require.NoError(t, r.err)
	})
}

// A joint is off its setpoint by what its hardware's own lag doesn't explain.
func TestLagIsNoDeviation(t *testing.T) {
	for _, known := range []bool{true, false} {
		inBubble(t, func(t *testing.T) {
			b := measuredRig.bench(t)
			b.lag = 80 * time.Millisecond
			b.o.Traits.Lag = 0
			if known {
				b.o.Traits.Lag = b.lag
			}
			e := b.open(t)
			enable(t, e)
			m := motion(e, state(t, e), b.target(), 0) // as fast as it may
			for i := range m.MaxDeviation {
				m.MaxDeviation[i] = 0.06
			}
			out, err := e.Execute(context.Background(), m, nil)
			if !known {
				code(t, robot.CodeDeviation, err)
				return
			}
			require.NoError(t, err)
			worst := 0.0
			for _, x := range out.MaxTrackingError {
				worst = math.Max(worst, x)
			}
			require.Greater(t, worst, 0.06, "what is told is the difference from the setpoint")
		})
	}
}

// After a following error nothing presses on: the setpoints go to where the joints are,
// gently. What is measured farther off than a joint can have got explains nothing.
func TestNothingPressesOn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := measuredRig.enabled(t)
		r := during(t, e, motion(e, state(t, e), b.target(), 2), 0.5, func() { b.do(func() { b.stuck[0] = true }) })
		code(t, robot.CodeDeviation, r.err)
		require.InDelta(t, b.where()[0], b.goals()[0], 2*tick)
		require.InDelta(t, b.where()[0], r.out.Final.Setpoints[0], 2*tick)
	})
	inBubble(t, func(t *testing.T) {
		b, e := measuredRig.enabled(t)
		r := during(t, e, motion(e, state(t, e), b.target(), 2), 0.5, func() {
			b.do(func() {
				b.garbage = func(s *hosted.Sample) { s.Joints[0].Position = -1.5 }
			})
		})
		code(t, robot.CodeDeviation, r.err)
		require.Greater(t, b.goals()[0], -0.1, "it doesn't go where a broken encoder is")
	})
}

// A joint that its load keeps off its setpoint is led from the setpoint to the motion's
// start, gently; from farther off than the motion's bounds allow it isn't moved at all. One
// that its load keeps too far from the end isn't there.
func TestTheWayToTheStartIsGentle(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := measuredRig.enabled(t)
		b.do(func() { b.sag[0] = 0.1 })
		time.Sleep(500 * time.Millisecond)
		s := state(t, e)
		require.InDelta(t, s.Setpoints[0]-0.1, s.Positions[0], 2*tick)
		out, err := e.Execute(context.Background(), motion(e, s, b.target(), 1), nil)
		code(t, robot.CodeDeviation, err)
		require.ErrorContains(t, err, "away from its end")
		require.Equal(t, robot.OutcomeFaulted, out.Status)
	})
	inBubble(t, func(t *testing.T) {
		b, e := measuredRig.enabled(t)
		b.do(func() { b.sag[0] = 0.04 })
		time.Sleep(500 * time.Millisecond)
		s := state(t, e)
		before := len(b.writings())
		_, err := e.Execute(context.Background(), motion(e, s, s.Where(), 1), nil)
		require.NoError(t, err)
		l := e.Info().Limits[0]
		got := b.writings()[before:]
		require.InDelta(t, s.Setpoints[0], got[0].q[0], 1e-3)
		require.InDelta(t, s.Positions[0], got[len(got)-1].q[0], 1e-9, "it is led to where the motion starts")
		for _, w := range got {
			require.LessOrEqual(t, math.Abs(w.q[0]-w.from[0]), l.Velocity/4*b.o.Traits.Period.Seconds()+1e-9)
		}

		b.do(func() { b.sag[0] = 0.3 })
		time.Sleep(500 * time.Millisecond)
		s = state(t, e)
		before = len(b.writings())
		out, err := e.Execute(context.Background(), motion(e, s, s.Where(), 1), nil)
		code(t, robot.CodeStartMoved, err)
		require.Equal(t, robot.OutcomeRefused, out.Status)
		require.Len(t, b.writings(), before)
		b.do(func() { b.sag[0] = 0 })
	})
}

// A joint that was pushed away between the plan and the first setpoint isn't moved: it is
// measured once more right before that.
func TestTheStartIsMeasuredRightBefore(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := measuredRig.enabled(t)
		m := motion(e, state(t, e), b.target(), 1)
		before := b.count("write")
		// It is pushed just as the loop looks once more, after Execute has looked: the loop
		// waits now, and no time passes until Execute has handed it the motion.
		synctest.Wait()
		b.do(func() { b.once["read"] = func() { b.do(func() { b.stuck[2] = true; b.q[2] += 0.03 }) } })
		out, err := e.Execute(context.Background(), m, nil)
		code(t, robot.CodeStartMoved, err)
		require.ErrorContains(t, err, b.m.JointNames()[2])
		require.Equal(t, robot.OutcomeRefused, out.Status)
		require.Equal(t, before, b.count("write"))
	})
}

// A motion that begins outside of a limit and leads back inside is held at the limit until
// it is inside (the bench's judge looks at the setpoints).
func TestAStartOutsideItsLimits(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := measuredRig.bench(t)
		l := b.m.Limits[0]
		b.do(func() { b.q[0] = l.Upper + 0.01; b.goal[0] = b.q[0] })
		e := b.open(t)
		enable(t, e)
		require.Equal(t, l.Upper, b.goals()[0], "within what may be made good it is powered at the limit")
		b.do(func() { b.sag[0] = -0.01 })
		time.Sleep(300 * time.Millisecond)
		s := state(t, e)
		require.Greater(t, s.Positions[0], l.Upper+0.005)
		_, err := e.Execute(context.Background(), motion(e, s, b.m.Home, 1), nil)
		require.NoError(t, err)
		require.InDelta(t, b.m.Home[0], b.goals()[0], 1e-9)
	})
}
