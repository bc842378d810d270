package main

import (
	"encoding/json"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// cases returns a path in the case collection beside the repository, and skips
// the test by name where that isn't there.
func cases(t *testing.T, parts ...string) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", "..", "..", "shared", "cases"))
	require.NoError(t, err)
	if _, err := os.Stat(root); err != nil {
		t.Skipf("SKIPPED %s: the case collection ../shared/cases isn't there", t.Name())
	}
	return filepath.Join(append([]string{root}, parts...)...)
}

// rows reads a table, without its heading.
func rows(t *testing.T, file string) [][]string {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	var out [][]string
	for _, line := range strings.Split(strings.TrimRight(string(b), "\n"), "\n")[1:] {
		out = append(out, strings.Split(line, "\t"))
	}
	require.NotEmpty(t, out)
	return out
}

type finding struct {
	Line              int
	Where, Code, Text string
}

type checkAnswer struct {
	OK                 bool
	Robot, Root        string
	Links, Joints, DoF int
	Errors, Warnings   []finding
	Movable            bool
	Moving             []struct {
		Joint, Unit, Mimics string
		Limits              *struct {
			Lower, Upper float64
			Assumed      []string
		}
	}
	Bodies []struct{ Link, Kind string }
}

// checkJSON runs check --json, which ends with 0 or 1 and one document.
func checkJSON(t *testing.T, args ...string) checkAnswer {
	t.Helper()
	r := tau(t, "", append([]string{"robot", "check", "--json"}, args...)...)
	require.Equal(t, 1, strings.Count(r.stdout, "\n"), "one document on a line: %s%s", r.stdout, r.stderr)
	var doc checkAnswer
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &doc), r.stdout)
	for _, key := range []string{`"errors":[`, `"warnings":[`} {
		require.Contains(t, r.stdout, key, "a list, never null")
	}
	if doc.OK {
		require.Equal(t, 0, r.status, r.stderr)
		require.Empty(t, doc.Errors)
		require.NotEmpty(t, doc.Root)
		return doc
	}
	require.Equal(t, 1, r.status, r.stderr)
	require.Contains(t, r.stderr, "is refused")
	require.NotEmpty(t, doc.Errors)
	for _, e := range doc.Errors {
		require.Contains(t, []string{"INVALID_ARGUMENT", "NOT_SUPPORTED"}, e.Code)
		require.NotEmpty(t, e.Text)
	}
	return doc
}

// loads says links, joints and degrees of freedom of the files of urdf_small that
// load; the others are refused.
var loads = map[string][3]int{
	"bom_utf8.urdf": {2, 1, 1}, "missing_axis.urdf": {2, 1, 1}, "zero_velocity_effort.urdf": {2, 1, 1},
	"continuous_with_limits.urdf": {2, 1, 1}, "continuous_no_limit.urdf": {2, 1, 1}, "single_link.urdf": {1, 0, 0},
	"mimic_offset_escapes.urdf": {3, 2, 1}, "mimic_chain.urdf": {4, 3, 1}, "mesh_negative_scale.urdf": {2, 1, 1},
	"gazebo_noise.urdf": {2, 1, 1}, "comment_hides_joint.urdf": {2, 1, 1}, "deep_chain_2000.urdf": {2001, 2000, 2000},
	"two_collisions.urdf": {2, 1, 1}, "foreign_namespace_joint.urdf": {2, 1, 1}, "undeclared_prefix.urdf": {2, 1, 1},
	"origin_inside_geometry.urdf": {2, 1, 1},
}

// says is what a finding of a file has to name, in an error or a warning.
var says = map[string][]string{
	"comma_decimal.urdf": {"xyz", `"0,1"`}, "limits_swapped.urdf": {"j1"}, "floating.urdf": {"floating"}, "planar.urdf": {"planar"},
	"two_parents.urdf": {`"c"`, "j2", "j3"}, "two_roots.urdf": {`"a"`, `"c"`}, "xacro_unexpanded.urdf": {"unexpanded xacro"},
	"xacro_macro_only.urdf": {"unexpanded xacro"}, "entity_bomb.urdf": {"DOCTYPE"}, "version_2.urdf": {"version"},
	"mimic_missing_target.urdf": {"nope"}, "negative_mass.urdf": {"mass"}, "utf16le_bom.urdf": {"UTF-16"},
	"zero_velocity_effort.urdf": {"velocity", "effort"}, "continuous_with_limits.urdf": {"ignored"},
	"continuous_no_limit.urdf": {"velocity"}, "origin_inside_geometry.urdf": {"<origin>"}, "mesh_negative_scale.urdf": {"can't be moved"},
}

func TestCheckOfSmallUglyFiles(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range rows(t, cases(t, "urdf_small", "EXPECT.tsv")) {
		file, expected := row[0], row[1]
		seen[file] = true
		want, ok := loads[file]
		if strings.HasPrefix(expected, "refuse") {
			require.False(t, ok, "%s: %s", file, expected)
		}
		if strings.HasPrefix(expected, "accept") && !strings.Contains(expected, "refuse") {
			require.True(t, ok, "%s: %s", file, expected)
		}
		doc := checkJSON(t, cases(t, "urdf_small", file))
		require.Equal(t, ok, doc.OK, "%s: %s: %v", file, expected, doc.Errors)
		require.Equal(t, want, [3]int{doc.Links, doc.Joints, doc.DoF}, file)
		for _, e := range doc.Errors {
			require.Positive(t, e.Line, file)
			require.Contains(t, e.Where, file+":"+strconv.Itoa(e.Line))
		}
		all := fmt.Sprintf("%+v %+v", doc.Errors, doc.Warnings)
		for _, text := range says[file] {
			require.Contains(t, all, text, file)
		}
	}
	for file := range loads {
		require.True(t, seen[file], "%s is not in the collection any more", file)
	}
	for file := range says {
		require.True(t, seen[file], "%s is not in the collection any more", file)
	}
}

func TestCheckSaysWhatCountsOfMimics(t *testing.T) {
	doc := checkJSON(t, cases(t, "urdf_small", "mimic_offset_escapes.urdf"))
	require.Len(t, doc.Moving, 2)
	for _, j := range doc.Moving {
		if j.Joint == "jl" {
			require.InDelta(t, 0, j.Limits.Lower, 1e-12)
			require.InDelta(t, 0.45, j.Limits.Upper, 1e-12)
			require.Equal(t, []string{"acceleration", "jerk"}, j.Limits.Assumed)
		} else {
			require.Equal(t, "jl", j.Mimics)
			require.Nil(t, j.Limits)
		}
	}
}

func TestCheckOfRealRobots(t *testing.T) {
	for _, row := range rows(t, cases(t, "robots", "EXPECT.tsv")) {
		doc := checkJSON(t, cases(t, "robots", row[0]))
		if row[1] != "load" { // xacro without its arguments and packages: refused with the line
			require.False(t, doc.OK, row[0])
			require.Contains(t, doc.Errors[0].Text, "xacro")
			require.Positive(t, doc.Errors[0].Line)
			continue
		}
		require.True(t, doc.OK, "%s: %v", row[0], doc.Errors)
		require.Equal(t, row[2:6], []string{strconv.Itoa(doc.Links), strconv.Itoa(doc.Joints), strconv.Itoa(doc.DoF), doc.Root}, row[0])
	}
}

// fileOf writes a description into a fresh folder.
func fileOf(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestCheckOfGarbage(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "text": "hello", "binary": "\x7fELF\x00\x01\xff\xfe", "nul": strings.Repeat("\x00", 5000),
		"open": "<robot name='r'><link", "json": `{"robot":{}}`, "other": "<html><body/></html>",
		"deep": strings.Repeat("<a>", 100_000), "huge": "<robot name='r'>" + strings.Repeat(" ", 16<<20) + "</robot>",
	} {
		doc := checkJSON(t, fileOf(t, name+".urdf", text))
		require.False(t, doc.OK, name)
		require.Zero(t, doc.Links, name)
	}
}

// What a file says reaches the terminal with nothing in it that moves the cursor.
func TestCheckShowsNoControlCharacters(t *testing.T) {
	for _, args := range [][]string{{}, {"--json"}} {
		r := tau(t, "", append([]string{"robot", "check", fileOf(t, "x.urdf", "<robot name='r'><link name='a\x7f&#x9b;2J&#x202e;b'/></robot>")}, args...)...)
		require.Equal(t, 1, r.status)
		for _, c := range []string{"\x1b", "\u009b", "\u202e", "\x7f"} {
			require.NotContains(t, r.stdout+r.stderr, c)
		}
	}
}

func builtinFile(t *testing.T, parts ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(append([]string{"..", "..", "robot", "builtin"}, parts...)...))
	require.NoError(t, err)
	return path
}

func TestCheckForPeopleAndItsPicture(t *testing.T) {
	picture := filepath.Join(t.TempDir(), "panda.png")
	args := []string{
		"robot", "check", builtinFile(t, "panda", "panda.urdf"), "--srdf", builtinFile(t, "panda", "panda.srdf"),
		"--limits", builtinFile(t, "panda", "joint_limits.yaml"), "--plot", picture,
	}
	r := tau(t, "", args...)
	require.Equal(t, 0, r.status, r.stderr)
	require.Contains(t, r.stdout, "panda loads: 13 links, 12 joints, 8 degrees of freedom, root panda_link0")
	require.Contains(t, r.stdout, "follows panda_finger_joint1")
	require.NotContains(t, r.stdout, "assumed: acceleration")
	f, err := os.Open(picture)
	require.NoError(t, err)
	img, err := png.Decode(f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.Greater(t, img.Bounds().Dx(), 800)

	r = tau(t, "", "robot", "check", builtinFile(t, "panda", "panda.urdf"))
	require.Equal(t, 0, r.status, r.stderr)
	require.Contains(t, r.stdout, "(assumed: acceleration, jerk)")

	// A refused one is not drawn; a picture that can't be written is no success.
	none := filepath.Join(t.TempDir(), "none.png")
	r = tau(t, "", "robot", "check", fileOf(t, "x.urdf", "<robot/>"), "--plot", none)
	require.Equal(t, 1, r.status)
	require.NoFileExists(t, none)
	r = tau(t, "", "robot", "check", builtinFile(t, "panda", "panda.urdf"), "--plot", "/nonexistent/x.png")
	require.Equal(t, 3, r.status)
	require.Empty(t, r.stdout)
	// What an SRDF or a limits file says wrong is a refusal too.
	doc := checkJSON(t, builtinFile(t, "panda", "panda.urdf"), "--limits", fileOf(t, "l.yaml", "joint_limits:\n  nope:\n    max_velocity: 1\n"))
	require.False(t, doc.OK)
	require.Contains(t, doc.Errors[0].Text+doc.Errors[0].Where, "nope")
}

// A mesh is found through --package, and then the robot can be moved.
func TestCheckFindsPackages(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "t.stl"), []byte("solid t\nfacet normal 0 0 1\nouter loop\n"+
		"vertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid t\n"), 0o600))
	file := fileOf(t, "m.urdf", `<robot name="r"><link name="a"><collision><geometry><mesh filename="package://p/t.stl"/></geometry></collision></link>
<link name="b"/><joint name="j" type="continuous"><parent link="a"/><child link="b"/><limit velocity="1" effort="1"/></joint></robot>`)
	require.False(t, checkJSON(t, file).Movable)
	doc := checkJSON(t, file, "--package", "p="+dir, "--plot", filepath.Join(dir, "t.png"))
	require.True(t, doc.Movable, "%v", doc.Warnings)
	require.Equal(t, "mesh", doc.Bodies[0].Kind)
	require.FileExists(t, filepath.Join(dir, "t.png"))
}

func TestCheckFlagsThatMakeNoSense(t *testing.T) {
	file := fileOf(t, "x.urdf", "<robot/>")
	fifo := filepath.Join(t.TempDir(), "fifo.urdf")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	check := func(args ...string) []string { return append([]string{"robot", "check"}, args...) }
	usage(t, check(), "takes 1 argument")
	usage(t, check(file, file), "takes 1 argument")
	usage(t, check("/nonexistent/x.urdf", "--json"), "no such file")
	usage(t, check("", "--json"), "needs a file's name")
	usage(t, check(t.TempDir()), "not a regular file")
	usage(t, check(fifo), "not a regular file")
	usage(t, check(file, "--srdf", "/nonexistent/x.srdf"), "no such file")
	usage(t, check(file, "--limits", fifo), "not a regular file")
	usage(t, check(file, "--plot", ""), "--plot")
	usage(t, check(file, "--package", "p"), "NAME=DIR")
	usage(t, check(file, "--package", "=/"), "NAME=DIR")
	usage(t, check(file, "--package", "p="), "NAME=DIR")
	usage(t, check(file, "--package", "p=/nonexistent"), "no such file")
	usage(t, check(file, "--package", "p="+file), "not a folder")
	usage(t, check(file, "--package", "p=/", "--package", "p=/"), "twice")
	usage(t, check(file, "--arg", "x"), "NAME=VALUE")
	usage(t, check(file, "--arg", "=1"), "NAME=VALUE")
	usage(t, check(file, "--arg", "x=1", "--arg", "x=2"), "twice")
	usage(t, check(file, "--arg", "x=1"), "xacro arguments need a xacro file")
}

// A xacro file is expanded with its arguments; a missing one is refused by line.
func TestCheckExpandsXacro(t *testing.T) {
	own := fileOf(t, "own.urdf.xacro", `<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="$(arg name)">
  <xacro:macro name="segment" params="n"><link name="l${n}"/></xacro:macro>
  <xacro:segment n="1"/>
  <xacro:segment n="2"/>
  <joint name="j" type="prismatic"><parent link="l1"/><child link="l2"/>
    <limit lower="0" upper="${2*0.25}" velocity="1" effort="1"/></joint>
</robot>`)
	doc := checkJSON(t, own, "--arg", "name=two")
	require.True(t, doc.OK, "%v", doc.Errors)
	require.Equal(t, "two", doc.Robot)
	require.Equal(t, []int{2, 1, 1}, []int{doc.Links, doc.Joints, doc.DoF})
	doc = checkJSON(t, own)
	require.False(t, doc.OK)
	require.Equal(t, 1, doc.Errors[0].Line)
	require.Contains(t, doc.Errors[0].Text, `"name"`)

	doc = checkJSON(t, cases(t, "robots", "ur5e_xacro", "urdf", "ur.urdf.xacro"),
		"--package", "ur_description="+cases(t, "robots", "ur5e_xacro"), "--arg", "ur_type=ur5e", "--arg", "name=ur")
	require.True(t, doc.OK, "%v", doc.Errors)
	require.Equal(t, 6, doc.DoF)
}

// What a robot has beside its joints is shown too.
func TestCheckShowsTheEquipment(t *testing.T) {
	for name, texts := range map[string][]string{
		"pantilt": {"actuator ", ": led, "}, "rover": {"base: wheels left_wheel and right_wheel of radius"}, "gantry": {"reference x: a switch at ", "towards the upper end"},
	} {
		r := tau(t, "", "robot", "check", name)
		require.Equal(t, 0, r.status, r.stderr)
		for _, text := range texts {
			require.Contains(t, r.stdout, text)
		}
	}
	r := tau(t, "", "robot", "check", "rover", "--json")
	require.Contains(t, r.stdout, `"base":{"x":"x","y":"y","yaw":"yaw","left":"left_wheel","right":"right_wheel"`)
	require.NotContains(t, r.stdout, `"actuators"`)
}
