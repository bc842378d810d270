package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/cmd/tau/internal/homepose"
)

// crossed overlaps itself at home: its cam always does, its pad at one end of a slide.
const crossed = `<robot name="crossed">
<link name="base"><collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>
<link name="ring"/>
<link name="cam"><collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
<link name="cart"/>
<link name="pad"><collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
<joint name="turn" type="revolute"><parent link="base"/><child link="ring"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" velocity="1" effort="10"/></joint>
<joint name="spin" type="continuous"><parent link="ring"/><child link="cam"/><origin xyz="0.13 0 0"/><axis xyz="0 0 1"/>
  <limit velocity="1" effort="10"/></joint>
<joint name="slide" type="prismatic"><parent link="base"/><child link="cart"/><origin xyz="0 0.14 0"/><axis xyz="0 1 0"/>
  <limit lower="0" upper="1" velocity="1" effort="10"/></joint>
<joint name="tilt" type="revolute"><parent link="cart"/><child link="pad"/><axis xyz="0 1 0"/>
  <limit lower="-0.1" upper="0.1" velocity="1" effort="10"/></joint>
</robot>`

// A robot that overlaps itself where it starts is told so by check and by sim, and
// what check prints, pasted into an SRDF, is the way out.
func TestARobotThatOverlapsItselfAtHomeFindsTheWayOut(t *testing.T) {
	file := fileOf(t, "crossed.urdf", crossed)
	r := tau(t, "", "robot", "check", file)
	require.Equal(t, 0, r.status, r.stderr)
	require.Contains(t, r.stdout, "warning, base, cam: are 20.0 mm inside each other at the home pose and in all of 200 other poses: every motion")
	require.Contains(t, r.stdout, "warning, base, pad: are 10.0 mm inside each other at the home pose, but not in every other pose: from there they may only be moved apart")
	always, some, ok := strings.Cut(r.stdout, "In contact at the home pose, but not in every pose")
	require.True(t, ok, r.stdout)
	require.Contains(t, always, "If the two parts always touch in reality too, and only then")
	require.Contains(t, some, "is right only if they always touch in reality")
	element := regexp.MustCompile(`(?m)^ *(<disable_collisions .*/>)$`)
	require.Equal(t, [][]string{{`  <disable_collisions link1="base" link2="cam" reason="Always"/>`, `<disable_collisions link1="base" link2="cam" reason="Always"/>`}}, element.FindAllStringSubmatch(always, -1))
	lines := element.FindAllString(r.stdout, -1)
	require.Len(t, lines, 2)

	turn := []string{`{"tool":"jog","arguments":{"joint":"turn","delta":0.3}}`}
	as, r := script(t, dataDir(t), turn, "--rehearse", "--robot", file)
	require.Equal(t, 1, r.status)
	require.Equal(t, "SELF_COLLISION", as[0].Code)
	require.Contains(t, r.stderr, "tau: warning, base, cam: are 20.0 mm inside each other at the home pose: every motion")
	require.Contains(t, r.stderr, "tau: warning, base, pad: ")
	require.Contains(t, r.stderr, "tau: the way out is printed by: tau robot check "+file+"\n")

	srdf := fileOf(t, "crossed.srdf", "<robot name=\"crossed\">\n"+strings.Join(lines, "\n")+"\n</robot>")
	as, r = script(t, dataDir(t), turn, "--rehearse", "--robot", file, "--srdf", srdf)
	require.Equal(t, 0, r.status, "%s%s", r.stdout, r.stderr)
	require.InDelta(t, 0.3, as[0].positions(t)["turn"], 0.01)
	require.NotContains(t, r.stderr, "warning")
	r = tau(t, "", "robot", "check", file, "--srdf", srdf)
	require.Equal(t, 0, r.status)
	require.NotContains(t, r.stdout, "inside each other")
	require.NotContains(t, r.stdout, "<disable_collisions")
}

type homeAnswer struct {
	Movable  bool
	Warnings []finding
	Contacts []struct {
		Link1, Link2, SRDF string
		Depth              float64
		Always             bool
		Tried              int
	}
}

func homeJSON(t *testing.T, args ...string) homeAnswer {
	t.Helper()
	r := tau(t, "", append([]string{"robot", "check", "--json"}, args...)...)
	require.Equal(t, 0, r.status, r.stderr)
	var doc homeAnswer
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &doc))
	return doc
}

func TestCheckJSONHasTheContacts(t *testing.T) {
	doc := homeJSON(t, fileOf(t, "crossed.urdf", crossed))
	require.Len(t, doc.Contacts, 2)
	cam, pad := doc.Contacts[0], doc.Contacts[1]
	require.Equal(t, []string{"base", "cam", `<disable_collisions link1="base" link2="cam" reason="Always"/>`}, []string{cam.Link1, cam.Link2, cam.SRDF})
	require.InDelta(t, 0.02, cam.Depth, 1e-4)
	require.True(t, cam.Always)
	require.Equal(t, homepose.Poses, cam.Tried)
	require.InDelta(t, 0.01, pad.Depth, 1e-4)
	require.False(t, pad.Always)
	require.True(t, doc.Movable)
	n := 0
	for _, w := range doc.Warnings {
		if w.Code == "SELF_COLLISION" {
			require.Contains(t, []string{"base, cam", "base, pad"}, w.Where)
			n++
		}
	}
	require.Equal(t, 2, n)
	require.NotContains(t, tau(t, "", "robot", "check", "--json", "so101").stdout, `"contacts"`)
}

// The robots of the collection that overlap themselves, and those that don't.
func TestCheckFindsWhatTouchesInTheCollection(t *testing.T) {
	at := func(parts ...string) string { return cases(t, append([]string{"robots"}, parts...)...) }
	panda := []string{"--package", "example-robot-data/robots/panda_description=" + at("panda_mesh")}
	for _, c := range []struct {
		args  []string
		pairs map[string]bool // whether always
	}{
		{[]string{at("allegro_plus_sign", "allegro_left_hand.urdf")}, map[string]bool{"palm_link, link_13.0": false}},
		{[]string{at("phantomx_pincher", "pincher_arm.urdf")}, map[string]bool{
			"gripper_finger_base_link, gripper_active_link": true, "gripper_active_link, gripper_active2_link": true,
		}},
		{append([]string{at("panda_mesh", "urdf", "panda_collision.urdf")}, panda...), map[string]bool{
			"panda_link1, panda_link3": true, "panda_link5, panda_link7": false, "panda_link5, panda_hand": false,
			"panda_link5, panda_leftfinger": false, "panda_link5, panda_rightfinger": false, "panda_leftfinger, panda_rightfinger": false,
		}},
		{append([]string{at("panda_mesh", "urdf", "panda.urdf")}, panda...), map[string]bool{
			"panda_link5, panda_link7": false, "panda_link5, panda_hand": false, "panda_leftfinger, panda_rightfinger": false,
		}},
		{append([]string{at("panda_mesh", "urdf", "panda.urdf"), "--srdf", at("panda_mesh", "srdf", "panda.srdf")}, panda...), nil},
		{[]string{at("iiwa14_drake", "iiwa14_primitive_collision.urdf")}, nil},
	} {
		doc := homeJSON(t, c.args...)
		got := map[string]bool{}
		for _, x := range doc.Contacts {
			got[x.Link1+", "+x.Link2] = x.Always
		}
		require.Equal(t, len(c.pairs), len(got), "%s: %v", c.args[0], got)
		for pair, always := range c.pairs {
			require.Contains(t, got, pair, c.args[0])
			require.Equal(t, always, got[pair], pair)
		}
		for _, w := range doc.Warnings {
			require.NotContains(t, w.Text, "wasn't tested", "%s is within the bounds", c.args[0])
		}
	}
}

// What loads and can't be simulated is said by check, not only by sim.
func TestCheckSaysWhatCantBeSimulated(t *testing.T) {
	var snake strings.Builder
	snake.WriteString(`<robot name="snake"><link name="l"/>`)
	last := "l"
	for range 65 {
		next := last + "l"
		snake.WriteString(`<link name="` + next + `"/><joint name="j` + next + `" type="continuous"><parent link="` + last + `"/><child link="` + next +
			`"/><limit velocity="1" effort="1"/></joint>`)
		last = next
	}
	snake.WriteString("</robot>")
	for _, c := range []struct{ text, says string }{
		{snake.String(), "can't be simulated: the robot has more joints that move than can be simulated (65, limit 64)"},
		{`<robot name="rock"><link name="a"/></robot>`, "can't be simulated: the robot has no joint that can move"},
	} {
		file := fileOf(t, "r.urdf", c.text)
		doc := homeJSON(t, file)
		require.False(t, doc.Movable)
		require.Contains(t, doc.Warnings[len(doc.Warnings)-1].Text, c.says)
		r := tau(t, "", "robot", "check", file)
		require.Equal(t, 0, r.status)
		require.Contains(t, r.stdout, c.says)
		// sim refuses it, and doesn't send anybody to its flags.
		r = tau(t, "", "robot", "sim", "--robot", file, "--data-dir", dataDir(t), "--script", "-")
		require.Equal(t, 2, r.status)
		require.Contains(t, r.stderr, "See: tau robot check "+file+"\n")
		require.NotContains(t, r.stderr, "--help")
	}
}

// A fault inside a file isn't one of the flags: the help of these says nothing about
// it, the check does. The status stays that of what can't be started as it was named.
func TestAFaultInAFileIsNoFaultOfTheFlags(t *testing.T) {
	broken := fileOf(t, "broken.urdf", `<robot name="r"><link name="a"/><link name="a"/></robot>`)
	odd := filepath.Join(t.TempDir(), "it's a robot.urdf")
	require.NoError(t, os.WriteFile(odd, []byte("<robot"), 0o600))
	for _, args := range [][]string{
		{"sim", "--robot", broken}, {"tools", "--robot", broken}, {"plan", "--robot", broken, "--home"}, {"fk", "--robot", broken},
		{"ik", "--robot", broken, "--tip", "a", "--pose", "0,0,0"}, {"bench", "kinematics", "--robot", broken},
		{"real", "--session", "s", "--driver", "mcu", "--port", "/dev/null", "--config", "arm.toml", "--robot", broken},
	} {
		r := tau(t, "", append([]string{"robot"}, args...)...)
		require.Equal(t, 2, r.status, args)
		require.Contains(t, r.stderr, "broken.urdf:1", args)
		require.Contains(t, r.stderr, "See: tau robot check "+broken+"\n", args)
		require.NotContains(t, r.stderr, "--help", args)
	}
	srdf := fileOf(t, "x.srdf", "<robot")
	r := tau(t, "", "robot", "sim", "--robot", fileOf(t, "ok.urdf", crossed), "--srdf", srdf, "--package", "p=/")
	require.Equal(t, 2, r.status)
	require.Regexp(t, `See: tau robot check .*/ok.urdf --srdf .*/x.srdf --package p=/\n`, r.stderr)
	r = tau(t, "", "robot", "sim", "--robot", odd)
	require.Contains(t, r.stderr, "See: tau robot check '"+strings.ReplaceAll(odd, "'", `'\''`)+"'\n")
	for _, flag := range []string{"--scene", "--faults"} {
		r := tau(t, "", "robot", "sim", flag, fileOf(t, "broken.json", `{"bodies":7}`))
		require.Equal(t, 2, r.status, flag)
		require.NotContains(t, r.stderr, "See", flag)
		r = tau(t, "", "robot", "sim", flag, "/nonexistent.json")
		require.Contains(t, r.stderr, "See 'tau robot sim --help'.", flag)
	}
	for _, args := range [][]string{{"--robot", "/nonexistent.urdf"}, {"--robot", "hal"}, {"--robot", broken, "--package", "p"}} {
		r := tau(t, "", append([]string{"robot", "sim"}, args...)...)
		require.Equal(t, 2, r.status, args)
		require.Contains(t, r.stderr, "See 'tau robot sim --help'.", args)
	}
}
