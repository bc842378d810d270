package calibrate

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/tau-robot/tau/robot"
)

// What this test binary does as a child: save a path again and again, or once on a disk that
// is full.
const (
	childPath = "TAU_TEST_SAVE_PATH"
	childFull = "TAU_TEST_SAVE_FULL"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		os.Exit(saver(path, os.Getenv(childFull) != ""))
	}
	goleak.VerifyTestMain(m)
}

// text is the n-th content, of which any part tells which it is.
func text(n int) []byte { return []byte(strings.Repeat(fmt.Sprintf("%06d\n", n), 20_000)) }

// whole wants a file to be one of the contents, from end to end.
func whole(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var n int
	_, err = fmt.Sscanf(string(data), "%06d\n", &n)
	require.NoError(t, err)
	require.Equal(t, string(text(n)), string(data), path)
}

func saver(path string, full bool) int {
	if full {
		signal.Ignore(unix.SIGXFSZ) // so that it is an error of the write
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 5000, Max: 5000}); err != nil {
			fmt.Println(err)
			return 1
		}
		_, err := Save(path, text(2), noon)
		fmt.Println(errors.Is(err, unix.EFBIG), robot.CodeOf(err))
		return 0
	}
	for n := 1; ; n++ {
		if _, err := Save(path, text(n), noon.AddDate(0, 0, n)); err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println("saved")
	}
}

func child(t *testing.T, env ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	c.Env = append(os.Environ(), env...)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c, bufio.NewReader(out)
}

// Killed at whatever moment, there is the old file or the new one, whole, and each earlier
// one that was kept is whole too.
func TestKillNineLeavesAWholeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "arm.toml")
	for i := range 12 {
		c, says := child(t, childPath+"="+path)
		for range 1 + i%3 {
			line, err := says.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "saved\n", line)
		}
		time.Sleep(time.Duration(i) * 300 * time.Microsecond) // another moment each time; any will do
		require.NoError(t, c.Process.Signal(syscall.SIGKILL))
		_ = c.Wait()
		whole(t, path)
		st, err := os.Lstat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), st.Mode())
		kept, err := filepath.Glob(path + ".old-*")
		require.NoError(t, err)
		for _, k := range kept {
			whole(t, k)
		}
	}
	// And the next one is written as if nothing had been.
	old, err := Save(path, text(0), noon)
	require.NoError(t, err)
	whole(t, old)
	whole(t, path)
}

// A disk that is full leaves the file as it was, and nothing beside it.
func TestAFullDiskLeavesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "arm.toml")
	_, err := Save(path, text(1), noon)
	require.NoError(t, err)
	_, says := child(t, childPath+"="+path, childFull+"=1")
	line, err := says.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "true INTERNAL\n", line)
	whole(t, path)
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, left, 1)
}

// Whether a path can be written is known before anybody measures an arm for it, and finding
// out leaves no trace.
func TestAPathIsTriedBeforehand(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "arm.toml")
	require.NoError(t, Try(path))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
	require.NoError(t, os.WriteFile(path, []byte("mine"), 0o600))
	require.NoError(t, Try(path))
	left, err = os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "mine", string(data))

	require.Equal(t, robot.CodeInternal, robot.CodeOf(Try(filepath.Join(dir, "none", "arm.toml"))))
	require.Equal(t, robot.CodeInternal, robot.CodeOf(Try("/proc/arm.toml")))
	require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(Try(dir)))
	require.Equal(t, robot.CodeInternal, robot.CodeOf(Try(filepath.Join(path, "below"))))
}
