package hosted

import (
	"context"
	"math"
	"slices"

	"github.com/tau-robot/tau/robot"
)

// Execute writes the samples of the motion's trajectory, and no other setpoints but those
// of a gentle way to its start and of its brake, one each control period. See
// robot.Backend; it takes the whole of it. A motion that starts within StartTolerance of
// where the robot is but not at the setpoints is led there first. Where the loop is held up
// motion time stretches, and from HeldUpAfter on the motion ends with LINK_TIMEOUT where
// the robot was told to be last. A joint counts as off its setpoint (MaxDeviation) by how
// far it is from all the setpoints of the last period and the hardware's own lag. After a
// DEVIATION, CONTACT or OVERLOAD the setpoints go to where the joints are measured, if that
// is as near as the fault explains, so that nothing presses on. When a device has restarted,
// or a joint has lost its torque or holds another setpoint than it was sent, nothing more is
// written. A grip ends, done, where the
// gripper's effort reaches the grip's or the joint stands still short of its setpoint, and
// goes on pressing with that (without a measured effort the device's own torque limit has to
// be within the grip's); what it holds isn't known. It blocks until the robot is at
// rest.
func (e *Engine) Execute(ctx context.Context, m robot.Motion, progress func(robot.Progress)) (robot.Outcome, error) {
	if err := e.admissible(&m); err != nil {
		return refused(err)
	}
	if err := context.Cause(ctx); err != nil {
		return refused(robot.Errf(robot.CodeCancelled, m.ID, "cancelled before it began: %w", err))
	}
	e.fresh(ctx)
	e.mu.Lock()
	err := e.free()
	if err == nil {
		err = e.mayMove(&m)
	}
	if err != nil {
		e.mu.Unlock()
		return refused(err)
	}
	run, x := e.beginRun(), e.newLeg(&m)
	e.leg = x
	e.mu.Unlock()
	signal(e.wake)
	defer e.finish(run)
	e.follow(ctx, x, progress)
	return e.outcome(x, progress)
}

// admissible is everything about a motion that needs no look at the robot.
func (e *Engine) admissible(m *robot.Motion) error {
	if err := m.Validate(e.info.Joints, e.limits); err != nil {
		return err
	}
	if err := e.canGrip(m); err != nil {
		return err
	}
	if m.Seek != nil {
		return robot.Errf(robot.CodeNotSupported, e.joints[m.Seek.Joint].name, "this hardware reads no reference switch")
	}
	return nil
}

// mayMove says why a motion may not begin now; Engine.mu is held.
func (e *Engine) mayMove(m *robot.Motion) error {
	if err := e.clear(m.Epoch); err != nil {
		return err
	}
	if !e.cur.enabled {
		return robot.Errf(robot.CodeNotEnabled, e.traits.Backend, "torque is off")
	}
	if i := e.unreferenced(); i >= 0 {
		return robot.Errf(robot.CodeNotCalibrated, e.joints[i].name, "it isn't known where %s is until a person says it", e.joints[i].name)
	}
	return e.atStart(m)
}

// atStart compares where the robot is with a trajectory's start: measured, or, of a joint
// that nothing measures, its setpoint; Engine.mu is held.
func (e *Engine) atStart(m *robot.Motion) error {
	for i, q := range m.Trajectory.Segments[0].Q {
		j := &e.joints[i]
		at, text := e.cur.set[i], "the joint's setpoint isn't where the motion starts"
		if !j.open {
			at, text = e.cur.pos[i], "the joint isn't where the motion starts"
		}
		if e.astray[i] > 0 {
			return robot.Errf(robot.CodeStartMoved, j.name, "%s holds another setpoint than it was sent", j.name)
		}
		if d := math.Abs(at - q); !(d <= m.StartTolerance[i]) {
			return moved(j, d, m.StartTolerance[i], text)
		}
		if d, most := math.Abs(e.cur.set[i]-q), m.StartTolerance[i]+m.MaxDeviation[i]; !(d <= most) {
			return moved(j, d, most, "the joint is held elsewhere than where the motion starts")
		}
	}
	return nil
}

func moved(j *joint, d, most float64, text string) *robot.Error {
	return &robot.Error{
		Code: robot.CodeStartMoved, Where: j.name, Text: text,
		Value: &robot.Quantity{Name: "difference", Value: d, Unit: j.unit},
		Limit: &robot.Quantity{Value: most, Unit: j.unit},
	}
}

// follow waits for a leg's end, calling progress on the way.
func (e *Engine) follow(ctx context.Context, x *leg, progress func(robot.Progress)) {
	defer func() {
		e.mu.Lock()
		if !x.over { // progress panicked: nobody follows what moves any more
			e.fail(robot.Errf(robot.CodeInternal, e.traits.Backend, "whoever followed the motion panicked"))
		}
		e.mu.Unlock()
		<-x.done
	}()
	ended := ctx.Done()
	for {
		e.mu.Lock()
		reports, over := x.take(), x.over
		e.mu.Unlock()
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
		case <-x.reports.some:
		case <-ended:
			ended = nil
			e.mu.Lock()
			x.end(byCancel, robot.Errf(robot.CodeCancelled, x.m.ID, "cancelled: %w", context.Cause(ctx)))
			e.mu.Unlock()
		}
	}
}

// outcome says how a motion ended.
func (e *Engine) outcome(x *leg, progress func(robot.Progress)) (robot.Outcome, error) {
	e.mu.Lock()
	ticks := x.ticks
	if x.took > 0 {
		ticks = x.took // it was at rest then
	}
	out := robot.Outcome{Status: robot.OutcomeDone, Final: x.final, Duration: float64(ticks) * e.traits.Period.Seconds()}
	if !x.unsure && e.ready && x.going {
		out.Final = e.snapshot(&e.cur)
		out.Final.Moving = out.Final.Moving || !x.rest
	}
	if !e.blind {
		out.MaxTrackingError = slices.Clone(x.max)
	}
	why, failed, at := x.why, error(nil), x.time()
	e.mu.Unlock()
	if !x.going {
		out.Status, out.Duration, out.MaxTrackingError = robot.OutcomeRefused, 0, nil
	} else if progress != nil {
		progress(robot.Progress{T: at, Setpoint: slices.Clone(out.Final.Setpoints), State: out.Final.Clone()})
	}
	status := robot.OutcomeDone
	switch why {
	case byStop:
		status, failed = robot.OutcomeStopped, robot.Errf(robot.CodeStopped, x.m.ID, "stopped after %.3f s", at)
	case byCancel:
		status, failed = robot.OutcomeCancelled, x.err
	case byClose:
		status, failed = robot.OutcomeStopped, robot.Errf(robot.CodeDisconnected, e.traits.Backend, "the robot was closed after %.3f s of the motion", at)
	case byFault:
		status, failed = robot.OutcomeFaulted, x.err
	}
	switch {
	case !x.going:
	case x.unsure:
		out.Status = robot.OutcomeUnknown
	default:
		out.Status = status
	}
	return out, failed
}
