package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/telegram"
	"github.com/tau-robot/tau/gate/approver/telegram/telegramtest"
	"github.com/tau-robot/tau/gate/approver/web"
	"github.com/tau-robot/tau/gate/approver/web/webtest"
)

const (
	chatOfAda = 100
	ada       = 1
)

// settingsFile writes an operator's settings.
func settingsFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "settings.toml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// telegramSettings has a bridge ask over a stand-in of the Bot API.
func telegramSettings(t *testing.T, token, api string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(token+"\n"), 0o600))
	return settingsFile(t, fmt.Sprintf("[telegram]\ntoken_file = %q\nchats = [%d]\nusers = [%d]\napi = %q\n", file, chatOfAda, ada, api))
}

// remote is a bridge without a terminal, whose client is an agent over HTTP.
type remote struct {
	*proc
	dir   string
	agent *sdk.ClientSession
}

// withToken adds MCP's token to each request.
type withToken struct {
	base  http.RoundTripper
	token string
}

func (b withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.base.RoundTrip(r)
}

// toolReply is the end of a call.
type toolReply struct {
	Status string          `json:"status"`
	Code   string          `json:"code"`
	Text   string          `json:"text"`
	Result json.RawMessage `json:"result"`
}

func startRemote(t *testing.T, dir string, flags ...string) *remote {
	t.Helper()
	r := &remote{proc: start(t, nil, append([]string{"robot", "sim", "--clock", "fast", "--data-dir", dir}, flags...)...), dir: dir}
	r.stderr.await(t, "MCP at ", 0)
	r.stderr.await(t, "standard input is no terminal", 0)
	url := regexp.MustCompile(`MCP at (http://[^, ]+),`).FindStringSubmatch(r.stderr.String())
	require.NotNil(t, url)
	token, err := os.ReadFile(filepath.Join(dir, "mcp.token"))
	require.NoError(t, err)
	tr := &http.Transport{}
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	r.agent, err = c.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: url[1], HTTPClient: &http.Client{Transport: withToken{tr, strings.SplitN(string(token), "\n", 2)[0]}}, MaxRetries: -1,
	}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.agent.Close(); tr.CloseIdleConnections() })
	return r
}

// call makes the agent call a tool; what comes of it arrives on the channel.
func (r *remote) call(tool, args string) <-chan toolReply {
	ch := make(chan toolReply, 1)
	go func() {
		var a toolReply
		res, err := r.agent.CallTool(context.WithoutCancel(r.t.Context()), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
		if err != nil {
			a.Text = err.Error()
		} else if b, err := json.Marshal(res.StructuredContent); err == nil {
			_ = json.Unmarshal(b, &a)
		}
		ch <- a
	}()
	return ch
}

func (r *remote) answer(ch <-chan toolReply) toolReply {
	r.t.Helper()
	select {
	case a := <-ch:
		return a
	case <-time.After(patience):
		r.t.Fatalf("the call doesn't end; stderr:\n%s", r.stderr)
		return toolReply{}
	}
}

func (r *remote) pan() float64 {
	r.t.Helper()
	return pan(r.t, r.answer(r.call("robot_state", `{}`)).Result)
}

// armed waits until a press counts.
func armed() { time.Sleep(telegram.Arming + 100*time.Millisecond) }

func TestG31_APressOnTelegramMovesTheArm(t *testing.T) {
	t.Parallel()
	api := telegramtest.New(t)
	dir := dataDir(t)
	r := startRemote(t, dir, "--approve-from", "telegram", "--settings", telegramSettings(t, telegramtest.Token, api.Serve()))
	require.Contains(t, r.stderr.String(), "approvals are asked over Telegram, in 1 chat(s)")

	go1 := r.call("move_joints", `{"positions":{"shoulder_pan":0.3},"speed_scale":1}`)
	m := api.Card(chatOfAda)
	require.Contains(t, m.Text, `Arguments: {"positions":{"shoulder_pan":0.3},"speed_scale":1}`)
	require.Contains(t, m.Text, "\n  Rehearsed: ")
	require.InDelta(t, 0, r.pan(), 0.01, "nothing moves before the press")
	armed()
	api.PressAs(66, m, m.Data("Approve")) // who isn't listed
	press := api.Press(ada, m, "Approve")
	a := r.answer(go1)
	require.Equal(t, "ok", a.Status, a.Text)
	require.InDelta(t, 0.3, r.pan(), 0.01)
	require.Equal(t, "Your answer was taken.", api.Reply(press))
	api.Wait("the end of the card", func() bool { return len(api.Open()) == 0 })

	no := r.call("move_joints", `{"positions":{"shoulder_pan":0.6},"speed_scale":1}`)
	api.Press(ada, m, "Approve") // the old card's
	api.Press(ada, api.Card(chatOfAda), "Reject")
	require.Equal(t, string(gate.CodeNotApproved), r.answer(no).Code)
	api.Wait("the end of the second card", func() bool { return len(api.Open()) == 0 })

	stopped := r.call("move_joints", `{"positions":{"shoulder_pan":0.7},"speed_scale":1}`)
	api.Card(chatOfAda)
	api.Say(chatOfAda, ada, "/stop enough")
	require.Equal(t, string(gate.CodeStopped), r.answer(stopped).Code)
	api.Wait("the verdict, and the end of the card", func() bool {
		said := ""
		for _, m := range api.Messages() {
			said += m.Text
		}
		return len(api.Open()) == 0 && strings.Contains(said, "stationary yes") && strings.Contains(said, "Closed by a stop")
	})
	require.InDelta(t, 0.3, r.pan(), 0.01)

	r.signal(syscall.SIGTERM)
	require.Equal(t, 130, r.wait().status)
	es := ofType(logged(t, dir), "approval")
	require.Len(t, es, 3)
	require.Equal(t, [2]string{"approved", "telegram:1"}, [2]string{es[0].Decision, es[0].Decider})
	require.Equal(t, [2]string{"rejected", "telegram:1"}, [2]string{es[1].Decision, es[1].Decider})
	require.Equal(t, "stopped", es[2].Decision)
	log, err := os.ReadFile(filepath.Join(dir, "logs", "tau.log"))
	require.NoError(t, err)
	require.NotContains(t, string(log)+r.stderr.String(), "0123456789abcdefghij", "the token is nowhere")
}

// TestG47_ARequestIsAskedAgainOnTelegramAfterARestart kills the bridge with a card open:
// the old card's buttons do nothing, the new one's do.
func TestG47_ARequestIsAskedAgainOnTelegramAfterARestart(t *testing.T) {
	t.Parallel()
	api := telegramtest.New(t)
	dir := dataDir(t)
	flags := []string{"--approve-from", "telegram", "--settings", telegramSettings(t, telegramtest.Token, api.Serve())}
	r := startRemote(t, dir, flags...)
	r.call("move_joints", `{"positions":{"shoulder_pan":0.3},"speed_scale":1}`)
	old := api.Card(chatOfAda)
	require.NoError(t, r.cmd.Process.Kill())
	<-r.ended

	r = startRemote(t, dir, flags...)
	api.Wait("the card again", func() bool { return len(api.Open()) == 2 })
	again := api.Open()[1]
	armed()
	require.Contains(t, api.Reply(api.Press(ada, old, "Approve")), "is closed")
	require.InDelta(t, 0, r.pan(), 0.01)
	api.Press(ada, again, "Approve")
	eventually(t, func() bool { return r.pan() > 0.29 }, "move")
	api.Wait("no buttons anywhere", func() bool { return len(api.Open()) == 0 })
}

// TestACardOutlivesAnOrderlyEndAndItsButtonsDoNot ends the bridge with a card open: the
// request waits for the next start, and no button stays.
func TestACardOutlivesAnOrderlyEndAndItsButtonsDoNot(t *testing.T) {
	t.Parallel()
	api := telegramtest.New(t)
	dir := dataDir(t)
	flags := []string{"--approve-from", "telegram", "--settings", telegramSettings(t, telegramtest.Token, api.Serve())}
	r := startRemote(t, dir, flags...)
	r.call("move_joints", `{"positions":{"shoulder_pan":0.3},"speed_scale":1}`)
	api.Card(chatOfAda)
	r.signal(syscall.SIGTERM)
	require.Equal(t, 130, r.wait().status)
	require.Empty(t, api.Open())
	for _, e := range ofType(logged(t, dir), "approval") {
		require.NotEqual(t, "approved", e.Decision)
	}
}

func TestTelegramThatIsWrongEndsTheStart(t *testing.T) {
	t.Parallel()
	api := telegramtest.New(t).Serve()
	other := "7001:" + strings.Repeat("w", 35)
	for want, settings := range map[string]string{
		"Telegram doesn't know this bot's token":            telegramSettings(t, other, api),
		"needs a section [telegram]":                        settingsFile(t, "[ui]\nlanguage = \"tr\"\n"),
		"telegram.chats: is missing":                        settingsFile(t, "[telegram]\ntoken_file = \"/x\"\n"),
		"unknown: telegram.chat":                            settingsFile(t, "[telegram]\ntoken_file = \"/x\"\nchat = [1]\n"),
		"no such file":                                      settingsFile(t, "[telegram]\ntoken_file = \"/nonexistent/token\"\nchats = [1]\n"),
		"want https, or http on a literal loopback address": settingsFile(t, "[telegram]\ntoken_file = \"/x\"\nchats = [1]\napi = \"http://example.org\"\n"),
	} {
		r := tau(t, "", "robot", "sim", "--data-dir", dataDir(t), "--approve-from", "telegram", "--settings", settings)
		require.NotZero(t, r.status, want)
		require.Contains(t, r.stderr, want)
		require.NotContains(t, r.stderr, "wwwww")
	}
}

// TestG32_G34_ADeviceIsPairedAndMovesTheArm: the operator's key, a pairing at a terminal, a
// device that was written from the document, and an arm that moves on its word.
func TestG32_G34_ADeviceIsPairedAndMovesTheArm(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	key := operatorKey(t, dir)
	r := startRemote(t, dir, "--operator-key", key, "--approve-from", "web", "--settings", settingsFile(t, "[web]\nlisten = \"127.0.0.1:0\"\n"))
	found := regexp.MustCompile(`the approval service is at http://([^/]+)/approvals/v1/; no device is enrolled`).FindStringSubmatch(r.stderr.String())
	require.NotNil(t, found, r.stderr.String())
	host, tr := found[1], &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	d := webtest.New(t)
	ask := func(req *http.Request, into any) int {
		t.Helper()
		resp, err := (&http.Client{Transport: tr}).Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(b, into), "%s", b)
		return resp.StatusCode
	}
	var none struct {
		Error struct{ Reason string }
	}
	require.Equal(t, 401, ask(d.Request("GET", host, web.Path+"requests", ""), &none))
	require.Equal(t, "key unknown", none.Error.Reason)

	// MCP's token opens nothing there, and MCP's server serves nothing of it (G32).
	agents, err := os.ReadFile(filepath.Join(dir, "mcp.token"))
	require.NoError(t, err)
	mcpURL := regexp.MustCompile(`MCP at (http://[^/]+)`).FindStringSubmatch(r.stderr.String())[1]
	for url, want := range map[string]int{"http://" + host + web.Path + "requests": 401, mcpURL + web.Path + "requests": 404} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+strings.SplitN(string(agents), "\n", 2)[0])
		resp, err := (&http.Client{Transport: tr}).Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, want, resp.StatusCode, url)
	}

	s := at(t, dir, "approvals", "enrol")
	s.await("Passphrase of the operator's key")
	s.typed(passphrase + "\r")
	s.await("within two minutes: ")
	s.await("\n") // with the code before it, which may come in a piece of its own
	code := regexp.MustCompile(`within two minutes: ([0-9A-Z]{4}-[0-9A-Z]{4})`).FindStringSubmatch(s.out.String())
	require.NotNil(t, code, s.out.String())
	enrolled := make(chan int, 1)
	req := d.Request("POST", host, web.Path+"enrol", d.Enrolment(code[1], "a phone"))
	go func() {
		var v map[string]any
		enrolled <- ask(req, &v)
	}()
	s.await("Enrol it? [y/N] ")
	require.Contains(t, s.out.String(), "a phone, key "+d.ID[:4]+"-"+d.ID[4:8])
	s.typed("y\r")
	require.Equal(t, 200, <-enrolled)
	require.Equal(t, 0, s.status(), s.out)

	moved := r.call("move_joints", `{"positions":{"shoulder_pan":0.3},"speed_scale":1}`)
	var list struct {
		Version  string
		Requests []struct {
			CallID string `json:"call_id"`
		}
	}
	for len(list.Requests) == 0 {
		require.Equal(t, 200, ask(d.Request("GET", host, web.Path+"requests?wait=25&version="+list.Version, ""), &list))
	}
	var shown webtest.Shown
	require.Equal(t, 200, ask(d.Request("GET", host, web.Path+"requests/"+list.Requests[0].CallID, ""), &shown))
	require.NotEmpty(t, shown.Data, "the rehearsal, for those that draw")
	var done map[string]any
	req = d.Request("POST", host, web.Path+"decide", d.Decision(d.Statement(shown, "approve")))
	require.Equal(t, 200, ask(req, &done))
	require.Equal(t, 409, ask(d.Request("POST", host, web.Path+"decide", d.Decision(d.Statement(shown, "approve"))), &none))
	require.Equal(t, "statement replayed", none.Error.Reason)
	a := r.answer(moved)
	require.Equal(t, "ok", a.Status, a.Text)
	require.InDelta(t, 0.3, r.pan(), 0.01)

	var verdicts struct{ Verdicts []gate.StopVerdict }
	require.Equal(t, 200, ask(d.Request("POST", host, web.Path+"stop", ""), &verdicts))
	require.Equal(t, "yes", verdicts.Verdicts[0].Stationary)
	r.signal(syscall.SIGTERM)
	require.Equal(t, 130, r.wait().status, r.stderr)
	es := ofType(logged(t, dir), "approval")
	require.Len(t, es, 1)
	require.Equal(t, [2]string{"approved", "device:" + d.ID}, [2]string{es[0].Decision, es[0].Decider})
	refused := ofType(logged(t, dir), "error")
	require.Len(t, refused, 1)
	require.Equal(t, [3]string{"operator", "statement replayed", d.ID}, [3]string{refused[0].Where, refused[0].Reason, refused[0].Principal})
}
