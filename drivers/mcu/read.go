package mcu

import (
	"math"
	"time"

	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// read takes what the board says, until the line ends.
func (r *Robot) read(l *link) error {
	buf := make([]byte, 1024)
	for {
		n, err := l.port.Read(buf)
		now := time.Now()
		if n > 0 {
			r.mu.Lock()
			for p := buf[:n]; len(p) > 0; {
				took, f, ok := l.decoder.Next(p)
				p = p[took:]
				if ok && l.err == nil {
					r.take(l, f, now)
				}
			}
			r.broadcast()
			r.mu.Unlock()
			signal(l.wake) // there may be room for more of a motion
		}
		if err != nil {
			return robot.Errf(robot.CodeDisconnected, r.opts.Port, "reading: %w", err)
		}
	}
}

// take takes one frame; Robot.mu is held. One that makes no sense is counted and
// changes nothing.
func (r *Robot) take(l *link, f wire.Frame, now time.Time) {
	if lost := l.missing.Take(f.Seq); lost > 0 && l.greeted {
		r.opts.Log.Debug("frames of the board are missing", "port", r.opts.Port, "frames", lost, "all", l.missing.Count())
	}
	l.alive = now
	var err error
	switch f.Type {
	case wire.TypeHelloReply:
		err = r.takeHello(l, f, now)
	case wire.TypeChannel:
		var m wire.Channel
		if err = m.Parse(f.Payload); err == nil {
			l.described(m)
		}
	case wire.TypePositions:
		if q := l.answeredBy(wire.TypePositions); q != nil {
			if err = q.positions.Parse(f.Payload); err != nil {
				q.finish(err)
			} else {
				q.finish(nil)
			}
		}
	case wire.TypeAck:
		err = r.takeAck(l, f, now)
	case wire.TypeStatus:
		if err = r.scratch.Parse(f.Payload); err == nil && l.greeted && len(r.scratch.Setpoints) == int(l.reply.Joints) {
			r.status, r.scratch = r.scratch, r.status
			r.takeStatus(l, now)
		}
	case wire.TypeFeedback:
		if err = r.feedback.Parse(f.Payload); err == nil && l.greeted && len(r.feedback.Values) == int(l.reply.Joints) {
			r.takeFeedback(l, now)
		}
	case wire.TypeEcho:
		var m wire.Echo
		if err = m.Parse(f.Payload); err == nil {
			if sent, ok := l.sentAt[m.HostMS]; ok {
				delete(l.sentAt, m.HostMS)
				l.clock.echo(sent, now, m.BoardMS)
			}
		}
	default:
		err = robot.Errf(robot.CodeNotSupported, "mcu", "the board sent a frame of %s", f.Type)
	}
	if err != nil {
		r.opts.Log.Warn("a frame of the board makes no sense", "port", r.opts.Port, "type", f.Type.String(), "error", err)
	}
}

// takeHello takes an answer to HELLO: to the last one of ours, or to somebody else's.
func (r *Robot) takeHello(l *link, f wire.Frame, now time.Time) error {
	var m wire.HelloReply
	err := m.Parse(f.Payload)
	l.missing.Reset()
	switch {
	case m.Nonce != l.nonce:
		if err == nil && l.greeted {
			r.intruded("somebody else has greeted the board")
			signal(l.regreet)
		}
	case l.reply == nil && err != nil && robot.CodeOf(err) == robot.CodeNotSupported:
		l.replyErr = robot.Errf(robot.CodeNotSupported, r.opts.Port, "%w; flash the firmware that belongs to this bridge", err)
		return nil
	case l.reply == nil && err == nil:
		l.reply = &m
		l.greeted, l.based, l.quiet, l.beat = true, false, 0, now
	}
	return err
}

// takeAck takes an answer, or why something wasn't carried out.
func (r *Robot) takeAck(l *link, f wire.Frame, now time.Time) error {
	var m wire.Ack
	if err := m.Parse(f.Payload); err != nil {
		return err
	}
	if l.greeted {
		r.counted(l, m.Stops, now)
	}
	switch {
	case m.Code == wire.CodeNoHello && l.greeted:
		// It has restarted: it knows nothing of what was said before.
		l.greeted = false
		l.unasked(r.ungreeted())
		signal(l.regreet)
	case m.Type == wire.TypeHello:
		l.busy = m.Code == wire.CodeBusy
	case m.Type == wire.TypeStop:
		l.acknowledge(m.Seq)
		r.heard = false // what it said before was of a board that wasn't stopped
		r.switchOff(func(a *robot.Actuator) bool { return a.OnStop == "off" })
	case m.Type == wire.TypeSegment && r.leg != nil && l.greeted:
		r.leg.refused(r.refusal(m.Type, m.Code))
	}
	if q := l.answered(m.Seq, m.Type); q != nil {
		q.code = m.Code
		if m.Code == wire.CodeOK {
			if q.acked != nil {
				q.acked()
			}
			q.finish(nil)
		} else {
			q.finish(r.refusal(m.Type, m.Code))
		}
	}
	return nil
}

// counted takes the board's count of stops. One that none of ours explains was somebody
// else's; Robot.mu is held.
func (r *Robot) counted(l *link, stops uint16, now time.Time) {
	if !l.based {
		l.based, r.stops = true, stops
		return
	}
	more := int(stops - r.stops)
	r.stops = stops
	if more > 0 {
		r.switchOff(func(a *robot.Actuator) bool { return a.OnStop == "off" })
	}
	if more > 0 && l.foreign(more, now) > 0 {
		r.intruded("somebody else has stopped the board")
	}
}

// takeStatus takes what the board says of itself; Robot.mu is held.
func (r *Robot) takeStatus(l *link, now time.Time) {
	s := &r.status
	l.quiet = 0
	r.heard = true
	r.statusAt = l.clock.at(s.BoardMS, now)
	r.counted(l, s.Stops, now)
	if s.Fault != r.seen {
		r.seen = s.Fault
		if s.Fault != wire.FaultNone {
			r.boardFault(s.Fault, s.FaultChannel)
		}
	}
	if !s.Flags.Has(wire.FlagPowered) {
		// A stepper without power may be pushed by steps that nobody counts.
		for i := range r.axes {
			r.unref[i] = r.unref[i] || r.axes[i].hw.Feedback == hardware.Steps
		}
	}
	if s.Flags.Has(wire.FlagEStopped) && !r.estopped {
		r.estopped = true
		r.armed = false
		r.epoch++ // somebody pressed the button: what was prepared is void
		l.void(r.epoch)
	}
	if r.blind && r.leg != nil {
		r.judge()
	}
}

// takeFeedback takes what the joints' feedback says; Robot.mu is held.
func (r *Robot) takeFeedback(l *link, now time.Time) {
	f := &r.feedback
	if r.board == nil || len(f.Values) != int(r.board.hello.Joints) {
		return // it isn't known yet whether the board has what the file says, or it is another one
	}
	q := r.measured.next(f.BoardMS)
	for i := range r.axes {
		a := &r.axes[i]
		v := f.Values[a.hw.Channel]
		q[i], r.valid[i] = math.NaN(), true
		switch {
		case a.hw.Feedback == hardware.None:
		case v == wire.NoValue:
			r.valid[i] = false
		case a.hw.Feedback == hardware.Steps:
			q[i] = a.position(v)
		default:
			q[i], r.valid[i] = a.hw.Measured(float64(v))
			if !r.valid[i] {
				q[i] = math.NaN()
			}
		}
	}
	r.measured.speeds(r.speeds)
	r.sensed = r.measured.whole()
	r.sensedAt = l.clock.at(f.BoardMS, now)
	if r.leg != nil && f.BoardMS == r.status.BoardMS {
		r.judge()
	}
}
