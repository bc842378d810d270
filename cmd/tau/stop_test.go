package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

// longMove takes some seconds on the real clock.
const longMove = `{"tool":"move_joints","arguments":{"positions":{"shoulder_pan":1.5},"speed_scale":0.1}}`

// moving starts a bridge whose script has the arm in mid-motion.
func moving(t *testing.T, dir string) *proc {
	t.Helper()
	p := start(t, nil, "robot", "sim", "--script", "-", "--json", "--rehearse", "--clock", "real", "--data-dir", dir)
	p.send(longMove)
	p.stderr.await(t, "moving: 0.5 of", 0)
	return p
}

// trace is the data of the event that a motion leaves which didn't run to its end.
type trace struct {
	Outcome   string      `json:"outcome"`
	DurationS float64     `json:"duration_s"`
	PlannedS  float64     `json:"planned_s"`
	AtRest    *bool       `json:"at_rest"`
	Joints    []string    `json:"joints"`
	Final     []float64   `json:"final"`
	T         []float64   `json:"t"`
	Position  [][]float64 `json:"positions"`
	Velocity  [][]float64 `json:"velocities"`
}

// verdicts are the stops of a log, without the traces of the motions that they ended.
func verdicts(es []gate.Event) []gate.Event {
	var out []gate.Event
	for _, e := range ofType(es, "stop") {
		if e.Where != "motion" {
			out = append(out, e)
		}
	}
	return out
}

// requireControlledStop reads the log of a run that was ended in mid-motion and
// requires that the recorded trace shows a motion that was under way, braked
// within its limits, and measured at rest short of its goal.
func requireControlledStop(t *testing.T, dir string) {
	t.Helper()
	es := logged(t, dir)
	var tr trace
	// A terminal that hangs up, and a client that cancels, end the motion before a stop does.
	for _, e := range append(ofType(es, "stop"), ofType(es, "cancel")...) {
		if e.Where == "motion" {
			require.NoError(t, json.Unmarshal(e.Data, &tr))
			require.Equal(t, "move_joints", e.Tool)
		}
	}
	stops := verdicts(es)
	require.NotEmpty(t, stops, "the stop itself is in the log")
	for _, e := range stops {
		require.Contains(t, e.Text, "stationary yes")
	}
	require.NotEmpty(t, tr.Outcome, "the motion's trace is in the log")
	// The lane ends the motion's context and the backend hears the stop: whichever
	// comes first, it is the same controlled stop.
	require.Contains(t, []string{"stopped", "cancelled"}, tr.Outcome)
	require.NotNil(t, tr.AtRest)
	require.True(t, *tr.AtRest, "measured at rest")
	require.Less(t, tr.DurationS, tr.PlannedS-0.5, "it was in mid-motion")
	pan := 0
	require.Equal(t, "shoulder_pan", tr.Joints[pan])
	require.Greater(t, tr.Final[pan], 0.0)
	require.Less(t, tr.Final[pan], 1.4, "it didn't finish the trajectory (case 40)")
	// It moved, and it slowed down to rest without a jump.
	top, last := 0.0, len(tr.Velocity)-1
	for k := range tr.Velocity {
		top = math.Max(top, math.Abs(tr.Velocity[k][pan]))
	}
	require.Greater(t, top, 0.05, "it was moving")
	require.Less(t, math.Abs(tr.Velocity[last][pan]), 0.02, "and came to rest")
	for k := 1; k <= last; k++ {
		dt := tr.T[k] - tr.T[k-1]
		require.LessOrEqual(t, math.Abs(tr.Position[k][pan]-tr.Position[k-1][pan]), 3*dt+0.005, "no jump beyond the speed limit at %.3f s", tr.T[k])
	}
	var ended []gate.Code
	for _, c := range ofType(es, "tool_call") {
		if c.Tool == "move_joints" && c.Status == gate.StatusCancelled {
			ended = append(ended, c.Code)
		}
	}
	require.NotEmpty(t, ended, "the call is in the log as cancelled")
	// A terminal that hangs up, and a client that cancels, end the call before a stop does.
	require.Subset(t, []gate.Code{gate.CodeStopped, gate.CodeCancelled}, ended)
}

func TestSignalsInMidMotionEndInAControlledStop(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			p := moving(t, dir)
			p.signal(s)
			p.signal(s) // a second one doesn't cut the stop off
			r := p.wait()
			require.Equal(t, 130, r.status, r.stderr)
			require.Contains(t, r.stderr, "interrupted ("+s.String()+")")
			as := scriptAnswers(t, r.stdout)
			require.Len(t, as, 1, "the running call is answered")
			require.Equal(t, "cancelled", as[0].Status)
			require.Equal(t, "STOPPED", as[0].Code)
			require.NotEmpty(t, as[0].positions(t), "with where it stopped")
			requireControlledStop(t, dir)
		})
	}
}

func TestAReaderThatGoesAwayInMidMotionEndsInAControlledStop(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	// The reader of stdout must be gone for good, so this run has a pipe of its own.
	p := startWithClosableStdout(t, "robot", "sim", "--script", "-", "--json", "--rehearse", "--clock", "real", "--data-dir", dir)
	p.send(longMove)
	p.stderr.await(t, "moving: 0.5 of", 0)
	require.NoError(t, p.out.Close())
	r := p.wait()
	require.Equal(t, 130, r.status, r.stderr)
	requireControlledStop(t, dir)
}

func TestTheSuspendedBridgeHasStoppedFirst(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	p := moving(t, dir)
	p.signal(syscall.SIGTSTP)
	awaitState(t, p.cmd.Process.Pid, 'T')
	suspended := time.Now()
	p.signal(syscall.SIGCONT)
	p.send(`{"tool":"robot_state"}`) // it goes on
	require.NoError(t, p.stdin.Close())
	r := p.wait()
	require.Equal(t, 1, r.status, r.stderr)
	require.Len(t, scriptAnswers(t, r.stdout), 2)
	requireControlledStop(t, dir)
	// It was at rest by then. The verdict is older than the suspension, whenever the
	// log came to be written.
	stop := verdicts(logged(t, dir))[0]
	require.Equal(t, "suspended", stop.Reason)
	took := time.Duration(stop.DurationMS * float64(time.Millisecond))
	require.False(t, stop.Time.Add(took).After(suspended), "at rest %s after it was suspended", stop.Time.Add(took).Sub(suspended))
}

// awaitState waits until the kernel says that a process is in a state.
func awaitState(t *testing.T, pid int, want byte) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if state, ok := procState(pid); ok && state == want {
			return
		}
	}
	t.Fatalf("process %d isn't in state %c", pid, want)
}

func TestStopOverTheControlSocketInMidMotion(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"stop", "estop"} {
		dir := dataDir(t)
		p := moving(t, dir)
		r := tau(t, "", "robot", verb, "--data-dir", dir, "--reason", "smoke", "--json")
		require.Equal(t, 0, r.status, r.stderr)
		var reply struct {
			OK       bool
			Verdicts []gate.StopVerdict
		}
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &reply))
		require.True(t, reply.OK)
		require.Equal(t, "yes", reply.Verdicts[0].Stationary)
		require.Greater(t, reply.Verdicts[0].DurationS, 0.0)
		p.send(panMove)
		require.NoError(t, p.stdin.Close())
		end := p.wait()
		as := scriptAnswers(t, end.stdout)
		require.Equal(t, "STOPPED", as[0].Code)
		if verb == "estop" {
			require.Equal(t, "ESTOPPED", as[1].Code, "latched")
		} else {
			require.Equal(t, "ok", as[1].Status, as[1].Text)
		}
		var found bool
		for _, e := range ofType(logged(t, dir), verb) {
			found = found || e.Reason == "smoke" && e.Origin == "control"
		}
		require.True(t, found, "the stop and its reason are in the log")
	}
}

// Case 37: a stop that reached nothing never answers success.
func TestCase37_AStopWithoutABridgeSaysThatNothingWasCommanded(t *testing.T) {
	dir := dataDir(t)
	r := tau(t, "", "robot", "stop", "--data-dir", dir)
	require.Equal(t, 3, r.status)
	require.Contains(t, r.stderr, "commanded no")
	require.Empty(t, r.stdout)
	r = tau(t, "", "robot", "estop", "--data-dir", dir, "--json")
	require.Equal(t, 3, r.status)
	require.Contains(t, r.stdout, `"ok":false`)
	require.Contains(t, r.stdout, `"commanded":"no"`)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestG6_AStopLineActsWhenItIsRead(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"stop", `{"tool":"stop","id":"s"}`, `{"tool":"stop","arguments":{"reason":`} {
		dir := dataDir(t)
		p := moving(t, dir)
		p.send(longMove) // queued behind the one that runs
		p.send(line)
		require.NoError(t, p.stdin.Close())
		r := p.wait()
		require.Equal(t, 1, r.status, r.stderr)
		as := scriptAnswers(t, r.stdout)
		require.Len(t, as, 3)
		require.Equal(t, "STOPPED", as[0].Code, line)
		require.Equal(t, "STOPPED", as[1].Code, line)
		require.Equal(t, "stop", as[2].Tool)
		require.Equal(t, "ok", as[2].Status, as[2].Text)
		requireControlledStop(t, dir)
	}
}

func procState(pid int) (byte, bool) {
	b, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "stat"))
	if err != nil {
		return 0, false
	}
	// pid (name) state …; the name may hold anything but ends at the last bracket.
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] == ')' && i+2 < len(b) {
			return b[i+2], true
		}
	}
	return 0, false
}
