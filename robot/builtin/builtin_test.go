package builtin_test

import (
	"math"
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
	for _, l := range m.Limits {
		require.LessOrEqual(t, l.Velocity, 4.5)
	}
	require.NotEqual(t, [32]byte{}, m.ModelHash)
	require.NotEqual(t, m.Hash, m.ModelHash)
}

func TestLoadUnknownName(t *testing.T) {
	_, err := builtin.Load("../so101")
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	require.Contains(t, err.Error(), "so101")
}

// README.md's figures for the arm stretched out level are those of the file.
func TestSO101StretchedOut(t *testing.T) {
	m := so101(t)
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

// load returns what gravity asks of joint j, N·m or N, and the inertia, kg·m² or kg,
// of everything beyond it about or along its axis.
func load(m *robot.Model, q []float64, j int) (hold, inertia float64) {
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
		weight := mgl64.Vec3{0, 0, -9.81 * in.Mass}
		if jt.Type == robot.Prismatic {
			hold += weight.Dot(axis)
			inertia += in.Mass
			continue
		}
		arm := at[i].Apply(in.Origin.P).Sub(origin)
		hold += arm.Cross(weight).Dot(axis)
		perp := arm.Sub(axis.Mul(arm.Dot(axis)))
		u := at[i].Mul(in.Origin).Q.Conjugate().Rotate(axis)
		I := in.Inertia
		about := I[0]*u[0]*u[0] + I[3]*u[1]*u[1] + I[5]*u[2]*u[2] + 2*(I[1]*u[0]*u[1]+I[2]*u[0]*u[2]+I[4]*u[1]*u[2])
		inertia += about + in.Mass*perp.Dot(perp)
	}
	return hold, inertia
}
