package bridge

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/cmd/tau/internal/datadir"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/events"
	"github.com/tau-robot/tau/gate/mcp"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/sim"
)

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
			s.Open = func(string) (gate.Approver, Watcher, error) { return nil, nil, errors.New("no terminal") }
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
	stone := scene.Bodies[0]
	stone.Name, stone.Pose.P[0] = "stone", 0.4
	require.NoError(t, rob.AddBody(stone))
	second := w.get()
	require.Len(t, second.Bodies, 2)
	require.Same(t, second, w.get())
	require.Len(t, first.Bodies, 1, "what was planned with stays as it was")
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
