package gate_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/gate/lane"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink keeps events in memory; fail makes it refuse them.
type sink struct {
	mu     sync.Mutex
	events []gate.Event
	fail   func(gate.Event) error
}

func (s *sink) Emit(e gate.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail(e); err != nil {
			return err
		}
	}
	s.events = append(s.events, e)
	return nil
}

func (s *sink) setFail(f func(gate.Event) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = f
}

func (s *sink) of(kind string) []gate.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []gate.Event
	for _, e := range s.events {
		if e.Type == kind {
			out = append(out, e)
		}
	}
	return out
}

// sessions are what they are set to, until they are set to something else.
type sessions struct {
	mu   sync.Mutex
	list map[string]gate.Session
	err  map[string]error
}

func (s *sessions) Session(name string) (gate.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.err[name]; err != nil {
		return s.list[name], err
	}
	got, ok := s.list[name]
	if !ok {
		return gate.Session{}, gate.Errf(gate.CodeInvalidArgument, "session", "there is no session %q", name)
	}
	return got, nil
}

func (s *sessions) set(x gate.Session, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list[x.Name], s.err[x.Name] = x, err
}

// arm is a physical tool whose every part a test can bend.
type arm struct {
	mu       sync.Mutex
	spec     gate.Spec
	version  byte   // part of the action's digest, read live
	resource string // "": the session's backend
	stale    time.Duration
	now      func() time.Time
	prepared atomic.Int64
	ran      atomic.Int64
	restored atomic.Int64
	prepare  func(context.Context, gate.Call) error
	check    func() error
	snapshot func() ([]byte, error)
	run      func(context.Context) (gate.Result, error)
	wrap     func(*armAction) gate.Action
}

func newArm() *arm {
	return &arm{now: time.Now, spec: gate.Spec{
		Name: "move", Tier: gate.TierPhysical, Description: "Moves the arm.", Effect: "The arm moves.",
		Input: gate.Obj(gate.Opt("to", gate.Num().In("rad").Between(-3, 3)), gate.Opt("note", gate.Str(200))),
	}}
}

func (a *arm) change(f func(*arm)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f(a)
}

func (a *arm) get() bend {
	a.mu.Lock()
	defer a.mu.Unlock()
	return bend{a.spec, a.version, a.prepare, a.check, a.snapshot, a.run, a.wrap}
}

type bend struct {
	spec     gate.Spec
	version  byte
	prepare  func(context.Context, gate.Call) error
	check    func() error
	snapshot func() ([]byte, error)
	run      func(context.Context) (gate.Result, error)
	wrap     func(*armAction) gate.Action
}

func (a *arm) Spec() gate.Spec { return a.get().spec }

func (a *arm) Prepare(ctx context.Context, c gate.Call) (gate.Action, error) {
	a.prepared.Add(1)
	if f := a.get().prepare; f != nil {
		if err := f(ctx, c); err != nil {
			return nil, err
		}
	}
	x := &armAction{arm: a, call: c}
	if a.stale != 0 {
		x.stale = a.now().Add(a.stale)
	}
	if f := a.get().wrap; f != nil {
		return f(x), nil
	}
	return x, nil
}

func (a *arm) Restore(_ context.Context, snapshot []byte) (gate.Action, error) {
	a.restored.Add(1)
	x := &armAction{arm: a}
	if err := json.Unmarshal(snapshot, &x.call); err != nil {
		return nil, gate.Errf(gate.CodeInvalidArgument, "snapshot", "%w", err)
	}
	if f := a.get().wrap; f != nil {
		return f(x), nil
	}
	return x, nil
}

type armAction struct {
	arm   *arm
	call  gate.Call
	stale time.Time
}

func (x *armAction) Card() gate.Card {
	return gate.Card{
		Facts:   []gate.Fact{{Label: "Duration", Text: "2 s"}},
		Assumed: []string{"jerk"}, Data: json.RawMessage(`{"duration_s":2}`),
	}
}

func (x *armAction) Digest() [32]byte {
	return sha256.Sum256(append([]byte{x.arm.get().version}, x.call.Args...))
}
func (x *armAction) Expiry() time.Time { return x.stale }
func (x *armAction) Resource() string {
	x.arm.mu.Lock()
	defer x.arm.mu.Unlock()
	if x.arm.resource != "" {
		return x.arm.resource
	}
	return x.call.Session.Backend
}
func (x *armAction) Snapshot() ([]byte, error) {
	if f := x.arm.get().snapshot; f != nil {
		return f()
	}
	return json.Marshal(snapshotOf{Args: x.call.Args, Session: x.call.Session})
}

// snapshotOf is the part of a call that an action of the arm is made from.
type snapshotOf struct {
	Args    json.RawMessage
	Session gate.Session
}

func (x *armAction) Check(context.Context) error {
	if f := x.arm.get().check; f != nil {
		return f()
	}
	return nil
}

func (x *armAction) Run(ctx context.Context) (gate.Result, error) {
	x.arm.ran.Add(1)
	if f := x.arm.get().run; f != nil {
		return f(ctx)
	}
	return gate.Result{Text: "Moved.", Data: json.RawMessage(`{"positions":{"a":1}}`)}, nil
}

// rig is a gate with everything around it.
type rig struct {
	*gate.Gate
	t        testing.TB
	sink     *sink
	sessions *sessions
	lane     *lane.Lane
	requests *approval.Memory
	disk     *approval.SQLite // of a rig that keeps its requests on a disk
	arm      *arm
	log      *logBuffer
}

// logBuffer collects JSON log lines.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// levels lists "LEVEL message" of each line.
func (l *logBuffer) levels() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for line := range bytes.Lines(l.b.Bytes()) {
		var v struct{ Level, Msg string }
		if json.Unmarshal(line, &v) == nil {
			out = append(out, v.Level+" "+v.Msg)
		}
	}
	return out
}

// newRig builds a gate on a real lane and store, with sessions s and t on two
// simulated robots and r on a real one.
func newRig(t testing.TB, approver gate.Approver, change ...func(*gate.Config)) *rig {
	t.Helper()
	r := &rig{
		t: t, sink: &sink{}, lane: lane.New(), requests: approval.NewMemory(), arm: newArm(), log: &logBuffer{},
		sessions: &sessions{list: map[string]gate.Session{
			"s": {Name: "s", Mode: gate.ModeSim, Backend: "sim"},
			"t": {Name: "t", Mode: gate.ModeSim, Backend: "sim2"},
			"r": {Name: "r", Mode: gate.ModeReal, Backend: "arm"},
		}, err: map[string]error{}},
	}
	cfg := gate.Config{
		Catalog: gate.NewCatalog(), Lane: r.lane, Sessions: r.sessions, Requests: r.requests, Sink: r.sink, Approver: approver,
		Log: slog.New(slog.NewJSONHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	require.NoError(t, cfg.Catalog.Register(r.arm, echo()))
	for _, f := range change {
		f(&cfg)
	}
	g, err := gate.New(cfg)
	require.NoError(t, err)
	r.Gate = g
	return r
}

// close ends the rig; tests under synctest call it inside the bubble.
func (r *rig) close() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	require.NoError(r.t, r.Close(ctx))
	require.NoError(r.t, r.lane.Close())
}

// echo is a tool of tier 0.
func echo() gate.Tool {
	return gate.Func(gate.Spec{
		Name: "echo", Tier: gate.TierRead, Description: "Returns its arguments.",
		Input: gate.Obj(gate.Opt("text", gate.Str(100))),
	}, func(_ context.Context, c gate.Call) (gate.Result, error) {
		return gate.Result{Text: "echo", Data: c.Args}, nil
	})
}

func inv(tool, args string) gate.Invocation {
	return gate.Invocation{Tool: tool, Args: []byte(args), Session: "s", Principal: "p", Origin: "test", ToolUseID: "use-1"}
}

func (r *rig) call(tool, args string) gate.Answer {
	return r.Call(context.Background(), inv(tool, args))
}

func (r *rig) state(id string) gate.RequestState {
	r.t.Helper()
	rec, err := r.requests.Get(context.Background(), id)
	require.NoError(r.t, err)
	return rec.State
}

var errTest = errors.New("made by the test")

const refusedText = "The user did not approve this action: move. Do not perform it; tell the user briefly."

var _ = gatetest.Approve
