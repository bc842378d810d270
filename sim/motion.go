package sim

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/tau-robot/tau/robot"
)

// When a motion is over and when it has gone wrong.
const (
	restSpeed     = 5e-3 // rad/s below which a joint counts as at rest
	restSpeedM    = 2e-3 // m/s
	arrived       = 1e-3 // rad from the setpoint at which there is nothing to wait for
	arrivedM      = 5e-4 // m
	restTime      = 0.03 // s at rest and arrived
	patience      = 0.3  // s at rest without arriving
	settleTimeout = 3.0  // s after the setpoint has come to rest
	// settleTolerance is how far from its setpoint, rad, a joint may end for the
	// motion to count as done; settleToleranceM for sliding joints, m.
	settleTolerance  = 0.01
	settleToleranceM = 2e-3
	// saturationTime is how long a drive may give all it may, s.
	saturationTime = 0.5
	progressPeriod = 20 // steps
	release        = 2e-3
	noiseBand      = 5.0 // standard deviations of noise that don't count as motion
	maxLag         = 50 * time.Millisecond
)

// ending is why a motion ends before its trajectory does.
type ending uint8

const (
	toItsEnd ending = iota
	byStop
	byCancel
	byClose
	byFault
	byGrip
	bySwitch
)

// motion is one Execute: what is to be done and what was found. It is owned by
// Execute's goroutine.
type motion struct {
	r    *Robot
	run  *run
	m    *robot.Motion
	path robot.Trajectory
	cur  *robot.Cursor // of path; nil: hold the setpoint
	t0   float64       // motion time at which cur starts, s
	end  float64       // motion time at which cur is at rest, s
	t    float64       // motion time, s
	tick int
	why  ending
	err  *robot.Error
	rec  *recorder
	max  []float64 // tracking errors

	still, good, settled int // steps at rest; at rest and arrived; since the setpoint is
	saturated            []int
	active               []activeFault
	returned             bool // a search has gone back to its switch
	// outer is by how much each joint has always been outside of its limits so far,
	// above 0 beyond the upper one, below 0 beyond the lower one; nil: none is.
	outer []float64
	own   bool // cur is the simulator's own: a brake or the way back to a switch
}

// Execute runs a motion in simulated time. See robot.Backend; it takes the whole
// of it and adds nothing.
func (r *Robot) Execute(ctx context.Context, m robot.Motion, progress func(robot.Progress)) (robot.Outcome, error) {
	return r.execute(ctx, m, progress, nil)
}

func refused(err error) (robot.Outcome, error) {
	return robot.Outcome{Status: robot.OutcomeRefused}, err
}

func (r *Robot) execute(ctx context.Context, m robot.Motion, progress func(robot.Progress), rec *recorder) (robot.Outcome, error) {
	if err := r.admissible(&m); err != nil {
		return refused(err)
	}
	if err := context.Cause(ctx); err != nil {
		return refused(robot.Errf(robot.CodeCancelled, m.ID, "cancelled before it began: %w", err))
	}
	run, err := r.begin(m.Epoch, func() error {
		if !r.enabled {
			return robot.Errf(robot.CodeNotEnabled, "sim", "torque is off")
		}
		if err := r.referenced(&m); err != nil {
			return err
		}
		if err := r.guarded(m.Zones); err != nil {
			return err
		}
		return r.atStart(&m)
	})
	if err != nil {
		return refused(err)
	}
	x := &motion{
		r: r, run: run, m: &m, rec: rec,
		path: m.Trajectory, cur: robot.NewCursor(m.Trajectory), end: m.Trajectory.Duration(),
		max: make([]float64, r.tree.n), saturated: make([]int, r.tree.n),
	}
	ended := false
	defer func() {
		if !ended { // progress panicked: nobody may wait for this run for ever
			x.hold()
			x.leave()
			r.latch(robot.Errf(robot.CodeInternal, "sim", "whoever followed the motion panicked"))
			r.publish(false)
			r.finish(run)
		}
	}()
	x.loop(ctx, progress)
	out, err := x.outcome(progress)
	ended = true
	return out, err
}

// admissible is everything about a motion that needs no look at the robot.
func (r *Robot) admissible(m *robot.Motion) error {
	if err := m.Validate(r.info.Joints, r.info.Limits); err != nil {
		return err
	}
	if m.Grip != nil && r.opts.Model.Gripper == nil {
		return robot.Errf(robot.CodeNotSupported, "grip", "the robot has no gripper")
	}
	if m.Seek != nil {
		if err := r.admissibleSeek(m.Seek); err != nil {
			return err
		}
	}
	return r.rolls(m)
}

// atStart compares the measured position with a trajectory's start; mu is held.
func (r *Robot) atStart(m *robot.Motion) error {
	for i, q := range m.Trajectory.Segments[0].Q {
		if d := math.Abs(r.snap.Positions[i] - q); !(d <= m.StartTolerance[i]) {
			return &robot.Error{
				Code: robot.CodeStartMoved, Where: r.info.Joints[i], Text: "the joint isn't where the motion starts",
				Value: &robot.Quantity{Name: "difference", Value: d, Unit: unitOf(r.tree, i)},
				Limit: &robot.Quantity{Value: m.StartTolerance[i], Unit: unitOf(r.tree, i)},
			}
		}
	}
	return nil
}

// begin takes the robot for one run, or says why it can't be had. The epoch is
// compared under the lock under which a Stop raises it: whatever stops from here
// on finds the run and ends it.
func (r *Robot) begin(epoch uint64, more func() error) (*run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.admit(epoch); err != nil {
		return nil, err
	}
	if err := more(); err != nil {
		return nil, err
	}
	r.run = &run{done: make(chan struct{}), wake: make(chan struct{})}
	return r.run, nil
}

// admit says why nothing may be actuated now; mu is held.
func (r *Robot) admit(epoch uint64) error {
	switch {
	case r.closed, r.lost:
		_, err := r.state()
		return err
	case r.run != nil:
		return robot.Errf(robot.CodeBusy, "sim", "another motion or command is running")
	case r.estopped:
		return robot.Errf(robot.CodeEStopped, "sim", "the e-stop is latched; only estop_reset clears it")
	case epoch != r.epoch:
		return robot.Errf(robot.CodeStopped, "sim", "prepared in stop epoch %d, it is %d now: a stop came between", epoch, r.epoch)
	case r.fault != nil:
		return robot.Errf(r.fault.Code, r.fault.Where, "a fault is latched until estop_reset: %s", r.fault.Text)
	}
	_, err := r.state()
	return err
}

// finish gives the robot back; the run's waiters go on once mu is free.
func (r *Robot) finish(x *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keepScene()
	r.run = nil
	close(x.done)
}

// loop runs the motion until the robot is at rest.
func (x *motion) loop(ctx context.Context, progress func(robot.Progress)) {
	r := x.r
	r.mu.Lock()
	r.motions++
	number := r.motions
	r.mu.Unlock()
	r.mon.grip = x.m.Grip != nil
	r.mon.some = false
	r.mon.letIn(x.m.Zones)
	r.mon.refresh(r.pl.q, 0)
	x.startOutside()
	if r.fence != nil {
		r.fence.start(r.pl.q)
	}
	x.startGrip()
	pace := newPacer(r.opts.Clock)
	defer pace.stop()
	for {
		r.fireHooks(x)
		x.events(ctx)
		if x.tick == 0 && x.why != toItsEnd && x.why != byGrip {
			r.publish(false)
			x.run.rest = true
			return // nothing has been actuated
		}
		x.inject(number)
		x.target()
		if !x.step() || x.over() {
			return
		}
		if progress != nil && x.tick%progressPeriod == 0 {
			x.report(progress)
		}
		if !r.isClosing(x.run) {
			pace.wait(x.tick)
		}
	}
}

// events looks for what ends the motion from outside.
func (x *motion) events(ctx context.Context) {
	x.r.mu.Lock()
	stop, closing := x.run.stop, x.run.closing
	if stop && x.run.at == 0 {
		x.run.at = x.t
	}
	x.r.mu.Unlock()
	if x.why != toItsEnd && x.why != bySwitch {
		return
	}
	switch {
	case closing:
		x.brake(byClose)
	case stop:
		x.brake(byStop)
	case ctx.Err() != nil:
		x.err = robot.Errf(robot.CodeCancelled, x.m.ID, "cancelled: %w", context.Cause(ctx))
		x.brake(byCancel)
	}
}

// brake replaces the rest of the trajectory by a controlled stop.
func (x *motion) brake(why ending) {
	x.why = why
	if x.tick == 0 {
		return
	}
	x.follow(x.braking())
}

// braking is a controlled stop from the setpoint on.
func (x *motion) braking() robot.Trajectory {
	r := x.r
	if b := r.tree.model.Base; b != nil {
		return x.rollingBrake(b)
	}
	// Along the path that was approved, where there is a way.
	if b, ok := x.brakeAlongPath(); ok {
		return b
	}
	if b, ok := robot.BrakeAlongLine(r.info.Joints, r.qs, r.vs, r.as, r.info.Limits); ok {
		return b
	}
	return robot.BrakeTrajectory(r.info.Joints, r.qs, r.vs, r.as, r.info.Limits)
}

// brakeAlongPath is a controlled stop on the trajectory that is followed now, if the
// setpoint is on it: a jaw that has closed on something isn't.
func (x *motion) brakeAlongPath() (robot.Trajectory, bool) {
	r := x.r
	if x.cur == nil {
		return robot.Trajectory{}, false
	}
	q := make([]float64, len(r.qs))
	x.path.Sample(x.t-x.t0, q, nil, nil)
	for i := range q {
		if !(math.Abs(q[i]-r.qs[i]) <= robot.PositionTolerance) {
			return robot.Trajectory{}, false
		}
	}
	return robot.BrakeAlongPath(x.path, x.t-x.t0, r.info.Limits)
}

// follow makes b the trajectory from now on.
func (x *motion) follow(b robot.Trajectory) {
	x.path = b
	x.cur, x.t0, x.end, x.own = robot.NewCursor(b), x.t, x.t+b.Duration(), true
	x.still, x.good, x.settled = 0, 0, 0
}

// hold stops the setpoint dead: every joint where it is measured, or where its
// setpoint is if nothing is measured.
func (x *motion) hold() {
	r := x.r
	if !r.s.frozen {
		for i := range r.qs {
			r.qs[i] = r.s.q[i]
		}
	}
	clear(r.vs)
	clear(r.as)
	x.cur, x.end = nil, x.t
	x.still, x.good, x.settled = 0, 0, 0
}

// fail latches a fault, the robot's first one, and ends the motion.
func (x *motion) fail(err *robot.Error, touching bool) {
	if x.err == nil || x.why != byFault {
		x.err = err
	}
	x.r.latch(err)
	if x.why == byFault {
		return
	}
	if touching {
		x.why = byFault
		x.hold()
		return
	}
	x.brake(byFault)
}

func (r *Robot) latch(err *robot.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault == nil {
		r.fault = &robot.Fault{Code: err.Code, Where: err.Where, Text: err.Said(), Since: r.opts.Now()}
	}
	// A fault stops the robot as a stop does, and nothing could be set until it is reset.
	r.switchOff(onStop)
}

// target sets the setpoint for the end of the step that comes.
func (x *motion) target() {
	r := x.r
	if x.cur != nil {
		x.sample(x.t + Step - x.t0)
	}
	r.releaseGrip(x.t)
}

// step moves the world on by one step and judges what is measured then.
func (x *motion) step() bool {
	r := x.r
	ok := r.pl.step(r.qs, r.vs, true)
	x.tick++
	x.t = float64(x.tick) * Step
	if !ok {
		r.sense(Step)
		x.fail(robot.Errf(robot.CodeUnknownOutcome, "sim", "the simulation diverged at %.3f s", x.t), true)
		r.publish(false)
		return false
	}
	r.slip()
	r.sense(Step)
	x.seek()
	if c := r.mon.advance(r.pl.q, r.pl.dq, x.t); c != nil {
		x.touch(c)
	}
	if r.fence != nil {
		if e := r.fence.advance(r.pl.q, r.pl.dq, x.t); e != nil {
			x.failOnce(func() *robot.Error { return e })
		}
	}
	x.watch()
	if x.rec != nil {
		x.rec.step(x)
	}
	r.publish(true)
	return true
}

// touch decides what a contact means.
func (x *motion) touch(c *contact) {
	if x.why == byGrip || x.why == byFault {
		return
	}
	if x.m.Grip != nil && x.r.grip(c, x.m.Grip.MaxEffort, x.t) {
		x.gripped()
		return
	}
	what := "touches"
	if c.code == robot.CodeZoneNotGranted {
		what = "enters the guarded zone"
	}
	if c.code == robot.CodeContact {
		x.r.meet(true)
	}
	err := robot.LimitErr(c.code, c.a.name, c.dist, 0, "m", fmt.Sprintf("%s %s %s at %.3f s", c.a.name, what, c.b.name, x.t))
	if c.b.zone {
		err.Access = "zone:" + c.b.name
	}
	x.fail(err, c.code == robot.CodeContact)
}

// watch compares what is measured with what it should be.
func (x *motion) watch() {
	r := x.r
	if r.s.frozen {
		if r.s.since > StaleAfter.Seconds() {
			x.failOnce(func() *robot.Error {
				return robot.LimitErr(robot.CodeStaleState, "sim", r.s.since, StaleAfter.Seconds(), "s", "the measurements have stopped")
			})
		}
		return
	}
	for i := range r.s.q {
		off := math.Abs(r.s.q[i] - r.qs[i])
		x.max[i] = math.Max(x.max[i], off)
		name, unit := r.info.Joints[i], unitOf(r.tree, i)
		if off > x.m.MaxDeviation[i] {
			x.failOnce(func() *robot.Error {
				return robot.LimitErr(robot.CodeDeviation, name, off, x.m.MaxDeviation[i], unit,
					fmt.Sprintf("%s is off its setpoint at %.3f s", name, x.t))
			})
		}
		if limit, ok := x.within(i); !ok {
			x.failOnce(func() *robot.Error {
				return robot.LimitErr(robot.CodeJointLimit, name, r.s.q[i], limit, unit,
					fmt.Sprintf("%s is measured out of its limits at %.3f s", name, x.t))
			})
		}
		x.saturation(i, name)
	}
}

func (x *motion) saturation(i int, name string) {
	r := x.r
	if !r.pl.sat[i] || r.gripping(i, x.m) {
		x.saturated[i] = 0
		return
	}
	x.saturated[i]++
	if float64(x.saturated[i])*Step > saturationTime {
		x.failOnce(func() *robot.Error {
			e := robot.LimitErr(robot.CodeTorqueLimit, name, math.Abs(r.pl.tau[i]), r.pl.effort[i], "N·m",
				fmt.Sprintf("%s has been at its effort limit for %.2f s at %.3f s", name, saturationTime, x.t))
			if unitOf(r.tree, i) == "m" {
				e.Value.Unit, e.Limit.Unit = "N", "N"
			}
			return e
		})
	}
}

// failOnce makes the error only where it is the motion's first fault.
func (x *motion) failOnce(err func() *robot.Error) {
	if x.why != byFault {
		x.fail(err(), false)
	}
}

// tolerance is how far from where it should be joint i may be at rest.
func (r *Robot) tolerance(i int) float64 {
	if unitOf(r.tree, i) == "m" {
		return settleToleranceM + noiseBand*r.opts.Noise.Position
	}
	return settleTolerance + noiseBand*r.opts.Noise.Position
}
