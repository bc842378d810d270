package bridge

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/cmd/tau/internal/datadir"
	"github.com/tau-robot/tau/cmd/tau/internal/logfile"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/events"
	"github.com/tau-robot/tau/gate/lane"
	"github.com/tau-robot/tau/gate/mcp"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/sim"
)

// Setup is what a bridge is started with. All of it has been checked.
type Setup struct {
	Model    *robot.Model
	Scene    robot.Scene
	Faults   []sim.Fault
	Clock    sim.Clock
	Seed     uint64
	Session  string
	DataDir  string
	Verbose  bool
	Rehearse bool
	// Open, if set, is called once the data folder is ours, and says who approves;
	// nil: nobody can.
	Open     func(dir string) (gate.Approver, error)
	Listener net.Listener // of MCP over HTTP; nil: off. The host owns it.
	MCPWait  time.Duration
	Version  string
	Now      func() time.Time
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
	sink    *sink
	backend *sim.Robot
	lane    *lane.Lane
	control *control.Server
	mcp     *mcp.Server
	token   string
	serving sync.WaitGroup
}

// Start takes the data folder and starts everything. After an error nothing is
// left running. It blocks for the disk only.
func Start(s Setup) (h *Host, err error) {
	h = &Host{setup: s, Model: s.Model}
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
	var approver gate.Approver
	if s.Open != nil {
		if approver, err = s.Open(h.dir.Path()); err != nil {
			return h, err
		}
	}
	if err = h.build(approver); err != nil {
		return h, err
	}
	if h.control, err = control.Listen(datadir.Socket(h.dir.Path()), h.stop); err != nil {
		return h, err
	}
	if err = h.serveMCP(); err != nil {
		return h, err
	}
	err = h.sink.Emit(gate.Event{
		Type: "session", Time: s.Now(), SessionID: s.Session, Principal: Operator, Origin: "bridge",
		Mode: gate.ModeSim, Backend: SimArm, Text: h.describe("started"),
	})
	h.Log.Info("bridge started", "robot", s.Model.Name, "session", s.Session, "pid", os.Getpid(), "version", s.Version)
	return h, err
}

func (h *Host) describe(what string) string {
	return fmt.Sprintf("%s: robot %s, simulated, rehearse %t, version %s", what, h.Model.Name, h.setup.Rehearse, h.setup.Version)
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
	if _, err := h.all.New(h.setup.Session); err != nil {
		return err
	}
	h.sink = &sink{store: h.store, all: h.all, home: h.setup.Session}
	return nil
}

// build makes robot, planner and gate.
func (h *Host) build(approver gate.Approver) error {
	s := h.setup
	var err error
	h.backend, err = sim.New(sim.Options{Model: s.Model, Scene: &s.Scene, Clock: s.Clock, Seed: s.Seed, Faults: s.Faults, Now: s.Now})
	if err != nil {
		return err
	}
	backend := &recorder{Backend: h.backend, sink: h.sink, session: s.Session, now: s.Now, log: h.Log}
	planner, err := newPlanner(s.Model, s.Scene, h.backend, backend, s.Seed, s.Now)
	if err != nil {
		return err
	}
	catalog := gate.NewCatalog()
	if err := catalog.Register(planner.Tools()...); err != nil {
		return err
	}
	h.lane = lane.New()
	cfg := gate.Config{
		Catalog: catalog, Lane: h.lane, Sessions: sessions{h.all}, Requests: approval.NewMemory(), Sink: h.sink,
		Approver: approver, Stoppers: []gate.Stopper{stopper{SimArm, backend}}, Log: h.Log, Now: s.Now,
		Boot: bootClock(),
	}
	if s.Rehearse {
		cfg.Exemptions = []gate.Exemption{gate.RehearseExemption}
	}
	h.Gate, err = gate.New(cfg)
	return err
}

// stop is the control socket's stop: the gate's own.
func (h *Host) stop(ctx context.Context, kind gate.StopKind, reason string) []gate.StopVerdict {
	return h.Gate.Stop(ctx, kind, reason, "control", Operator).Verdicts
}

// serveMCP serves MCP over HTTP to one client, whose token lies in a file of mode
// 0600 and changes with each start.
func (h *Host) serveMCP() error {
	if h.setup.Listener == nil {
		return nil
	}
	token, err := mcp.NewToken(rand.Reader, Agent, h.setup.Session)
	if err != nil {
		return err
	}
	h.token = h.dir.Join("mcp.token")
	if err := os.Remove(h.token); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("mcp token: %w", err)
	}
	if err := mcp.SaveToken(h.token, token); err != nil {
		return err
	}
	tokens := &mcp.TokenTable{}
	if err := tokens.Add(token); err != nil {
		return err
	}
	h.mcp, err = mcp.New(mcp.Options{
		Caller: h.Gate, Tokens: tokens, Version: h.setup.Version, Logger: h.Log, Wait: h.setup.MCPWait,
		Instructions: instructions,
	})
	if err != nil {
		return err
	}
	ln := h.setup.Listener
	h.serving.Go(func() {
		if err := h.mcp.Serve(ln); err != nil {
			h.Log.Error("MCP over HTTP ended", "err", err)
		}
	})
	return nil
}

// instructions is what an MCP client may tell its model.
const instructions = "Tools of a robot arm. Tier-2 tools move or power it: each call is planned and rehearsed in a simulator, " +
	"then shown to a person, and only runs if approved. A refusal says why; do not repeat the same call. " +
	"stop and estop are always allowed and act at once. Units are SI: radians, metres, seconds."

// Endpoint returns where MCP is served and the file of its token; empty when it isn't.
func (h *Host) Endpoint() (url, tokenFile string) {
	if h.mcp == nil {
		return "", ""
	}
	return "http://" + h.setup.Listener.Addr().String() + mcp.Path, h.token
}

// Path returns the data folder.
func (h *Host) Path() string { return h.dir.Path() }

// EventsPath returns the file of the bridge's own session's events.
func (h *Host) EventsPath() string { return filepath.Clean(events.Path(h.dir.Path(), h.setup.Session)) }

// Moving reports whether the robot moves, whoever asked for it. A state that can't
// be read counts as moving.
func (h *Host) Moving() bool {
	st, err := h.backend.State(context.Background())
	return err != nil || st.Moving
}

// The bounds of an orderly end.
const (
	closeWait    = 20 * time.Second
	mcpCloseWait = 5 * time.Second
)

// Stop brings every backend to a controlled stop and waits until it is measured
// at rest or that can't be known. The reason is recorded.
func (h *Host) Stop(reason string) []gate.StopVerdict {
	return h.Gate.Stop(context.Background(), gate.StopControlled, reason, "bridge", Operator).Verdicts
}

// Close ends the bridge, in the order in which nothing is cut off. Whoever has
// made nothing move calls it alone; else Stop comes first. An error says what
// didn't end as it should, and doesn't keep the rest from ending.
func (h *Host) Close() error {
	h.Log.Info("bridge ends")
	return h.release()
}

// release ends whatever has been started; the robot is at rest or never moved.
func (h *Host) release() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	var errs []error
	if h.mcp != nil {
		mctx, mcancel := context.WithTimeout(ctx, mcpCloseWait)
		errs = append(errs, h.mcp.Shutdown(mctx))
		mcancel()
	}
	if h.setup.Listener != nil {
		if err := h.setup.Listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	h.serving.Wait()
	if h.control != nil {
		errs = append(errs, h.control.Close())
	}
	if h.Gate != nil {
		errs = append(errs, h.Gate.Close(ctx))
	}
	if h.lane != nil {
		errs = append(errs, h.lane.Close())
	}
	if h.backend != nil {
		errs = append(errs, h.backend.Close())
	}
	if h.token != "" {
		if err := os.Remove(h.token); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if h.sink != nil {
		errs = append(errs, h.sink.Emit(gate.Event{
			Type: "session", Time: h.setup.Now(), SessionID: h.setup.Session, Principal: Operator, Origin: "bridge",
			Mode: gate.ModeSim, Backend: SimArm, Text: h.describe("ended"),
		}))
	}
	if h.store != nil {
		errs = append(errs, h.store.Close())
	}
	if h.logFile != nil {
		errs = append(errs, h.logFile.Close())
	}
	if h.dir != nil {
		errs = append(errs, h.dir.Close())
	}
	return errors.Join(errs...)
}
