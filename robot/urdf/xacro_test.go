package urdf_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/urdf"
)

// expanded says how many links, joints and degrees of freedom the xacro files of
// the collection have once they are expanded.
var expanded = map[string][]int{
	"panda_moveit/panda_description/urdf/panda.urdf.xacro": {12, 11, 8},
	"ur5e_xacro/urdf/ur_mocked.urdf.xacro":                 {13, 12, 6},
}

// expandable is a file of the collection with the packages and arguments it needs.
func expandable(t testing.TB, name string) urdf.Files {
	f := urdf.Files{Description: shared(t, "robots", name), Packages: map[string]string{
		"ur_description":                       shared(t, "robots", "ur5e_xacro"),
		"moveit_resources_panda_description":   shared(t, "robots", "panda_moveit", "panda_description"),
		"moveit_resources_panda_moveit_config": shared(t, "robots", "panda_moveit", "panda_moveit_config"),
	}}
	if strings.HasPrefix(name, "ur5e") {
		f.Args = map[string]string{"name": "ur", "ur_type": "ur5e"}
	}
	return f
}

// sameRobot wants each link and joint of want in got, joints with the same
// parent, child, type, origin, axis, limits and mimic.
func sameRobot(t *testing.T, want, got *robot.Description) {
	for _, l := range want.Links {
		require.GreaterOrEqual(t, got.LinkIndex(l.Name), 0, l.Name)
	}
	near := func(name, what string, w, g float64) { require.InDelta(t, w, g, 1e-9, "%s: %s", name, what) }
	for _, w := range want.Joints {
		i := got.JointIndex(w.Name)
		require.GreaterOrEqual(t, i, 0, w.Name)
		g := got.Joints[i]
		require.Equal(t, w.Type, g.Type, w.Name)
		require.Equal(t, want.Links[w.Parent].Name, got.Links[g.Parent].Name)
		require.Equal(t, want.Links[w.Child].Name, got.Links[g.Child].Name)
		for k := range 3 {
			near(w.Name, "origin", w.Origin.P[k], g.Origin.P[k])
			near(w.Name, "axis", w.Axis[k], g.Axis[k])
		}
		wm, gm := w.Origin.Q.Mat4(), g.Origin.Q.Mat4()
		for k := range wm {
			near(w.Name, "rotation", wm[k], gm[k])
		}
		near(w.Name, "lower", w.Lower, g.Lower)
		near(w.Name, "upper", w.Upper, g.Upper)
		near(w.Name, "velocity", w.Velocity, g.Velocity)
		near(w.Name, "effort", w.Effort, g.Effort)
		require.Equal(t, w.Mimic == nil, g.Mimic == nil, w.Name)
		if w.Mimic != nil {
			require.Equal(t, want.Joints[w.Mimic.Joint].Name, got.Joints[g.Mimic.Joint].Name)
			require.Equal(t, []float64{w.Mimic.Multiplier, w.Mimic.Offset}, []float64{g.Mimic.Multiplier, g.Mimic.Offset})
		}
	}
}

func parsed(t *testing.T, f urdf.Files) *robot.Description {
	t.Helper()
	d, err := urdf.ParseFile(f)
	require.NoError(t, err)
	return d
}

// The UR5e expanded here is the one that its makers' tools expanded, and has a
// frame for the world and one for the force sensor besides.
func TestExpandedUR5e(t *testing.T) {
	got := parsed(t, expandable(t, "ur5e_xacro/urdf/ur_mocked.urdf.xacro"))
	sameRobot(t, parsed(t, urdf.Files{Description: shared(t, "robots", "ur5e_expanded", "ur5e.urdf")}), got)
	require.Equal(t, "world", got.Links[got.Root].Name)
	require.GreaterOrEqual(t, got.LinkIndex("ft_frame"), 0)
	sameRobot(t, got, parsed(t, expandable(t, "ur5e_xacro/urdf/ur.urdf.xacro")))

	f := expandable(t, "ur5e_xacro/urdf/ur.urdf.xacro")
	f.Args["tf_prefix"], f.Args["safety_limits"], f.Args["safety_pos_margin"], f.Args["spare"] = "left_", "true", "0.2", "1"
	d := parsed(t, f)
	j := d.Joints[d.JointIndex("left_elbow_joint")]
	require.InDelta(t, 3.141592653589793-0.2, j.Upper, 1e-12)
	require.Contains(t, d.Warnings, robot.Finding{
		File: f.Description, Line: 1, Where: `argument "spare"`, Code: robot.CodeInvalidArgument, Text: "it is given, but the description has no such argument",
	})
}

func TestExpandedPanda(t *testing.T) {
	plain := parsed(t, urdf.Files{Description: shared(t, "robots", "panda_moveit", "panda_description", "urdf", "panda.urdf")})
	for _, name := range []string{"panda_moveit/panda_description/urdf/panda.urdf.xacro", "panda_moveit/panda_moveit_config/config/panda.urdf.xacro"} {
		d := parsed(t, expandable(t, name))
		sameRobot(t, plain, d)
		require.Len(t, d.Links, len(plain.Links))
		require.Equal(t, "package://moveit_resources_panda_description/meshes/collision/link0.stl", d.Links[d.LinkIndex("panda_link0")].Colliders[0].Geometry.Mesh.File)
	}
}

// An SRDF may be a xacro file too, in a folder of its own.
func TestExpandedSRDF(t *testing.T) {
	f := expandable(t, "panda_moveit/panda_description/urdf/panda.urdf.xacro")
	f.Packages["moveit_resources_panda_description"] = shared(t, "robots", "panda_mesh") // has the meshes
	f.Semantics = shared(t, "robots", "panda_moveit", "panda_moveit_config", "config", "panda_arm_hand.srdf.xacro")
	m, err := urdf.LoadFile(f)
	require.NoError(t, err)
	f.Semantics = shared(t, "robots", "panda_moveit", "panda_moveit_config", "config", "panda.srdf")
	plain, err := urdf.LoadFile(f)
	require.NoError(t, err)
	require.Equal(t, plain.Arm, m.Arm)
	require.Equal(t, plain.Allowed, m.Allowed)
	require.Equal(t, plain.Gripper, m.Gripper)
	require.Equal(t, plain.Home, m.Home)
	require.NotEmpty(t, m.Allowed)
}

// write lays files out in a folder.
func write(t *testing.T, m map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range m {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

const xr = `<robot xmlns:xacro="http://wiki.ros.org/xacro" name="r">`

// What is wrong with an expansion is said of the line that it came from.
func TestFaultsOfExpansionsNameTheirSource(t *testing.T) {
	dir := write(t, map[string]string{
		"p/urdf/r.xacro": xr + `
<xacro:include filename="../inc/m.xacro"/>
<xacro:link n="a" mass="-1"/>
<link name="b"/>
<link name="b"/>
<link name="c"><inertial/></link>
<joint name="j" type="nope"
 zz="1"/>
</robot>`,
		"p/inc/m.xacro": xr + `
<xacro:macro name="link" params="n mass">
  <link name="${n}"><inertial><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
    <mass value="${mass}"/></inertial></link>
</xacro:macro></robot>`,
	})
	top, inc := filepath.Join(dir, "p", "urdf", "r.xacro"), filepath.Join(dir, "p", "inc", "m.xacro")
	_, err := urdf.ParseFile(urdf.Files{Description: top, Packages: map[string]string{"p": filepath.Join(dir, "p")}})
	found := map[string]string{}
	for _, f := range urdf.Findings(err) {
		found[f.Where] += f.Text
	}
	require.Contains(t, found[inc+":4"], "mass -1 kg is negative; in the macro link, called at "+top+":3")
	require.Contains(t, found[top+":6"], "needs both")
	require.Contains(t, found[top+":7"], "nope")

	// Outside of a package, the folder of the file is all there is.
	_, err = urdf.ParseFile(urdf.Files{Description: top})
	require.ErrorContains(t, err, top+`:2: include "../inc/m.xacro" leaves the folder`)

	dir = write(t, map[string]string{"r.xacro": xr + "\n\n<link name='a'/>\n<xacro:if value='1'>\n<link name='a'/></xacro:if></robot>", "w.xacro": xr + "\n<link name='a'\n zz='1'/></robot>", "x.xacro": "\n<urdf/>"})
	_, err = urdf.ParseFile(urdf.Files{Description: filepath.Join(dir, "r.xacro")})
	require.ErrorContains(t, err, `r.xacro:5: link "a" is defined twice; the first is in `+filepath.Join(dir, "r.xacro")+":3")
	d := parsed(t, urdf.Files{Description: filepath.Join(dir, "w.xacro")})
	require.Equal(t, 3, d.Warnings[0].Line)
	_, err = urdf.ParseFile(urdf.Files{Description: filepath.Join(dir, "x.xacro")})
	require.ErrorContains(t, err, "x.xacro:2: the root element is <urdf>")
}

// Errors of an expanded SRDF name a line of its top file.
func TestLinesOfAnExpandedSRDF(t *testing.T) {
	dir := write(t, map[string]string{
		"u/r.urdf":     `<robot name="r"><link name="a"/></robot>`,
		"q/far/x":      "",
		"r.srdf.xacro": xr + "\n<xacro:include filename='m.xacro'/>\n\n<xacro:g n='$(arg g)'/></robot>",
		"m.xacro":      xr + "\n<xacro:macro name='g' params='n'>\n\n\n\n<group name='${n}'><link name='zz'/></group></xacro:macro></robot>",
	})
	f := urdf.Files{Description: filepath.Join(dir, "u", "r.urdf"), Semantics: filepath.Join(dir, "r.srdf.xacro"), Args: map[string]string{"g": "arm"}}
	f.Packages = map[string]string{"q": filepath.Join(dir, "q", "far")} // of no concern to either
	_, err := urdf.LoadFile(f)
	require.ErrorContains(t, err, `r.srdf.xacro:4: group "arm": link "zz" doesn't exist`)
	f.Semantics = ""
	_, err = urdf.LoadFile(f)
	require.ErrorContains(t, err, "only .xacro files take any")
	_, err = urdf.ParseSRDF("x.srdf.xacro", []byte(xr+"<group name='${1/0}'/></robot>"))
	require.ErrorContains(t, err, "x.srdf.xacro:1: ${1/0}: division by zero")
}

// A plain URDF that holds xacro's elements is refused under each of the
// namespaces that are about, not taken for a vendor's.
func TestXacroNamespacesAreKnown(t *testing.T) {
	for _, uri := range []string{"http://www.ros.org/wiki/xacro", "http://wiki.ros.org/xacro", "http://ros.org/wiki/xacro", "https://wiki.ros.org/xacro"} {
		_, err := urdf.Parse("r.urdf", []byte(`<robot name="r" xmlns:xacro="`+uri+`"><link name="a"/><xacro:arm/></robot>`), urdf.Options{})
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeNotSupported), uri)
		require.ErrorContains(t, err, "unexpanded xacro element <xacro:arm>")
	}
}
