package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/events"
)

// These tests drive the built binary as a person, a script and an operator's
// other processes do. patience only bounds a test that fails.
const patience = 3 * time.Minute

// binary is built once for all of them.
var binary string

func TestMain(m *testing.M) { os.Exit(withBinary(m)) }

func withBinary(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tau-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "tau")
	cmd := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-o", binary, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the binary: %v\n%s", err, out)
		return 1
	}
	return withoutServer(m.Run())
}

// dataDir is a fresh data folder.
func dataDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.Mkdir(dir, 0o700))
	return dir
}

// environment has nothing of the developer's that could change a run.
func environment(extra ...string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "TERM=xterm-256color", "LANG=C.UTF-8"}
	return append(env, extra...)
}

// result is what a finished run left.
type result struct {
	stdout, stderr string
	status         int
}

// tau runs the binary to its end.
func tau(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	return tauEnv(t, nil, stdin, args...)
}

func tauEnv(t *testing.T, env []string, stdin string, args ...string) result {
	t.Helper()
	p := start(t, env, args...)
	_, err := io.WriteString(p.stdin, stdin)
	if !errors.Is(err, syscall.EPIPE) { // a usage error reads nothing
		require.NoError(t, err)
	}
	require.NoError(t, p.stdin.Close())
	return p.wait()
}

// proc is a running binary.
type proc struct {
	t       *testing.T
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	stdout  *tap
	stderr  *tap
	out     *os.File // the read end of stdout
	readers sync.WaitGroup
	ended   chan struct{}
	status  int
}

// start starts the binary with pipes on its three streams.
func start(t *testing.T, env []string, args ...string) *proc {
	t.Helper()
	p := launch(t, env, args...)
	p.readers.Go(func() { _, _ = io.Copy(p.stdout, p.out); p.stdout.end() })
	return p
}

// startWithClosableStdout leaves the reading of stdout to the test, which may close it.
func startWithClosableStdout(t *testing.T, args ...string) *proc {
	t.Helper()
	p := launch(t, nil, args...)
	p.stdout.end()
	return p
}

func launch(t *testing.T, env []string, args ...string) *proc {
	t.Helper()
	p := &proc{t: t, cmd: exec.CommandContext(context.Background(), binary, args...), stdout: newTap(), stderr: newTap(), ended: make(chan struct{})}
	p.cmd.Env = environment(env...)
	// A pipe of our own: one of exec's is closed by Wait, and with that as soon as the
	// program has ended, which may be before a test has written or closed it.
	in, stdin, err := os.Pipe()
	require.NoError(t, err)
	p.cmd.Stdin, p.stdin = in, stdin
	r, w, err := os.Pipe()
	require.NoError(t, err)
	p.out, p.cmd.Stdout = r, w
	er, ew, err := os.Pipe()
	require.NoError(t, err)
	p.cmd.Stderr = ew
	require.NoError(t, p.cmd.Start())
	require.NoError(t, in.Close())
	require.NoError(t, w.Close())
	require.NoError(t, ew.Close())
	p.readers.Go(func() { _, _ = io.Copy(p.stderr, er); p.stderr.end(); _ = er.Close() })
	go func() {
		err := p.cmd.Wait()
		p.status = p.cmd.ProcessState.ExitCode()
		_ = err // the status says it
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		p.readers.Wait()
		_ = stdin.Close() // where the test hasn't
		_ = r.Close()
	})
	return p
}

// wait waits for the end.
func (p *proc) wait() result {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("the process doesn't end; stdout:\n%s\nstderr:\n%s", p.stdout, p.stderr)
	}
	p.readers.Wait()
	return result{p.stdout.String(), p.stderr.String(), p.status}
}

func (p *proc) signal(s syscall.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(s))
}

func (p *proc) send(line string) {
	p.t.Helper()
	_, err := io.WriteString(p.stdin, line+"\n")
	require.NoError(p.t, err)
}

// tap keeps what is written to it and wakes whoever waits for a text in it.
type tap struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	more  chan struct{} // closed and made anew at each write
	ended bool
}

func newTap() *tap { return &tap{more: make(chan struct{})} }

func (w *tap) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.buf.Write(b)
	close(w.more)
	w.more = make(chan struct{})
	return n, err
}

func (w *tap) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	close(w.more)
	w.more = make(chan struct{})
}

func (w *tap) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// await returns once text has been written after the first skip bytes, and where
// it ends.
func (w *tap) await(t *testing.T, text string, skip int) int {
	t.Helper()
	late := time.After(patience)
	for {
		w.mu.Lock()
		got, more, ended := w.buf.String(), w.more, w.ended
		w.mu.Unlock()
		if i := strings.Index(got[min(skip, len(got)):], text); i >= 0 {
			return skip + i + len(text)
		}
		if ended {
			t.Fatalf("ended without %q:\n%s", text, got)
		}
		select {
		case <-more:
		case <-late:
			t.Fatalf("no %q in:\n%s", text, got)
		}
	}
}

// scriptAnswer is one line of a script's output, as CONTRACT.md has it.
type scriptAnswer struct {
	ID         string          `json:"id"`
	Tool       string          `json:"tool"`
	Status     string          `json:"status"`
	Code       string          `json:"code"`
	Text       string          `json:"text"`
	Result     json.RawMessage `json:"result"`
	Approval   string          `json:"approval"`
	DurationMS float64         `json:"duration_ms"`
	Error      *struct {
		Code    gate.Code       `json:"code"`
		Where   string          `json:"where"`
		Value   *gate.Quantity  `json:"value"`
		Limit   *gate.Quantity  `json:"limit"`
		Nearest []gate.Quantity `json:"nearest"`
	} `json:"error"`
}

func scriptAnswers(t *testing.T, stdout string) []scriptAnswer {
	t.Helper()
	var out []scriptAnswer
	sc := bufio.NewScanner(strings.NewReader(stdout))
	sc.Buffer(nil, 8<<20)
	for sc.Scan() {
		d := json.NewDecoder(bytes.NewReader(sc.Bytes()))
		d.DisallowUnknownFields()
		var a scriptAnswer
		require.NoError(t, d.Decode(&a), "only JSON lines on standard output: %s", sc.Text())
		out = append(out, a)
	}
	require.NoError(t, sc.Err())
	return out
}

// positions are the measured ones of a result.
func (a scriptAnswer) positions(t *testing.T) map[string]float64 {
	t.Helper()
	var r struct {
		Positions map[string]float64 `json:"positions"`
	}
	require.NoError(t, json.Unmarshal(a.Result, &r))
	require.NotEmpty(t, r.Positions, "%s: %s", a.Tool, a.Text)
	return r.Positions
}

// logged reads the events of the session sim and requires the log to prove itself whole.
func logged(t *testing.T, dir string) []gate.Event {
	t.Helper()
	path := events.Path(dir, "sim")
	report, err := events.Verify(path, events.KeyPath(dir))
	require.NoError(t, err)
	require.NoError(t, report.Err(), "%s", report.String())
	var out []gate.Event
	for e, err := range events.Read(path) {
		require.NoError(t, err)
		out = append(out, e.Event)
	}
	return out
}

func ofType(es []gate.Event, kind string) []gate.Event {
	var out []gate.Event
	for _, e := range es {
		if e.Type == kind {
			out = append(out, e)
		}
	}
	return out
}

// eventually waits for what another process does and nothing announces.
func eventually(t *testing.T, done func() bool, what string) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never came to %s", what)
		}
	}
}
