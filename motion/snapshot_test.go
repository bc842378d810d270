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
