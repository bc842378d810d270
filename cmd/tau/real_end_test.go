package main

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// How a robot ends that nothing measures isn't known, and isn't said to be.
func TestAnInterruptedBridgeSaysNoMoreThanIsKnown(t *testing.T) {
	undisturbed(t, func(t *testing.T, c *cell) bool {
		require.NoError(t, c.cmd.Process.Signal(syscall.SIGTERM))
		c.await("not known to be at rest: mcu")
		c.await("interrupted (terminated): told to stop")
		require.Equal(t, 130, c.status())
		return true
	})
}
