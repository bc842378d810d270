package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/cmd/tau/internal/fdio"
	"github.com/tau-robot/tau/gate/approver/tui"
	"github.com/tau-robot/tau/gate/approver/tui/tuitest"
)

// panel is a bridge with a screen (--approve-from tui) at a real pseudo-terminal, the
// person before it, and an agent that is connected over MCP.
type panel struct {
	t       *testing.T
	dir     string
	cmd     *exec.Cmd
	ptmx    *os.File
	in      *fdio.Reader
	raw     *tap            // all that was written
	screen  *tuitest.Screen // and what it looks like
	reading sync.WaitGroup
	ended   chan struct{}
	hung    bool
	agent   *sdk.ClientSession
}

// face starts a bridge with a screen of w by h and waits until it is there.
func face(t *testing.T, w, h int, env []string, flags ...string) *panel {
	t.Helper()
	p := &panel{t: t, dir: dataDir(t), raw: newTap(), screen: tuitest.New(w, h), ended: make(chan struct{})}
	p.begin(env, flags...)
	return p
}

func (p *panel) begin(env []string, flags ...string) {
	t := p.t
	t.Helper()
	w, h := p.screen.Size()
	p.cmd = exec.CommandContext(context.Background(), binary, append([]string{"robot", "sim", "--data-dir", p.dir, "--approve-from", "tui"}, flags...)...)
	p.cmd.Env = environment(env...)
	var err error
	p.ptmx, err = pty.StartWithSize(p.cmd, &pty.Winsize{Rows: uint16(h), Cols: uint16(w)})
	require.NoError(t, err)
	p.in, err = fdio.NewReader(p.ptmx)
	require.NoError(t, err)
	p.reading.Go(func() { _, _ = io.Copy(io.MultiWriter(p.raw, p.screen), p.in); p.raw.end() })
	go func() {
		_ = p.cmd.Wait()
		p.reading.Wait() // what it wrote last is on the screen too
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		p.hangUp()
		<-p.ended
	})
	p.await("MCP at http")
}

func (p *panel) hangUp() {
	if !p.hung {
		p.hung = true
		_ = p.in.Close()
		_ = p.ptmx.Close()
	}
}

// until waits until the screen is as it should be.
func (p *panel) until(what string, is func(screen string) bool) {
	p.t.Helper()
	late := time.After(patience)
	for {
		changed := p.screen.Changed()
		if is(p.screen.String()) {
			return
		}
		select {
		case <-changed:
		case <-p.ended:
			if is(p.screen.String()) {
				return
			}
			p.t.Fatalf("ended without %s:\n%s", what, p.screen)
		case <-late:
			p.t.Fatalf("no %s on the screen:\n%s", what, p.screen)
		}
	}
}

func (p *panel) await(text string) {
	p.t.Helper()
	p.until(text, func(s string) bool { return strings.Contains(s, text) })
}

func (p *panel) awaitNo(text string) {
	p.t.Helper()
	p.until("screen without "+text, func(s string) bool { return !strings.Contains(s, text) })
}

// types types keys, which are read together.
func (p *panel) types(keys string) {
	p.t.Helper()
	_, err := io.WriteString(p.ptmx, keys)
	require.NoError(p.t, err)
}

// press presses a key by itself: nothing came for a while before it.
func (p *panel) press(key string) {
	p.t.Helper()
	time.Sleep(200 * time.Millisecond)
	p.types(key)
}

func (p *panel) resize(w, h int) {
	p.t.Helper()
	p.screen.Resize(w, h)
	require.NoError(p.t, pty.Setsize(p.ptmx, &pty.Winsize{Rows: uint16(h), Cols: uint16(w)}))
}

// armed waits until a yes would count.
func (p *panel) armed() {
	p.t.Helper()
	p.await("(y/e approve, ")
}

// read pages to the end of the card.
func (p *panel) read() {
	p.t.Helper()
	p.await("Approval needed")
	for range 50 {
		head := regexp.MustCompile(`rows \d+-(\d+) of (\d+)`).FindStringSubmatch(p.screen.String())
		require.NotNil(p.t, head, p.screen)
		if head[1] == head[2] {
			return
		}
		p.types("\x1b[6~")
		p.until("another page", func(s string) bool {
			now := regexp.MustCompile(`rows \d+-(\d+) of (\d+)`).FindStringSubmatch(s)
			return now != nil && now[1] != head[1]
		})
	}
	p.t.Fatalf("the card doesn't end:\n%s", p.screen)
}

// status waits for the end and returns the exit status.
func (p *panel) status() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("the bridge doesn't end:\n%s", p.screen)
	}
	return p.cmd.ProcessState.ExitCode()
}

// leave leaves the screen as a person does.
func (p *panel) leave() {
	p.t.Helper()
	p.press("q")
	p.await("q again leaves")
	p.press("q")
	require.Equal(p.t, 0, p.status(), p.raw)
	require.True(p.t, echoes(p.t, p.ptmx), "the terminal is as it was")
}

// url is where MCP is, as the events say.
func (p *panel) url() string {
	p.t.Helper()
	url := regexp.MustCompile(`MCP at (http://[^, ]+),`).FindStringSubmatch(p.screen.String())
	require.NotNil(p.t, url, p.screen)
	return url[1]
}

// connect connects an agent.
func (p *panel) connect() {
	p.t.Helper()
	token, err := os.ReadFile(filepath.Join(p.dir, "mcp.token"))
	require.NoError(p.t, err)
	tr := &http.Transport{}
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	p.agent, err = c.Connect(p.t.Context(), &sdk.StreamableClientTransport{
		Endpoint: p.url(), HTTPClient: &http.Client{Transport: bearer{tr, strings.SplitN(string(token), "\n", 2)[0]}}, MaxRetries: -1,
	}, nil)
	require.NoError(p.t, err)
	p.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // one that is stopped would answer nobody
		_ = p.agent.Close()
		tr.CloseIdleConnections()
	})
}

type bearer struct {
	base  http.RoundTripper
	token string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.base.RoundTrip(r)
}

// reply is the end of a call.
type reply struct {
	Status string          `json:"status"`
	Code   string          `json:"code"`
	Text   string          `json:"text"`
	Result json.RawMessage `json:"result"`
}

// call makes the agent call a tool; what comes of it arrives on the channel.
func (p *panel) call(tool, args string) <-chan reply {
	ch := make(chan reply, 1)
	go func() {
		var r reply
		res, err := p.agent.CallTool(context.WithoutCancel(p.t.Context()), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
		if err != nil {
			r.Text = err.Error()
		} else if b, err := json.Marshal(res.StructuredContent); err == nil {
			_ = json.Unmarshal(b, &r)
		}
		ch <- r
	}()
	return ch
}

func (p *panel) ends(ch <-chan reply) reply {
	p.t.Helper()
	select {
	case r := <-ch:
		return r
	case <-time.After(patience):
		p.t.Fatalf("the call doesn't end:\n%s", p.screen)
		return reply{}
	}
}

// pan is where the shoulder was measured.
func (p *panel) pan() float64 {
	p.t.Helper()
	return pan(p.t, p.ends(p.call("robot_state", `{}`)).Result)
}

const arming = tui.Arming + 200*time.Millisecond
