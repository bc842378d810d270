package bridge

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/cmd/tau/internal/settings"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// withSettings starts a bridge with settings.
func withSettings(t *testing.T, text string) (*Host, error) {
	t.Helper()
	s := setup(t)
	var err error
	s.Settings, err = settings.Parse("settings.toml", []byte(text))
	require.NoError(t, err)
	h, err := Start(s)
	if err == nil {
		t.Cleanup(func() { require.NoError(t, h.Close()) })
	}
	return h, err
}

func TestTheExampleOfAPolicyHoldsInABridge(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "testdata", "settings", "policy.toml"))
	require.NoError(t, err)
	h, err := withSettings(t, string(text))
	require.NoError(t, err)
	as := func(principal, tool, args string) gate.Answer {
		return h.Gate.Call(context.Background(), gate.Invocation{Tool: tool, Args: []byte(args), Session: "sim", Principal: principal, Origin: "test"})
	}
	require.Equal(t, gate.StatusOK, as(Operator, "move_joints", `{"positions":{"shoulder_pan":0.1},"speed_scale":0.5}`).Status)
	require.Equal(t, "speed_scale", as(Operator, "move_joints", `{"positions":{"shoulder_pan":0.2},"speed_scale":0.6}`).Refusal.Where)
	require.Equal(t, "positions.shoulder_pan", as(Operator, "move_joints", `{"positions":{"shoulder_pan":1.3}}`).Refusal.Where)
	require.Equal(t, "policy.deny", as(Operator, "torque_off", `{}`).Refusal.Where)
	require.Equal(t, "policy.allow", as(Operator, "demo_physical_action", `{}`).Refusal.Where)
	require.Equal(t, "principal", as(Agent, "torque_on", `{}`).Refusal.Where)
	require.Equal(t, "principal", as("stranger", "move_joints", `{"positions":{"shoulder_pan":0.1}}`).Refusal.Where)
	require.Equal(t, gate.StatusOK, as("stranger", "robot_state", `{}`).Status)
	require.Equal(t, gate.StatusOK, as("stranger", "stop", `{}`).Status)

	described := as(Operator, "robot_describe", `{}`)
	require.Equal(t, gate.StatusOK, described.Status, described.Text)
	var v struct{ Robot string }
	require.NoError(t, json.Unmarshal(described.Result, &v))
	require.Equal(t, "[withheld]", v.Robot)
	scene := as(Operator, "scene_describe", `{}`)
	require.Contains(t, string(scene.Result), `"keyboard"`)
	require.Equal(t, gate.CodeRateLimited, func() gate.Code {
		for range 3 {
			if a := as(Operator, "move_joints", `{"positions":{"shoulder_pan":0.1}}`); a.Code != "" {
				return a.Code
			}
		}
		return ""
	}())
}

func TestAPolicyAboutWhatIsntThereIsAnErrorOfTheFile(t *testing.T) {
	for text, want := range map[string]string{
		"[policy]\ndeny = [\"mvoe_joints\"]":                                                    "policy.deny[0]",
		"[[policy.bounds]]\ntool = \"move_joints\"\nargument = \"speed\"\nmax = 1":              "policy.bounds[0].argument",
		"[[policy.redact]]\ntool = \"robot_state\"\nfields = [\"nonesuch\"]":                    "policy.redact[0].fields[0]",
		"[policy.motion]\nzones = [{name = \"base_link\", min = [1,1,1], max = [1.1,1.1,1.1]}]": "base_link",
	} {
		_, err := withSettings(t, text)
		require.ErrorContains(t, err, want)
		var bad *robot.Error
		require.ErrorAs(t, err, &bad)
		require.Equal(t, robot.CodeInvalidArgument, bad.Code)
	}
}

func TestAPolicyThatIsWrongIsAUsageErrorThatSaysWhereToLook(t *testing.T) {
	s := setup(t)
	var err error
	s.Settings, err = settings.Parse("settings.toml", []byte("[policy]\nallow = [\"mvoe\"]"))
	require.NoError(t, err)
	r := &run{}
	_, err = r.start(func() (*Host, error) { return Start(s) })
	require.ErrorContains(t, err, `--settings: policy.allow[0] = "mvoe": there is no such tool; there are call_status,`)
	var e *exit.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, exit.Usage, e.Status)
	require.Equal(t, "tau robot tools", e.See)
}
