package motion

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"sort"
	"sync"
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/motion/planning"
	"github.com/tau-robot/tau/robot"
)

// Rehearser runs a motion in a fresh simulator from a measured state before
// anybody is asked. An error (a *robot.Error) refuses the motion. It must share
// no kinematics, collision or limit code with this package and be safe for
// concurrent use.
type Rehearser interface {
	Rehearse(ctx context.Context, from robot.State, m robot.Motion) (robot.Rehearsal, error)
}

// Arm is one robot that the tools can move.
type Arm struct {
	Model *robot.Model
	Scene robot.Scene
	// SceneNow gives the scene as it is, for scenes that change (a body that the
	// gripper carried); nil: Scene. A change is a new pointer; what it points to
	// is never modified.
	SceneNow  func() *robot.Scene
	Backend   robot.Backend
	Rehearser Rehearser
	// Checker is the planner's own collision check; nil means the real one
	// (motion/collision) with its default margins. It exists so that a test can
	// show that the rehearsal alone refuses what the checker would have refused.
	Checker planning.Checker
}

// Config is what a Planner needs. All of Arms, Now are required.
type Config struct {
	Arms map[string]Arm // by gate.Session.Backend
	Now  func() time.Time
	Seed uint64 // of every random choice that planning makes
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

// arm is an Arm with what is computed from it once.
type arm struct {
	Arm
	name string
	info robot.Info
	tree *kinematics.Tree

	mu      sync.Mutex
	scene   *robot.Scene // what paths was made for
	paths   *paths
	latched *robot.Fault // a deviation that this package found, until estop_reset
}

// sceneNow returns the scene as it is.
func (a *arm) sceneNow() *robot.Scene {
	if a.SceneNow == nil {
		return &a.Scene
	}
	return a.SceneNow()
}

// pathsNow returns the path planner for the scene as it is, made once a scene.
func (a *arm) pathsNow() (*paths, error) {
	scene := a.sceneNow()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.paths == nil || a.scene != scene {
		p, err := newPaths(a.Arm, scene, a.tree)
		if err != nil {
			return nil, err
		}
		a.scene, a.paths = scene, p
	}
	return a.paths, nil
}

// latch keeps the first deviation; it ends with estop_reset.
func (a *arm) latch(e *robot.Error, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.latched == nil {
		a.latched = &robot.Fault{Code: e.Code, Where: e.Where, Text: e.Text, Since: at}
	}
}

func (a *arm) unlatch() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.latched = nil
}

// plan is a handle: single use, bound to session, principal and start state.
type plan struct {
	id        string
	session   string
	principal string
	expires   time.Time
	usedBy    string // id of the call that asked for it, "" while it is free
	action    *moveAction
}

// New makes a Planner. It fails on an arm whose parts don't belong together.
func New(c Config) (*Planner, error) {
	if c.Now == nil || len(c.Arms) == 0 {
		return nil, robot.Errf(robot.CodeInvalidArgument, "motion.Config", "Now and at least one arm are required")
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
		own := &arm{Arm: a, name: name, info: info, tree: tree}
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

// state reads the robot and insists on measured positions where the backend measures any.
func (a *arm) state(ctx context.Context) (robot.State, error) {
	st, err := a.Backend.State(ctx)
	if err != nil {
		return st, err
	}
	if a.info.MeasuresPosition && len(st.Positions) != a.Model.DoF() {
		return st, robot.Errf(robot.CodeStaleState, a.name, "the backend reported %d positions for %d joints", len(st.Positions), a.Model.DoF())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.latched != nil {
		st.Faults = append(st.Faults, *a.latched)
	}
	return st, nil
}

// where returns the best knowledge of the configuration: measured positions, or
// the setpoints of an open-loop backend.
func where(st robot.State) []float64 {
	if st.Positions != nil {
		return st.Positions
	}
	return st.Setpoints
}

// startOf returns the configuration that a motion planned now starts from: each
// joint's held setpoint where the measured position is within tolerance of it, so
// that the command doesn't jump by the servo's droop, else the measured position.
func (a *arm) startOf(st robot.State) []float64 {
	q := append([]float64(nil), where(st)...)
	for i, tol := range a.startTolerance() {
		if i < len(st.Setpoints) && math.Abs(st.Setpoints[i]-q[i]) <= tol {
			q[i] = st.Setpoints[i]
		}
	}
	return q
}

func (a *arm) perJoint(rad, m float64) []float64 {
	out := make([]float64, a.Model.DoF())
	for i, j := range a.Model.Active {
		out[i] = rad
		if a.Model.Joints[j].Type == robot.Prismatic {
			out[i] = m
		}
	}
	return out
}

func (a *arm) startTolerance() []float64 { return a.perJoint(startToleranceRad, startToleranceM) }
func (a *arm) maxDeviation() []float64   { return a.perJoint(deviationRad, deviationM) }

// unit returns the unit of active joint i.
func (a *arm) unit(i int) string { return a.Model.Joints[a.Model.Active[i]].Type.Unit() }

// canMove refuses what no plan can change: latches, torque, motion under way.
func (a *arm) canMove(st robot.State) error {
	switch {
	case st.EStopped:
		return robot.Errf(robot.CodeEStopped, a.name, "the e-stop is latched; estop_reset first")
	case len(st.Faults) > 0:
		f := st.Faults[0]
		return robot.Errf(f.Code, f.Where, "a fault is latched since %s: %s; estop_reset first", f.Since.Format(time.RFC3339), f.Text)
	case !st.Enabled:
		return robot.Errf(robot.CodeNotEnabled, a.name, "torque is off; torque_on first")
	case st.Moving:
		return robot.Errf(robot.CodeBusy, a.name, "the robot is moving")
	}
	return nil
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

// goal merges positions by name into the configuration from. Names are handled in
// sorted order, so that the first error doesn't depend on a map.
func (a *arm) goal(from []float64, positions map[string]float64) ([]float64, error) {
	names := make([]string, 0, len(positions))
	for n := range positions {
		names = append(names, n)
	}
	sort.Strings(names)
	q := append([]float64(nil), from...)
	for _, n := range names {
		i := a.Model.ActiveIndex(n)
		if i < 0 {
			return nil, a.notMovable(n)
		}
		q[i] = positions[n]
	}
	return q, nil
}

func (a *arm) notMovable(name string) error {
	where := "positions." + name
	if j := a.Model.JointIndex(name); j >= 0 {
		jt := a.Model.Joints[j]
		if jt.Mimic != nil {
			return robot.Errf(robot.CodeInvalidArgument, where, "%q follows %q and can't be commanded by itself", name, a.Model.Joints[jt.Mimic.Joint].Name)
		}
		return robot.Errf(robot.CodeInvalidArgument, where, "%q is a fixed joint", name)
	}
	return robot.Errf(robot.CodeInvalidArgument, where, "%s has no joint %q; it has %v", a.Model.Name, name, a.Model.JointNames())
}

// keep stores a plan and returns its handle.
func (p *Planner) keep(call gate.Call, act *moveAction) *plan {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	pl := &plan{
		id: fmt.Sprintf("plan-%d-%x", p.count, act.digest[:6]), session: call.Session.Name, principal: call.Principal,
		expires: p.now().Add(PlanTTL), action: act,
	}
	p.plans[pl.id] = pl
	p.order = append(p.order, pl.id)
	for len(p.order) > maxPlans {
		delete(p.plans, p.order[0])
		p.order = p.order[1:]
	}
	return pl
}

// lookup finds a plan of this call's session and principal; use also uses it up.
// The same call may use it again: the gate prepares a call anew when another
// robot's question came between.
func (p *Planner) lookup(call gate.Call, id string, use bool) (*moveAction, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pl := p.plans[id]
	if pl == nil || pl.session != call.Session.Name || pl.principal != call.Principal {
		return nil, robot.Errf(robot.CodePlanExpired, "plan_id", "no plan %q of this session; plan again", id)
	}
	if pl.usedBy != "" && pl.usedBy != call.ID {
		return nil, robot.Errf(robot.CodePlanUsed, "plan_id", "plan %q was used already; plan again", id)
	}
	if now := p.now(); !now.Before(pl.expires) {
		return nil, robot.Errf(robot.CodePlanExpired, "plan_id", "plan %q expired at %s, %.0f s after planning; plan again", id, pl.expires.Format(time.RFC3339), PlanTTL.Seconds())
	}
	if use {
		pl.usedBy = call.ID
	}
	return pl.action, nil
}
