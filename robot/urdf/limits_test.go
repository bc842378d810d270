package urdf_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/urdf"
)

// limits holds a limits file against three joints: a revolute one (-1 to 2 rad,
// 3 rad/s, 5 N·m), one that follows it by -2 and has 8 rad/s, and a continuous
// one without a velocity.
func limits(yaml string) ([]robot.JointLimits, *robot.LimitTable, error) {
	d, err := urdf.Parse("t.urdf", []byte(`<robot name="t"><link name="a"/><link name="b"/><link name="c"/><link name="d"/><link name="e"/>
<joint name="r" type="revolute"><parent link="a"/><child link="b"/><limit lower="-1" upper="2" effort="5" velocity="3"/></joint>
<joint name="f" type="revolute"><parent link="b"/><child link="c"/><limit lower="-4" upper="2" effort="5" velocity="8"/><mimic joint="r" multiplier="-2"/></joint>
<joint name="k" type="continuous"><parent link="c"/><child link="d"/></joint>
<joint name="x" type="fixed"><parent link="d"/><child link="e"/></joint></robot>`), urdf.Options{})
	if err != nil {
		return nil, nil, err
	}
	t, err := urdf.ParseLimits("l.yaml", []byte(yaml))
	if err != nil {
		return nil, nil, err
	}
	l, err := robot.NewLimits(d, t)
	return l, t, err
}

// of puts keys under one joint; the first of them is line 3.
func of(joint string, keys ...string) string {
	return "joint_limits:\n  " + joint + ":\n    " + strings.Join(keys, "\n    ") + "\n"
}

func TestLimitsTighten(t *testing.T) {
	l, _, err := limits(of("r", "min_position: -0.5", "max_position: 2", "max_velocity: 3.0", "has_effort_limits: true", "max_effort: 4"))
	require.NoError(t, err)
	require.Equal(t, robot.JointLimits{Bounded: true, Lower: -0.5, Upper: 2, Velocity: 3, Acceleration: 3, Jerk: 30, Effort: 4,
		Assumed: []string{"acceleration", "jerk"}}, l[0])

	// What is said of a follower binds its master: f = -2·r.
	l, _, err = limits(of("f", "min_position: -2", "max_position: 1", "max_velocity: 4", "max_acceleration: 6", "max_jerk: 80", "max_effort: 1"))
	require.NoError(t, err)
	require.Equal(t, robot.JointLimits{Bounded: true, Lower: -0.5, Upper: 1, Velocity: 2, Acceleration: 3, Jerk: 40, Effort: 5}, l[0])

	// A continuous joint without a velocity gets one here, and can't be narrowed.
	l, _, err = limits(of("k", "max_velocity: 1.5", "max_acceleration: 6"))
	require.NoError(t, err)
	require.Equal(t, robot.JointLimits{Velocity: 1.5, Acceleration: 6, Jerk: 60, Assumed: []string{"jerk"}}, l[1])

	l, _, err = limits(of("r", "min_position: !degrees -30", "max_velocity: !radians 2", "max_acceleration: !degrees 90"))
	require.NoError(t, err)
	require.InDelta(t, -math.Pi/6, l[0].Lower, 1e-15)
	require.InDelta(t, math.Pi/2, l[0].Acceleration, 1e-15)

	// Nothing said leaves what the description says; the scalings are not limits.
	l, table, err := limits("default_velocity_scaling_factor: 0.1\ndefault_acceleration_scaling_factor: 0.1\njoint_limits: {}\n")
	require.NoError(t, err)
	require.Equal(t, 3.0, l[0].Velocity)
	require.Len(t, table.Warnings, 2)
	require.Equal(t, 2, table.Warnings[1].Line)

	// Switched off where the description has nothing: no limit, and a warning
	// for the number that counts for nothing.
	l, table, err = limits(of("k", "has_velocity_limits: false", "max_velocity: 0", "has_acceleration_limits: false", "max_acceleration: 5"))
	require.NoError(t, err)
	require.Zero(t, l[1].Velocity)
	require.Equal(t, []string{"acceleration", "jerk"}, l[1].Assumed)
	require.Len(t, table.Warnings, 2)
}

func TestLimitsRefuse(t *testing.T) {
	for _, c := range []struct {
		yaml string
		line int
		want string
	}{
		{of("r", "max_velocity: 3.01"), 3, "wider than the description's limit; a limits file may only tighten (value 3.01 rad/s, limit 3 rad/s)"},
		{of("r", "max_effort: 6"), 3, "(value 6 N·m, limit 5 N·m)"},
		{of("r", "max_position: 2.1"), 3, "(value 2.1 rad, limit 2 rad)"},
		{of("r", "min_position: -1.1"), 3, "(value -1.1 rad, limit -1 rad)"},
		{of("r", "min_position: 1.5", "max_position: 1"), 4, "leaves no position"},
		{of("f", "max_velocity: 9"), 3, "(value 9 rad/s, limit 8 rad/s)"},
		{of("f", "max_position: 2.5"), 3, "(value 2.5 rad, limit 2 rad)"},
		{of("k", "max_position: 1"), 3, "has no range in the description"},
		{of("r", "has_velocity_limits: false"), 3, "may only tighten"},
		{of("r", "has_position_limits: false"), 3, "may only tighten"},
		{of("r", "has_effort_limits: false"), 3, "may only tighten"},
		{of("nobody", "max_velocity: 1"), 2, `joint "nobody" doesn't exist`},
		{of("x", "max_velocity: 1"), 2, `joint "x" is fixed`},
		{of("r", "max_effort: !degrees 1"), 3, "can't be in degrees"},
		{of("r", "has_velocity_limits: true"), 3, "max_velocity is missing"},
		{of("r", "has_position_limits: true", "min_position: 0"), 3, "max_position is missing"},
		{of("r", "has_velocity_limits: yes", "max_velocity: 1"), 3, "true or false is due"},
		{of("r", "has_velocity_limits: \"true\"", "max_velocity: 1"), 3, "true or false is due"},
		{of("r", "max_speed: 1"), 3, `unknown key "max_speed"`},
		{of("r", "max_velocity: 1", "max_velocity: 2"), 4, `key "max_velocity" is given twice; the first is in line 3`},
		{"joint_limits:\n  r: {max_velocity: 1}\n  r: {max_velocity: 2}\n", 3, `key "r" is given twice`},
		{of("r", "max_velocity: !velocity 1"), 3, "a number is due"},
		{of("r", "max_velocity: &v 1"), 3, "anchors"},
		{"joint_limits:\n  r: &r {max_velocity: 1}\n  k: *r\n", 2, "anchors"},
		{"joint_limits:\n  r:\n    <<: {max_velocity: 1}\n", 3, "merges"},
		{"joint_limits:\n  ? [a]\n  : 1\n", 2, "keys that are not words"},
		{"joint_limits: 5\n", 1, "a mapping is due"},
		{"joint_limits:\n  r: 5\n", 2, "a mapping is due"},
		{"{}", 1, "joint_limits is missing"},
		{"[]", 1, "a mapping is due"},
		{"", 1, "empty"},
		{"speed: 1\njoint_limits: {}\n", 1, `unknown key "speed"`},
		{"joint_limits: {}\n---\njoint_limits: {}\n", 2, "a second document"},
		{"joint_limits:\n\tr: 1\n", 2, "not well-formed YAML"},
		{"joint_limits: {", 1, "not well-formed YAML"},
		{"joint_limits:\n  \"\\e[2J\": {max_velocity: 1}\n", 2, "not a joint's name"},
	} {
		_, _, err := limits(c.yaml)
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), "%q", c.yaml)
		require.Contains(t, err.Error(), c.want, "%q", c.yaml)
		require.Contains(t, err.Error(), fmt.Sprintf("l.yaml:%d: ", c.line), "%q", c.yaml)
	}
	_, err := urdf.ParseLimits("l.yaml", make([]byte, urdf.MaxLimitsBytes+1))
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
}
