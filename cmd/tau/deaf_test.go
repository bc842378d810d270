package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// deaf starts a bridge whose output on one of its streams is never read, though
// the pipe stays open: a reader that hangs, not one that goes away.
func deaf(t *testing.T, dir string, stdoutToo bool, script string, flags ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	args := append([]string{"robot", "sim", "--script", "-", "--json", "--rehearse", "--data-dir", dir}, flags...)
	cmd := exec.CommandContext(context.Background(), binary, args...)
	cmd.Env = environment()
	cmd.Stdin = strings.NewReader(script)
	out := &bytes.Buffer{}
	cmd.Stderr, cmd.Stdout = w, out
	if stdoutToo {
		cmd.Stderr, cmd.Stdout = io.Discard, w
	}
	require.NoError(t, cmd.Start())
	require.NoError(t, w.Close())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = r.Close() })
	return cmd, out
}

func endsWithin(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("the bridge doesn't end")
	}
	return cmd.ProcessState.ExitCode()
}

// Progress goes to standard error, from the goroutine that moves the robot.
func TestNobodyReadingProgressHoldsNoMotionUp(t *testing.T) {
	t.Parallel()
	const calls = 1500 // more lines than a pipe holds
	cmd, out := deaf(t, dataDir(t), false, strings.Repeat(`{"tool":"demo_physical_action"}`+"\n", calls), "--clock", "fast")
	require.Equal(t, 0, endsWithin(t, cmd))
	require.Equal(t, calls, strings.Count(out.String(), `"status":"ok"`))
}

// Answers that nobody takes block the script, never the stop nor the end.
func TestNobodyReadingAnswersHoldsNoStopUp(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	cmd, _ := deaf(t, dir, true, strings.Repeat(`{"tool":"robot_describe"}`+"\n", 200)+longMove+"\n")
	eventually(t, func() bool {
		_, err := os.Stat(dir + "/control.sock")
		return err == nil
	}, "a bridge that listens")
	require.Equal(t, 0, tau(t, "", "robot", "stop", "--data-dir", dir).status)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 130, endsWithin(t, cmd))
	logged(t, dir) // whole, its end included
}
