package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

// toolList are the tools of a catalog as MCP lists them.
type toolList struct {
	Result struct {
		Tools []struct {
			Name         string            `json:"name"`
			OutputSchema jsonschema.Schema `json:"outputSchema"`
		} `json:"tools"`
	} `json:"result"`
}

// raw waits for the answer to a request, as it was written.
func (a *agent) raw(id string) string {
	a.t.Helper()
	begin := fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,`, id)
	end := a.stdout.await(a.t, begin, 0)
	stop := a.stdout.await(a.t, "\n", end)
	return a.stdout.String()[end-len(begin) : stop]
}

// Each tool of the catalog is called on a robot that has what it is about, and what it
// answers is what its output schema says.
func TestEveryToolAnswersAsItsOutputSchemaSays(t *testing.T) {
	at := func(p [3]float64, dx, dz float64) string {
		return fmt.Sprintf(`[%v,%v,%v]`, p[0]+dx, p[1], p[2]+dz)
	}
	type call struct{ tool, args string }
	robots := map[string]func(tip [3]float64) []call{
		"so101": func(p [3]float64) []call {
			return []call{
				{"robot_describe", `{}`}, {"list_actuators", `{}`}, {"scene_describe", `{}`}, {"session_status", `{}`},
				{"current_time", `{}`}, {"demo_physical_action", `{}`},
				{"plan_pose", `{"position":` + at(p, 0, 0.01) + `}`},
				{"plan_path", `{"waypoints":[{"position":` + at(p, -0.01, 0.01) + `}]}`},
				{"rehearse", `{"positions":{"shoulder_pan":0.1}}`},
				{"scene_add", `{"name":"box","pose":{"xyz":[0,0.4,0.1]},"geometry":{"box":{"size":[0.05,0.05,0.05]}}}`},
				{"scene_describe", `{}`}, {"scene_remove", `{"name":"box"}`},
				{"move_joints", `{"positions":{"shoulder_pan":0.1}}`}, {"jog", `{"joint":"shoulder_pan","delta":-0.1}`},
				{"move_pose", `{"position":` + at(p, 0, 0.01) + `}`},
				{"move_path", `{"waypoints":[{"position":` + at(p, 0, 0) + `}]}`},
				{"gripper", `{"position":0.5}`}, {"home", `{}`}, {"torque_off", `{}`}, {"robot_state", `{}`}, {"torque_on", `{}`},
				{"stop", `{}`}, {"estop", `{"reason":"test"}`}, {"robot_state", `{}`}, {"estop_reset", `{}`},
			}
		},
		"gantry": func([3]float64) []call {
			return []call{{"list_actuators", `{}`}, {"reference", `{"joint":"x"}`}, {"robot_state", `{}`}}
		},
		"pantilt": func([3]float64) []call {
			return []call{{"set_actuator", `{"name":"lamp","value":1}`}, {"robot_state", `{}`}}
		},
		"rover": func([3]float64) []call {
			return []call{{"drive", `{"linear":0.1,"angular":0,"duration":4}`}, {"robot_state", `{}`}}
		},
	}
	answered := make(chan []string, len(robots))
	catalog := make(chan []string, len(robots))
	t.Run("robots", func(t *testing.T) {
		for robot, calls := range robots {
			t.Run(robot, func(t *testing.T) {
				t.Parallel()
				a := startAgent(t, dataDir(t), "--robot", robot, "--rehearse", "--clock", "fast")
				a.send(`{"jsonrpc":"2.0","id":"tools","method":"tools/list"}`)
				var l toolList
				require.NoError(t, json.Unmarshal([]byte(a.raw("tools")), &l))
				schemas := map[string]*jsonschema.Resolved{}
				for _, tool := range l.Result.Tools {
					require.NotNil(t, tool.OutputSchema.Then, "%s declares no output of its own", tool.Name)
					s, err := tool.OutputSchema.Resolve(nil)
					require.NoError(t, err, tool.Name)
					schemas[tool.Name] = s
				}
				catalog <- slices.Sorted(maps.Keys(schemas))
				n := 0
				var ok []string
				do := func(tool, args string) gate.Status {
					t.Helper()
					n++
					id := fmt.Sprintf("call %d", n)
					a.call(id, tool, args)
					var m struct {
						Result struct {
							Structured any  `json:"structuredContent"`
							IsError    bool `json:"isError"`
						} `json:"result"`
					}
					line := a.raw(id)
					require.NoError(t, json.Unmarshal([]byte(line), &m), line)
					require.NoError(t, schemas[tool].Validate(m.Result.Structured), "%s %s: %s", tool, args, line)
					if !m.Result.IsError {
						ok = append(ok, tool)
					}
					return a.answer(id).Result.Structured.Status
				}
				field := func(tool, args string, v any) {
					t.Helper()
					require.Equal(t, gate.StatusOK, do(tool, args), "%s %s", tool, args)
					require.NoError(t, json.Unmarshal(a.answer(fmt.Sprintf("call %d", n)).Result.Structured.Result, v))
				}
				var state struct {
					Tip struct {
						Position [3]float64 `json:"position"`
					} `json:"tip"`
				}
				field("robot_state", `{}`, &state)
				if robot == "so101" {
					var plan struct {
						ID string `json:"plan_id"`
					}
					field("plan_joints", `{"positions":{"shoulder_pan":0.2}}`, &plan)
					do("execute_plan", `{"plan_id":"`+plan.ID+`"}`)
					call := a.answer(fmt.Sprintf("call %d", n)).Result.Structured.CallID
					do("call_status", `{"call_id":"`+call+`"}`)
					do("cancel_call", `{"call_id":"`+call+`"}`)
				}
				for _, c := range calls(state.Tip.Position) {
					require.Equal(t, gate.StatusOK, do(c.tool, c.args), "%s %s: %s", c.tool, c.args, a.raw(fmt.Sprintf("call %d", n)))
				}
				// What each refuses is told in the same form.
				for tool := range schemas {
					if tool != "stop" && tool != "estop" {
						require.Equal(t, gate.StatusRefused, do(tool, `{"no such field":1}`), tool)
					}
				}
				require.NoError(t, a.stdin.Close())
				require.Equal(t, 0, a.wait().status)
				answered <- ok
			})
		}
	})
	if t.Failed() {
		return
	}
	close(answered)
	seen := map[string]bool{}
	for tools := range answered {
		for _, tool := range tools {
			seen[tool] = true
		}
	}
	for _, tool := range <-catalog {
		switch tool {
		case "request_access", "register_routine", "run_routine":
			continue // a person's word alone: TestG14_G48_PermissionForMoreThanOneCall
		}
		require.True(t, seen[tool], "%s never answered ok", tool)
	}
}
