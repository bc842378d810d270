package port

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tau-robot/tau/robot"
)

func openPair(t *testing.T) (far, near *os.File) {
	t.Helper()
	far, near, err := pty.Open()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = far.Close(), near.Close() })
	return far, near
}

func TestTheLineIsSetUp(t *testing.T) {
	_, near := openPair(t)
	for _, baud := range []int{9600, 115200, 1_000_000, 250_000, 74_880} {
		p, err := Open(t.Context(), Options{Path: near.Name(), Baud: baud})
		require.NoError(t, err)
		tio, err := unix.IoctlGetTermios(int(near.Fd()), unix.TCGETS2)
		require.NoError(t, err)
		require.Equal(t, uint32(baud), tio.Ospeed)
		require.Zero(t, tio.Cflag&unix.HUPCL, "closing would drop DTR, and the next opening reset the board")
		require.Zero(t, tio.Lflag&(unix.ECHO|unix.ICANON|unix.ISIG|unix.IEXTEN))
		require.Zero(t, tio.Iflag&(unix.IXON|unix.IXOFF|unix.ICRNL|unix.ISTRIP))
		require.Zero(t, tio.Oflag&unix.OPOST)
		require.Zero(t, tio.Cflag&(unix.PARENB|unix.CSTOPB|unix.CRTSCTS))
		require.Equal(t, uint32(unix.CS8), tio.Cflag&unix.CSIZE)
		require.False(t, exclusive(p.file), "the mark would outlive us on a pseudo-terminal")
		require.NoError(t, p.Close())
	}
}

func TestAnotherDeviceAtThePathIsntOpened(t *testing.T) {
	_, near := openPair(t)
	_, err := open(t.Context(), Options{Path: near.Name(), Baud: 9600}, identity{"2341", "0043", "A1"})
	require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "another device")
	require.ErrorContains(t, err, "2341:0043 serial A1")
	require.False(t, slices.ContainsFunc(openDevices()[os.Getpid()], func(d uint64) bool {
		var st unix.Stat_t
		return unix.Fstat(int(near.Fd()), &st) == nil && d == st.Rdev && count(openDevices()[os.Getpid()], d) > 1
	}), "it was opened")
}

func count(all []uint64, v uint64) (n int) {
	for _, x := range all {
		if x == v {
			n++
		}
	}
	return n
}

func TestTheOwnTerminalIsRefused(t *testing.T) {
	_, near := openPair(t)
	saved, err := unix.Dup(0)
	require.NoError(t, err)
	defer func() {
		require.NoError(t, unix.Dup3(saved, 0, 0))
		require.NoError(t, unix.Close(saved))
	}()
	require.NoError(t, unix.Dup3(int(near.Fd()), 0, 0))
	_, err = Open(t.Context(), Options{Path: near.Name(), Baud: 9600})
	require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "terminal")
}

func TestOpenersAreSeen(t *testing.T) {
	_, near := openPair(t)
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("needs sleep")
	}
	c := exec.CommandContext(t.Context(), sleep, "600")
	c.Stdin = near
	require.NoError(t, c.Start())
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	st, err := statOf(near.Name())
	require.NoError(t, err)
	hs := openers(st, os.Getpid())
	require.Len(t, hs, 1)
	require.Equal(t, Holder{PID: c.Process.Pid, Command: sleep + " 600"}, hs[0])
	_, locked := lockHolder(st)
	require.False(t, locked)

	p, err := Open(t.Context(), Options{Path: near.Name(), Baud: 9600})
	require.NoError(t, err)
	defer p.Close()
	require.Equal(t, []Holder{{PID: os.Getpid(), Command: commandOf(os.Getpid()), Locked: true}}, Holders(near.Name()))
	require.Empty(t, Holders(t.TempDir()))
	require.Empty(t, Holders("/dev/none-such"))
	got := holdersOf(st, openDevices())
	require.Len(t, got, 2)
	require.True(t, got[0].Locked)
	require.Equal(t, os.Getpid(), got[0].PID)
	require.Equal(t, c.Process.Pid, got[1].PID)
}

func TestPermissionSaysWhatToDo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give a file away")
	}
	f := filepath.Join(t.TempDir(), "device")
	require.NoError(t, os.WriteFile(f, nil, 0o600))
	require.Contains(t, permission(f), "udev rule")
	require.NoError(t, os.Chown(f, 0, 54321))
	require.NoError(t, os.Chmod(f, 0o660))
	require.Contains(t, permission(f), "usermod -aG 54321")
	require.NoError(t, os.Chmod(f, 0o640))
	require.Contains(t, permission(f), "udev rule")
	require.Contains(t, permission(f+"x"), "may not")
}

func TestTheBackoffGrowsAndEnds(t *testing.T) {
	gone := robot.Errf(robot.CodeDisconnected, "port x", "gone")
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []time.Duration
		tries := 0
		p, err := retry(t.Context(), "port x", func() (*Port, error) {
			at = append(at, time.Since(start))
			if tries++; tries == 9 {
				return &Port{}, nil
			}
			return nil, gone
		})
		require.NoError(t, err)
		require.NotNil(t, p)
		ms := time.Millisecond
		require.Equal(t, []time.Duration{0, 50 * ms, 150 * ms, 350 * ms, 750 * ms, 1550 * ms, 3150 * ms, 5150 * ms, 7150 * ms}, at)
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		p, err := retry(ctx, "port x", func() (*Port, error) { return nil, gone })
		require.Nil(t, p)
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err))
		require.ErrorIs(t, err, gone, "why the last attempt failed isn't said")
		require.Equal(t, 10*time.Second, time.Since(start))
	})
	synctest.Test(t, func(t *testing.T) {
		wrong := robot.Errf(robot.CodeInvalidArgument, "port x", "not a port")
		tries := 0
		_, err := retry(t.Context(), "port x", func() (*Port, error) { tries++; return nil, wrong })
		require.Equal(t, error(wrong), err)
		require.Equal(t, 1, tries)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = retry(ctx, "port x", func() (*Port, error) { return nil, errors.New("x") })
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err))
	})
}

// On a real port, which has what a pseudo-terminal hasn't: TIOCEXCL, modem lines, a
// queue that the kernel counts.
func TestOnARealPort(t *testing.T) {
	path := os.Getenv("TAU_HIL_PORT")
	if path == "" {
		t.Skip("TAU_HIL_PORT names no port")
	}
	p, err := Open(t.Context(), Options{Path: path, Baud: 115200, ResetOnOpen: true})
	require.NoError(t, err)
	require.True(t, exclusive(p.file))
	_, err = Open(t.Context(), Options{Path: path, Baud: 115200})
	require.Equal(t, robot.CodeBusy, robot.CodeOf(err), "%v", err)
	require.True(t, exclusive(p.file), "a refused opener has taken the mark away")
	n, err := p.Reopen(t.Context())
	require.NoError(t, err)
	require.Equal(t, p.id, n.id)
	require.NoError(t, n.Close())
}
