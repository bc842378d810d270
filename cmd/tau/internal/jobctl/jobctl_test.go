package jobctl

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// childMark, in the environment, turns the test binary into a program that suspends
// itself, or its group, and says how that went.
const childMark = "TAU_JOBCTL_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childMark) {
	case "self":
		fmt.Println(Suspend())
	case "group":
		err := SuspendGroup()
		fmt.Println(err, errors.Is(err, ErrNoShell))
	default:
		os.Exit(m.Run())
	}
}

func child(t *testing.T, what string, attr *syscall.SysProcAttr) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env, cmd.SysProcAttr = append(os.Environ(), childMark+"="+what), attr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, bufio.NewReader(out)
}

func TestASuspendedProcessGoesOnWhereItWas(t *testing.T) {
	for _, what := range []string{"self", "group"} {
		cmd, out := child(t, what, &syscall.SysProcAttr{Setpgid: true})
		var status unix.WaitStatus
		_, err := unix.Wait4(cmd.Process.Pid, &status, unix.WUNTRACED, nil)
		require.NoError(t, err)
		require.True(t, status.Stopped(), what)
		require.NoError(t, unix.Kill(cmd.Process.Pid, unix.SIGCONT))
		line, err := out.ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, "<nil>", "it returned, and without an error")
		require.NoError(t, cmd.Wait())
	}
}

func TestASessionLeaderHasNoShellToGoBackTo(t *testing.T) {
	cmd, out := child(t, "group", &syscall.SysProcAttr{Setsid: true})
	line, err := out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "there is no shell to go back to true\n", line)
	require.NoError(t, cmd.Wait())
}
