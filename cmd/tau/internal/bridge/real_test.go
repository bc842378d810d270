package bridge

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/hardware"
	"github.com/tau-robot/tau/sim"
)

// device stands for a real robot: a simulated one of its own that says it is real,
// starts without torque, and whose link can be cut.
type device struct {
	*sim.Robot
	info robot.Info

	mu     sync.Mutex
	cut    error
	faults []robot.Fault
	closed bool
}

func (d *device) Info() robot.Info { return d.info }

func (d *device) State(ctx context.Context) (robot.State, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cut != nil {
		return robot.State{}, d.cut
	}
	st, err := d.Robot.State(ctx)
	st.Faults = append(st.Faults, d.faults...)
	return st, err
}

func (d *device) Stop(ctx context.Context, kind robot.StopKind) robot.StopVerdict {
	v := d.Robot.Stop(ctx, kind)
	v.Backend = d.info.Backend
	return v
}

func (d *device) set(cut error, faults ...robot.Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cut, d.faults = cut, faults
}

func (d *device) Close() error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	return d.Robot.Close()
}

// reopened opens a device that says something else of itself.
func reopened(open func(context.Context, *slog.Logger) (robot.Backend, error), d *device, change func(*robot.Info)) func(context.Context, *slog.Logger) (robot.Backend, error) {
	return func(ctx context.Context, log *slog.Logger) (robot.Backend, error) {
		b, err := open(ctx, log)
		change(&d.info)
		return b, err
	}
}

const devicePort = "/dev/ttyTEST0"

// realSetup is a bridge with the example's robot, which its session "cell" may move.
func realSetup(dir string, clock sim.Clock) (Setup, *device, error) {
	m, err := builtin.Load("pantilt")
	if err != nil {
		return Setup{}, nil, err
	}
	data, err := os.ReadFile("../../../../testdata/hardware/pantilt-servo2.toml")
	if err != nil {
		return Setup{}, nil, err
	}
	f, err := hardware.Parse("pantilt-servo2.toml", data, m, time.Now())
	if err != nil {
		return Setup{}, nil, err
	}
	if m, err = f.Tightened(m); err != nil {
		return Setup{}, nil, err
	}
	d := &device{}
	return Setup{
		Model: m, Clock: sim.Fast, Session: "cell", DataDir: filepath.Join(dir, "data"), Version: "test", Now: time.Now,
		Real: &Real{Driver: "mcu", Port: devicePort, File: f, Open: func(context.Context, *slog.Logger) (robot.Backend, error) {
			if d.Robot, err = sim.New(sim.Options{Model: m, Scene: &robot.Scene{}, Clock: clock, Now: time.Now, Disabled: true}); err != nil {
				return nil, err
			}
			d.info = d.Robot.Info()
			d.info.Backend, d.info.Mode, d.info.Port, d.info.Calibration = "mcu", robot.ModeReal, devicePort, f.Hash()
			return d, nil
		}},
	}, d, nil
}

// startReal starts it, with somebody who answers as scripted.
func startReal(t *testing.T, clock sim.Clock, change func(*Setup), steps ...gatetest.Step) (*Host, *device, *gatetest.Scripted) {
	t.Helper()
	s, d, err := realSetup(t.TempDir(), clock)
	require.NoError(t, err)
	script := gatetest.Script(t, steps...)
	s.Open = func(string) (gate.Approver, Watcher, error) { return script, nil, nil }
	if change != nil {
		change(&s)
	}
	h, err := Start(s)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h, d, script
}

func callIn(h *Host, session, tool, args string) gate.Answer {
	return h.Gate.Call(context.Background(), gate.Invocation{
		Tool: tool, Args: []byte(args), Session: session, Principal: Agent, Origin: "test",
	})
}

func posOf(t *testing.T, b robot.Backend) []float64 {
	t.Helper()
	st, err := b.State(t.Context())
	require.NoError(t, err)
	return st.Positions
}

// lab opens a second session, which is simulated.
func lab(t *testing.T, h *Host) {
	t.Helper()
	_, err := h.store.Session("lab")
	require.NoError(t, err)
	_, err = h.all.New("lab")
	require.NoError(t, err)
}

// Two sessions of one bridge: each moves its own robot, and each answer, card and event
// says which that is.
func TestCase51_EachSessionMovesItsOwnRobotAndSaysSo(t *testing.T) {
	h, d, script := startReal(t, sim.Fast, nil, gatetest.Approve(), gatetest.Approve(), gatetest.Approve())
	lab(t, h)
	for session, want := range map[string][2]string{"cell": {"real", "mcu"}, "lab": {"sim", "sim"}} {
		for _, tool := range []string{"robot_state", "robot_describe", "session_status", "list_actuators"} {
			a := callIn(h, session, tool, "{}")
			require.Equal(t, gate.StatusOK, a.Status, a.Text)
			require.Equal(t, want, [2]string{string(a.Mode), a.Backend}, "%s %s", session, tool)
			var said struct{ Mode, Backend string }
			require.NoError(t, json.Unmarshal(a.Result, &said))
			if tool != "list_actuators" {
				require.Equal(t, want, [2]string{said.Mode, said.Backend}, "%s %s", session, tool)
			}
		}
	}
	const move = `{"positions":{"pan":0.5}}`
	require.Equal(t, gate.CodeNotEnabled, callIn(h, "cell", "move_joints", move).Code, "a real robot starts without torque")

	a := callIn(h, "lab", "move_joints", move)
	require.Equal(t, gate.StatusOK, a.Status, a.Text)
	require.InDelta(t, 0.5, posOf(t, h.backend)[0], 0.02)
	require.InDelta(t, 0, posOf(t, d)[0], 0.02, "a simulated session moves nothing real")

	require.Equal(t, gate.StatusOK, callIn(h, "cell", "torque_on", "{}").Status)
	a = callIn(h, "cell", "move_joints", `{"positions":{"pan":-0.5}}`)
	require.Equal(t, gate.StatusOK, a.Status, a.Text)
	require.InDelta(t, -0.5, posOf(t, d)[0], 0.02)
	require.InDelta(t, 0.5, posOf(t, h.backend)[0], 0.02, "a real session moves nothing simulated")

	for i, want := range []gate.Session{
		{Name: "lab", Mode: gate.ModeSim, Backend: "sim"},
		{Name: "cell", Mode: gate.ModeReal, Backend: "mcu", OptIn: h.real.consent(Operator)},
		{Name: "cell", Mode: gate.ModeReal, Backend: "mcu", OptIn: h.real.consent(Operator)},
	} {
		require.Equal(t, want, script.Requests()[i].Session)
	}
	calls := 0
	for _, e := range eventsOf(t, h) {
		require.NotEmpty(t, e.Backend, "%s %s", e.Type, e.Text)
		if e.Type == "tool_call" || e.Type == "approval" {
			calls++
			require.Equal(t, [2]string{"real", "mcu"}, [2]string{string(e.Mode), e.Backend}, "%s %s", e.Type, e.Tool)
		}
	}
	require.Equal(t, 4+1+2+2, calls)
}

// What an opt-in is to stands in the log, whole, and in each digest and row.
func TestAnOptInIsRecordedWithWhatItIsTo(t *testing.T) {
	h, _, _ := startReal(t, sim.Fast, func(s *Setup) { s.Real.For = 20 * time.Minute })
	var got *gate.Event
	for _, e := range eventsOf(t, h) {
		if e.Where == whereOptIn {
			require.Nil(t, got)
			got = &e
		}
	}
	require.NotNil(t, got)
	require.Equal(t, "session", got.Type)
	require.Equal(t, "cell", got.SessionID)
	require.Equal(t, [2]string{"real", "mcu"}, [2]string{string(got.Mode), got.Backend})
	var d optInData
	require.NoError(t, json.Unmarshal(got.Data, &d))
	require.Equal(t, []string{"pantilt", "mcu", devicePort, "2026-11-30", hexHash(h.real.File.Hash()), Operator},
		[]string{d.Robot, d.Driver, d.Port, d.Calibrated, d.Calibration, d.Principal})
	require.Equal(t, 20*time.Minute, d.Expires.Sub(d.Granted))
	require.Equal(t, []string{"pan", "tilt"}, d.Joints)
	require.Equal(t, -1.4, d.Limits[0].Lower, "the limits are those of the robot's file")
	for _, s := range []string{"operator", "robot pantilt", "driver mcu", "port " + devicePort, "calibrated 2026-11-30", "configuration " + hexHash(h.real.config)} {
		require.Contains(t, got.Text, s)
		require.Contains(t, h.real.consent(Operator), s)
	}
}

// The configuration is another one when anything of it is.
func TestG47_TheConsentNamesTheConfiguration(t *testing.T) {
	s, _, err := realSetup(t.TempDir(), sim.Fast)
	require.NoError(t, err)
	base, err := openReal(&s, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { require.NoError(t, base.backend.Close()) }()
	seen := map[string]string{base.consent(Operator): "the first", base.consent("ann"): "another person"}
	require.Len(t, seen, 2)
	require.Equal(t, base.consent(Operator), base.consent(Operator))
	for name, change := range map[string]func(r *realRobot){
		"another driver's version": func(r *realRobot) { r.info.Identity[0]++ },
		"another calibration":      func(r *realRobot) { r.info.Calibration[0]++ },
		"another port":             func(r *realRobot) { r.Port = "/dev/ttyTEST1" },
		"another driver":           func(r *realRobot) { r.Driver = "feetech" },
		"another robot":            func(r *realRobot) { r.info.Robot = "p" },
		"other limits": func(r *realRobot) {
			m := *r.model
			m.ModelHash[0]++
			r.model = &m
		},
	} {
		r := *base
		change(&r)
		r.config = r.configuration()
		require.Empty(t, seen[r.consent(Operator)], name)
		seen[r.consent(Operator)] = name
	}
}

// A driver that isn't what it was to be moves nothing: the bridge doesn't start, and
// what was opened is closed.
func TestADriverThatIsAnotherOneIsRefused(t *testing.T) {
	for name, change := range map[string]func(i *robot.Info){
		"simulated":           func(i *robot.Info) { i.Mode = robot.ModeSim },
		"no mode":             func(i *robot.Info) { i.Mode = "" },
		"another driver":      func(i *robot.Info) { i.Backend = "sim" },
		"another robot":       func(i *robot.Info) { i.Robot = "so101" },
		"other joints":        func(i *robot.Info) { i.Joints = []string{"tilt", "pan"} },
		"another calibration": func(i *robot.Info) { i.Calibration = [32]byte{} },
	} {
		t.Run(name, func(t *testing.T) {
			s, d, err := realSetup(t.TempDir(), sim.Fast)
			require.NoError(t, err)
			s.Real.Open = reopened(s.Real.Open, d, change)
			_, err = Start(s)
			require.ErrorContains(t, err, "driver mcu")
			require.True(t, d.closed)
		})
	}
}

func TestG15_ABridgeWithARealRobotDoesNotRehearse(t *testing.T) {
	s, d, err := realSetup(t.TempDir(), sim.Fast)
	require.NoError(t, err)
	s.Rehearse = true
	_, err = Start(s)
	require.ErrorContains(t, err, "simulated sessions only")
	require.Nil(t, d.Robot, "nothing was opened")
}

// A stop acts on both robots, whoever's session it is.
func TestG6_AStopActsOnBothRobots(t *testing.T) {
	h, d, _ := startReal(t, sim.Fast, nil, gatetest.Approve())
	lab(t, h)
	require.Equal(t, gate.StatusOK, callIn(h, "cell", "torque_on", "{}").Status)
	before, err := d.State(t.Context())
	require.NoError(t, err)
	var out struct{ Verdicts []gate.StopVerdict }
	a := callIn(h, "lab", "estop", "{}")
	require.NoError(t, json.Unmarshal(a.Result, &out))
	names := map[string]bool{}
	for _, v := range out.Verdicts {
		names[v.Backend] = true
	}
	require.Equal(t, map[string]bool{"sim": true, "mcu": true}, names)
	for _, b := range h.robots() {
		st, err := b.State(t.Context())
		require.NoError(t, err)
		require.True(t, st.EStopped)
	}
	after, err := d.State(t.Context())
	require.NoError(t, err)
	require.Greater(t, after.StopEpoch, before.StopEpoch)
	require.Equal(t, gate.CodeEStopped, callIn(h, "cell", "move_joints", `{"positions":{"pan":0.5}}`).Code)
	h.Stop("of nobody's session")
	for _, e := range eventsOf(t, h) {
		require.NotEmpty(t, e.Mode, "%s %s", e.Type, e.Text)
		require.NotEmpty(t, e.Backend, "%s %s", e.Type, e.Text)
	}
}
