package main

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

const passphrase = "correct horse battery"

// at starts a command of the operator's side at a terminal.
func at(t *testing.T, dir string, args ...string) *screen {
	t.Helper()
	return seatAt(t, pty.Winsize{Rows: 50, Cols: 240}, append(append([]string{"robot"}, args...), "--data-dir", dir)...)
}

// operatorKey makes the operator's key of a data folder, as a person does, and returns
// its id.
func operatorKey(t *testing.T, dir string) string {
	t.Helper()
	s := at(t, dir, "approvals", "init")
	s.await("New passphrase")
	s.typed(passphrase + "\r")
	s.await("The same again")
	s.typed(passphrase + "\r")
	require.Equal(t, 0, s.status(), s.out)
	require.NotContains(t, s.out.String(), "horse", "a passphrase is never shown")
	m := regexp.MustCompile(`the operator's key is ([0-9a-f-]{39})`).FindStringSubmatch(s.out.String())
	require.NotNil(t, m, s.out.String())
	return m[1]
}

// attached starts an attached terminal and waits for its prompt.
func attached(t *testing.T, dir string, flags ...string) *screen {
	t.Helper()
	s := at(t, dir, append([]string{"approvals", "attach"}, flags...)...)
	s.await("Passphrase of the operator's key")
	s.typed(passphrase + "\r")
	s.await("attach> ")
	return s
}

func (a *agent) move(id string, to float64) {
	a.t.Helper()
	b, err := json.Marshal(to)
	require.NoError(a.t, err)
	a.call(id, "move_joints", `{"positions":{"shoulder_pan":`+string(b)+`},"speed_scale":1}`)
}

// stdioBridge is a bridge that an MCP client has started, with a key that it trusts.
func stdioBridge(t *testing.T, dir string, flags ...string) *agent {
	t.Helper()
	return startAgent(t, dir, append([]string{"--operator-key", operatorKey(t, dir)}, flags...)...)
}

func (a *agent) ends() {
	a.t.Helper()
	require.NoError(a.t, a.stdin.Close())
	r := a.wait()
	require.Equal(a.t, 0, r.status, r.stderr)
}

func TestG34_AnAttachedTerminalAnswersForAnMCPClientOnStdio(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	a := stdioBridge(t, dir)
	a.stderr.await(t, "the operator's key is", 0)
	s := attached(t, dir)

	a.move("go", 0.3)
	s.card()
	require.Contains(t, s.out.String(), `  Arguments: {"positions":{"shoulder_pan":0.3},"speed_scale":1}`)
	s.answers("y")
	s.await("✓ move_joints: approved")
	m := a.answer("go")
	require.False(t, m.Result.IsError, m.Result.Content)
	require.InDelta(t, 0.3, pan(t, m.Result.Structured.Result), 0.01)

	a.move("no", 0.5)
	s.card()
	s.answers("")
	s.await("✗ move_joints: not approved")
	require.Equal(t, gate.CodeNotApproved, a.answer("no").Result.Structured.Code)

	s.typed("quit\r")
	require.Equal(t, 0, s.status(), s.out)
	a.ends()
	es := logged(t, dir)
	decided := ofType(es, "approval")
	require.Len(t, decided, 2)
	require.Equal(t, "approved", decided[0].Decision)
	require.Equal(t, "operator", decided[0].Decider)
	require.Equal(t, "signed, over attach", decided[0].Reason)
	require.Equal(t, "rejected", decided[1].Decision)
	require.Equal(t, "control socket", decided[1].Decider)
}
