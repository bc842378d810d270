package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/mcp"
)

// The Go SDK's own client over a pair of streams, in each revision.
func TestStdioInEveryRevision(t *testing.T) {
	revisions(t, func(t *testing.T, version string) {
		g := newFake()
		w := stdio(t, g, nil)
		progress := make(chan *sdk.ProgressNotificationParams, 16)
		c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { progress <- r.Params },
		})
		cs, err := c.Connect(t.Context(), &sdk.IOTransport{Reader: w.out, Writer: w.in}, &sdk.ClientSessionOptions{ProtocolVersion: version})
		require.NoError(t, err)
		require.Equal(t, version, cs.InitializeResult().ProtocolVersion)
		tools, err := cs.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, tools.Tools, 7)

		res, err := call(t.Context(), cs, "robot_state", `{}`)
		require.NoError(t, err)
		require.False(t, res.IsError)
		require.Equal(t, gate.StatusOK, decode(t, res).Status)

		params := &sdk.CallToolParams{Name: "move_joints", Arguments: json.RawMessage(move)}
		params.SetProgressToken("tok")
		got := make(chan *sdk.CallToolResult, 1)
		go func() {
			res, err := cs.CallTool(t.Context(), params)
			if err == nil {
				got <- res
			}
		}()
		tk := g.asked(t)
		require.Equal(t, move, string(tk.inv.Args), "byte for byte")
		require.Equal(t, "alice", tk.inv.Principal)
		require.Equal(t, "left", tk.inv.Session)
		require.NotEmpty(t, tk.inv.ToolUseID)
		require.Equal(t, "call "+tk.id, waitFor(t, progress, "progress").Message)
		tk.inv.Progress("waiting for approval")
		require.Equal(t, "waiting for approval", waitFor(t, progress, "progress").Message)
		tk.end(moved)
		res = waitFor(t, got, "the answer")
		require.False(t, res.IsError)
		require.Equal(t, gate.ApprovalApproved, decode(t, res).Approval)

		// Giving a call up cancels it.
		ctx, giveUp := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() { _, err := call(ctx, cs, "move_joints", move); failed <- err }()
		tk = g.asked(t)
		giveUp()
		require.ErrorIs(t, waitFor(t, failed, "the end of the call"), context.Canceled)
		<-tk.done
		require.Equal(t, []string{"the client cancelled the call"}, tk.cancels())

		// A stop ends what is open, once.
		go func() { res, _ := call(t.Context(), cs, "move_joints", move); got <- res }()
		g.asked(t)
		res, err = call(t.Context(), cs, "stop", `{"reason":"test"}`)
		require.NoError(t, err)
		require.Equal(t, gate.StatusOK, decode(t, res).Status)
		require.Equal(t, gate.CodeStopped, decode(t, waitFor(t, got, "the stopped call")).Code)
		require.Len(t, g.stopped(), 1)
		require.Equal(t, `{"reason":"test"}`, string(g.stopped()[0].Args))

		require.NoError(t, cs.Close())
		require.NoError(t, w.ended())
	})
}

func TestStdioEndsWithItsInput(t *testing.T) {
	g := newFake()
	w := stdio(t, g, nil).read()
	w.init("2025-11-25").send(toolCall("1", "move_joints", move, "2025-11-25", ""))
	tk := g.asked(t)
	w.send(toolCall("2", "robot_state", "{}", "2025-11-25", ""))
	require.NoError(t, w.in.Close())
	require.NoError(t, w.ended())
	require.False(t, tk.over(), "the robot is the caller's to stop first")
	w.shutdown()
	require.Equal(t, []string{"the bridge is shutting down"}, tk.cancels())
	answers := map[string]reply{}
	for line := range w.lines {
		r := parseReply(t, line)
		answers[string(r.ID)] = r
	}
	require.Equal(t, "At rest.", answers["2"].Result.Content[0].Text, "what was read before the end is answered")
	require.True(t, answers["1"].Result.IsError)
}

// A client that dies in the middle of a stop has stopped.
func TestG6_AStopInTheLastHalfLineStops(t *testing.T) {
	g := newFake()
	w := stdio(t, g, nil).read()
	_, err := io.WriteString(w.in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"estop","argum`)
	require.NoError(t, err)
	require.NoError(t, w.in.Close())
	require.NoError(t, w.ended())
	require.Equal(t, "estop", g.stopped()[0].Tool)
}

func TestStdioEndsWithItsContext(t *testing.T) {
	g := newFake()
	w := stdio(t, g, nil).read()
	w.init("2025-11-25")
	why := errors.New("interrupted")
	w.cancel(why)
	require.ErrorIs(t, w.ended(), why)
	require.Error(t, w.srv.ServeStdio(t.Context(), "alice", "left", io.NopCloser(strings.NewReader("")), discard{}), "once")
}

func TestStdioEndsWithAShutdown(t *testing.T) {
	w := stdio(t, newFake(), nil).read()
	w.init("2025-11-25")
	w.shutdown()
	require.NoError(t, w.ended())
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Close() error                { return nil }

func TestStdioNeedsNames(t *testing.T) {
	s, err := mcp.New(mcp.Options{Caller: newFake(), Tokens: &mcp.TokenTable{}})
	require.NoError(t, err)
	for _, name := range []string{"", "a b", strings.Repeat("x", 65)} {
		require.ErrorContains(t, s.ServeStdio(t.Context(), name, "left", io.NopCloser(strings.NewReader("")), discard{}), "principal")
		require.ErrorContains(t, s.ServeStdio(t.Context(), "alice", name, io.NopCloser(strings.NewReader("")), discard{}), "session")
	}
}

// A client whose end of the output is gone ends the serving with that error, and what
// it had open is left to whoever stops the robot.
func TestStdioEndsWithABrokenOutput(t *testing.T) {
	g := newFake()
	w := stdio(t, g, nil)
	r := make(chan string, 1)
	go func() {
		buf := make([]byte, 4096)
		n, _ := w.out.Read(buf)
		r <- string(buf[:n])
	}()
	w.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	waitFor(t, r, "the answer")
	w.send(toolCall("2", "move_joints", move, "2025-11-25", ""))
	tk := g.asked(t)
	require.NoError(t, w.out.Close())
	w.send(toolCall("3", "robot_state", `{}`, "2025-11-25", ""))
	require.ErrorIs(t, w.ended(), io.ErrClosedPipe)
	require.False(t, tk.over())
	w.shutdown()
	require.True(t, tk.over())
}

// A client that reads nothing holds nothing up, a stop least of all; when it has
// missed too much, it is given up.
func TestG6_AStopDoesntWaitForAClientThatDoesntRead(t *testing.T) {
	g := newFake()
	w := stdio(t, g, nil)
	w.send(toolCall("1", "move_joints", move, "2026-07-28", `,"progressToken":7`))
	tk := g.asked(t)
	for range 10_000 { // far more than what is kept
		tk.inv.Progress(strings.Repeat("moving ", 1000))
	}
	for range 100 {
		w.send(toolCall("2", "stop", `{}`, "2026-07-28", ""))
		require.Equal(t, "stop", waitFor(t, g.stopping, "the stop"))
	}
	<-tk.done
	long := strings.Repeat("x", 100_000)
	var err error
	for n := 0; err == nil && n < 1000; n++ {
		_, err = io.WriteString(w.in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"`+long+`":1}}`+"\n")
	}
	require.ErrorIs(t, err, io.ErrClosedPipe)
	require.ErrorIs(t, w.ended(), mcp.ErrDeaf)
}
