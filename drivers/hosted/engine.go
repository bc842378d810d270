package hosted

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// Engine is a robot whose hardware is a Body. All methods may be called from any
// goroutine. Info never blocks; State blocks for at most the age that it bounds
// (StaleAfter); the others say what they wait for. A driver embeds it, or hands it out:
// it is a robot.Backend and more.
type Engine struct {
	opts   Options
	traits Traits
	info   robot.Info
	joints []joint
	limits []robot.JointLimits
	blind  bool          // nothing measures any joint
	stale  time.Duration // see StaleAfter

	life    context.Context // ends when nothing is waited for any more
	cancel  context.CancelFunc
	closing chan struct{} // closed by Close
	kept    chan struct{} // closed when the loop has ended
	gone    chan struct{} // closed when Close has done all it can
	wake    chan struct{} // there are orders for the loop
	guard   guard

	// The loop's own.
	sample    Sample
	next      []float64 // the setpoint that is written next
	broken    error     // why the link has to be given up
	begunAt   time.Time // when it was begun to write the last setpoint
	wroteAt   time.Time // when the hardware had it: a period before the next one is due
	readAt    time.Time // when the last Read began
	sinceRead int       // periods
	recent    recent

	mu       sync.Mutex
	changed  chan struct{} // closed at a change of what follows, if somebody waits for one
	waiters  int
	link     context.Context // of the present link; nil: there is none
	unlink   context.CancelFunc
	ready    bool  // the link has been greeted, and the robot answers
	why      error // why there is none
	closed   bool
	failures []error // of Disconnect, and of letting go
	cur      view
	speeds   []float64 // by the slope of positions, which is what rest is judged by
	history  *history
	heardAt  []time.Time // by joint, of its last answer
	misses   []int       // reads in a row that found nothing of a joint
	missed   []error     // why
	lost     []bool      // by joint: it answers, and says nothing of where it is
	astray   []int       // reads in a row that found another setpoint in it
	theirs   []float64   // the setpoint that they found
	powered  []bool
	told     []bool    // by joint: its setpoint is a commanded one of this power-up
	movedAt  time.Time // when something was measured to move last
	readings uint64    // reads that were published
	armed    bool      // torque_on was the last that was said of it
	estopped bool
	cut      bool // the power is to be taken away once nothing moves
	cutTries int
	epoch    uint64
	faults   []robot.Fault // the first reason first
	gripping bool          // the gripper presses on something
	gripSet  float64       // where its setpoint is while it does
	values   []float64     // of the actuators
	gauges   []float64     // the same as measured, NaN where not
	offs     []bool        // actuators that are to be set to off
	stops    []*stopping
	run      *run // nil while nothing runs
	leg      *leg // of run; nil: none
	job      *job // of run, for the loop to take
}

var _ robot.Backend = (*Engine)(nil)

// joint is what is known of an active joint for good.
type joint struct {
	name, unit string
	limits     robot.JointLimits
	open       bool    // nothing measures it
	smallest   float64 // what of its position can be told apart, rad or m
}

// view is what a State says that changes with each read or write. Slices are by active
// joint.
type view struct {
	set, pos, vel, eff []float64
	at                 time.Time // of the oldest answer among the joints
	t                  float64   // s, of a report: the motion's time
	moving             bool
	enabled, powered   bool
}

// run is one Execute or Actuate in progress. Guarded by Engine.mu but for done.
type run struct {
	stop    bool // a Stop came
	closing bool
	done    chan struct{} // closed when it is over
}

// job is what the loop does once for an Actuate.
type job struct {
	do    func() error
	acted bool // the hardware was told something
	err   error
	done  chan struct{}
}

// newEngine makes an engine without a link.
func newEngine(o Options) (*Engine, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	n := o.Model.DoF()
	e := &Engine{
		opts: o, traits: o.Traits, blind: true, joints: make([]joint, n),
		stale:   max(StaleAfter, 4*o.Traits.reading()),
		closing: make(chan struct{}), kept: make(chan struct{}), gone: make(chan struct{}), wake: make(chan struct{}, 1), changed: make(chan struct{}),
		next: make([]float64, n), speeds: make([]float64, n),
		heardAt: make([]time.Time, n), misses: make([]int, n), missed: make([]error, n), lost: make([]bool, n), astray: make([]int, n), theirs: make([]float64, n),
		powered: make([]bool, n), told: make([]bool, n),
		values: make([]float64, len(o.Model.Actuators)), gauges: make([]float64, len(o.Model.Actuators)), offs: make([]bool, len(o.Model.Actuators)),
	}
	e.traits.Measured = slices.Clone(o.Traits.Measured)
	limits := o.Hardware.Limits(o.Model)
	smallest := make([]float64, n)
	for i := range e.joints {
		h := &o.Hardware.Joints[i]
		j := &e.joints[i]
		*j = joint{name: h.Name, unit: o.Model.Joints[o.Model.Active[i]].Type.Unit(), limits: limits[i].Tighter(o.Model.Limits[i]), open: !e.traits.Measured[i], smallest: resolution(h)}
		if err := j.limits.Validate(h.Name); err != nil {
			return nil, err
		}
		if !j.limits.Bounded || j.limits.Velocity == 0 {
			return nil, robot.Errf(robot.CodeInvalidArgument, h.Name, "the joint has no limits of position or speed, and hardware without limits of its own needs both")
		}
		e.limits = append(e.limits, j.limits)
		smallest[i] = j.smallest
		e.blind = e.blind && j.open
	}
	for i := range e.values {
		e.values[i], e.gauges[i] = o.Model.Actuators[i].Off, math.NaN()
	}
	e.cur.make(n)
	e.history = newHistory(smallest, e.traits.reading())
	e.recent = newRecent(n, int(e.traits.Lag/e.traits.Period)+4)
	e.life, e.cancel = context.WithCancel(context.Background())
	e.guard.init(e)
	e.describe()
	return e, nil
}

// make makes the slices of a view, which knows nothing.
func (v *view) make(n int) {
	flat := make([]float64, 4*n)
	for i := range flat {
		flat[i] = math.NaN()
	}
	v.set, v.pos, v.vel, v.eff = flat[:n:n], flat[n:2*n:2*n], flat[2*n:3*n:3*n], flat[3*n:]
}

// copy overwrites a view by another one, slices and all.
func (v *view) copy(from *view) {
	set, pos, vel, eff := v.set, v.pos, v.vel, v.eff
	*v = *from
	v.set, v.pos, v.vel, v.eff = set, pos, vel, eff
	copy(v.set, from.set)
	copy(v.pos, from.pos)
	copy(v.vel, from.vel)
	copy(v.eff, from.eff)
}

// resolution is what of a joint's position its feedback can tell apart, rad or m.
func resolution(h *hardware.Joint) float64 {
	switch h.Feedback {
	case hardware.Encoder, hardware.Steps:
		return 1 / h.Scale
	case hardware.ADC:
		first, last := h.Points[0], h.Points[len(h.Points)-1]
		return math.Abs((last.Position - first.Position) / (last.Counts - first.Counts))
	}
	return 0
}

// describe makes what Info says.
func (e *Engine) describe() {
	m, f, t := e.opts.Model, e.opts.Hardware, &e.traits
	i := robot.Info{
		Robot: m.Name, Backend: t.Backend, Port: t.Device, Mode: robot.ModeReal,
		Joints: m.JointNames(), Limits: slices.Clone(e.limits), ControlPeriod: t.Period,
		MeasuresPosition: !e.blind, MeasuresVelocity: !e.blind, MeasuresEffort: t.Effort && !e.blind,
		EStopPowersOff: f.EStopPowersOff, Calibration: f.Hash(), Watchdog: t.Watchdog,
	}
	if slices.Contains(t.Measured, false) {
		i.OpenLoop = make([]bool, len(e.joints))
		for k := range e.joints {
			i.OpenLoop[k] = e.joints[k].open
		}
	}
	for k := range e.joints {
		j := &e.joints[k]
		// A joint whose host is gone stays where it was told last: nothing here has a
		// watchdog that takes its power away.
		act := robot.Actuator{Name: j.name, Kind: "joint", Unit: j.unit, Lower: j.limits.Lower, Upper: j.limits.Upper, OnStop: "hold", OnLost: "hold"}
		if m.Gripper != nil && m.Gripper.Joint == k {
			act.Kind = "gripper"
		}
		i.Actuators = append(i.Actuators, act)
	}
	i.Actuators = append(i.Actuators, m.Actuators...)
	h := sha256.New() // which can't fail to be written to
	fmt.Fprintf(h, "%s\n%q\n%q\n%d\n%d\n%x\n%x\n", Version, t.Backend, t.Version, t.Period, t.ReadEvery, i.Calibration, m.ModelHash)
	h.Sum(i.Identity[:0])
	e.info = i
}

// Info says what this robot is. The slices are the caller's.
func (e *Engine) Info() robot.Info { return e.info.Clone() }

// broadcast wakes all that wait for a change; Engine.mu is held. It costs nothing where
// nobody waits.
func (e *Engine) broadcast() {
	if e.waiters > 0 {
		close(e.changed)
		e.changed = make(chan struct{})
	}
}

// await waits until ok, which is called with Engine.mu held, says so. It returns the
// context's cause when that ends first. Engine.mu must not be held.
func (e *Engine) await(ctx context.Context, ok func() bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for !ok() {
		e.waiters++
		changed := e.changed
		e.mu.Unlock()
		var err error
		select {
		case <-changed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		e.mu.Lock()
		e.waiters--
		if err != nil {
			return err
		}
	}
	return nil
}

// awaitFor is await for at most that long.
func (e *Engine) awaitFor(ctx context.Context, d time.Duration, ok func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return e.await(ctx, ok) == nil
}

// signal wakes the one that waits on a channel with room for one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
