package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

// kill9 ends the bridge as nothing that it could do anything about.
func (s *screen) kill9() {
	s.t.Helper()
	require.NoError(s.t, s.cmd.Process.Kill())
	<-s.ended
	s.hangUp()
	s.reading.Wait()
}

// shown returns the last card up to its question, with neither colours nor the
// prompt's own redrawing.
func (s *screen) shown() string {
	s.t.Helper()
	text := s.out.String()[:s.at]
	card := text[strings.LastIndex(text, "Approval needed"):]
	return strings.ReplaceAll(card, "\r", "")
}

var callLine = regexp.MustCompile(`Call: ([0-9a-f]{32})`)

// Killed while the question is open, and started again: the same card is there, a
// yes moves the arm once, and a call that repeats the id gets the answer that is
// stored and moves nothing (G44, G45, G47).
func TestG47_APendingQuestionSurvivesKill9(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := sit(t, dir, "--clock", "fast", "--mcp", "off")
	s.asks("move_joints shoulder_pan=0.5")
	card := s.shown()
	id := callLine.FindStringSubmatch(card)[1]
	s.kill9()

	// A run in which nobody can answer leaves it alone.
	ask := fmt.Sprintf(`{"tool":"call_status","arguments":{"call_id":%q}}`, id)
	as, r := script(t, dir, []string{ask})
	require.Zero(t, r.status, r.stderr)
	require.Contains(t, r.stderr, "1 request waits for an answer from before")
	require.Contains(t, string(as[0].Result), `"status":"pending"`)

	s = seat(t, dir, "--clock", "fast", "--mcp", "off")
	s.await("1 request waits for an answer from before")
	s.card()
	require.Equal(t, card, s.shown(), "the same card to the last letter")
	s.answers("y")
	s.await("prompt): running, ")
	s.await("prompt): done")
	eventually(t, func() bool { return len(calls(t, dir, id)) == 1 }, "the call ends")
	require.Equal(t, gate.StatusOK, calls(t, dir, id)[0].Status)
	require.True(t, calls(t, dir, id)[0].Restored)
	require.Regexp(t, `^0\.(49|50)`, s.pan())
	s.kill9()

	// It was used up, and its answer stays.
	s = sit(t, dir, "--clock", "fast", "--mcp", "off")
	require.NotContains(t, s.out.String(), "from before")
	require.Equal(t, "0.0000", s.pan(), "nothing moves at the start")
	s.typed("quit\r")
	require.Zero(t, s.status())
	as, r = script(t, dir, []string{ask})
	require.Zero(t, r.status, r.stderr)
	require.Contains(t, string(as[0].Result), `"status":"ok"`)
	require.Contains(t, string(as[0].Result), `"approval":"approved"`)
	require.Len(t, calls(t, dir, id), 1)
}

// calls are the recorded ends of a call.
func calls(t *testing.T, dir, id string) []gate.Event {
	t.Helper()
	var out []gate.Event
	for _, e := range ofType(logged(t, dir), "tool_call") {
		if e.CallID == id && e.Tool == "move_joints" {
			out = append(out, e)
		}
	}
	return out
}

// Killed in mid-motion: what the motion did can't be known. The person, the log and
// call_status are told so, and it is not run again (G44).
func TestG44_AMotionThatKill9CutOffIsUnknown(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := sit(t, dir, "--mcp", "off")
	s.asks("move_joints shoulder_pan=1.5 speed_scale=0.05")
	id := callLine.FindStringSubmatch(s.shown())[1]
	s.answers("y")
	s.await("move_joints: running")
	s.kill9()

	s = seat(t, dir, "--clock", "fast", "--mcp", "off")
	s.await("(call " + id + ") ran when the bridge ended: what it did can't be known, and it is not run again")
	s.await("tau> ")
	require.Equal(t, "0.0000", s.pan())
	require.NotContains(t, s.out.String(), "outcome unknown", "told once")
	ends := calls(t, dir, id)
	require.Len(t, ends, 1)
	require.Equal(t, gate.StatusUnknown, ends[0].Status)
	require.Equal(t, gate.ApprovalApproved, ends[0].Approval)
	s.typed("quit\r")
	require.Zero(t, s.status())
	as, r := script(t, dir, []string{fmt.Sprintf(`{"tool":"call_status","arguments":{"call_id":%q}}`, id)})
	require.Zero(t, r.status, r.stderr)
	require.Contains(t, string(as[0].Result), `"status":"unknown"`)
	require.NotContains(t, r.stderr, "ran when the bridge ended", "told once")
}

// The robot isn't where the plan starts: the request expires, and the answer says why.
func TestG47_AfterARestartAMovedRobotIsNotAsked(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := sit(t, dir, "--clock", "fast", "--mcp", "off")
	s.asks("move_joints shoulder_pan=0.5")
	s.answers("y")
	s.await("✓ move_joints: done")
	s.asks("move_joints shoulder_pan=0.1")
	id := callLine.FindStringSubmatch(s.shown())[1]
	s.kill9() // the simulated robot is where it began when it begins again

	s = seat(t, dir, "--clock", "fast", "--mcp", "off")
	eventually(t, func() bool { return len(calls(t, dir, id)) == 1 }, "the call ends")
	s.await("prompt): REQUEST_EXPIRED: it waited for an answer when the bridge ended, and can't be asked again (START_MOVED")
	require.NotContains(t, s.out.String(), "Approval needed")
	e := calls(t, dir, id)[0]
	require.Equal(t, gate.CodeRequestExpired, e.Code)
	require.Contains(t, e.ResultSummary, "START_MOVED")
	require.Contains(t, e.ResultSummary, "shoulder_pan")
}

// A damaged or newer database is refused by name and left as it is.
func TestADamagedDatabaseIsRefusedByName(t *testing.T) {
	t.Parallel()
	for name, bytes := range map[string]string{"damaged": "these are somebody's notes", "empty": ""} {
		dir := dataDir(t)
		_, r := script(t, dir, []string{`{"tool":"current_time"}`})
		require.Zero(t, r.status, r.stderr)
		path := filepath.Join(dir, "bridge.db")
		require.NoError(t, os.WriteFile(path, []byte(bytes), 0o600))
		_, r = script(t, dir, []string{`{"tool":"current_time"}`})
		require.Equal(t, 3, r.status, name)
		require.Contains(t, r.stderr, path)
		require.Contains(t, r.stderr, "nothing of it was changed")
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, bytes, string(got))
	}
}
