package sim

import (
	"context"

	"github.com/tau-robot/tau/robot"
)

// Stop raises the stop epoch, sets the actuators to off that declare it, and ends
// what moves by a controlled stop that begins with the next step, one millisecond
// of simulated time. See robot.Backend. Any
// kind but StopEmergency is a controlled stop, so that a malformed one stops too.
func (r *Robot) Stop(ctx context.Context, kind robot.StopKind) robot.StopVerdict {
	v := robot.StopVerdict{Backend: r.info.Backend, Commanded: robot.No, Acknowledged: robot.No, Stationary: robot.Unknown}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		v.Text = "the simulated robot is closed: nothing was sent"
		return v
	}
	r.epoch++
	if kind == robot.StopEmergency {
		r.estopped = true
	}
	if r.lost {
		r.mu.Unlock()
		v.Text = "the link to the robot is lost: nothing was sent; its own watchdog stops it"
		return v
	}
	r.switchOff(onStop)
	x := r.run
	still := !r.frozen
	sagging := x != nil && !r.enabled
	if x != nil {
		x.stop = true
		x.signal()
	}
	r.mu.Unlock()

	v.Commanded, v.Acknowledged = robot.Yes, robot.Yes
	if sagging {
		v.Text = "torque is off: nothing can be held until the arm lies still"
	}
	if x == nil {
		if still {
			v.Stationary = robot.Yes
		}
		return v
	}
	select {
	case <-x.done:
	default:
		select {
		case <-x.done:
		case <-ctx.Done():
			v.Text = "the stop goes on; nobody waited for its end"
			return v
		}
	}
	v.Duration = x.stopped
	switch {
	case x.rest:
		v.Stationary = robot.Yes
	default:
		v.Text = "it isn't measured whether the robot is at rest"
	}
	return v
}

// signal tells the loop and what waits in hooks of a Stop or Close; mu is held.
func (x *run) signal() {
	close(x.wake)
	x.wake = make(chan struct{})
}

func (r *Robot) isClosing(x *run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return x.closing
}

// Close ends what moves by a controlled stop, run flat out, waits for it, and
// makes every later call answer DISCONNECTED. It returns nil.
func (r *Robot) Close() error {
	r.mu.Lock()
	x := r.run
	if !r.closed {
		r.closed = true
		r.epoch++
		r.switchOff(onStop)
		if x != nil {
			x.closing = true
			x.signal()
		}
	}
	r.mu.Unlock()
	if x != nil {
		<-x.done
	}
	return nil
}

// How long a command that isn't a motion may take, s of simulated time.
const (
	sagTime  = 10.0 // after it an arm that still swings is taken to lie still
	sagStill = 0.2
	holdTime = 3.0
)

// Actuate does one command. Torque off lets the arm sag under gravity until it
// lies still, on its end stops or where it first touches itself or a body, for at
// most ten simulated seconds; it lets go of what is held. Torque on holds the
// measured position, whatever the setpoint was, with drives that carry the arm's
// weight from the start. Both end by themselves within their bounds; ctx counts only before
// they begin, as half a switching is no state to leave an arm in. EStopReset clears
// the e-stop latch and the latched fault and moves nothing. SetActuator sets one of
// Model.Actuators, whether torque is on or not, and takes no time.
func (r *Robot) Actuate(ctx context.Context, c robot.Command) (robot.Outcome, error) {
	switch c.Kind {
	case robot.TorqueOn, robot.TorqueOff, robot.EStopReset, robot.SetActuator:
	default:
		return refused(robot.Errf(robot.CodeInvalidArgument, "kind", "%q is not a command", c.Kind))
	}
	if err := context.Cause(ctx); err != nil {
		return refused(robot.Errf(robot.CodeCancelled, c.ID, "cancelled before it began: %w", err))
	}
	switch c.Kind {
	case robot.EStopReset:
		return r.reset(c)
	case robot.SetActuator:
		return r.setActuator(&c)
	}
	run, err := r.begin(c.Epoch, func() error { return nil })
	if err != nil {
		return refused(err)
	}
	x := &motion{r: r, run: run, m: &robot.Motion{ID: c.ID}}
	if c.Kind == robot.TorqueOn {
		x.powerUp()
	} else {
		x.sag()
	}
	r.mu.Lock()
	if run.stop {
		run.stopped = x.t - run.at
	}
	out := robot.Outcome{Status: robot.OutcomeDone, Duration: x.t, Final: r.stamp(r.snap).Clone()}
	stopped := run.stop
	r.mu.Unlock()
	r.finish(run)
	if stopped && c.Kind == robot.TorqueOn {
		out.Status = robot.OutcomeStopped
		return out, robot.Errf(robot.CodeStopped, c.ID, "a stop came while torque was switched on; the arm is held")
	}
	return out, nil
}

func (r *Robot) reset(c robot.Command) (robot.Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed, r.lost:
		_, err := r.state()
		return refused(err)
	case r.run != nil:
		return refused(robot.Errf(robot.CodeBusy, "sim", "another motion or command is running"))
	case c.Epoch != r.epoch:
		return refused(robot.Errf(robot.CodeStopped, "sim", "prepared in stop epoch %d, it is %d now: a stop came between", c.Epoch, r.epoch))
	}
	r.estopped, r.fault = false, nil
	out := robot.Outcome{Status: robot.OutcomeDone}
	if s, err := r.state(); err == nil {
		out.Final = s
	} else {
		out.Final = r.stamp(robot.State{})
	}
	return out, nil
}

// sag lets the arm fall.
func (x *motion) sag() {
	r := x.r
	r.mu.Lock()
	r.enabled = false
	r.mu.Unlock()
	r.letGo()
	clear(r.pl.integ)
	clear(r.vs)
	clear(r.as)
	x.idle(sagTime, sagStill, false)
	clear(r.pl.v) // what still swings is taken to lie still
	clear(r.pl.tau)
	r.sense(0)
	copy(r.qs, r.s.q)
	r.publish(false)
	x.run.rest = !r.s.frozen
}

// powerUp switches torque on where the arm is.
func (x *motion) powerUp() {
	r := x.r
	r.mu.Lock()
	was := r.enabled
	r.enabled = true
	r.mu.Unlock()
	if !was {
		copy(r.qs, r.s.q)
		clear(r.vs)
		clear(r.as)
		r.carry()
		x.idle(holdTime, restTime, true)
	}
	r.publish(false)
	moving, _ := r.moving()
	x.run.rest = !moving && !r.s.frozen
}

// idle runs the world without a motion until it has been at rest for a while, is
// in contact, or the time is up.
func (x *motion) idle(most, still float64, powered bool) {
	r := x.r
	r.mon.falling = true
	defer func() { r.mon.falling = false }()
	r.mon.refresh(r.pl.q, 0)
	pace := newPacer(r.opts.Clock)
	defer pace.stop()
	for x.t < most {
		r.mu.Lock()
		if x.run.stop && x.run.at == 0 {
			x.run.at = x.t
		}
		closing := x.run.closing
		r.mu.Unlock()
		if !r.pl.step(r.qs, r.vs, powered) {
			r.publish(false)
			return
		}
		x.tick++
		x.t = float64(x.tick) * Step
		r.sense(Step)
		met := r.mon.advance(r.pl.q, r.pl.dq, x.t) != nil
		if met {
			r.meet(powered)
		}
		if !powered {
			copy(r.qs, r.s.q)
		}
		r.publish(true)
		if met {
			return // it lies on something
		}
		moving, away := r.moving()
		x.still++
		if moving || powered && away >= 0 {
			x.still = 0
		}
		if float64(x.still)*Step >= still {
			return
		}
		if !closing {
			pace.wait(x.tick)
		}
	}
}
