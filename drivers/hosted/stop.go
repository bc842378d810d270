package hosted

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tau-robot/tau/robot"
)

const (
	// leaveWithin is how long Stop waits for the first setpoint of the brake, whatever its
	// context says: who doesn't wait for rest still wants to know whether it was sent. An
	// exchange that hangs is given up before.
	leaveWithin = time.Second
	// heedWithin is how long Stop waits for the hardware to say that it has it.
	heedWithin = time.Second
	// endWithin is how long it waits for rest.
	endWithin = 15 * time.Second
	// freeWithin is how long it waits, once the robot is at rest, for whoever had it to
	// let go of it.
	freeWithin = 300 * time.Millisecond
	// closeWithin bounds how long Close waits for rest.
	closeWithin = 10 * time.Second
)

// stopping is a stop on its way. Guarded by Engine.mu.
type stopping struct {
	sent  bool // the first setpoint of the brake was written, or nothing moves
	done  bool // and the hardware was asked for it
	acked robot.Tri
	err   error
	at    time.Time // when it was done: what is measured from then on counts
}

// fail ends a stop that can't be sent, or whose answer can't be had.
func (s *stopping) fail(err error) {
	if !s.done {
		s.done, s.err = true, err
		if s.sent {
			s.acked = robot.Unknown
		}
	}
}

// Stop raises the stop epoch and has what moves brake along its path from the next control
// period on. See robot.Backend. Commanded is yes once the first setpoint of the brake was
// written, or where nothing moved; Acknowledged is what the hardware answers when it is
// asked for its setpoints; Stationary is measured, and unknown where a joint is open loop:
// Text then says whether the setpoints stand still. Any kind but StopEmergency is a
// controlled stop, so that a malformed one stops too. It blocks until the robot is at rest
// or that can't be known; if ctx ends, until the setpoint was written.
func (e *Engine) Stop(ctx context.Context, kind robot.StopKind) robot.StopVerdict {
	v := robot.StopVerdict{Backend: e.traits.Backend, Commanded: robot.No, Acknowledged: robot.No, Stationary: robot.Unknown}
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		v.Text = e.claimless("the robot is closed: nothing was sent")
		return v
	}
	e.epoch++
	if kind == robot.StopEmergency {
		e.estopped, e.armed = true, false
		e.cut = e.cut || e.opts.Hardware.EStopPowersOff
	}
	e.switchOff()
	run, x := e.run, e.leg
	if run != nil {
		run.stop = true
	}
	if x != nil {
		x.end(byStop, nil)
	}
	e.refresh()
	if !e.ready {
		v.Text = e.claimless(fmt.Sprintf("nothing was sent, the link to the robot is lost (%v); its joints stay where they were told to be last", e.why))
		e.mu.Unlock()
		return v
	}
	s := &stopping{acked: robot.Unknown}
	e.stops = append(e.stops, s)
	from := 0
	if x != nil {
		from = x.ticks
	}
	e.broadcast()
	e.mu.Unlock()
	signal(e.wake)
	e.verdict(ctx, &v, s, run, x, from)
	if kind == robot.StopEmergency && e.keptPower() {
		v.Text = strings.TrimPrefix(v.Text+"; the power couldn't be taken away: joints may still have torque", "; ")
	}
	return v
}

// keptPower reports whether joints have torque that an e-stop was to take away, and has given
// it up.
func (e *Engine) keptPower() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.opts.Hardware.EStopPowersOff && e.ready && !e.cut && e.cur.powered
}

// claimless is a verdict's text of a robot of whose rest nothing is known.
func (e *Engine) claimless(text string) string {
	if e.blind {
		return text + "; not even the setpoints are known to stand still"
	}
	return text
}

// verdict waits for what becomes of a stop.
func (e *Engine) verdict(ctx context.Context, v *robot.StopVerdict, s *stopping, run *run, x *leg, from int) {
	e.awaitFor(context.WithoutCancel(ctx), leaveWithin, func() bool { return s.sent || s.done })
	e.mu.Lock()
	sent, err := s.sent, s.err
	e.mu.Unlock()
	switch {
	case !sent && err != nil:
		v.Text = e.claimless(fmt.Sprintf("nothing was sent (%v); the joints stay where they were told to be last", err))
		return
	case !sent:
		v.Text = e.claimless("it couldn't be sent yet: the hardware is busy with something else or doesn't answer; the stop goes on")
		return
	}
	v.Commanded = robot.Yes
	heeded := e.awaitFor(ctx, heedWithin, func() bool { return s.done })
	v.Acknowledged = robot.Unknown
	e.mu.Lock()
	if heeded {
		v.Acknowledged = s.acked
	}
	e.mu.Unlock()
	gone := ctx.Err() != nil
	if !gone {
		e.awaitFor(ctx, endWithin, func() bool {
			over := x == nil || x.over
			return !e.ready || over && (e.silent() >= 0 || e.atRest(s))
		})
		gone = ctx.Err() != nil
	}
	e.mu.Lock()
	rest := e.ready && e.atRest(s) && (x == nil || x.rest && !x.unsure)
	if x != nil && x.going {
		v.Duration = float64(x.ticks-from) * e.traits.Period.Seconds()
	}
	lost, open, deaf := !e.ready, e.openJoints(), e.silent()
	why := e.why
	if deaf >= 0 {
		why = e.silence(deaf)
	}
	e.mu.Unlock()
	switch {
	case gone:
		v.Text = e.claimless("the stop goes on; nobody waited for its end")
	case lost:
		v.Text = e.claimless(fmt.Sprintf("it was sent, and then the link was lost (%v)", why))
	case deaf >= 0:
		v.Text = e.claimless(fmt.Sprintf("it isn't measured whether the robot is at rest (%v)", why))
	case !rest:
		v.Text = e.claimless("it isn't measured whether the robot is at rest")
	case open != "":
		v.Text = "the setpoints stand still; nothing measures where " + open + " really is"
	default:
		v.Stationary = robot.Yes
	}
	if v.Acknowledged == robot.No {
		v.Text = strings.TrimPrefix(v.Text+"; the hardware says that it has other setpoints than those of the brake", "; ")
	}
	if run != nil && !gone {
		wait := time.NewTimer(freeWithin)
		defer wait.Stop()
		select {
		case <-run.done:
		case <-wait.C:
		case <-ctx.Done():
		}
	}
}

// openJoints names the joints that nothing measures.
func (e *Engine) openJoints() string {
	var names []string
	for i := range e.joints {
		if e.joints[i].open {
			names = append(names, e.joints[i].name)
		}
	}
	return strings.Join(names, ", ")
}

// atRest reports whether a read after a stop has found all that is measured at rest, and
// what the stop was to do besides is done; Engine.mu is held.
func (e *Engine) atRest(s *stopping) bool {
	return s.done && !e.cur.at.Before(s.at) && !e.cut && e.still() && (e.leg == nil || !e.leg.commands())
}

// sentStops remembers that the stops that wait have been sent; Engine.mu is held.
func (e *Engine) sentStops() {
	for _, s := range e.stops {
		s.sent = true
	}
}

// idleStops is sentStops while nothing moves.
func (e *Engine) idleStops() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.stops) > 0 {
		e.sentStops()
		e.broadcast()
	}
}

// confirm asks the hardware whether it has the setpoints that stops have led to, once for
// all of these. Without torque there is nothing to confirm.
func (e *Engine) confirm() {
	e.mu.Lock()
	var asked []*stopping
	kept := e.stops[:0]
	for _, s := range e.stops {
		if s.sent {
			asked = append(asked, s)
		} else {
			kept = append(kept, s)
		}
	}
	e.stops = kept
	ask := len(asked) > 0 && e.ready && e.commanded()
	if ask {
		copy(e.next, e.cur.set)
	}
	e.mu.Unlock()
	if len(asked) == 0 {
		return
	}
	acked := robot.Unknown
	if ask && e.broken == nil {
		ctx := e.context()
		e.guard.begin(e.traits.patience())
		got, err := e.opts.Body.Confirm(ctx, e.next)
		if err = e.called("asking for the setpoints", err); err == nil && (got == robot.Yes || got == robot.No) {
			acked = got
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range asked {
		s.acked, s.done, s.at = acked, true, time.Now()
	}
	e.broadcast()
}

// commanded reports whether every joint has torque and holds what it was told; Engine.mu is
// held.
func (e *Engine) commanded() bool {
	for i := range e.joints {
		if !e.told[i] || !e.powered[i] {
			return false
		}
	}
	return true
}

// Close has the robot brake, sets to off what declares it for a stop, takes the power away
// where the robot's file says that this is safe, and disconnects the hardware whatever
// failed before; the errors are joined. Where the power isn't taken away the joints go on
// being held where they were told to be last. It waits for rest, for at most closeWithin,
// and makes every later call answer DISCONNECTED. A link that was lost before is no error
// of Close. A Body that hangs, and goes on hanging when it is disconnected, is left alone,
// which is one. A second Close returns nil.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		<-e.gone
		return nil
	}
	e.closed = true
	defer close(e.gone)
	close(e.closing)
	e.epoch++
	linked := e.ready
	if e.run != nil {
		e.run.closing = true
	}
	if e.leg != nil {
		e.leg.end(byClose, nil)
	}
	e.broadcast()
	e.mu.Unlock()
	signal(e.wake)
	long := closeWithin
	if !linked {
		long = connectPatience // it may be connecting
	}
	wait := time.NewTimer(long)
	defer wait.Stop()
	var hung error
	select {
	case <-e.kept:
	case <-wait.C:
		e.cancel()
		if !e.unblocked(e.kept, nil, &hung) {
			hung = robot.Errf(robot.CodeLinkTimeout, e.traits.Device, "the hardware hangs, and goes on hanging when it is disconnected")
		}
	}
	e.cancel()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lose(robot.Errf(robot.CodeDisconnected, e.traits.Backend, "the robot is closed"))
	e.broadcast()
	return errors.Join(append(e.failures, hung)...)
}
