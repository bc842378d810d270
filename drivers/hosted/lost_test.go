package hosted_test

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/hosted"
	"github.com/tau-robot/tau/robot"
)

// lose has a joint answer, and say why nobody knows where it is.
func (b *bench) lose(joint int) {
	b.do(func() {
		b.garbage = func(s *hosted.Sample) {
			j := &s.Joints[joint]
			j.Position, j.Setpoint = math.NaN(), math.NaN()
			j.Lost = robot.Errf(robot.CodeNotCalibrated, "fake", "it stands across the seam")
		}
	})
}

// A joint that answers and doesn't know where it is isn't one that doesn't answer: it is
// said why, nothing moves, and whether it has torque is known all the same.
func TestAJointThatDoesNotKnowWhereItIs(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := lampRig.enabled(t)
		name := b.m.JointNames()[0]
		r := during(t, e, motion(e, state(t, e), b.target(), 2), 1, func() { b.lose(0) })
		code(t, robot.CodeStaleState, r.err)
		require.ErrorContains(t, r.err, "it isn't known where "+name+" is")
		require.ErrorContains(t, r.err, "across the seam")
		require.NotContains(t, r.err.Error(), "answer")
		require.Nil(t, r.out.Final.Positions)
		_, err := e.State(context.Background())
		code(t, robot.CodeStaleState, err)
		require.ErrorContains(t, err, "across the seam")
		require.NotContains(t, err.Error(), "answer")
		_, err = e.Actuate(context.Background(), robot.Command{Kind: robot.TorqueOn, Epoch: 0})
		require.Error(t, err)

		// An e-stop takes its torque like the others', and doesn't say that it couldn't.
		v := e.Stop(context.Background(), robot.StopEmergency)
		require.NotEqual(t, robot.Yes, v.Stationary)
		require.Contains(t, v.Text, "across the seam")
		require.NotContains(t, v.Text, "torque")
		require.NotContains(t, b.torque(), true)
		require.Equal(t, 1, b.count("power off"), "it was seen to be gone")

		b.do(func() { b.garbage = nil })
		s := back(t, e)
		require.InDelta(t, b.where()[0], s.Positions[0], tick)
		for _, f := range s.Faults {
			require.NotContains(t, f.Text, "power")
		}
	})
}

// One that loses its torque meanwhile is noticed as well.
func TestALostJointThatLosesItsTorque(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := lampRig.enabled(t)
		b.lose(0)
		b.do(func() { b.power[0] = false })
		time.Sleep(200 * time.Millisecond)
		b.do(func() { b.garbage, b.power[0], b.goal[0] = nil, true, b.q[0] }) // somebody else has switched it on again
		s := back(t, e)
		require.False(t, s.Enabled)
		require.NotEmpty(t, s.Faults)
		require.Equal(t, robot.CodeNotEnabled, s.Faults[0].Code)
	})
}

// An e-stop that was to take the power away and couldn't says so in its verdict.
func TestTheVerdictOfAnEStopThatLeavesThePower(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := lampRig.enabled(t)
		b.do(func() { b.clings[0] = true })
		v := e.Stop(context.Background(), robot.StopEmergency)
		require.Contains(t, v.Text, "the power couldn't be taken away")
		b.do(func() { b.clings[0] = false })
		v = e.Stop(context.Background(), robot.StopEmergency)
		require.Empty(t, v.Text)
	})
}

// A stop that comes once every joint has its torque, and before they are taken into use,
// wins over the command: the joints have none afterwards, as before it.
func TestCase38_AStopWinsOverTorqueThatIsOn(t *testing.T) {
	for _, kind := range []robot.StopKind{robot.StopControlled, robot.StopEmergency} {
		inBubble(t, func(t *testing.T) {
			b := measuredRig.bench(t)
			e := b.open(t)
			s := state(t, e)
			var wg sync.WaitGroup
			var v robot.StopVerdict
			b.do(func() {
				b.once["power on"] = func() {
					b.do(func() {
						b.once["read"] = func() {
							wg.Go(func() { v = e.Stop(context.Background(), kind) })
							time.Sleep(time.Microsecond)
						}
					})
				}
			})
			_, err := e.Actuate(context.Background(), robot.Command{Kind: robot.TorqueOn, Epoch: s.StopEpoch})
			wg.Wait()
			code(t, robot.CodeStopped, err)
			require.Equal(t, robot.Yes, v.Commanded, v.Text)
			s = state(t, e)
			require.False(t, s.Enabled || s.Powered)
			require.NotContains(t, b.torque(), true)
		})
	}
}

// What was prepared before the link was lost, or a device restarted, is void for good: also
// once everything is reset, switched on and where it was.
func TestCase41_WhatWasPreparedBeforeALossIsVoid(t *testing.T) {
	for name, loss := range map[string]func(b *bench){
		"the link": func(b *bench) {
			b.unplug()
			time.Sleep(100 * time.Millisecond)
			b.replug()
		},
		"a device's memory": func(b *bench) { b.restart() },
	} {
		inBubble(t, func(t *testing.T) {
			b, e := measuredRig.enabled(t)
			m := motion(e, state(t, e), b.target(), 1)
			loss(b)
			time.Sleep(time.Second)
			back(t, e)
			_, err := do(e, robot.EStopReset)
			require.NoError(t, err, name)
			enable(t, e)
			writes := b.count("write")
			out, err := e.Execute(context.Background(), m, nil)
			code(t, robot.CodeStopped, err)
			require.Equal(t, robot.OutcomeRefused, out.Status, name)
			require.Equal(t, writes, b.count("write"))
			m.Epoch = state(t, e).StopEpoch
			_, err = e.Execute(context.Background(), m, nil)
			require.NoError(t, err, "and it is void for nothing else")
		})
	}
}
