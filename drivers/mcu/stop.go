package mcu

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
)

const (
	// leaveWithin is how long Stop waits for the frame to leave, whatever its context
	// says: who doesn't wait for rest still wants to know whether it was sent.
	leaveWithin = 300 * time.Millisecond
	// heedWithin is how long Stop waits for the board's answer.
	heedWithin = 700 * time.Millisecond
	// freeWithin is how long it waits, once the robot is at rest, for whoever had it to
	// let go of it.
	freeWithin = 300 * time.Millisecond
)

// queueStop has a STOP written before anything else; one that waits to be written
// already serves both, as the stronger of them. Robot.mu is held.
func (r *Robot) queueStop(l *link, kind wire.StopKind) *stopping {
	for _, s := range l.stops {
		if s.sent.IsZero() && len(s.seqs) == 0 {
			s.kind = max(s.kind, kind)
			return s
		}
	}
	s := &stopping{kind: kind}
	if l.err != nil {
		s.err = l.err
		return s
	}
	l.stops = append(l.stops, s)
	signal(l.wake)
	return s
}

// Stop raises the stop epoch, drops what wasn't written of whatever moves, and has STOP
// written next: right after the frame that is on its way. One that the board doesn't
// answer is written again until it does, or the link is lost. See robot.Backend. Where
// nothing measures a joint Stationary is unknown, and Text says whether the setpoints
// stand still. Any kind but StopEmergency is a controlled stop, so that a malformed one
// stops too. It blocks until the robot is at rest or that can't be known; if ctx ends,
// until the frame has left.
func (r *Robot) Stop(ctx context.Context, kind robot.StopKind) robot.StopVerdict {
	v := robot.StopVerdict{Backend: r.info.Backend, Commanded: robot.No, Acknowledged: robot.No, Stationary: robot.Unknown}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		v.Text = r.claimless("the robot is closed: nothing was sent")
		return v
	}
	r.epoch++
	how := wire.StopControlled
	if kind == robot.StopEmergency {
		how, r.estopped, r.armed = wire.StopEmergency, true, false
	}
	run, x, l := r.run, r.leg, r.link
	if run != nil {
		run.stop = true
	}
	if l == nil {
		if x != nil {
			x.end(byStop, nil)
		}
		v.Text = r.claimless(fmt.Sprintf("nothing was sent, the link to the board is lost (%v); its own watchdog stops it", r.why))
		r.mu.Unlock()
		return v
	}
	l.void(r.epoch)
	s := r.queueStop(l, how)
	if x != nil {
		x.end(byStop, nil)
	}
	from := r.status.BoardMS
	r.broadcast()
	r.mu.Unlock()
	r.verdict(ctx, &v, l, s, run, x, from)
	return v
}

// claimless is a verdict's text of a robot of whose rest nothing is known.
func (r *Robot) claimless(text string) string {
	if r.blind {
		return text + "; not even the setpoints are known to stand still"
	}
	return text
}

// verdict waits for what becomes of a stop.
func (r *Robot) verdict(ctx context.Context, v *robot.StopVerdict, l *link, s *stopping, run *run, x *leg, from uint32) {
	r.awaitFor(context.WithoutCancel(ctx), leaveWithin, func() bool { return !s.sent.IsZero() || s.acked || s.err != nil })
	r.mu.Lock()
	sent, err := !s.sent.IsZero() || s.acked, s.err
	r.mu.Unlock()
	switch {
	case err != nil:
		v.Text = r.claimless(fmt.Sprintf("nothing was sent, the link to the board is lost (%v); its own watchdog stops it", err))
		return
	case !sent:
		v.Text = r.claimless("it couldn't be sent: the line takes nothing; the board's own watchdog stops it")
		return
	}
	v.Commanded = robot.Yes
	heeded := r.awaitFor(ctx, heedWithin, func() bool { return s.acked || l.err != nil })
	r.mu.Lock()
	heeded = heeded && s.acked
	r.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		v.Text = r.claimless("the stop goes on; nobody waited for its end")
		return
	case !heeded:
		v.Acknowledged = robot.Unknown
		v.Text = r.claimless("it was sent, and the board doesn't answer; it is sent again until it does, and the board's own watchdog stops it")
		return
	}
	v.Acknowledged = robot.Yes
	rest := r.awaitFor(ctx, endWithin, func() bool { return l.err != nil || (x == nil || x.over) && r.atRest(s) })
	r.mu.Lock()
	rest = rest && l.err == nil && r.atRest(s) && (x == nil || x.rest && !x.unsure)
	if ms := int32(r.status.BoardMS - from); ms > 0 && x != nil {
		v.Duration = float64(ms) / 1000
	}
	lost, open := l.err, r.unmeasuredJoints()
	r.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		v.Text = r.claimless("the stop goes on; nobody waited for its end")
	case lost != nil:
		v.Text = r.claimless(fmt.Sprintf("the board has got it, and then the link was lost (%v)", lost))
	case !rest:
		v.Text = r.claimless("it isn't measured whether the robot is at rest")
	case open != "":
		v.Text = "the setpoints stand still; nothing measures where " + open + " really is"
	default:
		v.Stationary = robot.Yes
	}
	if run != nil {
		wait := time.NewTimer(freeWithin)
		defer wait.Stop()
		select {
		case <-run.done:
		case <-wait.C:
		case <-ctx.Done():
		}
	}
}

// unmeasuredJoints names the joints that nothing measures; Robot.mu is held.
func (r *Robot) unmeasuredJoints() string {
	var names []string
	for i := range r.axes {
		if r.open[i] {
			names = append(names, r.axes[i].hw.Name)
		}
	}
	return strings.Join(names, ", ")
}

// atRest reports whether the board has said after a stop that its setpoints stand still,
// and what is measured does; Robot.mu is held.
func (r *Robot) atRest(s *stopping) bool {
	if !s.acked || !r.heard || !r.status.State.AtRest() || r.age() > StaleAfter {
		return false
	}
	return r.blind || r.sensed && !r.moving()
}

// Close has the robot stop, takes its power away where its file says that this is safe,
// and ends the link. Where it isn't safe the joints go on being held: the board notices
// that the host is gone, and latches it. It waits for rest, for at most closeWithin, and
// makes every later call answer DISCONNECTED. A board that doesn't answer any more is
// left to its own watchdog, which is no error of Close. A second Close returns nil.
func (r *Robot) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		<-r.kept
		return nil
	}
	r.closed = true
	r.epoch++
	l := r.link
	if r.run != nil {
		r.run.closing = true
	}
	var s *stopping
	if l != nil {
		l.void(r.epoch)
		s = r.queueStop(l, wire.StopControlled)
	}
	if r.leg != nil {
		r.leg.end(byClose, nil)
	}
	r.broadcast()
	r.mu.Unlock()

	var failed error
	if l != nil {
		failed = r.letGo(l, s)
	}
	r.cancel()
	<-r.kept
	r.mu.Lock()
	r.broadcast()
	r.mu.Unlock()
	r.portMu.Lock()
	defer r.portMu.Unlock()
	return errors.Join(failed, r.portOf)
}

// closeWithin bounds how long Close waits for rest.
const closeWithin = 10 * time.Second

// letGo waits for rest and takes the power away where that is safe.
func (r *Robot) letGo(l *link, s *stopping) error {
	ctx := context.Background()
	if !r.awaitFor(ctx, heedWithin, func() bool { return s.acked || l.err != nil }) {
		return nil
	}
	r.awaitFor(ctx, closeWithin, func() bool {
		return l.err != nil || l.quiet > unknownAfter || r.heard && r.status.State.AtRest() && (r.leg == nil || r.leg.over)
	})
	r.mu.Lock()
	powered := l.err == nil && r.status.Flags.Has(wire.FlagPowered) && r.status.State.AtRest()
	r.mu.Unlock()
	if !powered || !r.opts.Hardware.EStopPowersOff {
		return nil
	}
	q := command(wire.TypeDisable, wire.Disable{})
	err := r.ask(l, q)
	switch q.code {
	case wire.CodeOK, wire.CodeNoHello: // done, or the board has restarted, without power
		return nil
	default:
		return fmt.Errorf("taking the power away: %w", err)
	}
}
