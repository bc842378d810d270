package motion_test

import (
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion/collision"
	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
)

// checkerOf is the planner's own check of a scene.
func checkerOf(t testing.TB, m *robot.Model, s *robot.Scene) *collision.Checker {
	tree, err := kinematics.New(m.Description)
	require.NoError(t, err)
	c, err := collision.New(m, s, tree, collision.DefaultOptions())
	require.NoError(t, err)
	return c
}

// intoTable is a table under the panda at home, whose top the fingers are a
// millimetre inside of.
func intoTable(t *testing.T) robot.Scene {
	tip := newRig(t, rigOptions{builtin: "panda"}).homeTip()
	at := func(top float64) robot.Scene {
		s, err := robot.NewScene("s", []robot.Body{{
			Name: "table", Pose: robot.Pose{P: mgl64.Vec3{tip.P[0], 0, top - 0.15}, Q: mgl64.QuatIdent()},
			Geometry: robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{0.3, 0.8, 0.3}},
		}}, nil)
		require.NoError(t, err)
		return s
	}
	// The fingers' lower end is where the simulator's exact distance to a table well
	// below says.
	var r struct {
		Rehearsal *robot.Rehearsal `json:"rehearsal"`
	}
	g := newGated(t, rigOptions{builtin: "panda", scene: at(tip.P[2] - 0.03)})
	g.ok("rehearse", `{"home":true}`, &r)
	c := r.Rehearsal.Clearance
	require.Equal(t, "table", c.B)
	return at(tip.P[2] - 0.03 + c.Distance + 1e-3)
}

// CASES 19: a start in contact may only be left: what makes the gap grow is allowed,
// what goes deeper is not, nor is what takes another link into the same body, and
// nothing may come back.
func TestCase19_ContactMayOnlyBeLeft(t *testing.T) {
	t.Parallel()
	m, err := builtin.Load("panda")
	require.NoError(t, err)
	scene := intoTable(t)
	g := newGated(t, rigOptions{builtin: "panda", scene: scene}, approvals(3)...)
	home := g.homeTip()
	up := func(by float64) string { return waypoint(home.P.Add(mgl64.Vec3{0, 0, by}), &home.Q) }

	a := g.refused(gate.CodeSceneCollision, "move_path", `{"waypoints":[`+up(-0.005)+`]}`)
	require.Contains(t, a.Text, "table")
	require.Contains(t, a.Text, "finger")
	a = g.refused(gate.CodeSceneCollision, "move_path", `{"waypoints":[`+up(0.05)+`,`+up(0)+`]}`)
	require.Contains(t, a.Text, "table", "what has been left isn't entered again")

	// The fingers leave it and something else of the arm comes in.
	goal := otherLinkInside(t, m, &scene)
	a = g.refused(gate.CodeSceneCollision, "move_joints", goalArgs(m, goal))
	require.Regexp(t, "^panda_(link[0-9]|hand), table: ", a.Text)

	// With the planner's checker off the rehearsal alone refuses the same.
	bare := newGated(t, rigOptions{builtin: "panda", scene: scene, checker: blind{}})
	bare.refused(gate.CodeRehearsalFailed, "move_path", `{"waypoints":[`+up(-0.005)+`]}`)
	bare.refused(gate.CodeRehearsalFailed, "move_joints", goalArgs(m, goal))

	// A goal is judged by where the motion starts: less deep is better than before.
	const finger = "panda_(left|right)finger in contact with table, "
	g.ok("move_pose", up(0.0006), nil)
	require.Regexp(t, "^"+finger+"1.0 mm deep; at its end "+finger+"0.4 mm deep$", g.fact("Starts"))
	g.ok("move_path", `{"waypoints":[`+up(0.05)+`]}`, nil)
	require.Regexp(t, "^"+finger+"0.[3-5] mm deep; leaves it$", g.fact("Starts"))
	g.ok("jog", jogArgs("panda_joint1", 0.1), nil)
	require.Empty(t, g.fact("Starts"))
}

// otherLinkInside is a configuration in which the fingers are clear of the table and
// another link is inside it.
func otherLinkInside(t testing.TB, m *robot.Model, s *robot.Scene) []float64 {
	c := checkerOf(t, m, s)
	rng := rand.New(rand.NewPCG(19, 1))
	for range 20_000 {
		q := drawQ(m, rng)
		found, err := c.Check(q)
		if robot.CodeOf(err) != robot.CodeSceneCollision || found.Distance > -0.02 || found.A == "panda_leftfinger" || found.A == "panda_rightfinger" {
			continue
		}
		fingers := func(by float64) bool {
			p := newTip(m, q)
			return p[2] > s.Bodies[0].Pose.P[2]+0.15+by
		}
		if fingers(0.1) {
			return q
		}
	}
	t.Fatal("no such configuration was drawn")
	return nil
}

// newTip is where the tip is at q.
func newTip(m *robot.Model, q []float64) mgl64.Vec3 {
	tree, err := kinematics.New(m.Description)
	if err != nil {
		panic(err) // a built-in robot has kinematics
	}
	d := tree.NewData()
	tree.FK(d, q)
	return d.Position(m.Tip)
}
