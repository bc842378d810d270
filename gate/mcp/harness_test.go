package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/mcp"
)

// bridge is a server on a loopback port with two tokens.
type bridge struct {
	srv        *mcp.Server
	url        string
	host       string
	alice, bob mcp.Token
	client     *http.Client
}

func token(t *testing.T, seed byte, principal, session string) mcp.Token {
	t.Helper()
	tok, err := mcp.NewToken(rand.NewChaCha8([32]byte{seed}), principal, session)
	require.NoError(t, err)
	return tok
}

// serve starts a server and shuts it down at the end of the test.
func serve(t *testing.T, caller gate.Caller, change func(*mcp.Options)) *bridge {
	t.Helper()
	b := &bridge{alice: token(t, 1, "alice", "left"), bob: token(t, 2, "bob", "right")}
	tokens := new(mcp.TokenTable)
	require.NoError(t, tokens.Add(b.alice))
	require.NoError(t, tokens.Add(b.bob))
	o := mcp.Options{Caller: caller, Tokens: tokens, Version: "test"}
	if change != nil {
		change(&o)
	}
	var err error
	b.srv, err = mcp.New(o)
	require.NoError(t, err)
	ln, err := mcp.Listen("127.0.0.1:0")
	require.NoError(t, err)
	b.host = ln.Addr().String()
	b.url = "http://" + b.host + mcp.Path
	served := make(chan error, 1)
	go func() { served <- b.srv.Serve(ln) }()
	tr := &http.Transport{}
	b.client = &http.Client{Transport: tr}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		tr.CloseIdleConnections()
		require.NoError(t, b.srv.Shutdown(ctx))
		require.NoError(t, <-served)
		tr.CloseIdleConnections()
	})
	return b
}

// send posts a body with everything in place but what change alters.
func (b *bridge) send(t *testing.T, tok mcp.Token, body string, change func(*http.Request)) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+tok.Bearer())
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if change != nil {
		change(r)
	}
	resp, err := b.client.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func (b *bridge) post(t *testing.T, tok mcp.Token, body string, change func(*http.Request)) (int, string) {
	t.Helper()
	resp := b.send(t, tok, body, change)
	all, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(all)
}

// bearerTransport adds the token to each request of an SDK client.
type bearerTransport struct {
	base  http.RoundTripper
	token string
}

func (b bearerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.base.RoundTrip(r)
}

// connect connects the Go SDK's client, which speaks the newest revision unless one
// of the older is asked for.
func (b *bridge) connect(t *testing.T, tok mcp.Token, version string, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	if o == nil {
		o = &sdk.ClientOptions{}
	}
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o)
	tr := &http.Transport{}
	cs, err := c.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint:   b.url,
		HTTPClient: &http.Client{Transport: bearerTransport{tr, tok.Bearer()}},
		MaxRetries: -1,
	}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = cs.Close()
		tr.CloseIdleConnections()
	})
	return cs
}

type answer struct {
	Status    gate.Status       `json:"status"`
	Tool      string            `json:"tool"`
	Code      gate.Code         `json:"code"`
	Text      string            `json:"text"`
	Where     string            `json:"where"`
	Value     *gate.Quantity    `json:"value"`
	Limit     *gate.Quantity    `json:"limit"`
	Nearest   []gate.Quantity   `json:"nearest"`
	Result    json.RawMessage   `json:"result"`
	Approval  gate.ApprovalKind `json:"approval"`
	CallID    string            `json:"call_id"`
	Session   string            `json:"session"`
	Mode      gate.Mode         `json:"mode"`
	Backend   string            `json:"backend"`
	Digest    string            `json:"digest"`
	ExpiresAt time.Time         `json:"expires_at"`
	Duration  float64           `json:"duration_ms"`
}

func decode(t *testing.T, res *sdk.CallToolResult) answer {
	t.Helper()
	b, err := json.Marshal(res.StructuredContent)
	require.NoError(t, err)
	var a answer
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&a))
	return a
}

func call(ctx context.Context, cs *sdk.ClientSession, tool, args string) (*sdk.CallToolResult, error) {
	return cs.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
}

const move = `{"positions":{"shoulder_pan":0.5}}`
