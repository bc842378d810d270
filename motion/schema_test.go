package motion_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// answers holds a rig's tools to their declared schemas: arguments and results.
type answers struct {
	*rig
	seen map[string]bool
}

func (a *answers) do(tool, args string) json.RawMessage {
	a.t.Helper()
	spec := a.tools[tool].Spec()
	_, err := gate.DecodeStrict(spec.Input, []byte(args))
	require.NoError(a.t, err, "%s %s", tool, args)
	act, err := a.prepare(tool, args)
	require.NoError(a.t, err, "%s %s", tool, args)
	require.NoError(a.t, act.Check(a.t.Context()))
	res, err := act.Run(a.t.Context())
	require.NoError(a.t, err, "%s %s", tool, args)
	_, err = gate.DecodeStrict(spec.Output, res.Data)
	require.NoError(a.t, err, "%s: %s", tool, res.Data)
	a.seen[tool] = true
	return res.Data
}

// Every tool's answer is what its output schema declares, to the last field.
func TestAnswersAreWhatTheirSchemasDeclare(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	on := func(o rigOptions) *answers { return &answers{newRig(t, o), seen} }
	g := on(rigOptions{scene: tableScene(t)})
	for _, tool := range []string{"robot_describe", "robot_state", "list_actuators", "scene_describe"} {
		g.do(tool, `{}`)
	}
	g.do("scene_add", far)
	g.do("scene_remove", `{"name":"ball"}`)
	var p planned
	require.NoError(t, json.Unmarshal(g.do("plan_joints", `{"positions":{"shoulder_pan":-0.2}}`), &p))
	g.do("plan_pose", `{"position":[0.2,0,0.3]}`)
	g.do("rehearse", `{"positions":{"shoulder_pan":0.1}}`)
	g.do("rehearse", `{"jog":{"joint":"shoulder_pan","delta":-0.05}}`)
	g.do("execute_plan", fmt.Sprintf(`{"plan_id":%q}`, p.PlanID))
	for _, c := range [][2]string{
		{"move_joints", `{"positions":{"shoulder_pan":0.1}}`}, {"move_pose", `{"position":[0.2,0,0.32]}`},
		{"jog", `{"joint":"shoulder_pan","delta":-0.05}`}, {"home", `{}`}, {"gripper", `{"position":1}`},
		{"torque_off", `{}`}, {"torque_on", `{}`}, {"estop_reset", `{}`},
	} {
		g.do(c[0], c[1])
	}
	g.robot.Stop(t.Context(), "estop")
	g.do("robot_state", `{}`)
	b := &lamp{}
	on(rigOptions{builtin: "pantilt", between: func(in robot.Backend) robot.Backend { b.Backend = in; return b }}).
		do("set_actuator", `{"name":"lamp","value":1}`)
	rover := on(rigOptions{builtin: "rover"})
	rover.do("robot_describe", `{}`)
	rover.do("drive", `{"linear":0.1,"angular":0.1,"duration":3}`)
	rover.do("plan_path", `{"waypoints":[{"position":[0.4,0,0]}]}`)
	rover.do("move_path", `{"waypoints":[{"position":[0.4,0,0]}]}`)
	gantry := on(rigOptions{builtin: "gantry", unknown: []bool{false, false, true}})
	gantry.do("robot_state", `{}`)
	gantry.do("robot_describe", `{}`)
	gantry.do("rehearse", `{"reference":{}}`)
	gantry.do("reference", `{}`)
	for name, tool := range g.tools {
		if !seen[name] {
			t.Errorf("%s: no answer was looked at", name)
		}
		require.False(t, anything(tool.Spec().Output), "%s: something of its answer isn't declared", name)
	}
}

// anything reports whether a schema leaves a part open.
func anything(s *gate.Schema) bool {
	if s == nil || s.Kind == gate.KindAny {
		return true
	}
	for _, p := range s.Properties {
		if anything(p.Schema) {
			return true
		}
	}
	return (s.Kind == gate.KindArray || s.Kind == gate.KindMap) && anything(s.Elem)
}
