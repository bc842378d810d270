package main

import (
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestToolsListsTheCatalog(t *testing.T) {
	r := tau(t, "", "robot", "tools")
	require.Equal(t, 0, r.status, r.stderr)
	for _, line := range []string{"0  robot_state", "1  stop", "2  move_joints", "2  estop_reset"} {
		require.Contains(t, r.stdout, line)
	}
	r = tau(t, "", "robot", "tools", "--json")
	require.Equal(t, 0, r.status, r.stderr)
	var doc struct {
		Tools []struct {
			Name, Effect, Description string
			Tier                      *int
			Input                     json.RawMessage `json:"input_schema"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &doc))
	tiers := map[string]int{}
	for _, tool := range doc.Tools {
		require.NotEmpty(t, tool.Effect, tool.Name)
		require.Contains(t, string(tool.Input), `"additionalProperties":false`, tool.Name)
		tiers[tool.Name] = *tool.Tier
	}
	for name, tier := range map[string]int{
		"robot_describe": 0, "robot_state": 0, "list_actuators": 0, "plan_joints": 0, "plan_pose": 0, "rehearse": 0, "scene_describe": 0, "scene_add": 1, "scene_remove": 1, "jog": 2, "set_actuator": 2,
		"plan_path": 0, "move_path": 2, "drive": 2, "reference": 2,
		"call_status": 0, "session_status": 0, "current_time": 0, "stop": 1, "estop": 1, "cancel_call": 1,
		"move_joints": 2, "move_pose": 2, "execute_plan": 2, "home": 2, "gripper": 2, "torque_on": 2, "torque_off": 2,
		"estop_reset": 2, "demo_physical_action": 2,
	} {
		require.Contains(t, tiers, name)
		require.Equal(t, tier, tiers[name], name)
	}
}

func TestPlanPlansAndPlots(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plan.png")
	r := tau(t, "", "robot", "plan", "--to", "shoulder_pan=0.8", "--plot", file, "--json")
	require.Equal(t, 0, r.status, r.stderr)
	var doc struct {
		OK         bool
		DurationS  float64 `json:"duration_s"`
		To         map[string]float64
		Trajectory struct {
			Joints   []string
			Segments []struct {
				Duration   float64 `json:"duration_s"`
				Q, V, A, J []float64
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &doc))
	require.True(t, doc.OK)
	require.InDelta(t, 0.8, doc.To["shoulder_pan"], 1e-9)
	total := 0.0
	for _, s := range doc.Trajectory.Segments {
		total += s.Duration
		require.Len(t, s.Q, len(doc.Trajectory.Joints))
	}
	require.InDelta(t, doc.DurationS, total, 0.2, "the rehearsal ends soon after the trajectory")
	f, err := os.Open(file)
	require.NoError(t, err)
	img, err := png.Decode(f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.Greater(t, img.Bounds().Dx(), 800)

	r = tau(t, "", "robot", "plan", "--pose", "0.2,0.05,0.15")
	require.Equal(t, 0, r.status, r.stderr)
	require.Contains(t, r.stdout, "Clearance:")
}

func TestPlanRefusesWithTheReasonAndDrawsNothing(t *testing.T) {
	for _, c := range [][]string{
		{"JOINT_LIMIT", "--to", "shoulder_pan=9"},
		{"UNREACHABLE", "--pose", "5,5,5"},
		{"JOINT_LIMIT", "--from", "shoulder_pan=9", "--to", "shoulder_pan=0"},
		{"INVALID_ARGUMENT", "--pose", "0.2,0,0.1,2,0,0,0"},
	} {
		file := filepath.Join(t.TempDir(), "plan.png")
		r := tau(t, "", append([]string{"robot", "plan", "--json", "--plot", file}, c[1:]...)...)
		require.Equal(t, 1, r.status, "%v: %s", c, r.stderr)
		require.Contains(t, r.stdout, `"ok":false,"code":"`+c[0]+`"`)
		require.Contains(t, r.stderr, c[0])
		require.NoFileExists(t, file)
	}
	r := tau(t, "", "robot", "plan", "--to", "shoulder_pan=0.8", "--plot", "/nonexistent/plan.png")
	require.Equal(t, 3, r.status)
	require.Contains(t, r.stderr, "/nonexistent")
}

func TestBenchmarksReportBesideTheirBaseline(t *testing.T) {
	for _, name := range []string{"gate", "sim", "kinematics", "start"} {
		r := tau(t, "", "robot", "bench", name, "--json")
		require.Equal(t, 0, r.status, r.stderr)
		var doc struct {
			Benchmark string
			Measures  []struct {
				Name, Unit       string
				Min, Median, Max float64
			}
			Ratio, Bound float64
		}
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &doc))
		require.Equal(t, name, doc.Benchmark)
		require.GreaterOrEqual(t, len(doc.Measures), 2)
		require.Contains(t, doc.Measures[1].Name, "baseline")
		for _, m := range doc.Measures {
			require.Greater(t, m.Min, 0.0)
			require.LessOrEqual(t, m.Min, m.Median)
			require.LessOrEqual(t, m.Median, m.Max)
		}
		t.Logf("%s: median %.2f %s, baseline %.2f, ratio %.2f, bound %.0f", name, doc.Measures[0].Median, doc.Measures[0].Unit, doc.Measures[1].Median, doc.Ratio, doc.Bound)
		// Only what is out of all proportion: the machine may be busy.
		require.Less(t, doc.Measures[0].Min, 20*doc.Bound)
	}
}

func TestASceneAndAFileRobotAndFaults(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	scene := filepath.Join(root, "testdata", "scenes", "table.json")
	as, r := script(t, dataDir(t), []string{`{"tool":"robot_describe"}`, panMove}, "--rehearse", "--scene", scene)
	require.Equal(t, 0, r.status, r.stdout+r.stderr)
	require.NotContains(t, string(as[0].Result), `"scene_bodies":[]`)

	so101 := filepath.Join(root, "robot", "builtin", "so101")
	as, r = script(t, dataDir(t), []string{panMove}, "--rehearse", "--robot", filepath.Join(so101, "so101.urdf"),
		"--srdf", filepath.Join(so101, "so101.srdf"), "--limits", filepath.Join(so101, "joint_limits.yaml"))
	require.Equal(t, 0, r.status, r.stdout+r.stderr)
	require.InDelta(t, 0.5, as[0].positions(t)["shoulder_pan"], 0.01)

	faults := filepath.Join(t.TempDir(), "faults.json")
	require.NoError(t, os.WriteFile(faults, []byte(`{"faults":[{"kind":"stuck","joint":"shoulder_pan","at_s":0.2}]}`), 0o600))
	dir := dataDir(t)
	as, r = script(t, dir, []string{panMove, panMove}, "--rehearse", "--faults", faults)
	require.Equal(t, 1, r.status, r.stderr)
	require.Equal(t, "DEVIATION", as[0].Code, as[0].Text)
	require.Equal(t, "error", as[0].Status)
	require.NotEqual(t, "ok", as[1].Status, "the fault is latched")
	found := false
	for _, e := range ofType(logged(t, dir), "fault") {
		found = found || e.Where == "motion" && strings.Contains(string(e.Data), `"outcome":"faulted"`)
	}
	require.True(t, found, "the fault and its trace are in the log")
}
