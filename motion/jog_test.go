package motion_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
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
}

// Beyond a limit a jog is refused by its own argument, with the largest that is
// admissible.
func TestJogBeyondALimit(t *testing.T) {
	wall, err := robot.ParseScene("s.json", []byte(`{"bodies":[`+block+`]}`))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		scene robot.Scene
		start []float64
		delta float64
		most  float64 // 0: none
		says  string
	}{
		"up":                  {delta: 100, start: []float64{0.12, 0, 0, 0, 0, 0}, most: 1.91986 - 0.12, says: "would take joint shoulder_pan to 100.1200 rad, above its upper limit of 1.9199 rad"},
		"down":                {delta: -100, start: []float64{0.12, 0, 0, 0, 0, 0}, most: -1.91986 - 0.12, says: "below its lower limit of -1.9199 rad"},
		"at it already":       {delta: 0.1, start: []float64{1.91986, 0, 0, 0, 0, 0}, says: "to 2.0199 rad"},
		"a body is before it": {delta: -100, scene: wall, most: math.NaN(), says: "on the way there"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, rigOptions{scene: c.scene, start: c.start, rehearser: bent{}})
			_, err := g.prepare("jog", jogArgs("shoulder_pan", c.delta))
			e := requireCode(t, gate.CodeJointLimit, err)
			require.Equal(t, "delta", e.Where)
			require.InDelta(t, c.delta, e.Value.Value, 0)
			require.Contains(t, e.Text, c.says)
			if c.most == 0 {
				require.Empty(t, e.Nearest)
				return
			}
			require.Len(t, e.Nearest, 1)
			near := e.Nearest[0]
			require.Equal(t, "delta", near.Name)
			if !math.IsNaN(c.most) {
				require.InDelta(t, c.most, near.Value, 1e-5)
				require.InDelta(t, near.Value, e.Limit.Value, 0)
			} else {
				require.Less(t, math.Abs(near.Value), math.Abs(e.Limit.Value))
			}
			_, err = g.prepare("jog", jogArgs("shoulder_pan", near.Value))
			require.NoError(t, err, "the nearest is admissible")
		})
	}
}

// What a jog beyond a limit is offered is inside it to the last bit, from wherever.
func TestJogBeyondALimitOffersNoMore(t *testing.T) {
	m, err := builtin.Load("gantry")
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(3, 1))
	for range 15 {
		start := drawQ(m, rng)
		g := newRig(t, rigOptions{builtin: "gantry", start: start, rehearser: bent{}})
		_, err := g.prepare("jog", jogArgs("y", math.Copysign(7, rng.NormFloat64())))
		e := requireCode(t, gate.CodeJointLimit, err)
		require.Len(t, e.Nearest, 1)
		to := start[1] + e.Nearest[0].Value
		require.True(t, to >= m.Limits[1].Lower && to <= m.Limits[1].Upper, "%.17g + %.17g", start[1], e.Nearest[0].Value)
	}
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
