package planning

import (
	"context"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
)

// TestSO101FindsItsWay: on a table with a post, between free configurations, the
// built-in arm finds a path nearly always, and each is free.
func TestSO101FindsItsWay(t *testing.T) {
	m, err := builtin.Load("so101")
	require.NoError(t, err)
	s := post(0.25, 0)
	s.Bodies = append(s.Bodies, robot.Body{Name: "table", Pose: kintest.At(0, 0, -0.02, 0, 0, 0),
		Geometry: robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{1.2, 1.2, 0.04}}})
	p, c := checked(t, m, s)
	rng := seeded(11)
	free := func() []float64 {
		for {
			q := make([]float64, m.DoF())
			for i, l := range m.Limits {
				q[i] = l.Lower + rng.Float64()*(l.Upper-l.Lower)
			}
			if _, err := c.Check(q); err == nil {
				return q
			}
		}
	}
	const n = 30
	found, detours := 0, 0
	for range n {
		from, to := free(), free()
		path, err := p.JointPath(context.Background(), from, to, rng)
		if err != nil {
			require.ErrorIs(t, err, robot.ErrCode(robot.CodeNoPath))
			continue
		}
		found++
		if len(path) > 2 {
			detours++
		}
		for i := 1; i < len(path); i++ {
			requireInside(t, m, path[i])
			_, err := c.CheckSegment(path[i-1], path[i])
			require.NoError(t, err)
		}
	}
	t.Logf("%d of %d found, %d with a detour", found, n, detours)
	require.GreaterOrEqual(t, found, n*9/10)
	require.Positive(t, detours)
}
