package sim

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/robot"
)

// Version names the physical model; it changes when the same motion gives other
// numbers.
const Version = "tau-sim/2"

// Clock says how simulated time relates to the wall clock. Results don't depend
// on it.
type Clock uint8

// The clocks. The zero value is neither.
const (
	// Real holds simulated time back to the wall clock.
	Real Clock = iota + 1
	// Fast runs flat out.
	Fast
)

// Noise is the standard deviation of white noise on what is measured.
type Noise struct {
	Position float64 // rad or m
	Velocity float64 // rad/s or m/s
}

// Options are what a simulated robot is made from.
type Options struct {
	Model *robot.Model
	Scene *robot.Scene // nil: nothing around the robot
	Clock Clock
	Seed  uint64
	// Start is where the robot stands, rad or m by active joint; nil: the model's
	// home pose. It may be outside of limits, where only a way back in is open.
	Start    []float64
	Noise    Noise
	Faults   []Fault
	Disabled bool // start with torque off; a simulated robot starts enabled
	// Unreferenced says of each active joint that it starts without knowing where
	// it is, as State has it; nil: all know. Only joints with a reference switch can.
	Unreferenced []bool
	// Gravity in the root frame, m/s²; nil: 9.80665 down along z.
	Gravity *mgl64.Vec3
	// Now stamps measurements; nil: time.Now.
	Now func() time.Time
}

// StaleAfter is how old a measurement may be, in motion time and, with the Real
// clock, on the wall, before State refuses to give it and a motion faults.
const StaleAfter = 100 * time.Millisecond

// Robot is a simulated robot. All methods may be called from any goroutine; none
// but Execute, Actuate and Stop blocks for longer than a step.
type Robot struct {
	opts    Options
	tree    *tree
	info    robot.Info
	assumed []string
	gravity vec3

	// Owned by whoever made r.run, else by the holder of mu; opts.Faults too.
	joints []int  // of opts.Faults
	used   []bool // of opts.Faults
	pl     *plant
	mon    *monitor
	fence  *fence // nil: the tip may go anywhere
	rng    *rand.Rand
	s      senses
	qs     []float64 // setpoints
	vs     []float64
	as     []float64
	// What limits a drive below its effort limit.
	weak   []float64 // factor by active joint
	gripAt float64   // the gripper joint's position in its grip
	gripTo float64   // effort limit of the gripper joint; 0: none but its own
	lose   []float64 // steps that the joints still have to lose, rad or m

	mu       sync.Mutex
	snap     robot.State // what the loop published last
	epoch    uint64
	enabled  bool
	estopped bool
	values   []float64 // of the actuators beside the joints, by Model.Actuators
	unref    []bool    // joints that don't know where they are
	closed   bool
	lost     bool // the link to the robot is down
	held     string
	heldPose *robot.Pose
	fault    *robot.Fault
	frozen   bool    // measurements aren't renewed
	age      float64 // motion time since the last one, s
	run      *run    // nil while nothing moves
	motions  int
	hooks    []hook
	// What Inject was given and the loop hasn't taken over yet.
	pending       []Fault
	pendingJoints []int
}

var _ robot.Backend = (*Robot)(nil)

// run is one Execute or Actuate in progress.
type run struct {
	done    chan struct{} // closed when the robot is at rest or that can't be known
	wake    chan struct{} // closed at each Stop and Close, then made anew; guarded by mu
	stop    bool          // guarded by mu, like what follows
	closing bool
	rest    bool    // measured at rest at the end
	stopped float64 // motion time from the first stop to the end, s
	at      float64 // motion time of the first stop, s
	hooks   sync.WaitGroup
}

// senses is what the robot's encoders say.
type senses struct {
	q, v   []float64
	offset []float64 // rad or m, by active joint
	frozen bool
	since  float64   // motion time since the last fresh measurement, s
	at     time.Time // of the last fresh measurement
}

// New returns a simulated robot at rest. It refuses, with an *robot.Error, models
// that can't be simulated, limits that aren't finite and positive, starts out of
// limits and faults about joints that there aren't.
func New(o Options) (*Robot, error) {
	t, err := newTree(o.Model)
	if err != nil {
		return nil, err
	}
	g := vec3{0, 0, -9.80665}
	if o.Gravity != nil {
		g = *o.Gravity
	}
	if !finite3(g) {
		return nil, robot.Errf(robot.CodeInvalidArgument, "gravity", "gravity must be finite")
	}
	params, assumed := driveParams(t, g)
	scene, err := liveScene(o.Scene)
	if err != nil {
		return nil, err
	}
	items, err := compileItems(t, scene)
	if err != nil {
		return nil, err
	}
	return assemble(o, t, params, append(append([]string(nil), t.assumed...), assumed...), scene, items, g)
}

// assemble makes a robot of compiled parts; items are those of scene.
func assemble(o Options, t *tree, params []jointParams, assumed []string, scene *robot.Scene, items []item, gravity vec3) (*Robot, error) {
	if o.Clock != Real && o.Clock != Fast {
		return nil, robot.Errf(robot.CodeInvalidArgument, "clock", "the clock must be real or fast")
	}
	for _, s := range [...]float64{o.Noise.Position, o.Noise.Velocity} {
		if !(s >= 0) || math.IsInf(s, 0) {
			return nil, robot.Errf(robot.CodeInvalidArgument, "noise", "noise must be finite and not negative")
		}
	}
	start := o.Start
	if start == nil {
		start = o.Model.Home
	}
	if err := checkStart(t, start); err != nil {
		return nil, err
	}
	if err := checkUnreferenced(t, o.Unreferenced); err != nil {
		return nil, err
	}
	joints, err := resolve(o.Faults, t)
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Faults = append([]Fault(nil), o.Faults...)
	n := t.n
	r := &Robot{
		opts: o, tree: t, assumed: assumed, gravity: gravity, joints: joints,
		pl:      newPlant(t, params, gravity, start),
		rng:     rand.New(rand.NewPCG(o.Seed, 0x7461752f73696d)),
		s:       senses{q: make([]float64, n), v: make([]float64, n), offset: make([]float64, n)},
		qs:      append([]float64(nil), start...),
		vs:      make([]float64, n),
		as:      make([]float64, n),
		enabled: !o.Disabled,
		used:    make([]bool, len(o.Faults)),
		weak:    make([]float64, n),
		lose:    make([]float64, n),
		unref:   make([]bool, n),
	}
	copy(r.unref, o.Unreferenced)
	for i := range r.weak {
		r.weak[i] = 1
	}
	for i := range o.Model.Actuators {
		r.values = append(r.values, o.Model.Actuators[i].Off)
	}
	r.mon = newMonitor(t, r.pl.d, scene, items)
	r.info = r.describe()
	if r.enabled {
		r.pl.settle()
	}
	r.sense(0)
	r.snap = robot.State{
		Positions: make([]float64, n), Velocities: make([]float64, n),
		Efforts: make([]float64, n), Setpoints: make([]float64, n),
	}
	r.publish(false)
	return r, nil
}

// checkStart refuses what is no position. One outside of a joint's limits is: an arm
// may stand there, and a motion may bring it back.
func checkStart(t *tree, q []float64) error {
	if len(q) != t.n {
		return robot.Errf(robot.CodeInvalidArgument, "start", "%d positions for %d joints", len(q), t.n)
	}
	for i, name := range t.model.JointNames() {
		if math.IsNaN(q[i]) || math.IsInf(q[i], 0) {
			return &robot.Error{Code: robot.CodeInvalidArgument, Where: name, Text: "the start isn't finite", Value: &robot.Quantity{Value: q[i]}}
		}
	}
	return nil
}

func unitOf(t *tree, i int) string { return t.model.Joints[t.model.Active[i]].Type.Unit() }

func (r *Robot) describe() robot.Info {
	m := r.opts.Model
	info := robot.Info{
		Robot: m.Name, Backend: "sim", Mode: robot.ModeSim,
		Joints:        m.JointNames(),
		Limits:        append([]robot.JointLimits(nil), m.Limits...),
		ControlPeriod: time.Millisecond,

		MeasuresPosition: true, MeasuresVelocity: true, MeasuresEffort: true,
	}
	for i, name := range info.Joints {
		a := robot.Actuator{Name: name, Kind: "joint", Unit: unitOf(r.tree, i), OnStop: "hold", OnLost: "hold"}
		if m.Gripper != nil && m.Gripper.Joint == i {
			a.Kind = "gripper"
		}
		if m.Limits[i].Bounded {
			a.Lower, a.Upper = m.Limits[i].Lower, m.Limits[i].Upper
		}
		info.Actuators = append(info.Actuators, a)
	}
	info.Actuators = append(info.Actuators, m.Actuators...)
	var scene [32]byte
	if r.opts.Scene != nil {
		scene = r.opts.Scene.Hash
	}
	h := sha256.New()
	// A hash can't fail to be written to, and these types can't fail to encode.
	faults, _ := json.Marshal(r.opts.Faults)
	fmt.Fprintf(h, "%s\n%x\n%x\n%d\n%s\n", Version, m.ModelHash, scene, r.opts.Seed, faults)
	if r.opts.Unreferenced != nil {
		fmt.Fprintf(h, "%t\n", r.opts.Unreferenced)
	}
	_ = binary.Write(h, binary.BigEndian, []float64{r.opts.Noise.Position, r.opts.Noise.Velocity, r.gravity[0], r.gravity[1], r.gravity[2]})
	h.Sum(info.Identity[:0])
	return info
}

// Info says what this robot is. An e-stop of it is a category 2 stop, latched:
// power stays on, as an arm without brakes would fall.
func (r *Robot) Info() robot.Info { return r.info.Clone() }

// Assumed lists what the simulation assumes about the robot rather than knows, a
// sentence each. The slice is the caller's.
func (r *Robot) Assumed() []string { return append([]string(nil), r.assumed...) }

// sense renews the measurement; since is the time since the one before, s.
func (r *Robot) sense(since float64) {
	if r.s.frozen {
		r.s.since += since
		return
	}
	for i := range r.s.q {
		r.s.q[i] = r.pl.q[i] + r.s.offset[i]
		r.s.v[i] = r.pl.v[i]
		if n := r.opts.Noise; n.Position > 0 || n.Velocity > 0 {
			r.s.q[i] += n.Position * r.rng.NormFloat64()
			r.s.v[i] += n.Velocity * r.rng.NormFloat64()
		}
	}
	r.s.since = 0
	r.s.at = r.opts.Now()
}

// publish makes the last measurement what State gives.
func (r *Robot) publish(moving bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.show(moving)
}

// show is publish with mu held.
func (r *Robot) show(moving bool) {
	copy(r.snap.Positions, r.s.q)
	copy(r.snap.Velocities, r.s.v)
	copy(r.snap.Efforts, r.pl.tau)
	copy(r.snap.Setpoints, r.qs)
	r.snap.MeasuredAt = r.s.at
	r.frozen, r.age = r.s.frozen, r.s.since
	r.snap.Moving = moving
}

// State returns the last measurement. While nothing moves simulated time stands
// still, so what is measured then is measured when it is asked for. It never
// blocks; ctx is not used.
func (r *Robot) State(context.Context) (robot.State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state()
}

// state is State with mu held.
func (r *Robot) state() (robot.State, error) {
	switch {
	case r.closed:
		return robot.State{}, robot.Errf(robot.CodeDisconnected, "sim", "the simulated robot is closed")
	case r.lost:
		return robot.State{}, robot.Errf(robot.CodeDisconnected, "sim", "the link to the robot is lost")
	}
	s := r.snap
	now := r.opts.Now()
	if r.run == nil && !r.frozen {
		s.MeasuredAt = now
	}
	age := now.Sub(s.MeasuredAt)
	if r.frozen && (r.run == nil || r.age > StaleAfter.Seconds()) || r.opts.Clock == Real && age > StaleAfter {
		return robot.State{}, robot.LimitErr(robot.CodeStaleState, "sim", age.Seconds(), StaleAfter.Seconds(), "s",
			"the robot's last measurement is too old")
	}
	return r.stamp(s).Clone(), nil
}

// stamp adds to a state what isn't measured; mu is held.
func (r *Robot) stamp(s robot.State) robot.State {
	s.Enabled, s.EStopped, s.StopEpoch = r.enabled, r.estopped, r.epoch
	s.Held, s.HeldPose = r.held, r.heldPose
	s.Actuators = r.actuatorStates()
	s.Unreferenced = nil
	if slices.Contains(r.unref, true) {
		s.Unreferenced = r.unref // State's caller gets a copy
	}
	s.Faults = nil
	if r.fault != nil {
		s.Faults = []robot.Fault{*r.fault}
	}
	return s
}
