package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/cmd/tau/internal/datadir"
	"github.com/tau-robot/tau/cmd/tau/internal/logfile"
	"github.com/tau-robot/tau/cmd/tau/internal/settings"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/events"
	"github.com/tau-robot/tau/gate/lane"
	"github.com/tau-robot/tau/gate/mcp"
	"github.com/tau-robot/tau/gate/mount"
	"github.com/tau-robot/tau/motion"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/sim"
)

// Setup is what a bridge is started with. All of it has been checked.
type Setup struct {
	Model    *robot.Model
	Scene    robot.Scene
	Faults   []sim.Fault
	Settings settings.File
	Clock    sim.Clock
	Seed     uint64
	Session  string
	DataDir  string
	Store    string // the address of a database that several bridges share; "": the data folder's own
	Verbose  bool
	Rehearse bool
	// Real is the real robot; nil: the bridge has none. Its session is opted in when the
	// bridge starts, and Rehearse is false.
	Real *Real
	// Unreferenced: the simulator's joints that have a reference switch don't know at
	// first where they are.
	Unreferenced bool
	// Open, if set, is called once the data folder is ours, and says who approves and
	// who is told what happens; nil: nobody.
	Open     func(dir string) (gate.Approver, Watcher, error)
	Outside  Outside      // whether answers from outside of this process count
	Channels Channels     // that ask elsewhere
	Listener net.Listener // of MCP over HTTP; nil: off. The host owns it.
	Stdio    bool         // MCP for one client on streams; Listener is nil
	MCPWait  time.Duration
	Version  string
	Now      func() time.Time

	// of tests: another backend in the place of the simulator's, and another bound
	// for each step of the end than stepWait
	wrap    func(robot.Backend) robot.Backend
	endWait time.Duration
}

// Host is a running bridge. Close ends it; nothing of it may be used afterwards.
type Host struct {
	Gate  *gate.Gate
	Model *robot.Model
	Log   *slog.Logger

	setup   Setup
	dir     *datadir.Dir
	logFile *logfile.File
	all     *robot.Sessions
	store   *events.Store
	asked   requestStore
	share   *sharing      // nil: the store is this bridge's alone
	left    gate.Recovery // what an earlier process left
	sink    *sink
	backend robot.Backend      // the simulated robot
	real    *realRobot         // nil: none
	optIns  *optIns            // nil: no real robot
	watched context.CancelFunc // ends what watches the real robot
	scene   func() robot.Scene // as it is now; doesn't wait for a motion
	lane    *lane.Lane
	mounts  []*mount.Server
	control *control.Server
	mcp     *mcp.Server
	tokens  tokens
	token   string // the file of the first one
	serving sync.WaitGroup

	watching sync.WaitGroup // over the real robot

	operator *operatorSide
	channels []channel
}

// Start takes the data folder and starts everything. After an error nothing is
// left running. It blocks for the disk, and for a real robot's port.
func Start(s Setup) (h *Host, err error) {
	h = &Host{setup: s, Model: s.Model}
	if s.Real != nil && s.Rehearse {
		return h, robot.Errf(robot.CodeInvalidArgument, "rehearse", "runs physical calls without asking and is for simulated sessions only; this bridge has a real robot")
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.release())
		}
	}()
	if h.dir, err = datadir.Open(s.DataDir, s.Model.Name, s.Now()); err != nil {
		return h, err
	}
	if h.logFile, err = logfile.Open(h.dir.Join("logs", "tau.log")); err != nil {
		return h, err
	}
	h.Log = h.logFile.Logger(s.Verbose)
	if err = h.openEvents(); err != nil {
		return h, err
	}
	if err = h.openStore(); err != nil {
		return h, err
	}
	if err = h.openOperatorSide(); err != nil {
		return h, err
	}
	if err = h.openChannels(); err != nil {
		return h, err
	}
	var approver gate.Approver
	watch := watchers{h.operator.outcomes}
	if s.Open != nil {
		var w Watcher
		if approver, w, err = s.Open(h.dir.Path()); err != nil {
			return h, err
		}
		if w != nil {
			watch = append(watch, w)
		}
	}
	if h.share != nil {
		watch = append(watch, h.share)
	}
	h.sink.watch = watch
	if err = h.build(h.openDesk(approver)); err != nil {
		return h, err
	}
	if h.control, err = control.Listen(datadir.Socket(h.dir.Path()), h.stop, socket{h}); err != nil {
		return h, err
	}
	if err = h.prepareMCP(); err != nil {
		return h, err
	}
	if err = h.sink.Emit(h.note(h.describe("started"))); err != nil {
		return h, err
	}
	if err = h.beginReal(); err != nil {
		return h, err
	}
	h.beginChannels()
	// What waits is taken up before anybody is let in who could ask for more.
	if h.left, err = h.Gate.Recover(context.Background()); err != nil {
		return h, err
	}
	h.share.begin()
	h.serveMCP()
	h.Log.Info("bridge started", "robot", s.Model.Name, "session", s.Session, "pid", os.Getpid(), "version", s.Version)
	return h, err
}

func (h *Host) describe(what string) string {
	as := "simulated"
	if r := h.setup.Real; r != nil {
		as = "real on " + r.Driver + " " + r.Port + " and simulated"
	}
	return fmt.Sprintf("%s: robot %s, %s, rehearse %t, version %s", what, h.Model.Name, as, h.setup.Rehearse, h.setup.Version)
}

func (h *Host) openEvents() error {
	var err error
	h.store, err = events.Open(events.Options{Dir: h.dir.Path(), Recovered: func(session string, r events.Recovery) {
		h.Log.Warn("the event log was recovered after an unclean end", "session", session, "lines", r.Lines, "adopted", r.Adopted, "torn", r.Torn)
	}})
	if err != nil {
		return err
	}
	if _, err := h.store.Session(h.setup.Session); err != nil {
		return err
	}
	h.all = robot.NewSessions(h.setup.Now)
	h.all.CountSleep(bootClock())
	if _, err := h.all.New(h.setup.Session); err != nil {
		return err
	}
	h.sink = &sink{store: h.store, all: h.all, home: h.setup.Session, of: h.moves}
	return nil
}

// build makes robot, planner and gate.
func (h *Host) build(approver gate.Approver) error {
	s := h.setup
	scene, err := guarded(s.Model, s.Scene, s.Settings.Policy.Motion)
	if err != nil {
		return err
	}
	o := sim.Options{Model: s.Model, Scene: &scene, Clock: s.Clock, Seed: s.Seed, Faults: s.Faults, Now: s.Now}
	if s.Unreferenced {
		o.Unreferenced = make([]bool, s.Model.DoF())
		for _, r := range s.Model.References {
			o.Unreferenced[r.Joint] = true
		}
	}
	rob, err := sim.New(o)
	if err != nil {
		return err
	}
	h.backend, h.scene = rob, rob.Scene
	if s.wrap != nil {
		h.backend = s.wrap(rob)
	}
	of := sessions{all: h.all}
	if s.Real != nil {
		if h.real, err = openReal(&s, h.Log); err != nil {
			return err
		}
		h.optIns = newOptIns(h.real, h.all, h.emitReal, func() { h.Gate.SessionsChanged() })
		of.real = h.optIns
	}
	may := &permits{
		grants: h.asked, sessions: of, list: s.Settings.Policy.Grants, cap: s.Settings.Policy.Motion.SpeedCap,
		scene: rob.Scene, now: s.Now, log: h.Log,
	}
	within := limits{may, s.Settings.Policy.Motion.Workspace}
	backend := h.recorded(h.backend)
	arms := map[string]motion.Arm{}
	if arms[SimArm], err = simulatedArm(s.Model, scene, rob, backend, s.Seed, within); err != nil {
		return err
	}
	stoppers := []gate.Stopper{stopper{SimArm, backend}}
	if h.real != nil {
		moved := h.recorded(&optedIn{h.real.backend, h.optIns})
		if arms[h.real.Driver], err = realArm(s.Model, scene, moved, s.Seed, within); err != nil {
			return err
		}
		stoppers = append(stoppers, stopper{h.real.Driver, moved})
	}
	planner, err := newPlanner(arms, s.Seed, s.Now, within)
	if err != nil {
		return err
	}
	catalog := gate.NewCatalog()
	if err := catalog.Register(planner.Tools()...); err != nil {
		return err
	}
	mounted, stops, err := h.openMounts(context.Background())
	if err != nil {
		return err
	}
	if err := catalog.Register(mounted...); err != nil {
		return err
	}
	h.lane = lane.New()
	cfg := gate.Config{
		Catalog: catalog, Lane: h.lane, Sessions: of, Requests: h.asked, Sink: h.sink,
		Approver: approver, Stoppers: append(stoppers, stops...), Log: h.Log, Now: s.Now,
		Boot: bootClock(), Grants: h.asked, Access: may, Routines: h.asked,
	}
	if s.Rehearse {
		cfg.Exemptions = []gate.Exemption{gate.RehearseExemption}
	}
	if err := applyPolicy(s.Settings.Policy, &cfg); err != nil {
		return err
	}
	h.Gate, err = gate.New(cfg)
	return err
}

// stop is the control socket's stop: the gate's own.
func (h *Host) stop(ctx context.Context, kind gate.StopKind, reason string) []gate.StopVerdict {
	return h.Gate.Stop(ctx, kind, reason, "control", Operator).Verdicts
}

// prepareMCP makes the server of MCP over HTTP for one client, whose token lies in a
// file of mode 0600 and changes with each start.
func (h *Host) prepareMCP() error {
	if err := h.clearTokens(); err != nil {
		return err
	}
	if h.setup.Stdio {
		return h.newMCP() // no token opens anything
	}
	if h.setup.Listener == nil {
		return nil
	}
	h.token = h.dir.Join("mcp.token")
	if err := removed(h.token); err != nil {
		return fmt.Errorf("mcp token: %w", err)
	}
	if _, err := h.tokens.issue(Agent, h.setup.Session, h.token); err != nil {
		return err
	}
	return h.newMCP()
}

// serveMCP begins to serve over HTTP, where that is wanted. On streams it is the
// front end that serves.
func (h *Host) serveMCP() {
	ln := h.setup.Listener
	if ln == nil {
		return
	}
	h.serving.Go(func() {
		if err := h.mcp.Serve(ln); err != nil {
			h.Log.Error("MCP over HTTP ended", "err", err)
		}
	})
}

func (h *Host) newMCP() (err error) {
	h.mcp, err = mcp.New(mcp.Options{
		Caller: h.Gate, Tokens: &h.tokens.table, Version: h.setup.Version, Logger: h.Log, Wait: h.setup.MCPWait,
		Instructions: instructions,
	})
	return err
}

// instructions is what an MCP client may tell its model.
const instructions = "Tools of a robot arm. Tier-2 tools move or power it: each call is planned and rehearsed in a simulator, " +
	"then shown to a person, and only runs if approved. A refusal says why; do not repeat the same call. " +
	"stop and estop are always allowed and act at once. Units are SI: radians, metres, seconds."

// Endpoint returns where MCP is served over HTTP and the file of its token; empty
// when it isn't.
func (h *Host) Endpoint() (url, tokenFile string) {
	if h.mcp == nil || h.setup.Listener == nil {
		return "", ""
	}
	return "http://" + h.setup.Listener.Addr().String() + mcp.Path, h.token
}

// Path returns the data folder.
func (h *Host) Path() string { return h.dir.Path() }

// EventsPath returns the file of the bridge's own session's events.
func (h *Host) EventsPath() string { return filepath.Clean(events.Path(h.dir.Path(), h.setup.Session)) }

// Moving reports whether a robot moves, whoever asked for it. A state that can't
// be read counts as moving.
func (h *Host) Moving() bool {
	for _, b := range h.robots() {
		if st, err := b.State(context.Background()); err != nil || st.Moving {
			return true
		}
	}
	return false
}

// Stop brings every backend to a controlled stop and waits until it is measured
// at rest or that can't be known. The reason is recorded.
func (h *Host) Stop(reason string) []gate.StopVerdict {
	return h.Gate.Stop(context.Background(), gate.StopControlled, reason, "bridge", Operator).Verdicts
}

// Hold is a Stop that lasts: nothing begins to move until release is called,
// whatever has been approved.
func (h *Host) Hold(reason string) (release func()) {
	release = h.lane.Hold()
	h.Stop(reason)
	return release
}
