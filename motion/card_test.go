package motion_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// Each line of a card is what the rehearsal's record says, and each assumption is
// named: the model's, those of the limits of the joints that move, and the
// rehearsal's own.
func TestG30_EachLineOfTheCard(t *testing.T) {
	g, _, reh := newLive(t, rigOptions{})
	reh.Duration, reh.PeakToolSpeed = 1.234, 0.25
	reh.Joints = []robot.JointRehearsal{
		{Joint: "shoulder_pan", PeakVelocity: 0.6, VelocityLimit: 2, PeakEffort: 0.5, EffortLimit: 3, MaxTrackingError: 0.0123},
		{Joint: "shoulder_lift", PeakVelocity: 0.5, VelocityLimit: 1, PeakEffort: 0.4, EffortLimit: 3},
	}
	reh.Clearance = &robot.Clearance{Distance: 0.0123, A: "gripper_link", B: "post", At: 0.7}
	reh.EndPosition = [3]float64{0.1, -0.2, 0.3}
	reh.EndOrientation = [4]float64{0.5, -0.5, 0.5, 0.5}
	reh.Assumed = []string{"friction of the bench"}
	g.model.Assumed = []string{"mass of the cable"}
	for i := range g.model.Limits {
		g.model.Limits[i].Assumed = nil
	}
	g.model.Limits[0].Assumed, g.model.Limits[1].Assumed = []string{"acceleration", "jerk"}, []string{"jerk"}

	card := g.action("move_joints", turn).Card()
	require.Equal(t, []gate.Fact{
		{Label: "Moves", Text: "shoulder_pan 0.000 → 0.500 rad"},
		{Label: "Rehearsed", Text: "1.23 s in x, shoulder_pan at most 0.0123 rad off"},
		{Label: "Top speed", Text: "shoulder_lift 0.500 of 1.000 rad/s, tool 0.250 m/s"},
		{Label: "Top effort", Text: "shoulder_pan 0.50 of 3.00 N·m"},
		{Label: "Clearance", Text: "12.3 mm between gripper_link and post at 0.70 s"},
		{Label: "Ends at", Text: "gripper_frame_link (0.100, -0.200, 0.300) m, turned (w,x,y,z) (0.500, -0.500, 0.500, 0.500), in " + g.model.Links[g.model.Root].Name},
	}, card.Facts)
	require.Equal(t, []string{"mass of the cable", "acceleration and jerk of shoulder_pan", "friction of the bench"}, card.Assumed)
	var data robot.Rehearsal
	require.NoError(t, json.Unmarshal(card.Data, &data))
	require.Equal(t, reh.Clearance, data.Clearance)

	reh.Clearance = nil
	for _, f := range g.action("move_joints", turn).Card().Facts {
		if f.Label == "Clearance" {
			require.Equal(t, "nothing that could be touched", f.Text)
		}
	}
}

// What is assumed of several joints is one line, and what the simulator assumes of
// itself another.
func TestG30_AssumptionsAreFolded(t *testing.T) {
	g, _, reh := newLive(t, rigOptions{})
	for i := range g.model.Limits {
		g.model.Limits[i].Assumed = []string{"acceleration", "jerk"}
	}
	g.model.Limits[1].Assumed = []string{"jerk"}
	g.model.Assumed = []string{"mass of the cable"}
	reh.Assumed = []string{
		"servo: stiff", "rotor inertia of shoulder_pan: 0.2 kg·m²", "contact: none", "rotor inertia of gripper: 7 kg",
		"rotor inertia of elbow_flex: 0.05 kg·m²", "effort of elbow_flex: no limit", "effort of gripper: no limit", "mass of cup: 1 kg", "torque off: it falls",
	}
	const all = `{"positions":{"shoulder_pan":0.1,"shoulder_lift":-0.5,"elbow_flex":0.7,"wrist_flex":1,"wrist_roll":0.1,"gripper":0.1}}`
	card := g.action("move_joints", all).Card()
	require.Equal(t, []string{
		"mass of the cable", "acceleration and jerk of shoulder_pan, elbow_flex, wrist_flex, wrist_roll, gripper", "jerk of shoulder_lift",
		"servo: stiff; contact: none; mass of cup: 1 kg",
		"rotor inertia of shoulder_pan, gripper, elbow_flex: 0.05 to 0.2 kg·m², 7 kg", "effort of elbow_flex, gripper: no limit",
	}, card.Assumed)
	require.Contains(t, string(card.Data), "rotor inertia of elbow_flex: 0.05 kg", "the record has them all")
	require.Contains(t, string(card.Data), "torque off: it falls")
	for i := range g.model.Limits {
		g.model.Limits[i].Assumed = []string{"jerk"}
	}
	require.Equal(t, "jerk of all 6 joints", g.action("move_joints", all).Card().Assumed[1])
}
