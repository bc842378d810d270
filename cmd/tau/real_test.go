package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/mcu/boardtest"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/events"
)

// cell is a bridge at a terminal with a real robot: the firmware's core, built for this
// machine, behind a serial line.
type cell struct {
	*screen
	board     *boardtest.Board
	dir, file string
}

// oneCell lets one of them run at a time: they keep to the wall clock.
var oneCell = make(chan struct{}, 1)

// undisturbed runs a test with a cell, and again with another one where it says that the
// machine was too busy: a bridge that hears nothing of its board for 150 ms ends what
// runs, and a board that hears nothing for 200 ms brakes, as they should.
func undisturbed(t *testing.T, try func(t *testing.T, c *cell) bool, more ...string) {
	t.Helper()
	t.Parallel()
	oneCell <- struct{}{}
	defer func() { <-oneCell }()
	done, skipped := false, false
	for i := range 10 {
		t.Run("try "+strconv.Itoa(i+1), func(t *testing.T) {
			defer func() { skipped = t.Skipped() }()
			done = try(t, atCell(t, more...))
		})
		if skipped {
			t.Skip("skipped as its board was")
		}
		if done || t.Failed() {
			return
		}
	}
	t.Fatal("the machine was too busy for ten tries")
}

// What a bridge says when it or its board was kept from its work, where nothing else is
// the matter.
var tooBusy = []string{"STALE_STATE", "LINK_TIMEOUT", "the robot isn't there"}

// sees waits for a text, and returns false if the machine was too busy meanwhile.
func (c *cell) sees(text string) bool {
	c.t.Helper()
	seen := false
	eventually(c.t, func() bool {
		got := c.out.String()[c.at:]
		i := strings.Index(got, text)
		if i >= 0 {
			got = got[:i+len(text)]
		}
		for _, b := range tooBusy {
			if !strings.Contains(text, b) && strings.Contains(got, b) {
				return true
			}
		}
		if seen = i >= 0; seen {
			c.at += i + len(text)
		}
		return seen
	}, text)
	return seen
}

// approved types a command and approves it, and returns false if the machine was too busy.
func (c *cell) approved(line string) bool {
	c.t.Helper()
	c.typed(line + "\r")
	if !c.sees("Approve? [y/N]") {
		return false
	}
	c.answers("y")
	return true
}

// The example's servos: pulses in µs at 0 rad, and per rad.
const (
	zeroPulse = 1472.0
	perRad    = 590.8
)

// robotFile copies the example's file to where only this user can write, with lines
// replaced by what begins in the same way.
func robotFile(t *testing.T, lines ...string) string {
	t.Helper()
	data, err := os.ReadFile("../../testdata/hardware/pantilt-servo2.toml")
	require.NoError(t, err)
	text := string(data)
	for _, l := range lines {
		key, _, _ := strings.Cut(l, "=")
		i := strings.Index(text, "\n"+key+"=")
		require.GreaterOrEqual(t, i, 0, key)
		end := strings.IndexByte(text[i+1:], '\n')
		text = text[:i+1] + l + text[i+1+end:]
	}
	path := filepath.Join(t.TempDir(), "arm.toml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func realArgs(dir, port, file string, more ...string) []string {
	return append([]string{
		"robot", "real", "--data-dir", dir, "--session", "cell", "--robot", "pantilt",
		"--driver", "mcu", "--port", port, "--config", file,
	}, more...)
}

// atCell starts a board and a bridge that has it.
func atCell(t *testing.T, more ...string) *cell {
	t.Helper()
	c := &cell{board: boardtest.Start(t, boardtest.Options{Map: "servo2", Kind: boardtest.Host}), dir: dataDir(t), file: robotFile(t)}
	c.begin(t, more...)
	c.await("tau> ")
	return c
}

func (c *cell) begin(t *testing.T, more ...string) {
	t.Helper()
	args := realArgs(c.dir, c.board.Path(), c.file, append([]string{"--mcp", "off", "--at", "home"}, more...)...)
	c.screen = seatAt(t, pty.Winsize{Rows: 60, Cols: 240}, args...)
	c.await("REAL robot pantilt on mcu " + c.board.Path())
}

// powers has torque_on approved.
func (c *cell) powers() bool {
	c.t.Helper()
	mark := c.board.Mark()
	if !c.approved("torque_on") || !c.sees("✓ torque_on") {
		return false
	}
	c.board.Wait(mark, "a pulse", func(e boardtest.Event) bool { return e.Is("servo", 0) })
	return true
}

// runs has a motion of the pan approved, and returns once the board moves it.
func (c *cell) runs(line string) bool {
	c.t.Helper()
	first, mark := c.pulse(), c.board.Mark()
	if !c.approved(line) {
		return false
	}
	moves, busy := false, false
	eventually(c.t, func() bool {
		for _, p := range c.board.Trace().Pulses(0, mark) {
			moves = moves || abs(us(p.Width)-first) > 20
		}
		for _, b := range tooBusy {
			busy = busy || strings.Contains(c.out.String()[c.at:], b)
		}
		return moves || busy
	}, "a motion")
	return moves && !busy
}

// us is a pulse's width, µs.
func us(d time.Duration) float64 { return float64(d) / 1000 }

// pulse is the width of the pan's last pulse, µs.
func (c *cell) pulse() float64 {
	c.t.Helper()
	tr := c.board.Trace()
	w, ok := tr.PulseAt(0, tr.Now())
	require.True(c.t, ok, "there are no pulses")
	return us(w)
}

// still waits for more than what the board may brake in after a watchdog, and requires
// that the pan's pulses don't change any more.
func (c *cell) still() float64 {
	c.t.Helper()
	c.board.Pass(time.Second)
	mark, at := c.board.Mark(), c.pulse()
	c.board.Pass(300 * time.Millisecond)
	pulses := c.board.Trace().Pulses(0, mark)
	require.NotEmpty(c.t, pulses)
	for _, p := range pulses {
		require.InDelta(c.t, at, us(p.Width), 1e-9)
	}
	return at
}

func abs(x float64) float64 { return max(x, -x) }

// cellLog are the events of the session, of a log that proves itself whole.
func (c *cell) log() []gate.Event {
	c.t.Helper()
	path := events.Path(c.dir, "cell")
	report, err := events.Verify(path, events.KeyPath(c.dir))
	require.NoError(c.t, err)
	require.NoError(c.t, report.Err(), "%s", report.String())
	var out []gate.Event
	for e, err := range events.Read(path) {
		require.NoError(c.t, err)
		out = append(out, e.Event)
	}
	return out
}

// Approved it moves as it was planned, refused no pulse changes, and a stop ends it on
// its way: by the board's own pins.
func TestARealMotionIsWhatWasApproved(t *testing.T) {
	undisturbed(t, func(t *testing.T, c *cell) bool {
		for _, s := range []string{
			"Session cell may move a REAL robot until", "  Driver: mcu", "  Port: " + c.board.Path(), "  Calibrated: 2026-11-30, " + c.file,
			"  Limits: pan -1.4 .. 1.4 rad, 4 rad/s", "not measured (open loop)", "'tau robot session revoke cell' ends that",
		} {
			require.Contains(t, c.out.String(), s)
		}
		c.typed("move_joints pan=0.5\r")
		if !c.sees("NOT_ENABLED") {
			return false
		}
		require.Empty(t, c.board.Trace().Pulses(0, 0), "nothing is powered before it is approved")
		if !c.powers() {
			return false
		}
		require.Contains(t, c.shown(), "Session: cell (mode real, backend mcu)")
		require.Contains(t, c.shown(), "Opted in by: operator: robot pantilt, driver mcu, port "+c.board.Path())
		require.InDelta(t, zeroPulse, c.pulse(), 1)

		mark := c.board.Mark()
		if !c.runs("move_joints pan=0.5") || !c.sees("✓ move_joints") {
			return false
		}
		require.InDelta(t, zeroPulse+0.5*perRad, c.still(), 1)
		last := 0.0
		for _, p := range c.board.Trace().Pulses(0, mark) {
			require.GreaterOrEqual(t, us(p.Width), last-0.5, "it goes there without detours")
			last = us(p.Width)
		}

		mark = c.board.Mark()
		c.typed("move_joints pan=-0.5\r")
		if !c.sees("Approve? [y/N]") {
			return false
		}
		c.answers("n")
		if !c.sees("✗ move_joints") {
			return false
		}
		c.board.Pass(500 * time.Millisecond)
		for _, p := range c.board.Trace().Pulses(0, mark) {
			require.InDelta(t, zeroPulse+0.5*perRad, us(p.Width), 1, "refused, and yet it moved")
		}

		if !c.runs("move_joints pan=-1.2 speed_scale=0.1") {
			return false
		}
		c.typed("stop\r")
		if !c.sees("mcu: commanded yes, acknowledged yes") {
			return false
		}
		at := c.still()
		require.Less(t, at, zeroPulse+0.5*perRad-10)
		require.Greater(t, at, zeroPulse-1.2*perRad+10, "it was stopped on its way")
		for _, e := range c.log() {
			require.NotEmpty(t, e.Mode, "%s %s", e.Type, e.Text)
			if e.Type == "tool_call" || e.Type == "approval" {
				require.Equal(t, [2]string{"real", "mcu"}, [2]string{string(e.Mode), e.Backend}, "%s %s", e.Type, e.Tool)
			}
		}
		return true
	})
}

// A bridge that is killed in mid-motion: the board brakes by itself, and the next bridge
// says that nobody knows what that motion did, and moves nothing.
func TestKill9InMidMotionLeavesTheBoardToItsWatchdog(t *testing.T) {
	undisturbed(t, func(t *testing.T, c *cell) bool {
		if !c.powers() || !c.runs("move_joints pan=1.3 speed_scale=0.05") {
			return false
		}
		c.kill9()
		if strings.Contains(c.out.String()[c.at:], "✗ move_joints") {
			return false // it had ended before
		}
		at := c.still()
		require.Less(t, at, zeroPulse+1.3*perRad-10, "it was stopped on its way")

		c.begin(t)
		c.await("ran when the bridge ended: what it did can't be known, and it is not run again")
		c.await("tau> ")
		c.typed("state\r")
		c.await("LINK_TIMEOUT")
		require.InDelta(t, at, c.still(), 1e-9)
		c.typed("move_joints pan=0\r")
		c.await("✗ move_joints")
		require.InDelta(t, at, c.still(), 1e-9)
		return true
	})
}

// An opt-in that is revoked from elsewhere in mid-motion stops it.
func TestARevokedOptInStopsTheBoard(t *testing.T) {
	undisturbed(t, func(t *testing.T, c *cell) bool {
		if !c.powers() || !c.runs("move_joints pan=1.3 speed_scale=0.05") {
			return false
		}
		r := tau(t, "", "robot", "session", "revoke", "cell", "--data-dir", c.dir)
		require.Equal(t, 0, r.status, r.stderr)
		if !c.sees("the opt-in ended in mid-motion") {
			return false
		}
		require.Less(t, c.still(), zeroPulse+1.3*perRad-10)
		c.typed("move_joints pan=0\r")
		if !c.sees("was revoked") {
			return false
		}
		r = tau(t, "", "robot", "session", "list", "--data-dir", c.dir)
		require.Contains(t, r.stdout, "cell  real, since")
		require.NotContains(t, r.stdout, "opted in until")
		return true
	})
}

// The cable comes out, and back in: both are said, and nothing moves by itself.
func TestALostLinkIsSaidAndComesBackPowerless(t *testing.T) {
	undisturbed(t, func(t *testing.T, c *cell) bool {
		if !c.powers() {
			return false
		}
		at := c.pulse()
		c.board.Unplug()
		c.await("■ mcu (cell): the robot isn't there")
		c.typed("state\r")
		c.await("DISCONNECTED")
		c.board.Plug()
		c.await("■ mcu (cell): the robot is there again; it moves nothing")
		require.InDelta(t, at, c.still(), 1e-9)
		c.typed("move_joints pan=0.5\r")
		c.await("✗ move_joints")
		require.InDelta(t, at, c.still(), 1e-9)
		return true
	})
}

// Two bridges can't have one port, whatever their data folders.
func TestASecondBridgeOnThePortIsRefusedByNameAndPid(t *testing.T) {
	undisturbed(t, func(t *testing.T, c *cell) bool {
		r := tau(t, "", realArgs(dataDir(t), c.board.Path(), c.file, "--script", "-")...)
		require.Equal(t, 3, r.status, r.stderr)
		require.Contains(t, r.stderr, strconv.Itoa(c.cmd.Process.Pid))
		require.Contains(t, r.stderr, "BUSY")
		return true
	})
}

// A question that was open when a real bridge was killed is asked again, to the last
// letter, by one that is opted in anew to the same robot.
func TestG47_ARealQuestionSurvivesKill9AndWantsANewOptIn(t *testing.T) {
	undisturbed(t, func(t *testing.T, c *cell) bool {
		c.typed("torque_on\r")
		if !c.sees("Approve? [y/N]") {
			return false
		}
		card := c.shown()
		c.kill9()
		require.Empty(t, c.board.Trace().Pulses(0, 0))

		// Simulated, it isn't asked.
		r := tau(t, `{"tool":"robot_state"}`+"\n", "robot", "sim", "--robot", "pantilt", "--session", "cell", "--script", "-", "--data-dir", c.dir)
		require.Equal(t, 0, r.status, r.stderr)
		require.Contains(t, r.stderr, "1 request waits for an answer from before")

		c.begin(t)
		if !c.sees("Approve? [y/N]") {
			return false
		}
		require.Equal(t, card, c.shown(), "the same card to the last letter")
		c.answers("y")
		if !c.sees("torque_on (operator, prompt)") || !c.sees("done") {
			return false
		}
		c.board.Wait(0, "a pulse", func(e boardtest.Event) bool { return e.Is("servo", 0) })
		return true
	})
}

// Another session of a running bridge is opted in with the operator's key, after the
// robot was shown.
func TestG34_SessionOptInShowsTheRobotAndWantsThePassphrase(t *testing.T) {
	t.Parallel()
	oneCell <- struct{}{}
	defer func() { <-oneCell }()
	c := &cell{board: boardtest.Start(t, boardtest.Options{Map: "servo2", Kind: boardtest.Host}), dir: dataDir(t), file: robotFile(t)}
	key := operatorKey(t, c.dir)
	c.screen = seatAt(t, pty.Winsize{Rows: 60, Cols: 240}, realArgs(c.dir, c.board.Path(), c.file, "--operator-key", key)...)
	c.await("tau> ")
	s := at(t, c.dir, "session", "new", "lab", "--principal", "ann")
	s.unlocks()
	require.Equal(t, 0, s.status(), s.out)
	s = at(t, c.dir, "session", "optin", "lab", "--for", "10m")
	s.await("Session lab is to be allowed to move this REAL robot for 10m0s:")
	for _, want := range []string{"  Robot: pantilt", "  Driver: mcu", "  Port: " + c.board.Path(), "  Calibrated: 2026-11-30", "  Limits: tilt -0.9 .. 1.2 rad", "  Configuration: "} {
		s.await(want)
	}
	s.unlocks()
	require.Equal(t, 0, s.status(), s.out)
	require.Contains(t, s.out.String(), "session lab may move the real robot until")
	r := tau(t, "", "robot", "session", "list", "--data-dir", c.dir)
	require.Contains(t, r.stdout, "lab  real, since")

	sim := dataDir(t)
	b := seat(t, sim, "--operator-key", operatorKey(t, sim), "--mcp", "off")
	b.await("tau> ")
	r = tau(t, "", "robot", "session", "optin", "sim", "--data-dir", sim)
	require.Equal(t, 1, r.status)
	require.Contains(t, r.stderr, "no real robot")
}

// The command of docs/HARDWARE.md, with the example's file, does what the page says.
func TestTheCommandsOfTheHardwarePage(t *testing.T) {
	t.Parallel()
	oneCell <- struct{}{}
	defer func() { <-oneCell }()
	page, err := os.ReadFile("../../docs/HARDWARE.md")
	require.NoError(t, err)
	var command []string
	for _, block := range blocks(string(page)) {
		for _, line := range block {
			if rest, ok := strings.CutPrefix(line, "bin/tau robot real "); ok && strings.Contains(rest, "--driver mcu ") {
				command = strings.Fields(rest)
			}
		}
	}
	board := boardtest.Start(t, boardtest.Options{Map: "servo2", Kind: boardtest.Host, RealToo: true}) // nothing is powered
	file := robotFile(t)
	for i, word := range command {
		command[i] = strings.NewReplacer("/dev/ttyACM0", board.Path(), "~/pantilt.toml", file).Replace(word)
	}
	var r result
	for range 10 { // a busy machine has nothing but an old state
		r = tau(t, `{"tool":"robot_state"}`+"\n", append(append([]string{"robot", "real"}, command...), "--script", "-", "--json", "--data-dir", dataDir(t))...)
		if !strings.Contains(r.stdout, "STALE_STATE") {
			break
		}
	}
	require.Equal(t, 0, r.status, r.stderr)
	require.Contains(t, r.stdout, `"mode":"real","backend":"mcu"`)
	for _, k := range []string{
		"robot", "driver", "calibrated", "recalibrate_after_days", "baud", "estop_powers_off", "lost_link_powers_off", "channel", "kind", "direction",
		"zero", "scale", "lower", "upper", "velocity", "acceleration", "jerk", "pulse_min", "pulse_max", "feedback", "adc",
	} {
		require.Contains(t, string(page), "`"+k+"`", "the page names each key of the file")
	}
}

// A port that is none is named, with the command that lists those that are.
func TestAPortThatIsNoneIsSaid(t *testing.T) {
	t.Parallel()
	r := tau(t, "", realArgs(dataDir(t), "/dev/null", robotFile(t), "--script", "-")...)
	require.Equal(t, 2, r.status, r.stderr)
	require.Contains(t, r.stderr, "/dev/null")
	require.Contains(t, r.stderr, "See: tau robot ports")
	r = tau(t, "", realArgs(dataDir(t), "/nonexistent/tty", robotFile(t), "--script", "-")...)
	require.Equal(t, 3, r.status, r.stderr)
	require.Contains(t, r.stderr, "DISCONNECTED")
	require.Contains(t, r.stderr, "/nonexistent/tty")
	require.Empty(t, r.stdout)
}

// What is wrong with the robot's file is said before the port is looked at.
func TestARobotsFileThatIsWrongIsAUsageError(t *testing.T) {
	good := robotFile(t)
	link := filepath.Join(t.TempDir(), "link.toml")
	require.NoError(t, os.Symlink(good, link))
	open := robotFile(t)
	require.NoError(t, os.Chmod(open, 0o620))
	for _, c := range []struct {
		file  string
		more  []string
		texts []string
	}{
		{"/nonexistent/arm.toml", nil, []string{"/nonexistent/arm.toml", "no such file"}},
		{link, nil, []string{"symbolic link"}},
		{open, nil, []string{"others could write it"}},
		{robotFile(t, "driver = \"feetech\""), nil, []string{`the driver "feetech"`, `--driver is "mcu"`}},
		{robotFile(t, "lower = -1.6"), nil, []string{"arm.toml:", "joint.pan.lower", "value -1.6 rad, limit -1.48 rad"}},
		{robotFile(t, "lower = 0.5"), nil, []string{"home", "pan"}},
		{robotFile(t, "calibrated = 9999-01-01"), nil, []string{"arm.toml:", "in the future"}},
		{robotFile(t, "baud = 115200\nopt_in = true"), nil, []string{"arm.toml:", "opt_in", "not a key"}},
		{good, []string{"--robot", "so101"}, []string{`"pantilt"`, `"so101"`}},
		{good, []string{"--at", "pan=0.2"}, []string{"--at", "missing: tilt"}},
		{good, []string{"--at", "pan=9,tilt=0"}, []string{"--at pan", "value 9 rad, limit 1.4 rad"}},
		{good, []string{"--at", "knee=0"}, []string{"--at", "knee"}},
		{good, []string{"--at", "pan=NaN,tilt=0"}, []string{"--at"}},
	} {
		usage(t, realArgs("ignored", "/nonexistent/tty", c.file, append([]string{"--data-dir", filepath.Join(t.TempDir(), "untouched")}, c.more...)...), c.texts...)
	}
}
