package mcp_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/gate/mcp"
	"github.com/tau-robot/tau/gate/mcp/mcptest"
)

func typescript(t *testing.T, r *bridge, tok mcp.Token, revision string) *mcptest.Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	require.NoError(t, mcp.SaveToken(path, tok))
	return mcptest.Start(t, r.url, path, revision)
}

// eras are how the client is started and what it then speaks.
var eras = map[string]string{"legacy": "2025-11-25", "auto": "2026-07-28"}

// The official TypeScript SDK's client, in both eras of the protocol, against the
// real gate.
func TestTypeScriptClient(t *testing.T) {
	mcptest.Need(t)
	for revision, want := range eras {
		t.Run(revision, func(t *testing.T) {
			r := serveGate(t, gatetest.Script(t, gatetest.Reject(), gatetest.Approve(), gatetest.Approve(), gatetest.Approve()), nil)
			c := typescript(t, r.bridge, r.alice, revision)
			require.Equal(t, want, c.Connect())

			tools := map[string]mcptest.Tool{}
			for _, tool := range c.List() {
				tools[tool.Name] = tool
			}
			require.Contains(t, tools, "stop")
			require.Equal(t, 2, *tools["move_joints"].Meta.Tier)
			require.Equal(t, "The arm moves.", tools["move_joints"].Meta.Effect)
			require.False(t, *tools["move_joints"].Annotations.ReadOnly)
			require.True(t, *tools["call_status"].Annotations.ReadOnly)

			e := c.Call("refused", "move_joints", `{"positions":{"a":0.1}}`)
			require.True(t, e.IsError)
			require.Equal(t, []string{"The user did not approve this action: move_joints. Do not perform it; tell the user briefly."}, e.Text)
			require.Equal(t, gate.CodeNotApproved, e.Structured.Code)
			require.Empty(t, r.arm.moving)

			r.arm.finish <- struct{}{}
			e = c.Call("approved", "move_joints", `{"positions":{"a":0.2}}`)
			require.False(t, e.IsError)
			require.Equal(t, gate.ApprovalApproved, e.Structured.Approval)
			require.JSONEq(t, `{"positions":{"a":0.5}}`, string(e.Structured.Result))
			waitFor(t, r.arm.moving, "the motion")

			c.Begin("cancelled", "move_joints", `{"positions":{"a":0.3}}`)
			waitFor(t, r.arm.moving, "the motion")
			p := c.Wait("progress", func(e mcptest.Event) bool { return e.Event == "progress" && e.As == "cancelled" })
			require.Contains(t, p.Message, "call ")
			c.Cancel("cancelled")
			require.Equal(t, gate.CodeCancelled, gate.CodeOf(waitFor(t, r.arm.halted, "the stop of the motion")))
			require.Equal(t, "failed", c.End("cancelled").Event)

			c.Begin("stopped", "move_joints", `{"positions":{"a":0.4}}`)
			waitFor(t, r.arm.moving, "the motion")
			e = c.Call("stop", "stop", `{"reason":"test"}`)
			require.False(t, e.IsError, string(e.Raw))
			e = c.End("stopped")
			require.True(t, e.IsError)
			require.Equal(t, gate.CodeStopped, e.Structured.Code)
			waitFor(t, r.arm.halted, "the stop of the motion")
			c.Close(true)
		})
	}
}

func TestTypeScriptClientFetchesAPendingCall(t *testing.T) {
	mcptest.Need(t)
	for revision := range eras {
		t.Run(revision, func(t *testing.T) {
			asked, say := make(chan gate.Request, 1), make(chan struct{})
			late := gatetest.Approve()
			late.Do = func(_ context.Context, req gate.Request) { asked <- req; <-say }
			r := serveGate(t, gatetest.Script(t, late), func(o *mcp.Options) { o.Wait = time.Second })
			c := typescript(t, r.bridge, r.alice, revision)
			c.Connect()
			c.List()
			e := c.Call("pending", "move_joints", `{"positions":{"a":0.5}}`)
			require.False(t, e.IsError)
			require.Equal(t, gate.StatusPending, e.Structured.Status)
			require.Equal(t, waitFor(t, asked, "the question").CallID, e.Structured.CallID)
			require.NotEmpty(t, e.Structured.Digest)
			require.False(t, e.Structured.ExpiresAt.IsZero())
			c.Drop() // the process is gone; the call is the bridge's
			close(say)
			waitFor(t, r.arm.moving, "the motion")
			r.arm.finish <- struct{}{}
			again := typescript(t, r.bridge, r.alice, revision)
			again.Connect()
			again.List()
			e = again.Call("rest", "call_status", `{"call_id":"`+e.Structured.CallID+`","wait_s":30}`)
			var rest mcptest.Answer
			require.NoError(t, json.Unmarshal(e.Structured.Result, &rest))
			require.Equal(t, gate.StatusOK, rest.Status)
			require.Equal(t, gate.ApprovalApproved, rest.Approval)
			again.Close(true)
		})
	}
}

func TestTypeScriptClientWithoutAToken(t *testing.T) {
	r := serveGate(t, nil, nil)
	c := typescript(t, r.bridge, token(t, 9, "alice", "left"), "2026-07-28")
	c.Do(map[string]string{"do": "connect"})
	e := c.Wait("the refusal", func(e mcptest.Event) bool { return e.Event == "failed" || e.Event == "connected" })
	require.Equal(t, "failed", e.Event, string(e.Raw))
	require.NotContains(t, string(e.Raw), r.alice.Bearer())
}
