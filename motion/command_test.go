package motion_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// Two commands of which everything but the kind is the same have other digests,
// so a stored question about one never becomes the other.
func TestG12_TheKindOfACommandIsInItsDigest(t *testing.T) {
	g := newRig(t, rigOptions{})
	snap, err := g.action("torque_off", `{}`).Snapshot()
	require.NoError(t, err)
	for field, other := range map[string]any{
		"kind": robot.TorqueOn, "value": 1, "name": "led", "latches": "", "facts": []gate.Fact{{Label: "Holds", Text: "x"}},
		"start": make([]float64, g.model.DoF()), "digest": [32]byte{}, "arm": "left", "version": 1,
	} {
		var fields map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(snap, &fields))
		value, err := json.Marshal(other)
		require.NoError(t, err)
		if field == "start" {
			value = []byte(`[0.1,0,0,0,0,0]`)
		}
		require.NotEqual(t, string(fields[field]), string(value), field)
		fields[field] = value
		bent, err := json.Marshal(fields)
		require.NoError(t, err)
		_, err = g.tools["torque_off"].Restore(t.Context(), bent)
		require.Error(t, err, field)
	}
	_, err = g.tools["torque_off"].Restore(t.Context(), snap)
	require.NoError(t, err)
}

// What the backend would refuse is refused before anybody is asked; what only the
// watch has latched is no reason to keep the power on.
func TestTorqueOffIsAskedOnlyWhereItWouldBeDone(t *testing.T) {
	g := newGated(t, rigOptions{})
	g.robot.Stop(t.Context(), robot.StopEmergency)
	g.refused(gate.CodeEStopped, "torque_off", `{}`)
	_, err := g.robot.Actuate(t.Context(), robot.Command{Kind: robot.TorqueOff, Epoch: 1})
	require.Equal(t, robot.CodeEStopped, robot.CodeOf(err), "the backend itself refuses it")

	const elbow = 2
	r := newRig(t, rigOptions{rehearser: bent{joint: elbow, offset: 0.2}, between: func(b robot.Backend) robot.Backend {
		return &played{Backend: b, at: commanded}
	}})
	requireCode(t, gate.CodeDeviation, r.do("move_joints", turn, nil))
	_, err = r.prepare("home", `{}`)
	requireCode(t, gate.CodeDeviation, err)
	r.must("torque_off", `{}`, nil)
}
