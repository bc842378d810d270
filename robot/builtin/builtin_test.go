package builtin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
)

func TestLoadSO101(t *testing.T) {
	m, err := builtin.Load("so101")
	require.NoError(t, err)
	require.Empty(t, m.Warnings)
	require.Empty(t, m.Assumed)
	require.Equal(t, []string{"shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper"}, m.JointNames())
	require.Equal(t, []int{0, 1, 2, 3, 4}, m.Arm)
	require.Equal(t, "gripper_frame_link", m.Links[m.Tip].Name)
	require.Equal(t, []float64{0, -0.6, 0.6, 0.9, 0, 0}, m.Home)
	require.Equal(t, robot.Gripper{Joint: 5, Closed: -0.15, Open: 1.4, MaxEffort: 1.9, Links: []int{
		m.LinkIndex("gripper_link"), m.LinkIndex("moving_jaw_link"),
	}}, *m.Gripper)
	for i, l := range m.Limits {
		require.Empty(t, l.Assumed, "%s", m.JointNames()[i])
		require.Positive(t, l.Acceleration)
		require.Positive(t, l.Jerk)
		require.LessOrEqual(t, l.Velocity, 4.5)
	}
	again, err := builtin.Load("so101")
	require.NoError(t, err)
	require.Equal(t, m.ModelHash, again.ModelHash)
	require.NotEqual(t, [32]byte{}, m.ModelHash)
	require.NotEqual(t, m.Hash, m.ModelHash)
}

func TestLoadUnknownName(t *testing.T) {
	_, err := builtin.Load("../so101")
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	require.Contains(t, err.Error(), "so101")
}
