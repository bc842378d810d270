package motion_test

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion/collision"
	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/motion/trajectory"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/sim"
)

// blind is motion's checker switched off.
type blind struct{}

func (blind) Check([]float64) (*robot.Clearance, error)             { return nil, nil }
func (blind) CheckSegment(_, _ []float64) (*robot.Clearance, error) { return nil, nil }

// table is a scene with something on every side of the so101.
const table = `{"name":"table","bodies":[
 {"name":"table","pose":{"xyz":[0.25,0,-0.026],"quat_wxyz":[1,0,0,0]},"geometry":{"box":{"size":[1.2,1.2,0.05]}}},
 {"name":"post","pose":{"xyz":[0.22,0.18,0.15],"quat_wxyz":[1,0,0,0]},"geometry":{"cylinder":{"radius":0.02,"length":0.3}}},
 {"name":"shelf","pose":{"xyz":[0.26,-0.16,0.22],"quat_wxyz":[1,0,0,0]},"geometry":{"box":{"size":[0.2,0.14,0.02]}}},
 {"name":"ball","pose":{"xyz":[0.3,0.03,0.05],"quat_wxyz":[1,0,0,0]},"geometry":{"sphere":{"radius":0.03}}}
]}`

func tableScene(t testing.TB) robot.Scene {
	s, err := robot.ParseScene("table.json", []byte(table))
	require.NoError(t, err)
	return s
}

// drawQ draws a configuration inside the limits.
func drawQ(m *robot.Model, rng *rand.Rand) []float64 {
	q := make([]float64, m.DoF())
	for i, l := range m.Limits {
		q[i] = l.Lower + rng.Float64()*(l.Upper-l.Lower)
	}
	return q
}

func goalArgs(m *robot.Model, q []float64) string {
	var b strings.Builder
	b.WriteString(`{"positions":{`)
	for i, n := range m.JointNames() {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%.17g", n, q[i])
	}
	b.WriteString("}}")
	return b.String()
}

// overlap is how deep two bodies must be in each other, by the checker's own
// spheres, for a plan to count as colliding: deeper than the spheres overshoot
// the exact bodies, so that no honest plan is among them.
const overlap = 4 * collision.DefaultOvershoot

// With motion's own checker switched off the rehearsal alone refuses every
// colliding plan: it shares no collision code with the planner.
func TestRehearsalAloneRefusesCollidingPlans(t *testing.T) {
	t.Parallel()
	want := 200
	if raceEnabled {
		want = 40
	}
	m, err := builtin.Load("so101")
	require.NoError(t, err)
	scene := tableScene(t)
	tree, err := kinematics.New(m.Description)
	require.NoError(t, err)
	checker, err := collision.New(m, &scene, tree, collision.DefaultOptions())
	require.NoError(t, err)
	reh, err := sim.NewRehearser(m, &scene, 1, sim.RehearserOptions{})
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(2, 200))
	codes := map[gate.Code]int{}
	for n := 0; n < want; {
		start, goal := drawQ(m, rng), drawQ(m, rng)
		if _, err := checker.Check(start); err != nil {
			continue // a start in contact is another refusal
		}
		if !deep(checker, start, goal) {
			continue
		}
		n++
		g := newRig(t, rigOptions{model: m, scene: scene, start: start, checker: blind{}, rehearser: reh})
		_, err := g.prepare("move_joints", strings.TrimSuffix(goalArgs(m, goal), "}")+`,"speed_scale":1}`)
		require.Error(t, err, "plan %d from %v to %v", n, start, goal)
		codes[requireCode(t, gate.CodeRehearsalFailed, err).Code]++
		cause := robot.CodeOf(rehearsalCause(err))
		require.Contains(t, []robot.Code{robot.CodeContact, robot.CodeSelfCollision, robot.CodeSceneCollision}, cause, err.Error())
	}
	require.Equal(t, want, codes[gate.CodeRehearsalFailed])
}

// deep reports whether the straight line between two configurations takes two
// bodies deeper than overlap into each other somewhere.
func deep(c *collision.Checker, from, to []float64) bool {
	const steps = 32
	q := make([]float64, len(from))
	for k := range steps {
		// The middle first, then the quarters, and so on: what is deep is found soon.
		f := float64(bits.Reverse8(uint8(k))) / 256
		for i := range q {
			q[i] = from[i] + f*(to[i]-from[i])
		}
		cl, _ := c.Check(q)
		if cl != nil && cl.Distance < -overlap {
			return true
		}
	}
	return false
}

// With the checker on, what the planner accepts rehearses clean.
func TestHonestPlansRehearseClean(t *testing.T) {
	t.Parallel()
	want := 500
	if raceEnabled {
		want = 12
	}
	m, err := builtin.Load("so101")
	require.NoError(t, err)
	scene := tableScene(t)
	tree, err := kinematics.New(m.Description)
	require.NoError(t, err)
	checker, err := collision.New(m, &scene, tree, collision.DefaultOptions())
	require.NoError(t, err)
	reh, err := sim.NewRehearser(m, &scene, 1, sim.RehearserOptions{})
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(5, 500))
	for n := 0; n < want; {
		start, goal := drawQ(m, rng), drawQ(m, rng)
		traj, err := trajectory.PointToPoint(m.JointNames(), m.Limits, start, goal, 0.3+0.7*rng.Float64())
		require.NoError(t, err)
		if _, err := checker.CheckTrajectory(traj); err != nil {
			continue
		}
		n++
		motion := robot.Motion{Trajectory: traj, StartTolerance: fill(m, 0.02), MaxDeviation: fill(m, 0.2)}
		r, err := reh.Rehearse(context.Background(), robot.State{Positions: start, Setpoints: start, Enabled: true}, motion)
		require.NoError(t, err, "plan %d from %v to %v", n, start, goal)
		for i, j := range r.Joints {
			require.InDelta(t, goal[i], j.End, 0.01, "plan %d: %s", n, j.Joint)
		}
	}
}

func fill(m *robot.Model, v float64) []float64 {
	out := make([]float64, m.DoF())
	for i := range out {
		out[i] = v
	}
	return out
}
