package sim

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/robot"
)

// SamplePeriod is the period of a rehearsal's trace, s.
const SamplePeriod = 0.02

// RehearserOptions are what may differ from the defaults of a Rehearser.
type RehearserOptions struct {
	// Scene gives the scene as it is when a rehearsal begins, for scenes that
	// change; nil: the one that NewRehearser got. A scene isn't modified once
	// given; a change is a new pointer.
	Scene   func() *robot.Scene
	Gravity *mgl64.Vec3 // as in Options
	// Workspace is the box, by its lowest and its highest corner in the root frame, m,
	// that the tip has to stay in; nil: it may go anywhere. A tip that begins outside
	// may only get nearer.
	Workspace *[2]mgl64.Vec3
}

// Rehearser runs motions on fresh simulated robots. It is safe for concurrent use;
// each rehearsal is alone in its world. The same state and motion give the same
// record.
type Rehearser struct {
	tree    *tree
	params  []jointParams
	assumed []string
	gravity vec3
	seed    uint64
	opts    RehearserOptions
	fixed   *robot.Scene

	mu    sync.Mutex
	scene *robot.Scene // what items were made of
	items []item
}

// NewRehearser compiles a model and a scene (nil: empty). It refuses, at start-up
// and with an *robot.Error, what New would refuse.
func NewRehearser(m *robot.Model, scene *robot.Scene, seed uint64, o RehearserOptions) (*Rehearser, error) {
	t, err := newTree(m)
	if err != nil {
		return nil, err
	}
	h := &Rehearser{tree: t, gravity: vec3{0, 0, -9.80665}, seed: seed, opts: o, fixed: scene}
	if o.Gravity != nil {
		h.gravity = *o.Gravity
	}
	if !finite3(h.gravity) {
		return nil, robot.Errf(robot.CodeInvalidArgument, "gravity", "gravity must be finite")
	}
	if err := checkBox(o.Workspace); err != nil {
		return nil, err
	}
	params, assumed := driveParams(t, h.gravity)
	h.params, h.assumed = params, append(append([]string(nil), t.assumed...), assumed...)
	if _, _, err := h.world(); err != nil {
		return nil, err
	}
	return h, nil
}

// world returns the scene as it is now and its bodies, compiled once a scene.
func (h *Rehearser) world() (*robot.Scene, []item, error) {
	scene := h.fixed
	if h.opts.Scene != nil {
		scene = h.opts.Scene()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.items == nil || scene != h.scene {
		items, err := compileItems(h.tree, scene)
		if err != nil {
			return nil, nil, err
		}
		h.scene, h.items = scene, items
	}
	return scene, h.items, nil
}

// Rehearse runs a motion from a measured state on a fresh simulated robot, as
// fast as the machine can, and records what it did. The state's torque counts as
// on, its latches and epoch as clear: whether the real robot may move is for its
// backend to say. Where nothing is measured the setpoints stand in, and the record
// says so. A search for a switch is rehearsed from the farthest place that it can
// come from, since where its joint is isn't known, and so over all of its way.
//
// A motion that the simulated robot refuses or that faults is REHEARSAL_FAILED
// with the simulator's own *robot.Error as cause (Err), and its place, value and
// limit; the record then ends where the motion did. A ctx that ends gives
// CANCELLED.
func (h *Rehearser) Rehearse(ctx context.Context, s robot.State, m robot.Motion) (robot.Rehearsal, error) {
	scene, items, err := h.world()
	if err != nil {
		return robot.Rehearsal{}, failed(err)
	}
	return h.rehearse(ctx, scene, items, s, m)
}

// RehearseIn is Rehearse in another scene than that which is there now: one that
// motions before this one would leave. It isn't kept.
func (h *Rehearser) RehearseIn(ctx context.Context, scene *robot.Scene, s robot.State, m robot.Motion) (robot.Rehearsal, error) {
	now, items, err := h.world()
	if err == nil {
		items, err = h.itemsOf(scene, now, items)
	}
	if err != nil {
		return robot.Rehearsal{}, failed(err)
	}
	return h.rehearse(ctx, scene, items, s, m)
}

// itemsOf returns the items of a scene. Where it differs from one that is compiled
// only in where bodies are, these are moved and nothing is compiled.
func (h *Rehearser) itemsOf(scene, known *robot.Scene, items []item) ([]item, error) {
	if scene == nil || known == nil || len(scene.Bodies) != len(known.Bodies) || !slices.Equal(scene.Zones, known.Zones) {
		return compileItems(h.tree, scene)
	}
	out := slices.Clone(items)
	for i := range out {
		it := &out[i]
		if it.scene < 0 {
			continue
		}
		b, was := &scene.Bodies[it.scene], &known.Bodies[it.scene]
		if b.Name != was.Name || b.Geometry != was.Geometry {
			return compileItems(h.tree, scene)
		}
		f := frameOf(b.Pose)
		if !finite3(f.P) || math.IsNaN(f.R[0]) {
			return nil, robot.Errf(robot.CodeInvalidArgument, b.Name, "the pose isn't finite")
		}
		it.at, it.centre = f, f.apply(it.shape.centre)
	}
	return out, nil
}

func (h *Rehearser) rehearse(ctx context.Context, scene *robot.Scene, items []item, s robot.State, m robot.Motion) (robot.Rehearsal, error) {
	if scene == nil {
		scene = &robot.Scene{}
	}
	assumed := append([]string(nil), h.assumed...)
	start, standIns, err := startOf(s)
	if err != nil {
		return robot.Rehearsal{}, failed(err)
	}
	assumed = append(assumed, standIns...)
	start, count := farthest(h.tree, start, &m)
	r, err := assemble(Options{
		Model: h.tree.model, Clock: Fast, Seed: h.seed, Start: start, Unreferenced: s.Unreferenced,
	}, h.tree, h.params, h.assumed, scene, items, h.gravity)
	if err != nil {
		return robot.Rehearsal{}, failed(err)
	}
	if len(s.Setpoints) == h.tree.n {
		copy(r.qs, s.Setpoints)
	}
	if count != nil {
		r.recount(m.Seek.Joint, *count)
		assumed = append(assumed, "start of the search for the switch of "+r.info.Joints[m.Seek.Joint]+": the farthest that it gets from")
	}
	for _, name := range r.unknown() {
		if count == nil || name != r.info.Joints[m.Seek.Joint] {
			assumed = append(assumed, "position of "+name+": not referenced, taken to be what it counts")
		}
	}
	if s.Held != "" {
		if err := r.takeHeld(s); err != nil {
			return robot.Rehearsal{}, failed(err)
		}
		assumed = append(assumed, "mass of "+s.Held+": its bounding box at 500 kg/m³")
	}
	if h.opts.Workspace != nil {
		r.fence = newFence(r, h.opts.Workspace)
	}
	rec := newRecorder(r)
	m.Epoch = 0
	before := r.mon.scene
	out, err := r.execute(ctx, m, nil, rec)
	if s.Held != "" && r.held != s.Held {
		assumed = append(assumed, s.Held+": let go of, it stays where it was, in the air too")
	}
	record := rec.result(r, out)
	record.Seed, record.Assumed = h.seed, assumed
	record.Moved = moved(before, r.mon.scene)
	if err != nil {
		if robot.CodeOf(err) == robot.CodeCancelled {
			return record, err
		}
		return record, failed(err)
	}
	return record, nil
}

// startOf is where a robot in a state is taken to be: where it is measured, or at its
// setpoints where nothing is, of which it says so.
func startOf(s robot.State) (start []float64, assumed []string, err error) {
	switch {
	case s.Positions != nil:
		return s.Positions, nil, nil
	case s.Setpoints != nil:
		return s.Setpoints, []string{"start: not measured; the setpoints stand in"}, nil
	}
	return nil, nil, robot.Errf(robot.CodeStaleState, "state", "there is neither a measured position nor a setpoint to start from")
}

// moved returns the bodies that are elsewhere in a scene than they were.
func moved(was, is *robot.Scene) []robot.BodyPose {
	var out []robot.BodyPose
	for i := range is.Bodies {
		// Nothing is added or taken during a motion.
		if b := &is.Bodies[i]; b.Pose != was.Bodies[i].Pose {
			out = append(out, robot.BodyPose{Name: b.Name, Pose: b.Pose})
		}
	}
	return out
}

func failed(err error) error {
	e := &robot.Error{Code: robot.CodeRehearsalFailed, Text: "the rehearsal failed: " + err.Error(), Err: err}
	var cause *robot.Error
	if errors.As(err, &cause) {
		e.Where, e.Value, e.Limit, e.Nearest, e.Access = cause.Where, cause.Value, cause.Limit, cause.Nearest, cause.Access
		e.Text = "the rehearsal failed with " + string(cause.Code) + ": " + cause.Text
	}
	return e
}

// takeHeld seeds what the gripper holds.
func (r *Robot) takeHeld(s robot.State) error {
	if r.opts.Model.Gripper == nil {
		return robot.Errf(robot.CodeInvalidArgument, "state.held", "the robot has no gripper to hold %s with", s.Held)
	}
	if s.HeldPose == nil {
		return robot.Errf(robot.CodeStaleState, "state.held", "it isn't known where in the gripper %s is", s.Held)
	}
	for i := range r.mon.items {
		it := &r.mon.items[i]
		if it.scene < 0 || it.name != s.Held {
			continue
		}
		r.mon.pose(r.pl.q)
		tip := r.mon.d.linkFrame(r.opts.Model.Tip)
		rel := frameOf(*s.HeldPose)
		w := tip.mul(&rel)
		r.hold(i, &w, r.opts.Model.Gripper.MaxEffort)
		r.carry()
		return nil
	}
	return robot.Errf(robot.CodeInvalidArgument, "state.held", "the scene has no body %q", s.Held)
}

// recorder keeps what a rehearsal finds.
type recorder struct {
	speed, effort []float64
	tool          float64
	trace         [][]float64
	tipBody       int
	tip           vec3 // in its body
	every         int
}

func newRecorder(r *Robot) *recorder {
	c := &recorder{
		speed: make([]float64, r.tree.n), effort: make([]float64, r.tree.n),
		tipBody: r.tree.linkOf[r.opts.Model.Tip], tip: r.tree.place[r.opts.Model.Tip].P,
		every: int(math.Round(SamplePeriod / Step)),
	}
	c.trace = append(c.trace, append([]float64(nil), r.s.q...))
	return c
}

// step takes the step that the motion has just made. The tool's speed is that at
// the step's start, which the equation of motion was evaluated at.
func (c *recorder) step(x *motion) {
	r := x.r
	for i := range c.speed {
		c.speed[i] = math.Max(c.speed[i], math.Abs(r.s.v[i]))
		c.effort[i] = math.Max(c.effort[i], math.Abs(r.pl.tau[i]))
	}
	c.tool = math.Max(c.tool, r.pl.d.pointVelocity(c.tipBody, c.tip).Len())
	if x.tick%c.every == 0 {
		c.trace = append(c.trace, append([]float64(nil), r.s.q...))
	}
}

func (c *recorder) result(r *Robot, out robot.Outcome) robot.Rehearsal {
	rec := robot.Rehearsal{
		Simulator: Version, Duration: out.Duration, PeakToolSpeed: c.tool,
		Gripped: out.Gripped, SamplePeriod: SamplePeriod, Trace: c.trace, Held: out.Final.Held, HeldPose: out.Final.HeldPose,
	}
	for i, name := range r.info.Joints {
		j := robot.JointRehearsal{
			Joint: name, PeakVelocity: c.speed[i], VelocityLimit: r.info.Limits[i].Velocity,
			PeakEffort: c.effort[i], EffortLimit: r.info.Limits[i].Effort, End: r.s.q[i],
		}
		if out.MaxTrackingError != nil {
			j.MaxTrackingError = out.MaxTrackingError[i]
		}
		rec.Joints = append(rec.Joints, j)
	}
	if r.mon.some {
		best := r.mon.best
		rec.Clearance = &best
	}
	r.mon.pose(r.s.q)
	tip := r.mon.d.linkFrame(r.opts.Model.Tip)
	q := quatOf(&tip.R)
	rec.EndPosition = tip.P
	rec.EndOrientation = [4]float64{q.W, q.V[0], q.V[1], q.V[2]}
	return rec
}
