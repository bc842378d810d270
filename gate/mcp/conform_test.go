package mcp_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/gate/mcp"
)

// transports are the ways in; each returns a client of the gate.
var transports = map[string]func(t *testing.T, g *realRig, version string, o *sdk.ClientOptions, change func(*mcp.Options)) *sdk.ClientSession{
	"http": func(t *testing.T, r *realRig, version string, o *sdk.ClientOptions, change func(*mcp.Options)) *sdk.ClientSession {
		b := serve(t, r.gate, change)
		return b.connect(t, b.alice, version, o)
	},
	"stdio": func(t *testing.T, r *realRig, version string, o *sdk.ClientOptions, change func(*mcp.Options)) *sdk.ClientSession {
		w := stdio(t, r.gate, change)
		cs, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(),
			&sdk.IOTransport{Reader: w.out, Writer: w.in}, &sdk.ClientSessionOptions{ProtocolVersion: version})
		require.NoError(t, err)
		t.Cleanup(func() { _ = cs.Close() })
		return cs
	},
}

// everyWayIn runs f for each transport and revision.
func everyWayIn(t *testing.T, f func(t *testing.T, connect func(*realRig, *sdk.ClientOptions, func(*mcp.Options)) *sdk.ClientSession)) {
	t.Helper()
	for name, connect := range transports {
		t.Run(name, func(t *testing.T) {
			revisions(t, func(t *testing.T, version string) {
				t.Parallel()
				f(t, func(r *realRig, o *sdk.ClientOptions, change func(*mcp.Options)) *sdk.ClientSession {
					return connect(t, r, version, o, change)
				})
			})
		})
	}
}

// validator holds each result against the output schema that its tool declared.
type validator struct {
	t     *testing.T
	tools map[string]*jsonschema.Resolved
}

func newValidator(t *testing.T, cs *sdk.ClientSession) *validator {
	t.Helper()
	v := &validator{t, map[string]*jsonschema.Resolved{}}
	list, err := cs.ListTools(t.Context(), nil)
	require.NoError(t, err)
	for _, tool := range list.Tools {
		require.NotNil(t, tool.OutputSchema, tool.Name)
		b, err := json.Marshal(tool.OutputSchema)
		require.NoError(t, err)
		var s jsonschema.Schema
		require.NoError(t, json.Unmarshal(b, &s))
		require.Equal(t, "object", s.Type, tool.Name)
		v.tools[tool.Name], err = s.Resolve(nil)
		require.NoError(t, err, tool.Name)
	}
	return v
}

// check requires that a result is what the revisions and the tool's schema say:
// content that is never empty, and structured content that validates.
func (v *validator) check(tool string, res *sdk.CallToolResult) answer {
	v.t.Helper()
	require.NotEmpty(v.t, res.Content)
	for _, c := range res.Content {
		require.NotEmpty(v.t, c.(*sdk.TextContent).Text)
	}
	if schema := v.tools[tool]; schema != nil {
		require.NoError(v.t, schema.Validate(res.StructuredContent), "%s: %v", tool, res.StructuredContent)
	}
	a := decode(v.t, res)
	require.Equal(v.t, res.IsError, a.Status != gate.StatusOK && a.Status != gate.StatusPending)
	return a
}

func TestEveryAnswerValidatesAgainstItsOutputSchema(t *testing.T) {
	everyWayIn(t, func(t *testing.T, connect func(*realRig, *sdk.ClientOptions, func(*mcp.Options)) *sdk.ClientSession) {
		late := gatetest.Approve()
		say := make(chan struct{})
		late.Do = func(context.Context, gate.Request) { <-say }
		r := newGate(t, gatetest.Script(t, gatetest.Reject(), gatetest.Approve(), gatetest.Approve(), late))
		cs := connect(r, nil, nil)
		hasty := connect(r, nil, func(o *mcp.Options) { o.Wait = 50 * time.Millisecond }) // at the same gate
		v := newValidator(t, cs)
		doAt := func(cs *sdk.ClientSession, tool, args string) answer {
			t.Helper()
			res, err := call(t.Context(), cs, tool, args)
			require.NoError(t, err)
			return v.check(tool, res)
		}
		do := func(tool, args string) answer { t.Helper(); return doAt(cs, tool, args) }
		require.Equal(t, gate.CodeNotApproved, do("move_joints", `{"positions":{"a":0.1}}`).Code)
		r.arm.finish <- struct{}{}
		require.Equal(t, gate.StatusOK, do("move_joints", `{"positions":{"a":0.2}}`).Status)
		require.Equal(t, gate.StatusOK, do("demo_physical_action", `{}`).Status)
		require.Equal(t, gate.CodeInvalidArgument, do("move_joints", `{"positions":[]}`).Code)
		require.Equal(t, gate.CodeUnknownTool, do("nothing", `{}`).Code)
		for _, tool := range []string{"current_time", "session_status"} {
			require.Equal(t, gate.StatusOK, do(tool, `{}`).Status)
		}
		require.Equal(t, gate.CodeInvalidArgument, do("call_status", `{"call_id":"00000000000000000000000000000000"}`).Code)

		far := do("move_joints", `{"positions":{"a":2.5}}`)
		require.Equal(t, gate.CodeJointLimit, far.Code)
		require.Equal(t, "a", far.Where)
		require.Equal(t, &gate.Quantity{Name: "position", Value: 2.5, Unit: "rad"}, far.Value)
		require.Equal(t, &gate.Quantity{Value: 2, Unit: "rad"}, far.Limit)
		require.Equal(t, []gate.Quantity{{Name: "a", Value: 2, Unit: "rad"}}, far.Nearest)

		pending := doAt(hasty, "move_joints", `{"positions":{"a":0.3}}`)
		require.Equal(t, gate.StatusPending, pending.Status)
		require.Equal(t, gate.StatusOK, do("call_status", `{"call_id":"`+pending.CallID+`"}`).Status)
		close(say)
		waitFor(t, r.arm.moving, "the first motion")
		waitFor(t, r.arm.moving, "the second motion")
		ended := do("cancel_call", `{"call_id":"`+pending.CallID+`"}`)
		require.Equal(t, gate.StatusOK, ended.Status)
		require.Contains(t, string(ended.Result), `"cancelled"`)
		require.Equal(t, gate.StatusOK, do("stop", `{}`).Status)
		require.Equal(t, gate.StatusOK, do("estop", `{"reason":7}`).Status)
		require.Len(t, v.tools, 8, "each of them was called")
	})
}

// A result that isn't what its tool declared would be found.
func TestTheOutputSchemaSaysWhatAResultIs(t *testing.T) {
	r := newGate(t, nil)
	v := newValidator(t, transports["http"](t, r, "", nil, nil))
	for text, ok := range map[string]bool{
		`{"status":"ok","approval":"none","duration_ms":1,"result":{"positions":{"a":1}}}`:                                true,
		`{"status":"ok","approval":"none","duration_ms":1,"result":{"positions":{"a":"1"}}}`:                              false,
		`{"status":"ok","approval":"none","duration_ms":1,"result":{}}`:                                                   false,
		`{"status":"error","approval":"approved","duration_ms":1,"result":{}}`:                                            true,
		`{"status":"refused","approval":"none","duration_ms":1,"value":{"value":1},"nearest":[{"value":1,"unit":"rad"}]}`: true,
		`{"status":"refused","approval":"none","duration_ms":1,"value":1}`:                                                false,
		`{"status":"refused","approval":"none","duration_ms":1,"nearest":[{"unit":"rad"}]}`:                               false,
		`{"status":"done","approval":"none","duration_ms":1}`:                                                             false,
		`{"status":"ok","duration_ms":1}`:                                                                                 false,
	} {
		var x any
		require.NoError(t, json.Unmarshal([]byte(text), &x))
		err := v.tools["move_joints"].Validate(x)
		require.Equal(t, ok, err == nil, "%s: %v", text, err)
	}
}

// Waiting and moving send progress, on each transport and in each revision.
func TestProgressOfWaitingAndMoving(t *testing.T) {
	everyWayIn(t, func(t *testing.T, connect func(*realRig, *sdk.ClientOptions, func(*mcp.Options)) *sdk.ClientSession) {
		r := newGate(t, gatetest.Script(t, gatetest.Approve()))
		lines := make(chan *sdk.ProgressNotificationParams, 64)
		cs := connect(r, &sdk.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { lines <- r.Params },
		}, nil)
		params := &sdk.CallToolParams{Name: "move_joints", Arguments: json.RawMessage(`{"positions":{"a":0.5}}`)}
		params.SetProgressToken("tok")
		got := make(chan error, 1)
		go func() { _, err := cs.CallTool(t.Context(), params); got <- err }()
		want := []string{"call ", "planning and rehearsing", "waiting for approval", "running"}
		last := 0.0
		for len(want) > 0 {
			p := waitFor(t, lines, "progress: "+want[0])
			require.Equal(t, "tok", p.ProgressToken)
			require.Greater(t, p.Progress, last, "it must grow")
			last = p.Progress
			if len(p.Message) >= len(want[0]) && p.Message[:len(want[0])] == want[0] {
				want = want[1:]
			}
		}
		r.arm.finish <- struct{}{}
		require.NoError(t, waitFor(t, got, "the answer"))
	})
}
