package builtin_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
)

func TestLoadSO101(t *testing.T) {
	m, err := builtin.Load("so101")
	require.NoError(t, err)
	require.Empty(t, m.Warnings)
	require.Empty(t, m.Assumed)
	require.Equal(t, []string{"shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper"}, m.JointNames())
	require.Equal(t, []int{0, 1, 2, 3, 4}, m.Arm)
	require.Equal(t, "gripper_frame_link", m.Links[m.Tip].Name)
	require.Equal(t, []float64{0, -0.6, 0.6, 0.9, 0, 0}, m.Home)
	require.Equal(t, robot.Gripper{Joint: 5, Closed: -0.15, Open: 1.4, MaxEffort: 1.9, Links: []int{
		m.LinkIndex("gripper_link"), m.LinkIndex("moving_jaw_link"),
	}}, *m.Gripper)
	for i, l := range m.Limits {
		require.Empty(t, l.Assumed, "%s", m.JointNames()[i])
		require.Positive(t, l.Acceleration)
		require.Positive(t, l.Jerk)
		require.LessOrEqual(t, l.Velocity, 4.5)
	}
	again, err := builtin.Load("so101")
	require.NoError(t, err)
	require.Equal(t, m.ModelHash, again.ModelHash)
	require.NotEqual(t, [32]byte{}, m.ModelHash)
	require.NotEqual(t, m.Hash, m.ModelHash)
}

func TestLoadUnknownName(t *testing.T) {
	_, err := builtin.Load("../so101")
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	require.Contains(t, err.Error(), "so101")
}

// Gravity never asks more of a joint than half of what its servo has, in any
// pose, so that the other half is left to accelerate; and README.md's figures
// for the arm stretched out level are those of the file.
func TestSO101ServosCarryTheArm(t *testing.T) {
	m := so101(t)
	r := rand.New(rand.NewPCG(9, 81))
	for range 2000 {
		q := make([]float64, m.DoF())
		for i, l := range m.Limits {
			q[i] = l.Lower + r.Float64()*(l.Upper-l.Lower)
		}
		for a, j := range m.Active {
			torque, _ := load(m, q, j)
			require.Less(t, math.Abs(torque), m.Limits[a].Effort/2, "%s at %v", m.Joints[j].Name, q)
		}
	}
	torque, inertia := load(m, []float64{0, 1.33, -1.33 + 0.21, 0, 0, 0}, m.JointIndex("shoulder_lift"))
	require.InDelta(t, 0.85, math.Abs(torque), 0.05)
	require.InDelta(t, 0.024, inertia, 0.003)
	mass := 0.0
	for i := m.JointIndex("shoulder_lift"); i < len(m.Joints); i++ {
		if in := m.Links[m.Joints[i].Child].Inertial; in != nil {
			mass += in.Mass
		}
	}
	require.InDelta(t, 0.385, mass, 0.001)
}

// load returns the moment of gravity, N·m, and the inertia, kg·m², of everything
// beyond joint j about its axis.
func load(m *robot.Model, q []float64, j int) (moment, inertia float64) {
	at := frames(m.Description, q)
	jt := m.Joints[j]
	axis, origin := at[jt.Child].Q.Rotate(jt.Axis), at[jt.Child].P
	beyond := map[int]bool{jt.Child: true}
	for _, k := range m.Joints { // parents come first
		if beyond[k.Parent] {
			beyond[k.Child] = true
		}
	}
	for i := range beyond {
		in := m.Links[i].Inertial
		if in == nil {
			continue
		}
		arm := at[i].Apply(in.Origin.P).Sub(origin)
		moment += arm.Cross(mgl64.Vec3{0, 0, -9.81 * in.Mass}).Dot(axis)
		perp := arm.Sub(axis.Mul(arm.Dot(axis)))
		u := at[i].Mul(in.Origin).Q.Conjugate().Rotate(axis)
		I := in.Inertia
		about := I[0]*u[0]*u[0] + I[3]*u[1]*u[1] + I[5]*u[2]*u[2] + 2*(I[1]*u[0]*u[1]+I[2]*u[0]*u[2]+I[4]*u[1]*u[2])
		inertia += about + in.Mass*perp.Dot(perp)
	}
	return moment, inertia
}
