package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/cmd/tau/internal/fdio"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/terminal"
)

// screen is a bridge at a real pseudo-terminal, and the person before it.
type screen struct {
	t       *testing.T
	cmd     *exec.Cmd
	ptmx    *os.File
	in      *fdio.Reader // of ptmx: a blocked read would keep it open
	out     *tap
	at      int // what has been read of out
	reading sync.WaitGroup
	ended   chan struct{}
	hung    bool
}

// seat starts a bridge at a terminal.
func seat(t *testing.T, dir string, flags ...string) *screen {
	t.Helper()
	return seatAt(t, pty.Winsize{Rows: 50, Cols: 240}, append([]string{"robot", "sim", "--data-dir", dir}, flags...)...)
}

// seatAt starts the program at a terminal of a size.
func seatAt(t *testing.T, size pty.Winsize, args ...string) *screen {
	t.Helper()
	s := &screen{t: t, out: newTap(), ended: make(chan struct{})}
	s.cmd = exec.CommandContext(context.Background(), binary, args...)
	s.cmd.Env = environment()
	var err error
	s.ptmx, err = pty.StartWithSize(s.cmd, &size)
	require.NoError(t, err)
	s.in, err = fdio.NewReader(s.ptmx)
	require.NoError(t, err)
	s.reading.Go(func() { _, _ = io.Copy(s.out, s.in); s.out.end() })
	go func() { _ = s.cmd.Wait(); close(s.ended) }()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-s.ended
		s.hangUp()
		s.reading.Wait()
	})
	return s
}

// sit starts a bridge at a terminal and waits for its prompt.
func sit(t *testing.T, dir string, flags ...string) *screen {
	t.Helper()
	s := seat(t, dir, flags...)
	s.await("help lists what can be typed")
	s.await("tau> ")
	return s
}

func (s *screen) await(text string) {
	s.t.Helper()
	s.at = s.out.await(s.t, text, s.at)
}

func (s *screen) typed(keys string) {
	s.t.Helper()
	_, err := io.WriteString(s.ptmx, keys)
	require.NoError(s.t, err)
}

// asks types a command and waits for the end of its card.
func (s *screen) asks(line string) {
	s.t.Helper()
	s.typed(line + "\r")
	s.card()
}

func (s *screen) card() {
	s.t.Helper()
	s.await("⚠️  Approval needed (tier 2)")
	s.await("Approve? [y/N]")
}

// answers waits out the arming time, which is on the person's clock (G30), and types.
func (s *screen) answers(line string) {
	s.t.Helper()
	time.Sleep(terminal.Arming + 200*time.Millisecond)
	s.typed(line + "\r")
}

// pan asks for the state and returns the shoulder's measured position as printed.
func (s *screen) pan() string {
	s.t.Helper()
	s.typed("state\r")
	s.await("shoulder_pan")
	from := s.at
	s.await("\n")
	m := regexp.MustCompile(`-?\d+\.\d+`).FindString(s.out.String()[from:s.at])
	require.NotEmpty(s.t, m)
	return m
}

// leave presses ctrl-C until the bridge ends: where the last line is still being
// worked off, the first one only stops.
func (s *screen) leave() {
	s.t.Helper()
	for range 10 {
		s.typed("\x03")
		select {
		case <-s.ended:
			return
		case <-time.After(2 * time.Second):
		}
	}
	s.t.Fatalf("ctrl-C doesn't end it:\n%s", s.out)
}

func (s *screen) hangUp() {
	if !s.hung {
		s.hung = true
		_ = s.in.Close()
		_ = s.ptmx.Close()
	}
}

// status waits for the end and returns the exit status.
func (s *screen) status() int {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Fatalf("the bridge doesn't end:\n%s", s.out)
	}
	return s.cmd.ProcessState.ExitCode()
}

func TestAtATerminalYMovesTheArmAndAnythingElseDoesNot(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := sit(t, dir, "--clock", "fast", "--mcp", "off")
	require.Equal(t, "0.0000", s.pan())

	s.asks("move_joints shoulder_pan=0.5")
	s.answers("y")
	s.await("✓ move_joints: done")
	require.Regexp(t, `^0\.(49|50)`, s.pan())
	moved := s.pan()

	for i, answer := range []string{"n", "", "yep", "Y E S"} {
		s.asks("move_joints shoulder_pan=0." + itoa(i+1))
		s.answers(answer)
		s.await("✗ move_joints: not approved (the answer wasn't y, yes, e or evet; the same call isn't asked again for a minute)")
	}
	s.typed("move_joints shoulder_pan=0.1\r") // the same call again
	s.await("✗ move_joints: not approved: The same call was refused")
	require.Equal(t, moved, s.pan(), "the arm is where it was")

	// A yes that comes before the card has been read doesn't count: the card stays.
	s.asks("move_joints shoulder_pan=0.05")
	s.typed("y\r")
	s.await("not counted")
	s.answers("n")
	s.await("✗ move_joints: not approved")
	// And one that was typed before the card was there doesn't either.
	s.typed("move_joints shoulder_pan=0.06\ry\r")
	s.card()
	s.answers("n")
	s.await("✗ move_joints: not approved")
	require.Equal(t, moved, s.pan())

	s.asks("home")
	s.answers(" YES ")
	s.await("✓ home: done")
	s.typed("quit\r")
	require.Equal(t, 0, s.status())

	// What was on the screen, the card's parts, and what was recorded.
	text := s.out.String()
	for _, part := range []string{
		"  Tool: move_joints", `  Arguments: {"positions":{"shoulder_pan":0.5}}`, "  Effect: Moves the named joints of the arm.",
		"  Session: sim (mode sim, backend sim)", "  Rehearsed: ", "  Clearance: ", "  Ends at: ", "  Assumed, not known: ",
	} {
		require.Contains(t, text, part)
	}
	var decisions []string
	for _, e := range ofType(logged(t, dir), "approval") {
		decisions = append(decisions, e.Decision)
		require.Equal(t, "terminal", e.Decider)
		require.NotEmpty(t, e.Digest)
		require.NotNil(t, e.Card)
	}
	require.Equal(t, "approved rejected rejected rejected rejected rejected rejected approved", strings.Join(decisions, " "))
	for _, e := range ofType(logged(t, dir), "tool_call") {
		if e.Approval == gate.ApprovalRejected {
			require.Equal(t, "The user did not approve this action: move_joints. Do not perform it; tell the user briefly.", e.ResultSummary)
		}
	}
}

func TestCase58_TheEndOfInputRefusesAndTheArmStays(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := sit(t, dir, "--clock", "fast", "--mcp", "off")
	s.asks("move_joints shoulder_pan=0.5")
	time.Sleep(terminal.Arming)
	s.hangUp()
	require.Equal(t, 130, s.status())
	es := logged(t, dir)
	approvals := ofType(es, "approval")
	require.Len(t, approvals, 1)
	require.NotEqual(t, "approved", approvals[0].Decision)
	for _, c := range ofType(es, "tool_call") {
		require.NotEqual(t, gate.StatusOK, c.Status)
	}
}

// Ctrl-C in mid-motion stops the motion and leaves the prompt; the next one, at rest,
// ends the bridge. Two in a row end it without waiting, and so does a terminal that
// goes away; each stops first.
func TestCtrlCAtTheTerminalInMidMotion(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"\x03", "\x03\x03", "hangup"} {
		dir := dataDir(t)
		s := sit(t, dir, "--clock", "real", "--mcp", "off")
		s.asks("move_joints shoulder_pan=1.5 speed_scale=0.1")
		s.answers("y")
		s.inMotion()
		switch how {
		case "hangup":
			s.hangUp()
		case "\x03":
			s.typed(how)
			from := s.at
			for _, text := range []string{"✗ move_joints: STOPPED", "stationary yes"} { // in whichever order
				s.at = max(s.at, s.out.await(t, text, from))
			}
			require.NotEmpty(t, s.pan(), "the prompt goes on")
			s.leave()
		default:
			s.typed(how)
		}
		require.Equal(t, 130, s.status(), s.out.String())
		requireControlledStop(t, dir)
	}
}

// While a motion runs, what changes nothing is answered at once, what would move says
// that it waits, and a stop from elsewhere drops it and is told.
func TestThePromptWhileAMotionRuns(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := sit(t, dir, "--clock", "real", "--mcp", "off")
	s.asks("move_joints shoulder_pan=1.5 speed_scale=0.1")
	s.answers("y")
	s.inMotion()
	require.NotEqual(t, "0.0000", s.pan(), "measured on the way")
	s.typed("home\r")
	s.await("this waits for what runs; a stop drops it")
	s.typed("half")
	require.Equal(t, 0, tau(t, "", "robot", "stop", "--data-dir", dir, "--reason", "lunch").status)
	from := s.at
	for _, text := range []string{"✗ move_joints: STOPPED", "1 waiting line was dropped", "■ stop (operator, control): Stop on every backend", "Reason: lunch"} {
		s.at = max(s.at, s.out.await(t, text, from)) // in whichever order
	}
	s.typed(" a line\r")
	s.await("Tool 'half' is not registered")
	s.typed("quit\r")
	require.Equal(t, 0, s.status())
	requireControlledStop(t, dir)
}

// SIGTSTP from elsewhere suspends with the terminal as it was, and the prompt takes
// it again.
func TestSIGTSTPFromElsewhereLeavesASaneTerminal(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := sit(t, dir, "--clock", "real", "--mcp", "off")
	s.asks("move_joints shoulder_pan=1.5 speed_scale=0.1")
	s.answers("y")
	s.inMotion()
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTSTP))
	awaitState(t, s.cmd.Process.Pid, 'T')
	require.True(t, echoes(t, s.ptmx))
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGCONT))
	s.await("(running again)")
	require.NotEmpty(t, s.pan())
	require.False(t, echoes(t, s.ptmx))
	s.typed("quit\r")
	require.Equal(t, 0, s.status())
	requireControlledStop(t, dir)
}

// inMotion waits until the approved motion is under way: the lane has begun it, and
// the real clock gives it time to be moving.
func (s *screen) inMotion() {
	s.t.Helper()
	s.await("move_joints: running")
	time.Sleep(800 * time.Millisecond) // of a motion of more than 5 s
}

func TestStopTypedInMidMotion(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := sit(t, dir, "--clock", "real", "--mcp", "off")
	s.asks("move_joints shoulder_pan=1.5 speed_scale=0.1")
	s.answers("y")
	s.inMotion()
	s.typed("stop\r")
	s.await("✗ move_joints: STOPPED")
	s.typed("quit\r")
	require.Equal(t, 0, s.status())
	requireControlledStop(t, dir)
}

func TestTheTerminalIsGivenBackAsItWas(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"quit\r", "\x03", "\x04", "term"} {
		s := sit(t, dataDir(t), "--mcp", "off")
		if how == "term" {
			require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
		} else {
			s.typed(how)
		}
		status := s.status()
		if how == "\x03" || how == "term" {
			require.Equal(t, 130, status)
		} else {
			require.Equal(t, 0, status)
		}
		require.True(t, echoes(t, s.ptmx), "the terminal echoes again after %q", how)
	}
}

func TestCompletionAndUnknownWordsAtThePrompt(t *testing.T) {
	t.Parallel()
	s := sit(t, dataDir(t), "--clock", "fast", "--mcp", "off")
	s.typed("list_act\t\r")
	s.await("✓ list_actuators")
	s.typed("move_joints shoulder_p\t")
	s.await("shoulder_pan=")
	s.typed("99\r")
	s.await("✗ move_joints: JOINT_LIMIT")
	s.typed("nonsense\r")
	s.await("Tool 'nonsense' is not registered; it was not run.")
	s.typed("move_joints \x1b[2J{{{\r")
	s.await("✗ move_joints")
	s.typed("quit\r")
	require.Equal(t, 0, s.status())
}

// The bodies that can be taken out are those of the scene as it is.
func TestCompletionKnowsTheBodiesOfTheScene(t *testing.T) {
	t.Parallel()
	scene := filepath.Join(t.TempDir(), "scene.json")
	require.NoError(t, os.WriteFile(scene, []byte(`{"bodies":[{"name":"crate","pose":{"xyz":[2,0,0],"quat_wxyz":[1,0,0,0]},"geometry":{"sphere":{"radius":0.1}}}]}`), 0o600))
	s := sit(t, dataDir(t), "--clock", "fast", "--mcp", "off", "--scene", scene)
	s.typed("scene_remove cr\t\r")
	s.await("✓ scene_remove")
	s.typed(`scene_add {"name":"bin","pose":{"xyz":[2,0,0],"quat_wxyz":[1,0,0,0]},"geometry":{"sphere":{"radius":0.1}}}` + "\r")
	s.await("✓ scene_add")
	s.typed("scene_remove name=b\t\r")
	s.await("✓ scene_remove")
	s.typed("quit\r")
	require.Equal(t, 0, s.status())
}

// A script from a file can be answered at the terminal, if there is one.
func TestAScriptsCallsAreAskedAtTheTerminal(t *testing.T) {
	t.Parallel()
	dir, file := dataDir(t), filepath.Join(t.TempDir(), "script.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(panMove+"\n"+`{"tool":"home"}`+"\n"), 0o600))
	s := seat(t, dir, "--clock", "fast", "--script", file, "--approve-from", "terminal")
	s.card()
	s.answers("y")
	s.await("y")
	// Nothing else came between the card's end and the answer (G30, case 56).
	text := s.out.String()
	require.True(t, strings.HasSuffix(strings.TrimRight(text[:s.at-1], " "), "Approve? [y/N]"), text)
	s.await("✓ move_joints: done")
	s.card()
	s.answers("n")
	s.await("✗ home: not approved")
	require.Equal(t, 1, s.status())

	// Ctrl-C at a card ends the script.
	s = seat(t, dataDir(t), "--clock", "fast", "--script", file, "--approve-from", "terminal")
	s.card()
	s.typed("\x03")
	require.Equal(t, 130, s.status(), s.out.String())

	r := tau(t, "", "robot", "sim", "--script", file, "--approve-from", "terminal", "--data-dir", dataDir(t))
	require.Equal(t, 3, r.status)
	require.Contains(t, r.stderr, "needs a terminal")
}
