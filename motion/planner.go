package motion

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/robot"
)

// Rehearser runs a motion in a fresh simulator from a measured state before
// anybody is asked. An error (a *robot.Error) refuses the motion. It must share
// no kinematics, collision or limit code with this package and be safe for
// concurrent use.
type Rehearser interface {
	Rehearse(ctx context.Context, from robot.State, m robot.Motion) (robot.Rehearsal, error)
}

// SceneRehearser is a Rehearser that can also run a motion in another scene than that
// which is there now: one that motions before it would leave (gate.Chained).
type SceneRehearser interface {
	Rehearser
	RehearseIn(ctx context.Context, scene *robot.Scene, from robot.State, m robot.Motion) (robot.Rehearsal, error)
}

// SagRehearser is a Rehearser that can also say what a robot does in a state whose torque
// is switched off.
type SagRehearser interface {
	Rehearser
	RehearseOff(ctx context.Context, from robot.State) (robot.Sag, error)
}

// Config is what a Planner needs. All of Arms, Now are required.
type Config struct {
	Arms map[string]Arm // by gate.Session.Backend
	Now  func() time.Time
	Seed uint64 // of every random choice that planning makes
	// Allow says which guarded zones are open and how fast may be moved, and to whom;
	// nil opens none and caps nothing.
	Allow Allowances
	// Workspace is what the tip of each arm has to stay in, in its root frame; nil: it
	// may go anywhere. What an arm's Rehearser holds it to is its own matter. A tip
	// that is outside may only come nearer.
	Workspace *Box
}

// The bounds of a plan and of a motion.
const (
	// PlanTTL is how long after planning a handle may be asked.
	PlanTTL = 120 * time.Second
	// maxPlans bounds the handles that are kept; the oldest goes first.
	maxPlans = 256
	// startToleranceRad and startToleranceM bound how far a joint may be from
	// the plan's start when it begins (G12).
	startToleranceRad = 0.02
	startToleranceM   = 0.002
	// deviationRad and deviationM bound |measured - setpoint| during a motion.
	deviationRad = 0.20
	deviationM   = 0.02
	// maxDuration bounds a motion: what can be rehearsed while somebody waits, and
	// what a person can watch. Slower is asked for in several motions.
	maxDuration = 300.0 // s
	// defaultSpeedScale is used where a call names none.
	defaultSpeedScale = 0.5
)

// Planner plans, rehearses and runs. It is safe for concurrent use.
type Planner struct {
	now  func() time.Time
	seed uint64
	arms map[string]*arm

	mu    sync.Mutex
	plans map[string]*plan
	order []string // ids in the order of planning
	count uint64
}

// New makes a Planner. It fails on an arm whose parts don't belong together.
func New(c Config) (*Planner, error) {
	if c.Now == nil || len(c.Arms) == 0 {
		return nil, robot.Errf(robot.CodeInvalidArgument, "motion.Config", "Now and at least one arm are required")
	}
	if c.Workspace != nil {
		if err := c.Workspace.Check(); err != nil {
			return nil, err
		}
	}
	if c.Allow == nil {
		c.Allow = closed{}
	}
	p := &Planner{now: c.Now, seed: c.Seed, arms: map[string]*arm{}, plans: map[string]*plan{}}
	for name, a := range c.Arms {
		if a.Model == nil || a.Backend == nil || a.Rehearser == nil {
			return nil, robot.Errf(robot.CodeInvalidArgument, "motion.Config.Arms."+name, "model, backend and rehearser are required")
		}
		info := a.Backend.Info()
		if err := sameJoints(a.Model.JointNames(), info.Joints); err != nil {
			return nil, robot.Errf(robot.CodeInvalidArgument, "motion.Config.Arms."+name, "%w", err)
		}
		tree, err := kinematics.New(a.Model.Description)
		if err != nil {
			return nil, err
		}
		own := &arm{Arm: a, name: name, info: info, tree: tree, allow: c.Allow}
		for i := range info.Joints {
			if info.IsOpenLoop(i) && own.openLoop == nil {
				own.openLoop = make([]bool, len(info.Joints))
			}
			if own.openLoop != nil {
				own.openLoop[i] = info.IsOpenLoop(i)
			}
		}
		if c.Workspace != nil {
			own.space = newWorkspace(a.Model, tree, *c.Workspace)
		}
		if _, err := own.pathsNow(); err != nil {
			return nil, err
		}
		p.arms[name] = own
	}
	return p, nil
}

func sameJoints(model, backend []string) error {
	if len(model) != len(backend) {
		return fmt.Errorf("the model has %d joints, the backend %d", len(model), len(backend))
	}
	for i := range model {
		if model[i] != backend[i] {
			return fmt.Errorf("joint %d is %q in the model and %q in the backend", i, model[i], backend[i])
		}
	}
	return nil
}

// armOf returns the robot that a call's session moves.
func (p *Planner) armOf(s gate.Session) (*arm, error) {
	a := p.arms[s.Backend]
	if a == nil {
		return nil, gate.Errf(gate.CodeDisconnected, "session "+s.Name, "no robot named %q is connected", s.Backend)
	}
	if gate.Mode(a.info.Mode) != s.Mode {
		return nil, gate.Errf(gate.CodeNotOptedIn, "session "+s.Name, "the session is %q, its robot is %q", s.Mode, a.info.Mode)
	}
	return a, nil
}

// rng returns a source that depends on the seed and on what is planned, so that
// the same question gets the same answer whatever was asked before it.
func (p *Planner) rng(qs ...[]float64) *rand.Rand {
	h := fnv.New64a()
	var b [8]byte
	for _, q := range qs {
		for _, v := range q {
			binary.BigEndian.PutUint64(b[:], math.Float64bits(v))
			h.Write(b[:]) // never fails
		}
	}
	return rand.New(rand.NewPCG(p.seed, h.Sum64()))
}
