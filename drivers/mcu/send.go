package mcu

import (
	"time"

	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
)

const (
	// stopAgain is after which a STOP that nobody has answered is written again: it may
	// have been garbled.
	stopAgain = 80 * time.Millisecond
	// stopTries is how many of its sequence numbers a STOP is recognised by.
	stopTries = 16
	// look is how often send looks at what has to be watched in a motion, and idle how
	// often without one.
	look = 10 * time.Millisecond
	// burst is by how much pieces may be late against the line's load before the time
	// that was lost is given up, so that no two of them ever lie in the line at once.
	burst = time.Millisecond
)

// send writes what there is to write, until the link ends. It alone writes. A stop
// comes first, then the greeting, what else is asked, heartbeats, and pieces of a motion
// last and only as far as the line's load and the board's room allow. Whoever holds
// Robot.mu for ever stops the heartbeats as well.
func (r *Robot) send(l *link) error {
	buf := make([]byte, 0, 2*wire.MaxFrame)
	timer := time.NewTimer(look)
	defer timer.Stop()
	for {
		now := time.Now()
		r.mu.Lock()
		frame, wrote, wait, err := r.next(l, buf[:0], now)
		if frame != nil {
			l.load(len(frame), now)
		}
		r.mu.Unlock()
		if err != nil {
			return err
		}
		if frame == nil {
			timer.Reset(wait)
			select {
			case <-l.wake:
			case <-timer.C:
			case <-l.over:
				return nil
			}
			continue
		}
		_, err = l.port.Write(frame)
		r.mu.Lock()
		if wrote != nil && err == nil {
			wrote(time.Now())
		}
		r.mu.Unlock()
		if err != nil {
			return robot.Errf(robot.CodeDisconnected, r.opts.Port, "writing: %w", err)
		}
	}
}

// load accounts for bytes that are written now.
func (l *link) load(n int, now time.Time) {
	bits := time.Duration(n) * bitsPerByte * time.Second / time.Duration(l.baud)
	if l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(bits)
	if late := now.Add(-burst); l.pieceAt.Before(late) {
		l.pieceAt = late
	}
	l.pieceAt = l.pieceAt.Add(time.Duration(float64(n) / capacity(l.baud) * float64(time.Second)))
}

// capacity is how many bytes a second pieces and all else together may be.
func capacity(baud int) float64 { return min(mostLoad*float64(baud)/bitsPerByte, mostBytes) }

// next chooses what is written next, or how long there is nothing to write; wrote is
// called with Robot.mu held once it is written. Robot.mu is held.
func (r *Robot) next(l *link, buf []byte, now time.Time) (frame []byte, wrote func(time.Time), wait time.Duration, err error) {
	if l.err != nil {
		return nil, nil, 0, l.err
	}
	// A zero in front ends whatever noise has left of a half frame at the board, which
	// would else take this one with it. Pieces go without: there are many, and a lost
	// one ends the motion.
	buf = append(buf, 0)
	since := now.Sub(l.looked)
	l.looked = now
	if err := r.listen(l, since, now); err != nil {
		return nil, nil, 0, err
	}
	if l.expire(now) {
		r.broadcast()
	}
	wait = heartbeatPeriod
	if r.leg != nil {
		wait = look
	}
	for _, s := range l.stops {
		if s.sent.IsZero() || !now.Before(s.next) {
			return r.nextStop(l, s, buf, now)
		}
		wait = min(wait, s.next.Sub(now))
	}
	if l.hello {
		l.hello = false
		frame, err = wire.Hello{Version: wire.Version, Nonce: l.nonce}.Append(buf, l.seq)
		l.seq++
		return frame, nil, 0, err
	}
	if !l.greeted {
		return nil, nil, wait, nil
	}
	if !now.Before(l.beat) {
		l.beat = now.Add(heartbeatPeriod)
		ms := uint32(now.Sub(l.began) / time.Millisecond)
		frame, err = wire.Heartbeat{HostMS: ms}.Append(buf, l.seq)
		l.seq++
		for old := range l.sentAt {
			if ms-old > uint32(LostAfter/time.Millisecond) {
				delete(l.sentAt, old)
			}
		}
		l.sentAt[ms] = now
		return frame, nil, 0, err
	}
	wait = min(wait, l.beat.Sub(now))
	for len(l.queue) > 0 {
		q := l.queue[0]
		l.queue[0] = nil
		l.queue = l.queue[1:]
		if q.ended || q.bound && q.epoch != r.epoch || q.still != nil && !q.still() {
			q.finish(robot.Errf(robot.CodeStopped, "mcu", "a stop came before %s was sent", q.kind))
			continue
		}
		if frame, err = q.Append(buf, l.seq); err != nil {
			q.finish(robot.Errf(robot.CodeInternal, "mcu", "%s can't be sent: %w", q.kind, err))
			continue
		}
		l.waiting[l.seq] = q
		l.seq++
		q.due = now.Add(q.patience())
		if q.picked != nil {
			q.picked()
		}
		return frame, nil, 0, nil
	}
	if frame, at := r.nextPiece(l, buf[:0], now); frame != nil {
		return frame, nil, 0, nil
	} else if !at.IsZero() {
		wait = min(wait, max(0, at.Sub(now)))
	}
	return nil, nil, wait, nil
}

// nextStop is a STOP's frame, for the first time or again; Robot.mu is held.
func (r *Robot) nextStop(l *link, s *stopping, buf []byte, now time.Time) ([]byte, func(time.Time), time.Duration, error) {
	frame, err := wire.Stop{Kind: s.kind}.Append(buf, l.seq)
	if len(s.seqs) == stopTries {
		s.seqs = s.seqs[1:] // an answer to the first one won't come any more
	}
	s.seqs = append(s.seqs, l.seq)
	l.seq++
	s.next = now.Add(stopAgain)
	l.owed, l.owedAt = l.owed+1, now
	return frame, func(at time.Time) {
		if s.sent.IsZero() {
			s.sent = at
			r.broadcast()
		}
	}, 0, err
}

// listen judges the board's silence; Robot.mu is held. since is what has passed since
// the last look. What this process itself was held up, beyond a few looks, doesn't count
// against the board: its reports may lie in the line unread.
func (r *Robot) listen(l *link, since time.Duration, now time.Time) error {
	most := 2 * heartbeatPeriod
	if r.leg != nil {
		most = 2 * look
	}
	l.quiet += min(since, most)
	if l.greeted && now.Sub(l.alive) > LostAfter && l.quiet > LostAfter/2 {
		return robot.LimitErr(robot.CodeDisconnected, r.opts.Port, now.Sub(l.alive).Seconds(), LostAfter.Seconds(), "s",
			"nothing was heard of the board")
	}
	if r.leg != nil && l.quiet > StaleAfter {
		r.silent(now)
	}
	if r.leg != nil {
		r.overdue(min(since, most))
	}
	return nil
}
