package main

import (
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/mcu/boardtest"
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

// The screen says what was opted in to as the prompt does, in signs that a terminal has.
func TestOnTheScreenTheOptInIsReadable(t *testing.T) {
	t.Parallel()
	oneCell <- struct{}{}
	defer func() { <-oneCell }()
	board := boardtest.Start(t, boardtest.Options{Map: "servo2", Kind: boardtest.Host})
	s := seatAt(t, pty.Winsize{Rows: 60, Cols: 240}, realArgs(dataDir(t), board.Path(), robotFile(t), "--mcp", "off", "--approve-from", "tui")...)
	s.await("v events")
	s.typed("v")
	s.await("may move a REAL robot until")
	require.NotContains(t, s.out.String(), `\u{`)
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 130, s.status())
}

// A session whose opt-in has ended is listed as what it is.
func TestASessionWhoseOptInHasEndedIsListedSo(t *testing.T) {
	t.Parallel()
	oneCell <- struct{}{}
	defer func() { <-oneCell }()
	c := atCell(t)
	r := tau(t, "", "robot", "session", "revoke", "cell", "--data-dir", c.dir)
	require.Equal(t, 0, r.status, r.stderr)
	r = tau(t, "", "robot", "session", "list", "--data-dir", c.dir)
	require.Contains(t, r.stdout, "its opt-in has ended, so it moves nothing")
}
