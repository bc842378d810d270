package urdf_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/urdf"
)

func pandaMoveIt(t *testing.T) *robot.Model {
	t.Helper()
	m, err := urdf.LoadFile(urdf.Files{
		Description: shared(t, "robots", "panda_moveit", "panda_description", "urdf", "panda.urdf"),
		Semantics:   shared(t, "robots", "panda_moveit", "panda_moveit_config", "config", "panda.srdf"),
		Limits:      shared(t, "robots", "panda_moveit", "panda_moveit_config", "config", "joint_limits.yaml"),
		Packages:    map[string]string{"moveit_resources_panda_description": shared(t, "robots", "panda_mesh")},
	})
	require.NoError(t, err)
	return m
}

// Values of MoveIt's panda: hard limits ∩ soft limits, velocities of URDF and
// joint_limits.yaml, the mimic finger, groups and states of its SRDF.
func TestCase10_PandaMoveItLimitsAreTheNarrowest(t *testing.T) {
	m := pandaMoveIt(t)
	require.Equal(t, 8, m.DoF())
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6}, m.Arm)
	require.Equal(t, "panda_link8", m.Links[m.Tip].Name)
	j4 := m.Limits[m.ActiveIndex("panda_joint4")]
	require.Equal(t, -3.0718, j4.Lower) // hard -3.1416
	require.Equal(t, 0.0175, j4.Upper)  // hard 0.0873
	require.Equal(t, 2.1750, j4.Velocity)
	require.Equal(t, 3.125, j4.Acceleration)
	require.Equal(t, 300.0, j4.Jerk)
	require.Equal(t, 87.0, j4.Effort)
	require.Empty(t, j4.Assumed)

	finger := m.Limits[m.ActiveIndex("panda_finger_joint1")]
	require.Equal(t, 0.1, finger.Velocity) // URDF 0.2
	require.Equal(t, []float64{0, 0.04}, []float64{finger.Lower, finger.Upper})
	require.Equal(t, -1, m.ActiveIndex("panda_finger_joint2"))
	mimic := m.Joints[m.JointIndex("panda_finger_joint2")].Mimic
	require.Equal(t, robot.Mimic{Joint: m.JointIndex("panda_finger_joint1"), Multiplier: 1}, *mimic)

	g := m.Gripper
	require.Equal(t, []float64{0, 0.035}, []float64{g.Closed, g.Open})
	require.Equal(t, 7, g.Joint)
	var links []string
	for _, l := range g.Links {
		links = append(links, m.Links[l].Name)
	}
	require.ElementsMatch(t, []string{"panda_hand", "panda_leftfinger", "panda_rightfinger"}, links)

	// No state called home: zero where allowed, for joint 4 the limits allow it.
	require.Equal(t, make([]float64, 8), m.Home)
	require.Len(t, m.Assumed, 2, "%v", m.Assumed) // home, and the masses that this file lacks
	require.Contains(t, m.Assumed[0], "home")
	pair := func(a, b string) bool { return m.IsAllowed(m.LinkIndex(a), m.LinkIndex(b)) }
	require.True(t, pair("panda_link2", "panda_link6")) // disabled: Never
	require.True(t, pair("panda_link0", "panda_link1")) // neighbours
	require.True(t, pair("panda_link7", "panda_hand"))  // fixed to each other across link 8
	require.True(t, pair("panda_leftfinger", "panda_rightfinger"))
	require.False(t, pair("panda_link0", "panda_hand"))
	require.False(t, pair("panda_link5", "panda_link7"))
	require.False(t, pair("panda_link1", "panda_leftfinger"))
}

func TestPandaMeshesAndGroups(t *testing.T) {
	files := urdf.Files{
		Description: shared(t, "robots", "panda_mesh", "urdf", "panda.urdf"),
		Semantics:   shared(t, "robots", "panda_mesh", "srdf", "panda.srdf"),
		Packages:    map[string]string{"example-robot-data/robots/panda_description": shared(t, "robots", "panda_mesh")},
	}
	m, err := urdf.LoadFile(files)
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6}, m.Arm)
	require.Equal(t, "panda_hand_tcp", m.Links[m.Tip].Name) // where the end effector is mounted
	require.Equal(t, "panda_finger_joint1", m.JointNames()[m.Gripper.Joint])
	for _, l := range m.Limits {
		require.Equal(t, []string{"acceleration", "jerk"}, l.Assumed)
		require.Equal(t, l.Velocity, l.Acceleration)
		require.InDelta(t, l.Acceleration*10, l.Jerk, 1e-12)
	}
	// Zero is outside joint 4's range: home is the middle.
	j4 := m.ActiveIndex("panda_joint4")
	require.InDelta(t, (-3.0718-0.0698)/2, m.Home[j4], 1e-12)

	// The hand's mesh is a closed surface (each edge in both directions once) of
	// the published extents.
	mesh := m.Links[m.LinkIndex("panda_hand")].Colliders[0].Geometry.Mesh
	require.Len(t, mesh.Triangles, 200)
	edges := map[[2]int32]int{}
	for _, tri := range mesh.Triangles {
		for k := range 3 {
			edges[[2]int32{tri[k], tri[(k+1)%3]}]++
		}
	}
	for e, n := range edges {
		require.Equal(t, 1, n)
		require.Equal(t, 1, edges[[2]int32{e[1], e[0]}])
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range mesh.Vertices {
		lo, hi = math.Min(lo, v[1]), math.Max(hi, v[1])
	}
	require.InDelta(t, 0.204, hi-lo, 0.01) // the hand is 20 cm wide

	// Without the folder the description loads, and no model comes of it.
	files.Packages = nil
	d, err := urdf.ParseFile(files)
	require.NoError(t, err)
	require.Contains(t, d.Warnings[0].Text, "no folder was given")
	_, err = urdf.LoadFile(files)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	require.Contains(t, err.Error(), "link0.stl")
	require.NotEqual(t, m.Hash, d.Hash) // the meshes are part of it
}

func TestPandaOfPrimitives(t *testing.T) {
	m, err := urdf.LoadFile(urdf.Files{Description: shared(t, "robots", "panda_mesh", "urdf", "panda_collision.urdf")})
	require.NoError(t, err)
	require.Len(t, m.Links[m.LinkIndex("panda_link5")].Colliders, 6)
	require.Nil(t, m.Links[m.LinkIndex("panda_link8")].Inertial) // no mass, no inertia: a frame
	require.InDelta(t, 0.73, m.Links[m.LinkIndex("panda_hand")].Inertial.Mass, 0)
	j7 := m.Joints[m.JointIndex("panda_joint7")]
	require.Equal(t, []float64{12, 2.61, 0.003}, []float64{j7.Effort, j7.Velocity, j7.Damping})
	require.Contains(t, m.Assumed[0], "the chain with the most joints")
}

// The published SO-101 and ours have the same frames, limits and masses.
func TestPublishedSO101(t *testing.T) {
	d, err := urdf.ParseFile(urdf.Files{Description: shared(t, "robots", "so101", "so101_new_calib.urdf")})
	require.NoError(t, err)
	require.Equal(t, []string{"shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper"}, d.JointNames())
	_, err = robot.NewModel(d, nil, nil) // its meshes aren't there
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	require.Contains(t, err.Error(), "base_motor_holder_so101_v1.stl")
}

func TestCase8_RobotiqHasOneDegreeOfFreedom(t *testing.T) {
	d, err := urdf.ParseFile(urdf.Files{Description: shared(t, "robots", "robotiq_2f", "robotiq_arg2f_85_model.urdf")})
	require.NoError(t, err)
	require.Equal(t, []string{"finger_joint"}, d.JointNames())
	at := map[string]float64{}
	for _, j := range d.Joints {
		if j.Mimic != nil {
			require.Equal(t, "finger_joint", d.Joints[j.Mimic.Joint].Name)
			at[j.Name] = j.Mimic.Multiplier*0.4 + j.Mimic.Offset
		}
	}
	require.Equal(t, map[string]float64{
		"left_inner_finger_joint": -0.4, "right_inner_finger_joint": -0.4,
		"left_inner_knuckle_joint": 0.4, "right_inner_knuckle_joint": 0.4, "right_outer_knuckle_joint": 0.4,
	}, at)
}

func TestCase9_ZeroVelocityLoadsAndIsNamed(t *testing.T) {
	d, err := urdf.ParseFile(urdf.Files{Description: shared(t, "robots", "al5d", "al5d_robot.urdf")})
	require.NoError(t, err)
	var named []string
	for _, w := range d.Warnings {
		named = append(named, w.Where)
		require.Contains(t, w.Text, "no velocity limit above zero")
	}
	require.Len(t, named, 4)
	limits, err := robot.NewLimits(d, nil)
	require.NoError(t, err)
	for _, l := range limits {
		require.Zero(t, l.Velocity) // never infinite, never made up
		require.Zero(t, l.Acceleration)
		require.Zero(t, l.Jerk)
	}
}
