package motion

import (
	"context"
	"math"
	"sort"
	"sync"
	"time"

	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/motion/planning"
	"github.com/tau-robot/tau/robot"
)

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
	// Edit changes the scene of a simulated robot for scene_add and scene_remove;
	// nil: the scene can't be changed.
	Edit SceneEditor
	// Checker is the planner's own check of bodies, zones and workspace; nil means the
	// real one (motion/collision with its default margins). It exists so that a test
	// can show that the rehearsal alone refuses what the checker would have refused.
	Checker planning.Checker
}

// arm is an Arm with what is computed from it once.
type arm struct {
	Arm
	name string
	info robot.Info
	tree *kinematics.Tree

	openLoop []bool // by active joint: nothing measures it; nil: all are measured
	allow    Allowances
	space    *workspace // nil: the tip may go anywhere

	mu      sync.Mutex
	scene   *robot.Scene // what paths was made for
	paths   *paths
	latched *robot.Fault // a deviation that this package found, until estop_reset
	power   uint64       // how often torque was switched or a latch released: what was planned before is void
	edits   edits        // of the scene

	hashes sceneHashes

	editing sync.Mutex // held for a whole edit; before mu
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
		p, err := newPaths(a, scene, a.paths)
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

// repowered counts that torque was switched or a latch released, whatever came of it.
func (a *arm) repowered() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.power++
}

// powerNow is how often repowered was called.
func (a *arm) powerNow() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.power
}

// measure reads the robot as its backend says it is and insists on measured
// positions where the backend measures any.
func (a *arm) measure(ctx context.Context) (robot.State, error) {
	st, err := a.Backend.State(ctx)
	if err != nil {
		return st, err
	}
	if a.info.MeasuresPosition && len(st.Positions) != a.Model.DoF() {
		return st, robot.Errf(robot.CodeStaleState, a.name, "the backend reported %d positions for %d joints", len(st.Positions), a.Model.DoF())
	}
	return a.honest(st), nil
}

// state is measure with the deviation that this package has latched, if any.
func (a *arm) state(ctx context.Context) (robot.State, error) {
	st, err := a.measure(ctx)
	if err != nil {
		return st, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.latched != nil {
		st.Faults = append(st.Faults, *a.latched)
	}
	return st, nil
}

// startOf returns the configuration that a motion planned now starts from: each
// joint's held setpoint where the measured position is within tolerance of it, so
// that the command doesn't jump by the servo's droop, else the measured position. Of
// a joint that nothing measures it is the setpoint.
func (a *arm) startOf(st robot.State) []float64 {
	q := a.where(st)
	for i, tol := range a.startTolerance() {
		if i >= len(q) {
			break
		}
		if i < len(st.Setpoints) && math.Abs(st.Setpoints[i]-q[i]) <= tol {
			q[i] = st.Setpoints[i]
		}
		// What lag and noise put a hair outside a limit begins at the limit.
		if l := a.Model.Limits[i]; l.Bounded {
			if in := math.Min(math.Max(q[i], l.Lower), l.Upper); math.Abs(q[i]-in) <= tol {
				q[i] = in
			}
		}
	}
	return q
}

// isInside reports whether a configuration is within all limits of position.
func (a *arm) isInside(q []float64) bool {
	for i, l := range a.Model.Limits {
		if l.Bounded && !(q[i] >= l.Lower && q[i] <= l.Upper) {
			return false
		}
	}
	return true
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
	if err := a.noLatch(st.EStopped, st.Faults); err != nil {
		return err
	}
	switch {
	case !st.Enabled:
		return a.notEnabled(st)
	case st.Moving:
		return robot.Errf(robot.CodeBusy, a.name, "the robot is moving")
	}
	return nil
}

// notEnabled refuses a motion of a robot that takes none, and says what has to come
// before one.
func (a *arm) notEnabled(st robot.State) error {
	if names := a.untold(st); len(names) > 0 {
		return robot.Errf(robot.CodeNotEnabled, a.name, "torque is off, and %s; torque_on comes after that", a.untoldText(names))
	}
	if st.Powered {
		return robot.Errf(robot.CodeNotEnabled, a.name, "the joints hold, but motions aren't enabled since a latch was released, or since another program left them powered; torque_on first")
	}
	return robot.Errf(robot.CodeNotEnabled, a.name, "torque is off; torque_on first")
}

// noLatch refuses what needs a reset first.
func (a *arm) noLatch(estopped bool, faults []robot.Fault) error {
	if estopped {
		return robot.Errf(robot.CodeEStopped, a.name, "the e-stop is latched; estop_reset first")
	}
	if len(faults) > 0 {
		f := faults[0]
		return robot.Errf(f.Code, f.Where, "a fault is latched since %s: %s; estop_reset first", f.Since.Format(time.RFC3339), f.Text)
	}
	return nil
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
		if i < 0 || a.Model.Base.Carries(i) {
			return nil, a.notMovable("positions."+n, n)
		}
		q[i] = positions[n]
	}
	return q, nil
}

// notMovable says why a name isn't that of a joint that can be commanded.
func (a *arm) notMovable(where, name string) error {
	if j := a.Model.JointIndex(name); j >= 0 {
		jt := a.Model.Joints[j]
		if a.Model.Base.Carries(jt.Active) {
			return robot.Errf(robot.CodeInvalidArgument, where, "%q is moved by the wheels; use drive or move_pose", name)
		}
		if jt.Mimic != nil {
			return robot.Errf(robot.CodeInvalidArgument, where, "%q follows %q and can't be commanded by itself", name, a.Model.Joints[jt.Mimic.Joint].Name)
		}
		return robot.Errf(robot.CodeInvalidArgument, where, "%q is a fixed joint", name)
	}
	return robot.Errf(robot.CodeInvalidArgument, where, "%s has no joint %q; it has %v", a.Model.Name, name, a.Model.JointNames())
}
