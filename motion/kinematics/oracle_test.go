package kinematics

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/urdf"
)

// corpus is the collection of real descriptions beside the repository.
const corpus = "../../../shared/cases/robots"

type oracleRobot struct {
	DoF   int `json:"dof"`
	Poses []struct {
		Name  string             `json:"name"`
		Q     map[string]float64 `json:"q"`
		Links map[string]struct {
			XYZ  [3]float64 `json:"xyz"`
			Quat [4]float64 `json:"quat_wxyz"`
		} `json:"links"`
	} `json:"poses"`
}

// TestOracle compares FK with values that were computed independently, on every
// real description that the loader takes.
func TestOracle(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(corpus, "fk_oracle.json"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("SKIPPED %s: ../shared/cases/robots/fk_oracle.json isn't there", t.Name())
	}
	require.NoError(t, err)
	var oracle map[string]oracleRobot
	require.NoError(t, json.Unmarshal(data, &oracle))
	must := []string{"so101/so101_new_calib.urdf", "panda_moveit/panda_description/urdf/panda.urdf", "panda_mesh/urdf/panda.urdf"}
	for _, name := range must {
		require.Contains(t, oracle, name)
	}
	for name, want := range oracle {
		t.Run(name, func(t *testing.T) {
			d, err := urdf.ParseFile(urdf.Files{Description: filepath.Join(corpus, name)})
			if err != nil && !slices.Contains(must, name) {
				t.Skipf("SKIPPED %s: the loader refuses it: %v", name, err)
			}
			require.NoError(t, err)
			compare(t, d, want)
		})
	}
}

func compare(t *testing.T, d *robot.Description, want oracleRobot) {
	tree, err := New(d)
	require.NoError(t, err)
	require.Equal(t, want.DoF, tree.DoF())
	data := tree.NewData()
	for _, pose := range want.Poses {
		q := make([]float64, tree.DoF())
		for joint, v := range pose.Q {
			i := d.ActiveIndex(joint)
			require.GreaterOrEqual(t, i, 0, joint)
			q[i] = v
		}
		tree.FK(data, q)
		for link, at := range pose.Links {
			i := d.LinkIndex(link)
			require.GreaterOrEqual(t, i, 0, link)
			got := data.Pose(i)
			for k := range 3 {
				require.InDelta(t, at.XYZ[k], got.P[k], 1e-6, "%s at %s", link, pose.Name)
			}
			dot := at.Quat[0]*got.Q.W + at.Quat[1]*got.Q.X() + at.Quat[2]*got.Q.Y() + at.Quat[3]*got.Q.Z()
			require.InDelta(t, 1, math.Abs(dot), 1e-8, "%s at %s", link, pose.Name)
		}
	}
}
