package hosted

import (
	"math"
	"slices"
	"time"

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
	byGrip
)

// When a leg is over and when it has gone wrong.
const (
	restSpeed  = 5e-3 // rad/s below which a joint counts as at rest
	restSpeedM = 2e-3 // m/s
	arrived    = 1e-3 // rad from the setpoint at which there is nothing to wait for
	arrivedM   = 5e-4 // m

	restTime      = 30 * time.Millisecond  // at rest and arrived
	stuckTime     = 90 * time.Millisecond  // at rest, after a fault
	patience      = 300 * time.Millisecond // at rest without arriving
	settleTimeout = 3 * time.Second        // after the setpoints have come to rest

	// settleTolerance is how far from its setpoint, rad, a joint may end for a motion to
	// count as done, beside what its feedback can't tell apart; settleToleranceM of
	// sliding joints, m. Servos hold a load by being off their setpoint, by 2 to 3°.
	settleTolerance  = 0.05
	settleToleranceM = 3e-3
	// pressTolerance is from where on a joint that is off its setpoint is taken to press
	// on something, rad; also how far outside of its limits a joint may be powered.
	pressTolerance  = 0.02
	pressToleranceM = 2e-3

	// writeTries is after how many setpoints in a row that couldn't be written a brake
	// is given up.
	writeTries = 3
)

// leg is one motion, from its first setpoint to rest. What isn't said to be the loop's is
// guarded by Engine.mu, but for done.
type leg struct {
	e *Engine
	m *robot.Motion

	path   robot.Trajectory // the way to the start with it; then the brake; then the way out of what it pressed on
	cursor *robot.Cursor
	length float64 // s, of path
	lead   float64 // s, before the motion's own time begins
	t      float64 // s into path, of the setpoint that was written last
	ticks  int     // periods since the first setpoint
	failed int     // setpoints in a row that couldn't be written

	going    bool // it may move
	braking  bool // path is a brake, or what follows one
	halted   bool // nothing more is written
	relaxing bool // path is the way to where the joints are
	took     int  // ticks when that began; 0: it didn't
	again    bool // and is to be given up as well
	max      []float64
	outside  []bool // measured beyond its limits since it began

	// offAt and heldAt are how far the joints were measured from their setpoints, and
	// where those were, when a fault ended the leg.
	offAt, heldAt []float64

	holds     bool      // the gripper stays where it has gripped something before
	stalledAt time.Time // until when the gripper followed its setpoint

	stoodAt  time.Time // when the setpoints came to rest; zero: they haven't
	resting  bool
	settled  time.Time // when a joint was measured first after that
	stillBad time.Time // when something moved last
	goodBad  time.Time // when something moved, or was away from its setpoint, last

	why     ending
	err     *robot.Error
	over    bool
	rest    bool // measured at rest; where nothing is measured: the setpoints are
	unsure  bool // nothing is known of its end
	final   robot.State
	reports reports
	done    chan struct{}
}

func (e *Engine) newLeg(m *robot.Motion) *leg {
	n := len(e.joints)
	x := &leg{e: e, m: m, max: make([]float64, n), outside: make([]bool, n), offAt: make([]float64, n), heldAt: make([]float64, n), done: make(chan struct{})}
	for i := range x.max {
		x.max[i], x.outside[i] = math.NaN(), true
	}
	x.reports.init(n)
	return x
}

// commands reports whether the leg's setpoints are on the move.
func (x *leg) commands() bool { return x.going && !x.over && !x.halted && x.t < x.length }

// end makes the leg end for a reason; the first one counts. The brake begins with the next
// period.
func (x *leg) end(why ending, err *robot.Error) {
	x.again = x.relaxing
	if x.over || x.why != toItsEnd && x.why != byGrip {
		return
	}
	x.why, x.err = why, err
	if !x.going {
		x.finish(true) // nothing was actuated
	}
}

// fail ends the leg by a fault, whatever was to end it before.
func (x *leg) fail(err *robot.Error) {
	x.again = x.relaxing
	if x.why == byFault || x.over {
		return
	}
	for i := range x.offAt {
		x.offAt[i], x.heldAt[i] = x.e.off(i), x.e.cur.set[i]
	}
	if x.why != toItsEnd {
		x.why, x.err = byFault, err
		return
	}
	x.end(byFault, err)
}

// lost ends a leg of whose end nothing can be known.
func (x *leg) lost(err *robot.Error) {
	if x.over {
		return
	}
	if x.why == toItsEnd || x.why == byGrip || x.going {
		x.why, x.err = byFault, err
	}
	x.unsure = x.going
	x.finish(!x.going)
}

func (x *leg) finish(rest bool) {
	if x.over {
		return
	}
	x.over, x.rest = true, rest
	x.e.refresh()
	x.final = x.e.snapshot(&x.e.cur)
	if x.unsure {
		claimless(&x.final)
	}
	close(x.done)
	signal(x.reports.some)
	x.e.broadcast()
	signal(x.e.wake)
}

// claimless takes from a state whatever it says of where the robot is.
func claimless(s *robot.State) {
	s.Positions, s.Velocities, s.Efforts, s.Setpoints = nil, nil, nil, nil
}

// time is how far into the motion the leg is, s: nothing on the way to its start, and
// going on after its end.
func (x *leg) time() float64 {
	return math.Max(0, float64(x.ticks)*x.e.traits.Period.Seconds()-x.lead)
}

// follow has the leg go along a path from its beginning.
func (x *leg) follow(path robot.Trajectory) {
	x.path, x.cursor, x.length, x.t = path, robot.NewCursor(path), path.Duration(), 0
	x.resting, x.stoodAt = false, time.Time{}
}

// begin plans the way: to the motion's start, and the motion; Engine.mu is held.
func (x *leg) begin() {
	e := x.e
	to := slices.Clone(x.m.Trajectory.Segments[0].Q)
	if x.holds = x.keepsGrip(); x.holds {
		to[x.gripper()] = e.gripSet
	} else {
		e.gripping = false
	}
	lead := e.way(e.cur.set, to)
	path := x.m.Trajectory
	if lead.Segments != nil {
		x.lead = lead.Duration()
		path = robot.Trajectory{Joints: path.Joints, Segments: append(lead.Segments, path.Segments...)}
	}
	x.follow(path)
	x.going = true
}

// steer turns the leg into its brake where it is to end, or has it stand; Engine.mu is held.
func (x *leg) steer(now time.Time) {
	e := x.e
	if due := e.begunAt.Add(e.traits.Period); x.ticks > 0 && x.commands() && now.Sub(due) > HeldUpAfter {
		// The joints have come to rest where they were told to be last. To go on from
		// there at the speed of then, if only to brake, would be a jolt.
		e.fail(robot.LimitErr(robot.CodeLinkTimeout, e.traits.Backend, now.Sub(due).Seconds(), HeldUpAfter.Seconds(), "s",
			"the next setpoint comes too late, this computer or the line to the hardware is too slow; the robot stands where it was told to be last"))
		x.follow(robot.Hold(e.info.Joints, e.cur.set))
		x.braking, x.relaxing, x.again = true, false, false
	}
	if x.halted || x.why == toItsEnd || x.braking && !x.again {
		return
	}
	stop, ok := robot.BrakeAlongPath(x.path, x.t, e.limits)
	if !ok {
		n := len(e.joints)
		q, v, a := make([]float64, n), make([]float64, n), make([]float64, n)
		x.cursor.Sample(x.t, q, v, a)
		stop = robot.BrakeTrajectory(e.info.Joints, q, v, a, e.limits)
	}
	x.follow(stop)
	x.braking, x.relaxing, x.again = true, false, false
	e.switchOff()
}

// advance writes the setpoint of the next period to q; Engine.mu is held. A start outside
// of a limit, which a motion may have that leads back inside, is held at the limit until
// the motion is inside.
func (x *leg) advance(q []float64) {
	x.cursor.Sample(x.t+x.e.traits.Period.Seconds(), q, nil, nil)
	for i := range q {
		q[i] = x.e.joints[i].within(q[i])
	}
	if x.holds && !x.relaxing {
		q[x.gripper()] = x.e.gripSet
	}
}

// wrote takes what became of the setpoint of this period; Engine.mu is held. Motion time
// goes on only by what was written, one period at a time.
func (x *leg) wrote(q []float64, at time.Time, err error) {
	e := x.e
	x.ticks++
	e.wroteAt = at
	if err != nil {
		x.failed++
		if x.over {
			return
		}
		e.fail(e.asError(err))
		if x.braking && x.failed >= writeTries {
			for _, s := range e.stops {
				s.fail(err)
			}
			e.stops = nil
			x.lost(e.asError(err))
		}
		return
	}
	x.failed = 0
	e.recent.add(at, q)
	copy(e.cur.set, q)
	if x.over { // it was given up meanwhile
		return
	}
	x.t = math.Min(x.t+e.traits.Period.Seconds(), x.length)
	if x.braking && !x.again {
		e.sentStops()
	}
	e.refresh()
	e.broadcast()
}

// way is a gentle way from setpoints to others: a straight line from rest to rest of four
// equal stretches of constant jerk, at a part of the limits. It is empty where nothing but
// rounding is to be made good.
func (e *Engine) way(from, to []float64) robot.Trajectory {
	// With a way of d in 4·h s: largest velocity d/(2·h), acceleration d/(2·h²), jerk d/(2·h³).
	var h float64
	for i, l := range e.limits {
		d := math.Abs(to[i] - from[i])
		if d <= robot.PositionTolerance {
			continue
		}
		h = math.Max(h, math.Max(d/(2*gentle*l.Velocity), math.Max(math.Sqrt(d/(2*gentle*l.Acceleration)), math.Cbrt(d/(2*gentle*l.Jerk)))))
	}
	if h == 0 {
		return robot.Trajectory{}
	}
	out := robot.Trajectory{Joints: e.info.Joints}
	n := len(from)
	q, v, a := slices.Clone(from), make([]float64, n), make([]float64, n)
	for _, k := range [...]struct{ t, sign float64 }{{h, 1}, {2 * h, -1}, {h, 1}} {
		s := robot.Segment{Duration: k.t}
		for i := range q {
			j := k.sign * (to[i] - from[i]) / (2 * h * h * h)
			s.Q, s.V, s.A, s.J = append(s.Q, q[i]), append(s.V, v[i]), append(s.A, a[i]), append(s.J, j)
			q[i] += k.t * (v[i] + k.t*(a[i]/2+k.t*j/6))
			v[i] += k.t * (a[i] + k.t*j/2)
			a[i] += k.t * j
		}
		out.Segments = append(out.Segments, s)
	}
	return out
}

// gentle is the part of the limits with which the ways to a start, and out of a contact,
// are made.
const gentle = 0.25
