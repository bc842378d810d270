package collision

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
)

// TestSO101IsJudgedHonestly: over the whole range of the built-in arm no pose
// whose exact bodies overlap is accepted, and few are refused whose bodies don't.
func TestSO101IsJudgedHonestly(t *testing.T) {
	m, err := builtin.Load("so101")
	require.NoError(t, err)
	c := newChecker(t, m, nil)
	_, err = c.Check(m.Home)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(7, 7))
	tr := newTruth(t, m, rng, 60)
	const n = 400
	overlapping, falsely := 0, 0
	for range n {
		q := randomQ(rng, m)
		_, err := c.Check(q)
		_, self := tr.at(q, &robot.Scene{})
		switch {
		case self < 0:
			overlapping++
			require.ErrorIs(t, err, robot.ErrCode(robot.CodeSelfCollision), "%v", q)
		case err != nil && self > 0:
			falsely++
		}
	}
	require.Greater(t, overlapping, n/50, "the test must see overlaps")
	require.Less(t, falsely, n/50)
}

func randomQ(rng *rand.Rand, m *robot.Model) []float64 {
	q := make([]float64, m.DoF())
	for i, l := range m.Limits {
		q[i] = l.Lower + rng.Float64()*(l.Upper-l.Lower)
	}
	return q
}

// TestSO101OnATable: the base stands on the table, the arm may not reach into it.
func TestSO101OnATable(t *testing.T) {
	m, err := builtin.Load("so101")
	require.NoError(t, err)
	c := newChecker(t, m, &robot.Scene{Bodies: []robot.Body{{Name: "table", Pose: kintest.At(0, 0, -0.02, 0, 0, 0), Geometry: box(1.2, 0.8, 0.04)}}})
	_, err = c.Check(m.Home)
	require.NoError(t, err)
	down := append([]float64(nil), m.Home...)
	down[m.ActiveIndex("shoulder_lift")] = 1.7
	got, err := c.CheckSegment(m.Home, down)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision))
	require.Equal(t, "table", got.B)
}
