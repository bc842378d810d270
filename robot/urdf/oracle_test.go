package urdf_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/urdf"
)

// Every file that the independent oracle knows, loaded here, puts its leaf links
// where the oracle has them: origins, axes, joint types and mimic chains are read
// right. The frames are multiplied out here, by nobody's kinematics.
func TestFramesAgainstTheOracle(t *testing.T) {
	data, err := os.ReadFile(shared(t, "robots", "fk_oracle.json"))
	require.NoError(t, err)
	var oracle map[string]struct {
		Root        string
		DoF         int
		Independent []string
		Poses       []struct {
			Name  string
			Q     map[string]float64
			Links map[string]struct {
				XYZ  [3]float64 `json:"xyz"`
				Quat [4]float64 `json:"quat_wxyz"`
			}
		}
	}
	require.NoError(t, json.Unmarshal(data, &oracle))
	checked := 0
	for file, want := range oracle {
		d, err := urdf.ParseFile(urdf.Files{Description: shared(t, "robots", file)})
		if robot.CodeOf(err) == robot.CodeNotSupported {
			t.Logf("%s: %v", file, err)
			continue
		}
		require.NoError(t, err, file)
		require.Equal(t, want.Root, d.Links[d.Root].Name, file)
		require.Equal(t, want.DoF, d.DoF(), file)
		require.ElementsMatch(t, want.Independent, d.JointNames(), file)
		for _, p := range want.Poses {
			at := frames(d, p.Q)
			for link, w := range p.Links {
				got := at[d.LinkIndex(link)]
				require.InDelta(t, 0, got.P.Sub(mgl64.Vec3(w.XYZ)).Len(), 1e-6, "%s %s %s", file, p.Name, link)
				dot := got.Q.W*w.Quat[0] + got.Q.V.Dot(mgl64.Vec3{w.Quat[1], w.Quat[2], w.Quat[3]})
				require.InDelta(t, 1, math.Abs(dot), 1e-6, "%s %s %s", file, p.Name, link)
				checked++
			}
		}
	}
	require.Greater(t, checked, 100)
	t.Logf("%d poses of links in %d files", checked, len(oracle))
}

func frames(d *robot.Description, q map[string]float64) []robot.Pose {
	at := make([]robot.Pose, len(d.Links))
	at[d.Root] = robot.IdentityPose()
	for _, j := range d.Joints {
		v := q[j.Name]
		if j.Mimic != nil {
			v = j.Mimic.Multiplier*q[d.Joints[j.Mimic.Joint].Name] + j.Mimic.Offset
		}
		move := robot.IdentityPose()
		switch j.Type {
		case robot.Prismatic:
			move.P = j.Axis.Mul(v)
		case robot.Revolute, robot.Continuous:
			move.Q = mgl64.QuatRotate(v, j.Axis)
		case robot.Fixed:
		}
		at[j.Child] = at[j.Parent].Mul(j.Origin).Mul(move)
	}
	return at
}
