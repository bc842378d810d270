package planning

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/urdf"
)

// panda loads the real description with primitive bodies beside the repository.
func panda(t *testing.T) *robot.Model {
	const dir = "../../../shared/cases/robots/panda_mesh/"
	f := urdf.Files{Description: dir + "urdf/panda_collision.urdf", Semantics: dir + "srdf/panda.srdf"}
	if _, err := os.Stat(f.Description); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("SKIPPED %s: ../shared/cases/robots/panda_mesh isn't there", t.Name())
	}
	m, err := urdf.LoadFile(f)
	require.NoError(t, err)
	return m
}

// TestCase15_SolutionsStayInsideLimits: the finger's frame moved back by 0.4 m,
// with its orientation, from a neutral seed: inside the limits and exact, or no
// solution.
func TestCase15_SolutionsStayInsideLimits(t *testing.T) {
	m := panda(t)
	p := newPlanner(t, m, free{})
	q := make([]float64, m.DoF())
	copy(q, []float64{-0.8605, 1.4892, 1.4771, -0.6708, 0.0004, 3.0051, 0.7796})
	d := p.tree.NewData()
	p.tree.FK(d, q)
	// The report doesn't say how far the finger was open; its own position is used.
	reported := mgl64.Vec3{0.7892, -0.4371, 0.3681}
	tip := m.LinkIndex("panda_leftfinger")
	require.InDelta(t, 0, d.Position(tip).Sub(reported).Len(), 6e-3)
	pose := d.Pose(tip)
	target := Target{Tip: tip, Position: reported.Sub(mgl64.Vec3{0.4, 0, 0})}
	for _, full := range []bool{false, true} {
		if full {
			target.Orientation = &pose.Q
		}
		for seed := range uint64(20) {
			got, err := p.IK(context.Background(), target, make([]float64, m.DoF()), seeded(seed))
			if err != nil {
				require.ErrorIs(t, err, robot.ErrCode(robot.CodeUnreachable))
				require.True(t, full, "the position alone is reachable")
				continue
			}
			requireInside(t, m, got.Q)
			requireReached(t, p, target, got.Q)
		}
	}
}

// TestPandaPoses solves poses of uniformly drawn configurations from drawn
// seeds. All are solved but some whose configuration is outside the soft limits,
// which the set was drawn without.
func TestPandaPoses(t *testing.T) {
	m := panda(t)
	f, err := os.Open("../../../shared/data/panda_ik_poses.txt")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("SKIPPED %s: ../shared/data/panda_ik_poses.txt isn't there", t.Name())
	}
	require.NoError(t, err)
	defer f.Close()
	p := newPlanner(t, m, free{})
	hand := m.LinkIndex("panda_hand")
	require.GreaterOrEqual(t, hand, 0)
	lines := bufio.NewScanner(f)
	solved, n, attempts := 0, 0, 0
	for n < 300 && lines.Scan() {
		if lines.Text() == "" || lines.Text()[0] == '#' {
			continue
		}
		var v [21]float64
		args := make([]any, len(v))
		for i := range v {
			args[i] = &v[i]
		}
		_, err := fmt.Sscan(lines.Text(), args...)
		require.NoError(t, err)
		seed := make([]float64, m.DoF())
		copy(seed, v[7:14])
		q := mgl64.Quat{W: v[20], V: mgl64.Vec3{v[17], v[18], v[19]}}
		q = q.Scale(1 / q.Len())
		target := Target{Tip: hand, Position: mgl64.Vec3{v[14], v[15], v[16]}, Orientation: &q}
		n++
		got, err := p.IK(context.Background(), target, seed, seeded(uint64(n)))
		if err != nil {
			require.ErrorIs(t, err, robot.ErrCode(robot.CodeUnreachable))
			require.Error(t, p.checkLimits("q", append(v[:7:7], 0)), "pose %d", n)
			continue
		}
		solved++
		attempts += got.Attempts
		requireInside(t, m, got.Q)
		requireReached(t, p, target, got.Q)
	}
	require.NoError(t, lines.Err())
	require.Equal(t, 300, n)
	t.Logf("%d of %d solved, %d descents", solved, n, attempts)
	require.GreaterOrEqual(t, solved, 294)
}
