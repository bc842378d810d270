package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/mcp"
)

// What isn't a message is answered, as far as it says to what, and nothing of it
// reaches the gate; the next line is served.
func TestStdioRefusesWhatIsNoMessage(t *testing.T) {
	long := strings.Repeat("x", 5000)
	g := newFake()
	w := stdio(t, g, func(o *mcp.Options) { o.MaxBody = 4000 }).read().init("2025-11-25")
	for _, c := range []struct{ line, id, says string }{
		{`not JSON`, `null`, "invalid"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"robot_state"}`, `1`, "EOF"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"} {"jsonrpc":"2.0","id":2,"method":"ping"}`, `1`, "behind the message"},
		{`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, `1`, "duplicate"},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, `null`, "id must be"},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `null`, "id must be"},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, `null`, "2.0"},
		{`{"id":3,"method":"ping"}`, `3`, "2.0"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","more":1}`, `1`, "unknown member"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"move_joints","approved":true}}`, `1`, "approved"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`, `1`, "string"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + "\xff" + `"}}`, `1`, "UTF-8"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\ud800"}}`, `1`, "surrogate"},
		{`{"jsonrpc":"2.0","id":"` + "\xff" + `","method":"ping"}`, `null`, "id"},
		{`[]`, `null`, "empty batch"},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `null`, "2025-11-25 has none"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"` + long + `"}}`, `1`, "more than 4000 bytes"},
		{`{"params":{"a":"` + long + `"},"jsonrpc":"2.0","id":1,"method":"ping"}`, `null`, "more than 4000 bytes"},
		{"Content-Length: 17\r", `null`, "invalid"},
		{strings.Repeat("[", 20_000), `null`, ""},
		{strings.Repeat(`{"a":`, 700), `null`, ""},
	} {
		w.send(c.line)
		r := w.next()
		require.NotNil(t, r.Error, r.raw)
		require.Equal(t, c.id, string(r.ID), "%.100s\n%s", c.line, r.raw)
		require.Contains(t, r.Error.Message, c.says, "%.100s", c.line)
		require.Contains(t, []int{-32700, -32600}, r.Error.Code, r.raw)
		w.send("", "  \r", `{"jsonrpc":"2.0","id":"still there","method":"ping"}`+"\r")
		require.Equal(t, `"still there"`, string(w.next().ID))
	}
	require.Empty(t, g.calls())
	require.Empty(t, g.stopped())
}

// Nothing that answers a question of ours is taken, because none is ever asked, and it
// is not answered either.
func TestG32_StdioTakesNoAnswers(t *testing.T) {
	g := newFake()
	w := stdio(t, g, nil).read().init("2025-11-25")
	w.send(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"approved":true}}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{}}`)
	r := w.next()
	require.Equal(t, "2", string(r.ID))
	require.Equal(t, -32601, r.Error.Code, r.raw)
	require.Empty(t, g.calls())
}

func TestStdioBeforeInitialize(t *testing.T) {
	g := newFake()
	w := stdio(t, g, nil).read()
	for _, line := range []string{
		toolCall("1", "move_joints", move, "2025-11-25", ""), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
	} {
		w.send(line)
		r := w.next()
		require.Equal(t, "1", string(r.ID))
		require.Equal(t, -32600, r.Error.Code, r.raw)
		require.Contains(t, r.Error.Message, "initializ")
	}
	w.send(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`)
	require.Contains(t, w.next().Error.Message, "hasn't begun")
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":9,"method":"ping"}`)
	require.Equal(t, "9", string(w.next().ID), "a ping is always answered")
	require.Empty(t, g.calls())
	w.send(toolCall("2", "stop", `{}`, "2025-11-25", ""))
	require.False(t, w.next().Result.IsError, "a stop needs no session")
	require.Len(t, g.stopped(), 1)
	w.init("2025-06-18")
	w.send(`{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	require.Equal(t, -32600, w.next().Error.Code, "once")
}

func TestStdioIdsThatAreUsedTwice(t *testing.T) {
	g := newFake()
	w := stdio(t, g, nil).read().init("2025-11-25")
	w.send(toolCall("7", "move_joints", move, "2025-11-25", ""))
	tk := g.asked(t)
	for _, line := range []string{
		toolCall("7", "move_joints", move, "2025-11-25", ""), `{"jsonrpc":"2.0","id":7,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":7,"method":"ping","more":1}`,
	} {
		w.send(line)
		r := w.next()
		require.Equal(t, "null", string(r.ID), "it would be taken for the open call's answer")
		require.Equal(t, -32600, r.Error.Code)
	}
	require.Len(t, g.calls(), 1)
	tk.end(moved)
	require.Equal(t, "7", string(w.next().ID))
	w.send(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)
	require.Equal(t, "7", string(w.next().ID), "an id that is free again")
	w.send(toolCall("8", "move_joints", move, "2025-11-25", ""))
	g.asked(t)
	w.send(toolCall("8", "stop", `{}`, "2025-11-25", ""))
	first, second := w.next(), w.next()
	if first.Error == nil {
		first, second = second, first
	}
	require.Contains(t, first.Error.Message, "the stop was carried out")
	require.Contains(t, string(second.Result.Structured), string(gate.CodeStopped))
	require.Len(t, g.stopped(), 1)
}

// A call that the client has given up is cancelled and not answered; progress says
// which one it was.
func TestStdioCancels(t *testing.T) {
	for _, version := range []string{"2024-11-05", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			g := newFake()
			w := stdio(t, g, nil).read().begin(version)
			w.send(toolCall(`"x"`, "move_joints", move, version, `,"progressToken":"p"`))
			tk := g.asked(t)
			r := w.next()
			require.Equal(t, "notifications/progress", r.Method)
			require.Equal(t, `"p"`, string(r.Params.Token))
			require.Equal(t, "call "+tk.id, r.Params.Message)
			w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"y"}}`,
				`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`,
				`{"jsonrpc":"2.0","method":"notifications/cancelled"}`)
			w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x","reason":"test"}}`)
			<-tk.done
			require.Equal(t, []string{"the client cancelled the call"}, tk.cancels())
			w.send(toolCall(`"z"`, "robot_state", "{}", version, ""))
			require.Equal(t, `"z"`, string(w.next().ID), "the cancelled one isn't answered")
		})
	}
}

func TestStdioBatches(t *testing.T) {
	for version, taken := range map[string]bool{"2024-11-05": false, "2025-03-26": true, "2025-06-18": false, "2025-11-25": false} {
		t.Run(version, func(t *testing.T) {
			g := newFake()
			w := stdio(t, g, nil).read().init(version)
			w.send(`[` + toolCall("1", "move_joints", `{"a":1,"a":2}`, version, "") + `,{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}},` +
				`{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"none"},` + toolCall("2", "move_joints", `{}`, version, "") + `]`)
			if !taken {
				require.Contains(t, w.next().Error.Message, version+" has none")
				require.Empty(t, g.calls())
				return
			}
			tk, other := g.asked(t), g.asked(t) // by now all of it was read
			if tk.inv.ToolUseID != "1" {        // calls of a batch come in any order
				tk, other = other, tk
			}
			require.Equal(t, `{"a":1,"a":2}`, string(tk.inv.Args), "byte for byte, in a batch too")
			require.Equal(t, "1", tk.inv.ToolUseID)
			other.end(moved)
			tk.end(moved)
			var all []json.RawMessage
			require.NoError(t, json.Unmarshal([]byte(w.line()), &all))
			require.Len(t, all, 4)
			for i, id := range []string{"1", "null", "3", "2"} {
				require.Equal(t, id, string(parseReply(t, string(all[i])).ID), "in their order")
			}
			w.send(`[{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}]`,
				`[{"jsonrpc":"2.0","id":4,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}]`)
			require.Contains(t, w.next().Error.Message, "can't be part of a batch", "and a batch of notifications has no answer")
		})
	}
}

// The same rules as over HTTP, in any revision and before any session.
func TestG6_AStopOnALineOfAnyShapeStops(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for name, c := range map[string]struct {
		line   string
		tools  []string // that stop, in that order
		args   string   // of the first
		id     string   // of the answer; "": there is none
		result bool     // its verdict is the answer
	}{
		"well-formed":         {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stop","arguments":{"reason":"r"}}}`, []string{"stop"}, `{"reason":"r"}`, "1", true},
		"a notification":      {`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"estop"}}`, []string{"estop"}, "", "", false},
		"arguments not JSON":  {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stop","arguments":{"reason":NaN}}}`, []string{"stop"}, `{"reason":NaN}}}`, "1", true},
		"breaks off":          {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stop","argum`, []string{"stop"}, "", "1", true},
		"no version":          {`{"id":1,"method":"tools/call","params":{"name":"estop"}}`, []string{"estop"}, "", "1", true},
		"name behind garbage": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{x},"name":"\u0073top"}}`, []string{"stop"}, "", "1", true},
		"behind a message":    {`{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"stop"}}`, []string{"stop"}, "", "1", false},
		"too long":            {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stop","arguments":{"reason":"` + long + `"}}}`, []string{"stop"}, "", "1", true},
		"behind the limit": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"reason":"` + long + `"},"name":"estop"}}`,
			[]string{"estop"}, "", "1", true},
		"far behind the limit": {`{"params":{"arguments":{"reason":"` + strings.Repeat(long, 40) + `"},"name":"\u0065stop"},"method":"tools\/call"}`,
			[]string{"estop"}, "", "null", false},
		"in a batch that isn't taken": {`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stop"}},` +
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"estop"}}]`, []string{"estop", "stop"}, "", "null", false},
		"in a batch that is too long": {`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"move_joints","arguments":{"a":"` + long + `"}}},` +
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"stop"}}]`, []string{"stop"}, "", "null", false},
	} {
		for _, version := range []string{"", "2025-11-25"} {
			t.Run(name+" "+version, func(t *testing.T) {
				g := newFake()
				w := stdio(t, g, func(o *mcp.Options) { o.MaxBody = 4000 }).read()
				if version != "" {
					w.init(version)
				}
				w.send(c.line)
				if c.id != "" {
					r := w.next()
					require.Equal(t, c.id, string(r.ID), r.raw)
					require.Equal(t, c.result, r.Result != nil, r.raw)
					if c.result {
						require.Contains(t, r.raw, `"verdicts"`)
					} else {
						require.Contains(t, r.Error.Message, "was carried out")
					}
				}
				w.send(`{"jsonrpc":"2.0","id":"then","method":"ping"}`)
				require.Equal(t, `"then"`, string(w.next().ID))
				var tools []string
				for _, inv := range g.stopped() {
					tools = append(tools, inv.Tool)
					require.Equal(t, "alice", inv.Principal)
					require.Equal(t, "left", inv.Session)
				}
				require.Equal(t, c.tools, tools)
				if c.args != "" {
					require.Equal(t, c.args, string(g.stopped()[0].Args))
				}
				require.Len(t, g.calls(), len(c.tools), "nothing else rides on the stop's exemption")
			})
		}
	}
}

// A stop on a line without an end acts when it is read, not when the line ends.
func TestG6_AStopActsBeforeItsLineEnds(t *testing.T) {
	g := newFake()
	w := stdio(t, g, func(o *mcp.Options) { o.MaxBody = 4000 }).read()
	go func() {
		_, _ = fmt.Fprintf(w.in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"a":"%s"},"name":"stop",`, strings.Repeat("x", 100_000))
	}()
	require.Equal(t, "stop", waitFor(t, g.stopping, "the stop"))
}

func TestG6_AStopOnALineWorksWhileEverythingIsBusy(t *testing.T) {
	g := newFake()
	w := stdio(t, g, func(o *mcp.Options) { o.MaxOpen, o.MaxRequests = 2, 3 }).read().init("2025-11-25")
	w.send(toolCall("1", "move_joints", move, "2025-11-25", ""), toolCall("2", "move_joints", move, "2025-11-25", ""))
	g.asked(t)
	g.asked(t)
	w.send(toolCall("3", "move_joints", move, "2025-11-25", ""))
	r := w.next()
	require.Contains(t, string(r.Result.Structured), string(gate.CodeOverload))
	g.hold = make(chan struct{}) // stops have no verdict yet
	w.send(toolCall("4", "stop", `{}`, "2025-11-25", ""), toolCall("5", "estop", `{}`, "2025-11-25", ""))
	require.Equal(t, "stop", waitFor(t, g.stopping, "the stop"))
	require.Equal(t, "estop", waitFor(t, g.stopping, "the estop"), "it doesn't wait for the stop's verdicts")
	close(g.hold)
	got := map[string]bool{}
	for range 4 {
		got[string(w.next().ID)] = true
	}
	require.Equal(t, map[string]bool{"1": true, "2": true, "4": true, "5": true}, got)
}

func TestStdioTakesNoMoreThanItsLimit(t *testing.T) {
	g := newFake()
	w := stdio(t, g, func(o *mcp.Options) { o.MaxRequests = 2 }).read().init("2025-11-25")
	w.send(toolCall("1", "move_joints", move, "2025-11-25", ""), toolCall("2", "move_joints", move, "2025-11-25", ""))
	g.asked(t)
	g.asked(t)
	w.send(toolCall("3", "robot_state", "{}", "2025-11-25", ""))
	r := w.next()
	require.Equal(t, "3", string(r.ID))
	require.Equal(t, -32000, r.Error.Code)
	require.Contains(t, r.Error.Message, "2 requests are open")
}

// Unknown tools reach the gate's log, as over HTTP.
func TestG8_StdioUnknownTool(t *testing.T) {
	g := newFake()
	w := stdio(t, g, nil).read().init("2025-11-25")
	w.send(toolCall("1", "rm_rf", "{}", "2025-11-25", ""))
	r := w.next()
	require.True(t, r.Result.IsError)
	require.Equal(t, "Tool 'rm_rf' is not registered; it was not run.", r.Result.Content[0].Text)
	require.Equal(t, "rm_rf", g.calls()[0].Tool)
}
