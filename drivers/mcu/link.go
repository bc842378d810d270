package mcu

import (
	"sync"
	"time"

	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
)

// message is what the host says.
type message interface {
	Append(dst []byte, seq byte) ([]byte, error)
}

// link is one opened line. What has no comment of its own is guarded by Robot.mu.
type link struct {
	port Port
	baud int
	wake chan struct{} // of send: something is to be written; holds one
	over chan struct{} // closed when the link has ended
	once sync.Once     // of over
	err  error         // why it ended

	// greeted: the board has answered the last HELLO. While it isn't, nothing but HELLO
	// and STOP is written.
	greeted  bool
	hello    bool // one is to be written
	nonce    uint32
	reply    *wire.HelloReply // to nonce; nil: none came
	replyErr error            // what is wrong with the one that came
	busy     bool             // HELLO was refused with BUSY
	regreet  chan struct{}    // holds one; keep greets the board again

	seq     byte              // of the next frame
	queue   []*request        // to be written, in order
	waiting map[byte]*request // written and not answered, by seq
	stops   []*stopping       // not acknowledged, in order
	based   bool              // stops has the board's count since it was greeted
	owed    int               // STOPs that were written and the board hasn't counted yet
	owedAt  time.Time         // when the last of them was written

	began  time.Time
	alive  time.Time     // when the last frame came
	looked time.Time     // when send has looked last
	quiet  time.Duration // how long no STATUS has come, as send has seen it
	beat   time.Time     // when the next heartbeat is due
	sentAt map[uint32]time.Time
	clock  clock

	free    time.Time // when the line will have sent what was written
	pieceAt time.Time // when its load allows the next piece

	decoder wire.Decoder // of read
	missing wire.Missing // of read
}

// request is a frame of the host and what becomes of it. All but done is guarded by
// Robot.mu.
type request struct {
	message
	kind   wire.Type
	answer wire.Type // TypeAck, or the type of its own answer
	// bound ties it to a stop epoch: a stop that comes before it is written voids it.
	bound bool
	epoch uint64
	// once: it isn't said again, whatever seems to have become of it.
	once bool
	// still, if it isn't nil, is asked with Robot.mu held before it is chosen; one that
	// isn't wanted any more is dropped.
	still func() bool
	// picked, if it isn't nil, is called with Robot.mu held when the frame is chosen to
	// be written next: from then on it may act.
	picked func()

	// acked, if it isn't nil, is called with Robot.mu held when the board says that it
	// was carried out, before anything is taken that the board said later.
	acked func()

	due       time.Time // by when it has to be answered; zero: it isn't written yet
	positions wire.Positions
	channel   wire.Channel
	code      wire.Code // of a refusal
	err       error
	ended     bool
	done      chan struct{} // closed when it has ended
}

// stopping is one STOP on its way. Guarded by Robot.mu.
type stopping struct {
	kind  wire.StopKind
	sent  time.Time // when it was written first; zero: it isn't yet
	next  time.Time // when it is written again, should no answer come
	seqs  []byte    // that it was written with
	acked bool
	err   error // why it never was written
}

func newLink(p Port, baud int, now time.Time) *link {
	return &link{
		port: p, baud: baud, wake: make(chan struct{}, 1), over: make(chan struct{}), regreet: make(chan struct{}, 1),
		waiting: map[byte]*request{}, sentAt: map[uint32]time.Time{},
		began: now, alive: now, looked: now, beat: now,
	}
}

// signal holds one token in a channel of one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// patience is how long its answer may take.
func (q *request) patience() time.Duration {
	if q.answer == wire.TypeAck {
		return answerWithin
	}
	return readWithin
}

// finish ends a request.
func (q *request) finish(err error) {
	if q.ended {
		return
	}
	q.ended, q.err = true, err
	close(q.done)
}

// fail ends the link and everything that waits on it. The first reason counts.
func (l *link) fail(err error) {
	if l.err == nil {
		l.err = err
	}
	for _, q := range l.queue {
		q.finish(l.err)
	}
	for _, q := range l.waiting {
		q.finish(l.err)
	}
	for _, s := range l.stops {
		if s.sent.IsZero() && s.err == nil {
			s.err = l.err
		}
	}
	l.queue, l.stops = nil, nil
	clear(l.waiting)
	l.once.Do(func() { close(l.over) })
}

// unasked ends what isn't written yet.
func (l *link) unasked(err error) {
	for _, q := range l.queue {
		q.finish(err)
	}
	clear(l.queue)
	l.queue = l.queue[:0]
}

// void drops what a stop voids: requests bound to an older epoch and not written yet.
func (l *link) void(epoch uint64) {
	kept := l.queue[:0]
	for _, q := range l.queue {
		if q.bound && q.epoch != epoch {
			q.finish(robot.Errf(robot.CodeStopped, "mcu", "a stop came before %s was sent", q.kind))
			continue
		}
		kept = append(kept, q)
	}
	clear(l.queue[len(kept):])
	l.queue = kept
}

// answered takes the request that an ACK answers out of the waiting ones.
func (l *link) answered(seq byte, t wire.Type) *request {
	q := l.waiting[seq]
	if q == nil || q.kind != t {
		return nil
	}
	delete(l.waiting, seq)
	return q
}

// answeredBy takes out the request that waits for an answer of that type, nil if none
// does. There is at most one of a type on its way.
func (l *link) answeredBy(t wire.Type) *request {
	for seq, q := range l.waiting {
		if q.answer == t {
			delete(l.waiting, seq)
			return q
		}
	}
	return nil
}

// described answers the question for that channel, if it was asked: an answer that was
// given up, and came late, is about another one.
func (l *link) described(m wire.Channel) {
	for seq, q := range l.waiting {
		if d, ok := q.message.(wire.Describe); ok && d.Channel == m.Channel {
			delete(l.waiting, seq)
			q.channel = m
			q.finish(nil)
			return
		}
	}
}

// expire ends what wasn't answered in time.
func (l *link) expire(now time.Time) (ended bool) {
	for seq, q := range l.waiting {
		if now.After(q.due) {
			delete(l.waiting, seq)
			within := q.patience().Seconds()
			q.finish(robot.LimitErr(robot.CodeLinkTimeout, "mcu", within, within, "s", "the board didn't answer "+q.kind.String()))
			ended = true
		}
	}
	return ended
}

// acknowledge marks what of the stops an ACK with that sequence number is about.
func (l *link) acknowledge(seq byte) {
	for i, s := range l.stops {
		for _, n := range s.seqs {
			if n == seq {
				s.acked = true
				l.stops = append(l.stops[:i], l.stops[i+1:]...)
				return
			}
		}
	}
}

// foreign takes how many stops the board has counted more than before, and returns how
// many of them weren't ours. A STOP that was garbled is never counted; it is forgotten
// after a while.
func (l *link) foreign(more int, now time.Time) int {
	if now.Sub(l.owedAt) > LostAfter {
		l.owed = 0
	}
	ours := min(more, l.owed)
	l.owed -= ours
	return more - ours
}
