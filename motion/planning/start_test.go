package planning

import (
	"context"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/robot"
)

// TestCase19_StartInContact: a ball 1 mm inside a table top may only leave it, in
// joint space and on straight lines, and what it may not do names the pair.
func TestCase19_StartInContact(t *testing.T) {
	m := cartesian()
	table := &robot.Scene{Bodies: []robot.Body{{Name: "table", Pose: kintest.At(0, 0, -0.119, 0, 0, 0),
		Geometry: robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{1, 1, 0.2}}}}}
	p, c := checked(t, m, table)
	from := []float64{0, 0, 0}
	found, err := c.Check(from)
	require.Error(t, err)
	require.InDelta(t, -1e-3, found.Distance, 1e-5)

	for _, up := range [][]float64{{0, 0, 0.3}, {0.05, 0, 0.3}} {
		path, err := p.JointPath(context.Background(), from, up, seeded(1))
		require.NoError(t, err)
		require.Equal(t, [][]float64{from, up}, path)
		curves, e := lines(t, p, from, mgl64.Vec3(up), mgl64.Vec3{0.2, 0.2, 0.3})
		require.Nil(t, e)
		require.Len(t, curves, 2)
	}
	for _, down := range [][]float64{{0, 0, -0.05}, {0.2, 0, -0.01}} {
		_, err := p.JointPath(context.Background(), from, down, seeded(1))
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision), "%v", down)
		_, e := lines(t, p, from, mgl64.Vec3(down))
		require.Equal(t, robot.CodeSceneCollision, e.Code, "%v", down)
		require.Contains(t, e.Where, "table")
	}
	// Up and back down to it isn't a way to where the ball was.
	_, e := lines(t, p, from, mgl64.Vec3{0, 0, 0.2}, mgl64.Vec3{0, 0, 0})
	require.Equal(t, robot.CodeSceneCollision, e.Code)
	require.Greater(t, e.Value.Value, 0.9)
	require.InDelta(t, 3e-3, point(e.Nearest)[2], 1.5e-3)
}
