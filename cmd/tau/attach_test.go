package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/terminal"
)

const passphrase = "correct horse battery"

// at starts a command of the operator's side at a terminal.
func at(t *testing.T, dir string, args ...string) *screen {
	t.Helper()
	return seatAt(t, pty.Winsize{Rows: 50, Cols: 240}, append(append([]string{"robot"}, args...), "--data-dir", dir)...)
}

// operatorKey makes the operator's key of a data folder, as a person does, and returns
// its id.
func operatorKey(t *testing.T, dir string) string {
	t.Helper()
	s := at(t, dir, "approvals", "init")
	s.await("New passphrase")
	s.typed(passphrase + "\r")
	s.await("The same again")
	s.typed(passphrase + "\r")
	s.await("Keep the id")
	require.Equal(t, 0, s.status(), s.out)
	require.NotContains(t, s.out.String(), "horse", "a passphrase is never shown")
	m := regexp.MustCompile(`the operator's key is ([0-9a-f-]{39})`).FindStringSubmatch(s.out.String())
	require.NotNil(t, m, s.out.String())
	return m[1]
}

// unlocks types the passphrase that a command asks for.
func (s *screen) unlocks() {
	s.t.Helper()
	s.await("Passphrase of the operator's key")
	s.typed(passphrase + "\r")
}

// attached starts an attached terminal and waits for its prompt.
func attached(t *testing.T, dir string, flags ...string) *screen {
	t.Helper()
	return attachedAt(t, pty.Winsize{Rows: 50, Cols: 240}, dir, flags...)
}

func attachedAt(t *testing.T, size pty.Winsize, dir string, flags ...string) *screen {
	t.Helper()
	s := seatAt(t, size, append([]string{"robot", "approvals", "attach", "--data-dir", dir}, flags...)...)
	s.unlocks()
	s.await("stop and estop act at once")
	s.await("attach> ")
	return s
}

func (a *agent) move(id string, to float64) {
	a.t.Helper()
	b, err := json.Marshal(to)
	require.NoError(a.t, err)
	a.call(id, "move_joints", `{"positions":{"shoulder_pan":`+string(b)+`},"speed_scale":1}`)
}

// stdioBridge is a bridge that an MCP client has started, with a key that it trusts.
func stdioBridge(t *testing.T, dir string, flags ...string) *agent {
	t.Helper()
	return startAgent(t, dir, append([]string{"--operator-key", operatorKey(t, dir)}, flags...)...)
}

func (a *agent) ends() {
	a.t.Helper()
	require.NoError(a.t, a.stdin.Close())
	r := a.wait()
	require.Equal(a.t, 0, r.status, r.stderr)
}

// decided ends the client's side, and returns the questions with how they ended.
func (a *agent) decided(dir string) []gate.Event {
	a.t.Helper()
	a.ends()
	return ofType(logged(a.t, dir), "approval")
}

// pending waits until the bridge has the question of a call open, and returns its id.
func pending(t *testing.T, dir string) string {
	t.Helper()
	id := ""
	eventually(t, func() bool {
		r := tau(t, "", "robot", "approvals", "list", "--json", "--data-dir", dir)
		require.Equal(t, 0, r.status, r.stderr)
		var reply control.Reply
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &reply))
		for _, i := range reply.Requests {
			if i.Open {
				id = i.CallID
			}
		}
		return id != ""
	}, "no question is open")
	return id
}

func TestG34_AnAttachedTerminalAnswersForAnMCPClientOnStdio(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	a := stdioBridge(t, dir)
	a.stderr.await(t, "the operator's key is", 0)
	s := attached(t, dir)

	a.move("go", 0.3)
	s.card()
	require.Contains(t, s.out.String(), `  Arguments: {"positions":{"shoulder_pan":0.3},"speed_scale":1}`)
	s.answers("y")
	s.await("✓ move_joints: approved")
	m := a.answer("go")
	require.False(t, m.Result.IsError, m.Result.Content)
	require.InDelta(t, 0.3, pan(t, m.Result.Structured.Result), 0.01)

	for i, answer := range []string{"", "n", "yep", "quit"} {
		a.move("no"+itoa(i), 0.4+float64(i)/10)
		s.card()
		s.answers(answer)
		s.await("✗ move_joints: not approved")
		require.Equal(t, gate.CodeNotApproved, a.answer("no"+itoa(i)).Result.Structured.Code)
	}
	s.typed("list\r")
	s.await("Nothing waits for an answer.")
	s.typed("what\r")
	s.await("stop, estop: act at once")
	s.typed("quit\r")
	require.Equal(t, 0, s.status(), s.out)
	decided := a.decided(dir)
	require.Len(t, decided, 5)
	require.Equal(t, "approved", decided[0].Decision)
	require.Equal(t, "operator", decided[0].Decider)
	require.Equal(t, "signed, over attach", decided[0].Reason)
	for _, e := range decided[1:] {
		require.Equal(t, "rejected", e.Decision)
		require.Equal(t, "control socket", e.Decider)
	}
}

func TestCase57_WhatWasTypedAheadIsNoAnswerAtAnAttachedTerminal(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	a := stdioBridge(t, dir)
	s := attached(t, dir)
	// Typed before the card was there, in whatever quantity, and as it appears.
	s.typed("y\ry\ry")
	a.move("go", 0.3)
	s.card()
	s.typed("\ry\r")
	s.await("not counted")
	// A paste is no answer either; the question comes again.
	time.Sleep(terminal.Arming + 200*time.Millisecond)
	s.typed("\x1b[200~y\r\x1b[201~")
	s.await("not counted: pasted")
	s.card()
	require.Len(t, pending(t, dir), 32, "it is still open")
	s.answers("n")
	s.await("✗ move_joints: not approved")
	s.await("attach> y") // what was half typed is there again
	s.typed("\x03\x03")
	require.Equal(t, 130, s.status())
	decided := a.decided(dir)
	require.Len(t, decided, 1)
	require.Equal(t, "rejected", decided[0].Decision)
}

// Leaving answers nothing, whichever way: the question stays, and another one answers.
func TestCase58_LeavingAnAttachedTerminalAnswersNothing(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	a := stdioBridge(t, dir)
	var s *screen
	for i, how := range []string{"\x03", "\x04", "hangup", "kill", "y\x04"} {
		s = attached(t, dir)
		if i == 0 {
			a.move("go", 0.3)
		}
		s.card()
		time.Sleep(terminal.Arming + 200*time.Millisecond)
		switch how {
		case "hangup":
			s.hangUp()
			s.status()
		case "kill":
			require.NoError(t, s.cmd.Process.Kill())
			<-s.ended
		case "y\x04": // half typed: ctrl-D deletes there, it ends nothing
			s.typed("y\x04\x03")
			require.Equal(t, 130, s.status())
		default:
			s.typed(how)
			require.Equal(t, map[string]int{"\x03": 130, "\x04": 0}[how], s.status(), "%q: %s", how, s.out)
			require.True(t, echoes(t, s.ptmx))
		}
		require.Len(t, pending(t, dir), 32, "%q: still open", how)
	}
	s = attached(t, dir)
	s.card()
	s.answers("evet")
	s.await("✓ move_joints: approved")
	require.False(t, a.answer("go").Result.IsError)
	require.Len(t, a.decided(dir), 1)
}

func TestCase64_OfTwoAttachedTerminalsOneAnswers(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	a := stdioBridge(t, dir)
	one, two := attached(t, dir), attached(t, dir)
	for i := range 3 {
		id := "go" + itoa(i)
		a.move(id, float64(i+1)/10)
		one.card()
		two.card()
		time.Sleep(terminal.Arming + 200*time.Millisecond)
		var both sync.WaitGroup
		both.Go(func() { one.typed("y\r") })
		both.Go(func() { two.typed("y\r") })
		both.Wait()
		require.False(t, a.answer(id).Result.IsError)
	}
	// The one that didn't answer is told, when its card goes.
	a.move("last", 0)
	one.card()
	two.card()
	one.answers("y")
	two.await("this question is closed: approved, by operator")
	require.False(t, a.answer("last").Result.IsError)
	require.Len(t, a.decided(dir), 4, "each ran once")
	for _, s := range []*screen{one, two} {
		s.await("the bridge is gone")
		require.Equal(t, 3, s.status())
	}
	wins := strings.Count(one.out.String()+two.out.String(), "✓ move_joints: approved")
	require.Equal(t, 4, wins)
}

// A terminal that is resized while a card is open, and one that is smaller than the card.
func TestG30_ACardHigherThanTheScreenAndAResize(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	a := stdioBridge(t, dir)
	s := attachedAt(t, pty.Winsize{Rows: 6, Cols: 40}, dir)
	a.move("go", 0.3)
	s.card()
	for _, size := range []pty.Winsize{{Rows: 3, Cols: 20}, {Rows: 60, Cols: 200}, {Rows: 24, Cols: 80}} {
		require.NoError(t, pty.Setsize(s.ptmx, &size))
	}
	for _, part := range []string{"Tool: move_joints", "Rehearsed: ", "Assumed, not known: ", "Digest: "} {
		require.Contains(t, strings.ReplaceAll(s.out.String(), "\r\n", ""), part, "nothing is left out")
	}
	s.answers("y")
	s.await("✓ move_joints: approved")
	require.False(t, a.answer("go").Result.IsError)
	a.ends()
}

// Arguments that would rewrite the card (CASES 53-55) show as what they are here too.
func TestCase53_54_55_HostileArgumentsAtAnAttachedTerminal(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	a := stdioBridge(t, dir)
	s := attached(t, dir)
	before := len(s.out.String())
	a.call("evil", "demo_physical_action", `{"note":"\r\u001b[2K\u001b[1A  Tool: home \u202eabc\u200b"}`)
	s.card()
	text := s.out.String()[before:]
	require.Contains(t, text, `\u{d}\u{1b}[2K\u{1b}[1A  Tool: home \u{202e}abc\u{200b}`)
	require.NotContains(t, text, "\u202e")
	require.NotContains(t, text, "\x1b[1A  Tool: home")
	s.answers("n")
	s.await("✗ demo_physical_action: not approved")
	a.ends()
}

// Other output waits while a card is open (CASE 56), stop acts at an open card, and the
// card of a question that was withdrawn goes.
func TestCase56_OtherOutputWaitsWhileACardIsOpenAndAStopActs(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	a := stdioBridge(t, dir)
	s := attached(t, dir)
	a.move("go", 0.3)
	s.card()
	open := len(s.out.String())
	id := pending(t, dir)
	require.Equal(t, 0, tau(t, "", "robot", "approvals", "reject", id, "--reason", "lunch", "--data-dir", dir).status)
	s.await("this question is closed: rejected, by control socket")
	require.NotContains(t, s.out.String()[open:], "✓")
	require.Equal(t, gate.CodeNotApproved, a.answer("go").Result.Structured.Code)

	a.move("again", 0.2)
	s.card()
	s.answers("stop")
	s.await("stationary yes")
	require.Equal(t, gate.CodeStopped, a.answer("again").Result.Structured.Code)
	s.typed("estop\r")
	s.await("stationary yes")
	a.ends()
}

// With --ask-each the passphrase is typed for each yes; a wrong one approves nothing and
// the question comes again. approve does the same for one call.
func TestG34_ThePassphraseForEachApproval(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	a := stdioBridge(t, dir)
	s := at(t, dir, "approvals", "attach", "--ask-each")
	s.await("attach> ")
	a.move("go", 0.3)
	s.card()
	s.answers("y")
	s.await("Passphrase of the operator's key")
	s.typed("not the passphrase\r")
	s.await("✗ the answer wasn't taken")
	s.card()
	s.answers("y")
	s.unlocks()
	s.await("✓ move_joints: approved")
	require.False(t, a.answer("go").Result.IsError)
	require.NotContains(t, s.out.String(), "horse")
	s.await("attach> ")
	s.typed("quit\r")
	require.Equal(t, 0, s.status())

	a.move("one", 0.1)
	id := pending(t, dir)
	s = at(t, dir, "approvals", "approve", id)
	s.card()
	s.answers("n")
	require.Equal(t, 1, s.status())
	require.True(t, a.answer("one").Result.IsError)
	a.move("two", 0.15)
	id = pending(t, dir)
	s = at(t, dir, "approvals", "approve", id)
	s.card()
	s.answers("y")
	s.unlocks()
	require.Equal(t, 0, s.status(), s.out)
	require.False(t, a.answer("two").Result.IsError)
	s = at(t, dir, "approvals", "approve", id)
	require.Equal(t, 1, s.status(), "it isn't open any more")
	a.ends()
}

// Whoever has no terminal, no key, or another one than the bridge trusts is told so.
func TestG34_AttachingNeedsATerminalAndTheKeyThatTheBridgeTrusts(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	r := tau(t, "", "robot", "approvals", "attach", "--data-dir", dir)
	require.Equal(t, 1, r.status)
	require.Contains(t, r.stderr, "tau robot approvals init")
	r = tau(t, passphrase+"\n"+passphrase+"\n", "robot", "approvals", "init", "--data-dir", dir)
	require.Equal(t, 2, r.status)
	require.Contains(t, r.stderr, "standard input is none")
	require.NoFileExists(t, filepath.Join(dir, "operator.key"))

	key := operatorKey(t, dir)
	st, err := os.Stat(filepath.Join(dir, "operator.key"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode().Perm())
	require.Equal(t, 1, at(t, dir, "approvals", "init").status(), "one that is there stays")
	require.Equal(t, 3, tau(t, "", "robot", "approvals", "attach", "--data-dir", dir).status, "no bridge")

	a := startAgent(t, dir) // which hasn't been told of the key
	a.stderr.await(t, "start the bridge once with --operator-key "+key, 0)
	r = tau(t, "", "robot", "approvals", "attach", "--data-dir", dir)
	require.Equal(t, 1, r.status)
	require.Contains(t, r.stderr, "--operator-key "+key)
	a.move("go", 0.3)
	require.Contains(t, a.answer("go").Result.Content[0].Text, "Nobody can answer in this run.")
	a.ends()

	a = startAgent(t, dir, "--operator-key", key)
	r = tau(t, passphrase+"\n", "robot", "approvals", "attach", "--data-dir", dir)
	require.Equal(t, 2, r.status, "a pipe is no terminal")
	s := at(t, dir, "approvals", "attach")
	s.await("Passphrase")
	s.typed("something else\r")
	require.Equal(t, 1, s.status())
	for _, key := range []string{"\x03", "int"} { // with the terminal as it was
		s = at(t, dir, "approvals", "attach")
		s.await("Passphrase")
		if key == "int" {
			require.NoError(t, s.cmd.Process.Signal(syscall.SIGINT))
		} else {
			s.typed(key)
		}
		require.Equal(t, 130, s.status())
		require.True(t, echoes(t, s.ptmx))
	}
	a.ends()
	r = tau(t, "", "robot", "sim", "--script", "-", "--approve-from", "attach", "--data-dir", t.TempDir())
	require.Equal(t, 2, r.status)
	require.Contains(t, r.stderr, "tau robot approvals init")
}

func TestG34_ThePassphraseIsChangedAtATerminal(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	operatorKey(t, dir)
	change := func(old, fresh, again string) *screen {
		s := at(t, dir, "approvals", "passwd")
		s.await("Passphrase of the operator's key")
		s.typed(old + "\r")
		if fresh != "" {
			s.await("New passphrase")
			s.typed(fresh + "\r")
		}
		if again != "" {
			s.await("The same again")
			s.typed(again + "\r")
		}
		return s
	}
	require.Equal(t, 1, change("wrong passphrase", "", "").status())
	require.Equal(t, 1, change(passphrase, "short", "").status())
	require.Equal(t, 1, change(passphrase, "another passphrase", "not the same one").status())
	// Corrected while it was typed: backspace over a letter of two bytes, and ctrl-U.
	require.Equal(t, 0, change("junk\x15"+passphrase, "anotherü\x7f passphrase", "another passphrase").status())
	require.Equal(t, 1, change(passphrase, "", "").status())
	require.Equal(t, 0, change("another passphrase", passphrase, passphrase).status())
}

func TestSessionsOfARunningBridge(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	key := operatorKey(t, dir)
	b := sit(t, dir, "--operator-key", key)
	s := at(t, dir, "session", "new", "lab", "--principal", "agent2")
	s.unlocks()
	s.await("bearer token")
	require.Equal(t, 0, s.status())
	r := tau(t, "", "robot", "session", "list", "--data-dir", dir)
	require.Equal(t, 0, r.status)
	require.Contains(t, r.stdout, "(agent2)")
	s = at(t, dir, "session", "optin", "lab")
	s.await("the bridge has no real robot")
	require.Equal(t, 1, s.status())
	require.NotContains(t, s.out.String(), "Passphrase", "nobody types it in vain")
	require.Equal(t, 1, tau(t, "", "robot", "session", "revoke", "lab", "--data-dir", dir).status, "there is no opt-in")
	r = tau(t, "", "robot", "approvals", "devices", "--data-dir", dir)
	require.Contains(t, r.stdout, key)
	r = tau(t, "", "robot", "approvals", "revoke", "device", key, "--data-dir", dir)
	require.Equal(t, 0, r.status, r.stderr)
	require.Equal(t, 1, at(t, dir, "session", "new", "lab2").status(), "the key is revoked")
	b.typed("quit\r")
	require.Equal(t, 0, b.status())
}
