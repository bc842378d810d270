// Package mcptest drives the official TypeScript SDK's client, testdata/tsclient,
// from Go tests. Only tests import it: its constructor takes a testing.TB. It must
// never import what can decide a question.
package mcptest

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/tau-robot/tau/gate"
)

// eventWait bounds how long a test waits for an event that must come.
const eventWait = 3 * time.Minute

// Tool is a tool as the SDK's client parsed it.
type Tool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  struct {
		ReadOnly    *bool `json:"readOnlyHint"`
		Destructive *bool `json:"destructiveHint"`
		Idempotent  *bool `json:"idempotentHint"`
		OpenWorld   *bool `json:"openWorldHint"`
	} `json:"annotations"`
	Meta struct {
		Tier   *int   `json:"tau/tier"`
		Effect string `json:"tau/effect"`
	} `json:"_meta"`
}

// Answer is the structuredContent of a result.
type Answer struct {
	CallID    string            `json:"call_id"`
	Tool      string            `json:"tool"`
	Status    gate.Status       `json:"status"`
	Code      gate.Code         `json:"code"`
	Text      string            `json:"text"`
	Where     string            `json:"where"`
	Value     *gate.Quantity    `json:"value"`
	Limit     *gate.Quantity    `json:"limit"`
	Nearest   []gate.Quantity   `json:"nearest"`
	Result    json.RawMessage   `json:"result"`
	Approval  gate.ApprovalKind `json:"approval"`
	Duration  float64           `json:"duration_ms"`
	Digest    string            `json:"digest"`
	ExpiresAt time.Time         `json:"expires_at"`
	Session   string            `json:"session"`
	Mode      gate.Mode         `json:"mode"`
	Backend   string            `json:"backend"`
}

// Event is one line of the client's output; README.md beside client.mjs has them all.
type Event struct {
	Event      string   `json:"event"`
	Do         string   `json:"do"`
	As         string   `json:"as"`
	Protocol   string   `json:"protocol"`
	Tools      []Tool   `json:"tools"`
	IsError    bool     `json:"isError"`
	Text       []string `json:"text"`
	Structured *Answer  `json:"structured"`
	Message    string   `json:"message"`
	Error      *struct {
		Name    string `json:"name"`
		Message string `json:"message"`
	} `json:"error"`
	Raw json.RawMessage `json:"-"` // the whole line
}

// Client is a running client. Its methods are for the test's goroutine.
type Client struct {
	t      testing.TB
	in     io.WriteCloser
	events chan Event
	kept   []Event // read while another one was waited for
	exited chan error
}

// Start starts the client for a bridge's URL with the token in tokenFile; revision
// is legacy, auto or a revision to insist on. Where node or the installed SDK is
// missing, the test is skipped by name, and fails under CI=true. The client is
// closed with the test.
func Start(t testing.TB, url, tokenFile, revision string) *Client {
	t.Helper()
	return run(t, "--url", url, "--token-file", tokenFile, "--revision", revision)
}

// Spawn is Start for a client that starts the server itself and speaks to it over
// its standard streams; what the server writes to standard error is logged.
func Spawn(t testing.TB, revision string, command ...string) *Client {
	t.Helper()
	argv, err := json.Marshal(command)
	if err != nil {
		t.Fatal(err)
	}
	return run(t, "--spawn", string(argv), "--revision", revision)
}

// Need skips a test that can't have a client here, or fails it under CI=true, before it
// has begun what a skip would leave half done.
func Need(t testing.TB) {
	t.Helper()
	locate(t)
}

func run(t testing.TB, args ...string) *Client {
	t.Helper()
	node, dir := locate(t)
	cmd := exec.Command(node, append([]string{"client.mjs"}, args...)...)
	cmd.Dir = dir
	cmd.Stderr = &logWriter{t: t}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &Client{t: t, in: in, events: make(chan Event, 1024), exited: make(chan error, 1)}
	go func() {
		defer close(c.events)
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				c.exited <- cmd.Wait()
				return
			}
			e := Event{Raw: line}
			if err := json.Unmarshal(line, &e); err != nil {
				e.Event = "not JSON: " + err.Error()
			}
			c.events <- e
		}
	}()
	t.Cleanup(func() {
		_ = in.Close()
		kill := time.AfterFunc(eventWait, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		for e := range c.events {
			c.check(e)
		}
		if err := <-c.exited; err != nil {
			t.Errorf("the TypeScript client: %v", err)
		}
	})
	return c
}

func locate(t testing.TB) (node, dir string) {
	t.Helper()
	missing := func(format string, args ...any) {
		t.Helper()
		if os.Getenv("CI") == "true" {
			t.Fatalf(format, args...)
		}
		t.Skipf("SKIPPED, the TypeScript client can't run: "+format, args...)
	}
	_, file, _, _ := runtime.Caller(0)
	dir = filepath.Join(filepath.Dir(file), "..", "..", "..", "testdata", "tsclient")
	node, err := exec.LookPath("node")
	if err != nil {
		missing("node is not installed: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "@modelcontextprotocol", "client", "package.json")); err != nil {
		missing("run npm ci --prefix testdata/tsclient: %v", err)
	}
	return node, dir
}

// check fails the test on what must never come.
func (c *Client) check(e Event) {
	c.t.Helper()
	if e.Event == "asked" {
		c.t.Errorf("the server asked the client something: %s", e.Raw)
	}
}

// Do sends a command.
func (c *Client) Do(command any) {
	c.t.Helper()
	b, err := json.Marshal(command)
	if err == nil {
		_, err = c.in.Write(append(b, '\n'))
	}
	if err != nil {
		c.t.Fatalf("the TypeScript client: %v", err)
	}
}

// Wait returns the first event, of those that no Wait has returned, that match takes.
func (c *Client) Wait(what string, match func(Event) bool) Event {
	c.t.Helper()
	for i, e := range c.kept {
		if match(e) {
			c.kept = append(c.kept[:i:i], c.kept[i+1:]...)
			return e
		}
	}
	timer := time.NewTimer(eventWait)
	defer timer.Stop()
	for {
		select {
		case e, ok := <-c.events:
			if !ok {
				c.t.Fatalf("the TypeScript client ended before %s came", what)
			}
			c.check(e)
			if match(e) {
				return e
			}
			c.kept = append(c.kept, e)
		case <-timer.C:
			c.t.Fatalf("the TypeScript client: %s never came; there were %s", what, c.raw())
		}
	}
}

func (c *Client) raw() (out []string) {
	for _, e := range c.kept {
		out = append(out, string(e.Raw))
	}
	return out
}

type command struct {
	Do        string          `json:"do"`
	As        string          `json:"as,omitempty"`
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Progress  bool            `json:"progress,omitempty"`
	Terminate bool            `json:"terminate,omitempty"`
}

// Connect connects and returns the revision that was agreed on.
func (c *Client) Connect() string {
	c.t.Helper()
	c.Do(command{Do: "connect"})
	e := c.Wait("the connection", func(e Event) bool { return e.Event == "connected" || e.Do == "connect" })
	if e.Event != "connected" {
		c.t.Fatalf("the TypeScript client: %s", e.Raw)
	}
	return e.Protocol
}

// List returns the tools. From then on the SDK checks results against their schemas.
func (c *Client) List() []Tool {
	c.t.Helper()
	c.Do(command{Do: "list"})
	e := c.Wait("the list of tools", func(e Event) bool { return e.Event == "tools" || e.Do == "list" })
	if e.Event != "tools" {
		c.t.Fatalf("the TypeScript client: %s", e.Raw)
	}
	return e.Tools
}

// Begin starts a call under a name of the test's own, with progress.
func (c *Client) Begin(as, tool, args string) {
	c.t.Helper()
	c.Do(command{Do: "call", As: as, Tool: tool, Arguments: json.RawMessage(args), Progress: true})
	c.Wait("the start of "+as, func(e Event) bool { return e.Event == "started" && e.As == as })
}

// End waits for the end of a call: an event "result" or "failed".
func (c *Client) End(as string) Event {
	c.t.Helper()
	return c.Wait("the end of "+as, func(e Event) bool { return (e.Event == "result" || e.Event == "failed") && e.As == as })
}

// Call makes a call and returns its result; one that fails fails the test.
func (c *Client) Call(as, tool, args string) Event {
	c.t.Helper()
	c.Begin(as, tool, args)
	e := c.End(as)
	if e.Event != "result" || e.Structured == nil {
		c.t.Fatalf("the TypeScript client: %s of %s: %s", as, tool, e.Raw)
	}
	return e
}

// Cancel aborts an open call.
func (c *Client) Cancel(as string) {
	c.t.Helper()
	c.Do(command{Do: "cancel", As: as})
	c.Wait("the cancel of "+as, func(e Event) bool { return e.Event == "cancelled" && e.As == as })
}

// Close closes the connection, after ending the transport session if terminate says so.
func (c *Client) Close(terminate bool) {
	c.t.Helper()
	c.Do(command{Do: "close", Terminate: terminate})
	c.Wait("the close", func(e Event) bool { return e.Event == "closed" })
}

// Drop makes the client exit without a word to the server.
func (c *Client) Drop() {
	c.t.Helper()
	c.Do(command{Do: "drop"})
}

// logWriter shows what the client writes to stderr.
type logWriter struct {
	t  testing.TB
	mu sync.Mutex
}

func (w *logWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.t.Logf("tsclient: %s", b)
	return len(b), nil
}
