package prompt

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/tau-robot/tau/cmd/tau/internal/jobctl"
)

// childMark, in the environment, turns the test binary into a program with a
// prompt: `boom` panics, ctrl-Z and SIGTSTP suspend, ctrl-D ends it.
const childMark = "TAU_PROMPT_TEST_CHILD"

func child() int {
	var p *Prompt
	p, err := New(Options{In: os.Stdin, Out: os.Stdout,
		Handle: func(_ context.Context, line string, _ uint64) {
			if line == "boom" {
				panic("boom")
			}
			p.Print("did " + line)
		},
		OnSuspend: func(context.Context) func() {
			p.Print("at rest")
			return func() { p.Print("may move") }
		},
	})
	if err != nil {
		return 3
	}
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTSTP)
	go func() {
		for range told {
			p.Suspend(jobctl.Suspend)
		}
	}()
	if p.Run(context.Background()) != nil {
		return 1
	}
	return 0
}

// program is a child on a pty.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	ptm    *os.File
	tts    *os.File
	before *term.State
	screen []byte
}

func startProgram(t *testing.T, attr *syscall.SysProcAttr) *program {
	ptm, tts := openPTY(t)
	before, err := term.GetState(int(tts.Fd()))
	require.NoError(t, err)
	p := &program{t: t, ptm: ptm, tts: tts, before: before, cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), childMark+"=1")
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.SysProcAttr = tts, tts, attr
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		require.NoError(t, errors.Join(ptm.Close(), tts.Close()))
	})
	p.expect("tau> ")
	return p
}

// expect reads until s is there, and forgets what was before it.
func (p *program) expect(s string) {
	p.t.Helper()
	buf := make([]byte, 4096)
	require.NoError(p.t, p.ptm.SetReadDeadline(time.Now().Add(patience)))
	for !bytes.Contains(p.screen, []byte(s)) {
		n, err := p.ptm.Read(buf)
		require.NoError(p.t, err, "no %q in %q", s, p.screen)
		p.screen = append(p.screen, buf[:n]...)
	}
	p.screen = p.screen[bytes.Index(p.screen, []byte(s))+len(s):]
}

func (p *program) typeIn(s string) {
	p.t.Helper()
	_, err := p.ptm.WriteString(s)
	require.NoError(p.t, err)
}

func (p *program) requireRestored(restored bool) {
	p.t.Helper()
	now, err := term.GetState(int(p.tts.Fd()))
	require.NoError(p.t, err)
	require.Equal(p.t, restored, *now == *p.before)
}

func TestProgram_PanicInAHandlerGivesTheTerminalBack(t *testing.T) {
	p := startProgram(t, nil)
	p.typeIn("home\r")
	p.expect("did home\r\n")
	p.requireRestored(false)
	p.typeIn("boom\r")
	p.expect(pasteOff)
	var exit *exec.ExitError
	require.ErrorAs(t, p.cmd.Wait(), &exit)
	require.Equal(t, 2, exit.ExitCode())
	p.requireRestored(true)
}

func TestProgram_CtrlZSuspendsAndComesBack(t *testing.T) {
	p := startProgram(t, &syscall.SysProcAttr{Setpgid: true})
	pid := p.cmd.Process.Pid
	for range 2 {
		p.typeIn("half\x1a")
		p.expect("at rest\r\n")
		var status unix.WaitStatus
		_, err := unix.Wait4(pid, &status, unix.WUNTRACED, nil)
		require.NoError(t, err)
		require.True(t, status.Stopped())
		p.requireRestored(true)
		require.NoError(t, unix.Kill(-pid, unix.SIGCONT))
		p.expect("(running again)\r\n")
		p.requireRestored(false)
		p.typeIn("home\r")
		p.expect("did home\r\n")
	}
	p.typeIn("\x04")
	require.NoError(t, p.cmd.Wait())
	p.requireRestored(true)
}

// A SIGTSTP from elsewhere leaves the terminal as it was, like ctrl-Z, but stops
// this process alone.
func TestProgram_SIGTSTPFromElsewhereGivesTheTerminalBack(t *testing.T) {
	p := startProgram(t, &syscall.SysProcAttr{Setsid: true})
	pid := p.cmd.Process.Pid
	for range 2 {
		p.typeIn("half")
		p.expect("half")
		require.NoError(t, unix.Kill(pid, unix.SIGTSTP))
		p.expect("at rest\r\n")
		var status unix.WaitStatus
		_, err := unix.Wait4(pid, &status, unix.WUNTRACED, nil)
		require.NoError(t, err)
		require.True(t, status.Stopped())
		require.NotContains(t, string(p.screen), "may move")
		p.requireRestored(true)
		require.NoError(t, unix.Kill(pid, unix.SIGCONT))
		p.expect("may move\r\n")
		p.requireRestored(false)
		p.typeIn("home\r")
		p.expect("did home\r\n")
	}
	p.typeIn("\x04")
	require.NoError(t, p.cmd.Wait())
	p.requireRestored(true)
}

func TestProgram_SessionLeaderIsNotSuspended(t *testing.T) {
	p := startProgram(t, &syscall.SysProcAttr{Setsid: true})
	p.typeIn("\x1a")
	p.expect("no shell to go back to")
	p.typeIn("home\r")
	p.expect("did home\r\n")
}
