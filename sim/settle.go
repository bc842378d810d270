package sim

import (
	"fmt"
	"math"
	"time"

	"github.com/tau-robot/tau/robot"
)

// over reports whether the motion has ended, and makes what is left of it good:
// a hold where the joints are, a fault where they aren't where they should be.
func (x *motion) over() bool {
	r := x.r
	if x.t < x.end-Step/2 {
		return false
	}
	if x.returns() {
		return false
	}
	x.settled++
	moving, away := r.moving()
	x.still, x.good = x.still+1, x.good+1
	if moving {
		x.still = 0
	}
	if moving || away >= 0 {
		x.good = 0
	}
	late := float64(x.settled)*Step > settleTimeout
	patient := float64(x.still)*Step > patience
	switch {
	case r.s.frozen:
		// Nothing is measured: give the arm the time that it needs and say that
		// it isn't known where it is.
		if float64(x.settled)*Step < patience {
			return false
		}
		x.endAt(false)
		return true
	case float64(x.good)*Step >= restTime:
		if x.m.Seek != nil && x.why == toItsEnd {
			x.unfound()
		}
		x.endAt(true)
		return true
	case x.why != toItsEnd && x.why != byGrip && x.why != bySwitch && float64(x.still)*Step >= restTime && x.why != byFault:
		// A stop has done its work once nothing moves; droop may still be on
		// its way out, so wait for that as well, but not forever.
		if !patient && !late {
			return false
		}
		x.endAt(true)
		return true
	case patient && x.why == byFault:
		x.endAt(true)
		return true
	case patient || late:
		return x.notThere(moving)
	}
	return false
}

// notThere ends a motion that came to rest away from its end, or didn't come to
// rest in time.
func (x *motion) notThere(moving bool) bool {
	r := x.r
	if moving {
		x.fail(robot.LimitErr(robot.CodeUnknownOutcome, "sim", settleTimeout, settleTimeout, "s", "the robot didn't come to rest in time"), false)
		x.endAt(false)
		return true
	}
	for i := range r.qs {
		if d := math.Abs(r.s.q[i] - r.qs[i]); d > r.tolerance(i) && !r.gripping(i, x.m) {
			x.fail(robot.LimitErr(robot.CodeDeviation, r.info.Joints[i], d, r.tolerance(i), unitOf(r.tree, i),
				fmt.Sprintf("%s came to rest away from its end at %.3f s", r.info.Joints[i], x.t)), true)
		}
	}
	if x.m.Seek != nil && x.why == toItsEnd {
		x.unfound()
	}
	x.endAt(true)
	return true
}

// endAt ends the motion; rest says whether the robot is measured at rest.
func (x *motion) endAt(rest bool) {
	r := x.r
	if x.why == byFault {
		x.hold() // never press on towards an old setpoint
	}
	clear(r.vs)
	clear(r.as)
	x.run.rest = rest
	r.publish(false)
}

// moving reports whether anything is measured to move, and a joint that isn't at
// its setpoint, -1 if all are.
func (r *Robot) moving() (moving bool, away int) {
	away = -1
	for i := range r.s.q {
		speed, near := restSpeed, arrived
		if unitOf(r.tree, i) == "m" {
			speed, near = restSpeedM, arrivedM
		}
		if math.Abs(r.s.v[i]) > speed+noiseBand*r.opts.Noise.Velocity {
			moving = true
		}
		if away < 0 && math.Abs(r.s.q[i]-r.qs[i]) > near+noiseBand*r.opts.Noise.Position {
			away = i
		}
	}
	return moving, away
}

// report tells a motion's caller where it is.
func (x *motion) report(progress func(robot.Progress)) {
	r := x.r
	s, err := r.lastState()
	if err != nil {
		s = robot.State{} // nothing is measured; nothing is made up
	}
	progress(robot.Progress{T: x.t, Setpoint: append([]float64(nil), r.qs...), State: s})
}

func (r *Robot) lastState() (robot.State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state()
}

// outcome says how the motion ended, and gives the robot back.
func (x *motion) outcome(progress func(robot.Progress)) (robot.Outcome, error) {
	r := x.r
	if progress != nil && x.tick > 0 {
		x.report(progress)
	}
	out := robot.Outcome{Duration: x.t, MaxTrackingError: x.max, Status: robot.OutcomeDone}
	r.mu.Lock()
	lost := r.lost
	x.run.stopped = x.t - x.run.at
	final := r.stamp(r.snap)
	if r.frozen || lost {
		final.Positions, final.Velocities, final.Efforts = nil, nil, nil
	}
	out.Final = final.Clone()
	if x.why == byGrip {
		out.Gripped = r.held
	}
	r.mu.Unlock()
	var err error
	switch x.why {
	case byStop:
		out.Status, err = robot.OutcomeStopped, robot.Errf(robot.CodeStopped, x.m.ID, "stopped after %.3f s", x.t)
	case byCancel:
		out.Status, err = robot.OutcomeCancelled, x.err
	case byClose:
		out.Status, err = robot.OutcomeStopped, robot.Errf(robot.CodeDisconnected, "sim", "the robot was closed after %.3f s of the motion", x.t)
	case byFault:
		out.Status, err = robot.OutcomeFaulted, x.err
		if lost {
			out.Status = robot.OutcomeUnknown
		}
	}
	if x.tick == 0 {
		out.Status = robot.OutcomeRefused
	}
	x.leave()
	r.finish(x.run)
	x.run.hooks.Wait()
	return out, err
}

// pacer holds a loop back to the wall clock.
type pacer struct {
	timer *time.Timer // nil: no holding back
	start time.Time
}

func newPacer(c Clock) *pacer {
	p := &pacer{start: time.Now()}
	if c == Real {
		p.timer = time.NewTimer(time.Hour)
		p.timer.Stop()
	}
	return p
}

// wait returns when the wall clock has come to a step. A loop that the machine
// held up isn't run faster to catch up: an arm that jumps ahead is no model of one.
func (p *pacer) wait(step int) {
	if p.timer == nil {
		return
	}
	due := p.start.Add(time.Duration(step) * time.Millisecond)
	d := time.Until(due)
	if d < -maxLag {
		p.start = p.start.Add(-d)
		return
	}
	if d > 0 {
		p.timer.Reset(d)
		<-p.timer.C
	}
}

func (p *pacer) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}
