package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/cmd/tau/internal/datadir"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/events"
	"github.com/tau-robot/tau/gate/mcp"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func setup(t *testing.T) Setup {
	t.Helper()
	model, err := builtin.Load("so101")
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "data")
	return Setup{Model: model, Clock: sim.Fast, Session: "sim", DataDir: dir, Version: "test", Rehearse: true, Now: time.Now}
}

func call(h *Host, tool, args string) gate.Answer {
	return h.Gate.Call(context.Background(), gate.Invocation{
		Tool: tool, Args: []byte(args), Session: "sim", Principal: Operator, Origin: "test",
	})
}

func eventsOf(t *testing.T, h *Host) []gate.Event {
	t.Helper()
	var out []gate.Event
	for e, err := range events.Read(events.Path(h.setup.DataDir, h.setup.Session)) {
		require.NoError(t, err)
		out = append(out, e.Event)
	}
	return out
}

// goleak says at the end whether anything was left.
func TestAHostEndsWithEverythingThatItStarted(t *testing.T) {
	s := setup(t)
	ln, err := mcp.Listen("127.0.0.1:0")
	require.NoError(t, err)
	s.Listener = ln
	h, err := Start(s)
	require.NoError(t, err)
	url, token := h.Endpoint()
	require.FileExists(t, token)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
	require.NoError(t, err)
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusUnauthorized, resp.StatusCode, "no token, no entry")
	require.Equal(t, gate.StatusOK, call(h, "move_joints", `{"positions":{"shoulder_pan":0.1}}`).Status)
	verdicts := h.Stop("test")
	require.Equal(t, "yes", verdicts[0].Stationary)
	require.NoError(t, h.Close())
	require.NoFileExists(t, token)
	require.NoFileExists(t, datadir.Socket(s.DataDir))
	require.Equal(t, gate.StatusCancelled, call(h, "move_joints", `{"positions":{"shoulder_pan":0}}`).Status, "after the end nothing moves")
}

func TestAStartThatFailsLeavesNothingRunning(t *testing.T) {
	s := setup(t)
	h, err := Start(s)
	require.NoError(t, err)
	_, err = Start(s)
	var taken *datadir.TakenError
	require.True(t, errors.As(err, &taken), "%v", err)
	require.NoError(t, h.Close())

	// Each part in its turn can't be had.
	for name, spoil := range map[string]func(s *Setup){
		"log":     func(s *Setup) { require.NoError(t, os.MkdirAll(filepath.Join(s.DataDir, "logs", "tau.log"), 0o700)) },
		"key":     func(s *Setup) { require.NoError(t, os.MkdirAll(filepath.Join(s.DataDir, "events.key"), 0o700)) },
		"session": func(s *Setup) { require.NoError(t, os.MkdirAll(events.Path(s.DataDir, "sim"), 0o700)) },
		"socket":  func(s *Setup) { require.NoError(t, os.MkdirAll(datadir.Socket(s.DataDir), 0o700)) },
		"open": func(s *Setup) {
			s.Open = func(string) (gate.Approver, error) { return nil, errors.New("no terminal") }
		},
	} {
		s := setup(t)
		spoil(&s)
		_, err := Start(s)
		require.Error(t, err, name)
		d, err := datadir.Open(s.DataDir, "x", time.Unix(1, 0)) // it was given up
		require.NoError(t, err, name)
		require.NoError(t, d.Close())
	}
}

// A stop over the socket belongs to no session; it is recorded all the same, and
// physical calls go on being possible after it.
func TestWhatBelongsToNoSessionIsRecordedInTheBridgesOwn(t *testing.T) {
	h, err := Start(setup(t))
	require.NoError(t, err)
	reply, err := control.Send(t.Context(), datadir.Socket(h.Path()), control.Request{Verb: "stop", Reason: "why not"})
	require.NoError(t, err)
	require.True(t, reply.OK)
	a := h.Gate.Call(t.Context(), gate.Invocation{Tool: "robot_state", Session: "somebody-elses", Principal: "p", Origin: "test"})
	require.NotEqual(t, gate.StatusOK, a.Status)
	require.Equal(t, gate.StatusOK, call(h, "move_joints", `{"positions":{"shoulder_pan":0.1}}`).Status)
	require.NoError(t, h.Close())
	var reasons, tools []string
	for _, e := range eventsOf(t, h) {
		reasons = append(reasons, e.Reason)
		tools = append(tools, e.Tool)
	}
	require.Contains(t, reasons, "why not")
	require.Contains(t, tools, "robot_state")
	_, err = os.Stat(events.Path(h.setup.DataDir, "somebody-elses"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// backend plays back one outcome.
type backend struct {
	robot.Backend
	out robot.Outcome
	err error
}

func (b *backend) Info() robot.Info { return robot.Info{Backend: "sim", Mode: robot.ModeSim} }
func (b *backend) Execute(_ context.Context, _ robot.Motion, progress func(robot.Progress)) (robot.Outcome, error) {
	q := []float64{0}
	for k := range 3 * traceLength {
		q[0] = float64(k) // the receiver has to copy it
		progress(robot.Progress{T: float64(k) / 100, State: robot.State{Positions: q, Velocities: []float64{1}}})
	}
	return b.out, b.err
}

type memorySink struct{ got []gate.Event }

func (m *memorySink) Emit(e gate.Event) error { m.got = append(m.got, e); return nil }

func TestTheRecorderKeepsTheTraceOfAMotionThatDidNotEndAsPlanned(t *testing.T) {
	for status, want := range map[robot.OutcomeStatus]string{
		robot.OutcomeDone: "", robot.OutcomeRefused: "",
		robot.OutcomeStopped: "stop", robot.OutcomeCancelled: "stop", robot.OutcomeFaulted: "fault", robot.OutcomeUnknown: "fault",
	} {
		sink := &memorySink{}
		r := &recorder{
			Backend: &backend{
				out: robot.Outcome{Status: status, Duration: 2, Final: robot.State{Positions: []float64{599}, Velocities: []float64{0}}},
				err: robot.Errf(robot.CodeContact, "elbow", "touched"),
			},
			sink: sink, session: "s", now: func() time.Time { return time.Unix(7, 0) }, log: slog.New(slog.DiscardHandler),
		}
		seen := 0
		out, err := r.Execute(t.Context(), robot.Motion{ID: "m"}, func(robot.Progress) { seen++ })
		require.Equal(t, status, out.Status)
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeContact))
		require.Equal(t, 3*traceLength, seen)
		if want == "" {
			require.Empty(t, sink.got)
			continue
		}
		require.Len(t, sink.got, 1)
		e := sink.got[0]
		require.Equal(t, want, e.Type)
		require.Equal(t, gate.CodeContact, e.Code)
		require.Equal(t, time.Unix(7, 0), e.Time)
		var tr traceEvent
		require.NoError(t, json.Unmarshal(e.Data, &tr))
		require.Len(t, tr.T, traceLength)
		require.Equal(t, []float64{3*traceLength - 1}, tr.Position[traceLength-1])
		require.Equal(t, []float64{2 * traceLength}, tr.Position[0])
		require.Len(t, tr.Velocity, traceLength)
		require.True(t, *tr.AtRest)
	}
}

func TestTheRehearsalSeesTheSceneAsItIsAndCompilesItOnce(t *testing.T) {
	model, err := builtin.Load("so101")
	require.NoError(t, err)
	scene := robot.Scene{Bodies: []robot.Body{{
		Name: "cube", Pose: robot.Pose{P: [3]float64{0.5, 0.5, 0.5}, Q: robot.IdentityPose().Q}, Movable: true,
		Geometry: robot.Geometry{Kind: robot.Box, Size: [3]float64{0.02, 0.02, 0.02}},
	}}}
	rob, err := sim.New(sim.Options{Model: model, Scene: &scene, Clock: sim.Fast})
	require.NoError(t, err)
	w := &sceneNow{rob: rob}
	first := w.get()
	require.Len(t, first.Bodies, 1)
	require.Same(t, first, w.get(), "nothing has moved")
	w.last.Bodies[0].Pose.P[0] = 0 // as if the gripper had carried it
	require.NotSame(t, first, w.get())
	require.NoError(t, rob.Close())
}

func TestPlanRefusesWithTheGatesCodes(t *testing.T) {
	model, err := builtin.Load("so101")
	require.NoError(t, err)
	for args, code := range map[string]gate.Code{
		`{"positions":{"shoulder_pan":9}}`:       gate.CodeJointLimit,
		`{"positions":{"shoulder_pan":"9"}}`:     gate.CodeInvalidArgument,
		`{"positions":{"shoulder_pan":0},"x":1}`: gate.CodeInvalidArgument,
	} {
		_, err := Plan(t.Context(), model, robot.Scene{}, model.Home, 0, "move_joints", []byte(args))
		require.Equal(t, code, gate.CodeOf(err), "%v", err)
	}
	_, err = Plan(t.Context(), model, robot.Scene{}, model.Home, 0, "stop", nil)
	require.Equal(t, gate.CodeUnknownTool, gate.CodeOf(err))
	_, err = Plan(t.Context(), model, robot.Scene{}, []float64{99, 0, 0, 0, 0, 0}, 0, "home", nil)
	require.NotEmpty(t, gate.CodeOf(err), "%v", err)
}
