package builtin_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/urdf"
)

func ur5e(t *testing.T) *robot.Model {
	t.Helper()
	m, err := builtin.Load("ur5e")
	require.NoError(t, err)
	return m
}

func TestLoadUR5e(t *testing.T) {
	m := ur5e(t)
	require.Equal(t, []string{
		"shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", "wrist_1_joint", "wrist_2_joint", "wrist_3_joint",
	}, m.JointNames())
	require.Equal(t, []int{0, 1, 2, 3, 4, 5}, m.Arm)
	require.Equal(t, "tool0", m.Links[m.Tip].Name)
	require.Nil(t, m.Gripper)
	mass := 0.0
	for _, l := range m.Links {
		if l.Inertial != nil {
			mass += l.Inertial.Mass
		}
	}
	require.InDelta(t, 20.6, mass, 1e-9)
	for i, l := range m.Limits {
		reach, effort := 2*math.Pi, 150.0
		if i == 2 {
			reach = math.Pi
		}
		if i > 2 {
			effort = 28
		}
		require.Equal(t, []float64{-reach, reach, math.Pi, effort}, []float64{l.Lower, l.Upper, l.Velocity, l.Effort})
	}
	// README.md's figures for the arm stretched out level.
	hold, inertia := load(m, []float64{0, 0, 0, 0, 0, 0}, m.JointIndex("shoulder_lift_joint"))
	require.InDelta(t, 60, math.Abs(hold), 2)
	require.InDelta(t, 3.7, inertia, 0.3)
	require.Less(t, frames(m.Description, m.Home)[m.Tip].P.Sub(mgl64.Vec3{0.492, 0.133, 0.488}).Len(), 1e-3)
}

// The flange is where the maker's table of Denavit-Hartenberg parameters puts it:
// frame i in frame i−1 is a turn θ about z, d along z, a along the new x, a turn α
// about it. The controller's base frame is half a turn about z from base_link.
func TestUR5eFollowsItsDHTable(t *testing.T) {
	table := []struct{ a, d, alpha float64 }{
		{0, 0.1625, math.Pi / 2},
		{-0.425, 0, 0},
		{-0.3922, 0, 0},
		{0, 0.1333, math.Pi / 2},
		{0, 0.0997, -math.Pi / 2},
		{0, 0.0996, 0},
	}
	m := ur5e(t)
	r := rand.New(rand.NewPCG(5, 5))
	for n := range 500 {
		q := configuration(m, r)
		if n == 0 {
			q = make([]float64, 6)
		}
		want := mgl64.HomogRotate3DZ(math.Pi)
		for i, row := range table {
			want = want.Mul4(mgl64.HomogRotate3DZ(q[i])).Mul4(mgl64.Translate3D(row.a, 0, row.d)).Mul4(mgl64.HomogRotate3DX(row.alpha))
		}
		got := frames(m.Description, q)[m.Tip]
		require.Less(t, got.P.Sub(want.Col(3).Vec3()).Len(), 1e-12)
		for c := range 3 {
			axis := mgl64.Vec3{}
			axis[c] = 1
			require.Less(t, got.Q.Rotate(axis).Sub(want.Col(c).Vec3()).Len(), 1e-12)
		}
	}
}

const ur5eCorpus = "../../../shared/cases/robots/"

// Every link that the maker's description has too is in the same place, and the
// flange is where the independent oracle of that description has it.
func TestUR5eHasThePublishedFrames(t *testing.T) {
	file := ur5eCorpus + "ur5e_expanded/ur5e.urdf"
	if _, err := os.Stat(file); err != nil {
		t.Skipf("SKIPPED %s: the published description isn't at ../shared/cases/robots/ur5e_expanded", t.Name())
	}
	pub, err := urdf.ParseFile(urdf.Files{Description: file})
	require.NoError(t, err)
	m := ur5e(t)
	require.Equal(t, pub.JointNames(), m.JointNames())
	r := rand.New(rand.NewPCG(5, 7))
	for range 200 {
		q := configuration(m, r)
		ours, theirs := frames(m.Description, q), frames(pub, q)
		for i, l := range m.Links {
			k := pub.LinkIndex(l.Name)
			require.GreaterOrEqual(t, k, 0, l.Name)
			require.Less(t, ours[i].P.Sub(theirs[k].P).Len(), 1e-8, l.Name)
			require.Less(t, 2*ours[i].Q.Conjugate().Mul(theirs[k].Q).V.Len(), 1e-8, l.Name)
		}
	}

	data, err := os.ReadFile(ur5eCorpus + "fk_oracle.json")
	require.NoError(t, err)
	var oracle map[string]struct {
		Poses []struct {
			Q     map[string]float64
			Links map[string]struct {
				XYZ  [3]float64 `json:"xyz"`
				Quat [4]float64 `json:"quat_wxyz"`
			}
		}
	}
	require.NoError(t, json.Unmarshal(data, &oracle))
	poses := oracle["ur5e_expanded/ur5e.urdf"].Poses
	require.NotEmpty(t, poses)
	for _, p := range poses {
		q := make([]float64, m.DoF())
		for name, v := range p.Q {
			q[m.ActiveIndex(name)] = v
		}
		got, want := frames(m.Description, q)[m.Tip], p.Links["tool0"]
		require.Less(t, got.P.Sub(mgl64.Vec3(want.XYZ)).Len(), 1e-6)
		dot := got.Q.W*want.Quat[0] + got.Q.V.Dot(mgl64.Vec3{want.Quat[1], want.Quat[2], want.Quat[3]})
		require.InDelta(t, 1, math.Abs(dot), 1e-6)
	}
}
