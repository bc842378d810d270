package motion_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/sim"
)

// The gantry's joints, in the order of q.
var gantryUnknown = []bool{true, true, true}

// While where a joint is isn't known nothing moves but its search, and nobody is
// asked for anything else.
func TestReferenceComesFirst(t *testing.T) {
	t.Parallel()
	g := newGated(t, rigOptions{builtin: "gantry", unknown: gantryUnknown}, gatetest.Approve(), gatetest.Approve(), gatetest.Approve(), gatetest.Approve())
	for tool, args := range map[string]string{
		"move_joints": `{"positions":{"x":0.1}}`, "move_pose": `{"position":[0,0,0.3]}`, "home": `{}`, "jog": `{"joint":"x","delta":0.01}`,
		"plan_joints": `{"positions":{"x":0.1}}`, "rehearse": `{"home":true}`,
	} {
		a := g.refused(gate.CodeNotCalibrated, tool, args)
		require.Contains(t, a.Text, "x, y, z")
	}
	var st struct {
		Positions    map[string]float64 `json:"positions"`
		Unreferenced []string           `json:"unreferenced"`
		Tip          any                `json:"tip"`
	}
	g.ok("robot_state", `{}`, &st)
	require.Equal(t, []string{"x", "y", "z"}, st.Unreferenced)
	require.Empty(t, st.Positions, "a count from nowhere isn't a position")
	require.Nil(t, st.Tip)

	a := g.refused(gate.CodeInvalidArgument, "reference", `{}`)
	require.Contains(t, a.Text, "x, y, z")
	var r moved
	g.ok("reference", `{"joint":"z"}`, &r)
	require.Equal(t, "done", r.Outcome)
	require.InDelta(t, -0.002, r.Positions["z"], 1e-3)
	require.Equal(t, "z towards its upper end for the switch at -0.002 m, at most 0.010 m/s fast and 0.250 m far", g.fact("Searches"))
	const trusted = ": the rehearsal takes them to be where they count to be, and the way is only as free as their counts are true"
	require.Equal(t, "where z is, until its switch is found; nor where x and y are"+trusted, g.fact("Not known"))
	require.Contains(t, g.fact("In the rehearsal"), "z was at -0.002 m after")
	require.Empty(t, g.fact("Moves"))

	g.ok("reference", `{"joint":"x"}`, &r)
	require.Equal(t, "where x is, until its switch is found; nor where y is"+trusted, g.fact("Not known"))
	g.refused(gate.CodeNotCalibrated, "home", `{}`)
	g.ok("reference", `{}`, &r) // the only one that is left
	require.Equal(t, "where y is, until its switch is found", g.fact("Not known"))
	require.InDelta(t, -0.198, r.Positions["y"], 1e-3)
	g.ok("home", `{}`, &r)
	require.InDelta(t, 0, r.Positions["x"], 1e-3)
	st.Unreferenced = nil
	g.ok("robot_state", `{}`, &st)
	require.Empty(t, st.Unreferenced)
	require.Len(t, st.Positions, 3)

	g.refused(gate.CodeInvalidArgument, "reference", `{}`)
	g.refused(gate.CodeInvalidArgument, "reference", `{"joint":"w"}`)
	newGated(t, rigOptions{}).refused(gate.CodeNotSupported, "reference", `{}`)
}

// A switch that isn't found is no position.
func TestReferenceThatFindsNothing(t *testing.T) {
	t.Parallel()
	g := newGated(t, rigOptions{
		builtin: "gantry", unknown: []bool{false, false, true}, start: []float64{0, 0, -0.2},
		faults: []sim.Fault{{At: 18, Kind: sim.FaultLostSteps, Joint: "z", Value: 0.2}},
	}, gatetest.Approve())
	a := g.ask("reference", `{}`)
	require.Equal(t, gate.CodeNotCalibrated, a.Code, a.Text)
	var r moved
	g.ok("robot_state", `{}`, &r)
	require.NotContains(t, r.Positions, "z")
}

// What isn't known isn't told: no result has the count of a joint that hasn't found
// its switch, nor a tip that depends on it.
func TestCase48_ResultsLeaveOutWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	var b *onProgress
	stop := false
	g := newGated(t, rigOptions{builtin: "gantry", unknown: []bool{true, false, true}, between: func(in robot.Backend) robot.Backend {
		b = &onProgress{in, func() {
			if stop {
				stop = false
				go in.Stop(t.Context(), robot.StopControlled) // it waits for rest, which this holds up
			}
		}}
		return b
	}}, approvals(4)...)
	type told struct {
		Positions    map[string]float64 `json:"positions"`
		Unreferenced []string           `json:"unreferenced"`
		Tip          any                `json:"tip"`
	}
	for _, c := range [][2]string{{"torque_off", `{}`}, {"torque_on", `{}`}, {"reference", `{"joint":"z"}`}} {
		halted := c[0] == "reference"
		stop = halted
		var r told
		a := g.ask(c[0], c[1])
		require.Equal(t, halted, a.Code == gate.CodeStopped, a.Text)
		require.NoError(t, json.Unmarshal(a.Result, &r))
		require.Equal(t, []string{"x", "z"}, r.Unreferenced, c[0])
		require.Len(t, r.Positions, 1, c[0])
		require.Contains(t, r.Positions, "y")
		require.Nil(t, r.Tip, c[0])
		require.Contains(t, a.Text, "where x, z are isn't known", c[0])
		require.NotContains(t, a.Text, "tip measured")
		require.Empty(t, g.fact("Height"))
	}
	var r told
	a := g.ok("reference", `{"joint":"z"}`, &r)
	require.Equal(t, []string{"x"}, r.Unreferenced)
	require.Len(t, r.Positions, 2)
	require.Nil(t, r.Tip)
	require.Contains(t, a.Text, "where x is isn't known")
}

// A motion that was approved when all joints knew where they are is void once one
// doesn't.
func TestG12_AJointThatLostItsPositionRefuses(t *testing.T) {
	g, b, _ := newLive(t, rigOptions{})
	act := g.action("move_joints", turn)
	b.state = func(s *robot.State) { s.Unreferenced = make([]bool, 6); s.Unreferenced[3] = true }
	requireCode(t, gate.CodeNotCalibrated, act.Check(t.Context()))
}

// A referenced joint that has lost steps finds its switch again where it truly is.
func TestReferenceAgainAfterLostSteps(t *testing.T) {
	t.Parallel()
	g := newGated(t, rigOptions{
		builtin: "gantry", faults: []sim.Fault{{At: 0.1, Kind: sim.FaultLostSteps, Joint: "x", Value: 0.05}},
	}, gatetest.Approve(), gatetest.Approve())
	var r moved
	g.ok("move_joints", `{"positions":{"x":0.1}}`, &r)
	require.InDelta(t, 0.1, r.Positions["x"], 2e-3, "it counts what it doesn't see")
	g.ok("reference", `{"joint":"x"}`, &r)
	require.InDelta(t, -0.298, r.Positions["x"], 1e-3)
	require.Contains(t, g.fact("Not known"), "whether x is where it counts to be")
}

// A search is watched as any motion is: the joints that hold, and the one that
// searches until it has found its switch and from then on.
func TestWatchOfASearch(t *testing.T) {
	const x, z = 0, 2
	search := func(foundAt float64, bend func(at float64, q []float64)) func(robot.Motion, float64) []float64 {
		return func(m robot.Motion, at float64) []float64 {
			q := commanded(m, at)
			if at >= foundAt {
				q[z] = m.Seek.Switch
			}
			if bend != nil {
				bend(at, q)
			}
			return q
		}
	}
	for name, c := range map[string]struct {
		at     func(robot.Motion, float64) []float64
		leaves bool
	}{
		"finds it":               {at: search(5, nil)},
		"finds it late":          {at: search(1e9, nil)},
		"brakes behind it":       {at: search(5, func(at float64, q []float64) { q[z] += 0.001 * min(1, max(0, 6-at)) })},
		"another joint moves":    {at: search(5, func(at float64, q []float64) { q[x] += 0.006 }), leaves: true},
		"is elsewhere before it": {at: search(5, func(at float64, q []float64) { q[z] -= 0.05 }), leaves: true},
		"runs on behind it":      {at: search(5, func(at float64, q []float64) { q[z] += max(0, at-5) * 0.01 }), leaves: true},
		"jumps where no switch is": {at: search(1e9, func(at float64, q []float64) {
			if at > 3 {
				q[z] += 0.1
			}
		}), leaves: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, rigOptions{builtin: "gantry", rehearser: bent{}, between: func(b robot.Backend) robot.Backend {
				return &played{Backend: b, at: c.at}
			}})
			err := g.do("reference", `{"joint":"z"}`, nil)
			if c.leaves {
				requireCode(t, gate.CodeDeviation, err)
				return
			}
			require.NoError(t, err)
		})
	}
}

// The whole way that a search may take is free, wherever on it the joint stands.
func TestTheWayOfASearchIsFree(t *testing.T) {
	block, err := robot.ParseScene("s.json", []byte(`{"bodies":[{"name":"block","pose":{"xyz":[0,0,0.03]},"geometry":{"box":{"size":[0.3,0.3,0.06]}}}]}`))
	require.NoError(t, err)
	// The tool stands above the block, but might as well stand in it.
	g := newGated(t, rigOptions{builtin: "gantry", scene: block, unknown: []bool{false, false, true}})
	tip := g.tipAt(g.model.Home)
	low := g.tipAt([]float64{0, 0, g.model.Limits[2].Lower})
	require.Greater(t, tip.P[2], 0.07)
	require.Less(t, low.P[2], 0.06)
	a := g.refused(gate.CodeSceneCollision, "reference", `{}`)
	require.Contains(t, a.Text, "block")
}
