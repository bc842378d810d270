package port_test

import (
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The terminal that a process was started from is refused, untouched, also when none of
// its streams is that terminal.
func TestTheControllingTerminalIsRefused(t *testing.T) {
	far, near, err := pty.Open()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = far.Close(), near.Close() })
	before, err := unix.IoctlGetTermios(int(near.Fd()), unix.TCGETS)
	require.NoError(t, err)
	h := heldBy(t, near.Name(), &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}, near)
	require.Contains(t, h.says, "INVALID_ARGUMENT")
	require.Contains(t, h.says, "the terminal that this process runs on")
	after, err := unix.IoctlGetTermios(int(near.Fd()), unix.TCGETS)
	require.NoError(t, err)
	require.Equal(t, before, after)
}
