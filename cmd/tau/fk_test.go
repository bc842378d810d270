package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type pose struct {
	XYZ  [3]float64 `json:"xyz"`
	Quat [4]float64 `json:"quat_wxyz"`
}

// fkJSON runs fk --json.
func fkJSON(t *testing.T, args ...string) map[string]pose {
	t.Helper()
	r := tau(t, "", append([]string{"robot", "fk", "--json"}, args...)...)
	require.Equal(t, 0, r.status, "%v: %s", args, r.stderr)
	var doc struct{ Links map[string]pose }
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &doc), r.stdout)
	require.NotEmpty(t, doc.Links)
	return doc.Links
}

// flag writes a configuration as --q takes it.
func flag(q map[string]float64) string {
	var parts []string
	for name, v := range q {
		parts = append(parts, name+"="+strconv.FormatFloat(v, 'g', -1, 64))
	}
	return strings.Join(parts, ",")
}

// near requires that a pose is another within a tolerance, m and in the
// quaternions' components; q and -q are one orientation.
func near(t *testing.T, want, got pose, tol float64, what string) {
	t.Helper()
	dot := 0.0
	for k := range 4 {
		dot += want.Quat[k] * got.Quat[k]
	}
	for k := range 3 {
		require.InDelta(t, want.XYZ[k], got.XYZ[k], tol, "%s: xyz", what)
	}
	for k := range 4 {
		require.InDelta(t, want.Quat[k], math.Copysign(1, dot)*got.Quat[k], tol, "%s: quat_wxyz", what)
	}
}

func TestFKAgainstTheOracle(t *testing.T) {
	b, err := os.ReadFile(cases(t, "robots", "fk_oracle.json"))
	require.NoError(t, err)
	var oracle map[string]struct {
		Links int
		Poses []struct {
			Name  string
			Q     map[string]float64
			Links map[string]pose
		}
	}
	require.NoError(t, json.Unmarshal(b, &oracle))
	files, links := 0, 0
	for file, robot := range oracle {
		files++
		for _, p := range robot.Poses {
			args := []string{"--robot", cases(t, "robots", file)}
			if len(p.Q) > 0 {
				args = append(args, "--q", flag(p.Q))
			}
			got := fkJSON(t, args...)
			require.Len(t, got, robot.Links, file)
			for link, want := range p.Links {
				require.Contains(t, got, link, file)
				near(t, want, got[link], 1e-6, fmt.Sprintf("%s %s %s", file, p.Name, link))
				links++
			}
		}
	}
	require.GreaterOrEqual(t, files, 19)
	t.Logf("%d poses of links in %d files", links, files)
}

// An axis of (0,0,-1) turns the other way round, and the rotation of an origin
// comes after its translation.
func TestCase05_07_OriginsAndAxesThroughFK(t *testing.T) {
	file := fileOf(t, "a.urdf", `<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="revolute"><parent link="a"/><child link="b"/>
<origin xyz="1 0 0" rpy="0 0 1.5707963267948966"/><axis xyz="0 0 -1"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>`)
	half := (math.Pi/2 - 0.3) / 2
	got := fkJSON(t, "--robot", file, "--q", "j=0.3")
	near(t, pose{[3]float64{1, 0, 0}, [4]float64{math.Cos(half), 0, 0, math.Sin(half)}}, got["b"], 1e-12, "b")
	near(t, pose{Quat: [4]float64{1, 0, 0, 0}}, got["a"], 0, "the root")
}

func TestFKForPeopleAndOutsideTheLimits(t *testing.T) {
	r := tau(t, "", "robot", "fk", "--q", "shoulder_pan=9")
	require.Equal(t, 0, r.status, r.stderr)
	require.Contains(t, r.stdout, "gripper_frame_link")
	require.Contains(t, r.stderr, "shoulder_pan: 9 is outside its limits")
	// The same numbers by order and by name; joints not named are at 0.
	require.Equal(t, fkJSON(t, "--q", "0.1,0,0,0,0,0"), fkJSON(t, "--q", "shoulder_pan=0.1"))
	require.Equal(t, fkJSON(t), fkJSON(t, "--q", "0,0,0,0,0,0"))
}

func TestFKOfTwoThousandLinks(t *testing.T) {
	got := fkJSON(t, "--robot", cases(t, "urdf_small", "deep_chain_2000.urdf"))
	near(t, pose{[3]float64{0, 0, 2}, [4]float64{1, 0, 0, 0}}, got["l2000"], 1e-9, "l2000")
}

func TestFKFlagsThatMakeNoSense(t *testing.T) {
	fk := func(args ...string) []string { return append([]string{"robot", "fk", "--json"}, args...) }
	usage(t, fk("extra"), "takes 0 arguments")
	for _, bad := range []string{"NaN", "inf", "-Inf", "1e400", "x", "", "1e13", "true"} {
		usage(t, fk("--q", "shoulder_pan="+bad), "--q")
	}
	usage(t, fk("--q", ""), "--q is empty")
	usage(t, fk("--q", "0,0"), "2 numbers")
	usage(t, fk("--q", "knee=1"), "knee")
	usage(t, fk("--q", "shoulder_pan=0,shoulder_pan=1"), "twice")
	usage(t, fk("--robot", "hal9000"), "hal9000")
	usage(t, fk("--robot", "/nonexistent/arm.urdf"), "no such file")
	usage(t, fk("--robot", "/"), "not a regular file")
	usage(t, fk("--robot", fileOf(t, "x.urdf", "garbage")), "x.urdf")
	usage(t, fk("--robot", "panda", "--package", "p=/"), "is no file")
	usage(t, fk("--robot", "panda", "--arg", "x=1"), "is no file")
}
