package motion_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

// What moves or powers anything needs a person; looking and planning don't. The
// list is written out, so that a tool can't change its tier unseen.
func TestG5_TiersOfTheRobotsTools(t *testing.T) {
	want := map[string]gate.Tier{
		"robot_describe": gate.TierRead, "robot_state": gate.TierRead, "list_actuators": gate.TierRead,
		"plan_joints": gate.TierRead, "plan_pose": gate.TierRead, "plan_path": gate.TierRead, "rehearse": gate.TierRead, "scene_describe": gate.TierRead,
		"scene_add": gate.TierWrite, "scene_remove": gate.TierWrite,
		"move_joints": gate.TierPhysical, "move_pose": gate.TierPhysical, "execute_plan": gate.TierPhysical,
		"home": gate.TierPhysical, "gripper": gate.TierPhysical, "jog": gate.TierPhysical, "set_actuator": gate.TierPhysical,
		"reference": gate.TierPhysical, "drive": gate.TierPhysical, "move_path": gate.TierPhysical,
		"torque_on": gate.TierPhysical, "torque_off": gate.TierPhysical, "estop_reset": gate.TierPhysical,
	}
	got := map[string]gate.Tier{}
	for name, tool := range newRig(t, rigOptions{}).tools {
		got[name] = tool.Spec().Tier
	}
	require.Equal(t, want, got)
}
