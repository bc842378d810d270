package mcu

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/tau-robot/tau/drivers/mcu/stream"
	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
)

const (
	// plausible is for how long, s, a joint may have moved at its largest speed between
	// two looks at its following error: one that is measured farther off is a broken
	// feedback rather than a joint.
	plausible = 0.05
	// knowWithin is how long it may take until the board has said again where it is.
	knowWithin = 500 * time.Millisecond
)

// after does what has to follow a leg that is over: a joint that has found its switch is
// told where it is, and joints that don't follow get another leg, to where they are.
func (r *Robot) after(m *robot.Motion, x *leg) *leg {
	r.mu.Lock()
	l, why, rest, err := r.link, x.why, x.rest, x.err
	wanted := l != nil && x.going && rest && r.epoch == x.epoch && !r.run.stop && !r.run.closing
	r.mu.Unlock()
	switch {
	case !wanted:
		return nil
	case m.Seek != nil:
		r.afterSearch(m, l, x, why)
	case why == byFault && err.Code == robot.CodeDeviation:
		return r.relax(m, x)
	}
	return nil
}

// afterSearch tells the board where the place is at which the switch closed.
func (r *Robot) afterSearch(m *robot.Motion, l *link, x *leg, why ending) {
	a := &r.axes[m.Seek.Joint]
	if why != bySwitch {
		_ = r.learn(l) // whether the joint still knows where it is; if it can't be asked, the link says so itself
		return
	}
	q := command(wire.TypeReference, wire.Reference{Channel: byte(a.hw.Channel), Q: a.wire(m.Seek.Switch)})
	q.bound, q.epoch = true, x.epoch
	q.acked = func() {
		// What was counted means something else from now on.
		r.heard, r.sensed = false, false
		r.measured.forget()
	}
	err := r.ask(l, q)
	if err == nil {
		err = r.learn(l)
	}
	known := r.awaitFor(context.Background(), knowWithin, func() bool { return r.heard && (r.blind || r.sensed) })
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil && !known:
		err = robot.Errf(robot.CodeStaleState, "mcu", "the board doesn't say where %s is", a.hw.Name)
	case err == nil && r.unref[m.Seek.Joint]:
		err = robot.Errf(robot.CodeNotCalibrated, a.hw.Name, "the board doesn't take it for found")
	}
	if err != nil {
		x.why, x.err = byFault, asError(err)
		r.latch(x.err)
	}
}

// relax returns the way of the setpoints to where the joints are measured after a
// following error, nil where there is none to go, or where what is measured is farther
// away than the error explains.
func (r *Robot) relax(m *robot.Motion, x *leg) *leg {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.measured.latest()
	if x.offAt == nil || q == nil || !r.heeded() || r.estopped || !r.status.Flags.Has(wire.FlagEnabled) || r.status.Fault != wire.FaultNone {
		return nil
	}
	from := r.setpoints()
	to := slices.Clone(from)
	for i := range r.axes {
		a := &r.axes[i]
		if r.open[i] || !(r.off(i) > a.tolerance()) {
			continue
		}
		if x.offAt[i] > m.MaxDeviation[i]+a.limits.Velocity*plausible || r.off(i) > x.offAt[i]+math.Abs(from[i]-x.heldAt[i])+a.tolerance() {
			return nil
		}
		to[i] = math.Max(a.limits.Lower, math.Min(a.limits.Upper, q[i]))
	}
	if slices.Equal(from, to) {
		return nil
	}
	way, err := r.wayTo(to, r.streamed())
	if err != nil {
		return nil
	}
	return r.newLeg(x.epoch, way)
}

// wayTo is a gentle way from the setpoints to a place: the one to the start of a motion
// that stays there; Robot.mu is held.
func (r *Robot) wayTo(to []float64, axes []stream.Axis) (*stream.Plan, error) {
	far := make([]float64, len(to))
	for i := range far {
		far[i] = math.Inf(1)
	}
	return stream.New(robot.Hold(r.info.Joints, to), axes, stream.Options{Start: slices.Clone(r.status.Setpoints), StartTolerance: far, MaxRate: r.rate(), MinTicks: r.shortest()})
}

// setpoints is what each joint was told last; Robot.mu is held.
func (r *Robot) setpoints() []float64 {
	out := make([]float64, len(r.axes))
	for i := range out {
		out[i] = r.setpoint(i)
	}
	return out
}

// asError is an error as one of ours.
func asError(err error) *robot.Error {
	if e, ok := err.(*robot.Error); ok { //nolint:errorlint // a wrapped one keeps its text
		return e
	}
	return robot.Errf(robot.CodeOf(err), "mcu", "%w", err)
}

// outcome says how a motion ended: its own leg, and the one that followed it.
func (r *Robot) outcome(m *robot.Motion, first, last *leg, progress func(robot.Progress)) (robot.Outcome, error) {
	r.mu.Lock()
	why, err := first.why, first.err
	if last.unsure {
		why, err = last.why, last.err
	}
	out := robot.Outcome{Status: robot.OutcomeDone, Final: last.final, Duration: first.duration()}
	if !last.unsure && r.link != nil {
		out.Final = r.snapshot()
		out.Final.Moving = out.Final.Moving || !last.rest
	}
	if !r.blind {
		out.MaxTrackingError = first.max
	}
	at := first.time(first.lastT)
	r.mu.Unlock()
	if progress != nil && first.moved {
		progress(robot.Progress{T: at, Setpoint: slices.Clone(out.Final.Setpoints), State: out.Final.Clone()})
	}
	var failed error
	switch why {
	case byStop:
		out.Status, failed = robot.OutcomeStopped, robot.Errf(robot.CodeStopped, m.ID, "stopped after %.3f s", at)
	case byCancel:
		out.Status, failed = robot.OutcomeCancelled, err
	case byClose:
		out.Status, failed = robot.OutcomeStopped, robot.Errf(robot.CodeDisconnected, "mcu", "the robot was closed after %.3f s of the motion", at)
	case byFault:
		out.Status = robot.OutcomeFaulted
		if m.Seek != nil && err.Code == robot.CodeNotCalibrated {
			e := *err
			e.Where = r.axes[m.Seek.Joint].hw.Name
			err = &e
		}
		failed = err
	}
	switch {
	case !first.going:
		out.Status = robot.OutcomeRefused
	case last.unsure && out.Status != robot.OutcomeDone:
		out.Status = robot.OutcomeUnknown
	}
	return out, failed
}
