package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tau-robot/tau/gate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeGate is a gate.Caller whose calls the test ends. Like the real one it shows
// a call only to the principal and session that made it.
type fakeGate struct {
	mu      sync.Mutex
	invs    []gate.Invocation // in the order they came
	stops   []gate.Invocation
	tickets map[string]*fakeTicket
	opened  chan *fakeTicket // each tier-2 call, as it is submitted
	panics  bool

	stopping chan string   // each stop, as it is commanded
	hold     chan struct{} // until it is closed, stops have no verdict; nil: they have
}

func newFake() *fakeGate {
	return &fakeGate{tickets: make(map[string]*fakeTicket), opened: make(chan *fakeTicket, 64),
		stopping: make(chan string, 1024)}
}

func obj(props ...gate.Property) *gate.Schema {
	return &gate.Schema{Kind: gate.KindObject, Properties: props}
}

// Stamp counts the stops.
func (g *fakeGate) Stamp() gate.Stamp {
	g.mu.Lock()
	defer g.mu.Unlock()
	return gate.Stamp(len(g.stops) + 1)
}

func (g *fakeGate) Specs() []gate.Spec {
	str := &gate.Schema{Kind: gate.KindString}
	rad := &gate.Schema{Kind: gate.KindNumber, Unit: "rad"}
	return []gate.Spec{
		{Name: "robot_state", Description: "Read the state.", Tier: gate.TierRead, Input: obj(),
			Output: obj(gate.Property{Name: "mode", Required: true, Schema: str})},
		{Name: "call_status", Description: "Fetch a call.", Tier: gate.TierRead,
			Input: obj(gate.Property{Name: "call_id", Required: true, Schema: str})},
		{Name: "cancel_call", Description: "Cancel a call.", Tier: gate.TierWrite,
			Input: obj(gate.Property{Name: "call_id", Required: true, Schema: str})},
		{Name: "scene_add", Description: "Add a body.", Tier: gate.TierWrite, Input: obj()},
		{Name: "stop", Description: "Stop.", Tier: gate.TierWrite, Input: obj(gate.Property{Name: "reason", Schema: str})},
		{Name: "estop", Description: "Emergency stop.", Tier: gate.TierWrite, Input: obj(gate.Property{Name: "reason", Schema: str})},
		{Name: "move_joints", Description: "Move joints.", Effect: "Moves the arm.", Tier: gate.TierPhysical,
			Input: obj(gate.Property{Name: "positions", Required: true, Schema: &gate.Schema{Kind: gate.KindMap, Elem: rad}}),
			Output: obj(gate.Property{Name: "positions", Required: true,
				Schema: &gate.Schema{Kind: gate.KindMap, Elem: rad}})},
	}
}

func (g *fakeGate) Call(_ context.Context, inv gate.Invocation) gate.Answer {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stop(inv)
}

// stop ends every call at once, as the real gate does. g.mu is held.
func (g *fakeGate) stop(inv gate.Invocation) gate.Answer {
	select {
	case g.stopping <- inv.Tool:
	default:
	}
	g.invs = append(g.invs, inv)
	g.stops = append(g.stops, inv)
	for _, t := range g.tickets {
		t.end(gate.Answer{Status: gate.StatusCancelled, Code: gate.CodeStopped, Text: "Stopped."})
	}
	return gate.Answer{Tool: inv.Tool, Status: gate.StatusOK, Text: "Stopped.", Approval: gate.ApprovalNone,
		Backend: "fake", Result: json.RawMessage(`{"verdicts":[]}`)}
}

func (g *fakeGate) Submit(inv gate.Invocation) gate.Ticket {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.panics {
		panic("the fake gate panics")
	}
	g.invs = append(g.invs, inv)
	t := &fakeTicket{inv: inv, id: fmt.Sprintf("%032x", len(g.invs)), done: make(chan struct{})}
	t.answer = gate.Answer{CallID: t.id, Tool: inv.Tool, Status: gate.StatusPending, Backend: "fake",
		Digest: "d1", ExpiresAt: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), Approval: gate.ApprovalNone}
	g.tickets[t.id] = t
	switch inv.Tool {
	case "stop", "estop":
		g.invs = g.invs[:len(g.invs)-1]
		delete(g.tickets, t.id)
		a := g.stop(inv)
		if g.hold == nil {
			t.end(a)
			break
		}
		go func() { <-g.hold; t.end(a) }()
	case "move_joints", "scene_add":
		g.opened <- t
	case "robot_state":
		t.end(gate.Answer{Status: gate.StatusOK, Text: "At rest.", Result: json.RawMessage(`{"mode":"sim"}`)})
	case "call_status", "cancel_call":
		var args struct {
			CallID string `json:"call_id"`
		}
		_ = json.Unmarshal(inv.Args, &args)
		other, ok := g.tickets[args.CallID]
		if !ok || other.inv.Principal != inv.Principal || other.inv.Session != inv.Session {
			t.end(gate.Answer{Status: gate.StatusRefused, Code: gate.CodeInvalidArgument, Text: "No such call."})
			break
		}
		if inv.Tool == "cancel_call" {
			other.Cancel("cancel_call")
		}
		a := other.Answer()
		t.mu.Lock()
		t.answer = a
		close(t.done)
		t.mu.Unlock()
	default:
		t.end(gate.Answer{Status: gate.StatusRefused, Code: gate.CodeUnknownTool,
			Text: fmt.Sprintf("Tool '%s' is not registered; it was not run.", inv.Tool)})
	}
	return t
}

func (g *fakeGate) calls() []gate.Invocation {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]gate.Invocation(nil), g.invs...)
}

func (g *fakeGate) stopped() []gate.Invocation {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]gate.Invocation(nil), g.stops...)
}

// asked waits for the next tier-2 call to reach the gate.
func (g *fakeGate) asked(t *testing.T) *fakeTicket {
	t.Helper()
	select {
	case tk := <-g.opened:
		return tk
	case <-time.After(time.Minute):
		require.FailNow(t, "no call reached the gate")
		return nil
	}
}

type fakeTicket struct {
	inv  gate.Invocation
	id   string
	done chan struct{}

	mu      sync.Mutex
	answer  gate.Answer
	reasons []string
}

func (t *fakeTicket) ID() string            { return t.id }
func (t *fakeTicket) Done() <-chan struct{} { return t.done }

func (t *fakeTicket) Answer() gate.Answer {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.answer
}

func (t *fakeTicket) Cancel(reason string) {
	t.mu.Lock()
	t.reasons = append(t.reasons, reason)
	t.mu.Unlock()
	t.end(gate.Answer{Status: gate.StatusCancelled, Code: gate.CodeCancelled, Text: "Cancelled: " + reason + "."})
}

// end ends the call once.
func (t *fakeTicket) end(a gate.Answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.done:
		return
	default:
	}
	a.CallID, a.Tool, a.Backend = t.id, t.inv.Tool, "fake"
	if a.Approval == "" {
		a.Approval = gate.ApprovalNone
	}
	t.answer = a
	close(t.done)
}

func (t *fakeTicket) cancels() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.reasons...)
}

func (t *fakeTicket) over() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

var moved = gate.Answer{Status: gate.StatusOK, Text: "Moved.", Approval: gate.ApprovalApproved,
	Result: json.RawMessage(`{"positions":{"shoulder_pan":0.5}}`), Digest: "d1", Duration: 1500 * time.Millisecond}
