package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/mcp/mcptest"
)

// answered has a call asked at the terminal and says yes. The client holds what comes
// back against the tool's output schema.
func (s *screen) answered(c *mcptest.Client, as, tool, args string) json.RawMessage {
	s.t.Helper()
	c.Begin(as, tool, args)
	s.card()
	s.answers("y")
	e := c.End(as)
	require.Equal(s.t, gate.StatusOK, e.Structured.Status, "%s", e.Raw)
	require.Equal(s.t, gate.ApprovalApproved, e.Structured.Approval)
	return e.Structured.Result
}

// TestG14_G48_PermissionForMoreThanOneCall at the real program: an agent asks for a zone
// and registers a routine, a person says yes to each, and the routine is fired as often as
// was said, without a question, and not once more.
func TestG14_G48_PermissionForMoreThanOneCall(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := sit(t, dir, "--clock", "fast", "--scene", "../../testdata/scenes/table.json")
	c := s.client("2026-07-28")
	c.List()
	var access struct {
		Granted []string `json:"granted"`
		Already []string `json:"already_granted"`
	}
	require.NoError(t, json.Unmarshal(s.answered(c, "access", "request_access", `{"values":["zone:keyboard"],"reason":"The cup fell on it."}`), &access))
	require.Equal(t, []string{"zone:keyboard"}, access.Granted)
	again := c.Call("again", "request_access", `{"values":["zone:keyboard"],"reason":"Once more."}`)
	require.Equal(t, gate.ApprovalNone, again.Structured.Approval, "%s", again.Raw)
	require.NoError(t, json.Unmarshal(again.Structured.Result, &access))
	require.Equal(t, []string{"zone:keyboard"}, access.Already)

	s.answered(c, "register", "register_routine", `{"name":"wave","firings":2,"steps":[
		{"tool":"jog","arguments":{"joint":"shoulder_pan","delta":0.2}},
		{"tool":"jog","arguments":{"joint":"shoulder_pan","delta":-0.2}}]}`)
	for n, as := range []string{"first", "second"} {
		e := c.Call(as, "run_routine", `{"name":"wave"}`)
		require.Equal(t, gate.StatusOK, e.Structured.Status, "%s", e.Raw)
		var fired struct {
			Firing int `json:"firing"`
			Steps  []struct {
				Status gate.Status `json:"status"`
			} `json:"steps"`
		}
		require.NoError(t, json.Unmarshal(e.Structured.Result, &fired))
		require.Equal(t, n+1, fired.Firing)
		require.Len(t, fired.Steps, 2)
	}
	e := c.Call("third", "run_routine", `{"name":"wave"}`)
	require.Equal(t, gate.StatusRefused, e.Structured.Status, "%s", e.Raw)

	r := tau(t, "", "robot", "approvals", "grants", "--data-dir", dir, "--json")
	require.Equal(t, 0, r.status, r.stderr)
	require.Contains(t, r.stdout, "zone:keyboard")
	require.Contains(t, r.stdout, "wave")
}
