package mcp_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/gate/lane"
	"github.com/tau-robot/tau/gate/mcp"
)

// memorySink keeps the events.
type memorySink struct {
	mu     sync.Mutex
	events []gate.Event
}

func (s *memorySink) Emit(e gate.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
	return nil
}

func (s *memorySink) of(kind string) (out []gate.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Type == kind {
			out = append(out, e)
		}
	}
	return out
}

type simSessions struct{}

func (simSessions) Session(name string) (gate.Session, error) {
	return gate.Session{Name: name, Mode: gate.ModeSim, Backend: "sim"}, nil
}

type simStop struct{}

func (simStop) Name() string { return "sim" }
func (simStop) Stop(context.Context, gate.StopKind) gate.StopVerdict {
	return gate.StopVerdict{Backend: "sim", Commanded: "yes", Acknowledged: "yes", Stationary: "yes"}
}

// armTool is a tier-2 tool whose motion starts, tells so, and ends when it is let.
type armTool struct {
	moving chan struct{} // receives when a motion starts
	finish chan struct{} // lets one motion end
	halted chan error    // receives the cause when one is stopped in motion
}

func newArmTool() *armTool {
	return &armTool{moving: make(chan struct{}, 8), finish: make(chan struct{}, 8), halted: make(chan error, 8)}
}

func (a *armTool) Spec() gate.Spec {
	return gate.Spec{
		Name: "move_joints", Tier: gate.TierPhysical, Description: "Moves joints.", Effect: "The arm moves.",
		Input:  gate.Obj(gate.Req("positions", gate.MapOf(gate.Num().In("rad"), 1, 8))),
		Output: gate.Obj(gate.Req("positions", gate.MapOf(gate.Num().In("rad"), 1, 8))),
	}
}
func (a *armTool) Restore(context.Context, []byte) (gate.Action, error) {
	return nil, gate.Errf(gate.CodeNotSupported, "", "not in this test")
}
func (a *armTool) Prepare(_ context.Context, c gate.Call) (gate.Action, error) {
	var args struct {
		Positions map[string]float64 `json:"positions"`
	}
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return nil, err
	}
	if p := args.Positions["a"]; p > 2 {
		return nil, &gate.Error{
			Code: gate.CodeJointLimit, Where: "a", Text: "is beyond its limit",
			Value: &gate.Quantity{Name: "position", Value: p, Unit: "rad"}, Limit: &gate.Quantity{Value: 2, Unit: "rad"},
			Nearest: []gate.Quantity{{Name: "a", Value: 2, Unit: "rad"}},
		}
	}
	return &armMotion{a, c}, nil
}

type armMotion struct {
	arm  *armTool
	call gate.Call
}

func (m *armMotion) Card() gate.Card             { return gate.Card{} }
func (m *armMotion) Digest() [32]byte            { return sha256.Sum256(m.call.Args) }
func (m *armMotion) Snapshot() ([]byte, error)   { return []byte("x"), nil }
func (m *armMotion) Expiry() time.Time           { return time.Time{} }
func (m *armMotion) Resource() string            { return m.call.Session.Backend }
func (m *armMotion) Check(context.Context) error { return nil }
func (m *armMotion) Run(ctx context.Context) (gate.Result, error) {
	m.arm.moving <- struct{}{}
	at := json.RawMessage(`{"positions":{"a":0.5}}`)
	select {
	case <-m.arm.finish:
		return gate.Result{Text: "Moved.", Data: at}, nil
	case <-ctx.Done():
		m.arm.halted <- context.Cause(ctx)
		return gate.Result{Text: "Stopped on the way.", Data: at}, gate.Errf(gate.CodeOf(context.Cause(ctx)), "", "%w", context.Cause(ctx))
	}
}

type realRig struct {
	*bridge
	gate *gate.Gate
	arm  *armTool
	sink *memorySink
}

func serveGate(t *testing.T, approver gate.Approver, change func(*mcp.Options)) *realRig {
	t.Helper()
	r := newGate(t, approver)
	r.bridge = serve(t, r.gate, change)
	return r
}

// newGate is a real gate that nothing serves yet.
func newGate(t *testing.T, approver gate.Approver) *realRig {
	t.Helper()
	r := &realRig{arm: newArmTool(), sink: &memorySink{}}
	cat := gate.NewCatalog()
	require.NoError(t, cat.Register(r.arm))
	l := lane.New()
	g, err := gate.New(gate.Config{
		Catalog: cat, Lane: l, Sessions: simSessions{}, Requests: approval.NewMemory(), Sink: r.sink, Approver: approver,
		Stoppers: []gate.Stopper{simStop{}},
	})
	require.NoError(t, err)
	r.gate = g
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		require.NoError(t, g.Close(ctx))
		require.NoError(t, l.Close())
	})
	return r
}

func waitFor[T any](t *testing.T, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(time.Minute):
		require.FailNow(t, "never came: "+what)
		panic("unreachable")
	}
}

func TestG8_G9_TheRealGateThroughEveryRevision(t *testing.T) {
	revisions(t, func(t *testing.T, version string) {
		r := serveGate(t, gatetest.Script(t, gatetest.Reject(), gatetest.Approve()), nil)
		cs := r.connect(t, r.alice, version, nil)
		res, err := call(t.Context(), cs, "move_joints", `{"positions":{"a":0.4}}`)
		require.NoError(t, err)
		require.True(t, res.IsError)
		require.Equal(t, "The user did not approve this action: move_joints. Do not perform it; tell the user briefly.",
			res.Content[0].(*sdk.TextContent).Text)
		require.Equal(t, gate.ApprovalRejected, decode(t, res).Approval)
		require.Empty(t, r.arm.moving)

		r.arm.finish <- struct{}{}
		res, err = call(t.Context(), cs, "move_joints", `{"positions":{"a":0.5}}`)
		require.NoError(t, err)
		require.False(t, res.IsError)
		a := decode(t, res)
		require.Equal(t, gate.ApprovalApproved, a.Approval)
		require.JSONEq(t, `{"positions":{"a":0.5}}`, string(a.Result))
		require.Equal(t, "sim", a.Backend)
		require.Equal(t, "left", a.Session)
		require.Len(t, r.arm.moving, 1)

		for _, args := range []string{`{"positions":{"a":true}}`, `{"positions":{"a":1,"a":2}}`, `{"positions":{"a":1},"approved":true}`, `{}`} {
			res, err = call(t.Context(), cs, "move_joints", args)
			require.NoError(t, err, args)
			require.Equal(t, gate.CodeInvalidArgument, decode(t, res).Code, args)
		}
		res, err = call(t.Context(), cs, "nothing", `{}`)
		require.NoError(t, err)
		require.Equal(t, gate.CodeUnknownTool, decode(t, res).Code)
		require.Len(t, r.arm.moving, 1, "none of those moved anything")
		for _, e := range r.sink.of("tool_call") {
			require.Equal(t, "alice", e.Principal)
			require.Equal(t, "left", e.SessionID)
			require.Equal(t, "mcp", e.Origin)
		}
	})
}

func TestCase40_G49_TheRealGateCancelsAMotion(t *testing.T) {
	revisions(t, func(t *testing.T, version string) {
		approver := gatetest.Script(t, gatetest.Approve())
		r := serveGate(t, approver, nil)
		cs := r.connect(t, r.alice, version, nil)
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error, 1)
		go func() { _, err := call(ctx, cs, "move_joints", `{"positions":{"a":0.5}}`); got <- err }()
		waitFor(t, r.arm.moving, "the motion")
		cancel()
		require.ErrorIs(t, waitFor(t, got, "the client's error"), context.Canceled)
		require.Equal(t, gate.CodeCancelled, gate.CodeOf(waitFor(t, r.arm.halted, "the stop of the motion")))
		res, err := call(t.Context(), cs, "call_status", `{"call_id":"`+approver.Requests()[0].CallID+`","wait_s":20}`)
		require.NoError(t, err)
		var end answer
		require.NoError(t, json.Unmarshal(decode(t, res).Result, &end))
		require.Equal(t, gate.StatusCancelled, end.Status)
		require.JSONEq(t, `{"positions":{"a":0.5}}`, string(end.Result), "where it stopped")
	})
}

// What a client adds to its call to approve it is an unknown field, wherever it stands.
func TestCase61_AClientCantApproveItsOwnCall(t *testing.T) {
	nobody := gatetest.Nobody(t)
	r := serveGate(t, nobody, nil)
	for name, params := range map[string]string{
		"in the arguments":  `{"name":"move_joints","arguments":{"positions":{"a":0.5},"approved":true}}`,
		"beside them":       `{"name":"move_joints","arguments":{"positions":{"a":0.5}},"approved":true}`,
		"an answer to come": `{"name":"move_joints","arguments":{"positions":{"a":0.5}},"inputResponses":{"x":{"action":"accept"}}}`,
	} {
		code, body := r.post(t, r.alice, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`,
			r.head(t, r.alice, "2025-11-25", "move_joints"))
		if name == "in the arguments" {
			require.Equal(t, 200, code, body)
			require.Contains(t, body, "INVALID_ARGUMENT")
			require.Contains(t, body, "approved")
			continue
		}
		require.Equal(t, 400, code, body)
		require.Contains(t, body, "unknown member")
	}
	// In _meta it is ignored like everything there: the question is asked all the same.
	head := r.head(t, r.alice, "2025-11-25", "move_joints")
	answered := make(chan string, 1)
	go func() {
		_, body := r.post(t, r.alice, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"move_joints","arguments":{"positions":{"a":0.5}},"_meta":{"approved":true}}}`, head)
		answered <- body
	}()
	waitFor(t, nobody.Asked, "the question")
	code, _ := r.post(t, r.alice, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`, head)
	require.Equal(t, 202, code)
	require.Contains(t, waitFor(t, answered, "the answer"), `"status":"cancelled"`)
	require.Empty(t, r.arm.moving)
}

func TestG49_TheRealGateWithdrawsAQuestion(t *testing.T) {
	revisions(t, func(t *testing.T, version string) {
		nobody := gatetest.Nobody(t)
		r := serveGate(t, nobody, nil)
		cs := r.connect(t, r.alice, version, nil)
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error, 1)
		go func() { _, err := call(ctx, cs, "move_joints", `{"positions":{"a":0.5}}`); got <- err }()
		req := waitFor(t, nobody.Asked, "the question")
		cancel()
		require.ErrorIs(t, waitFor(t, got, "the client's error"), context.Canceled)
		res, err := call(t.Context(), cs, "call_status", `{"call_id":"`+req.CallID+`","wait_s":20}`)
		require.NoError(t, err)
		require.Contains(t, string(decode(t, res).Result), `"status":"cancelled"`)
		require.Empty(t, r.arm.moving)
	})
}

func TestThePendingCallOfTheRealGate(t *testing.T) {
	revisions(t, func(t *testing.T, version string) {
		asked, say := make(chan gate.Request, 1), make(chan struct{})
		step := gatetest.Approve()
		step.Do = func(_ context.Context, req gate.Request) {
			asked <- req
			<-say
		}
		r := serveGate(t, gatetest.Script(t, step), func(o *mcp.Options) { o.Wait = 100 * time.Millisecond })
		cs := r.connect(t, r.alice, version, nil)
		res, err := call(t.Context(), cs, "move_joints", `{"positions":{"a":0.5}}`)
		require.NoError(t, err)
		a := decode(t, res)
		require.Equal(t, gate.StatusPending, a.Status)
		req := waitFor(t, asked, "the question")
		require.Equal(t, req.CallID, a.CallID)
		require.NoError(t, cs.Close()) // the client goes away; the question stays

		other := r.connect(t, r.bob, version, nil)
		res, err = call(t.Context(), other, "call_status", `{"call_id":"`+a.CallID+`"}`)
		require.NoError(t, err)
		require.True(t, res.IsError, "another token's call doesn't exist")
		res, err = call(t.Context(), other, "cancel_call", `{"call_id":"`+a.CallID+`"}`)
		require.NoError(t, err)
		require.True(t, res.IsError)

		close(say)
		waitFor(t, r.arm.moving, "the motion")
		r.arm.finish <- struct{}{}
		again := r.connect(t, r.alice, version, nil)
		res, err = call(t.Context(), again, "call_status", `{"call_id":"`+a.CallID+`","wait_s":20}`)
		require.NoError(t, err)
		require.False(t, res.IsError)
		var rest answer
		require.NoError(t, json.Unmarshal(decode(t, res).Result, &rest))
		require.Equal(t, gate.StatusOK, rest.Status)
		require.Equal(t, gate.ApprovalApproved, rest.Approval)
		require.JSONEq(t, `{"positions":{"a":0.5}}`, string(rest.Result))
	})
}

func TestG6_TheRealGateStopsAMotion(t *testing.T) {
	revisions(t, func(t *testing.T, version string) {
		r := serveGate(t, gatetest.Script(t, gatetest.Approve()), nil)
		cs := r.connect(t, r.alice, version, nil)
		got := make(chan *sdk.CallToolResult, 1)
		go func() {
			res, err := call(t.Context(), cs, "move_joints", `{"positions":{"a":0.5}}`)
			if err == nil {
				got <- res
			}
		}()
		waitFor(t, r.arm.moving, "the motion")
		code, body := r.post(t, r.alice, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stop","arguments":{"reason":NaN`, nil)
		require.Equal(t, 200, code, body)
		waitFor(t, r.arm.halted, "the stop of the motion")
		res := waitFor(t, got, "the answer")
		require.True(t, res.IsError)
		require.Equal(t, gate.CodeStopped, decode(t, res).Code)
		require.JSONEq(t, `{"positions":{"a":0.5}}`, string(decode(t, res).Result), "where it stopped")
	})
}
