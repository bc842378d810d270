package mount

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tau-robot/tau/gate"
)

// Options are a mount's surroundings.
type Options struct {
	Version string                            // of the bridge, told to the server
	Log     *slog.Logger                      // nil: no log
	Now     func() time.Time                  // nil: time.Now
	Token   func(path string) (string, error) // reads Manifest.TokenFile
	// Transport makes the way to the server; nil: the manifest's command or url.
	Transport func() (sdk.Transport, error)
}

const (
	// connectWait bounds connecting to a server and reading its tools.
	connectWait = 15 * time.Second
	// checkWait bounds asking a server whether a tool is still what it was.
	checkWait = 5 * time.Second
	// endWait is how long a child may take to end by itself, and then when it is told to.
	endWait = time.Second
	// retryAfter is the least time between two tries to reach a server that is gone.
	retryAfter = time.Second
	// maxListed bounds the tools of a server that are looked through.
	maxListed = 1024
)

// Server is one mounted server. Its methods may be called from any goroutine.
type Server struct {
	m     Manifest
	o     Options
	hash  [32]byte // of the manifest's entry
	tools []gate.Tool

	ctx context.Context // of a child process; ends with Close
	end context.CancelFunc

	connecting sync.Mutex // held while the server is being reached
	mu         sync.Mutex
	session    *link // nil: not connected
	closed     bool
	failed     time.Time // when reaching it last failed
	pins       map[string][32]byte
	who        string      // the server's own name and version, escaped; part of what is pinned
	stale      atomic.Bool // the server says that its tools have changed; they are listed before each call from then on
}

// Open starts or reaches the server and pins the tools that the manifest lists. A
// listed tool that the server doesn't have, or whose arguments the gate can't hold, is
// an error that names it. Close ends what Open has started; after an error there is
// nothing to close. It blocks for at most connectWait.
func Open(ctx context.Context, m Manifest, o Options) (*Server, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, gate.Errf(gate.CodeInvalidArgument, "mount "+m.Name, "%w", err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{m: m, o: o, hash: sha256.Sum256(text), pins: map[string][32]byte{}}
	s.ctx, s.end = context.WithCancel(context.Background())
	listed, err := s.reach(ctx)
	if err == nil {
		err = s.pin(listed)
	}
	if err != nil {
		_ = s.Close() // the error says what matters
		return nil, prefixed(m.Name, err)
	}
	return s, nil
}

func prefixed(name string, err error) error {
	var e *gate.Error
	if errors.As(err, &e) {
		return err
	}
	return gate.Errf(gate.CodeDisconnected, "mount "+name, "%w", err)
}

// Tools returns the tools, to be registered. Their order is that of their names.
func (s *Server) Tools() []gate.Tool { return append([]gate.Tool(nil), s.tools...) }

// Close ends the connection, and the child process where there is one.
func (s *Server) Close() error {
	defer s.end() // kills a child that hasn't ended by then
	s.mu.Lock()
	l := s.session
	s.session, s.closed = nil, true
	s.mu.Unlock()
	if l != nil {
		return l.close()
	}
	return nil
}

// reach connects to the server and lists its tools.
func (s *Server) reach(ctx context.Context) (map[string]*sdk.Tool, error) {
	ctx, cancel := context.WithTimeout(ctx, connectWait)
	defer cancel()
	t, kill, err := s.transport()
	if err != nil {
		return nil, err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "tau", Version: s.o.Version}, &sdk.ClientOptions{
		Capabilities:           &sdk.ClientCapabilities{}, // nothing may be asked of us
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { s.stale.Store(true) },
	})
	session, err := client.Connect(ctx, t, nil)
	if err != nil {
		return nil, fmt.Errorf("can't be reached: %w", err)
	}
	l := &link{session: session, kill: kill}
	s.stale.Store(false)
	listed, err := list(ctx, l)
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	who := "unknown"
	if r := session.InitializeResult(); r != nil && r.ServerInfo != nil {
		who = gate.Escape(r.ServerInfo.Name + " " + r.ServerInfo.Version)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, errors.Join(errors.New("is closed"), l.close())
	case s.who != "" && s.who != who:
		return nil, errors.Join(gate.Errf(gate.CodeNotApproved, "mount "+s.m.Name,
			"another program answers there (%s instead of %s); the bridge has to be started again for it", who, s.who), l.close())
	}
	s.session, s.who = l, who
	return listed, nil
}

func list(ctx context.Context, l *link) (map[string]*sdk.Tool, error) {
	return within(ctx, l, func(ctx context.Context) (map[string]*sdk.Tool, error) { return listOf(ctx, l.session) })
}

func listOf(ctx context.Context, session *sdk.ClientSession) (map[string]*sdk.Tool, error) {
	out := map[string]*sdk.Tool{}
	for t, err := range session.Tools(ctx, nil) {
		switch {
		case err != nil:
			return nil, fmt.Errorf("its tools can't be listed: %w", err)
		case out[t.Name] != nil:
			return nil, fmt.Errorf("lists the tool %q twice", gate.Escape(t.Name))
		case len(out) == maxListed:
			return nil, fmt.Errorf("lists more than %d tools", maxListed)
		}
		out[t.Name] = t
	}
	return out, nil
}

// pin makes the tools of the manifest.
func (s *Server) pin(listed map[string]*sdk.Tool) error {
	if s.m.Stop != nil && listed[s.m.Stop.Tool] == nil {
		return gate.Errf(gate.CodeInvalidArgument, "mount "+s.m.Name+".stop.tool", "the server has no tool %q", s.m.Stop.Tool)
	}
	for _, name := range slices.Sorted(maps.Keys(s.m.Tools)) {
		where := "mount " + s.m.Name + ".tools." + name
		t := listed[name]
		if t == nil {
			return gate.Errf(gate.CodeInvalidArgument, where, "the server has no such tool")
		}
		tool, err := s.tool(name, s.m.Tools[name], t)
		if err != nil {
			return gate.Errf(gate.CodeInvalidArgument, where, "%w", err)
		}
		s.pins[name] = pinOf(t)
		s.tools = append(s.tools, tool)
	}
	return nil
}

// pinOf is a hash over all that a server says of a tool, what isn't used of it too: a
// description that changes later may be an attack on whoever approved the first one.
func pinOf(t *sdk.Tool) [32]byte {
	b, err := json.Marshal(t)
	v := jsontext.Value(b)
	if err != nil || v.Canonicalize() != nil {
		return [32]byte{} // equal to no pin: Open has refused it
	}
	return sha256.Sum256(v)
}

// same holds the tool against its pin. fresh asks the server, else only what the server
// has announced counts.
func (s *Server) same(ctx context.Context, name string, fresh bool) (*link, error) {
	session, err := s.live(ctx)
	if err != nil || !fresh && !s.stale.Load() {
		return session, err
	}
	ctx, cancel := context.WithTimeout(ctx, checkWait)
	defer cancel()
	listed, err := list(ctx, session)
	if err != nil {
		if session.broken.Load() {
			s.lost(session)
		}
		return nil, gate.Errf(gate.CodeDisconnected, "mount "+s.m.Name, "%w", err)
	}
	if err := s.changed(listed, name); err != nil {
		return nil, err
	}
	return session, nil
}

func (s *Server) changed(listed map[string]*sdk.Tool, name string) error {
	t := listed[name]
	s.mu.Lock()
	pin := s.pins[name]
	s.mu.Unlock()
	if t == nil || pinOf(t) != pin || pin == ([32]byte{}) {
		return gate.Errf(gate.CodeNotApproved, "mount "+s.m.Name+".tools."+name,
			"the server describes the tool otherwise than when the bridge started; start the bridge again to have it as it is now")
	}
	return nil
}

// live returns the connection, made anew where it has been lost.
func (s *Server) live(ctx context.Context) (*link, error) {
	s.mu.Lock()
	session, failed, closed := s.session, s.failed, s.closed
	s.mu.Unlock()
	if session != nil {
		return session, nil
	}
	gone := func(err error) error {
		return gate.Errf(gate.CodeDisconnected, "mount "+s.m.Name, "the server is gone; nothing was sent: %w", err)
	}
	if closed {
		return nil, gone(errors.New("the bridge ends"))
	}
	if wait := retryAfter - s.o.Now().Sub(failed); wait > 0 {
		return nil, gone(errors.New("it was tried a moment ago"))
	}
	s.connecting.Lock()
	defer s.connecting.Unlock()
	s.mu.Lock()
	session = s.session
	s.mu.Unlock()
	if session != nil {
		return session, nil
	}
	listed, err := s.reach(ctx)
	if err != nil {
		s.mu.Lock()
		s.failed = s.o.Now()
		s.mu.Unlock()
		var e *gate.Error
		if errors.As(err, &e) {
			return nil, err
		}
		return nil, gone(err)
	}
	for _, name := range slices.Sorted(maps.Keys(s.m.Tools)) {
		if err := s.changed(listed, name); err != nil {
			s.stale.Store(true) // so that the one that changed is looked at again
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session, nil
}

// lost drops a connection that has failed.
func (s *Server) lost(l *link) {
	s.mu.Lock()
	if s.session == l {
		s.session, s.failed = nil, s.o.Now()
	}
	s.mu.Unlock()
	if err := l.close(); err != nil {
		s.o.Log.Debug("a mounted server's connection ended", "mount", s.m.Name, "err", err)
	}
}

// transport makes the way to the server, and what breaks it whatever hangs on it.
func (s *Server) transport() (t sdk.Transport, kill func(), err error) {
	kill = func() {} // contexts end what waits for HTTP
	if s.o.Transport != nil {
		t, err = s.o.Transport()
		if k, ok := t.(interface{ Kill() }); ok {
			kill = k.Kill
		}
		return t, kill, err
	}
	if s.m.URL != "" {
		client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("redirects are not followed: the manifest names the server")
		}}
		if s.m.TokenFile != "" {
			token, err := s.o.Token(s.m.TokenFile)
			if err != nil {
				return nil, nil, err
			}
			client.Transport = bearer{token: token}
		}
		return &sdk.StreamableClientTransport{Endpoint: s.m.URL, HTTPClient: client, MaxRetries: -1}, kill, nil
	}
	cmd := exec.CommandContext(s.ctx, s.m.Command[0], s.m.Command[1:]...)
	cmd.Env = s.environment()
	cmd.Stderr = &lines{log: s.o.Log, mount: s.m.Name}
	cmd.WaitDelay = endWait // what the child has started may hold its standard error open
	ownGroup(cmd)
	return &sdk.CommandTransport{Command: cmd, TerminateDuration: endWait}, func() { killGroup(cmd) }, nil
}

// environment is what a child sees: nothing of the bridge's own but where things are.
func (s *Server) environment() []string {
	var env []string
	for _, k := range []string{"PATH", "HOME", "LANG", "TMPDIR"} {
		if v, ok := os.LookupEnv(k); ok {
			env = append(env, k+"="+v)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(s.m.Env)) {
		env = append(env, k+"="+s.m.Env[k])
	}
	return env
}

// bearer sends a token with each request.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// lines writes what a child says on standard error into the log.
type lines struct {
	log   *slog.Logger
	mount string
	part  []byte
}

const maxLine = 1024 // bytes of a child's line

func (l *lines) Write(p []byte) (int, error) {
	l.part = append(l.part, p...)
	for {
		line, rest, ok := strings.Cut(string(l.part), "\n")
		if !ok && len(l.part) < maxLine {
			return len(p), nil
		}
		if !ok {
			line, rest = line[:maxLine], line[maxLine:]
		}
		l.log.Info("a mounted server says", "mount", l.mount, "text", gate.Escape(strings.ToValidUTF8(line, "\uFFFD")))
		l.part = []byte(rest)
	}
}

var _ io.Writer = (*lines)(nil)
