package urdf_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/urdf"
)

const lampYAML = `actuators:
  lamp:
    kind: led
    unit: "1"
    lower: 0
    upper: 1.0
    off: 0
    on_stop: off
    on_lost_link: unchanged
`

const baseYAML = "base: {x: x, y: y, yaw: yaw, left: wl, right: wr, radius: 0.033, track: 16e-2}\n"

const refYAML = `references:
  jf:
    switch: 0.04
    end: upper
    speed: 0.02
    travel: 0.05
`

func TestParseEquipment(t *testing.T) {
	e, err := urdf.ParseEquipment("a.yaml", []byte(lampYAML+baseYAML+refYAML))
	require.NoError(t, err)
	require.Equal(t, &robot.Equipment{
		File: "a.yaml",
		Actuators: []robot.ActuatorEntry{{Line: 2, Actuator: robot.Actuator{
			Name: "lamp", Kind: "led", Unit: "1", Upper: 1, OnStop: "off", OnLost: "unchanged",
		}}},
		Base:       &robot.BaseEntry{Line: 10, X: "x", Y: "y", Yaw: "yaw", Left: "wl", Right: "wr", Radius: 0.033, Track: 0.16},
		References: []robot.ReferenceEntry{{Line: 12, Joint: "jf", Switch: 0.04, Upper: true, Speed: 0.02, Travel: 0.05}},
	}, e)

	// The order of the file is the order of the actuators.
	e, err = urdf.ParseEquipment("a.yaml", []byte(strings.Replace(lampYAML, "actuators:\n", "actuators:\n  zed: {kind: relay, unit: '1', lower: 0, upper: 1, off: 1, on_stop: unchanged, on_lost_link: unchanged}\n", 1)))
	require.NoError(t, err)
	require.Equal(t, []string{"zed", "lamp"}, []string{e.Actuators[0].Name, e.Actuators[1].Name})

	e, err = urdf.ParseEquipment("a.yaml", []byte("references: {jf: {switch: 0, end: lower, speed: 1, travel: 1}}"))
	require.NoError(t, err)
	require.False(t, e.References[0].Upper)

	e, err = urdf.ParseEquipment("a.yaml", []byte("actuators: {}\n"))
	require.NoError(t, err)
	require.Empty(t, e.Actuators)
}

func TestEquipmentRefused(t *testing.T) {
	swap := func(text, old, repl string) string {
		require.Contains(t, text, old)
		return strings.Replace(text, old, repl, 1)
	}
	lamp := func(old, repl string) string { return swap(lampYAML, old, repl) }
	base := func(old, repl string) string { return swap(baseYAML, old, repl) }
	ref := func(old, repl string) string { return swap(refYAML, old, repl) }
	for _, c := range []struct {
		yaml string
		line int
		want string
	}{
		{"", 1, "empty"},
		{"# nothing\n", 1, "empty"},
		{"{}", 1, "none of the keys actuators, base and references is there"},
		{"[]", 1, "a mapping is due"},
		{"actuators: 5\n", 1, "a mapping is due"},
		{"actuators:\n", 1, "a mapping is due"},
		{"actuators:\n  lamp: 5\n", 2, `actuator "lamp": a mapping is due`},
		{"base: [x, y]\n", 1, "base: a mapping is due"},
		{"references:\n  jf: on\n", 2, `reference of joint "jf": a mapping is due`},
		{lampYAML + "joints: {}\n", 10, `unknown key "joints"`},
		{lampYAML + lampYAML, 10, `key "actuators" is given twice; the first is in line 1`},
		{lampYAML + "---\n" + lampYAML, 10, "a second document"},
		{"actuators: {", 1, "not well-formed YAML"},
		{"actuators:\n\tlamp: 1\n", 2, "not well-formed YAML"},
		{lampYAML + "  lamp: {}\n", 10, `key "lamp" is given twice; the first is in line 2`},
		{lamp("lamp:", "\"\":"), 2, "not a name"},
		{lamp("lamp:", "\"\\e[2J\":"), 2, "not a name"},
		{lamp("lamp:", strings.Repeat("l", urdf.MaxName+1)+":"), 2, "not a name"},
		{lamp("    off: 0\n", "    off: 0\n    off: 1\n"), 8, `key "off" is given twice; the first is in line 7`},
		{lamp("kind: led", "knd: led"), 3, `unknown key "knd"`},
		{lamp("kind: led", "knd: led"), 2, `actuator "lamp": missing: kind`},
		{lamp("    off: 0\n    on_stop: off\n", ""), 2, `actuator "lamp": missing: off, on_stop`},
		{lamp("kind: led", "kind: 5"), 3, "text is due"},
		{lamp("kind: led", "kind: [led]"), 3, "text is due"},
		{lamp("kind: led", "kind: \"\""), 3, "kind is empty"},
		{lamp("kind: led", "kind: \"l\\u202e\""), 3, "characters that can't be shown"},
		{lamp("unit: \"1\"", "unit: 1"), 4, "needs quotes"},
		{lamp("unit: \"1\"", "unit: &u \"1\""), 4, "anchors"},
		{lamp("unit: \"1\"", "<<: {unit: \"1\"}"), 4, "merges"},
		{"actuators:\n  a: &a {}\n  b: *a\n", 2, "anchors"},
		{"actuators:\n  ? [a]\n  : 1\n", 2, "keys that are not words"},
		{lamp("on_stop: off", "on_stop: hold"), 8, `on_stop is "hold"; off or unchanged is due`},
		{lamp("on_stop: off", "on_stop: !later off"), 8, "off or unchanged is due"},
		{lamp("on_stop: off", "on_stop: false"), 8, `on_stop is "false"`},
		{lamp("on_stop: off", "on_stop: {off: off}"), 8, "off or unchanged is due"},
		{lamp("on_lost_link: unchanged", "on_lost_link: OFF"), 9, `on_lost_link is "OFF"`},
		{base("x: x", "x: 1"), 1, "base: x: text is due"},
		{base("x: x, ", ""), 1, "base: missing: x"},
		{base("wl", "\"w\\u0007\""), 1, "base: left: "},
		{base("radius", "radious"), 1, `base: unknown key "radious"`},
		{base("0.033", "nan"), 1, "base: radius: a number is due"},
		{ref("upper", "top"), 4, `reference of joint "jf": end is "top"; lower or upper is due`},
		{ref("upper", "1"), 4, "lower or upper is due"},
		{ref("    end: upper\n", ""), 2, "missing: end"},
		{ref("jf:", "\"\":"), 2, "references: not a name"},
		{ref("travel", "distance"), 6, `unknown key "distance"`},
	} {
		_, err := urdf.ParseEquipment("a.yaml", []byte(c.yaml))
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), "%q", c.yaml)
		require.Contains(t, err.Error(), c.want, "%q", c.yaml)
		require.Contains(t, err.Error(), fmt.Sprintf("a.yaml:%d: ", c.line), "%q", c.yaml)
		for _, f := range urdf.Findings(err) {
			require.Equal(t, "a.yaml", f.File)
			require.Positive(t, f.Line)
		}
	}
	padded := func(n int) []byte { return append([]byte(lampYAML), "#"+strings.Repeat(" ", n-len(lampYAML)-1)...) }
	_, err := urdf.ParseEquipment("a.yaml", padded(urdf.MaxEquipmentBytes))
	require.NoError(t, err)
	_, err = urdf.ParseEquipment("a.yaml", padded(urdf.MaxEquipmentBytes+1))
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	require.ErrorContains(t, err, "a.yaml:1: the file has ")
}

// Every number of the file is a finite decimal of its own.
func TestEquipmentNumbers(t *testing.T) {
	for _, c := range []struct{ text, key string }{
		{lampYAML, "lower: 0"}, {lampYAML, "upper: 1.0"}, {lampYAML, "off: 0"},
		{baseYAML, "radius: 0.033"}, {baseYAML, "track: 16e-2"},
		{refYAML, "switch: 0.04"}, {refYAML, "speed: 0.02"}, {refYAML, "travel: 0.05"},
	} {
		name, _, _ := strings.Cut(c.key, ":")
		for _, bad := range []string{
			".nan", ".NaN", "nan", ".inf", "-.inf", "1e999", "1e13", "-1e13", "0x10", "0o7", "0b1", "1_0", "true", "\"2\"", "~", "[2]",
			"!!float x", "!!str 2", "!degrees 2", "!foo 2", "'1,5'", "07e", "1:30", "",
		} {
			require.Contains(t, c.text, c.key)
			_, err := urdf.ParseEquipment("a.yaml", []byte(strings.Replace(c.text, c.key, name+": "+bad, 1)))
			require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), "%s: %s", name, bad)
			require.Contains(t, err.Error(), name+": ", "%s: %s", name, bad)
		}
		for _, good := range []string{"+0.5", "5e-1", ".5", "0.50"} {
			_, err := urdf.ParseEquipment("a.yaml", []byte(strings.Replace(c.text, c.key, name+": "+good, 1)))
			require.NoError(t, err, "%s: %s", name, good)
		}
	}
}

func TestLoadWithEquipment(t *testing.T) {
	src := func(name, text string) urdf.Source { return urdf.Source{Name: name, Data: []byte(text)} }
	load := func(yaml string) (*robot.Model, error) {
		return urdf.Load(src("t.urdf", threeJoints), src("t.srdf", threeSRDF), src("l.yaml", threeYAML), src("a.yaml", yaml), urdf.Options{})
	}
	m, err := load(lampYAML + refYAML)
	require.NoError(t, err)
	require.Equal(t, 1.0, m.Actuator("lamp").Upper)
	require.Equal(t, robot.Reference{Joint: 2, Switch: 0.04, Direction: 1, Speed: 0.02, Travel: 0.05}, *m.Reference(2))
	for _, c := range []struct {
		yaml string
		line int
		want string
	}{
		{lampYAML[:19], 2, "a mapping is due"},
		{strings.Replace(lampYAML, "lamp", "j1", 1), 2, "has the name of a joint"},
		{baseYAML, 1, `x: "x" isn't a joint`},
		{strings.Replace(refYAML, "0.02", "0.11", 1), 2, "(value 0.11 m/s, limit 0.1 m/s)"},
	} {
		_, err := load(c.yaml)
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), c.want)
		require.Contains(t, err.Error(), c.want)
		require.Contains(t, err.Error(), fmt.Sprintf("a.yaml:%d: ", c.line))
	}

	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	f := urdf.Files{Description: write("t.urdf", threeJoints), Equipment: write("actuators.yaml", lampYAML)}
	fromDisk, err := urdf.LoadFile(f)
	require.NoError(t, err)
	require.NotNil(t, fromDisk.Actuator("lamp"))
	f.Equipment = ""
	without, err := urdf.LoadFile(f)
	require.NoError(t, err)
	require.NotEqual(t, without.ModelHash, fromDisk.ModelHash)
	f.Equipment = filepath.Join(dir, "absent.yaml")
	_, err = urdf.LoadFile(f)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	require.ErrorIs(t, err, os.ErrNotExist)
}
