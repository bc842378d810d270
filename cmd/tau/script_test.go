package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

const panMove = `{"tool":"move_joints","arguments":{"positions":{"shoulder_pan":0.5}}}`

// script runs lines on a fast simulator and returns the answers and the status.
func script(t *testing.T, dir string, lines []string, flags ...string) ([]scriptAnswer, result) {
	t.Helper()
	args := append([]string{"robot", "sim", "--script", "-", "--json", "--clock", "fast", "--data-dir", dir}, flags...)
	r := tau(t, strings.Join(lines, "\n")+"\n", args...)
	return scriptAnswers(t, r.stdout), r
}

func TestAScriptMovesTheArmWhenItIsRehearsed(t *testing.T) {
	dir := dataDir(t)
	as, r := script(t, dir, []string{panMove}, "--rehearse")
	require.Equal(t, 0, r.status, r.stderr)
	require.Len(t, as, 1)
	require.Equal(t, "ok", as[0].Status, as[0].Text)
	require.Equal(t, "exempt", as[0].Approval)
	require.Empty(t, as[0].Code)
	require.InDelta(t, 0.5, as[0].positions(t)["shoulder_pan"], 0.01)

	es := logged(t, dir)
	calls := ofType(es, "tool_call")
	require.Len(t, calls, 1)
	require.Equal(t, gate.ApprovalExempt, calls[0].Approval)
	require.Empty(t, ofType(es, "approval"), "an exempt call asks nobody (G13)")
}

func TestG25_AScriptThatNobodyCanAnswerIsRefusedAtOnceAndTheArmHasNotMoved(t *testing.T) {
	for _, flags := range [][]string{{"--approve-from", "none"}, nil} {
		dir := dataDir(t)
		as, r := script(t, dir, []string{`{"tool":"robot_state"}`, panMove, `{"tool":"robot_state"}`}, flags...)
		require.Equal(t, 1, r.status, r.stderr)
		require.Len(t, as, 3)
		require.Equal(t, "refused", as[1].Status)
		require.Equal(t, "NOT_APPROVED", as[1].Code)
		require.Equal(t, "rejected", as[1].Approval)
		require.True(t, strings.HasPrefix(as[1].Text, "The user did not approve this action: move_joints. Do not perform it; tell the user briefly. Nobody can answer in this run. Blocked: move_joints"), as[1].Text)
		require.True(t, strings.HasSuffix(as[1].Text, ". Continue without it and say so."), as[1].Text)
		require.Equal(t, as[0].positions(t), as[2].positions(t))
		approvals := ofType(logged(t, dir), "approval")
		require.Len(t, approvals, 1)
		require.Equal(t, "rejected", approvals[0].Decision)
	}
}

func TestTheAnswersKeepTheOrderAndTheIDsOfTheLines(t *testing.T) {
	var lines []string
	for i := range 20 {
		lines = append(lines, fmt.Sprintf(`{"id":"line %d","tool":"current_time"}`, i))
	}
	as, r := script(t, dataDir(t), lines)
	require.Equal(t, 0, r.status, r.stderr)
	require.Len(t, as, 20)
	for i, a := range as {
		require.Equal(t, fmt.Sprintf("line %d", i), a.ID)
		require.Equal(t, "none", a.Approval)
	}
}

func TestGarbageInAScriptNeverStopsTheBridge(t *testing.T) {
	garbage := []string{
		`nonsense`, `{`, `[]`, `[` + panMove + `,7]`, `[[` + panMove + `]]`, `null`, `true`, "\x00\xff\x1b[2J", `{"tool":"move_joints","approved":true}`,
		`{"tool":"move_joints","tool":"robot_state"}`, `{"tool":7}`, `{} {}`, strings.Repeat("[", 100_000), strings.Repeat("x", 2<<20),
	}
	// These reach the gate, which refuses them and logs that.
	refused := []string{
		`{"tool":"no_such_tool"}`,
		`{"tool":"move_joints"}`,
		`{"tool":"move_joints","arguments":{"positions":{"shoulder_pan":NaN}}}`,
		`{"tool":"move_joints","arguments":{"positions":{"shoulder_pan":1e999}}}`,
		`{"tool":"move_joints","arguments":{"positions":{"shoulder_pan":true}}}`,
		`{"tool":"move_joints","arguments":{"positions":{"shoulder_pan":"0.5"}}}`,
		`{"tool":"move_joints","arguments":{"positions":{"shoulder_pan":99}}}`,
		`{"tool":"move_joints","arguments":{"positions":{"knee":0}}}`,
		`{"tool":"move_joints","arguments":{"positions":{"shoulder_pan":0.1,"shoulder_pan":0.2}}}`,
		`{"tool":"move_joints","arguments":{"positions":{"shoulder_pan":0.1},"approved":true}}`,
		`{"tool":"move_joints","arguments":{"positions":{"shoulder_pan":0.1},"speed_scale":-5}}`,
		`{"tool":"move_joints","arguments":[]}`,
		`{"tool":"gripper","arguments":{"position":5000}}`,
		`{"tool":"home","arguments":{"session":"other"}}`,
		`{"tool":"robot_state","arguments":{"\ud800":1}}`,
	}
	lines := append(append(append([]string{`{"tool":"robot_state"}`}, garbage...), refused...), `{"tool":"robot_state"}`)
	dir := dataDir(t)
	as, r := script(t, dir, lines, "--rehearse") // nobody would have asked: only the checks stand
	require.Equal(t, 1, r.status, r.stderr)
	require.Len(t, as, len(lines))
	for i := range garbage {
		require.Equal(t, "error", as[1+i].Status, "%.60q", garbage[i])
		require.Equal(t, "INVALID_ARGUMENT", as[1+i].Code, "%.60q", garbage[i])
		require.Contains(t, as[1+i].Text, fmt.Sprintf("line %d:", i+2))
	}
	for i := range refused {
		a := as[1+len(garbage)+i]
		require.NotEqual(t, "ok", a.Status, refused[i])
		require.NotEmpty(t, a.Code, refused[i])
		require.NotEmpty(t, a.Text, refused[i])
	}
	require.Equal(t, as[0].positions(t), as[len(as)-1].positions(t), "nothing moved")
	calls := ofType(logged(t, dir), "tool_call")
	require.GreaterOrEqual(t, len(calls), 2+len(refused)-1, "what reached the gate is in its log")
}

// Case 45: what isn't a finite number of the right kind never becomes a target.
func TestCase45_NonsenseNumbersAreInvalidArguments(t *testing.T) {
	var lines []string
	for _, v := range []string{"NaN", "Infinity", "true", `"1"`, "null", "[1]", "1e400"} {
		lines = append(lines, `{"tool":"move_joints","arguments":{"positions":{"shoulder_pan":`+v+`}}}`)
	}
	as, _ := script(t, dataDir(t), lines, "--rehearse")
	for i, a := range as {
		require.Equal(t, "INVALID_ARGUMENT", a.Code, lines[i])
	}
}

func TestCase51_EveryAnswerNamesTheRobotThatProducedIt(t *testing.T) {
	as, _ := script(t, dataDir(t), []string{panMove, `{"tool":"robot_state"}`, `{"tool":"home","arguments":{"x":1}}`, `{"tool":"session_status"}`})
	for _, a := range as[:2] {
		var who struct{ Mode, Backend string }
		require.NoError(t, json.Unmarshal(a.Result, &who))
		require.Equal(t, "sim", who.Mode, a.Tool)
		require.NotEmpty(t, who.Backend, a.Tool)
	}
}

func TestAScriptFromAFileInPlainText(t *testing.T) {
	file := filepath.Join(t.TempDir(), "script.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(panMove+"\nnonsense\n"), 0o600))
	r := tau(t, "", "robot", "sim", "--script", file, "--rehearse", "--clock", "fast", "--data-dir", dataDir(t))
	require.Equal(t, 1, r.status, r.stderr)
	require.Regexp(t, `^✓ move_joints: .*\n✗ line 2: .*\n$`, r.stdout)
}

// The same seed gives the same numbers on both clocks.
func TestTheFastClockGivesWhatTheRealOneGives(t *testing.T) {
	lines := []string{`{"tool":"move_joints","arguments":{"positions":{"shoulder_pan":0.2,"elbow_flex":0.7}}}`, `{"tool":"gripper","arguments":{"position":0.5}}`}
	var got [2][]scriptAnswer
	for i, clock := range []string{"fast", "real"} {
		r := tau(t, strings.Join(lines, "\n"), "robot", "sim", "--script", "-", "--json", "--rehearse", "--seed", "7", "--clock", clock, "--data-dir", dataDir(t))
		require.Equal(t, 0, r.status, r.stderr)
		got[i] = scriptAnswers(t, r.stdout)
	}
	for i := range lines {
		require.Equal(t, got[0][i].positions(t), got[1][i].positions(t))
	}
}
