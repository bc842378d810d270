package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate/approver/tui"
	"github.com/tau-robot/tau/gate/approver/tui/tuitest"
)

const (
	panCall  = `{"positions":{"shoulder_pan":0.5}}`
	slowCall = `{"positions":{"shoulder_pan":1.5},"speed_scale":0.1}`
)

// The whole way: an agent asks, the card is read to its end, y moves the arm, and
// nothing else does.
func TestOnTheScreenYMovesTheArmAndNothingElseDoes(t *testing.T) {
	t.Parallel()
	p := face(t, 80, 24, nil, "--clock", "fast")
	p.connect()
	require.Zero(t, p.pan())

	move := p.call("move_joints", panCall)
	p.await("Approval needed (tier 2)")
	p.await(`Arguments: {"positions":{"shoulder_pan":0.5}}`)
	p.await("(read to the end to approve: PgDn)")
	time.Sleep(arming)
	p.press("y")
	p.await("not counted: the card's end hasn't been shown")
	p.read()
	p.types("yy")
	p.await("not counted: it came together")
	p.armed()
	p.press("\r")
	require.Equal(t, "NOT_APPROVED", p.ends(move).Code, "Enter is on Reject")
	require.Zero(t, p.pan())

	move = p.call("move_joints", `{"positions":{"shoulder_pan":0.4}}`)
	p.await("0.4")
	p.read()
	p.armed()
	p.press("\t")
	p.await(">[ Approve ]<")
	p.press("\r")
	p.await("Enter never approves")
	p.types("\x1b[200~y\x1b[201~")
	p.await("not counted: pasted")
	p.press("yy")
	p.await("not counted: it came together")
	p.press("y")
	p.await("not counted: a yes less than 2 s before")
	p.armed()
	p.press("y")
	require.Equal(t, "ok", p.ends(move).Status)
	require.InDelta(t, 0.4, p.pan(), 0.02)
	p.await("✓ move_joints (agent, mcp)")
	p.leave()

	var decisions []string
	for _, e := range ofType(logged(t, p.dir), "approval") {
		decisions = append(decisions, e.Decision+" "+e.Reason)
		require.Equal(t, "tui", e.Decider)
	}
	require.Equal(t, []string{"rejected answered", "approved answered"}, decisions)
	require.Empty(t, p.screen.Unknown())
	require.False(t, p.screen.Colored(), "no colour says anything")
}

func TestCase57_OnTheScreenTypingAheadApprovesNothing(t *testing.T) {
	t.Parallel()
	p := face(t, 100, 50, nil, "--clock", "fast")
	p.connect()
	for range 20 { // before, while it is planned, while it is drawn, while it arms
		p.types("y")
		time.Sleep(20 * time.Millisecond)
	}
	move := p.call("move_joints", panCall)
	for range 20 {
		p.types("y")
		time.Sleep(30 * time.Millisecond)
	}
	p.press("n") // if it still waits
	p.ends(move)
	p.leave()
	// On a busy machine a late one of them may have been a yes in time. None can have
	// been one before the card had stood there for half a second.
	for _, e := range ofType(logged(t, p.dir), "approval") {
		require.True(t, e.Decision != "approved" || e.DurationMS >= float64(tui.Arming.Milliseconds()), "%+v", e)
	}
}

// Each way of leaving refuses what is open, ends with its status and gives the
// terminal back.
func TestCase58_LeavingTheScreenApprovesNothing(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]struct {
		status int
		reason string
	}{
		"q": {0, "the screen was closed"}, "\x03": {130, "interrupted"}, "\x04": {0, "eof"},
		"hangup": {130, ""}, "SIGTERM": {130, ""}, "SIGHUP": {130, ""},
	} {
		p := face(t, 80, 24, nil, "--clock", "fast")
		p.connect()
		move := p.call("move_joints", panCall)
		p.await("Approval needed")
		p.read()
		p.armed()
		switch how {
		case "hangup":
			p.hangUp()
		case "SIGTERM":
			require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
		case "SIGHUP":
			require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
		case "q":
			p.press("q")
			p.await("q again leaves")
			p.press("q")
		default:
			p.press(how)
		}
		require.Equal(t, want.status, p.status(), "%q %s", how, p.raw)
		if how != "hangup" {
			require.True(t, echoes(t, p.ptmx), how)
			require.False(t, p.screen.Alt(), how)
		}
		require.NotEqual(t, "ok", p.ends(move).Status)
		for _, e := range ofType(logged(t, p.dir), "approval") {
			require.NotEqual(t, "approved", e.Decision, how)
			// The stop that leaving sends ends the question too, and may come first.
			if want.reason != "" && e.Decision != "stopped" {
				require.Equal(t, want.reason, e.Reason)
			}
		}
	}
}

func TestG30_OnTheScreenAResizeInMidCardDisarms(t *testing.T) {
	t.Parallel()
	p := face(t, 100, 50, nil, "--clock", "fast")
	p.connect()
	move := p.call("move_joints", panCall)
	p.armed()
	p.resize(60, 12)
	p.await("more below")
	time.Sleep(arming)
	p.press("y")
	p.await("not counted")
	p.resize(18, 3)
	p.awaitNo("Approve")
	p.await("! E-STOP")
	p.press("y")
	p.resize(120, 60)
	p.await("(arming…)")
	p.types("yy")
	p.await("not counted")
	p.armed()
	p.press("e")
	require.Equal(t, "ok", p.ends(move).Status)
	p.leave()
}

// The e-stop is one key, also while a card is open, while something moves, and on a
// screen too small for anything else.
func TestG6_TheEStopIsOneKeyOnTheScreen(t *testing.T) {
	t.Parallel()
	p := face(t, 100, 50, nil, "--clock", "real")
	p.connect()
	move := p.call("move_joints", panCall)
	p.armed()
	p.press("s")
	require.Equal(t, "STOPPED", p.ends(move).Code, "a stop ends what is asked")
	p.await("■ stop (operator, tui)")

	move = p.call("move_joints", slowCall)
	p.armed()
	p.press("y")
	p.await("MOVING move_joints")
	time.Sleep(800 * time.Millisecond) // of a motion of more than 5 s
	p.resize(18, 3)
	p.press("!")
	require.Equal(t, "STOPPED", p.ends(move).Code)
	p.resize(100, 50)
	p.await("E-STOP LATCHED")
	p.await("stationary yes")
	p.leave()
	es := logged(t, p.dir)
	require.Len(t, ofType(es, "estop"), 1)
	require.Contains(t, ofType(es, "estop")[0].Text, "stationary yes")
}

// What other goroutines do while a card is open is among the events and nowhere else.
func TestCase56_NothingElseWritesToTheScreen(t *testing.T) {
	t.Parallel()
	p := face(t, 100, 50, nil, "--clock", "fast", "-v")
	p.connect()
	move := p.call("move_joints", panCall)
	p.armed()
	card, url := cardOf(p.screen.String()), p.url()
	var others []<-chan reply
	for range 10 {
		others = append(others, p.call("robot_state", `{}`), p.call("no_such_tool", `{}`))
	}
	for _, ch := range others {
		p.ends(ch)
	}
	// A client that sends nonsense, and one without a token.
	for _, body := range []string{"\x1b[2Jnonsense", strings.Repeat("{", 5000)} {
		res, err := http.Post(url, "application/json", strings.NewReader(body))
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
	}
	p.await("no_such_tool")
	require.Equal(t, card, cardOf(p.screen.String()), "the card stands where it stood")
	p.armed()
	p.press("y")
	require.Equal(t, "ok", p.ends(move).Status)
	p.leave()
	text := p.raw.String()
	require.NotContains(t, text, "level=")
	require.NotContains(t, text, "nonsense")
	log, err := os.ReadFile(filepath.Join(p.dir, "logs", "tau.log"))
	require.NoError(t, err)
	require.Contains(t, string(log), "no_such_tool", "the log has it")
}

// cardOf is the part of a screen that belongs to the card, without what counts time.
func cardOf(screen string) string {
	from, to := strings.Index(screen, "Approval needed"), strings.Index(screen, "[ Reject ]")
	return screen[max(0, from):max(0, to)]
}

// Cases 53 to 55: what could move the cursor, reorder or hide is shown as what it is.
func TestCase53_54_55_HostileTextOnTheScreen(t *testing.T) {
	t.Parallel()
	p := face(t, 100, 50, nil, "--clock", "fast")
	p.connect()
	r := p.ends(p.call("scene_add", `{"name":"a\r\u001b[2K\u202eb","pose":{"xyz":[2,0,0],"quat_wxyz":[1,0,0,0]},"geometry":{"sphere":{"radius":0.1}}}`))
	require.Equal(t, "INVALID_ARGUMENT", r.Code)
	p.await(`✗ scene_add (agent, mcp): refused INVALID_ARGUMENT`)
	p.await(`a\r\x1b[2K\u202eb`)
	p.leave()
	require.NotContains(t, p.raw.String(), "\u202e")
	require.Empty(t, p.screen.Unknown())
}

func TestOnTheScreenSIGTSTPAndCtrlZStopFirst(t *testing.T) {
	t.Parallel()
	p := face(t, 100, 50, nil, "--clock", "real")
	p.connect()
	move := p.call("move_joints", slowCall)
	p.armed()
	p.press("y")
	p.await("MOVING move_joints")
	time.Sleep(800 * time.Millisecond)
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTSTP))
	awaitState(t, p.cmd.Process.Pid, 'T')
	require.True(t, echoes(t, p.ptmx))
	eventually(t, func() bool { return !p.screen.Alt() }, "the screen is given back")
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGCONT))
	p.await("running again")
	require.False(t, echoes(t, p.ptmx))
	require.True(t, p.screen.Alt())
	require.Equal(t, "STOPPED", p.ends(move).Code)

	// One that was stopped behind our back takes the terminal again.
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGSTOP))
	awaitState(t, p.cmd.Process.Pid, 'T')
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGCONT))
	move = p.call("move_joints", panCall)
	p.armed()
	p.press("n")
	require.Equal(t, "NOT_APPROVED", p.ends(move).Code)
	p.leave()
	requireControlledStop(t, p.dir)
}

func TestTheScreenWithoutColourOrATerminalThatCanShowIt(t *testing.T) {
	t.Parallel()
	p := face(t, 80, 24, []string{"NO_COLOR=1", "LANG=C"}, "--clock", "fast")
	p.connect()
	move := p.call("move_joints", panCall)
	p.read()
	p.await("Tool from above")
	for _, r := range p.screen.String() {
		require.False(t, r > 0x2800 && r < 0x2900, "no Braille where the locale has no UTF-8")
	}
	p.armed()
	p.press("h")
	require.Equal(t, "NOT_APPROVED", p.ends(move).Code)
	require.False(t, p.screen.Colored())
	p.leave()

	s := seat(t, dataDir(t), "--approve-from", "tui")
	s.leaveDumb()
}

// leaveDumb is a terminal on which no cursor can be moved.
func (s *screen) leaveDumb() {
	s.t.Helper()
	_ = s.cmd.Process.Kill()
	<-s.ended
	r := tauEnv(s.t, []string{"TERM=dumb"}, "", "robot", "sim", "--approve-from", "tui", "--data-dir", dataDir(s.t))
	require.Equal(s.t, 2, r.status)
	require.Contains(s.t, r.stderr, `TERM is "dumb"`)
}

// An earlier process's events come first, and its open request is asked again.
func TestG51_TheEventsPaneShowsTheEarlierEventsFirst(t *testing.T) {
	t.Parallel()
	p := face(t, 100, 50, nil, "--clock", "fast")
	p.connect()
	move := p.call("move_joints", panCall)
	p.armed()
	p.press("n")
	require.Equal(t, "NOT_APPROVED", p.ends(move).Code)
	p.await("move_joints: rejected by tui")
	p.call("move_joints", `{"positions":{"shoulder_pan":0.3}}`)
	p.await(`{"shoulder_pan":0.3}`)
	p.armed()
	require.NoError(t, p.cmd.Process.Kill())
	<-p.ended
	p.hangUp()

	again := &panel{t: t, dir: p.dir, raw: newTap(), screen: tuitest.New(100, 50), ended: make(chan struct{})}
	again.begin(nil, "--clock", "fast")
	again.await("move_joints: rejected by tui")
	again.await(`{"shoulder_pan":0.3}`)
	again.armed()
	again.press("y")
	again.await("move_joints: approved by tui")
	text := again.screen.String()
	require.Less(t, strings.Index(text, "rejected by tui"), strings.Index(text, "approved by tui"))
	again.leave()
}
