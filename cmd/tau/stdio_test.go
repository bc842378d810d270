package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/events"
	"github.com/tau-robot/tau/gate/mcp/mcptest"
)

// agent is an MCP client at a real process, as lines.
type agent struct{ *proc }

// rpc is any message of a server.
type rpc struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  struct {
		Protocol string `json:"protocolVersion"`
		Content  []struct {
			Text string `json:"text"`
		} `json:"content"`
		Structured mcptest.Answer `json:"structuredContent"`
		IsError    bool           `json:"isError"`
	} `json:"result"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func startAgent(t *testing.T, dir string, args ...string) *agent {
	t.Helper()
	args = append([]string{"robot", "sim", "--mcp", "stdio", "--clock", "real", "--data-dir", dir}, args...)
	a := &agent{start(t, nil, args...)}
	a.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	require.Equal(t, "2025-11-25", a.answer("init").Result.Protocol)
	a.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return a
}

func (a *agent) call(id, tool, args string) {
	a.t.Helper()
	a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"progressToken":%q}}}`, id, tool, args, id))
}

// answer waits for the answer to a request.
func (a *agent) answer(id string) rpc {
	a.t.Helper()
	end := a.stdout.await(a.t, fmt.Sprintf(`"jsonrpc":"2.0","id":%q,`, id), 0)
	a.stdout.await(a.t, "\n", end)
	for _, m := range a.messages() {
		if string(m.ID) == fmt.Sprintf("%q", id) {
			return m
		}
	}
	a.t.Fatalf("no answer to %s in %s", id, a.stdout)
	return rpc{}
}

// messages are all that came; anything else on standard output fails the test.
func (a *agent) messages() (all []rpc) {
	a.t.Helper()
	for line := range strings.Lines(a.stdout.String()) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		var m rpc
		require.NoError(a.t, json.Unmarshal([]byte(line), &m), "%q is no message", line)
		require.Equal(a.t, "2.0", m.Version, line)
		all = append(all, m)
	}
	return all
}

// moving has the arm in mid-motion.
func (a *agent) moving() {
	a.t.Helper()
	a.call("long", "move_joints", `{"positions":{"shoulder_pan":1.5},"speed_scale":0.1}`)
	a.stdout.await(a.t, "moving: 0.5 of", 0)
}

func TestG25_OverStdioNobodyCanApprove(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	a := startAgent(t, dir, "--session", "desk")
	a.call("look", "session_status", `{}`)
	require.Equal(t, "desk", a.answer("look").Result.Structured.Session)
	a.call("go", "move_joints", `{"positions":{"shoulder_pan":0.3}}`)
	m := a.answer("go")
	require.True(t, m.Result.IsError)
	require.Equal(t, gate.CodeNotApproved, m.Result.Structured.Code)
	require.Contains(t, m.Result.Content[0].Text, "The user did not approve this action: move_joints. Do not perform it; tell the user briefly. Nobody can answer in this run.")
	require.NoError(t, a.stdin.Close())
	r := a.wait()
	require.Equal(t, 0, r.status, r.stderr)
	require.Contains(t, r.stderr, "nobody can approve in this run")
	a.messages()
	for e, err := range events.Read(events.Path(dir, "desk")) {
		require.NoError(t, err)
		require.NotEqual(t, "approved", string(e.Event.Approval))
	}
}

// A client that closes its side, dies, or stops reading ends the motion in a
// controlled way, and a signal does too.
func TestOverStdioEveryEndIsAControlledStop(t *testing.T) {
	for name, c := range map[string]struct {
		end    func(*agent)
		status []int
	}{
		"the client closes standard input": {func(a *agent) { require.NoError(a.t, a.stdin.Close()) }, []int{0}},
		"the client is gone": {func(a *agent) {
			require.NoError(a.t, a.out.Close())
			require.NoError(a.t, a.stdin.Close())
		}, []int{0, 130}}, // whichever is seen first
		"the client closes its end of standard output": {func(a *agent) { require.NoError(a.t, a.out.Close()) }, []int{130}},
		"SIGTERM": {func(a *agent) { a.signal(syscall.SIGTERM) }, []int{130}},
		"SIGINT":  {func(a *agent) { a.signal(syscall.SIGINT) }, []int{130}},
		"SIGHUP":  {func(a *agent) { a.signal(syscall.SIGHUP) }, []int{130}},
		"a stop in the last half line": {func(a *agent) {
			_, err := a.stdin.Write([]byte(`{"method":"tools/call","params":{"name":"stop"`))
			require.NoError(a.t, err)
			require.NoError(a.t, a.stdin.Close())
		}, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			a := startAgent(t, dir, "--rehearse")
			a.moving()
			c.end(a)
			<-a.ended
			require.Contains(t, c.status, a.status, a.stderr.String())
			requireControlledStop(t, dir)
			a.messages()
		})
	}
}

func TestG6_OverStdioAStopActsWhileEverythingIsBusy(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	a := startAgent(t, dir, "--rehearse")
	a.moving()
	for i := range 60 { // more than may be open
		a.call(fmt.Sprintf("more%d", i), "move_joints", `{"positions":{"shoulder_pan":0.3}}`)
	}
	a.send(`{"jsonrpc":"2.0","id":"halt","method":"tools/call","params":{"arguments":{"reason":` + strings.Repeat("[", 10) + `,"name":"\u0065stop"}}`)
	m := a.answer("halt")
	require.Equal(t, gate.StatusOK, m.Result.Structured.Status)
	require.Equal(t, gate.CodeStopped, a.answer("long").Result.Structured.Code)
	a.call("after", "move_joints", `{"positions":{"shoulder_pan":0.3}}`)
	require.Equal(t, gate.CodeEStopped, a.answer("after").Result.Structured.Code)
	require.NoError(t, a.stdin.Close())
	require.Equal(t, 0, a.wait().status)
	requireControlledStop(t, dir)
}

// A call and the stop behind it in one write: the call may begin and be stopped, or not
// begin; it never runs to its end, and the robot stands when the stop has said so.
func TestG6_OverStdioAStopIsNotOvertaken(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	a := startAgent(t, dir, "--rehearse")
	for i := range 10 {
		a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"move%d","method":"tools/call","params":{"name":"move_joints","arguments":{"positions":{"shoulder_pan":%g}}}}`, i, 0.3-0.6*float64(i%2)) +
			"\n" + fmt.Sprintf(`{"jsonrpc":"2.0","id":"stop%d","method":"tools/call","params":{"name":"stop"}}`, i))
		stop := a.answer(fmt.Sprintf("stop%d", i)).Result
		require.Equal(t, gate.StatusOK, stop.Structured.Status, stop.Structured.Text)
		move := a.answer(fmt.Sprintf("move%d", i)).Result
		require.Equal(t, gate.CodeStopped, move.Structured.Code, "round %d: %s", i, move.Structured.Text)
	}
	a.call("after", "move_joints", `{"positions":{"shoulder_pan":0.1}}`)
	require.Equal(t, gate.StatusOK, a.answer("after").Result.Structured.Status, "what comes behind the verdict runs")
	require.NoError(t, a.stdin.Close())
	require.Equal(t, 0, a.wait().status)
}

// The official TypeScript SDK's client starts the bridge itself, in both kinds of
// protocol revision.
func TestAClientThatNobodyHereWroteStartsTheBridge(t *testing.T) {
	for revision, want := range map[string]string{"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			c := mcptest.Spawn(t, revision, binary, "robot", "sim", "--mcp", "stdio", "--rehearse", "--clock", "real", "--data-dir", dir)
			require.Equal(t, want, c.Connect())
			require.NotEmpty(t, c.List()) // from here on it checks results against their schemas
			state(t, c, "state")
			e := c.Call("go", "move_joints", `{"positions":{"shoulder_pan":0.3}}`)
			require.False(t, e.IsError, "%s", e.Raw)
			require.Equal(t, gate.ApprovalExempt, e.Structured.Approval)
			require.InDelta(t, 0.3, pan(t, e.Structured.Result), 0.01)
			e = c.Call("far", "move_joints", `{"positions":{"shoulder_pan":99}}`)
			require.True(t, e.IsError)
			require.Equal(t, gate.CodeJointLimit, e.Structured.Code)
			require.Contains(t, e.Structured.Where, "shoulder_pan")
			require.InDelta(t, 99, e.Structured.Value.Value, 1e-9, "%s", e.Raw)
			require.Equal(t, "rad", e.Structured.Limit.Unit, "%s", e.Raw)

			c.Begin("long", "move_joints", `{"positions":{"shoulder_pan":1.5},"speed_scale":0.1}`)
			under := func(e mcptest.Event) bool {
				return e.Event == "progress" && e.As == "long" && strings.Contains(e.Message, "moving: 0.5")
			}
			c.Wait("that it moves", under)
			c.Cancel("long")
			require.Equal(t, "failed", c.End("long").Event)
			inLog(t, dir, gate.StatusCancelled)

			c.Begin("long", "move_joints", `{"positions":{"shoulder_pan":1.5},"speed_scale":0.1}`)
			c.Wait("that it moves", under)
			c.Close(false) // by closing the bridge's standard input
			eventually(t, func() bool {
				for _, e := range ofType(logged(t, dir), "session") {
					if strings.HasPrefix(e.Text, "ended") {
						return true
					}
				}
				return false
			}, "the bridge's end")
			requireControlledStop(t, dir)
		})
	}
}
