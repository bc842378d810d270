package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate/events"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestASecondBridgeIsRefusedByNameAndPID(t *testing.T) {
	dir := dataDir(t)
	p := start(t, nil, "robot", "sim", "--script", "-", "--data-dir", dir)
	p.stderr.await(t, "robot so101", 0)
	r := tau(t, "", "robot", "sim", "--script", "-", "--data-dir", dir)
	require.Equal(t, 3, r.status)
	require.Contains(t, r.stderr, `"so101"`)
	require.Contains(t, r.stderr, "pid "+itoa(p.cmd.Process.Pid))
	require.Contains(t, r.stderr, dir)
	require.NoError(t, p.stdin.Close())
	require.Equal(t, 0, p.wait().status, "the first one wasn't disturbed")
	r = tau(t, "", "robot", "sim", "--script", "-", "--data-dir", dir)
	require.Equal(t, 0, r.status, r.stderr)
}

func TestKill9InMidMotionAndTheNextStartRecovers(t *testing.T) {
	dir := dataDir(t)
	for range 3 {
		p := moving(t, dir)
		require.NoError(t, p.cmd.Process.Kill())
		<-p.ended
	}
	// Nothing moves at start-up, and every reported event is there.
	as, r := script(t, dir, []string{`{"tool":"robot_state"}`, panMove}, "--rehearse")
	require.Equal(t, 0, r.status, r.stderr)
	require.Contains(t, string(as[0].Result), `"moving":false`)
	require.Len(t, ofType(logged(t, dir), "session"), 5, "three beginnings without an end, and one with")
}

// kill -9 at any moment of writing events: what was reported is there, and the
// next start recovers.
func TestKill9WhileEventsAreWrittenAndTheNextStartRecovers(t *testing.T) {
	dir := dataDir(t)
	for round := range 5 {
		p := start(t, nil, "robot", "sim", "--script", "-", "--json", "--clock", "fast", "--data-dir", dir)
		go func() {
			line := []byte(strings.Repeat(`{"tool":"current_time"}`+"\n", 50))
			for {
				if _, err := p.stdin.Write(line); err != nil {
					return
				}
			}
		}()
		p.stdout.await(t, strings.Repeat("\n", 1), 200*(round+1))
		require.NoError(t, p.cmd.Process.Kill())
		<-p.ended
		p.readers.Wait()
		reported := strings.Count(p.stdout.String(), "\n")
		_, r := script(t, dir, []string{`{"tool":"current_time"}`})
		require.Equal(t, 0, r.status, r.stderr)
		require.GreaterOrEqual(t, len(ofType(logged(t, dir), "tool_call")), reported)
	}
}

func TestTheFilesOfABridgeAreItsOwnersAlone(t *testing.T) {
	dir := dataDir(t)
	p := start(t, nil, "robot", "sim", "--script", "-", "--mcp", "http", "--data-dir", dir)
	p.stderr.await(t, "bearer token in", 0)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		require.NoError(t, err)
		st, err := d.Info()
		require.NoError(t, err)
		require.Zero(t, st.Mode().Perm()&0o077, "%s has mode %04o", path, st.Mode().Perm())
		return nil
	})
	require.NoError(t, err)
	for _, name := range []string{"mcp.token", "control.sock", "events.key", "logs/tau.log", "sessions/sim/events.jsonl", "bridge.lock"} {
		_, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
	}
	require.NoError(t, p.stdin.Close())
	require.Equal(t, 0, p.wait().status)
	for _, name := range []string{"mcp.token", "control.sock"} {
		require.NoFileExists(t, filepath.Join(dir, name), "a door that leads nowhere is taken away")
	}
}

func TestG51_VerifyAndShow(t *testing.T) {
	dir := dataDir(t)
	_, r := script(t, dir, []string{panMove, `{"tool":"\u001b[2J"}`, `{"tool":"robot_state"}`}, "--rehearse")
	require.Equal(t, 1, r.status)
	path := events.Path(dir, "sim")
	r = tau(t, "", "robot", "events", "verify", path)
	require.Equal(t, 0, r.status, r.stderr)
	require.Contains(t, r.stdout, "tail proven")
	r = tau(t, "", "robot", "events", "show", path)
	require.Equal(t, 0, r.status, r.stderr)
	require.Contains(t, r.stdout, "move_joints")
	require.NotContains(t, r.stdout, "\x1b", "what came from outside is escaped")
	r = tau(t, "", "robot", "events", "show", path, "--json")
	require.Equal(t, 0, r.status, r.stderr)
	require.Contains(t, r.stdout, `"line":1,"seq":1`)

	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	last := len(lines) - 1 // the part after the last newline is empty
	for name, c := range map[string]struct {
		bytes []byte
		line  int
	}{
		"a line dropped":      {bytes.Join(append(append([][]byte{}, lines[:1]...), lines[2:]...), nil), 2},
		"the last line cut":   {bytes.Join(lines[:last-1], nil), last},
		"a byte edited":       {bytes.Replace(whole, []byte("shoulder_pan"), []byte("shoulder_pam"), 1), 2},
		"the last one edited": {append(append([]byte{}, bytes.Join(lines[:last-1], nil)...), bytes.Replace(lines[last-1], []byte(`"type"`), []byte(`"typo"`), 1)...), last},
		"a line doubled":      {bytes.Join(append(append([][]byte{}, lines[:2]...), lines[1:]...), nil), 3},
	} {
		require.NoError(t, os.WriteFile(path, c.bytes, 0o600))
		r = tau(t, "", "robot", "events", "verify", path)
		require.Equal(t, 1, r.status, "%s: %s", name, r.stdout)
		require.Contains(t, r.stdout, fmt.Sprintf("line %d:", c.line), name)
		// A bridge doesn't go on writing behind a log that was changed, and says why.
		if name == "the last line cut" {
			r = tau(t, "", "robot", "sim", "--script", "-", "--data-dir", dir)
			require.Equal(t, 3, r.status)
			require.Contains(t, r.stderr, "events verify")
		}
	}
	require.NoError(t, os.WriteFile(path, whole, 0o600))
	require.Equal(t, 1, tau(t, "", "robot", "events", "verify", filepath.Join(dir, "nothing")).status)
	require.NoError(t, os.Remove(filepath.Join(dir, "sessions", "sim", "events.head")))
	r = tau(t, "", "robot", "events", "verify", path)
	require.Equal(t, 1, r.status)
	require.Contains(t, r.stdout, "tail unproven")
}

// Start-up and memory: the figures are in the log, the bounds only catch what is
// out of all proportion on a machine that does other things too.
func TestStartUpTimeAndMemory(t *testing.T) {
	best := time.Hour
	var rss int
	for range 5 {
		began := time.Now()
		p := start(t, nil, "robot", "sim", "--script", "-", "--mcp", "http", "--data-dir", dataDir(t))
		p.stderr.await(t, "bearer token in", 0)
		best = min(best, time.Since(began))
		p.send(`{"tool":"robot_state"}`)
		p.stdout.await(t, "robot_state", 0)
		rss = max(rss, rssKB(t, p.cmd.Process.Pid))
		require.NoError(t, p.stdin.Close())
		require.Equal(t, 0, p.wait().status)
	}
	t.Logf("ready after %s (best of 5), %.1f MB resident", best.Round(time.Millisecond), float64(rss)/1024)
	require.Less(t, best, 5*time.Second)
	require.Less(t, rss, 80*1024)
}

func rssKB(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "status"))
	require.NoError(t, err)
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(b)
	require.NotNil(t, m)
	n, err := strconv.Atoi(string(m[1]))
	require.NoError(t, err)
	return n
}

func TestABridgeWithoutATerminalServesUntilItIsTold(t *testing.T) {
	dir := dataDir(t)
	p := start(t, nil, "robot", "sim", "--data-dir", dir)
	require.NoError(t, p.stdin.Close())
	p.stderr.await(t, "nobody can approve here", 0)
	require.Equal(t, 0, tau(t, "", "robot", "stop", "--data-dir", dir).status, "it is alive")
	p.signal(syscall.SIGTERM)
	require.Equal(t, 130, p.wait().status)
}

func TestPlainLinesWithoutATerminalRunAndNobodyCanApprove(t *testing.T) {
	r := tau(t, "tools\nmove_joints shoulder_pan=0.5\nstate\n", "robot", "sim", "--clock", "fast", "--data-dir", dataDir(t))
	require.Equal(t, 0, r.status, r.stderr)
	require.Contains(t, r.stdout, "2  move_joints")
	require.Contains(t, r.stdout, "✗ move_joints: not approved")
	require.Regexp(t, `shoulder_pan +-?0\.0000`, r.stdout)
}
