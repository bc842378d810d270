package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/mcp/mcptest"
)

// asksAndGoes has a client ask for a motion, take `pending` for an answer, and vanish.
func asksAndGoes(t *testing.T, s *screen) (id string) {
	t.Helper()
	c := s.client("2026-07-28")
	e := c.Call("ask", "move_joints", `{"positions":{"shoulder_pan":0.3}}`)
	require.Equal(t, gate.StatusPending, e.Structured.Status, "%s", e.Raw)
	c.Close(true)
	return e.Structured.CallID
}

// status is what call_status tells a client that has come back.
func status(t *testing.T, c *mcptest.Client, id string, wait string) mcptest.Answer {
	t.Helper()
	e := c.Call("status of "+id, "call_status", `{"call_id":"`+id+`","wait_s":`+wait+`}`)
	require.False(t, e.IsError, "%s", e.Raw)
	var a mcptest.Answer
	require.NoError(t, json.Unmarshal(e.Structured.Result, &a), "%s", e.Raw)
	return a
}

// TestG49_AClientThatWentAwayFindsItsAnswerAfterARestart: it asked, was told `pending`
// and vanished; the bridge was killed and started again; a person said yes; and the
// client, back, is told what was measured. Killed once more, the bridge still knows.
func TestG49_AClientThatWentAwayFindsItsAnswerAfterARestart(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := sit(t, dir, "--clock", "fast", "--mcp-wait", "300ms")
	id := asksAndGoes(t, s)
	s.card()
	s.kill9()

	s = seat(t, dir, "--clock", "fast", "--mcp-wait", "300ms")
	s.await("help lists what can be typed")
	s.card()
	c := s.client("legacy")
	require.Equal(t, gate.StatusPending, status(t, c, id, "0").Status)
	s.answers("y")
	a := status(t, c, id, "45")
	require.Equal(t, gate.StatusOK, a.Status)
	require.Equal(t, gate.ApprovalApproved, a.Approval)
	require.InDelta(t, 0.3, pan(t, a.Result), 0.01)
	s.kill9()

	s = sit(t, dir, "--clock", "fast", "--mcp-wait", "300ms")
	a = status(t, s.client("2026-07-28"), id, "0")
	require.Equal(t, gate.StatusOK, a.Status)
	require.InDelta(t, 0.3, pan(t, a.Result), 0.01)
	require.Len(t, calls(t, dir, id), 1, "it ran once")
}

// TestG49_CancelCallWithdrawsTheQuestionAndTheCardGoes: in the life that asked it and in
// the next one. A yes to what is gone moves nothing.
func TestG49_CancelCallWithdrawsTheQuestionAndTheCardGoes(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		dir := dataDir(t)
		s := sit(t, dir, "--clock", "fast", "--mcp-wait", "300ms")
		id := asksAndGoes(t, s)
		s.card()
		if restart {
			s.kill9()
			s = seat(t, dir, "--clock", "fast", "--mcp-wait", "300ms")
			s.await("help lists what can be typed")
			s.card()
		}
		c := s.client("2026-07-28")
		e := c.Call("cancel", "cancel_call", `{"call_id":"`+id+`","reason":"changed my mind"}`)
		require.False(t, e.IsError, "%s", e.Raw)
		s.await("this question is closed, nothing was approved: withdrawn")
		s.answers("y")
		require.Equal(t, "0.0000", s.pan())
		a := status(t, c, id, "0")
		require.Equal(t, gate.StatusCancelled, a.Status)
		require.Equal(t, gate.CodeCancelled, a.Code)
		require.Contains(t, a.Text, "changed my mind")
		ended := ofType(logged(t, dir), "approval")
		require.Equal(t, "withdrawn", ended[len(ended)-1].Decision)
		s.kill9()
	}
}
