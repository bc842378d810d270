package urdf_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/urdf"
)

// The public bug reports, on descriptions of our own of the same kind, so that they
// are held also where the collection of real ones isn't. Cases 1, 2, 4, 5 and 7 are
// in parse_test.go.

func caseModel(t *testing.T, name string) *robot.Model {
	t.Helper()
	m, err := urdf.LoadFile(urdf.Files{Description: filepath.Join("testdata", "cases", name+".urdf")})
	require.NoError(t, err)
	return m
}

// Six moving joints, one of which can be commanded; a chain of followers ends at it,
// and it may go and run only as far and as fast as the narrowest of them.
func TestCase8_FollowersAreNoJointsOfTheirOwn(t *testing.T) {
	m := caseModel(t, "linkage_gripper")
	require.Len(t, m.Joints, 6)
	require.Equal(t, []string{"drive"}, m.JointNames())
	at := map[string]float64{}
	for _, j := range m.Joints {
		if j.Mimic == nil {
			continue
		}
		require.Equal(t, "drive", m.Joints[j.Mimic.Joint].Name, j.Name)
		require.Equal(t, -1, m.ActiveIndex(j.Name), "%s can't be commanded", j.Name)
		at[j.Name] = j.Mimic.Multiplier*0.4 + j.Mimic.Offset
	}
	require.Equal(t, map[string]float64{
		"left_rod_joint": 0.4, "left_pad_joint": -0.4, "right_crank_joint": 0.4, "right_rod_joint": 0.4, "right_pad_joint": -0.4,
	}, at)
	require.Equal(t, 0.8, m.Limits[0].Upper)
	require.Equal(t, 0.0, m.Limits[0].Lower)
	require.Equal(t, 1.5, m.Limits[0].Velocity)
	// Both pads stay upright, one mirrored.
	poses := frames(m.Description, map[string]float64{"drive": 0.4})
	left, right := poses[m.LinkIndex("left_pad")], poses[m.LinkIndex("right_pad")]
	up := mgl64.Vec3{0, 0, 1}
	require.Less(t, left.Q.Rotate(up).Sub(up).Len(), 1e-12)
	require.Less(t, right.Q.Rotate(up).Sub(up).Len(), 1e-12)
	require.InDelta(t, -left.P[1], right.P[1], 1e-12)
}

// A speed of zero loads, with one warning for each joint that says so, and makes a
// model that holds no speed, none made up and none infinite; a limits file gives it one.
func TestCase9_ZeroSpeedLoadsWithAWarning(t *testing.T) {
	m := caseModel(t, "no_speed")
	var named []string
	for _, w := range m.Warnings {
		if strings.HasPrefix(w.Text, "no velocity") {
			named = append(named, w.Where)
			require.Positive(t, w.Line)
		}
	}
	require.Equal(t, []string{`joint "turn"`, `joint "lift"`, `joint "grip"`, `joint "grip_other"`}, named)
	require.Equal(t, []string{"turn", "lift", "grip"}, m.JointNames())
	for _, l := range m.Limits {
		require.Equal(t, []float64{0, 0, 0}, []float64{l.Velocity, l.Acceleration, l.Jerk})
		require.Contains(t, l.Assumed, "acceleration")
	}

	table, err := urdf.ParseLimits("l.yaml", []byte(of("turn", "max_velocity: 2")+"  lift: {max_velocity: 1}\n  grip: {max_velocity: 0.1}\n"))
	require.NoError(t, err)
	limits, err := robot.NewLimits(m.Description, table)
	require.NoError(t, err)
	for i, v := range []float64{2, 1, 0.1} {
		require.Equal(t, []float64{v, v}, []float64{limits[i].Velocity, limits[i].Acceleration})
		require.InDelta(t, 10*v, limits[i].Jerk, 1e-12)
	}
}

// Sliding joints slide: y = 0.5, x = 0.1 puts the mount at (0.3, 0.6, 0.25), unturned.
func TestCase17_SlidingJointsSlide(t *testing.T) {
	m := caseModel(t, "two_slides")
	for _, j := range m.Joints {
		require.Equal(t, robot.Prismatic, j.Type)
		require.Equal(t, "m", j.Type.Unit())
	}
	mount := frames(m.Description, map[string]float64{"y": 0.5, "x": 0.1})[m.LinkIndex("mount")]
	require.Less(t, mount.P.Sub(mgl64.Vec3{0.3, 0.6, 0.25}).Len(), 1e-15)
	require.Equal(t, mgl64.QuatIdent(), mount.Q)
}

// The same of a published description.
func TestCase17_ThePublishedGantrySlides(t *testing.T) {
	d, err := urdf.ParseFile(urdf.Files{Description: shared(t, "robots", "gantry_3prismatic", "3DOF_planar.urdf")})
	require.NoError(t, err)
	tip := frames(d, map[string]float64{"pz": 0.1, "py": 0.2, "px": 0.3})[d.LinkIndex("link3")]
	require.Less(t, tip.P.Sub(mgl64.Vec3{0.3, 0.2, 0.1}).Len(), 1e-15)
	require.Equal(t, mgl64.QuatIdent(), tip.Q)
}
