package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// gate and robot import neither the other; this is what holds their codes together.
func TestTheCodesOfGateAndRobotAreTheSame(t *testing.T) {
	g, r := gate.Codes(), robot.Codes()
	require.Len(t, g, len(r))
	seen := map[string]bool{}
	for i := range g {
		require.Equal(t, string(r[i]), string(g[i]), "in the same published order")
		require.False(t, seen[string(g[i])], "%s is there twice", g[i])
		seen[string(g[i])] = true
	}
}

// Modes, stop kinds and the three values of a verdict cross the same border.
func TestTheOtherWordsOfGateAndRobotAreTheSame(t *testing.T) {
	require.Equal(t, string(robot.ModeSim), string(gate.ModeSim))
	require.Equal(t, string(robot.ModeReal), string(gate.ModeReal))
	require.Equal(t, string(robot.StopControlled), string(gate.StopControlled))
	require.Equal(t, string(robot.StopEmergency), string(gate.StopEmergency))
}
