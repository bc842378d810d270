package control

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tau-robot/tau/gate"
)

// childSocket is where the child of the test below listens.
const childSocket = "TAU_TEST_CONTROL_SOCKET"

// TestG6_AStopIsAnsweredWithoutADescriptorLeft: another process, which serves the socket
// and then opens files until it may open no more.
func TestG6_AStopIsAnsweredWithoutADescriptorLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "control.sock")
	self, err := os.Executable()
	require.NoError(t, err)
	child := exec.CommandContext(t.Context(), self, "-test.run=^TestChildWithoutDescriptors$", "-test.v")
	child.Env = append(os.Environ(), childSocket+"="+path)
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	require.NoError(t, err)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines := bufio.NewScanner(out)
	full := false
	for !full && lines.Scan() {
		full = lines.Text() == "full"
	}
	require.True(t, full)
	for k := range 3 * maxSpares { // each gives back what it took
		verb := []string{"stop", "estop"}[k%2]
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		r, err := Send(ctx, path, Request{Verb: verb})
		cancel()
		require.NoError(t, err, k)
		require.True(t, r.OK, r.Text)
		require.Equal(t, []gate.StopVerdict{{Backend: verb, Commanded: "yes"}}, r.Verdicts)
	}
	r := raw(t, path, `{"verb":"list"}`+"\n")
	require.False(t, r.OK)
	require.Contains(t, r.Text, "out of file descriptors")
	require.NoError(t, in.Close())
	_, err = io.Copy(io.Discard, out)
	require.NoError(t, err)
	require.NoError(t, child.Wait())
}

func TestChildWithoutDescriptors(t *testing.T) {
	path := os.Getenv(childSocket)
	if path == "" {
		t.Skip("it is the child of another test")
	}
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64}))
	s, err := Listen(path, func(_ context.Context, k gate.StopKind, _ string) []gate.StopVerdict {
		return []gate.StopVerdict{{Backend: string(k), Commanded: "yes"}}
	}, &operator{})
	require.NoError(t, err)
	var files []*os.File
	for {
		f, err := os.Open(os.DevNull)
		if errors.Is(err, unix.EMFILE) {
			break
		}
		require.NoError(t, err)
		files = append(files, f)
	}
	_, err = os.Stdout.WriteString("full\n")
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, os.Stdin)
	require.NoError(t, err)
	for _, f := range files {
		require.NoError(t, f.Close())
	}
	require.NoError(t, s.Close())
}
