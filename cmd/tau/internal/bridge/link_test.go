package bridge

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/gate/words"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/sim"
)

// scriptedState answers State as a test says; nothing else of it is called.
type scriptedState struct {
	robot.Backend
	st  robot.State
	err error
}

func (s *scriptedState) State(context.Context) (robot.State, error) { return s.st.Clone(), s.err }

// Each thing that happens by itself is told once, when it happens.
func TestWhatHappensToARealRobotIsToldOnce(t *testing.T) {
	b, sink := &scriptedState{}, &memorySink{}
	l := &link{backend: b, name: "mcu", session: "cell", now: time.Now, emit: sink.Emit}
	told := func(want ...string) {
		t.Helper()
		for range 3 {
			l.look(t.Context())
		}
		require.Len(t, sink.got, len(want), "%+v", sink.got)
		for i, w := range want {
			e := sink.got[i]
			require.Equal(t, "fault", e.Type)
			require.Equal(t, [3]string{"real", "mcu", "cell"}, [3]string{string(e.Mode), e.Backend, e.SessionID})
			require.Contains(t, e.Where+" "+string(e.Code)+" "+e.Text, w)
		}
		sink.got = nil
	}
	told()
	b.err = robot.Errf(robot.CodeDisconnected, "/dev/ttyTEST0", "unplugged")
	told("link DISCONNECTED the robot isn't there: DISCONNECTED: /dev/ttyTEST0: unplugged")
	b.err = robot.Errf(robot.CodeLinkTimeout, "/dev/ttyTEST0", "silent") // still away
	told()
	b.err = nil
	told("link  the robot is there again; it moves nothing")
	b.err = robot.Errf(robot.CodeStaleState, "mcu", "too old")
	told() // for a moment
	b.err = nil
	told()
	b.err = robot.Errf(robot.CodeStaleState, "mcu", "too old")
	told()
	told("link STALE_STATE the robot isn't there")
	b.err = nil
	told("link  the robot is there again")
	b.st.Faults = []robot.Fault{{Code: robot.CodeLinkTimeout, Text: "the board's watchdog"}}
	told("board LINK_TIMEOUT the robot has latched a fault: the board's watchdog")
	b.st.Faults = append(b.st.Faults, robot.Fault{Code: robot.CodeJointLimit, Text: "a later one"})
	told() // the first one is what counts
	b.st.Faults, b.st.EStopped = []robot.Fault{{Code: robot.CodeEStopped, Text: "the button"}}, true
	told("board ESTOPPED the robot has latched a fault: the button")
	b.st.Faults, b.st.EStopped = nil, false
	told()
	b.st.EStopped = true
	told("board ESTOPPED the robot's e-stop is latched")
}

// A link that is lost is told at the bridge and in robot_state, and a link that comes
// back moves nothing.
func TestALostLinkIsToldAndComesBackWithoutMoving(t *testing.T) {
	w := newMoves()
	h, d, _ := startReal(t, sim.Fast, func(s *Setup) {
		open := s.Open
		s.Open = func(dir string) (gate.Approver, Watcher, error) {
			a, _, err := open(dir)
			return a, w, err
		}
	}, gatetest.Approve())
	require.Equal(t, gate.StatusOK, callIn(h, "cell", "torque_on", "{}").Status)
	was := posOf(t, d)
	link := func(text string) func(e gate.Event) bool {
		return func(e gate.Event) bool { return e.Where == whereLink && strings.Contains(e.Text, text) }
	}
	d.set(robot.Errf(robot.CodeDisconnected, devicePort, "unplugged"))
	lost := w.until(t, link("isn't there"))
	require.Equal(t, gate.CodeDisconnected, lost.Code)
	a := callIn(h, "cell", "robot_state", "{}")
	require.Equal(t, gate.CodeDisconnected, a.Code)
	require.Equal(t, "mcu", a.Backend)
	require.Equal(t, gate.CodeDisconnected, callIn(h, "cell", "move_joints", `{"positions":{"pan":0.5}}`).Code)
	d.set(nil)
	w.until(t, link("there again"))
	require.Equal(t, was, posOf(t, d))

	lines := &strings.Builder{}
	n := newNotices(newNotes(lines), words.English)
	n.Event(lost)
	for _, e := range []gate.Event{
		{Type: "session", Where: whereOptIn, Origin: originStart, Backend: "mcu", Text: "opted in at the start, which the terminal shows in full"},
		{Type: "session", Where: whereOptIn, Origin: originControl, Backend: "mcu", SessionID: "lab", Text: "opted in until"},
		{Type: "session", Where: whereOptIn, Origin: "bridge", Backend: "mcu", SessionID: "lab", Text: "the opt-in has ended"},
		{Type: "session", Origin: "bridge", Backend: "sim", Text: "something else"},
		{Type: "fault", Where: "motion", Backend: "mcu", Text: "of a call, which its answer tells"},
	} {
		n.Event(e)
	}
	<-n.out.close()
	require.Equal(t, "■ mcu (cell): the robot isn't there: DISCONNECTED: /dev/ttyTEST0: unplugged\n"+
		"■ mcu (lab): opted in until\n■ mcu (lab): the opt-in has ended\n", lines.String())
}
