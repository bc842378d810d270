package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/mcp/mcptest"
)

// endpoint reads where MCP is from what a person reads at the prompt.
func (s *screen) endpoint() (url, tokenFile string) {
	s.t.Helper()
	m := regexp.MustCompile(`MCP at (\S+), bearer token in (\S+)`).FindStringSubmatch(s.out.String())
	require.NotNil(s.t, m, s.out.String())
	return m[1], m[2]
}

func (s *screen) client(revision string) *mcptest.Client {
	s.t.Helper()
	url, token := s.endpoint()
	c := mcptest.Start(s.t, url, token, revision)
	c.Connect()
	return c
}

func pan(t *testing.T, result json.RawMessage) float64 {
	t.Helper()
	var r struct {
		Positions map[string]float64 `json:"positions"`
	}
	require.NoError(t, json.Unmarshal(result, &r), "%s", result)
	require.Contains(t, r.Positions, "shoulder_pan")
	return r.Positions["shoulder_pan"]
}

// state reads robot_state over the client: its structured content is the result.
func state(t *testing.T, c *mcptest.Client, as string) (position float64, moving bool) {
	t.Helper()
	e := c.Call(as, "robot_state", `{}`)
	require.False(t, e.IsError, "%s", e.Raw)
	var r struct {
		Structured struct {
			Result struct {
				Positions map[string]float64 `json:"positions"`
				Moving    bool               `json:"moving"`
			} `json:"result"`
		} `json:"structured"`
	}
	require.NoError(t, json.Unmarshal(e.Raw, &r))
	require.Contains(t, r.Structured.Result.Positions, "shoulder_pan", "%s", e.Raw)
	return r.Structured.Result.Positions["shoulder_pan"], r.Structured.Result.Moving
}

// The official TypeScript SDK's client, a person at a real pseudo-terminal, and
// the bridge between them, in both kinds of protocol revision.
func TestAClientThatNobodyHereWroteAndAPersonAtATerminal(t *testing.T) {
	for _, revision := range []string{"legacy", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			s := sit(t, dir, "--clock", "real")
			c := s.client(revision)

			tools := map[string]mcptest.Tool{}
			for _, tool := range c.List() {
				tools[tool.Name] = tool
			}
			require.Equal(t, 0, *tools["robot_state"].Meta.Tier)
			require.True(t, *tools["robot_state"].Annotations.ReadOnly)
			require.Equal(t, 1, *tools["stop"].Meta.Tier)
			require.Equal(t, 2, *tools["move_joints"].Meta.Tier)
			require.True(t, *tools["move_joints"].Annotations.Destructive)
			require.NotEmpty(t, tools["move_joints"].Meta.Effect)

			// Refused: the exact text, and the arm is where it was.
			c.Begin("no", "move_joints", `{"positions":{"shoulder_pan":0.4}}`)
			s.card()
			s.answers("n")
			e := c.End("no")
			require.Equal(t, "result", e.Event, "%s", e.Raw)
			require.True(t, e.IsError)
			require.Contains(t, strings.Join(e.Text, "\n"), "The user did not approve this action: move_joints. Do not perform it; tell the user briefly.")
			require.Equal(t, gate.CodeNotApproved, e.Structured.Code)
			at, _ := state(t, c, "after no")
			require.InDelta(t, 0, at, 1e-3)

			// Approved: measured where it was asked to be.
			c.Begin("yes", "move_joints", `{"positions":{"shoulder_pan":0.3}}`)
			s.card()
			s.answers("y")
			e = c.End("yes")
			require.Equal(t, "result", e.Event, "%s", e.Raw)
			require.False(t, e.IsError, "%s", e.Raw)
			require.Equal(t, gate.ApprovalApproved, e.Structured.Approval)
			require.InDelta(t, 0.3, pan(t, e.Structured.Result), 0.01)
			// The person who approved it sees that it runs, and how it ended.
			s.await("… move_joints (agent, mcp): running, ")
			s.await("✓ move_joints (agent, mcp): done")

			// Cancelled in motion: found stopped, short of the goal.
			c.Begin("long", "move_joints", `{"positions":{"shoulder_pan":1.5},"speed_scale":0.1}`)
			s.card()
			s.answers("y")
			c.Wait("that it moves", func(e mcptest.Event) bool {
				return e.Event == "progress" && e.As == "long" && strings.Contains(e.Message, "moving: 0.5")
			})
			c.Cancel("long")
			require.Equal(t, "failed", c.End("long").Event)
			s.await("✗ move_joints (agent, mcp): CANCELLED")
			inLog(t, dir, gate.StatusCancelled)
			first, moving := state(t, c, "after cancel")
			require.False(t, moving)
			require.Greater(t, first, 0.3)
			require.Less(t, first, 1.4)
			again, _ := state(t, c, "and later")
			require.InDelta(t, first, again, 1e-3, "it stays stopped")

			c.Close(revision == "legacy")
			s.typed("quit\r")
			require.Equal(t, 0, s.status())
			requireControlledStop(t, dir)
		})
	}
}

// inLog waits for a move's end with a status: the client that cancelled isn't told.
func inLog(t *testing.T, dir string, status gate.Status) {
	t.Helper()
	eventually(t, func() bool {
		for _, e := range ofType(logged(t, dir), "tool_call") {
			if e.Tool == "move_joints" && e.Status == status {
				return true
			}
		}
		return false
	}, "a move that ended "+string(status))
}

func TestWhatAnsweredPendingIsFetchedByTheClient(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := sit(t, dir, "--clock", "real", "--mcp-wait", "3s") // by then it is planned, and has a digest
	c := s.client("legacy")
	c.List()
	e := c.Call("slow", "move_joints", `{"positions":{"shoulder_pan":0.3}}`) // nobody has answered yet
	require.Equal(t, gate.StatusPending, e.Structured.Status, "%s", e.Raw)
	require.NotEmpty(t, e.Structured.CallID)
	require.NotEmpty(t, e.Structured.Digest)
	require.False(t, e.Structured.ExpiresAt.IsZero())
	c.Close(true) // no lost connection ends it

	again := s.client("2026-07-28")
	again.List()
	s.card()
	s.answers("y")
	e = again.Call("rest", "call_status", `{"call_id":"`+e.Structured.CallID+`","wait_s":45}`)
	require.False(t, e.IsError, "%s", e.Raw)
	var rest mcptest.Answer
	require.NoError(t, json.Unmarshal(e.Structured.Result, &rest), "%s", e.Raw)
	require.Equal(t, gate.StatusOK, rest.Status, "%s", e.Raw)
	require.Equal(t, gate.ApprovalApproved, rest.Approval)
	require.InDelta(t, 0.3, pan(t, rest.Result), 0.01)
}

// Ctrl-C stops what moves whoever asked for it, with a half-typed line as well; the
// prompt then goes on.
func TestG6_CtrlCStopsWhatAnAgentMoves(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := sit(t, dir, "--clock", "real")
	c := s.client("legacy")
	c.Begin("long", "move_joints", `{"positions":{"shoulder_pan":1.5},"speed_scale":0.1}`)
	s.card()
	s.answers("y")
	c.Wait("that it moves", func(e mcptest.Event) bool {
		return e.Event == "progress" && e.As == "long" && strings.Contains(e.Message, "moving: 1.0")
	})
	s.typed("half a li\x03")
	e := c.End("long")
	require.True(t, e.IsError, "%s", e.Raw)
	require.Equal(t, gate.CodeStopped, e.Structured.Code)
	at, moving := state(t, c, "after")
	require.False(t, moving)
	require.Less(t, at, 1.4)
	s.typed("quit\r")
	require.Equal(t, 0, s.status(), s.out.String())
	requireControlledStop(t, dir)
}
