package mcu

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// Version names what this driver does with a motion; it changes when the same motion
// leads to other frames.
const Version = "tau-mcu/1"

// Robot is a robot on a board with the project's firmware. All methods may be called
// from any goroutine. Info never blocks; State blocks for at most StaleAfter; the others
// say what they wait for.
type Robot struct {
	opts Options
	info robot.Info
	axes []axis
	// open says of each joint that nothing measures it; blind: of all.
	open  []bool
	blind bool

	cancel context.CancelFunc // of keep
	kept   chan struct{}      // closed when keep has ended
	portMu sync.Mutex
	portOf error // of closing the last port

	mu      sync.Mutex
	changed chan struct{} // closed at each change of what follows, then made anew
	link    *link         // nil while there is none
	why     error         // why there is none
	board   *board        // nil before Open has greeted it
	closed  bool

	status   wire.Status // the last one; the zero one before
	scratch  wire.Status
	feedback wire.Feedbacks
	heard    bool      // status is of this link and boot
	statusAt time.Time // of the board's clock, when status was made
	sensed   bool      // measured has something of this link and boot
	sensedAt time.Time
	valid    []bool // of the last feedback: it is within the joint's calibration
	measured *measured
	speeds   []float64
	stops    uint16 // the board's count

	epoch    uint64
	armed    bool // torque_on was the last that was said of it
	estopped bool
	faults   []robot.Fault // the first reason first
	seen     wire.Fault    // the board's, as far as it is latched here
	values   []float64     // of the actuators, by Model.Actuators
	unref    []bool        // by joint: the board doesn't know where it is
	told     []bool        // by joint: its setpoint is one of this boot
	declared []float64     // by joint, where a person said that it is in this boot, NaN: nowhere
	motions  uint16        // the last motion's number
	run      *run          // nil while nothing runs
	leg      *leg          // of run, on the board; nil while there is none
}

var _ robot.Backend = (*Robot)(nil)

// board is what is known of the board since it was greeted.
type board struct {
	hello    wire.HelloReply
	channels []wire.Channel
	spare    []wire.Configure // of the joints that the file doesn't name
	joint    []int            // by channel: the active joint, -1 for a spare one
}

// run is one Execute or Actuate in progress. Guarded by Robot.mu but for done.
type run struct {
	epoch   uint64
	stop    bool // a Stop came
	closing bool
	sent    *request      // the frame that does a command; nil: none was asked for
	done    chan struct{} // closed when it is over
}

// describe makes what Info says, once the board is known.
func (r *Robot) describe() {
	m, f := r.opts.Model, r.opts.Hardware
	i := robot.Info{
		Robot: m.Name, Backend: "mcu", Port: r.opts.Port, Mode: robot.ModeReal,
		Joints: m.JointNames(), ControlPeriod: time.Millisecond,
		MeasuresPosition: !r.blind, MeasuresVelocity: !r.blind,
		EStopPowersOff: f.EStopPowersOff, Calibration: f.Hash(), Watchdog: wire.Watchdog * time.Millisecond,
	}
	if slices.Contains(r.open, true) {
		i.OpenLoop = slices.Clone(r.open)
	}
	for k := range r.axes {
		a := &r.axes[k]
		i.Limits = append(i.Limits, a.limits)
		act := robot.Actuator{Name: a.hw.Name, Kind: "joint", Unit: a.unit, Lower: a.limits.Lower, Upper: a.limits.Upper, OnStop: "hold", OnLost: "hold"}
		if f.LostLinkPowersOff {
			act.OnLost = "off"
		}
		if m.Gripper != nil && m.Gripper.Joint == k {
			act.Kind = "gripper"
		}
		i.Actuators = append(i.Actuators, act)
	}
	i.Actuators = append(i.Actuators, m.Actuators...)
	h := sha256.New()
	hash := f.Hash()
	fmt.Fprintf(h, "%s\n%d\n%d\n%x\n%x\n", Version, wire.Version, r.board.hello.Firmware, hash, m.ModelHash)
	_ = binary.Write(h, binary.BigEndian, int64(r.opts.Baud)) // a hash can't fail to be written to
	h.Sum(i.Identity[:0])
	r.info = i
}

// Info says what this robot is. The slices are the caller's. Where it measures some
// joints only, OpenLoop names the others. The watchdog of the board, which stops what
// moves when the host is quiet for 200 ms, is the board's own.
func (r *Robot) Info() robot.Info { return r.info.Clone() }

// broadcast wakes all that wait for a change; Robot.mu is held.
func (r *Robot) broadcast() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// await waits until ok, which is called with Robot.mu held, says so. It returns the
// context's cause when that ends first. Robot.mu must not be held.
func (r *Robot) await(ctx context.Context, ok func() bool) error {
	for {
		r.mu.Lock()
		done, changed := ok(), r.changed
		r.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// awaitFor is await for at most that long.
func (r *Robot) awaitFor(ctx context.Context, d time.Duration, ok func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return r.await(ctx, ok) == nil
}

// State returns the last measurement, or, of joints that nothing measures, what the
// board has said last. One that is older than StaleAfter is waited for once more, for as
// long; then it is STALE_STATE. Velocities are the slope of the measured positions over
// the last 80 ms.
func (r *Robot) State(ctx context.Context) (robot.State, error) {
	r.fresh(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state()
}

// fresh waits for a report if the last one is old.
func (r *Robot) fresh(ctx context.Context) {
	r.awaitFor(ctx, StaleAfter, func() bool { return r.link == nil || r.closed || r.age() <= StaleAfter })
}

// age is how old what State says is; Robot.mu is held.
func (r *Robot) age() time.Duration {
	if !r.heard || !r.blind && !r.sensed {
		return math.MaxInt64
	}
	if r.blind {
		return time.Since(r.statusAt)
	}
	return max(time.Since(r.sensedAt), time.Since(r.statusAt))
}

// reachable says why there is nobody to talk to; Robot.mu is held.
func (r *Robot) reachable() error {
	switch {
	case r.closed:
		return robot.Errf(robot.CodeDisconnected, "mcu", "the robot is closed")
	case r.link == nil && r.why != nil:
		return robot.Errf(robot.CodeDisconnected, r.opts.Port, "the link to the board is lost: %w", r.why)
	case r.link == nil || !r.link.greeted:
		return robot.Errf(robot.CodeDisconnected, r.opts.Port, "the link to the board isn't there yet")
	}
	return nil
}

// state is State with Robot.mu held.
func (r *Robot) state() (robot.State, error) {
	if err := r.reachable(); err != nil {
		return robot.State{}, err
	}
	if age := r.age(); age > StaleAfter {
		return robot.State{}, robot.LimitErr(robot.CodeStaleState, "mcu", min(age, time.Hour).Seconds(), StaleAfter.Seconds(), "s", "the board's last report is too old")
	}
	for i, ok := range r.valid {
		if !ok {
			return robot.State{}, r.unmeasured(i)
		}
	}
	return r.snapshot(), nil
}

// unmeasured says of a joint that its feedback makes no sense.
func (r *Robot) unmeasured(i int) *robot.Error {
	a := &r.axes[i]
	if a.hw.Feedback != hardware.ADC {
		return robot.Errf(robot.CodeStaleState, a.hw.Name, "the board says nothing of where it is")
	}
	first, last := a.hw.Points[0].Counts, a.hw.Points[len(a.hw.Points)-1].Counts
	return robot.LimitErr(robot.CodeStaleState, a.hw.Name, float64(r.feedback.Values[a.hw.Channel]), last, "counts",
		fmt.Sprintf("its feedback isn't from %g to %g counts: a broken wire, or a calibration of another servo", math.Min(first, last), math.Max(first, last)))
}

// snapshot is the state as it was heard last, however old; Robot.mu is held.
func (r *Robot) snapshot() robot.State {
	n := len(r.axes)
	s := robot.State{
		Setpoints: make([]float64, n),
		Moving:    !r.status.State.AtRest(),
		Enabled:   r.enabled(), EStopped: r.estopped, StopEpoch: r.epoch,
		Faults: slices.Clone(r.faults),
	}
	s.Powered = r.status.Flags.Has(wire.FlagPowered) && !s.Enabled
	at := r.statusAt
	if q := r.measured.latest(); !r.blind && q != nil {
		s.Positions, s.Velocities = slices.Clone(q), slices.Clone(r.speeds)
		at = r.sensedAt
		s.Moving = s.Moving || r.moving()
	}
	s.MeasuredAt = r.opts.Now().Add(-time.Since(at))
	for i := range r.axes {
		s.Setpoints[i] = r.setpoint(i)
		declared := !r.told[i] && !math.IsNaN(r.declared[i])
		if r.unknown(i) {
			s.Unreferenced = flag(s.Unreferenced, n, i)
		}
		if declared && r.open[i] {
			s.Declared = flag(s.Declared, n, i)
		}
	}
	for i, v := range r.values {
		s.Actuators = append(s.Actuators, robot.ActuatorState{Name: r.opts.Model.Actuators[i].Name, Value: v})
	}
	return s
}

// flag sets a flag in a list that is nil while none is.
func flag(flags []bool, n, i int) []bool {
	if flags == nil {
		flags = make([]bool, n)
	}
	flags[i] = true
	return flags
}

// enabled reports whether motions are taken; Robot.mu is held.
func (r *Robot) enabled() bool { return r.armed && r.status.Flags.Has(wire.FlagEnabled) }

// setpoint is what a joint was told last, rad or m: NaN if it was told nothing in this
// boot and nobody has said where it is; Robot.mu is held.
func (r *Robot) setpoint(i int) float64 {
	switch ch := r.axes[i].hw.Channel; {
	case r.told[i] && ch < len(r.status.Setpoints):
		return r.axes[i].position(r.status.Setpoints[ch])
	case r.open[i]:
		return r.declared[i]
	}
	return math.NaN()
}

// unknown reports whether nobody knows where a joint is; Robot.mu is held.
func (r *Robot) unknown(i int) bool {
	if r.open[i] {
		return math.IsNaN(r.setpoint(i))
	}
	return r.unref[i]
}

// Declare says where the joints are, rad or m by active joint, NaN of one of which
// nothing is said: what a person sees who
// stands beside the robot. It counts for joints that nothing measures, until the board
// restarts or torque_on takes it as the setpoint. It is refused while the joints have
// power (BUSY: then the setpoint is known), and for places outside of the limits.
func (r *Robot) Declare(q []float64) error {
	if err := r.opts.Model.CheckPlace(q); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.reachable(); err != nil {
		return err
	}
	if r.run != nil || r.status.Flags.Has(wire.FlagPowered) {
		return robot.Errf(robot.CodeBusy, "mcu", "the joints have power, and hold what they were told")
	}
	return r.declare(q)
}

// declare is Declare with Robot.mu held.
func (r *Robot) declare(q []float64) error {
	for i := range r.axes {
		a := &r.axes[i]
		if !r.open[i] || math.IsNaN(q[i]) {
			continue
		}
		if in := math.Max(a.limits.Lower, math.Min(a.limits.Upper, q[i])); math.Abs(in-q[i]) > robot.PositionTolerance {
			return robot.LimitErr(robot.CodeJointLimit, a.hw.Name, q[i], in, a.unit, "the joint can't be powered there: move it by hand within its limits")
		}
	}
	for i := range r.axes {
		if r.open[i] && !math.IsNaN(q[i]) {
			r.declared[i], r.told[i] = q[i], false
		}
	}
	r.broadcast()
	return nil
}

// newRobot makes a robot without a board.
func newRobot(o Options) (*Robot, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	axes, err := newAxes(o.Model, o.Hardware)
	if err != nil {
		return nil, err
	}
	n := len(axes)
	r := &Robot{
		opts: o, axes: axes, open: make([]bool, n), blind: true,
		kept: make(chan struct{}), changed: make(chan struct{}),
		valid: make([]bool, n), speeds: make([]float64, n),
		unref: make([]bool, n), told: make([]bool, n), declared: make([]float64, n),
		values: make([]float64, len(o.Model.Actuators)),
	}
	smallest := make([]float64, n)
	for i := range axes {
		smallest[i] = axes[i].smallest
		r.open[i] = axes[i].hw.Feedback == hardware.None
		r.blind = r.blind && r.open[i]
		r.valid[i], r.declared[i] = true, math.NaN()
	}
	for i := range r.values {
		r.values[i] = o.Model.Actuators[i].Off
	}
	r.measured = newMeasured(smallest)
	return r, nil
}
