package motion_test

import (
	"fmt"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/motion"
	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/robot"
)

// tipAt is where the tip is at a configuration.
func (g *rig) tipAt(q []float64) robot.Pose {
	tree, err := kinematics.New(g.model.Description)
	require.NoError(g.t, err)
	d := tree.NewData()
	tree.FK(d, q)
	return kinematics.PoseOf(&d.Frames[g.model.Tip])
}

// waypoint is the JSON of one.
func waypoint(p mgl64.Vec3, q *mgl64.Quat) string {
	s := fmt.Sprintf(`{"position":[%.17g,%.17g,%.17g]`, p[0], p[1], p[2])
	if q != nil {
		s += fmt.Sprintf(`,"orientation":[%.17g,%.17g,%.17g,%.17g]`, q.W, q.V[0], q.V[1], q.V[2])
	}
	return s + "}"
}

// A square in the air: the whole trajectory, not only its corners, is on its lines
// and holds its orientation.
func TestMovePathIsStraight(t *testing.T) {
	t.Parallel()
	g := newGated(t, rigOptions{builtin: "panda"}, gatetest.Approve())
	start := g.tipAt(g.positions())
	corners := []mgl64.Vec3{{0, 0, -0.1}, {0, 0.15, -0.1}, {0, 0.15, 0}, {0, 0, 0}}
	args := `{"speed_scale":0.3,"waypoints":[`
	for i, c := range corners {
		if i > 0 {
			args += ","
		}
		args += waypoint(start.P.Add(c), &start.Q)
	}
	args += `]}`
	act, err := g.prepare("move_path", args)
	require.NoError(t, err)
	m, _, ok := motion.Planned(act)
	require.True(t, ok)
	lines := append([]mgl64.Vec3{{}}, corners...)
	q, v, a := make([]float64, 8), make([]float64, 8), make([]float64, 8)
	for s := 0.0; s < m.Trajectory.Duration(); s += 0.005 {
		m.Trajectory.Sample(s, q, v, a)
		p := g.tipAt(q)
		off := 1.0
		for k := 1; k < len(lines); k++ {
			off = min(off, toLine(p.P.Sub(start.P), lines[k-1], lines[k]))
		}
		require.Less(t, off, 2e-4, "at %g s", s)
		require.Less(t, p.Q.Mul(start.Q.Conjugate()).V.Len(), 1e-3, "at %g s", s)
	}
	var r moved
	g.ok("move_path", args, &r)
	for i := range start.P {
		require.InDelta(t, start.P[i], r.Tip.Position[i], 2e-3)
	}
	require.Equal(t, "panda_hand_tcp through 4 waypoints, 0.500 m in straight lines", g.fact("Path"))
}

// toLine is the distance of a point from a line between two others.
func toLine(p, a, b mgl64.Vec3) float64 {
	d := b.Sub(a)
	u := min(1, max(0, p.Sub(a).Dot(d)/d.Dot(d)))
	return p.Sub(a.Add(d.Mul(u))).Len()
}

// A path that can't be done whole says how much of it can, and is not done at all.
func TestAPathThatEndsEarlyIsRefused(t *testing.T) {
	t.Parallel()
	g := newGated(t, rigOptions{builtin: "panda"})
	start := g.tipAt(g.positions())
	before := g.positions()
	a := g.refused(gate.CodeUnreachable, "move_path", `{"waypoints":[`+waypoint(start.P.Add(mgl64.Vec3{1.5, 0, 0}), nil)+`]}`)
	require.Contains(t, a.Text, "fraction 0.")
	require.Contains(t, a.Text, "nearest admissible: x ")
	a = g.refused(gate.CodeUnreachable, "plan_path", `{"waypoints":[`+waypoint(start.P, nil)+`,`+waypoint(start.P.Add(mgl64.Vec3{1.5, 0, 0}), nil)+`]}`)
	require.Contains(t, a.Text, "towards waypoint 1")
	require.Equal(t, before, g.positions())
	for _, args := range []string{
		`{"waypoints":[]}`, `{}`, `{"waypoints":[{"position":[0,0]}]}`, `{"waypoints":[{"position":[0.4,0,0.4],"tool_axis":[0,0,1]}]}`,
		`{"waypoints":[{"position":[0.4,0,0.4],"orientation":[2,0,0,0]}]}`, `{"waypoints":[{"position":[0.4,0,0.4]}],"tip":"nowhere"}`,
	} {
		g.refused(gate.CodeInvalidArgument, "move_path", args)
	}
	a = g.refused(gate.CodeInvalidArgument, "move_path", `{"waypoints":[{"position":[0.4,0,0.4]},{"position":[0.4,0,0.4],"orientation":[2,0,0,0]}]}`)
	require.Contains(t, a.Text, "waypoints[1].orientation")

	wall, err := robot.NewScene("s", []robot.Body{{
		Name: "wall", Pose: robot.Pose{P: start.P.Add(mgl64.Vec3{0, 0.25, 0}), Q: mgl64.QuatIdent()},
		Geometry: robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{0.5, 0.02, 0.5}},
	}}, nil)
	require.NoError(t, err)
	g = newGated(t, rigOptions{builtin: "panda", scene: wall})
	a = g.refused(gate.CodeSceneCollision, "move_path", `{"waypoints":[`+waypoint(start.P.Add(mgl64.Vec3{0, 0.4, 0}), nil)+`]}`)
	require.Contains(t, a.Text, "wall")
	require.Contains(t, a.Text, "fraction 0.")
}
