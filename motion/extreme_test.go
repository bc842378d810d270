package motion_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

// TestExtremeArguments: numbers that JSON can hold and no robot can do are refused at
// once, with the limit, and leave the robot as it was.
func TestExtremeArguments(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"rover", "gantry", "so101"} {
		g := newGated(t, rigOptions{builtin: name})
		for _, far := range []string{"1001", "1e150", "-1e200", "1e300"} {
			for _, call := range [][2]string{
				{"plan_path", `{"waypoints":[{"position":[%s,0,0]}]}`}, {"move_path", `{"waypoints":[{"position":[0,%s,0]}]}`},
				{"plan_pose", `{"position":[%s,0,0]}`}, {"move_pose", `{"position":[0,0,%s]}`},
			} {
				a := g.refused(gate.CodeInvalidArgument, call[0], fmt.Sprintf(call[1], far))
				require.Contains(t, a.Text, "1000 m", "%s: %s", name, call[0])
				require.NotContains(t, a.Text, "nearest")
			}
		}
	}
	g := newGated(t, rigOptions{builtin: "rover"})
	for _, slow := range []string{
		`{"linear":1e-300,"angular":0,"duration":1}`, `{"linear":1e-50,"angular":0,"duration":1}`, `{"linear":5e-324,"angular":0,"duration":1}`,
		`{"linear":0,"angular":1e-35,"duration":1}`, `{"linear":1e-9,"angular":-1e-9,"duration":2}`,
	} {
		a := g.refused(gate.CodeInvalidArgument, "drive", slow)
		require.Contains(t, a.Text, "limit 1e-06 rad or m")
	}
	a := g.refused(gate.CodeInvalidArgument, "drive", `{"linear":0.1,"angular":0,"duration":2,"speed_scale":5e-324}`)
	require.Contains(t, a.Text, "speed_scale 0.0001")
	a = g.refused(gate.CodeInvalidArgument, "jog", `{"joint":"left_wheel","delta":1,"speed_scale":5e-324}`)
	require.Contains(t, a.Text, "speed_scale 0.0001")
	a = g.refused(gate.CodeInvalidArgument, "jog", `{"joint":"left_wheel","delta":9999}`)
	require.Contains(t, a.Text, "left_wheel: the base would turn by")
	require.Contains(t, a.Text, "value 9999 rad, limit 26")
	require.Contains(t, a.Text, "nearest admissible: left_wheel 26")
	g.at(0, 0, 0)
}
