package hosted_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/hosted"
	"github.com/tau-robot/tau/robot"
)

// stiffness is what the fake gripper's servo makes of a rad off its goal, N·m.
const stiffness = 8

// gripping is a bench whose gripper is open above something that it can close on.
func gripping(t *testing.T, felt bool) (b *bench, e *hosted.Engine, jaw int) {
	g := measuredRig
	g.effort = true
	b = g.bench(t)
	jaw = b.m.Gripper.Joint
	b.do(func() {
		b.q[jaw], b.goal[jaw] = 1, 1
		b.jaw, b.between = jaw, 0.5
		b.effort = func(i int) float64 {
			if !felt {
				return 0.01
			}
			return stiffness * (b.goal[i] - b.q[i])
		}
	})
	e = b.open(t)
	enable(t, e)
	return b, e, jaw
}

// closes is a motion that closes the gripper as far as it goes.
func closes(t *testing.T, e *hosted.Engine, jaw int, seconds, effort float64) robot.Motion {
	s := state(t, e)
	to := s.Where()
	to[jaw] = 0
	m := motion(e, s, to, seconds)
	m.Grip = &robot.Grip{MaxEffort: effort}
	return m
}

// A grip ends where it is felt, goes on pressing as hard as it was let, holds on in later
// motions, and lets go when it is opened.
func TestAGripEndsWhereItIsFelt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e, jaw := gripping(t, true)
		require.True(t, e.Info().MeasuresEffort)
		m := closes(t, e, jaw, 2, 0.5)
		out, err := e.Execute(context.Background(), m, nil)
		require.NoError(t, err)
		require.Equal(t, robot.OutcomeDone, out.Status)
		require.Less(t, out.Duration, m.Trajectory.Duration())
		require.InDelta(t, 0.5, out.Final.Positions[jaw], 2*tick)
		require.Empty(t, out.Gripped, "what it is nobody knows")
		held := b.goals()[jaw]
		require.Less(t, held, 0.5, "it presses")
		require.Greater(t, held, 0.5-1.5*0.5/stiffness, "and no harder than it may by much")
		require.InDelta(t, stiffness*(held-0.5), state(t, e).Efforts[jaw], 1e-6)

		to := state(t, e).Where()
		to[0] += 0.4
		_, err = e.Execute(context.Background(), motion(e, state(t, e), to, 1), nil)
		require.NoError(t, err)
		for _, w := range b.writings()[len(b.writings())-20:] {
			require.Equal(t, held, w.q[jaw], "it holds on while the arm moves")
		}
		v := e.Stop(context.Background(), robot.StopControlled)
		require.Equal(t, robot.Yes, v.Stationary)
		require.Equal(t, held, b.goals()[jaw])

		to[jaw] = 1
		_, err = e.Execute(context.Background(), motion(e, state(t, e), to, 1), nil)
		require.NoError(t, err)
		require.InDelta(t, 1, b.where()[jaw], 0.01)
		to[jaw] = 0.8
		_, err = e.Execute(context.Background(), motion(e, state(t, e), to, 1), nil)
		require.NoError(t, err, "and what was gripped is forgotten")
		require.InDelta(t, 0.8, b.goals()[jaw], 1e-9)
	})
}

// One whose effort says nothing is felt by its standing still.
func TestAGripThatStalls(t *testing.T) {
	for _, seconds := range []float64{4, 0} {
		inBubble(t, func(t *testing.T) {
			b, e, jaw := gripping(t, false)
			out, err := e.Execute(context.Background(), closes(t, e, jaw, seconds, 1), nil)
			require.NoError(t, err)
			require.Equal(t, robot.OutcomeDone, out.Status)
			require.InDelta(t, 0.5, out.Final.Positions[jaw], 2*tick)
			require.Greater(t, b.goals()[jaw], 0.15, "it doesn't press on to the end")
		})
	}
}

// A grip on nothing is a motion like another, a stop in it a stop, and a joint of the arm
// that doesn't follow a fault.
func TestAGripOnNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e, jaw := gripping(t, true)
		b.do(func() { b.between = -1 })
		out, err := e.Execute(context.Background(), closes(t, e, jaw, 1, 0.9), nil)
		require.NoError(t, err)
		require.InDelta(t, 0, out.Final.Positions[jaw], 2*tick)

		to := state(t, e).Where()
		to[jaw] = 1
		_, err = e.Execute(context.Background(), motion(e, state(t, e), to, 1), nil)
		require.NoError(t, err)
		r := during(t, e, closes(t, e, jaw, 2, 0.9), 0.5, func() { e.Stop(context.Background(), robot.StopControlled) })
		code(t, robot.CodeStopped, r.err)
		require.Equal(t, robot.OutcomeStopped, r.out.Status)

		m := closes(t, e, jaw, 2, 0.9)
		r = during(t, e, m, 0.3, func() {
			b.do(func() { b.stuck[0] = true; b.q[0] += 0.5 })
		})
		code(t, robot.CodeDeviation, r.err)
		require.ErrorContains(t, r.err, b.m.JointNames()[0])
	})
}

// Where no effort is measured a grip is felt by its standing still, and bounded by the
// servo's own torque limit: one that may have less isn't begun.
func TestAGripByTheServosOwnTorqueLimit(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := measuredRig.bench(t)
		jaw := b.m.Gripper.Joint
		b.o.Hardware.Joints[jaw].TorqueLimit = 0.5
		own := 0.5 * b.m.Limits[jaw].Effort
		require.Positive(t, own)
		b.do(func() { b.q[jaw], b.goal[jaw], b.jaw, b.between = 1, 1, jaw, 0.5 })
		e := b.open(t)
		require.False(t, e.Info().MeasuresEffort)
		enable(t, e)
		before := b.count("write")
		out, err := e.Execute(context.Background(), closes(t, e, jaw, 2, 0.9*own), nil)
		code(t, robot.CodeNotSupported, err)
		require.ErrorContains(t, err, "torque_limit")
		require.Equal(t, robot.OutcomeRefused, out.Status)
		require.Equal(t, before, b.count("write"))

		out, err = e.Execute(context.Background(), closes(t, e, jaw, 2, own), nil)
		require.NoError(t, err)
		require.Equal(t, robot.OutcomeDone, out.Status)
		require.InDelta(t, 0.5, out.Final.Positions[jaw], 2*tick)
		held := b.goals()[jaw]
		require.Less(t, held, 0.5, "it presses")
		require.Greater(t, held, 0.15, "and doesn't go on to the end")
		to := state(t, e).Where()
		to[jaw] = 1
		_, err = e.Execute(context.Background(), motion(e, state(t, e), to, 1), nil)
		require.NoError(t, err)
		require.InDelta(t, 1, b.where()[jaw], 0.01)
	})
}

// Where nothing is felt there is no grip.
func TestAGripThatNothingFeels(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := measuredRig.enabled(t)
		m := motion(e, state(t, e), b.target(), 1)
		m.Grip = &robot.Grip{MaxEffort: 1}
		out, err := e.Execute(context.Background(), m, nil)
		code(t, robot.CodeNotSupported, err)
		require.Equal(t, robot.OutcomeRefused, out.Status)
		require.Zero(t, b.count("write"))
	})
}
