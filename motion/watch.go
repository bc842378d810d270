package motion

import (
	"fmt"
	"math"
	"sync"

	"github.com/tau-robot/tau/robot"
)

// The bounds of the watch: a joint may be off its rehearsed course by watchBase,
// plus what it moves in watchLag at its commanded speed there, since a real servo
// lags by another time than the simulated one.
const (
	watchBaseRad = 0.05
	watchBaseM   = 0.005
	watchLag     = 0.06 // s
)

// watch compares a running motion with its rehearsal. The backend's own following
// error bound compares the robot with the command; this compares it with what the
// person was shown. A grip meets its object where the object is, so its own joint
// isn't held to the rehearsed course. A joint that searches is held to its
// commanded course until it is at its switch, and to the switch from then on. A joint
// that nothing measures is held by its setpoint, as the robot itself reports it, to its
// commanded course: that is all that can be compared.
type watch struct {
	x       *moveAction
	base    []float64
	grip    int     // the joint of a grip, which may meet its object earlier or later; else -1
	seek    int     // the joint of a search, which may find its switch earlier; else -1
	at      float64 // the switch, and how far from it the joint may get in braking, rad or m
	room    float64
	unknown bool // the searching joint was seen not to know where it is
	closed  bool // its switch has closed
	q, v, a []float64
	last    float64  // time of the last report, s
	brake   *braking // once the robot brakes; nil before
	done    bool     // a deviation was found; owned by Execute's goroutine, like seen
	seen    bool     // something was compared

	mu  sync.Mutex
	dev *robot.Error
}

func newWatch(x *moveAction) *watch {
	n := len(x.motion.Trajectory.Joints)
	grip := -1
	if x.motion.Grip != nil && x.arm.Model.Gripper != nil {
		grip = x.arm.Model.Gripper.Joint
	}
	seek, at, room := -1, 0.0, 0.0
	if s := x.motion.Seek; s != nil {
		seek, at = s.Joint, s.Switch
		for _, p := range robot.Brake(0, s.Speed, 0, x.arm.Model.Limits[seek]) {
			room += p.Duration * (p.V + p.Duration*(p.A/2+p.Duration*p.J/6))
		}
	}
	return &watch{
		x: x, grip: grip, seek: seek, at: at, room: room, base: x.arm.perJoint(watchBaseRad, watchBaseM),
		q: make([]float64, n), v: make([]float64, n), a: make([]float64, n),
	}
}

// check returns the first deviation, once; it is called from Execute's goroutine. ending
// says that the motion was told to end before its end, as the report itself may.
func (w *watch) check(p robot.Progress, ending bool) *robot.Error {
	if w.done {
		return nil
	}
	if err := w.reported(p); err != nil {
		return w.found(err)
	}
	w.seen = true
	w.x.motion.Trajectory.Sample(p.T, w.q, w.v, w.a)
	if w.brake == nil && (ending || p.State.StopEpoch > w.x.motion.Epoch || len(p.State.Faults) > 0 || p.State.EStopped) {
		w.brake = w.brakes()
	}
	for i := range w.q {
		if i == w.grip {
			continue
		}
		got, lo, hi := w.course(p, i)
		if off := math.Max(lo-got, got-hi); !(off <= 0) {
			return w.found(w.left(p.T, i, got, lo, hi))
		}
	}
	w.last = p.T
	return nil
}

// reported refuses a report that nothing can be compared with.
func (w *watch) reported(p robot.Progress) *robot.Error {
	a, n := w.x.arm, len(w.x.motion.Trajectory.Joints)
	if math.IsNaN(p.T) || math.IsInf(p.T, 0) || p.T < w.last {
		return robot.Errf(robot.CodeDeviation, a.name, "the backend reported time %g s after %g s: the motion can't be watched", p.T, w.last)
	}
	if len(a.openLoopNames()) < n && len(p.State.Positions) != n {
		return robot.Errf(robot.CodeDeviation, a.name,
			"the backend reported %d positions of %d joints at time %g s: the motion can't be watched", len(p.State.Positions), n, p.T)
	}
	if a.openLoop != nil && len(p.Setpoint) != n {
		return robot.Errf(robot.CodeDeviation, a.name,
			"the backend reported %d setpoints of %d joints at time %g s: the motion can't be watched", len(p.Setpoint), n, p.T)
	}
	return nil
}

// course returns where joint i is and between which places it may be, rad or m.
func (w *watch) course(p robot.Progress, i int) (got, lo, hi float64) {
	bound := w.base[i] + watchLag*math.Abs(w.v[i])
	var want float64
	if w.x.arm.isOpenLoop(i) {
		got, want = p.Setpoint[i], w.q[i]
	} else {
		got, want = p.State.Positions[i], traceAt(w.x.rehearsal, p.T, i)
	}
	if i == w.seek {
		// Its rehearsal began elsewhere, where the way to the switch is longest.
		want = w.q[i]
		if w.search(p.State, got, want, bound); w.closed {
			want, bound = w.at, w.base[i]+w.room
		}
	}
	lo, hi = want-bound, want+bound
	if b := w.brake; b != nil {
		b.lo[i], b.hi[i] = math.Min(b.lo[i], want), math.Max(b.hi[i], want)
		bound = math.Max(bound, b.bound[i])
		lo, hi = b.lo[i]-bound, b.hi[i]+bound
	}
	return got, lo, hi
}

// left is the error of a joint that isn't where it may be.
func (w *watch) left(t float64, i int, got, lo, hi float64) *robot.Error {
	u, bound := w.x.arm.unit(i), (hi-lo)/2
	text := "left its rehearsed course at %.2f s"
	if w.x.arm.isOpenLoop(i) {
		text = "its setpoint left its approved course at %.2f s"
	}
	return &robot.Error{
		Code: robot.CodeDeviation, Where: w.x.motion.Trajectory.Joints[i], Text: fmt.Sprintf(text, t),
		Value: &robot.Quantity{Value: math.Abs(got - (lo+hi)/2), Unit: u}, Limit: &robot.Quantity{Value: bound, Unit: u},
	}
}

// braking is where a robot may be that ends its motion early: between where it was to be
// and where a brake takes it, from the last report before to the first one after it began.
type braking struct{ lo, hi, bound []float64 }

// brakes returns the braking of a motion at the time that w.q is of.
func (w *watch) brakes() *braking {
	n := len(w.q)
	b := &braking{lo: append([]float64(nil), w.q...), hi: append([]float64(nil), w.q...), bound: make([]float64, n)}
	q, v, a := make([]float64, n), make([]float64, n), make([]float64, n)
	w.x.motion.Trajectory.Sample(w.last, q, v, a)
	names, limits := w.x.motion.Trajectory.Joints, w.x.arm.Model.Limits
	for _, at := range [...][3][]float64{{q, v, a}, {w.q, w.v, w.a}} {
		end := robot.BrakeTrajectory(names, at[0], at[1], at[2], limits).End()
		for i := range b.lo {
			b.lo[i] = math.Min(b.lo[i], math.Min(at[0][i], end[i]))
			b.hi[i] = math.Max(b.hi[i], math.Max(at[0][i], end[i]))
			b.bound[i] = math.Max(b.bound[i], w.base[i]+watchLag*math.Abs(at[1][i]))
		}
	}
	return b
}

// search notes when the switch of a search has closed: the joint then knows where it
// is. Of one that knew, or thought it did, it shows when it is at its switch and
// not where it was to be.
func (w *watch) search(st robot.State, got, want, bound float64) {
	switch {
	case unreferenced(st, w.seek):
		w.unknown = true
	case w.unknown:
		w.closed = true
	default:
		w.closed = w.closed || math.Abs(got-w.at) <= w.base[w.seek]+w.room && !(math.Abs(got-want) <= bound)
	}
}

// found keeps the first deviation.
func (w *watch) found(e *robot.Error) *robot.Error {
	w.done = true
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dev = e
	return e
}

// watched reports, after Execute, whether anything was compared.
func (w *watch) watched() bool { return w.seen }

// deviation returns what check found, or nil.
func (w *watch) deviation() *robot.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dev
}

// traceAt interpolates the rehearsed position of joint i at time t, s.
func traceAt(r robot.Rehearsal, t float64, i int) float64 {
	last := len(r.Trace) - 1
	x := t / r.SamplePeriod
	if x <= 0 {
		return r.Trace[0][i]
	}
	k := int(x)
	if k >= last {
		return r.Trace[last][i]
	}
	f := x - float64(k)
	return r.Trace[k][i]*(1-f) + r.Trace[k+1][i]*f
}

// watchable refuses a rehearsal that a motion couldn't be watched against.
func watchable(r robot.Rehearsal, joints int) error {
	if len(r.Trace) == 0 || !(r.SamplePeriod > 0) {
		return robot.Errf(robot.CodeRehearsalFailed, r.Simulator, "the rehearsal has no trace to watch the motion against")
	}
	for k, row := range r.Trace {
		if len(row) != joints {
			return robot.Errf(robot.CodeRehearsalFailed, r.Simulator, "sample %d of the rehearsal's trace has %d joints, the robot %d", k, len(row), joints)
		}
	}
	return nil
}
