package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tau-robot/tau/gate"
)

// Path is the one path that is served.
const Path = "/mcp"

const (
	origin = "mcp" // gate.Invocation.Origin

	headerVersion = "Mcp-Protocol-Version"
	headerSession = "Mcp-Session-Id"

	// The SDK hands a request's header on to the tool, and nothing else that is
	// ours. These are set here and never taken from a client; headerArgs holds the
	// arguments' bytes, which a header in memory takes as they are.
	headerRequestID = "Tau-Internal-Request-Id"
	headerArgs      = "Tau-Internal-Arguments"
	headerStops     = "Tau-Internal-Stops" // the key of a batch's stops
	headerTaken     = "Tau-Internal-Taken" // the gate.Stamp of the intake

	// modern is the first revision without sessions: each POST is a whole exchange,
	// and its end is the cancel.
	modern = "2026-07-28"
)

// Defaults of Options.
const (
	DefaultWait        = 45 * time.Second
	DefaultMaxBody     = 1 << 20
	DefaultMaxOpen     = 32
	DefaultMaxRequests = 128
	DefaultMaxSessions = 64
	DefaultBodyTimeout = 10 * time.Second

	headerTimeout  = 5 * time.Second
	writeTimeout   = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
	// sessionIdle ends a transport session of the older revisions that has been
	// silent so long. Nothing of ours is tied to it.
	sessionIdle = 8 * time.Hour
)

// Options say what a Server serves. Caller and Tokens are required; a zero number or
// duration stands for its default.
type Options struct {
	Caller gate.Caller // the agent's side of the gate
	Tokens *TokenTable // who may call, and as whom; may change while serving

	Version      string       // of the program, for clients to show
	Instructions string       // for the model; English
	Logger       *slog.Logger // nil logs nothing

	// Wait is how long a call that moves something may take before it is answered
	// "pending" and belongs to the bridge.
	Wait        time.Duration
	MaxBody     int64         // bytes of a request's body
	MaxOpen     int           // open calls of one token
	MaxRequests int           // HTTP requests of one token in flight, streams included
	MaxSessions int           // transport sessions of one token; the oldest idle one goes first
	BodyTimeout time.Duration // how long a client may take to send a request's body
}

// Server serves a gate's catalog, as it is when the Server is made. It is an
// http.Handler; Serve runs it on a loopback listener.
type Server struct {
	caller       gate.Caller
	tokens       *TokenTable
	version      string
	instructions string
	log          *slog.Logger
	wait         time.Duration
	maxBody      int64
	maxOpen      int
	maxRequests  int
	maxSessions  int
	bodyTimeout  time.Duration

	tools []*sdk.Tool
	tiers map[string]gate.Tier

	cross     *http.CrossOriginProtection
	legacy    http.Handler // revisions with transport sessions
	stateless http.Handler // revisions without

	streams     context.Context // ends to release the streams that wait for nothing
	stopStreams context.CancelFunc

	drained   chan struct{} // closed once the server is closing and exchanges is 0
	drainOnce func()

	mu        sync.Mutex
	closing   bool
	exchanges int                // requests that will be answered
	tenants   map[string]*tenant // by token id
	servers   []*http.Server
	stdio     *stdio // nil: no client on streams
}

// New checks the options and the catalog and returns a Server that serves nothing yet.
func New(o Options) (*Server, error) {
	if o.Caller == nil {
		return nil, errors.New("mcp: Options.Caller is nil")
	}
	if o.Tokens == nil {
		return nil, errors.New("mcp: Options.Tokens is nil: without tokens nobody can be told apart")
	}
	if o.Wait < 0 || o.MaxBody < 0 || o.MaxOpen < 0 || o.MaxRequests < 0 || o.MaxSessions < 0 || o.BodyTimeout < 0 {
		return nil, errors.New("mcp: a limit in Options is negative")
	}
	s := &Server{
		caller:       o.Caller,
		tokens:       o.Tokens,
		version:      o.Version,
		instructions: o.Instructions,
		log:          o.Logger,
		wait:         or(o.Wait, DefaultWait),
		maxBody:      or(o.MaxBody, DefaultMaxBody),
		maxOpen:      or(o.MaxOpen, DefaultMaxOpen),
		maxRequests:  or(o.MaxRequests, DefaultMaxRequests),
		maxSessions:  or(o.MaxSessions, DefaultMaxSessions),
		bodyTimeout:  or(o.BodyTimeout, DefaultBodyTimeout),
		tiers:        make(map[string]gate.Tier),
		cross:        http.NewCrossOriginProtection(),
		tenants:      make(map[string]*tenant),
		drained:      make(chan struct{}),
	}
	s.drainOnce = sync.OnceFunc(func() { close(s.drained) })
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	for _, spec := range o.Caller.Specs() {
		tool, err := sdkTool(spec)
		if err != nil {
			return nil, err
		}
		if _, dup := s.tiers[spec.Name]; dup {
			return nil, fmt.Errorf("mcp: tool %q is in the catalog twice", spec.Name)
		}
		s.tools = append(s.tools, tool)
		s.tiers[spec.Name] = spec.Tier
	}
	s.streams, s.stopStreams = context.WithCancel(context.Background())
	getServer := func(r *http.Request) *sdk.Server {
		if t := tenantOf(r.Context()); t != nil {
			return t.sdk
		}
		return nil
	}
	limit := s.maxBody + 1 // readBody has checked it already
	s.legacy = s.bind(sdk.NewStreamableHTTPHandler(getServer, &sdk.StreamableHTTPOptions{
		Logger: s.log, MaxRequestBodyBytes: limit, SessionTimeout: sessionIdle,
	}))
	s.stateless = s.bind(sdk.NewStreamableHTTPHandler(getServer, &sdk.StreamableHTTPOptions{
		Logger: s.log, MaxRequestBodyBytes: limit, Stateless: true, PropagateRequestCancellation: true,
	}))
	return s, nil
}

func or[T int | int64 | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

type tenantKey struct{}

func tenantOf(ctx context.Context) *tenant {
	t, _ := ctx.Value(tenantKey{}).(*tenant)
	return t
}

// bind tells the SDK which token a request carries, so that it too refuses a
// transport session to any token but the one that began it.
func (s *Server) bind(h http.Handler) http.Handler {
	return auth.RequireBearerToken(func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		t := tenantOf(ctx)
		if t == nil {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: t.tokenID}, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(h)
}

func (s *Server) tenant(id identity) *tenant {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenants[id.tokenID]
	if t != nil && t.identity != id { // the token came back as another's
		t.close(errSessionEnded)
		t = nil
	}
	if t == nil {
		t = newTenant(s, id)
		if s.closing {
			t.close(errShutdown)
		}
		s.tenants[id.tokenID] = t
	}
	return t
}

// begin counts a request in, unless the server is shutting down. Streams that wait
// for nothing aren't counted: Shutdown ends those after the others.
func (s *Server) begin(stream bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	if !stream {
		s.exchanges++
	}
	return true
}

func (s *Server) end(stream bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !stream {
		s.exchanges--
	}
	if s.closing && s.exchanges == 0 {
		s.drainOnce()
	}
}
