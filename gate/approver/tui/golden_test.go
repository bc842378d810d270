package tui

import (
	"context"
	"flag"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/words"
)

var update = flag.Bool("update", false, "write testdata again")

// golden compares a screen with the one in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name + ".txt"
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, name)
}

func earlier() []gate.Event {
	at := time.Date(1999, 12, 31, 23, 59, 0, 0, time.UTC)
	tier := 2
	read := 0
	return []gate.Event{
		{Type: "session", Time: at, Principal: "operator", Origin: "bridge", Text: "started: robot so101, simulated"},
		{Type: "tool_call", Time: at.Add(time.Second), Tool: "robot_state", Tier: &read, Status: gate.StatusOK, Principal: "agent", Origin: "mcp", CallID: "a"},
		{Type: "tool_call", Time: at.Add(2 * time.Second), Tool: "robot_state", Tier: &read, Status: gate.StatusOK, Principal: "agent", Origin: "mcp", CallID: "b"},
		{Type: "approval", Time: at.Add(30 * time.Second), Tool: "home", Tier: &tier, Decision: "rejected", Decider: "tui", Reason: "answered", CallID: "c"},
		{
			Type: "tool_call", Time: at.Add(30 * time.Second), Tool: "home", Tier: &tier, Status: gate.StatusRefused, Code: gate.CodeNotApproved,
			Principal: "agent", Origin: "mcp", CallID: "c", ResultSummary: "The user did not approve this action: home. Do not perform it; tell the user briefly.",
		},
	}
}

// The screens at 80 by 24, in each language: what a person sees from the beginning of
// a card to its end, what waits meanwhile, and the events.
func TestG53_TheScreensAt80By24(t *testing.T) {
	for _, l := range []words.Lang{words.English, words.Turkish} {
		synctest.Test(t, func(t *testing.T) {
			second := request()
			second.CallID, second.Tool, second.Principal = "ff", "gripper_close", "planner"
			s := sit(t, 80, 24, Options{Lang: l}, Bridge{
				Earlier: func(context.Context) []gate.Event { return earlier() },
				State:   func(context.Context) State { return State{Known: true, EStopped: true} },
				Open: func(context.Context) ([]gate.Record, error) {
					return []gate.Record{{Request: request()}, {Request: second}}, nil
				},
			})
			s.tui.Tell("MCP at http://127.0.0.1:1/mcp, bearer token in /x\x1b[2J")
			s.settle()
			golden(t, l.String()+"-idle", s.tty.String())
			s.ask(t.Context(), drawn(t))
			golden(t, l.String()+"-card", s.tty.String())
			for range 10 {
				s.press("\x1b[6~")
			}
			golden(t, l.String()+"-end", s.tty.String())
			s.tui.Motion(gate.Running{CallID: "x", Tool: "move_joints"}, 1.2, 3.4)
			s.press("v")
			s.press("\x1b[5~")
			golden(t, l.String()+"-events", s.tty.String())
			s.press("v")
			s.tty.resize(30, 5)
			s.settle()
			golden(t, l.String()+"-small", s.tty.String())
			s.tty.resize(80, 24)
			s.settle()
			s.press("q")
			golden(t, l.String()+"-leave", s.tty.String())
			s.press("q")
			require.NoError(t, <-s.ended)
			require.False(t, s.tty.Colored())
			s.restored()
		})
	}
}

// The text screenshot of docs/OPERATOR.md is one that a test has seen.
func TestTheScreenshotOfTheDocs(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/OPERATOR.md")
	require.NoError(t, err)
	shot, err := os.ReadFile("testdata/en-end.txt")
	require.NoError(t, err)
	require.Contains(t, string(doc), strings.TrimRight(string(shot), "\n"))
}
