package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot/builtin"
)

// Each robot that is built in moves in each of its ways, each way asked about and
// answered with y by a person at a terminal.
func TestEveryRobotMovesThroughApprovals(t *testing.T) {
	lines := map[string][]string{
		"so101": {
			"move_joints shoulder_pan=0.4", "move_pose 0.25 0 0.15",
			`move_path waypoints=[{"position":[0.25,0,0.2]},{"position":[0.25,0.08,0.2]}]`, "jog elbow_flex 0.1", "gripper 1", "home",
		},
		"panda": {
			"move_joints panda_joint1=0.3", "move_pose 0.4 0.1 0.45", `move_path waypoints=[{"position":[0.4,-0.1,0.45]}]`,
			"jog panda_joint7 0.2", "gripper 1", "home",
		},
		"ur5e": {
			"move_joints shoulder_pan_joint=0.3", "move_pose 0.4 0.2 0.4", `move_path waypoints=[{"position":[0.4,0.1,0.4]}]`,
			"jog wrist_3_joint 0.2", "home",
		},
		// The pose is where fk puts the beam at pan 0.4 and tilt 0.3.
		"pantilt": {
			"move_joints pan=0.5", "move_pose 0.0176875469589839 0.007478174910371191 0.08843637385185958", "jog tilt 0.2", "set_actuator lamp 1", "home",
		},
		"rover": {
			"drive 0.1 0.3 4", "move_pose 0.6 0.2 0", `move_path waypoints=[{"position":[0.7,0.3,0]},{"position":[0.5,0.5,0]}]`,
			"jog left_wheel 1", "home",
		},
		"gantry": {
			"move_joints x=0.1", "move_pose 0.1 0.1 0.2", `move_path waypoints=[{"position":[0.1,0,0.2]},{"position":[0.1,0,0.25]}]`,
			"jog y 0.05", "reference x", "home",
		},
	}
	for _, name := range builtin.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NotEmpty(t, lines[name])
			dir := dataDir(t)
			s := sit(t, dir, "--robot", name, "--clock", "fast", "--mcp", "off")
			for _, line := range lines[name] {
				tool, _, _ := strings.Cut(line, " ")
				s.asks(line)
				s.answers("y")
				s.await("✓ " + tool + ": ")
			}
			s.typed("quit\r")
			require.Equal(t, 0, s.status())
			n := 0
			for _, e := range ofType(logged(t, dir), "tool_call") {
				if e.Approval == gate.ApprovalApproved {
					require.Equal(t, gate.StatusOK, e.Status, e.ResultSummary)
					n++
				}
			}
			require.Equal(t, len(lines[name]), n)
		})
	}
}
