package mcp

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

func FuzzEnvelope(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stop","arguments":{"reason":"x"}}}`,
		`[{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"arguments":{},"name":"move_joints"}}]`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stop","arguments":{"a":NaN`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `[`, `{"params":{"name":"\ud800"}}`, "", " { } ",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		msgs, batch, err := parseBody(body)
		if err != nil {
			return
		}
		require.NotEmpty(t, msgs)
		require.True(t, batch || len(msgs) == 1)
		// What is let through reads the same to a decoder that takes the last of
		// duplicates and to one that takes the first.
		if batch {
			return
		}
		var m struct {
			Method string          `json:"method"`
			ID     json.RawMessage `json:"id"`
			Params json.RawMessage `json:"params"`
		}
		require.NoError(t, json.Unmarshal(body, &m))
		require.Equal(t, m.Method, msgs[0].method)
		require.Equal(t, string(m.ID), string(msgs[0].id))
		if m.Method != methodCall {
			return
		}
		var p struct {
			Name string          `json:"name"`
			Args json.RawMessage `json:"arguments"`
		}
		require.NoError(t, json.Unmarshal(m.Params, &p))
		require.Equal(t, p.Name, msgs[0].tool)
		require.Equal(t, string(p.Args), string(msgs[0].args))
		emptied := withoutArgs(body, msgs[0])
		require.Less(t, len(emptied), len(body)+3)
		require.True(t, jsontext.Value(emptied).IsValid(), string(emptied))
		again, _, err := parseBody(emptied)
		require.NoError(t, err)
		require.Equal(t, msgs[0].tool, again[0].tool)
	})
}

// countingGate answers everything at once.
type countingGate struct {
	mu   sync.Mutex
	invs []gate.Invocation
}

func (*countingGate) Specs() []gate.Spec {
	in := &gate.Schema{Kind: gate.KindObject}
	return []gate.Spec{{Name: "stop", Tier: gate.TierWrite, Input: in}, {Name: "move", Tier: gate.TierPhysical, Input: in}}
}

func (*countingGate) Stamp() gate.Stamp { return 1 }

func (g *countingGate) Call(_ context.Context, inv gate.Invocation) gate.Answer {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.invs = append(g.invs, inv)
	return gate.Answer{Tool: inv.Tool, Status: gate.StatusOK}
}

func (g *countingGate) Submit(inv gate.Invocation) gate.Ticket {
	t := &slowTicket{done: make(chan struct{}), answer: gate.Answer{Status: gate.StatusPending}}
	t.end(g.Call(context.Background(), inv).Status)
	return t
}

// Any body, in any revision, is answered with a status below 500, and what reaches
// the gate was really in it.
func FuzzPost(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"f","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"move","arguments":{"a":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"move","arguments":{},"_meta":{"progressToken":{},"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stop"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":null}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"AAAA"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"x"}}`,
	} {
		f.Add(s, uint8(0))
		f.Add(s, uint8(1))
	}
	random := strings.NewReader(strings.Repeat("\x07", tokenBytes))
	tok, err := NewToken(random, "p", "s")
	require.NoError(f, err)
	tokens := new(TokenTable)
	require.NoError(f, tokens.Add(tok))
	f.Fuzz(func(t *testing.T, body string, revision uint8) {
		g := new(countingGate)
		s, err := New(Options{Caller: g, Tokens: tokens})
		require.NoError(t, err)
		// A fuzzed subscription would hang; ending its request is what a client does.
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost"+Path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+tok.Bearer())
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set(headerVersion, []string{"", "2025-03-26", "2025-11-25", modern}[revision%4])
		if m, _, err := parseBody([]byte(body)); err == nil {
			r.Header.Set("Mcp-Method", m[0].method)
			if m[0].method == methodListen {
				cancel()
			}
			r.Header.Set("Mcp-Name", m[0].tool)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		_, _ = io.Copy(io.Discard, w.Result().Body)
		require.Less(t, w.Code, 500, w.Body.String())
		for _, inv := range g.invs {
			require.Equal(t, "p", inv.Principal)
			require.Contains(t, body, string(inv.Args))
		}
		require.NoError(t, s.Shutdown(t.Context()))
	})
}

// Whatever lines a client sends: what comes back is one JSON-RPC message a line, what
// reaches the gate was in them, a ping is still answered, and the server can be shut
// down.
func FuzzStdio(f *testing.F) {
	const start = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"f","version":"1"}}}` + "\n"
	for _, s := range []string{
		"", "\n\r\n \n", "not JSON\n[]\n[1]\n", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"move","arguments":{"a":1}}}` + "\n",
		`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"move","arguments":{}}},{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"stop"}}]` + "\n",
		`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}` + "\n",
		`{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}` + "\n",
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n",
		`{"jsonrpc":"2.0","id":"ping","method":"tools/list","params":null}` + "\n",
	} {
		f.Add(s)
		f.Add(start + s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g := new(countingGate)
		s, err := New(Options{Caller: g, Tokens: new(TokenTable), MaxBody: 2000})
		require.NoError(t, err)
		text += "\n" + `{"jsonrpc":"2.0","id":"the last ping","method":"ping"}`
		var out outText
		require.NoError(t, s.ServeStdio(t.Context(), "p", "s", io.NopCloser(strings.NewReader(text)), &out))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		require.NoError(t, s.Shutdown(ctx))
		for line := range strings.Lines(out.String()) {
			require.True(t, strings.HasSuffix(line, "\n"), line)
			msgs := []json.RawMessage{json.RawMessage(line)}
			if strings.HasPrefix(line, "[") {
				require.NoError(t, json.Unmarshal([]byte(line), &msgs))
			}
			for _, m := range msgs {
				require.Contains(t, string(m), `"jsonrpc":"2.0"`)
				require.True(t, json.Valid(m), line)
			}
		}
		require.Contains(t, out.String(), `"id":"the last ping"`)
		for _, inv := range g.invs {
			require.Equal(t, "p", inv.Principal)
			require.Equal(t, "s", inv.Session)
			require.Contains(t, text, string(inv.Args))
		}
	})
}

// outText is an output that keeps what is written.
type outText struct {
	mu sync.Mutex
	b  strings.Builder
}

func (o *outText) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *outText) Close() error { return nil }

func (o *outText) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
