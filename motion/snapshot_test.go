package motion_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// A backend counts its stops anew after a restart: a motion of before is restored
// under the count of now, runs as the call that it was, and is void by the next stop.
func TestG47_AMotionIsRestoredUnderTheStopEpochOfNow(t *testing.T) {
	g := newRig(t, rigOptions{})
	g.robot.Stop(context.Background(), robot.StopControlled)
	act := g.action("move_joints", turn)
	snap, err := act.Snapshot()
	require.NoError(t, err)

	next := newRig(t, rigOptions{})
	again, err := next.tools["move_joints"].Restore(t.Context(), snap)
	require.NoError(t, err)
	require.Equal(t, act.Digest(), again.Digest())
	require.Equal(t, act.Card(), again.Card())
	require.NoError(t, again.Check(t.Context()))
	twin, err := next.tools["move_joints"].Restore(t.Context(), snap)
	require.NoError(t, err)
	next.robot.Stop(context.Background(), robot.StopControlled)
	requireCode(t, gate.CodeStopped, twin.Check(t.Context()))
	third, err := next.tools["move_joints"].Restore(t.Context(), snap)
	require.NoError(t, err)
	require.NoError(t, third.Check(t.Context()))
	res, err := third.Run(t.Context())
	require.NoError(t, err, res.Text)
}

// A command is restored as a motion is: under the count of now, void by the next stop,
// and not where what its card showed of latches and torque isn't so any more.
func TestG47_ACommandIsRestoredUnderTheStopEpochOfNow(t *testing.T) {
	g := newRig(t, rigOptions{})
	g.robot.Stop(t.Context(), robot.StopControlled)
	act := g.action("torque_off", `{}`)
	snap, err := act.Snapshot()
	require.NoError(t, err)

	next := newRig(t, rigOptions{})
	restored := func() gate.Action {
		again, err := next.tools["torque_off"].Restore(t.Context(), snap)
		require.NoError(t, err)
		require.Equal(t, act.Digest(), again.Digest())
		return again
	}
	first, second := restored(), restored()
	require.NoError(t, first.Check(t.Context()))
	next.robot.Stop(t.Context(), robot.StopControlled)
	requireCode(t, gate.CodeStopped, first.Check(t.Context()))
	_, err = second.Run(t.Context())
	requireCode(t, gate.CodeStopped, err)

	third := restored()
	require.NoError(t, third.Check(t.Context()))
	res, err := third.Run(t.Context())
	require.NoError(t, err, res.Text)
	fourth := restored()
	requireCode(t, gate.CodeStartMoved, fourth.Check(t.Context())) // the torque is off already

	// A reset releases only what somebody was shown.
	g.robot.Stop(t.Context(), robot.StopEmergency)
	snap, err = g.action("estop_reset", `{}`).Snapshot()
	require.NoError(t, err)
	reset, err := next.tools["estop_reset"].Restore(t.Context(), snap)
	require.NoError(t, err)
	requireCode(t, gate.CodeStartMoved, reset.Check(t.Context()))
}
