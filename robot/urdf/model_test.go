package urdf_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/urdf"
)

// threeJoints is an arm of two joints with a gripper: base → upper → hand (fixed
// tool) with finger.
const threeJoints = `<robot name="t">
<link name="base"><collision><geometry><sphere radius="0.1"/></geometry></collision></link>
<link name="upper"/>
<link name="hand"><collision><geometry><sphere radius="0.1"/></geometry></collision></link>
<link name="tool"/>
<link name="finger"><collision><geometry><sphere radius="0.1"/></geometry></collision></link>
<joint name="j1" type="revolute"><parent link="base"/><child link="upper"/><limit lower="-1" upper="2" effort="5" velocity="3"/></joint>
<joint name="j2" type="revolute"><parent link="upper"/><child link="hand"/><limit lower="0.5" upper="1.5" effort="5" velocity="3"/></joint>
<joint name="jt" type="fixed"><parent link="hand"/><child link="tool"/></joint>
<joint name="jf" type="prismatic"><parent link="hand"/><child link="finger"/><limit lower="0" upper="0.04" effort="7" velocity="0.1"/></joint>
</robot>`

const threeSRDF = `<robot name="t">
<group name="arm"><chain base_link="base" tip_link="tool"/></group>
<group name="fingers"><joint name="jf"/></group>
<group name="all"><group name="arm"/><group name="fingers"/></group>
<group_state name="home" group="all"><joint name="j1" value="0.5"/><joint name="j2" value="1"/><joint name="jf" value="0.01"/></group_state>
<group_state name="open" group="fingers"><joint name="jf" value="0.035"/></group_state>
<group_state name="close" group="fingers"><joint name="jf" value="0.001"/></group_state>
<end_effector name="ee" group="fingers" parent_link="hand" parent_group="arm"/>
<disable_collisions link1="finger" link2="base" reason="Never"/>
</robot>`

const threeYAML = `joint_limits:
  j1:
    has_velocity_limits: true
    max_velocity: 2
    has_acceleration_limits: true
    max_acceleration: 4
    has_jerk_limits: true
    max_jerk: 50
    has_position_limits: true
    min_position: -0.5
    max_position: 1.5
  j2:
    has_acceleration_limits: true
    max_acceleration: 3
`

func load(srdf, yaml string) (*robot.Model, error) {
	src := func(name, text string) urdf.Source {
		if text == "" {
			return urdf.Source{}
		}
		return urdf.Source{Name: name, Data: []byte(text)}
	}
	return urdf.Load(src("t.urdf", threeJoints), src("t.srdf", srdf), src("l.yaml", yaml), urdf.Source{}, urdf.Options{})
}

func TestModelFromAllThreeFiles(t *testing.T) {
	m, err := load(threeSRDF, threeYAML)
	require.NoError(t, err)
	require.Equal(t, []int{0, 1}, m.Arm)
	require.Equal(t, "tool", m.Links[m.Tip].Name)
	require.Equal(t, []float64{0.5, 1, 0.01}, m.Home)
	require.Equal(t, robot.Gripper{Joint: 2, Closed: 0.001, Open: 0.035, MaxEffort: 7,
		Links: []int{m.LinkIndex("hand"), m.LinkIndex("finger")}}, *m.Gripper)
	require.Equal(t, robot.JointLimits{Bounded: true, Lower: -0.5, Upper: 1.5, Velocity: 2, Acceleration: 4, Jerk: 50, Effort: 5}, m.Limits[0])
	require.Equal(t, robot.JointLimits{Bounded: true, Lower: 0.5, Upper: 1.5, Velocity: 3, Acceleration: 3, Jerk: 30, Effort: 5,
		Assumed: []string{"jerk"}}, m.Limits[1])
	require.Equal(t, robot.JointLimits{Bounded: true, Lower: 0, Upper: 0.04, Velocity: 0.1, Acceleration: 0.1, Jerk: 1, Effort: 7,
		Assumed: []string{"acceleration", "jerk"}}, m.Limits[2])
	require.True(t, m.IsAllowed(m.LinkIndex("finger"), m.LinkIndex("base")))
	require.False(t, m.IsAllowed(m.LinkIndex("hand"), m.LinkIndex("base"))) // two joints apart
	for i, p := range m.Allowed {
		require.Less(t, p[0], p[1])
		if i > 0 {
			require.True(t, m.Allowed[i-1][0] < p[0] || m.Allowed[i-1][0] == p[0] && m.Allowed[i-1][1] < p[1])
		}
	}
}

func TestModelFromURDFAlone(t *testing.T) {
	m, err := load("", "")
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 2}, m.Arm) // base to finger is the longest chain
	require.Equal(t, "finger", m.Links[m.Tip].Name)
	require.Nil(t, m.Gripper)
	require.Equal(t, []float64{0, 1, 0}, m.Home) // 0 isn't between 0.5 and 1.5
	all := strings.Join(m.Assumed, "; ")
	require.Contains(t, all, `down to link "finger"`)
	require.Contains(t, all, "home: zero")
	require.Contains(t, all, "mass: none is known for hand, finger")
}

// Whatever a planner and a simulator have to agree on is in the model's hash.
func TestModelHash(t *testing.T) {
	seen := map[[32]byte]string{}
	hash := func(what, srdf, yaml string) {
		m, err := load(srdf, yaml)
		require.NoError(t, err, what)
		again, err := load(srdf, yaml)
		require.NoError(t, err)
		require.Equal(t, m.ModelHash, again.ModelHash, what)
		require.Empty(t, seen[m.ModelHash], what)
		seen[m.ModelHash] = what
	}
	hash("base", threeSRDF, threeYAML)
	hash("no limits", threeSRDF, "")
	hash("no semantics", "", threeYAML)
	hash("jerk", threeSRDF, strings.Replace(threeYAML, "max_jerk: 50", "max_jerk: 51", 1))
	hash("velocity", threeSRDF, strings.Replace(threeYAML, "max_velocity: 2", "max_velocity: 2.5", 1))
	hash("position", threeSRDF, strings.Replace(threeYAML, "max_position: 1.5", "max_position: 1.4", 1))
	hash("home", strings.Replace(threeSRDF, `value="0.5"`, `value="0.6"`, 1), threeYAML)
	hash("tip", strings.Replace(threeSRDF, `tip_link="tool"`, `tip_link="hand"`, 1), threeYAML)
	hash("open", strings.Replace(threeSRDF, `"0.035"`, `"0.03"`, 1), threeYAML)
	hash("allowed", strings.Replace(threeSRDF, `link1="finger"`, `link1="hand"`, 1), threeYAML)
	hash("gripper", strings.Replace(threeSRDF, `<end_effector name="ee" group="fingers"`, `<end_effector name="ee" group="all"`, 1), threeYAML)
}

func TestSemanticsRefused(t *testing.T) {
	swap := func(old, repl string) string {
		require.Contains(t, threeSRDF, old)
		return strings.Replace(threeSRDF, old, repl, 1)
	}
	for _, c := range []struct {
		srdf string
		line int
		want string
	}{
		{"", 1, "there is no <robot>"},
		{"<srdf/>", 1, "not <robot>"},
		{swap(`<joint name="jf"/>`, `<joint name="jx"/>`), 3, `joint "jx" doesn't exist`},
		{swap(`<joint name="jf"/>`, `<link name="lx"/>`), 3, `link "lx" doesn't exist`},
		{swap(`tip_link="tool"`, `tip_link="x"`), 2, "no such link"},
		{swap(`base_link="base" tip_link="tool"`, `base_link="tool" tip_link="base"`), 2, "span no chain"},
		{swap(`<group name="fingers"/></group>`, `<group name="toes"/></group>`), 4, `the group "toes" doesn't exist`},
		{swap(`<group name="fingers">`, `<group name="arm">`), 3, `group "arm" is defined twice; the first is in line 2`},
		{swap(`<joint name="j1" value="0.5"/>`, `<joint name="j1" value="2.5"/>`), 5, `joint "j1" is outside its limits (value 2.5 rad, limit 1.5 rad)`},
		{swap(`<joint name="j1" value="0.5"/>`, `<joint name="jx" value="0.5"/>`), 5, `joint "jx" doesn't exist`},
		{swap(`<joint name="j1" value="0.5"/>`, `<joint name="j1" value="nan"/>`), 5, "not finite"},
		{swap(`<joint name="j1" value="0.5"/>`, `<joint name="j1"/>`), 5, "lacks the attribute value"},
		{swap(`<joint name="j1" value="0.5"/>`, `<joint name="j2" value="0.5"/>`), 5, "given twice"},
		{swap(`group="all"`, `group="nothing"`), 5, `the group "nothing" doesn't exist`},
		{swap(`group="fingers" parent_link`, `group="x" parent_link`), 8, `the group "x" doesn't exist`},
		{swap(`parent_group="arm"`, `parent_group="x"`), 8, `the group "x" doesn't exist`},
		{swap(`parent_link="hand"`, `parent_link="x"`), 8, `link "x" doesn't exist`},
		{swap(`parent_group="arm"`, `parent_group="all"`), 4, "an arm is one chain"},
		{swap(`<disable_collisions link1="finger"`, `<disable_collisions`), 9, "lacks the attribute link1"},
		{swap(`<chain base_link="base" tip_link="tool"/>`, `<joint name="jt"/>`), 2, "no active joint"},
		{swap(`<chain base_link="base" tip_link="tool"/>`, `<chain base_link="base" tip_link="tool"/><joint name="jf"/>`), 2, "an arm is one chain"},
	} {
		_, err := load(c.srdf, threeYAML)
		if c.srdf == "" {
			_, err = urdf.ParseSRDF("t.srdf", nil)
		}
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), c.want)
		require.Contains(t, err.Error(), c.want)
		require.Contains(t, err.Error(), fmt.Sprintf("t.srdf:%d: ", c.line))
	}
	// A pair that names no links can't hurt: nothing more is allowed than without it.
	m, err := load(swap(`link1="finger"`, `link1="ghost"`), "")
	require.NoError(t, err)
	require.Contains(t, m.Warnings[len(m.Warnings)-1].Text, `"ghost"`)
	require.Equal(t, 9, m.Warnings[len(m.Warnings)-1].Line)
	// How the root stands in the world is no joint of the robot's.
	m, err = load(swap(`</group>`, `<joint name="world"/></group>`+"\n"+`<virtual_joint name="world" type="floating" parent_frame="w" child_link="base"/>
<group_state name="far" group="arm"><joint name="world" value="0 0 1 0 0 0 1"/><joint name="j1" value="0.1"/></group_state>`), "")
	require.NoError(t, err)
	require.Equal(t, []int{0, 1}, m.Arm)
	require.Len(t, m.Warnings, 2)
	require.Equal(t, []int{2, 4}, []int{m.Warnings[0].Line, m.Warnings[1].Line})
	require.Contains(t, m.Warnings[1].Text, `joint "world" is virtual`)
	m, err = load(swap(`robot name="t"`, `robot name="u"`), "")
	require.NoError(t, err)
	require.Contains(t, m.Warnings[len(m.Warnings)-1].Text, `called "u"`)
}

func TestCase46_LimitsThatAreNotFiniteAndPositiveFailAtStartUp(t *testing.T) {
	for _, bad := range []string{".nan", ".NaN", "nan", ".inf", "-.inf", "-5", "0", "-0.0", "1e999", "0x10", "1_0", "true", "\"2\"", "~", "[2]", "!!float x", "2,5", "07e"} {
		for _, key := range []string{"max_velocity", "max_acceleration", "max_jerk", "max_effort"} {
			_, err := load(threeSRDF, "joint_limits:\n  j1:\n    "+key+": "+bad+"\n")
			require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), "%s: %s", key, bad)
			require.Contains(t, err.Error(), "l.yaml:3: ", "%s: %s", key, bad)
			require.Contains(t, err.Error(), key)
		}
	}
	for _, bad := range []string{".nan", ".inf", "-.inf", "0x1", "true"} {
		for _, key := range []string{"min_position", "max_position"} {
			_, err := load(threeSRDF, "joint_limits:\n  j1:\n    "+key+": "+bad+"\n")
			require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), "%s: %s", key, bad)
		}
	}
}

// How the arm, its tip and the gripper are chosen where no end effector says.
func TestArmAndGripperWithoutEndEffector(t *testing.T) {
	const chain = `<chain base_link="base" tip_link="tool"/></group>`
	const fingers = `<joint name="jf"/></group>`
	for _, c := range []struct {
		groups  string
		arm     []int
		tip     string
		gripper bool
		assumed string
	}{
		{`<group name="manipulator">` + chain + `<group name="hand">` + fingers, []int{0, 1}, "tool", true, "gripper closed: lower limit of jf"},
		{`<group name="body">` + chain + `<group name="gripper">` + fingers, []int{0, 1}, "tool", true, `arm: group "body"`},
		{`<group name="arm"><joint name="j1"/><joint name="j2"/></group>`, []int{0, 1}, "hand", false, `tip: link "hand", below the last joint`},
		{`<group name="arm"><link name="tool"/><link name="hand"/><link name="upper"/></group>`, []int{0, 1}, "hand", false, "tip"},
		{`<group name="arm"><joint name="j1"/></group><end_effector name="e" group="arm" parent_link="tool"/>`, []int{0}, "upper", false, "tip"},
		{`<group name="arm"><joint name="j2"/></group><end_effector name="e" group="arm" parent_link="tool"/>`, []int{1}, "tool", false, "home"},
		{`<group name="one">` + chain + `<group name="two">` + chain, []int{0, 1, 2}, "finger", false, "the chain with the most joints"},
		{`<group name="gripper"><joint name="j1"/><joint name="jf"/></group>`, []int{0, 2}, "finger", false, `arm: group "gripper"`},
	} {
		m, err := load(`<robot name="t">`+c.groups+`</robot>`, "")
		require.NoError(t, err, c.groups)
		require.Equal(t, c.arm, m.Arm, c.groups)
		require.Equal(t, c.tip, m.Links[m.Tip].Name, c.groups)
		require.Equal(t, c.gripper, m.Gripper != nil, c.groups)
		require.Contains(t, strings.Join(m.Assumed, "; "), c.assumed, c.groups)
	}
}

// Without an SRDF fingers aren't taken for a part of the arm: what else follows the
// last joint hangs on the same link. A joint that drives something elsewhere, or is
// all there is, stays the arm's.
func TestFingersAreNoPartOfTheArm(t *testing.T) {
	hand := func(on, base string) *robot.Model {
		m, err := robot.NewModel(parse(t, `<robot name="t"><link name="a"/><link name="b"/><link name="hand"/><link name="left"/><link name="right"/>
<joint name="hold" type="fixed"><parent link="b"/><child link="hand"/></joint>
<joint name="lift" type="`+base+`"><parent link="a"/><child link="b"/>`+limit+`</joint>
<joint name="grip" type="prismatic"><parent link="hand"/><child link="left"/>`+limit+`</joint>
<joint name="other" type="prismatic"><parent link="`+on+`"/><child link="right"/>`+limit+`<mimic joint="grip"/></joint></robot>`), nil, nil)
		require.NoError(t, err)
		return m
	}
	m := hand("hand", "revolute")
	require.Equal(t, []int{m.ActiveIndex("lift")}, m.Arm)
	require.Equal(t, "hand", m.Links[m.Tip].Name)
	require.Contains(t, m.Assumed[0], `down to link "hand", which the fingers of joint "grip" are on`)
	require.Nil(t, m.Gripper, "which end is open isn't known")

	m = hand("b", "revolute")
	require.Equal(t, []int{m.ActiveIndex("lift"), m.ActiveIndex("grip")}, m.Arm)
	require.Equal(t, "left", m.Links[m.Tip].Name)

	m = hand("hand", "fixed")
	require.Equal(t, []int{m.ActiveIndex("grip")}, m.Arm)
}
