package motion_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/robot"
)

func TestJogMovesOneJointStraight(t *testing.T) {
	g := newGated(t, rigOptions{}, gatetest.Approve(), gatetest.Approve())
	before := g.positions()
	var r moved
	g.ok("jog", `{"joint":"elbow_flex","delta":0.1}`, &r)
	require.Contains(t, g.fact("Moves"), "elbow_flex")
	g.ok("jog", `{"joint":"elbow_flex","delta":-0.25,"speed_scale":1}`, &r)
	for i, n := range g.model.JointNames() {
		want := before[i]
		if n == "elbow_flex" {
			want -= 0.15
		}
		require.InDelta(t, want, r.Positions[n], 0.01, n)
	}
	a := g.refused(gate.CodeInvalidArgument, "jog", `{"joint":"elbow","delta":0.1}`)
	require.Contains(t, a.Text, "elbow_flex", "what joints there are")
	a = g.refused(gate.CodeJointLimit, "jog", `{"joint":"elbow_flex","delta":9}`)
	require.Contains(t, a.Text, "nearest admissible")
}

// No other joint gets out of the way: what a jog meets it is refused for, with
// how far it could go.
func TestJogSaysHowFarItCouldGo(t *testing.T) {
	wall, err := robot.ParseScene("s.json", []byte(`{"bodies":[`+block+`]}`))
	require.NoError(t, err)
	g := newRig(t, rigOptions{scene: wall})
	_, err = g.prepare("jog", `{"joint":"shoulder_pan","delta":-1.5}`)
	e := requireCode(t, gate.CodeSceneCollision, err)
	require.Len(t, e.Nearest, 1)
	require.Equal(t, "delta", e.Nearest[0].Name)
	require.Less(t, e.Nearest[0].Value, -0.01)
	require.Greater(t, e.Nearest[0].Value, -1.5)
	_, err = g.prepare("jog", jogArgs("shoulder_pan", e.Nearest[0].Value))
	require.NoError(t, err, "the nearest is admissible")
	_, err = g.prepare("jog", jogArgs("shoulder_pan", e.Nearest[0].Value-0.01))
	requireCode(t, gate.CodeSceneCollision, err)
}

func jogArgs(joint string, delta float64) string {
	return fmt.Sprintf(`{"joint":%q,"delta":%.17g}`, joint, delta)
}
