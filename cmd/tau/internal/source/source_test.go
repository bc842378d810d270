package source

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot/builtin"
)

// file writes a file into a folder of the test's.
func file(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const slider = `<robot name="slider" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="reach" default="1"/>
<link name="base"/><link name="cart"/>
<joint name="slide" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 0 0"/>
<limit lower="0" upper="$(arg reach)" velocity="1" effort="1"/></joint>
</robot>`

func TestWhatIsWrongIsNamed(t *testing.T) {
	dir := t.TempDir()
	bad := file(t, dir, "bad.urdf", "<robot name='x'>\n<link/>\n</robot>")
	arm := file(t, dir, "slider.urdf.xacro", slider)
	for text, r := range map[string]Robot{
		bad + ":2":                      {Name: bad},
		"no such file":                  {Name: "dir/arm"},
		"no built-in robot":             {Name: "hal"},
		"go with one":                   {Name: "so101", SRDF: "x.srdf"},
		`"panda" is no file`:            {Name: "panda", Args: []string{"a=b"}},
		"not a regular file":            {Name: dir},
		`--package "x": want NAME=DIR`:  {Name: arm, Packages: []string{"x"}},
		`--package "x=": want NAME=DIR`: {Name: arm, Packages: []string{"x="}},
		"--package x: stat":             {Name: arm, Packages: []string{"x=" + dir + "/none"}},
		"is not a folder":               {Name: arm, Packages: []string{"x=" + arm}},
		`--package: "x" is there twice`: {Name: arm, Packages: []string{"x=" + dir, "x=/"}},
		`--arg "=1": want NAME=VALUE`:   {Name: arm, Args: []string{"=1"}},
		`--arg: "a" is there twice`:     {Name: arm, Args: []string{"a=1", "a=2"}},
		"need a xacro file":             {Name: bad, Args: []string{"a=1"}},
		dir + "/none.yaml":              {Name: arm, Limits: dir + "/none.yaml"},
	} {
		_, err := r.Load()
		require.ErrorContains(t, err, text)
		_, err = r.Model()
		require.ErrorContains(t, err, text)
	}
}

func TestAXacroFileIsARobotWithItsArguments(t *testing.T) {
	arm := file(t, t.TempDir(), "slider.urdf.xacro", slider)
	for upper, args := range map[float64][]string{1: nil, 2.5: {"reach=2.5"}} {
		m, err := Robot{Name: arm, Args: args}.Model()
		require.NoError(t, err)
		require.Equal(t, upper, m.Limits[0].Upper)
	}
}

func TestActuatorsGoWithAFile(t *testing.T) {
	dir := t.TempDir()
	arm := file(t, dir, "slider.urdf.xacro", slider)
	lamp := "actuators:\n  lamp: {kind: led, unit: \"1\", lower: 0, upper: 1, off: 0, on_stop: off, on_lost_link: unchanged}\n"
	m, err := Robot{Name: arm, Actuators: file(t, dir, "actuators.yaml", lamp)}.Model()
	require.NoError(t, err)
	require.Equal(t, "led", m.Actuator("lamp").Kind)
	bad := file(t, dir, "bad.yaml", "actuators:\n  slide: {kind: led}\n")
	_, err = Robot{Name: arm, Actuators: bad}.Model()
	require.ErrorContains(t, err, bad+":2")
	_, err = Robot{Name: "pantilt", Actuators: bad}.Model()
	require.ErrorContains(t, err, "go with one")
}

func TestBuiltInRobotsLoadByName(t *testing.T) {
	for _, name := range builtin.Names() {
		l, err := Robot{Name: name}.Load()
		require.NoError(t, err)
		require.NotNil(t, l.Model)
		require.Equal(t, l.Description, l.Model.Description)
	}
}

func TestScenesNameWhatIsWrong(t *testing.T) {
	s, err := Scene("")
	require.NoError(t, err)
	require.Empty(t, s)
	bad := file(t, t.TempDir(), "scene.json", "{\n  \"nonsense\": 1\n}")
	_, err = Scene(bad)
	require.ErrorContains(t, err, bad+":2")
	_, err = Scene(filepath.Dir(bad))
	require.ErrorContains(t, err, "not a regular file")
	for _, name := range []string{"empty", "table"} {
		_, err = Scene(filepath.Join("..", "..", "..", "..", "testdata", "scenes", name+".json"))
		require.NoError(t, err)
	}
}

func TestReadFileWaitsForNobodyAndReadsNoMoreThanItMust(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	for _, name := range []string{fifo, dir, "/dev/zero"} {
		_, err := ReadFile(name, 10)
		require.ErrorContains(t, err, "not a regular file", name)
	}
	data, err := ReadFile(file(t, dir, "long", "0123456789abcdef"), 10)
	require.NoError(t, err)
	require.Len(t, data, 11, "one byte too many shows that it is too long")
}
