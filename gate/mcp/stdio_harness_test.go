package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/mcp"
)

// wire is a server whose one client is the test, on two pipes.
type wire struct {
	t      *testing.T
	srv    *mcp.Server
	in     *io.PipeWriter // what the client writes
	out    *io.PipeReader // what it reads
	lines  chan string    // of out, unless the test reads it itself
	served chan error
	cancel context.CancelCauseFunc
}

// stdio starts ServeStdio for alice in the session left. Nothing reads its output
// until read is called. It is shut down with the test.
func stdio(t *testing.T, caller gate.Caller, change func(*mcp.Options)) *wire {
	t.Helper()
	o := mcp.Options{Caller: caller, Tokens: &mcp.TokenTable{}, Version: "test"}
	if change != nil {
		change(&o)
	}
	srv, err := mcp.New(o)
	require.NoError(t, err)
	w := &wire{t: t, srv: srv, lines: make(chan string, 4096), served: make(chan error, 1)}
	ir, iw := io.Pipe()
	or, ow := io.Pipe()
	w.in, w.out = iw, or
	ctx, cancel := context.WithCancelCause(t.Context())
	w.cancel = cancel
	go func() { w.served <- srv.ServeStdio(ctx, "alice", "left", ir, ow) }()
	t.Cleanup(func() {
		cancel(nil)
		w.shutdown()
		_ = or.Close()
	})
	return w
}

// read hands lines on until the output ends.
func (w *wire) read() *wire {
	go func() {
		defer close(w.lines)
		r := bufio.NewReaderSize(w.out, 1<<20)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				w.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	return w
}

func (w *wire) shutdown() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	require.NoError(w.t, w.srv.Shutdown(ctx))
}

func (w *wire) send(lines ...string) *wire {
	w.t.Helper()
	for _, line := range lines {
		_, err := io.WriteString(w.in, line+"\n")
		require.NoError(w.t, err)
	}
	return w
}

// reply is any message from the server.
type reply struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Token    json.RawMessage `json:"progressToken"`
		Message  string          `json:"message"`
		Progress float64         `json:"progress"`
	} `json:"params"`
	Result *struct {
		ProtocolVersion string          `json:"protocolVersion"`
		Content         []sdkText       `json:"content"`
		Structured      json.RawMessage `json:"structuredContent"`
		IsError         bool            `json:"isError"`
		ResultType      string          `json:"resultType"`
		Tools           []sdk.Tool      `json:"tools"`
	} `json:"result"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	raw string
}

type sdkText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func parseReply(t *testing.T, line string) reply {
	t.Helper()
	r := reply{raw: line}
	require.NoError(t, json.Unmarshal([]byte(line), &r), line)
	require.Contains(t, line, `"jsonrpc":"2.0"`)
	return r
}

// line waits for the next line.
func (w *wire) line() string {
	w.t.Helper()
	select {
	case line, ok := <-w.lines:
		require.True(w.t, ok, "the output has ended")
		require.True(w.t, strings.HasSuffix(line, "\n"), "%q is no whole line", line)
		return line
	case <-time.After(time.Minute):
		require.FailNow(w.t, "no line came")
		return ""
	}
}

func (w *wire) next() reply {
	w.t.Helper()
	return parseReply(w.t, w.line())
}

// init begins a session of one of the older revisions.
func (w *wire) init(version string) *wire {
	w.t.Helper()
	w.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"` + version +
		`","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`)
	r := w.next()
	require.NotNil(w.t, r.Result, r.raw)
	require.Equal(w.t, version, r.Result.ProtocolVersion)
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return w
}

// meta is what each request of a revision carries beside its parameters, behind a comma.
func meta(version string, more string) string {
	if version < "2026" {
		if more == "" {
			return ""
		}
		return `,"_meta":{` + strings.TrimPrefix(more, ",") + `}`
	}
	return `,"_meta":{"io.modelcontextprotocol/protocolVersion":"` + version + `",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}` + more + `}`
}

// begin brings a session to where calls are taken, in any revision.
func (w *wire) begin(version string) *wire {
	w.t.Helper()
	if version < "2026" {
		return w.init(version)
	}
	return w
}

func toolCall(id, tool, args, version, more string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + meta(version, more) + `}}`
}

// ended waits for ServeStdio to return.
func (w *wire) ended() error {
	w.t.Helper()
	return waitFor(w.t, w.served, "the end of ServeStdio")
}
