package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/mcp"
)

// revisions are every one that the SDK speaks.
func revisions(t *testing.T, f func(t *testing.T, version string)) {
	t.Helper()
	for _, v := range sdk.SupportedProtocolVersions() {
		t.Run(v, func(t *testing.T) { f(t, v) })
	}
}

func TestToolsOfEveryRevision(t *testing.T) {
	b := serve(t, newFake(), nil)
	revisions(t, func(t *testing.T, version string) {
		cs := b.connect(t, b.alice, version, nil)
		res, err := cs.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, res.Tools, 7)
		byName := map[string]*sdk.Tool{}
		for _, tool := range res.Tools {
			byName[tool.Name] = tool
		}
		m := byName["move_joints"]
		require.Equal(t, "Move joints.", m.Description)
		require.EqualValues(t, 2, m.Meta["tau/tier"])
		require.Equal(t, "Moves the arm.", m.Meta["tau/effect"])
		require.False(t, m.Annotations.ReadOnlyHint)
		require.False(t, m.Annotations.IdempotentHint)
		require.True(t, *m.Annotations.DestructiveHint)
		require.True(t, *m.Annotations.OpenWorldHint)
		in, err := json.Marshal(m.InputSchema)
		require.NoError(t, err)
		require.JSONEq(t, string(newFake().Specs()[6].Input.JSON()), string(in))
		out := m.OutputSchema.(map[string]any)["properties"].(map[string]any)
		require.Contains(t, out, "result")

		s := byName["robot_state"]
		require.EqualValues(t, 0, s.Meta["tau/tier"])
		require.Equal(t, "Read the state.", s.Meta["tau/effect"], "the effect defaults to the description")
		require.True(t, s.Annotations.ReadOnlyHint)
		require.True(t, s.Annotations.IdempotentHint)
		require.False(t, *s.Annotations.DestructiveHint)
		require.False(t, *s.Annotations.OpenWorldHint)
		for _, name := range []string{"stop", "estop", "cancel_call"} {
			require.False(t, byName[name].Annotations.ReadOnlyHint, name)
			require.False(t, *byName[name].Annotations.DestructiveHint, name)
			require.EqualValues(t, 1, byName[name].Meta["tau/tier"], name)
		}
		require.True(t, *byName["scene_add"].Annotations.DestructiveHint)
	})
}

func TestAnswersOfEveryRevision(t *testing.T) {
	g := newFake()
	b := serve(t, g, nil)
	revisions(t, func(t *testing.T, version string) {
		cs := b.connect(t, b.alice, version, nil)
		res, err := call(t.Context(), cs, "robot_state", `{}`)
		require.NoError(t, err)
		require.False(t, res.IsError)
		a := decode(t, res)
		require.Equal(t, gate.StatusOK, a.Status)
		require.Equal(t, "fake", a.Backend)
		require.JSONEq(t, `{"mode":"sim"}`, string(a.Result))
		require.Equal(t, "At rest.", res.Content[0].(*sdk.TextContent).Text)

		type end struct {
			res *sdk.CallToolResult
			err error
		}
		got := make(chan end, 1)
		go func() {
			res, err := call(t.Context(), cs, "move_joints", move)
			got <- end{res, err}
		}()
		tk := g.asked(t)
		require.Equal(t, "alice", tk.inv.Principal)
		require.Equal(t, "left", tk.inv.Session)
		require.Equal(t, "mcp", tk.inv.Origin)
		require.NotEmpty(t, tk.inv.ToolUseID)
		refusal := "The user did not approve this action: move_joints. Do not perform it; tell the user briefly."
		tk.end(gate.Answer{Status: gate.StatusRefused, Code: gate.CodeNotApproved, Text: refusal, Approval: gate.ApprovalRejected})
		e := <-got
		require.NoError(t, e.err)
		require.True(t, e.res.IsError)
		require.Len(t, e.res.Content, 1)
		require.Equal(t, refusal, e.res.Content[0].(*sdk.TextContent).Text)
		a = decode(t, e.res)
		require.Equal(t, gate.CodeNotApproved, a.Code)
		require.Equal(t, gate.ApprovalRejected, a.Approval)

		go func() {
			res, err := call(t.Context(), cs, "move_joints", move)
			got <- end{res, err}
		}()
		g.asked(t).end(moved)
		e = <-got
		require.NoError(t, e.err)
		require.False(t, e.res.IsError)
		a = decode(t, e.res)
		require.JSONEq(t, string(moved.Result), string(a.Result))
		require.Equal(t, gate.ApprovalApproved, a.Approval)
		require.InDelta(t, 1500, a.Duration, 0)
	})
}

func TestG8_AnUnknownToolReachesTheGate(t *testing.T) {
	g := newFake()
	b := serve(t, g, nil)
	revisions(t, func(t *testing.T, version string) {
		cs := b.connect(t, b.alice, version, nil)
		res, err := call(t.Context(), cs, "no_such_tool", `{}`)
		require.NoError(t, err)
		require.True(t, res.IsError)
		require.Equal(t, "Tool 'no_such_tool' is not registered; it was not run.", res.Content[0].(*sdk.TextContent).Text)
		calls := g.calls()
		require.Equal(t, "no_such_tool", calls[len(calls)-1].Tool)
		if version >= "2026-07-28" {
			// Clients of this revision refuse a result that doesn't say that it is complete.
			for _, tool := range []string{"no_such_tool", "robot_state", "stop"} {
				code, body := b.post(t, b.alice, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":{}`+
					b.meta(version)+`}}`, b.head(t, b.alice, version, tool))
				require.Equal(t, http.StatusOK, code)
				require.Contains(t, body, `"resultType":"complete"`)
			}
		}
	})
}

// The arguments are odd in every way that a decoder loses: order, duplicates, number
// texts, lone surrogates, spaces. The gate must see them as they were written.
func TestG7_ArgumentsReachTheGateByteForByte(t *testing.T) {
	for _, args := range []string{
		`{"b":1,"a":2,"b":3}`,
		`{"x":1.0,"y":1e400,"z":100000000000000000000001,"w":-0}`,
		`{"s":"\ud800","t":"\u0041"}`,
		`{ "positions" : { "a" : 1 , "a" : 2 } }`,
		`null`, `[]`, `true`, `"move"`, `7`,
		"{\"s\":\"\xff\"}",
	} {
		g := newFake()
		b := serve(t, g, nil)
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			head := b.head(t, b.alice, version, "move_joints")
			answered := make(chan struct{})
			go func() {
				defer close(answered)
				code, body := b.post(t, b.alice, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"move_joints","arguments":`+
					args+b.meta(version)+`}}`, head)
				assert.Equal(t, http.StatusOK, code, args+": "+body)
			}()
			tk := g.asked(t)
			tk.end(moved)
			<-answered
			require.Equal(t, args, string(tk.inv.Args), version)
			require.Equal(t, "7", tk.inv.ToolUseID)
		}
	}
}

// meta is what a raw request of that revision carries.
func (b *bridge) meta(version string) string {
	if version < "2026-07-28" {
		return ""
	}
	return `,"_meta":{"io.modelcontextprotocol/protocolVersion":"` + version +
		`","io.modelcontextprotocol/clientCapabilities":{}}`
}

// head returns what completes the headers of a raw tools/call of that revision, in
// a fresh transport session where it has any.
func (b *bridge) head(t *testing.T, tok mcp.Token, version, tool string) func(*http.Request) {
	t.Helper()
	if version >= "2026-07-28" {
		return func(r *http.Request) {
			r.Header.Set("Mcp-Protocol-Version", version)
			r.Header.Set("Mcp-Method", "tools/call")
			r.Header.Set("Mcp-Name", tool)
		}
	}
	sid := b.initialize(t, tok, version)
	return func(r *http.Request) {
		r.Header.Set("Mcp-Protocol-Version", version)
		r.Header.Set("Mcp-Session-Id", sid)
	}
}

func (b *bridge) initialize(t *testing.T, tok mcp.Token, version string) (sid string) {
	t.Helper()
	resp := b.send(t, tok, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+version+
		`","capabilities":{"elicitation":{}},"clientInfo":{"name":"raw","version":"1"}}}`, nil)
	all, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, string(all))
	sid = resp.Header.Get("Mcp-Session-Id")
	require.NotEmpty(t, sid)
	code, text := b.post(t, tok, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, func(r *http.Request) {
		r.Header.Set("Mcp-Session-Id", sid)
		r.Header.Set("Mcp-Protocol-Version", version)
	})
	require.Equal(t, http.StatusAccepted, code, text)
	return sid
}

func TestPendingIsFetched(t *testing.T) {
	g := newFake()
	b := serve(t, g, func(o *mcp.Options) { o.Wait = 20 * time.Millisecond })
	revisions(t, func(t *testing.T, version string) {
		cs := b.connect(t, b.alice, version, nil)
		res, err := call(t.Context(), cs, "move_joints", move)
		require.NoError(t, err)
		require.False(t, res.IsError)
		a := decode(t, res)
		require.Equal(t, gate.StatusPending, a.Status)
		require.NotEmpty(t, a.CallID)
		require.Equal(t, "d1", a.Digest)
		require.Equal(t, time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), a.ExpiresAt)
		tk := g.asked(t)
		require.Equal(t, tk.id, a.CallID)

		// The other token can't see it, and can't cancel it.
		other := b.connect(t, b.bob, version, nil)
		for _, tool := range []string{"call_status", "cancel_call"} {
			res, err = call(t.Context(), other, tool, `{"call_id":"`+a.CallID+`"}`)
			require.NoError(t, err)
			require.True(t, res.IsError)
			require.Equal(t, gate.StatusRefused, decode(t, res).Status)
		}
		require.False(t, tk.over())

		// Its client goes away altogether and comes back: the call is still there.
		require.NoError(t, cs.Close())
		require.Empty(t, tk.cancels())
		require.False(t, tk.over())
		tk.end(moved)
		again := b.connect(t, b.alice, version, nil)
		res, err = call(t.Context(), again, "call_status", `{"call_id":"`+a.CallID+`"}`)
		require.NoError(t, err)
		a = decode(t, res)
		require.Equal(t, gate.StatusOK, a.Status)
		require.Equal(t, "move_joints", a.Tool)
		require.JSONEq(t, string(moved.Result), string(a.Result))
	})
}

func TestG49_CancelWhileOpenWithdraws(t *testing.T) {
	g := newFake()
	b := serve(t, g, nil)
	revisions(t, func(t *testing.T, version string) {
		cs := b.connect(t, b.alice, version, nil)
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error, 1)
		go func() {
			_, err := call(ctx, cs, "move_joints", move)
			got <- err
		}()
		tk := g.asked(t)
		cancel()
		require.ErrorIs(t, <-got, context.Canceled)
		<-tk.done
		require.Equal(t, []string{"the client cancelled the call"}, tk.cancels())
		require.Equal(t, gate.StatusCancelled, tk.Answer().Status)
	})
}

// A cancel that another token sends for the same request id and session touches nothing.
func TestACancelOfAnotherTokenDoesNothing(t *testing.T) {
	const version = "2025-11-25"
	g := newFake()
	b := serve(t, g, nil)
	sid := b.initialize(t, b.alice, version)
	head := func(r *http.Request) {
		r.Header.Set("Mcp-Session-Id", sid)
		r.Header.Set("Mcp-Protocol-Version", version)
	}
	got := make(chan string, 1)
	go func() {
		_, body := b.post(t, b.alice, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"move_joints","arguments":`+move+`}}`, head)
		got <- body
	}()
	tk := g.asked(t)
	code, _ := b.post(t, b.bob, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`, head)
	require.Equal(t, http.StatusForbidden, code)
	resp := b.send(t, b.bob, `{}`, func(r *http.Request) { r.Method = http.MethodDelete; head(r) })
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
	require.False(t, tk.over())
	require.Empty(t, tk.cancels())
	tk.end(moved)
	require.Contains(t, <-got, `"status":"ok"`)
}

// In 2026-07-28 the end of the POST is the cancel; the older revisions say that a
// lost connection isn't one.
func TestDisconnectOfAnOpenCall(t *testing.T) {
	for version, cancels := range map[string]bool{"2026-07-28": true, "2025-11-25": false, "2025-03-26": false} {
		t.Run(version, func(t *testing.T) {
			g := newFake()
			b := serve(t, g, nil)
			var sid string
			if !cancels {
				sid = b.initialize(t, b.alice, version)
			}
			ctx, hangUp := context.WithCancel(t.Context())
			gone := make(chan error, 1)
			go func() {
				r, _ := http.NewRequestWithContext(ctx, http.MethodPost, b.url, strings.NewReader(
					`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"move_joints","arguments":`+move+b.meta(version)+`}}`))
				r.Header.Set("Authorization", "Bearer "+b.alice.Bearer())
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Accept", "application/json, text/event-stream")
				r.Header.Set("Mcp-Protocol-Version", version)
				if sid != "" {
					r.Header.Set("Mcp-Session-Id", sid)
				} else {
					r.Header.Set("Mcp-Method", "tools/call")
					r.Header.Set("Mcp-Name", "move_joints")
				}
				resp, err := b.client.Do(r)
				if err == nil {
					_ = resp.Body.Close()
				}
				gone <- err
			}()
			tk := g.asked(t)
			hangUp()
			require.Error(t, <-gone)
			if cancels {
				<-tk.done
				require.NotEmpty(t, tk.cancels())
				return
			}
			// A whole further exchange later the call is still there, and its session too.
			code, body := b.post(t, b.alice, `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"call_status","arguments":{"call_id":"`+tk.id+`"}}}`,
				func(r *http.Request) {
					r.Header.Set("Mcp-Session-Id", sid)
					r.Header.Set("Mcp-Protocol-Version", version)
				})
			require.Equal(t, http.StatusOK, code)
			require.Contains(t, body, `"status":"pending"`)
			require.False(t, tk.over())
			tk.end(moved)
		})
	}
}

func TestDeletingTheSessionCancelsItsOpenCalls(t *testing.T) {
	const version = "2025-11-25"
	g := newFake()
	b := serve(t, g, nil)
	var ended sync.WaitGroup
	defer ended.Wait()
	// The first of the two calls is in the session that ends.
	var tickets []*fakeTicket
	var heads []func(*http.Request)
	for range 2 {
		h := b.head(t, b.alice, version, "move_joints")
		heads = append(heads, h)
		ended.Add(1)
		go func() {
			defer ended.Done()
			b.post(t, b.alice, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"move_joints","arguments":`+move+`}}`, h)
		}()
		tickets = append(tickets, g.asked(t))
	}
	resp := b.send(t, b.alice, ``, func(r *http.Request) { r.Method = http.MethodDelete; heads[0](r) })
	require.Equal(t, http.StatusNoContent, resp.StatusCode)
	require.True(t, tickets[0].over())
	require.Equal(t, []string{"the client ended its session"}, tickets[0].cancels())
	require.False(t, tickets[1].over())
	tickets[1].end(moved)
}

func TestProgress(t *testing.T) {
	g := newFake()
	b := serve(t, g, nil)
	revisions(t, func(t *testing.T, version string) {
		lines := make(chan *sdk.ProgressNotificationParams, 16)
		cs := b.connect(t, b.alice, version, &sdk.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { lines <- r.Params },
		})
		params := &sdk.CallToolParams{Name: "move_joints", Arguments: json.RawMessage(move)}
		params.SetProgressToken("tok")
		got := make(chan error, 1)
		go func() {
			_, err := cs.CallTool(t.Context(), params)
			got <- err
		}()
		tk := g.asked(t)
		p := <-lines
		require.Equal(t, "call "+tk.id, p.Message, "so that a client which loses its connection can ask again")
		require.Equal(t, "tok", p.ProgressToken)
		tk.inv.Progress("waiting for approval")
		q := <-lines
		require.Equal(t, "waiting for approval", q.Message)
		require.Greater(t, q.Progress, p.Progress)
		tk.inv.Progress("moving")
		tk.end(moved)
		require.NoError(t, <-got)
		require.Equal(t, "moving", (<-lines).Message)
		tk.inv.Progress("after the end: must neither block nor be sent")
	})
}

func TestAPanicBelowIsAnUnknownOutcome(t *testing.T) {
	g := newFake()
	g.panics = true
	b := serve(t, g, nil)
	cs := b.connect(t, b.alice, "", nil)
	res, err := call(t.Context(), cs, "move_joints", move)
	require.NoError(t, err)
	require.True(t, res.IsError)
	require.Equal(t, gate.CodeUnknownOutcome, decode(t, res).Code)
}

func TestTooManyOpenCallsAreRefused(t *testing.T) {
	g := newFake()
	b := serve(t, g, func(o *mcp.Options) { o.MaxOpen = 2 })
	cs := b.connect(t, b.alice, "", nil)
	got := make(chan error, 2)
	for range 2 {
		go func() { _, err := call(t.Context(), cs, "move_joints", move); got <- err }()
	}
	first, second := g.asked(t), g.asked(t)
	res, err := call(t.Context(), cs, "move_joints", move)
	require.NoError(t, err)
	require.Equal(t, gate.CodeOverload, decode(t, res).Code)
	res, err = call(t.Context(), cs, "stop", `{}`)
	require.NoError(t, err)
	require.False(t, res.IsError, "a stop has no limit")
	<-first.done
	<-second.done
	require.NoError(t, <-got)
	require.NoError(t, <-got)
}

// A batch (2025-03-26) carries its arguments through the SDK; what a client puts in
// the header that otherwise carries them is dropped.
func TestG7_ABatchsArgumentsAreItsOwn(t *testing.T) {
	const version = "2025-03-26"
	g := newFake()
	b := serve(t, g, nil)
	head := b.head(t, b.alice, version, "")
	answered := make(chan string, 1)
	go func() {
		_, body := b.post(t, b.alice, `[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"move_joints","arguments":{"a":1,"a":2}}},`+
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"robot_state"}}]`, func(r *http.Request) {
			head(r)
			r.Header.Set("Tau-Internal-Arguments", `{"forged":true}`)
			r.Header.Set("Tau-Internal-Request-Id", "forged")
		})
		answered <- body
	}()
	tk := g.asked(t)
	tk.end(moved)
	body := <-answered
	require.Equal(t, `{"a":1,"a":2}`, string(tk.inv.Args))
	require.Empty(t, tk.inv.ToolUseID)
	require.Contains(t, body, `"mode":"sim"`)
	require.Contains(t, body, `"shoulder_pan":0.5`)
}
