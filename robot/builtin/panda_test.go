package builtin_test

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/urdf"
)

func panda(t *testing.T) *robot.Model {
	t.Helper()
	m, err := builtin.Load("panda")
	require.NoError(t, err)
	return m
}

func randomConfiguration(m *robot.Model, r *rand.Rand) []float64 {
	q := make([]float64, m.DoF())
	for i, l := range m.Limits {
		q[i] = l.Lower + r.Float64()*(l.Upper-l.Lower)
	}
	return q
}

func TestLoadPanda(t *testing.T) {
	m := panda(t)
	require.Empty(t, m.Warnings)
	require.Empty(t, m.Assumed)
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6}, m.Arm)
	require.Equal(t, "panda_hand_tcp", m.Links[m.Tip].Name)
	require.Equal(t, 7, m.Gripper.Joint)
	require.Equal(t, []float64{0, 0.04}, []float64{m.Gripper.Closed, m.Gripper.Open})
	mass := 0.0
	for _, l := range m.Links {
		if l.Inertial != nil {
			mass += l.Inertial.Mass
		}
	}
	require.InDelta(t, 18, mass, 0.5) // the data sheet says about 18
}

// Every link that both descriptions have is in the same place, to 1e-6 m and rad.
func TestPandaHasThePublishedFrames(t *testing.T) {
	const file = "../../../shared/cases/robots/panda_mesh/urdf/panda.urdf"
	if _, err := os.Stat(file); err != nil {
		t.Skipf("SKIPPED %s: the published description isn't at ../shared/cases/robots/panda_mesh", t.Name())
	}
	pub, err := urdf.ParseFile(urdf.Files{Description: file})
	require.NoError(t, err)
	m := panda(t)
	require.Equal(t, m.JointNames(), pub.JointNames())
	r := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		q := randomConfiguration(m, r)
		ours, theirs := frames(m.Description, q), frames(pub, q)
		for i, l := range m.Links {
			if l.Name == "panda_rightfinger" {
				continue // frames() moves no mimic joint
			}
			k := pub.LinkIndex(l.Name)
			require.GreaterOrEqual(t, k, 0, l.Name)
			require.Less(t, ours[i].P.Sub(theirs[k].P).Len(), 1e-6, l.Name)
			require.Less(t, 2*ours[i].Q.Conjugate().Mul(theirs[k].Q).V.Len(), 1e-6, l.Name)
		}
	}
}

// Home is clear of
// self-collision by 5 mm; most of the joint space is free, and a fold into the
// base is seen.
func TestPandaSelfCollision(t *testing.T) {
	m := panda(t)
	require.Empty(t, collisions(m, m.Home, 0.005))
	require.Greater(t, lowest(m, m.Home), 0.05)
	r := rand.New(rand.NewPCG(101, 2))
	const n = 1000
	free := 0
	met := map[[2]string]bool{}
	for range n {
		hits := collisions(m, randomConfiguration(m, r), 0)
		if len(hits) == 0 {
			free++
		}
		for _, h := range hits {
			met[h] = true
		}
	}
	require.Greater(t, free, n*80/100)
	require.Contains(t, met, [2]string{"panda_link0", "panda_hand"})
	require.NotContains(t, met, [2]string{"panda_link0", "panda_link2"})
}
