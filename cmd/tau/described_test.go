package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// lift is a xacro file that needs an argument and a package: without either it
// doesn't load.
const lift = `<robot name="lift" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:include filename="package://parts/cart.xacro"/>
<xacro:arg name="reach" default="0"/>
<link name="base"/>
<xacro:cart reach="$(arg reach)"/>
</robot>`

const liftCart = `<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:macro name="cart" params="reach">
<link name="cart"><collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
<joint name="slide" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="0 0 1"/>
<limit lower="0" upper="${reach}" velocity="1" effort="10"/></joint>
</xacro:macro></robot>`

// Wherever a robot is named, --package and --arg say how its description is read.
func TestADescriptionIsNamedTheSameWayEverywhere(t *testing.T) {
	dir := t.TempDir()
	parts := filepath.Join(dir, "parts")
	require.NoError(t, os.Mkdir(parts, 0o700))
	arm := filepath.Join(dir, "lift.urdf.xacro")
	require.NoError(t, os.WriteFile(arm, []byte(lift), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(parts, "cart.xacro"), []byte(liftCart), 0o600))
	with := []string{"--package", "parts=" + parts, "--arg", "reach=0.5"}
	data := dataDir(t)
	for _, c := range [][]string{
		{"check", arm},
		{"fk", "--robot", arm, "--q", "slide=0.25"},
		{"ik", "--robot", arm, "--tip", "cart", "--pose", "0,0,0.25"},
		{"plan", "--robot", arm, "--to", "slide=0.5"},
		{"tools", "--robot", arm},
		{"sim", "--robot", arm, "--script", "-", "--rehearse", "--clock", "fast", "--data-dir", data},
	} {
		stdin := ""
		if c[0] == "sim" {
			stdin = `{"tool":"move_joints","arguments":{"positions":{"slide":0.5}}}` + "\n"
		}
		args := append([]string{"robot"}, c...)
		r := tau(t, stdin, append(args, with...)...)
		require.Equal(t, 0, r.status, "%v: %s%s", args, r.stdout, r.stderr)
		r = tau(t, "", append(args, with[2:]...)...)
		require.NotEqual(t, 0, r.status, "%v loads without its package", args)
		require.Contains(t, r.stderr, "parts", args)
	}
	r := tau(t, "", append([]string{"robot", "real", "--session", "cell", "--driver", "mcu", "--port", "/dev/null", "--config", "/nonexistent/arm.toml", "--robot", arm}, with...)...)
	require.Equal(t, 2, r.status)
	require.Contains(t, r.stderr, "/nonexistent/arm.toml", "the robot loads, and its file is what is missing")
}

// A gantry that doesn't know where it is finds its switches before it goes anywhere.
func TestAGantryFindsItsSwitchesFirst(t *testing.T) {
	as, r := script(t, dataDir(t), []string{
		`{"tool":"move_joints","arguments":{"positions":{"x":0.1}}}`,
		`{"tool":"reference","arguments":{"joint":"x"}}`, `{"tool":"reference","arguments":{"joint":"y"}}`, `{"tool":"reference","arguments":{"joint":"z"}}`,
		`{"tool":"move_joints","arguments":{"positions":{"x":0.1}}}`,
	}, "--rehearse", "--robot", "gantry", "--unreferenced")
	require.Equal(t, 1, r.status, r.stderr)
	require.Equal(t, "NOT_CALIBRATED", as[0].Code)
	for _, a := range as[1:] {
		require.Equal(t, "ok", a.Status, a.Text)
	}
	require.InDelta(t, 0.1, as[4].positions(t)["x"], 0.002)
}
