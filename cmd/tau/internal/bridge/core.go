package bridge

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/sim"
)

const (
	// SimArm names the simulated robot, as sessions and the planner do.
	SimArm = "sim"
	// Operator is the principal of the prompt, of scripts and of the command line.
	Operator = "operator"
	// Agent is the principal of the MCP client that the bridge makes a token for.
	Agent = "agent"
)

// newPlanner makes the planner of one simulated arm, with the simulator as its
// rehearsal. backend is what moves; it may be a wrapper of rob.
func newPlanner(m *robot.Model, scene robot.Scene, rob *sim.Robot, backend robot.Backend, seed uint64, now func() time.Time, within limits) (*motion.Planner, error) {
	world := &sceneNow{rob: rob}
	rehearser, err := sim.NewRehearser(m, &scene, seed, sim.RehearserOptions{Scene: world.get, Workspace: within.corners()})
	if err != nil {
		return nil, err
	}
	return motion.New(motion.Config{
		Arms: map[string]motion.Arm{SimArm: {Model: m, Scene: scene, SceneNow: world.get, Backend: backend, Rehearser: rehearser, Edit: rob}},
		Now:  now, Seed: seed, Allow: within.allow, Workspace: within.box(),
	})
}

// sceneNow gives the rehearsal the scene as it is when it begins: a body that the
// gripper has carried lies where it was let go of, and one that was added is
// there. The pointer changes only with the scene, so that the rehearser compiles
// it once.
type sceneNow struct {
	rob *sim.Robot

	mu   sync.Mutex
	last *robot.Scene
}

func (w *sceneNow) get() *robot.Scene {
	now := w.rob.Scene()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil || w.last.Hash != now.Hash {
		w.last = &now
	}
	return w.last
}

// stopper is one backend's stop as the gate sees it.
type stopper struct {
	name    string
	backend robot.Backend
}

var _ gate.Stopper = stopper{}

func (s stopper) Name() string { return s.name }

func (s stopper) Stop(ctx context.Context, kind gate.StopKind) gate.StopVerdict {
	v := s.backend.Stop(ctx, robot.StopKind(kind))
	return gate.StopVerdict{
		Backend: v.Backend, Commanded: string(v.Commanded), Acknowledged: string(v.Acknowledged),
		Stationary: string(v.Stationary), Text: v.Text, DurationS: v.Duration,
	}
}

// sessions are robot.Sessions as the gate sees them.
type sessions struct{ all *robot.Sessions }

var _ gate.Sessions = sessions{}

// Session looks a session up from live state. With no real robot in this bridge a
// session that holds an opt-in has nothing to move, and says so.
func (s sessions) Session(name string) (gate.Session, error) {
	got, ok := s.all.Get(name)
	switch {
	case !ok:
		return gate.Session{}, gate.Errf(gate.CodeInvalidArgument, "session", "there is no session %q", name)
	case got.Mode != robot.ModeSim:
		return gate.Session{}, gate.Errf(gate.CodeDisconnected, "session", "no real robot is connected to session %q", name)
	}
	return gate.Session{Name: name, Mode: gate.ModeSim, Backend: SimArm}, nil
}

// gateError turns a *robot.Error into the gate's own with all that it says; any other
// error stays what it is.
func gateError(err error) error {
	var re *robot.Error
	if !errors.As(err, &re) {
		return err
	}
	return motion.GateError(err)
}
