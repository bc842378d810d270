package feetech_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// A gripper of bus servos closes on something: it is felt by its standing still, the servo
// presses with what its torque limit leaves it, and lets go when it is opened.
func TestAGripperClosesOnSomething(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := so101().bench(t)
		jaw := b.o.Model.Gripper.Joint
		require.Zero(t, b.o.Hardware.Joints[jaw].MaxCurrent, "a bound of the current would end the grip as an overload")
		r := b.enabled(t)
		open := b.observe()
		open[jaw] = b.o.Model.Gripper.Open / 2
		_, err := b.moveTo(t, r, open, 1)
		require.NoError(t, err)

		shut := b.observe()
		shut[jaw] = b.o.Model.Gripper.Closed
		m := b.motion(t, r, shut, 3)
		m.Grip = &robot.Grip{MaxEffort: b.o.Model.Gripper.MaxEffort}
		timer := time.AfterFunc(1200*time.Millisecond, func() { ok(t, b.line.Hold(b.id(jaw), true)) })
		defer timer.Stop()
		out, err := r.Execute(context.Background(), m, nil)
		require.NoError(t, err)
		require.Equal(t, robot.OutcomeDone, out.Status)
		require.Less(t, out.Duration, m.Trajectory.Duration())
		at := b.observe()[jaw]
		require.InDelta(t, at, out.Final.Positions[jaw], 2e-3)
		require.Greater(t, at, shut[jaw]+0.1, "it closed on something")
		require.Less(t, out.Final.Setpoints[jaw], at, "it presses")
		s, err := r.State(context.Background())
		require.NoError(t, err)
		require.Empty(t, s.Faults)

		must(t, b.line.Hold(b.id(jaw), false))
		time.Sleep(500 * time.Millisecond) // what it held is gone, and it closes by as much as it pressed
		_, err = b.moveTo(t, r, open, 1)
		require.NoError(t, err)
		require.InDelta(t, open[jaw], b.observe()[jaw], 5e-3)
	})
}
