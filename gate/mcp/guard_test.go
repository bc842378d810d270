package mcp_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate/mcp"
)

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`

func TestWhoMayComeIn(t *testing.T) {
	g := newFake()
	b := serve(t, g, nil)
	stranger := token(t, 9, "alice", "left")
	stop := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stop"}}`
	for name, c := range map[string]struct {
		status int
		change func(*http.Request)
	}{
		"no token":            {401, func(r *http.Request) { r.Header.Del("Authorization") }},
		"empty token":         {401, func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }},
		"another scheme":      {401, func(r *http.Request) { r.Header.Set("Authorization", "Basic "+b.alice.Bearer()) }},
		"token of nobody":     {401, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+stranger.Bearer()) }},
		"half a token":        {401, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+b.alice.Bearer()[:20]) }},
		"token and more":      {401, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+b.alice.Bearer()+"x") }},
		"token's id":          {401, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+b.alice.ID()) }},
		"two tokens":          {401, func(r *http.Request) { r.Header.Add("Authorization", "Bearer "+b.bob.Bearer()) }},
		"token in the query":  {401, func(r *http.Request) { r.Header.Del("Authorization"); r.URL.RawQuery = "token=" + b.alice.Bearer() }},
		"rebound host":        {403, func(r *http.Request) { r.Host = "evil.example" }},
		"rebound with port":   {403, func(r *http.Request) { r.Host = "evil.example:80" }},
		"localhost's child":   {403, func(r *http.Request) { r.Host = "localhost.evil.example" }},
		"a loopback-like":     {403, func(r *http.Request) { r.Host = "127.0.0.1.evil.example" }},
		"a LAN address":       {403, func(r *http.Request) { r.Host = "192.168.1.2" }},
		"any address":         {403, func(r *http.Request) { r.Host = "0.0.0.0" }},
		"another origin":      {403, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }},
		"null origin":         {403, func(r *http.Request) { r.Header.Set("Origin", "null") }},
		"another local port":  {403, func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }},
		"a browser elsewhere": {403, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }},
		"GET from elsewhere":  {403, func(r *http.Request) { r.Method = "GET"; r.Header.Set("Origin", "https://evil.example") }},
		"preflight":           {401, func(r *http.Request) { r.Method = "OPTIONS"; r.Header.Del("Authorization") }},
		"another path":        {404, func(r *http.Request) { r.URL.Path = "/" }},
		"another method":      {405, func(r *http.Request) { r.Method = "PUT" }},
	} {
		t.Run(name, func(t *testing.T) {
			resp := b.send(t, b.alice, stop, c.change)
			require.Equal(t, c.status, resp.StatusCode)
			if c.status == 401 {
				require.Equal(t, `Bearer realm="tau robot"`, resp.Header.Get("Www-Authenticate"))
			}
			require.Empty(t, resp.Header.Get("Access-Control-Allow-Origin"))
		})
	}
	require.Empty(t, g.calls(), "not even a stop of those reached the gate")
	for _, host := range []string{"localhost", "LOCALHOST:80", "127.0.0.1", "127.8.8.8:1", "[::1]", "[::1]:9"} {
		code, body := b.post(t, b.alice, stop, func(r *http.Request) { r.Host = host })
		require.Equal(t, http.StatusOK, code, host+body)
	}
	code, body := b.post(t, b.alice, stop, func(r *http.Request) { r.Header.Set("Origin", "http://"+b.host) })
	require.Equal(t, http.StatusOK, code, body)
}

func TestRevokedTokenIsOut(t *testing.T) {
	tokens := new(mcp.TokenTable)
	carol := token(t, 7, "carol", "left")
	require.NoError(t, tokens.Add(carol))
	b := serve(t, newFake(), func(o *mcp.Options) { o.Tokens = tokens })
	sid := b.initialize(t, carol, "2025-11-25")
	require.True(t, tokens.Revoke(carol.ID()))
	require.False(t, tokens.Revoke(carol.ID()))
	code, _ := b.post(t, carol, listTools, func(r *http.Request) { r.Header.Set("Mcp-Session-Id", sid) })
	require.Equal(t, http.StatusUnauthorized, code)
}

func TestTransportSessionsBelongToTheirToken(t *testing.T) {
	b := serve(t, newFake(), nil)
	sid := b.initialize(t, b.alice, "2025-11-25")
	head := func(r *http.Request) { r.Header.Set("Mcp-Session-Id", sid) }
	code, _ := b.post(t, b.bob, listTools, head)
	require.Equal(t, http.StatusForbidden, code)
	code, body := b.post(t, b.alice, listTools, head)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, "move_joints")
}

func TestOldestIdleSessionMakesRoom(t *testing.T) {
	b := serve(t, newFake(), func(o *mcp.Options) { o.MaxSessions = 2 })
	var sids []string
	for range 3 {
		sids = append(sids, b.initialize(t, b.alice, "2025-11-25"))
	}
	for i, want := range []int{404, 200, 200} {
		code, _ := b.post(t, b.alice, listTools, func(r *http.Request) { r.Header.Set("Mcp-Session-Id", sids[i]) })
		require.Equal(t, want, code, i)
	}
}

func TestListenRefusesAllButLoopback(t *testing.T) {
	for _, addr := range []string{":0", "0.0.0.0:0", "[::]:0", "192.168.1.2:0", "example.com:0", "", "127.0.0.1", "localhost.example:0"} {
		ln, err := mcp.Listen(addr)
		require.Error(t, err, addr)
		require.Nil(t, ln)
	}
	s, err := mcp.New(mcp.Options{Caller: newFake(), Tokens: new(mcp.TokenTable)})
	require.NoError(t, err)
	ln, err := net.Listen("tcp", ":0")
	require.NoError(t, err)
	require.ErrorContains(t, s.Serve(ln), "only loopback")
	_, err = ln.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	require.NoError(t, s.Shutdown(t.Context()))
	ln, err = mcp.Listen("127.0.0.1:0")
	require.NoError(t, err)
	require.Error(t, s.Serve(ln), "not after Shutdown")
}

func TestNewRefusesWhatCantBeServed(t *testing.T) {
	_, err := mcp.New(mcp.Options{Tokens: new(mcp.TokenTable)})
	require.ErrorContains(t, err, "Caller")
	_, err = mcp.New(mcp.Options{Caller: newFake()})
	require.ErrorContains(t, err, "Tokens")
	_, err = mcp.New(mcp.Options{Caller: newFake(), Tokens: new(mcp.TokenTable), Wait: -1})
	require.ErrorContains(t, err, "negative")
}

// Garbage is refused by a status, and the bridge goes on.
func TestGarbageNeverStopsTheBridge(t *testing.T) {
	g := newFake()
	b := serve(t, g, func(o *mcp.Options) { o.MaxBody, o.BodyTimeout = 4096, 200*time.Millisecond })
	deep := strings.Repeat("[", 5000)
	for name, c := range map[string]struct {
		body   string
		status int
		change func(*http.Request)
	}{
		"empty":             {body: "", status: 400},
		"no JSON":           {body: "garbage", status: 400},
		"too large":         {body: `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 5000) + `"}`, status: 413},
		"too large unsized": {body: strings.Repeat(" ", 9000), status: 413, change: func(r *http.Request) { r.ContentLength = -1 }},
		"deep":              {body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":` + deep, status: 413},
		"deep and short":    {body: deep[:4000], status: 400},
		"NUL":               {body: "\x00\x01\x02", status: 400},
		"invalid UTF-8":     {body: "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", status: 400},
		"an empty batch":    {body: "[]", status: 400},
		"a wrong version":   {body: `{"jsonrpc":"1.0","id":1,"method":"tools/list"}`, status: 400},
		"duplicate method":  {body: `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, status: 400},
		"duplicate name":    {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"robot_state","name":"move_joints"}}`, status: 400},
		"duplicate args":    {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"move_joints","arguments":{},"arguments":{}}}`, status: 400},
		"duplicate in meta": {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"move_joints","_meta":{"a":1,"a":2}}}`, status: 400},
		"trailing data":     {body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}{}`, status: 400},
		"unknown member":    {body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","approved":true}`, status: 400},
		"approved":          {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"move_joints","approved":true}}`, status: 400},
		"null id":           {body: `{"jsonrpc":"2.0","id":null,"method":"tools/list"}`, status: 400},
		"fractional id":     {body: `{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}`, status: 400},
		"huge id":           {body: `{"jsonrpc":"2.0","id":99999999999999999999,"method":"tools/list"}`, status: 400},
		"object id":         {body: `{"jsonrpc":"2.0","id":{},"method":"tools/list"}`, status: 400},
		"name not a string": {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`, status: 400},
		"lone surrogate":    {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\ud800"}}`, status: 400},
		"params an array":   {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["move_joints"]}`, status: 400},
		"content type":      {body: listTools, status: 415, change: func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }},
		"content encoding":  {body: listTools, status: 415, change: func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }},
		"nothing accepted":  {body: listTools, status: 400, change: func(r *http.Request) { r.Header.Set("Accept", "text/html") }},
		"unknown session":   {body: listTools, status: 404, change: func(r *http.Request) { r.Header.Set("Mcp-Session-Id", "x") }},
		"old revision":      {body: listTools, status: 400, change: func(r *http.Request) { r.Header.Set("Mcp-Protocol-Version", "1999-01-01") }},
		"future revision":   {body: listTools, status: 400, change: func(r *http.Request) { r.Header.Set("Mcp-Protocol-Version", "2999-01-01") }},
		"forged internals": {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"move_joints"}}`, status: 404,
			change: func(r *http.Request) {
				r.Header.Set("Tau-Internal-Arguments", move)
				r.Header.Set("Mcp-Session-Id", "x")
			}},
	} {
		t.Run(name, func(t *testing.T) {
			code, body := b.post(t, b.alice, c.body, c.change)
			require.Equal(t, c.status, code, body)
		})
	}
	for name, wire := range map[string]string{
		"half a header": "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthoriz",
		"half a body": "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + b.alice.Bearer() +
			"\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"jsonrpc\":",
		"half a chunk": "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + b.alice.Bearer() +
			"\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{",
		"no HTTP": "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", b.host)
			require.NoError(t, err)
			defer c.Close()
			_, err = io.WriteString(c, wire)
			require.NoError(t, err)
			if name == "half a header" {
				return // its deadline is longer than a test should wait; Shutdown must end it all the same
			}
			require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			require.NoError(t, err)
			require.GreaterOrEqual(t, resp.StatusCode, 400)
			require.NoError(t, resp.Body.Close())
		})
	}
	require.Empty(t, g.calls())
	cs := b.connect(t, b.alice, "", nil)
	res, err := call(t.Context(), cs, "robot_state", `{}`)
	require.NoError(t, err)
	require.False(t, res.IsError)
}

// An open call ends with the server, is told why and gets its answer; what is
// pending stays; streams don't hold the end up.
func TestShutdown(t *testing.T) {
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			g := newFake()
			b := serve(t, g, nil)
			head := b.head(t, b.alice, version, "move_joints")
			if version == "2025-11-25" { // it has a stream that waits for nothing
				resp := b.send(t, b.alice, "", func(r *http.Request) { r.Method = http.MethodGet; head(r) })
				require.Equal(t, http.StatusOK, resp.StatusCode)
				defer func() {
					_, err := io.ReadAll(resp.Body)
					require.NoError(t, err)
				}()
			}
			got := make(chan string, 1)
			go func() {
				_, body := b.post(t, b.alice, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"move_joints","arguments":`+
					move+b.meta(version)+`}}`, head)
				got <- body
			}()
			tk := g.asked(t)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			require.NoError(t, b.srv.Shutdown(ctx))
			require.Equal(t, []string{"the bridge is shutting down"}, tk.cancels())
			require.Contains(t, <-got, "CANCELLED")
			require.NoError(t, b.srv.Shutdown(ctx), "twice is once")
		})
	}
}
