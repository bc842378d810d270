package mcu

import (
	"fmt"
	"math"
	"time"

	"github.com/tau-robot/tau/drivers/mcu/stream"
	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
)

// ending is why a leg ends before its trajectory does.
type ending uint8

const (
	toItsEnd ending = iota
	byStop
	byCancel
	byClose
	byFault
	bySwitch
)

// When a leg is over and when it has gone wrong. Times are ms of the board's clock.
const (
	restSpeed     = 5e-3 // rad/s below which a joint counts as at rest
	restSpeedM    = 2e-3 // m/s
	arrived       = 1e-3 // rad from the setpoint at which there is nothing to wait for
	arrivedM      = 5e-4 // m
	restTime      = 30   // at rest and arrived
	patience      = 300  // at rest without arriving
	settleTimeout = 3000 // after the setpoints have come to rest
	// settleTolerance is how far from its setpoint, rad, a joint may end for the motion
	// to count as done, beside what its feedback can't tell apart; settleToleranceM of
	// sliding joints, m.
	settleTolerance  = 0.02
	settleToleranceM = 2e-3

	// unknownAfter is the silence after which it isn't waited for any more what became
	// of a leg, and endWithin how long one may take to end that was to be ended.
	unknownAfter = time.Second
	endWithin    = 15 * time.Second
	// beginWithin is how long a board may take to be given what it needs to start, and
	// stuckAfter how long one may make no ms of a motion that it began and say nothing of its
	// end: longer than any brake and what is waited for after it.
	beginWithin = 5 * time.Second
	stuckAfter  = 20 * time.Second
	// maxReports is how many reports of progress may wait for whoever takes them.
	maxReports = 1024
)

// leg is one motion of the board, from BEGIN to rest. Guarded by Robot.mu but for done.
type leg struct {
	r     *Robot
	id    uint16
	epoch uint64
	stops uint16
	seek  int // the active joint that looks for its switch, -1: none
	plan  *stream.Plan
	// bounds is MaxDeviation; nil: nothing is watched.
	bounds  []float64
	max     []float64 // tracking errors, NaN of a joint that isn't measured
	outside []bool    // it was measured beyond its limits when the leg began

	begun    bool // BEGIN was chosen to be written
	flows    bool // the board has said yes to BEGIN: pieces may be written
	next     int  // the piece that is written next
	part     int  // its frame
	sent     uint32
	primed   bool // GO may be said
	going    bool // GO was chosen to be written: it may move
	moved    bool // the board has said that it does, or did
	zero     uint32
	lastT    uint32
	lastMS   uint32
	reports  []robot.Progress
	wentAt   time.Time
	endedAt  time.Time     // when it was to be ended
	reached  uint32        // the largest motion_ms
	idle     time.Duration // since that rose, or it was to be ended, as send has seen it
	resting  bool
	settled  uint32 // the board's ms at which the setpoints came to rest
	stillBad uint32 // at which something moved last
	goodBad  uint32 // at which something moved, or was away from its setpoint, last

	// offAt and heldAt are how far the joints were measured from their setpoints, and
	// where those were, when a fault of our own ended the leg.
	offAt, heldAt []float64

	why    ending
	err    *robot.Error
	over   bool
	rest   bool // measured at rest; where nothing is measured: the setpoints are
	unsure bool // nothing is known of its end
	ms     uint32
	stopMS uint32
	final  robot.State
	done   chan struct{}
}

// end makes the leg end for a reason; the first one counts.
func (x *leg) end(why ending, err *robot.Error) {
	if x.over || x.why != toItsEnd && x.why != bySwitch {
		return
	}
	x.why, x.err, x.endedAt = why, err, time.Now()
	x.idle, x.stopMS = 0, x.r.status.BoardMS
	if x.going {
		return
	}
	if x.begun && x.r.link != nil {
		x.r.queueStop(x.r.link, wire.StopControlled) // the board may have begun it
	}
	x.finish(true) // nothing was actuated
}

// cut ends a leg of whose end nothing can be known.
func (x *leg) cut(err *robot.Error) {
	if x.over {
		return
	}
	if x.why == toItsEnd || x.why == bySwitch || x.going {
		x.why, x.err = byFault, err
	}
	x.unsure = x.going
	x.finish(!x.going)
}

// refused takes a piece's refusal. Once the motion has started the board has latched
// why, and says so in STATUS.
func (x *leg) refused(err *robot.Error) {
	if !x.going {
		x.end(byFault, err)
	}
}

// fail latches a fault of our own, has the board stop, and ends the leg.
func (x *leg) fail(err *robot.Error) {
	if x.why == byFault || x.over {
		return
	}
	r := x.r
	r.latch(err)
	x.offAt, x.heldAt = make([]float64, len(r.axes)), make([]float64, len(r.axes))
	for i := range r.axes {
		x.offAt[i], x.heldAt[i] = r.off(i), r.setpoint(i)
	}
	x.why = toItsEnd // whatever was to end it before
	x.end(byFault, err)
	if r.link != nil {
		r.queueStop(r.link, wire.StopControlled)
	}
}

func (x *leg) finish(rest bool) {
	if x.over {
		return
	}
	x.over, x.rest, x.ms = true, rest, x.r.status.BoardMS
	x.final = x.r.snapshot()
	if x.unsure {
		x.final.Positions, x.final.Velocities, x.final.Setpoints = nil, nil, nil
	}
	close(x.done)
	x.r.broadcast()
}

// judge looks at what the board has just said of a leg; Robot.mu is held.
func (r *Robot) judge() {
	x, s := r.leg, &r.status
	if x.over || !x.going {
		return
	}
	running := s.Motion == x.id && !s.State.AtRest()
	if !x.moved && s.Motion == x.id && (running || s.MotionMS > 0) {
		x.moved, x.zero = true, s.BoardMS-s.MotionMS
	}
	if x.moved {
		x.watch()
		x.report()
	}
	switch {
	case running:
		x.resting = false
	case !x.moved && (x.why == toItsEnd || !r.heeded()):
		// GO, or a stop, is on its way.
	case !x.moved:
		x.finish(!r.moving())
	default:
		x.ended()
		x.settle()
	}
}

// heeded reports whether the board has answered every stop; Robot.mu is held.
func (r *Robot) heeded() bool { return r.link != nil && len(r.link.stops) == 0 }

// ended finds out why the setpoints have come to rest.
func (x *leg) ended() {
	r, s := x.r, &x.r.status
	if x.why != toItsEnd || s.Fault != wire.FaultNone {
		return
	}
	switch {
	case x.seek >= 0 && s.Flags.Has(wire.FlagFound):
		x.why = bySwitch
	case s.MotionMS < uint32(x.plan.Ticks()):
		x.fail(robot.LimitErr(robot.CodeInternal, "mcu", float64(s.MotionMS)/1000, float64(x.plan.Ticks())/1000, "s",
			fmt.Sprintf("the board stands still (%s) before the motion's end and doesn't say why", s.State)))
	case r.heeded() && x.next < x.plan.Len():
		x.fail(robot.Errf(robot.CodeInternal, "mcu", "the board has ended a motion that it doesn't have whole"))
	}
}

// settle waits until what is measured is at rest where it should be, and says what it
// is if it isn't.
func (x *leg) settle() {
	r, now := x.r, x.r.status.BoardMS
	if !x.resting {
		x.resting = true
		x.settled, x.stillBad, x.goodBad = now, now, now
	}
	moving, away := r.moving(), r.away()
	if moving {
		x.stillBad = now
	}
	if moving || away >= 0 {
		x.goodBad = now
	}
	since := func(ms uint32) int32 { return int32(now - ms) }
	late, patient := since(x.settled) > settleTimeout, since(x.stillBad) > patience
	switch {
	case since(x.goodBad) >= restTime:
		x.finish(true)
	case x.why == toItsEnd || x.why == bySwitch:
		if patient || late {
			x.notThere(moving)
		}
	case late:
		x.finish(!moving)
	case patient, x.why == byFault && since(x.stillBad) >= 3*restTime:
		x.finish(true) // a joint that doesn't follow is at rest where it is
	}
}

// notThere ends a leg that came to rest away from its end, or didn't come to rest.
func (x *leg) notThere(moving bool) {
	r := x.r
	if moving {
		x.fail(robot.LimitErr(robot.CodeUnknownOutcome, "mcu", settleTimeout/1000, settleTimeout/1000, "s", "the robot didn't come to rest in time"))
		x.finish(false)
		return
	}
	for i := range r.axes {
		if d, a := r.off(i), &r.axes[i]; d > a.tolerance() {
			x.fail(robot.LimitErr(robot.CodeDeviation, a.hw.Name, d, a.tolerance(), a.unit, a.hw.Name+" came to rest away from its end"))
		}
	}
	x.finish(true)
}

// tolerance is how far from where it should be a joint may be at rest.
func (a *axis) tolerance() float64 {
	if a.unit == "m" {
		return settleToleranceM + 2*a.smallest
	}
	return settleTolerance + 2*a.smallest
}

// off is how far a joint is measured from its setpoint, NaN if it isn't; Robot.mu is held.
func (r *Robot) off(i int) float64 {
	q := r.measured.latest()
	if q == nil {
		return math.NaN()
	}
	return math.Abs(q[i] - r.setpoint(i))
}

// moving reports whether anything is measured to move; Robot.mu is held.
func (r *Robot) moving() bool {
	for i, v := range r.speeds {
		still := restSpeed
		if r.axes[i].unit == "m" {
			still = restSpeedM
		}
		if math.Abs(v) > still {
			return true
		}
	}
	return false
}

// away is a joint that isn't measured at its setpoint, -1 if all are; Robot.mu is held.
func (r *Robot) away() int {
	for i := range r.axes {
		near := arrived
		if r.axes[i].unit == "m" {
			near = arrivedM
		}
		if r.off(i) > near+1.5*r.axes[i].smallest {
			return i
		}
	}
	return -1
}

// watch compares what is measured with what it should be.
func (x *leg) watch() {
	r := x.r
	for i := range r.axes {
		a := &r.axes[i]
		if r.open[i] {
			continue
		}
		if !r.valid[i] {
			x.fail(r.unmeasured(i))
			return
		}
		off := r.off(i)
		if math.IsNaN(x.max[i]) || off > x.max[i] {
			x.max[i] = off
		}
		if x.bounds == nil || x.why != toItsEnd {
			continue
		}
		if off > x.bounds[i] {
			x.fail(robot.LimitErr(robot.CodeDeviation, a.hw.Name, off, x.bounds[i], a.unit, a.hw.Name+" is off its setpoint"))
			return
		}
		q := r.measured.latest()[i]
		in := math.Max(a.limits.Lower, math.Min(a.limits.Upper, q))
		if beyond := math.Abs(q-in) > a.tolerance(); !beyond {
			x.outside[i] = false
		} else if !x.outside[i] && x.seek < 0 {
			x.fail(robot.LimitErr(robot.CodeJointLimit, a.hw.Name, q, in, a.unit, a.hw.Name+" is measured out of its limits"))
			return
		}
	}
}

// report keeps a report for whoever follows the motion.
func (x *leg) report() {
	r, s := x.r, &x.r.status
	if len(x.reports) >= maxReports {
		x.fail(robot.Errf(robot.CodeInternal, "mcu", "whoever follows the motion hasn't taken %d reports", maxReports))
		return
	}
	t := s.MotionMS
	if s.State != wire.Moving {
		t = x.lastT + (s.BoardMS - x.lastMS) // the board's count stands still from a brake on
	}
	x.lastT, x.lastMS = t, s.BoardMS
	p := robot.Progress{T: x.time(t), State: r.snapshot()}
	p.Setpoint = append(p.Setpoint, p.State.Setpoints...)
	x.reports = append(x.reports, p)
}

// time is how far into the trajectory so many ms of the leg are, s: nothing on the way
// to its start, and going on after its end.
func (x *leg) time(ms uint32) float64 {
	lead := uint32(x.plan.Lead())
	return float64(max(ms, lead)-lead) / 1000
}

// duration is how long it took from the first actuation to rest, s of the board's time,
// or of the host's where that isn't known.
func (x *leg) duration() float64 {
	switch {
	case x.wentAt.IsZero():
		return 0
	case x.unsure || !x.moved:
		return time.Since(x.wentAt).Seconds()
	}
	return float64(int32(x.ms-x.zero)) / 1000
}

// silent is called while a leg is on its way and the board says nothing; Robot.mu is
// held.
func (r *Robot) silent(now time.Time) {
	x := r.leg
	switch {
	case x.over:
	case !x.going:
		x.end(byFault, robot.LimitErr(robot.CodeStaleState, "mcu", r.link.quiet.Seconds(), StaleAfter.Seconds(), "s", "the board says nothing"))
	case x.why == toItsEnd || x.why == bySwitch:
		x.fail(robot.LimitErr(robot.CodeLinkTimeout, "mcu", r.link.quiet.Seconds(), StaleAfter.Seconds(), "s", "the board has said nothing in mid-motion"))
	case r.link.quiet > unknownAfter || now.Sub(x.endedAt) > endWithin:
		x.unsure = true
		x.finish(false)
	}
}

// overdue is called every few ms while a leg is on its way: whatever the board says, it
// comes to an end. Robot.mu is held.
func (r *Robot) overdue(since time.Duration) {
	x, s := r.leg, &r.status
	if x.over {
		return
	}
	ended := x.why != toItsEnd && x.why != bySwitch
	x.idle += since
	if s.Motion == x.id && s.MotionMS > x.reached && s.MotionMS <= uint32(x.plan.Ticks()) && !ended {
		x.reached, x.idle = s.MotionMS, 0
	}
	switch {
	case ended:
		if x.idle > endWithin {
			x.unsure = true
			x.finish(false)
		}
	case !x.going:
		if x.idle > beginWithin {
			x.end(byFault, robot.LimitErr(robot.CodeLinkTimeout, "mcu", x.idle.Seconds(), beginWithin.Seconds(), "s", "the board doesn't take enough of the motion to begin it"))
		}
	case x.idle > stuckAfter || !x.moved && x.idle > beginWithin:
		x.fail(robot.Errf(robot.CodeLinkTimeout, "mcu", "for %.3g s the motion has neither gone on nor ended (the board says %s)", x.idle.Seconds(), s.State))
	}
}

// nextPiece is the frame of the motion that may be written now, or when there may be one;
// Robot.mu is held.
func (r *Robot) nextPiece(l *link, buf []byte, now time.Time) (frame []byte, at time.Time) {
	x := r.leg
	if x == nil || x.over || !x.flows || x.why != toItsEnd || x.epoch != r.epoch || x.next == x.plan.Len() {
		return nil, time.Time{}
	}
	ticks, knots, last := x.plan.Piece(x.next)
	if x.part == 0 && !x.fits(ticks) {
		switch {
		case x.primed:
		case x.sent >= wire.MinStart:
			x.primed = true
			r.broadcast()
		case r.status.Motion == x.id && byte(x.next) == r.status.Accepted: // and it won't get any more
			x.end(byFault, robot.LimitErr(robot.CodeNotSupported, "mcu", float64(x.sent)/1000, float64(wire.MinStart)/1000, "s",
				"the board's queue holds too little of this motion to begin it; run it more slowly"))
		}
		return nil, time.Time{} // the next STATUS says whether there is room
	}
	if at = l.pieceAt; at.Before(l.free) {
		at = l.free
	}
	if now.Before(at) {
		return nil, at
	}
	first := x.part * wire.MaxKnots
	end := min(first+wire.MaxKnots, len(knots))
	seg := wire.Segment{Index: byte(x.next), Ticks: byte(ticks), First: byte(first), Last: last, Knots: knots[first:end]}
	frame, err := seg.Append(buf, l.seq)
	if err != nil {
		x.fail(robot.Errf(robot.CodeInternal, "mcu", "piece %d of the motion can't be sent: %w", x.next, err))
		return nil, time.Time{}
	}
	l.seq++
	x.part++
	if end == len(knots) {
		x.next, x.part, x.sent = x.next+1, 0, x.sent+uint32(ticks)
		if !x.primed && (x.sent >= primed || x.next == x.plan.Len()) {
			x.primed = true
			r.broadcast()
		}
	}
	return frame, time.Time{}
}

// fits reports whether the board has room for one more piece, in bytes and in motion.
func (x *leg) fits(ticks int) bool {
	r, s := x.r, &x.r.status
	free, accepted, at := int(r.board.hello.Queue), byte(0), uint32(0)
	if s.Motion == x.id {
		free, accepted, at = int(s.Free), s.Accepted, s.MotionMS
	}
	inFlight := int(byte(x.next) - accepted)
	room := free - (inFlight+1)*wire.PieceBytes(int(r.board.hello.Joints))
	return room >= 0 && x.sent+uint32(ticks) <= at+ahead
}
