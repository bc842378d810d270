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

// newPlanner makes the planner of a bridge's arms, by the names that sessions have for
// them.
func newPlanner(arms map[string]motion.Arm, seed uint64, now func() time.Time, within limits) (*motion.Planner, error) {
	return motion.New(motion.Config{Arms: arms, Now: now, Seed: seed, Allow: within.allow, Workspace: within.box()})
}

// simulatedArm is the simulated arm, with the simulator as its rehearsal. backend is
// what moves; it may be a wrapper of rob.
func simulatedArm(m *robot.Model, scene robot.Scene, rob *sim.Robot, backend robot.Backend, seed uint64, within limits) (motion.Arm, error) {
	world := &sceneNow{rob: rob}
	rehearser, err := sim.NewRehearser(m, &scene, seed, sim.RehearserOptions{Scene: world.get, Workspace: within.corners()})
	return motion.Arm{Model: m, Scene: scene, SceneNow: world.get, Backend: backend, Rehearser: rehearser, Edit: rob}, err
}

// realArm is the real arm, rehearsed by the same simulator. Its scene is the operator's:
// no tool changes it.
func realArm(m *robot.Model, scene robot.Scene, backend robot.Backend, seed uint64, within limits) (motion.Arm, error) {
	rehearser, err := sim.NewRehearser(m, &scene, seed, sim.RehearserOptions{Workspace: within.corners()})
	return motion.Arm{Model: m, Scene: scene, Backend: backend, Rehearser: rehearser}, err
}

// simulatedPlanner is a planner of the simulated arm alone.
func simulatedPlanner(m *robot.Model, scene robot.Scene, rob *sim.Robot, seed uint64) (*motion.Planner, error) {
	a, err := simulatedArm(m, scene, rob, rob, seed, limits{})
	if err != nil {
		return nil, err
	}
	return newPlanner(map[string]motion.Arm{SimArm: a}, seed, time.Now, limits{})
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

// gateError turns a *robot.Error into the gate's own with all that it says; any other
// error stays what it is.
func gateError(err error) error {
	var re *robot.Error
	if !errors.As(err, &re) {
		return err
	}
	return motion.GateError(err)
}
