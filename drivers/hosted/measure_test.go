package hosted_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/hosted"
	"github.com/tau-robot/tau/robot"
)

// Sliding joints are held to metres.
func TestSlidingJoints(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := rig{robot: "gantry", measured: all}.enabled(t)
		s := state(t, e)
		to := s.Where()
		for i, l := range b.m.Limits {
			to[i] = (l.Lower + l.Upper) / 2
			require.Equal(t, "m", e.Info().Actuators[i].Unit)
		}
		out, err := e.Execute(context.Background(), motion(e, s, to, 1), nil)
		require.NoError(t, err)
		require.InDeltaSlice(t, to, out.Final.Positions, 2*tick)
		// 3 mm and two ticks are too far from the end.
		b.do(func() { b.sag[0] = 0.01 })
		to[0] += 0.01
		_, err = e.Execute(context.Background(), motion(e, state(t, e), to, 1), nil)
		code(t, robot.CodeDeviation, err)
		require.ErrorContains(t, err, "away from its end")
	})
}

// Velocities are the hardware's own where it measures them; a velocity that is no number
// is made from positions, and whether a joint rests is judged by those in any case.
func TestVelocitiesOfTheHardware(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := measuredRig.bench(t)
		b.o.Traits.Velocity = true
		b.do(func() { b.said = []float64{1, 2, math.NaN(), math.Inf(1), 5, 6} })
		e := b.open(t)
		enable(t, e)
		s := state(t, e)
		require.Equal(t, []float64{1, 2, 0, 0, 5, 6}, s.Velocities)
		require.False(t, s.Moving)
		_, err := e.Execute(context.Background(), motion(e, s, b.target(), 1), nil)
		require.NoError(t, err)
	})
}

// A joint that is measured beyond its limits in mid-motion ends it.
func TestMeasuredBeyondItsLimits(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := measuredRig.enabled(t)
		s := state(t, e)
		to := s.Where()
		to[0] = b.m.Limits[0].Upper - 0.01
		m := motion(e, s, to, 2)
		r := during(t, e, m, m.Trajectory.Duration()-0.15, func() { b.do(func() { b.sag[0] = -0.12 }) })
		code(t, robot.CodeJointLimit, r.err)
		require.ErrorContains(t, r.err, b.m.JointNames()[0])
		b.do(func() { b.sag[0] = 0 })
	})
}

// A robot that doesn't come to rest isn't done, and a stop of it doesn't say that it rests.
func TestARobotThatDoesNotRest(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := measuredRig.enabled(t)
		shake := 0.0
		b.do(func() {
			b.garbage = func(s *hosted.Sample) {
				shake = 0.02 * math.Sin(float64(time.Now().UnixMilli())/40)
				s.Joints[2].Position += shake
			}
		})
		out, err := e.Execute(context.Background(), motion(e, state(t, e), b.m.Home, 1), nil)
		if err != nil && robot.CodeOf(err) == robot.CodeStartMoved {
			time.Sleep(60 * time.Millisecond)
			out, err = e.Execute(context.Background(), motion(e, state(t, e), b.m.Home, 1), nil)
		}
		code(t, robot.CodeUnknownOutcome, err)
		require.True(t, out.Final.Moving)
		v := e.Stop(context.Background(), robot.StopControlled)
		require.Equal(t, robot.Yes, v.Commanded)
		require.Equal(t, robot.Unknown, v.Stationary)
		b.do(func() { b.garbage = nil })
	})
}

// Hardware that reports by itself says when it did, and that is when it was measured.
func TestSamplesThatAreOlderThanTheirRead(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := measuredRig.bench(t)
		const old = 60 * time.Millisecond
		b.do(func() { b.garbage = func(s *hosted.Sample) { s.At = s.At.Add(-old) } })
		e := b.open(t)
		enable(t, e)
		s := state(t, e)
		require.GreaterOrEqual(t, time.Since(s.MeasuredAt), old)
		out, err := e.Execute(context.Background(), motion(e, s, b.target(), 1), nil)
		require.NoError(t, err)
		require.InDeltaSlice(t, b.target(), out.Final.Positions, 2*tick)
		b.do(func() { b.garbage = func(s *hosted.Sample) { s.At = s.At.Add(-time.Second) } })
		time.Sleep(time.Second)
		_, err = e.State(context.Background())
		code(t, robot.CodeStaleState, err)
		b.do(func() { b.garbage = func(s *hosted.Sample) { s.At = time.Now().Add(time.Hour) } })
		time.Sleep(time.Second)
		require.False(t, state(t, e).MeasuredAt.After(time.Now()), "nothing is measured in the future")
	})
}
