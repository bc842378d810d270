package bridge

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/cmd/tau/internal/attach"
	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/cmd/tau/internal/datadir"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/signed"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/sim"
)

// later is a clock that a test puts forward.
type later struct {
	mu sync.Mutex
	by time.Duration
}

func (l *later) now() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().Add(l.by)
}

func (l *later) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.by += d
}

// moves tells of the first sign of each motion, and keeps what was recorded.
type moves struct {
	began  chan string
	events chan gate.Event
}

func newMoves() *moves { return &moves{make(chan string, 64), make(chan gate.Event, 1024)} }

func (m *moves) Motion(of gate.Running, t, _ float64) {
	if t > 0 {
		select {
		case m.began <- of.Session:
		default:
		}
	}
}

func (m *moves) Event(e gate.Event) { m.events <- e }

// until returns the first event that is one.
func (m *moves) until(t *testing.T, is func(gate.Event) bool) gate.Event {
	t.Helper()
	for {
		select {
		case e := <-m.events:
			if is(e) {
				return e
			}
		case <-time.After(time.Minute):
			t.Fatal("no such event")
		}
	}
}

// An opt-in that ends in mid-motion, whichever way, ends it by a controlled stop, at
// once; from then on the session reads and moves nothing, and stays the real robot's.
func TestAnOptInThatEndsStopsItsMotion(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(t *testing.T, h *Host, l *later)
		code gate.Code
		says string
	}{
		"it runs out": {
			func(_ *testing.T, _ *Host, l *later) { l.add(robot.DefaultOptIn) }, gate.CodeOptInExpired, "ran out",
		},
		"it is revoked": {
			func(t *testing.T, h *Host, _ *later) {
				r, err := control.Send(t.Context(), datadir.Socket(h.Path()), control.Request{Verb: control.Revoke, Kind: "optin", ID: "cell"})
				require.NoError(t, err)
				require.True(t, r.OK, r.Text)
			}, gate.CodeNotOptedIn, "was revoked",
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, w := &later{}, newMoves()
			h, d, _ := startReal(t, sim.Real, func(s *Setup) {
				s.Now = l.now
				open := s.Open
				s.Open = func(dir string) (gate.Approver, Watcher, error) {
					a, _, err := open(dir)
					return a, w, err
				}
			}, gatetest.Approve(), gatetest.Approve())
			require.Equal(t, gate.StatusOK, callIn(h, "cell", "torque_on", "{}").Status)
			moving := h.Gate.Submit(gate.Invocation{
				Tool: "move_joints", Args: []byte(`{"positions":{"pan":1.4},"speed_scale":0.05}`), Session: "cell", Principal: Agent, Origin: "test",
			})
			require.Equal(t, "cell", <-w.began)
			c.end(t, h, l)
			<-moving.Done()
			a := moving.Answer()
			require.Equal(t, gate.StatusCancelled, a.Status, a.Text)
			require.Equal(t, gate.CodeCancelled, a.Code)
			require.Contains(t, a.Text, "the opt-in ended in mid-motion")
			require.Contains(t, a.Text, c.says)
			st, err := d.State(t.Context())
			require.NoError(t, err)
			require.False(t, st.Moving)
			require.True(t, st.Enabled, "a controlled stop keeps the power")
			require.Less(t, st.Positions[0], 1.0, "it stopped on its way")

			a = callIn(h, "cell", "robot_state", "{}")
			require.Equal(t, gate.StatusOK, a.Status, a.Text)
			require.Equal(t, [2]string{"real", "mcu"}, [2]string{string(a.Mode), a.Backend})
			a = callIn(h, "cell", "move_joints", `{"positions":{"pan":0}}`)
			require.Equal(t, c.code, a.Code, a.Text)
			var status struct {
				MayMove bool `json:"may_move"`
				Code    string
				Mode    string
			}
			require.NoError(t, json.Unmarshal(callIn(h, "cell", "session_status", "{}").Result, &status))
			require.False(t, status.MayMove)
			require.Equal(t, [2]string{string(c.code), "real"}, [2]string{status.Code, status.Mode})

			e := w.until(t, func(e gate.Event) bool { return e.Where == whereOptIn && strings.Contains(e.Text, "has ended") })
			require.Equal(t, c.code, e.Code)
			require.Equal(t, gate.ModeReal, e.Mode)
		})
	}
}

// What waits for an answer when the opt-in ends isn't run by a later yes.
func TestAnOptInThatEndsWhileItIsAskedRunsNothing(t *testing.T) {
	var h *Host
	h, d, _ := startReal(t, sim.Fast, nil, gatetest.Step{
		Decision: gate.Approved, Reason: "answered",
		Do: func(context.Context, gate.Request) { require.True(t, h.all.Revoke("cell")) },
	})
	a := callIn(h, "cell", "torque_on", "{}")
	require.Equal(t, gate.StatusRefused, a.Status)
	require.Equal(t, gate.CodeNotOptedIn, a.Code, a.Text)
	st, err := d.State(t.Context())
	require.NoError(t, err)
	require.False(t, st.Enabled)
}

// A new opt-in of the same session keeps its motion going: nobody wanted it to stop.
func TestAnOptInThatIsRenewedStopsNothing(t *testing.T) {
	w := newMoves()
	h, d, _ := startReal(t, sim.Real, func(s *Setup) {
		open := s.Open
		s.Open = func(dir string) (gate.Approver, Watcher, error) {
			a, _, err := open(dir)
			return a, w, err
		}
	}, gatetest.Approve(), gatetest.Approve())
	require.Equal(t, gate.StatusOK, callIn(h, "cell", "torque_on", "{}").Status)
	moving := h.Gate.Submit(gate.Invocation{
		Tool: "move_joints", Args: []byte(`{"positions":{"pan":0.3},"speed_scale":0.2}`), Session: "cell", Principal: Agent, Origin: "test",
	})
	<-w.began
	_, err := h.optIns.grant("cell", Operator, originControl, time.Hour)
	require.NoError(t, err)
	<-moving.Done()
	require.Equal(t, gate.StatusOK, moving.Answer().Status, moving.Answer().Text)
	require.InDelta(t, 0.3, posOf(t, d)[0], 0.02)
}

// Without the gate, too, the robot moves for no call whose session has no opt-in.
func TestTheRealBackendItselfWantsAnOptIn(t *testing.T) {
	h, d, _ := startReal(t, sim.Fast, nil)
	b := &optedIn{d, h.optIns}
	out, err := b.Execute(t.Context(), robot.Motion{}, nil)
	require.Equal(t, robot.CodeNotOptedIn, robot.CodeOf(err), "nobody's call")
	require.Equal(t, robot.OutcomeRefused, out.Status)
	out, err = b.Actuate(t.Context(), robot.Command{Kind: robot.TorqueOn})
	require.Equal(t, robot.CodeNotOptedIn, robot.CodeOf(err))
	require.Equal(t, robot.OutcomeRefused, out.Status)
	st, err := b.State(t.Context())
	require.NoError(t, err, "reading needs none")
	require.False(t, st.Enabled)
	require.Equal(t, robot.Yes, b.Stop(t.Context(), robot.StopControlled).Commanded, "nor does stopping")
}

// asReal makes an askedHost's bridge one with a real robot.
func asReal(t *testing.T) *askedHost {
	t.Helper()
	return startAsked(t, func(s *Setup) {
		key, data := s.Outside, s.DataDir
		r, _, err := realSetup(t.TempDir(), sim.Fast)
		require.NoError(t, err)
		r.Outside, r.DataDir = key, data
		*s = r
	})
}

// Another session of a running bridge is opted in by the operator's key alone, to
// exactly the robot that was shown.
func TestG34_ASessionIsOptedInByTheOperatorsKey(t *testing.T) {
	h := asReal(t)
	lab(t, h.Host)
	listed := h.send(control.Request{Verb: control.Sessions})
	require.NotEmpty(t, listed.Real)
	said := map[string]string{}
	for _, l := range listed.Real {
		said[l.Label] += l.Text + "; "
	}
	for label, want := range map[string][]string{
		"Robot": {"pantilt"}, "Driver": {"mcu"}, "Port": {devicePort},
		"Calibrated":    {"2026-11-30", "pantilt-servo2.toml", hexHash(h.real.File.Hash())},
		"Limits":        {"pan -1.4 .. 1.4 rad, 4 rad/s", "tilt -0.9 .. 1.2 rad", "channel 1"},
		"Output":        {"lamp 0 .. 1"},
		"An e-stop":     {"takes the power off"},
		"A lost link":   {"the power stays on"},
		"Configuration": {hexHash(h.real.config)},
	} {
		for _, w := range want {
			require.Contains(t, said[label], w)
		}
	}
	power := func(id string, params ...string) error {
		_, err := h.client.Power(t.Context(), control.OptIn, signed.OptIn, id, signed.Params(params...))
		return err
	}
	shown := ShownOptIn(listed.Real)
	other := append([]control.Line(nil), listed.Real...)
	other[2].Text = "/dev/ttyOTHER"
	require.ErrorContains(t, power("lab", "for", "30m0s"), "what was shown")
	require.ErrorContains(t, power("lab", "shown", shown), "for how long")
	require.ErrorContains(t, power("lab", "for", "30m0s", "shown", ShownOptIn(other)), "isn't this bridge's robot")
	require.ErrorContains(t, power("lab", "for", "9h0m0s", "shown", shown), "at most 8h")
	require.ErrorContains(t, power("lab", "for", "-1s", "shown", shown), "more than 0")
	require.ErrorContains(t, power("lab", "for", "30m0s", "shown", shown, "x", "y"), "nothing else")
	require.ErrorContains(t, power("nobody", "for", "30m0s", "shown", shown), "no session")
	require.Equal(t, "sim", string(callIn(h.Host, "lab", "robot_state", "{}").Mode))

	require.NoError(t, power("lab", "for", "10m0s", "shown", shown))
	require.Equal(t, "real", string(callIn(h.Host, "lab", "robot_state", "{}").Mode))
	for _, s := range h.send(control.Request{Verb: control.Sessions}).Sessions {
		require.Equal(t, "real", s.Mode)
		require.Contains(t, s.OptIn, devicePort)
	}
	require.True(t, h.send(control.Request{Verb: control.Revoke, Kind: "optin", ID: "lab"}).OK)
	require.False(t, h.send(control.Request{Verb: control.Revoke, Kind: "optin", ID: "lab"}).OK, "it is gone")
	require.NoError(t, h.all.Permit("cell"), "another session's stays")
}

// The socket without a statement opts nobody in, and neither does a statement that an
// enrolled device signed.
func TestG34_NothingElseOptsIn(t *testing.T) {
	h := asReal(t)
	lab(t, h.Host)
	require.False(t, h.send(control.Request{Verb: control.OptIn}).OK)
	shown := ShownOptIn(h.send(control.Request{Verb: control.Sessions}).Real)
	other, err := os.MkdirTemp(t.TempDir(), "")
	require.NoError(t, err)
	stranger := attach.Client{Socket: h.client.Socket, Key: makeKey(t, filepath.Join(other, "data"))}
	_, err = stranger.Power(t.Context(), control.OptIn, signed.OptIn, "lab", signed.Params("for", "30m0s", "shown", shown))
	require.Error(t, err)
	require.Equal(t, gate.ModeSim, callIn(h.Host, "lab", "robot_state", "{}").Mode)
}
