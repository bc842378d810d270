package port_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tau-robot/tau/drivers/port"
	"github.com/tau-robot/tau/robot"
)

// childPort is the port that this test binary opens and holds when it runs as a child.
const childPort = "TAU_TEST_HOLD_PORT"

func TestMain(m *testing.M) {
	if path := os.Getenv(childPort); path != "" {
		os.Exit(hold(path))
	}
	goleak.VerifyTestMain(m)
}

// hold opens a port, says what became of it, and holds it until its input ends.
func hold(path string) int {
	p, err := port.Open(noDeadline(), port.Options{Path: path, Baud: baud})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("open")
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := p.Close(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// holder is a child that holds, or tried to.
type holder struct {
	*exec.Cmd
	says  string
	input io.WriteCloser
}

func held(t *testing.T, path string) *holder {
	t.Helper()
	return heldBy(t, path, nil)
}

// heldBy is held, of a child with attributes of its own.
func heldBy(t *testing.T, path string, attr *syscall.SysProcAttr, more ...*os.File) *holder {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	c.SysProcAttr, c.ExtraFiles = attr, more
	c.Env = append(os.Environ(), childPort+"="+path)
	input, err := c.StdinPipe()
	require.NoError(t, err)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	says, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return &holder{c, strings.TrimSpace(says), input}
}

func TestAnotherProcessIsNamedAndFreesThePortByKill9(t *testing.T) {
	pt := terminal(t)
	h := held(t, pt.Path)
	require.Equal(t, "open", h.says)
	_, err := port.Open(t.Context(), port.Options{Path: pt.Path, Baud: baud})
	require.Equal(t, robot.CodeBusy, robot.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, pt.Path)
	require.ErrorContains(t, err, "process "+strconv.Itoa(h.Process.Pid))
	require.ErrorContains(t, err, filepath.Base(os.Args[0]))

	require.NoError(t, h.Process.Kill())
	require.Error(t, h.Wait())
	p := opened(t, port.Options{Path: pt.Path})

	// And the other way round: now the other process is the one that is refused.
	h = held(t, pt.Path)
	require.Contains(t, h.says, string(robot.CodeBusy))
	require.Contains(t, h.says, "process "+strconv.Itoa(os.Getpid()))
	require.NoError(t, p.Close())
	h = held(t, pt.Path)
	require.Equal(t, "open", h.says)
	require.NoError(t, h.input.Close())
	require.NoError(t, h.Wait())
}

// Of many that open at once one has it, and the others are told so.
func TestOneOfManyHasThePort(t *testing.T) {
	pt := terminal(t)
	for range 20 {
		var wg sync.WaitGroup
		got := make(chan *port.Port, 8)
		for range cap(got) {
			wg.Go(func() {
				p, err := port.Open(t.Context(), port.Options{Path: pt.Path, Baud: baud})
				if err == nil {
					got <- p
					return
				}
				if robot.CodeOf(err) != robot.CodeBusy {
					t.Errorf("refused with %v", err)
				}
			})
		}
		wg.Wait()
		require.Len(t, got, 1)
		require.NoError(t, (<-got).Close())
	}
}

// No child may inherit the port, also one that is started while it is opened.
func TestNoChildInheritsThePort(t *testing.T) {
	pt := terminal(t)
	ls, err := exec.LookPath("ls")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("needs ls and /proc")
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			p, err := port.Open(noDeadline(), port.Options{Path: pt.Path, Baud: baud})
			if err != nil {
				t.Errorf("opening: %v", err)
				return
			}
			if err := p.Close(); err != nil {
				t.Errorf("closing: %v", err)
			}
		}
	})
	for range 50 {
		out, err := exec.CommandContext(t.Context(), ls, "-l", "/proc/self/fd").CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.NotContains(t, string(out), pt.Path+"\n")
	}
	close(done)
	wg.Wait()
}
