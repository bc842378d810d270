package mcp_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/mcp"
)

// A stop acts whatever else is wrong: no session, a dead session, other headers
// missing, arguments that aren't JSON, a body that breaks off or is too large.
func TestG6_AStopInAnyShapeStops(t *testing.T) {
	huge := strings.Repeat("x", 5000)
	for name, c := range map[string]struct {
		body   string
		tool   string
		args   string
		status int
		change func(*http.Request)
	}{
		"without a session": {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stop","arguments":{"reason":"r"}}}`,
			tool: "stop", args: `{"reason":"r"}`, status: 200},
		"no arguments": {body: `{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"estop"}}`, tool: "estop", status: 200},
		"wrong type of arguments": {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stop","arguments":[true]}}`,
			tool: "stop", args: `[true]`, status: 200},
		"duplicate arguments": {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"estop","arguments":{"reason":1,"reason":2}}}`,
			tool: "estop", args: `{"reason":1,"reason":2}`, status: 200},
		"arguments that aren't JSON": {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stop","arguments":{"reason":NaN}}}`,
			tool: "stop", args: `{"reason":NaN}}}`, status: 200},
		"broken off": {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stop","argum`, tool: "stop", status: 200},
		"broken off without an id": {body: `{"method":"tools/call","params":{"name":"estop","arguments":{"reason":"`,
			tool: "estop", args: `{"reason":"`, status: 400},
		"name behind broken arguments": {body: `{"jsonrpc":"2.0","method":"tools/call","params":{"arguments":{x},"name":"stop"}}`,
			tool: "stop", status: 400},
		"params before the method": {body: `{"params":{"arguments":{x},"name":"stop"},"method":"tools/call"}`, tool: "stop", status: 400},
		"trailing data":            {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stop"}} x`, tool: "stop", status: 200},
		"approved beside it": {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stop","approved":true}}`,
			tool: "stop", status: 200},
		"a notification": {body: `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"stop"}}`, tool: "stop", status: 202},
		"wrong content type": {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stop"}}`, tool: "stop", status: 200,
			change: func(r *http.Request) { r.Header.Set("Content-Type", "text/plain"); r.Header.Del("Accept") }},
		"a dead session": {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stop"}}`, tool: "stop", status: 200,
			change: func(r *http.Request) { r.Header.Set("Mcp-Session-Id", "gone") }},
		"an unknown revision": {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stop"}}`, tool: "stop", status: 200,
			change: func(r *http.Request) { r.Header.Set("Mcp-Protocol-Version", "1999-01-01") }},
		"too large": {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stop","arguments":{"reason":"` + huge + `"}}}`,
			tool: "stop", status: 413},
		"too large, its name behind the limit": {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"reason":"` + huge + huge + `"},"name":"stop"}}`,
			tool: "stop", status: 413},
		"too large, escaped and behind the limit": {body: `{"params":{"arguments":{"reason":"` + huge + `"},"name":"\u0065stop"},"method":"tools\/call"}`,
			tool: "estop", status: 413},
		"too large, behind another message of a batch": {body: `[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"move_joints","arguments":{"a":"` + huge + `"}}},` +
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"stop"}}]`, tool: "stop", status: 413},
		"escaped, behind broken arguments": {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{x},"name":"\u0073top"}}`,
			tool: "stop", status: 200},
		"a second message on the line": {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"robot_state"}}` +
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"estop"}}`, tool: "estop", status: 400},
		"a batch": {body: `[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"robot_state"}},` +
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"stop"`, tool: "stop", status: 400},
	} {
		t.Run(name, func(t *testing.T) {
			g := newFake()
			b := serve(t, g, func(o *mcp.Options) { o.MaxBody = 4000 })
			code, body := b.post(t, b.alice, c.body, c.change)
			require.Equal(t, c.status, code, body)
			stops := g.stopped()
			require.Len(t, stops, 1, body)
			require.Equal(t, c.tool, stops[0].Tool)
			require.Equal(t, "alice", stops[0].Principal)
			require.Equal(t, "left", stops[0].Session)
			if c.args != "" {
				require.Equal(t, c.args, string(stops[0].Args))
			}
			if code == http.StatusOK {
				require.Contains(t, body, `"verdicts"`)
				require.NotContains(t, body, `"isError"`)
			}
			require.Len(t, g.calls(), 1, "nothing else rides on the stop's exemption")
		})
	}
}

// What only looks like a stop doesn't stop.
func TestAStopIsMatchedByItsPlace(t *testing.T) {
	g := newFake()
	b := serve(t, g, nil)
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Stop"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"name":"stop"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"scene_add","arguments":{"name":"stop"}},}`,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"stop","arguments":{x}}}`,
	} {
		_, _ = b.post(t, b.alice, body, nil)
		require.Empty(t, g.stopped(), body)
	}
}

// A stop isn't held up by anything that is busy, and works without a free slot.
func TestG6_AStopWorksWhileEverythingIsBusy(t *testing.T) {
	g := newFake()
	b := serve(t, g, func(o *mcp.Options) { o.MaxOpen, o.MaxRequests, o.MaxSessions = 2, 2, 1 })
	answered := make(chan string, 2)
	for range 2 {
		head := b.head(t, b.alice, "2026-07-28", "move_joints")
		go func() {
			_, body := b.post(t, b.alice, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"move_joints","arguments":`+
				move+b.meta("2026-07-28")+`}}`, head)
			answered <- body
		}()
		g.asked(t)
	}
	code, body := b.post(t, b.alice, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"robot_state"`+b.meta("2026-07-28")+`}}`,
		b.head(t, b.alice, "2026-07-28", "robot_state"))
	require.Equal(t, http.StatusServiceUnavailable, code, body)
	code, body = b.post(t, b.alice, `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"estop","arguments":{}}}`, nil)
	require.Equal(t, http.StatusOK, code, body)
	require.Contains(t, body, `"status":"ok"`)
	for range 2 {
		require.Contains(t, <-answered, string(gate.CodeStopped))
	}
}

func TestStopThroughEveryRevisionsClient(t *testing.T) {
	g := newFake()
	b := serve(t, g, nil)
	revisions(t, func(t *testing.T, version string) {
		before := len(g.stopped())
		cs := b.connect(t, b.alice, version, nil)
		res, err := call(t.Context(), cs, "stop", `{"reason":"test"}`)
		require.NoError(t, err)
		require.False(t, res.IsError)
		require.Equal(t, gate.StatusOK, decode(t, res).Status)
		require.Equal(t, "fake", decode(t, res).Backend)
		require.Len(t, g.stopped(), before+1, "once and not twice")
	})
}

// Each stop of a batch acts once, none waits for another's verdict, and an estop acts
// before every other whatever stands in front of it.
func TestG6_StopsOfABatchActOnceAndAnEStopFirst(t *testing.T) {
	g := newFake()
	b := serve(t, g, nil)
	head := b.head(t, b.alice, "2025-03-26", "")
	g.hold = make(chan struct{})
	answered := make(chan string, 1)
	go func() {
		_, body := b.post(t, b.alice, `[{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"stop","arguments":{"reason":"1"}}},`+
			`{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"robot_state"}},`+
			`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"stop","arguments":{"reason":"2"}}},`+
			`{"jsonrpc":"2.0","id":"d","method":"tools/call","params":{"name":"estop","arguments":{"reason":"3"}}}]`, head)
		answered <- body
	}()
	for range 3 {
		waitFor(t, g.stopping, "a stop")
	}
	var got []string
	for _, inv := range g.stopped() {
		got = append(got, inv.Tool+string(inv.Args)+inv.ToolUseID)
	}
	require.Equal(t, []string{`estop{"reason":"3"}d`, `stop{"reason":"1"}a`, `stop{"reason":"2"}c`}, got)
	close(g.hold)
	body := waitFor(t, answered, "the answers")
	require.Equal(t, 3, strings.Count(body, `"verdicts"`), body)
	for _, id := range []string{"a", "b", "c", "d"} {
		require.Contains(t, body, `"id":"`+id+`"`)
	}
	require.Len(t, g.stopped(), 3)
}
