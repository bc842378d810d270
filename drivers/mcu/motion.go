package mcu

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tau-robot/tau/drivers/mcu/stream"
	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

const (
	// switchRoom is the largest distance, rad, between a switch and the joint's limit
	// behind it for which a search may begin with the switch closed; switchRoomM for
	// sliding joints, m.
	switchRoom  = 0.02
	switchRoomM = 5e-3
)

func refused(err error) (robot.Outcome, error) {
	return robot.Outcome{Status: robot.OutcomeRefused}, err
}

// Execute streams exactly the pieces of the motion's trajectory to the board. See
// robot.Backend; it takes the whole of it. A motion that starts within StartTolerance of
// where the robot is but not at the setpoints is led there first, gently. A search ends
// where its brake has brought it from where its switch closed, known to be there. After a DEVIATION the setpoints go to where
// the joints are measured, if that is as near as the fault explains, so that nothing
// presses on; measured farther away, they stay. Grips are NOT_SUPPORTED: nothing measures
// an effort. It blocks until the robot is at rest, and for at most 15 s after its end
// was asked for.
func (r *Robot) Execute(ctx context.Context, m robot.Motion, progress func(robot.Progress)) (robot.Outcome, error) {
	if err := r.admissible(&m); err != nil {
		return refused(err)
	}
	if err := context.Cause(ctx); err != nil {
		return refused(robot.Errf(robot.CodeCancelled, m.ID, "cancelled before it began: %w", err))
	}
	r.fresh(ctx)
	r.awaitFor(ctx, heedWithin, func() bool { return r.link == nil || r.heeded() })
	run, x, l, err := r.beginMotion(&m)
	if run != nil {
		defer r.finish(run)
	}
	if err != nil {
		return refused(err)
	}
	r.follow(ctx, l, x, m.ID, progress)
	first := x
	if next := r.after(&m, x); next != nil {
		r.follow(ctx, l, next, m.ID, progress)
		x = next
	}
	return r.outcome(&m, first, x, progress)
}

// admissible is everything about a motion that needs no look at the robot.
func (r *Robot) admissible(m *robot.Motion) error {
	if err := m.Validate(r.info.Joints, r.info.Limits); err != nil {
		return err
	}
	if m.Grip != nil {
		return robot.Errf(robot.CodeNotSupported, "grip", "nothing measures an effort: a grip would only be a hope")
	}
	s := m.Seek
	if s == nil {
		return nil
	}
	a, ref := &r.axes[s.Joint], r.opts.Model.Reference(s.Joint)
	switch name := a.hw.Name; {
	case ref == nil:
		return robot.Errf(robot.CodeNotSupported, name, "%s has no reference switch", name)
	case s.Direction != ref.Direction:
		return robot.Errf(robot.CodeInvalidArgument, "seek.direction", "the switch of %s is in the direction %+g, not %+g", name, ref.Direction, s.Direction)
	case s.Switch != ref.Switch:
		return robot.LimitErr(robot.CodeInvalidArgument, "seek.switch", s.Switch, ref.Switch, a.unit, "the switch of "+name+" is elsewhere")
	case s.Speed > ref.Speed:
		return robot.LimitErr(robot.CodeSpeedLimit, name, s.Speed, ref.Speed, a.unit+"/s", "the search is faster than this joint's may be")
	case s.Travel > ref.Travel:
		return robot.LimitErr(robot.CodeInvalidArgument, "seek.travel", s.Travel, ref.Travel, a.unit, "the search is longer than that of "+name+" may be")
	}
	return nil
}

// admit says why nothing may be actuated now; Robot.mu is held.
func (r *Robot) admit(epoch uint64) error {
	if err := r.reachable(); err != nil {
		return err
	}
	switch {
	case r.run != nil:
		return robot.Errf(robot.CodeBusy, "mcu", "another motion or command is running")
	case r.estopped:
		return robot.Errf(robot.CodeEStopped, "mcu", "the e-stop is latched; only estop_reset clears it")
	case epoch != r.epoch:
		return robot.Errf(robot.CodeStopped, "mcu", "prepared in stop epoch %d, it is %d now: a stop came between", epoch, r.epoch)
	case len(r.faults) > 0:
		f := &r.faults[0]
		return robot.Errf(f.Code, f.Where, "a fault is latched until estop_reset: %s", f.Text)
	}
	_, err := r.state()
	return err
}

// begin takes the robot for one run; Robot.mu is held.
func (r *Robot) begin(epoch uint64) *run {
	r.run = &run{epoch: epoch, done: make(chan struct{})}
	return r.run
}

// finish gives the robot back.
func (r *Robot) finish(x *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run == x {
		r.run, r.leg = nil, nil
	}
	close(x.done)
	r.broadcast()
}

// beginMotion holds a motion against the robot as it is, takes the robot for it, and
// plans what the board is sent; the run is the caller's to finish, also with an error.
func (r *Robot) beginMotion(m *robot.Motion) (*run, *leg, *link, error) {
	r.mu.Lock()
	if err := r.mayMove(m); err != nil {
		r.mu.Unlock()
		return nil, nil, nil, err
	}
	x, l := r.begin(m.Epoch), r.link
	axes, start := r.streamed(), slices.Clone(r.status.Setpoints)
	if m.Seek != nil && r.axes[m.Seek.Joint].hw.Feedback == hardware.Steps {
		a := &axes[r.axes[m.Seek.Joint].hw.Channel]
		a.Limits = a.Limits.Unreferenced() // as the board has it from BEGIN on
	}
	rate, shortest := r.rate(), r.shortest()
	path := r.aligned(m.Trajectory)
	r.mu.Unlock()

	// What the setpoints are off the start by, which mayMove has bounded, is made good
	// on a gentle way there.
	most := make([]float64, len(r.axes))
	for i := range most {
		most[i] = m.StartTolerance[i] + m.MaxDeviation[i]
	}
	o := stream.Options{Start: start, StartTolerance: most, MaxRate: rate, MinTicks: shortest}
	plan, err := stream.New(path, axes, o)
	if robot.CodeOf(err) == robot.CodeJointLimit { // it leads to the limit itself
		plan, err = stream.New(m.Trajectory, axes, o)
	}
	if err != nil {
		return x, nil, nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.link != l:
		return x, nil, nil, robot.Errf(robot.CodeDisconnected, r.opts.Port, "the link to the board was lost before it began")
	case x.stop || x.closing || r.epoch != m.Epoch:
		return x, nil, nil, robot.Errf(robot.CodeStopped, m.ID, "a stop came before it began")
	case !r.enabled():
		return x, nil, nil, robot.Errf(robot.CodeNotEnabled, "mcu", "torque is off")
	case !slices.Equal(start, r.status.Setpoints):
		return x, nil, nil, robot.Errf(robot.CodeStartMoved, "mcu", "the setpoints moved while the motion was planned")
	}
	out := r.newLeg(m.Epoch, plan)
	out.bounds = m.MaxDeviation
	if m.Seek != nil {
		out.seek = m.Seek.Joint
	}
	return x, out, l, nil
}

// aligned is a trajectory whose joints begin where they are held, as far as that is no
// farther away than their feedback can tell apart: those that stay where they are, and
// those that count steps, whose count is known to a step and whose setpoint lies between
// two. They would else go a fraction of a step first, onto a switch that they stand at.
// Robot.mu is held.
func (r *Robot) aligned(t robot.Trajectory) robot.Trajectory {
	var out []robot.Segment
	for i := range r.axes {
		by := r.setpoint(i) - t.Segments[0].Q[i]
		if by == 0 || !(math.Abs(by) <= r.axes[i].smallest) || r.axes[i].hw.Feedback != hardware.Steps && !stays(t, i) {
			continue
		}
		if out == nil {
			out = slices.Clone(t.Segments)
			for k := range out {
				out[k].Q = slices.Clone(out[k].Q)
			}
		}
		for k := range out {
			out[k].Q[i] += by
		}
	}
	if out == nil {
		return t
	}
	return robot.Trajectory{Joints: t.Joints, Segments: out}
}

// stays reports whether a joint stays where it is throughout a trajectory.
func stays(t robot.Trajectory, i int) bool {
	for k := range t.Segments {
		s := &t.Segments[k]
		if s.Q[i] != t.Segments[0].Q[i] || s.V[i] != 0 || s.A[i] != 0 || s.J[i] != 0 {
			return false
		}
	}
	return true
}

// mayMove says why a motion may not begin now; Robot.mu is held.
func (r *Robot) mayMove(m *robot.Motion) error {
	if err := r.admit(m.Epoch); err != nil {
		return err
	}
	if !r.enabled() {
		return robot.Errf(robot.CodeNotEnabled, "mcu", "torque is off")
	}
	if !r.heeded() {
		return robot.Errf(robot.CodeLinkTimeout, "mcu", "the board hasn't answered the last stop yet")
	}
	if err := r.referenced(m); err != nil {
		return err
	}
	return r.atStart(m)
}

// referenced refuses a motion while it isn't known where the joints are; Robot.mu is held.
func (r *Robot) referenced(m *robot.Motion) error {
	if m.Seek == nil {
		var names []string
		for i := range r.axes {
			if r.unknown(i) {
				names = append(names, r.axes[i].hw.Name)
			}
		}
		if names == nil {
			return nil
		}
		return robot.Errf(robot.CodeNotCalibrated, names[0], "it isn't known where %s is until the reference switch is found, or a person says it", strings.Join(names, ", "))
	}
	a := &r.axes[m.Seek.Joint]
	input := r.board.channels[a.hw.Channel].Switch
	if r.status.Inputs&(1<<input) == 0 {
		return nil
	}
	room, behind := switchRoom, m.Seek.Switch-a.limits.Lower
	if a.unit == "m" {
		room = switchRoomM
	}
	if m.Seek.Direction > 0 {
		behind = a.limits.Upper - m.Seek.Switch
	}
	if behind <= room {
		return nil
	}
	return robot.LimitErr(robot.CodeNotCalibrated, a.hw.Name, behind, room, a.unit,
		"the switch of "+a.hw.Name+" is closed already, and so much lies behind it that this doesn't say where the joint is; move it off the switch by hand")
}

// atStart compares where the robot is with a trajectory's start: measured, or, of a
// joint that nothing measures, its setpoint; Robot.mu is held.
func (r *Robot) atStart(m *robot.Motion) error {
	for i, q := range m.Trajectory.Segments[0].Q {
		a := &r.axes[i]
		at, text := r.setpoint(i), "the joint's setpoint isn't where the motion starts"
		if !r.open[i] {
			at, text = r.measured.latest()[i], "the joint isn't where the motion starts"
		}
		if d := math.Abs(at - q); !(d <= m.StartTolerance[i]) {
			return &robot.Error{
				Code: robot.CodeStartMoved, Where: a.hw.Name, Text: text,
				Value: &robot.Quantity{Name: "difference", Value: d, Unit: a.unit},
				Limit: &robot.Quantity{Value: m.StartTolerance[i], Unit: a.unit},
			}
		}
		if d, most := math.Abs(r.setpoint(i)-q), m.StartTolerance[i]+m.MaxDeviation[i]; !(d <= most) {
			return &robot.Error{
				Code: robot.CodeStartMoved, Where: a.hw.Name, Text: "the joint is held elsewhere than where the motion starts",
				Value: &robot.Quantity{Name: "difference", Value: d, Unit: a.unit},
				Limit: &robot.Quantity{Value: most, Unit: a.unit},
			}
		}
	}
	return nil
}

// newLeg makes the leg that the board goes next; Robot.mu is held.
func (r *Robot) newLeg(epoch uint64, plan *stream.Plan) *leg {
	if r.motions++; r.motions == 0 || r.motions == r.status.Motion {
		r.motions++ // 0 is no motion, and the board's last one may be another host's
	}
	x := &leg{
		r: r, id: r.motions, epoch: epoch, stops: r.stops, seek: -1, plan: plan,
		max: make([]float64, len(r.axes)), outside: make([]bool, len(r.axes)),
		done: make(chan struct{}),
	}
	for i := range x.max {
		x.max[i], x.outside[i] = math.NaN(), true
	}
	r.leg = x
	return x
}

// follow has a leg begun and waits for its end, calling progress on the way.
func (r *Robot) follow(ctx context.Context, l *link, x *leg, id string, progress func(robot.Progress)) {
	started := make(chan struct{})
	go func() {
		defer close(started)
		r.start(l, x)
	}()
	defer func() {
		r.mu.Lock()
		if !x.over { // progress panicked: nobody follows what moves any more
			x.fail(robot.Errf(robot.CodeInternal, "mcu", "whoever followed the motion panicked"))
		}
		r.mu.Unlock()
		<-x.done
		<-started
	}()
	ended := ctx.Done()
	for {
		r.mu.Lock()
		reports, over, changed := x.reports, x.over, r.changed
		x.reports = nil
		r.mu.Unlock()
		for i := range reports {
			if progress != nil {
				progress(reports[i])
			}
		}
		if over && len(reports) == 0 {
			return
		}
		if over {
			continue
		}
		select {
		case <-changed:
		case <-ended:
			ended = nil
			r.mu.Lock()
			x.end(byCancel, robot.Errf(robot.CodeCancelled, id, "cancelled: %w", context.Cause(ctx)))
			if x.why == byCancel && x.going && r.link == l {
				r.queueStop(l, wire.StopControlled)
			}
			r.mu.Unlock()
		}
	}
}

// start begins a leg on the board: BEGIN, as many pieces as it takes ahead, GO.
func (r *Robot) start(l *link, x *leg) {
	wanted := func() bool { return !x.over && x.why == toItsEnd }
	seek := byte(wire.NoSeek)
	if x.seek >= 0 {
		seek = byte(r.axes[x.seek].hw.Channel)
	}
	begin := command(wire.TypeBegin, wire.Begin{Motion: x.id, Stops: x.stops, Seek: seek})
	begin.bound, begin.epoch, begin.still = true, x.epoch, wanted
	begin.picked = func() {
		x.begun = true
		if x.seek >= 0 && r.axes[x.seek].hw.Feedback == hardware.Steps {
			r.unref[x.seek] = true
		}
	}
	begin.acked = func() { x.flows = true }
	if !r.said(l, x, begin) {
		return
	}
	over := false
	_ = r.await(context.Background(), func() bool { over = x.over; return x.primed || x.over })
	if over {
		return
	}
	goes := command(wire.TypeGo, wire.Go{Motion: x.id})
	goes.bound, goes.epoch, goes.still, goes.once = true, x.epoch, wanted, true
	goes.picked = func() { x.going, x.wentAt = true, time.Now() }
	r.said(l, x, goes)
}

// said has a frame of a leg written, and ends the leg where it isn't carried out.
func (r *Robot) said(l *link, x *leg, q *request) bool {
	err := r.ask(l, q)
	if err == nil {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := asError(err)
	switch {
	case x.over, x.moved: // the answer was lost, and STATUS has given it
	case q.code != wire.CodeOK && q.code != wire.CodeBadSequence: // which may be said of its echo
		x.begun, x.going = false, false // it was refused: nothing moves
		x.end(byFault, e)
		x.finish(true) // or it was to be ended already
	case x.going:
		x.fail(e)
	default:
		x.end(byFault, e)
	}
	return false
}
