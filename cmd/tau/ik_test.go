package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type ikAnswer struct {
	OK               bool
	Code, Text       string
	Q                map[string]float64
	PositionError    float64 `json:"position_error"`
	AngleError       float64 `json:"angle_error"`
	CollisionChecked bool    `json:"collision_checked"`
}

func ikJSON(t *testing.T, status int, args ...string) ikAnswer {
	t.Helper()
	r := tau(t, "", append([]string{"robot", "ik", "--json"}, args...)...)
	require.Equal(t, status, r.status, "%v: %s", args, r.stderr)
	require.Equal(t, 1, strings.Count(r.stdout, "\n"))
	var doc ikAnswer
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &doc), r.stdout)
	require.Equal(t, status == 0, doc.OK)
	return doc
}

// Where fk puts a link, ik brings it again: inside the limits, from another start.
func TestIKComesBackToWhatFKSays(t *testing.T) {
	for _, c := range []struct {
		robot, tip string
		q          map[string]float64
		full       bool // six degrees of freedom or more: with the orientation
	}{
		{"panda", "panda_hand", map[string]float64{"panda_joint1": 0.4, "panda_joint2": -0.3, "panda_joint4": -2, "panda_joint6": 1.8, "panda_joint7": 0.2}, true},
		{"panda", "panda_link8", map[string]float64{"panda_joint1": -1, "panda_joint2": 0.2, "panda_joint3": 0.3, "panda_joint4": -1.4, "panda_joint6": 2}, true},
		{"so101", "gripper_frame_link", map[string]float64{"shoulder_pan": 0.3, "shoulder_lift": -0.4, "elbow_flex": 0.5, "wrist_flex": 0.6}, false},
		{"so101", "wrist_link", map[string]float64{"shoulder_pan": -0.5, "shoulder_lift": 0.1, "elbow_flex": -0.2}, false},
	} {
		want := fkJSON(t, "--robot", c.robot, "--q", flag(c.q))[c.tip]
		at := fmt.Sprintf("%.17g,%.17g,%.17g", want.XYZ[0], want.XYZ[1], want.XYZ[2])
		if c.full {
			at += fmt.Sprintf(",%.17g,%.17g,%.17g,%.17g", want.Quat[0], want.Quat[1], want.Quat[2], want.Quat[3])
		}
		args := []string{"--robot", c.robot, "--tip", c.tip, "--pose", at, "--seed", "7"}
		doc := ikJSON(t, 0, args...)
		require.True(t, doc.CollisionChecked)
		require.Equal(t, doc, ikJSON(t, 0, args...), "the same seed, the same answer")
		r := tau(t, "", "robot", "fk", "--json", "--robot", c.robot, "--q", flag(doc.Q))
		require.Empty(t, r.stderr, "inside every limit")
		got := fkJSON(t, "--robot", c.robot, "--q", flag(doc.Q))[c.tip]
		if !c.full {
			got.Quat = want.Quat
		}
		near(t, want, got, 2e-6, c.robot+" "+c.tip)
	}
}

// Only the joints above the tip move; the others stay where --seed-q has them.
func TestIKMovesOnlyWhatMovesTheTip(t *testing.T) {
	doc := ikJSON(t, 0, "--tip", "gripper_frame_link", "--pose", "0.2,0.05,0.15", "--seed-q", "gripper=0.7")
	require.InDelta(t, 0.7, doc.Q["gripper"], 0)
	doc = ikJSON(t, 0, "--robot", "panda", "--tip", "panda_hand", "--pose", "0.4,0.1,0.5", "--seed-q", "panda_finger_joint1=0.03")
	require.InDelta(t, 0.03, doc.Q["panda_finger_joint1"], 0)
}

// A description whose meshes aren't there has its kinematics, and says that
// nothing was checked against them.
func TestIKWithoutMeshesSaysThatNothingWasChecked(t *testing.T) {
	file := cases(t, "robots", "ur5e_expanded", "ur5e.urdf")
	want := fkJSON(t, "--robot", file, "--q", "shoulder_lift_joint=-1.2,elbow_joint=1.5,wrist_1_joint=0.3")["tool0"]
	at := fmt.Sprintf("%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g", want.XYZ[0], want.XYZ[1], want.XYZ[2], want.Quat[0], want.Quat[1], want.Quat[2], want.Quat[3])
	r := tau(t, "", "robot", "ik", "--robot", file, "--tip", "tool0", "--pose", at)
	require.Equal(t, 0, r.status, r.stderr)
	require.Contains(t, r.stderr, "collisions aren't checked")
	doc := ikJSON(t, 0, "--robot", file, "--tip", "tool0", "--pose", at)
	require.False(t, doc.CollisionChecked)
	near(t, want, fkJSON(t, "--robot", file, "--q", flag(doc.Q))["tool0"], 2e-6, "tool0")
}

func TestIKRefusesWithTheReason(t *testing.T) {
	require.Equal(t, "UNREACHABLE", ikJSON(t, 1, "--tip", "gripper_frame_link", "--pose", "5,5,5").Code)
	require.Equal(t, "UNREACHABLE", ikJSON(t, 1, "--tip", "base_link", "--pose", "0,0,1").Code)
	require.Equal(t, "INVALID_ARGUMENT", ikJSON(t, 1, "--robot", "panda", "--tip", "panda_hand", "--pose", "0.4,0,0.5,0,0,0,0").Code)
	doc := ikJSON(t, 1, "--robot", cases(t, "urdf_small", "deep_chain_2000.urdf"), "--tip", "l2000", "--pose", "0,1,1")
	require.Equal(t, "NOT_SUPPORTED", doc.Code)
	require.Contains(t, doc.Text, "64")
}

func TestIKFlagsThatMakeNoSense(t *testing.T) {
	ik := func(args ...string) []string { return append([]string{"robot", "ik", "--json"}, args...) }
	tip := func(args ...string) []string { return append(ik("--tip", "gripper_frame_link"), args...) }
	usage(t, ik(), "--tip LINK and --pose")
	usage(t, ik("--pose", "0,0,0"), "--tip LINK and --pose")
	usage(t, tip(), "--tip LINK and --pose")
	usage(t, ik("--tip", "knee", "--pose", "0,0,0"), `no link "knee"`)
	for _, bad := range []string{"1,2", "1,2,3,4", "1,2,NaN", "1,2,inf", "x", "1,,2", "1e13,0,0", "1,2,3,1,0,0,NaN"} {
		usage(t, tip("--pose", bad), "--pose")
	}
	usage(t, tip("--pose", "0,0,0,1,0,0,0", "--tool-axis", "0,0,1"), "--tool-axis")
	usage(t, tip("--pose", "0,0,0", "--tool-axis", "0,1"), "--tool-axis")
	usage(t, tip("--pose", "0,0,0", "--tool-axis", "0,1,NaN"), "--tool-axis")
	usage(t, tip("--pose", "0,0,0", "--seed-q", "shoulder_pan=NaN"), "--seed-q")
	usage(t, tip("--pose", "0,0,0", "--seed-q", ""), "--seed-q is empty")
	usage(t, tip("--pose", "0,0,0", "--seed", "-1"), "--seed")
	usage(t, tip("--pose", "0,0,0", "--robot", "hal"), "hal")
	usage(t, tip("--pose", "0,0,0", "--srdf", "/dev/null"), "is no file")
	usage(t, tip("--pose", "0,0,0", "--robot", fileOf(t, "x.urdf", "garbage")), "x.urdf")
}
