package motion_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/robot"
)

// lamp is a backend whose lamp a test can see and bend.
type lamp struct {
	robot.Backend
	value    float64
	measured bool
	unknown  bool
	cmds     []robot.Command
}

func (b *lamp) stamp(s robot.State) robot.State {
	s.Actuators = nil
	if !b.unknown {
		s.Actuators = []robot.ActuatorState{{Name: "lamp", Value: b.value, Measured: b.measured}}
	}
	return s
}

func (b *lamp) State(ctx context.Context) (robot.State, error) {
	s, err := b.Backend.State(ctx)
	return b.stamp(s), err
}

func (b *lamp) Actuate(ctx context.Context, c robot.Command) (robot.Outcome, error) {
	b.cmds = append(b.cmds, c)
	if c.Kind != robot.SetActuator {
		return b.Backend.Actuate(ctx, c)
	}
	b.value = c.Value
	s, err := b.State(ctx)
	return robot.Outcome{Status: robot.OutcomeDone, Final: s}, err
}

func newLamp(t *testing.T, steps ...gatetest.Step) (*gated, *lamp) {
	b := &lamp{}
	g := newGated(t, rigOptions{builtin: "pantilt", between: func(in robot.Backend) robot.Backend { b.Backend = in; return b }}, steps...)
	return g, b
}

type lampState struct {
	Actuators map[string]struct {
		Value    float64 `json:"value"`
		Unit     string  `json:"unit"`
		Measured bool    `json:"measured"`
	} `json:"actuators"`
}

// The card says from what to what and what a stop and a lost link do; the result
// is what the backend says of it, and what it says is what is told from then on.
func TestSetActuator(t *testing.T) {
	g, b := newLamp(t, gatetest.Approve(), gatetest.Reject())
	b.value = 0.25
	var r lampState
	a := g.ok("set_actuator", `{"name":"lamp","value":0.75}`, &r)
	require.Equal(t, "lamp (led) from 0.25 (commanded, not measured) to 0.75, of 0 to 1", g.fact("Sets"))
	require.Equal(t, "switches it off (0)", g.fact("A stop"))
	require.Equal(t, "switches it off (0)", g.fact("A lost link"))
	require.Len(t, b.cmds, 1)
	require.Equal(t, robot.Command{ID: a.CallID, Kind: robot.SetActuator, Name: "lamp", Value: 0.75}, b.cmds[0])
	require.InDelta(t, 0.75, r.Actuators["lamp"].Value, 0)
	require.False(t, r.Actuators["lamp"].Measured)
	require.Contains(t, a.Text, "not measured")

	g.ok("robot_state", `{}`, &r)
	require.InDelta(t, 0.75, r.Actuators["lamp"].Value, 0)
	var list struct {
		Actuators []struct {
			Name     string
			Value    *float64
			Measured *bool
		} `json:"actuators"`
	}
	g.ok("list_actuators", `{}`, &list)
	values := map[string]float64{}
	for _, x := range list.Actuators {
		require.NotNil(t, x.Value, x.Name)
		values[x.Name] = *x.Value
		require.Equal(t, x.Name != "lamp", *x.Measured, x.Name)
	}
	require.InDelta(t, 0.75, values["lamp"], 0)
	require.Len(t, values, 3)

	// A person's no sets nothing.
	require.Equal(t, gate.CodeNotApproved, g.ask("set_actuator", `{"name":"lamp","value":0}`).Code)
	require.Len(t, b.cmds, 1)
}

func TestSetActuatorRefusals(t *testing.T) {
	g, b := newLamp(t)
	a := g.refused(gate.CodeInvalidArgument, "set_actuator", `{"name":"lamp","value":1.5}`)
	require.Contains(t, a.Text, "nearest admissible: value 1")
	a = g.refused(gate.CodeInvalidArgument, "set_actuator", `{"name":"lamp","value":-0.1}`)
	require.Contains(t, a.Text, "nearest admissible: value 0")
	a = g.refused(gate.CodeInvalidArgument, "set_actuator", `{"name":"pan","value":0.1}`)
	require.Contains(t, a.Text, "move_joints")
	a = g.refused(gate.CodeInvalidArgument, "set_actuator", `{"name":"light","value":0.1}`)
	require.Contains(t, a.Text, "lamp")
	for _, args := range []string{`{"name":"lamp"}`, `{"value":1}`, `{"name":"lamp","value":true}`, `{"name":"lamp","value":"1"}`, `{"name":"lamp","value":1e999}`} {
		g.refused(gate.CodeInvalidArgument, "set_actuator", args)
	}
	g.robot.Stop(t.Context(), robot.StopEmergency)
	g.refused(gate.CodeEStopped, "set_actuator", `{"name":"lamp","value":0.1}`)
	require.Empty(t, b.cmds)

	so101 := newGated(t, rigOptions{})
	so101.refused(gate.CodeNotSupported, "set_actuator", `{"name":"lamp","value":0.1}`)
	a = so101.refused(gate.CodeInvalidArgument, "set_actuator", `{"name":"gripper","value":0.1}`)
	require.Contains(t, a.Text, "move_joints")
	rover := newGated(t, rigOptions{builtin: "rover"})
	a = rover.refused(gate.CodeInvalidArgument, "set_actuator", `{"name":"yaw","value":0.1}`)
	require.Contains(t, a.Text, "drive")
}

// Name, value and the value that it is set from are part of what is approved, and read
// again before it is set, and a stop voids it.
func TestG12_SetActuatorIsBoundToWhatWasShown(t *testing.T) {
	g, b := newLamp(t)
	base := g.action("set_actuator", `{"name":"lamp","value":0.5}`)
	require.NoError(t, base.Check(t.Context()))
	require.Equal(t, base.Digest(), g.action("set_actuator", `{"name":"lamp","value":0.5}`).Digest())
	require.NotEqual(t, base.Digest(), g.action("set_actuator", `{"name":"lamp","value":0.50000001}`).Digest())

	b.value = 0.1
	requireCode(t, gate.CodeStartMoved, base.Check(t.Context()))
	require.NotEqual(t, base.Digest(), g.action("set_actuator", `{"name":"lamp","value":0.5}`).Digest())
	b.value = 0
	require.NoError(t, base.Check(t.Context()))
	b.unknown = true
	requireCode(t, gate.CodeStartMoved, base.Check(t.Context()))
	require.Contains(t, factOf(g.action("set_actuator", `{"name":"lamp","value":0.5}`).Card(), "Sets"), "from unknown")
	b.unknown = false

	g.robot.Stop(t.Context(), robot.StopControlled)
	requireCode(t, gate.CodeStopped, base.Check(t.Context()))
	require.Equal(t, base.Digest(), g.action("set_actuator", `{"name":"lamp","value":0.5}`).Digest(), "which stops it has outlived isn't what it does")

	// A stored question is about that name and that value.
	snap, err := g.action("set_actuator", `{"name":"lamp","value":0.5}`).Snapshot()
	require.NoError(t, err)
	for field, other := range map[string]string{"name": `"laser"`, "value": `1`, "kind": `"torque_on"`} {
		var fields map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(snap, &fields))
		fields[field] = json.RawMessage(other)
		bent, err := json.Marshal(fields)
		require.NoError(t, err)
		_, err = g.tools["set_actuator"].Restore(t.Context(), bent)
		require.Error(t, err, field)
	}
	again, err := g.tools["set_actuator"].Restore(t.Context(), snap)
	require.NoError(t, err)
	_, err = again.Run(t.Context())
	require.NoError(t, err)
	require.InDelta(t, 0.5, b.value, 0)

	// What is measured changes by itself, and is no reason to refuse.
	b.measured = true
	base = g.action("set_actuator", `{"name":"lamp","value":0.5}`)
	b.value += 1e-3
	require.NoError(t, base.Check(t.Context()))
}

// On the simulated robot, whose lamp a stop switches off.
func TestSetActuatorInTheSimulator(t *testing.T) {
	g := newGated(t, rigOptions{builtin: "pantilt"}, gatetest.Approve())
	var r lampState
	g.ok("set_actuator", `{"name":"lamp","value":1}`, &r)
	require.InDelta(t, 1, r.Actuators["lamp"].Value, 0)
	g.robot.Stop(t.Context(), robot.StopControlled)
	g.ok("robot_state", `{}`, &r)
	require.InDelta(t, 0, r.Actuators["lamp"].Value, 0)
}
