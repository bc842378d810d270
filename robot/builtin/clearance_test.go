package builtin_test

import (
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
)

func so101(t *testing.T) *robot.Model {
	t.Helper()
	m, err := builtin.Load("so101")
	require.NoError(t, err)
	return m
}

// The overlap test itself, against distances known by hand: two unit cubes side
// by side, turned by 45 degrees, and a cylinder's rim.
func TestOverlapKnownDistances(t *testing.T) {
	cube := robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{1, 1, 1}}
	rod := robot.Geometry{Kind: robot.Cylinder, Radius: 0.5, Length: 2}
	at := func(x, y, z, yaw float64) robot.Pose {
		return robot.Pose{P: mgl64.Vec3{x, y, z}, Q: mgl64.QuatRotate(yaw, mgl64.Vec3{0, 0, 1})}
	}
	const eighth = 0.7853981633974483
	for _, c := range []struct {
		a, b   robot.Geometry
		pb     robot.Pose
		gap    float64
		expect bool
	}{
		{cube, cube, at(1.01, 0.2, 0.1, 0), 0, false},
		{cube, cube, at(1.01, 0.2, 0.1, 0), 0.02, true},
		{cube, cube, at(0.99, 0.2, 0.1, 0), 0, true},
		{cube, cube, at(1.20, 0, 0, eighth), 0, true}, // half the diagonal reaches 0.7071
		{cube, cube, at(1.21, 0, 0, eighth), 0, false},
		{cube, rod, at(0.99, 0, 1.4, 0), 0, true},
		{cube, rod, at(1.01, 0, 1.4, 0), 0, false},
		{cube, rod, at(0.84, 0.84, 0, 0), 0, true}, // corner at 0.7071, rim 0.5 beyond
		{cube, rod, at(0.86, 0.86, 0, 0), 0, false},
	} {
		require.Equal(t, c.expect, overlap(c.a, c.b, at(0, 0, 0, 0), c.pb, c.gap), "%v", c)
		require.Equal(t, c.expect, overlap(c.b, c.a, c.pb, at(0, 0, 0, 0), c.gap), "%v swapped", c)
	}
}

// The named poses, zero, and the straight ways in joint space between them are
// clear of self-collision by 5 mm and of the table that the base stands on.
func TestSO101NamedPosesAndWaysBetweenAreClear(t *testing.T) {
	m := so101(t)
	zero := make([]float64, m.DoF())
	open := append([]float64(nil), m.Home...)
	open[m.Gripper.Joint] = m.Gripper.Open
	closed := append([]float64(nil), m.Home...)
	closed[m.Gripper.Joint] = m.Gripper.Closed
	rest := []float64{0, -1.6, 1.4, 0.9, 0, 0}
	pan := append([]float64(nil), m.Home...)
	pan[0] = 1.9
	poses := [][]float64{zero, m.Home, open, closed, rest, pan}
	for i, a := range poses {
		for k, b := range poses {
			for s := range 101 {
				q := make([]float64, len(a))
				for x := range q {
					q[x] = a[x] + (b[x]-a[x])*float64(s)/100
				}
				require.Empty(t, collisions(m, q, 0.005), "from pose %d to %d at %d %%", i, k, s)
				require.Greater(t, lowest(m, q), 0.02, "from pose %d to %d at %d %%", i, k, s)
			}
		}
	}
}

// Most of the joint space is free, and the pairs that never meet there are the
// ones that a real SO-101 can't bring together.
func TestSO101MostOfTheRangeIsFree(t *testing.T) {
	m := so101(t)
	r := rand.New(rand.NewPCG(101, 1))
	const n = 4000
	free := 0
	met := map[[2]string]bool{}
	for range n {
		q := make([]float64, m.DoF())
		for i, l := range m.Limits {
			q[i] = l.Lower + r.Float64()*(l.Upper-l.Lower)
		}
		hits := collisions(m, q, 0)
		if len(hits) == 0 {
			free++
		}
		for _, h := range hits {
			met[h] = true
		}
	}
	require.Greater(t, free, n*80/100)
	require.NotContains(t, met, [2]string{"base_link", "upper_arm_link"})
	require.NotContains(t, met, [2]string{"lower_arm_link", "gripper_link"})
	require.NotContains(t, met, [2]string{"wrist_link", "moving_jaw_link"})
	// A fold of the arm into its own base is seen.
	require.Contains(t, met, [2]string{"base_link", "gripper_link"})
}

// The jaws meet at the closed position, part at the open one, and something
// of 30 mm fits between them in between.
func TestSO101JawsCloseAndOpen(t *testing.T) {
	m := so101(t)
	palm, jaw := m.LinkIndex("gripper_link"), m.LinkIndex("moving_jaw_link")
	fixed, blade := m.Links[palm].Colliders[1], m.Links[jaw].Colliders[1]
	meet := func(g, gap float64) bool {
		q := append([]float64(nil), m.Home...)
		q[m.Gripper.Joint] = g
		at := frames(m.Description, q)
		return overlap(fixed.Geometry, blade.Geometry, at[palm].Mul(fixed.Origin), at[jaw].Mul(blade.Origin), gap)
	}
	require.False(t, meet(m.Gripper.Closed, 0))
	require.True(t, meet(m.Gripper.Closed, 0.008))
	require.False(t, meet(m.Gripper.Open, 0.035))
	require.True(t, meet(0.2, 0.03))
	require.False(t, meet(1.0, 0.03))
}
