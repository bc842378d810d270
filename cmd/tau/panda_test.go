package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The built-in seven-joint arm goes through the whole program as the small one does.
func TestThePandaMovesWhenItIsRehearsed(t *testing.T) {
	as, r := script(t, dataDir(t), []string{
		`{"tool":"move_joints","arguments":{"positions":{"panda_joint1":0.5,"panda_joint4":-1.9}}}`, `{"tool":"home"}`,
	}, "--rehearse", "--robot", "panda")
	require.Equal(t, 0, r.status, r.stderr)
	require.Len(t, as, 2)
	for _, a := range as {
		require.Equal(t, "ok", a.Status, a.Text)
	}
	require.InDelta(t, 0.5, as[0].positions(t)["panda_joint1"], 0.01)
	require.InDelta(t, -1.9, as[0].positions(t)["panda_joint4"], 0.01)
	require.InDelta(t, 0, as[1].positions(t)["panda_joint1"], 0.01)
}
