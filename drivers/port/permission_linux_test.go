package port_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tau-robot/tau/drivers/port"
	"github.com/tau-robot/tau/robot"
)

func TestWhoMayOpenADeviceIsSaid(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become somebody else for one thread")
	}
	pt := terminal(t)
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The thread keeps the other user's rights, and ends with this goroutine.
		runtime.LockOSThread()
		if err = unix.Setfsgid(65534); err != nil {
			return
		}
		if err = unix.Setfsuid(65534); err != nil {
			return
		}
		_, err = port.Open(noDeadline(), port.Options{Path: pt.Path, Baud: baud})
	}()
	<-done
	require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
	require.ErrorIs(t, err, os.ErrPermission)
	require.ErrorContains(t, err, "this user may not open it")
	require.ErrorContains(t, err, "group ")
}
