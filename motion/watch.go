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
// commanded course until it is at its switch, and to the switch from then on.
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
	done    bool // a deviation was found; owned by Execute's goroutine, like seen
	seen    bool // something was compared

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

// check returns the first deviation, once; it is called from Execute's goroutine.
func (w *watch) check(p robot.Progress) *robot.Error {
	if w.done || p.State.Positions == nil && !w.x.arm.info.MeasuresPosition {
		return nil // an open-loop robot measures nothing that could be compared
	}
	names := w.x.motion.Trajectory.Joints
	if len(p.State.Positions) != len(names) || math.IsNaN(p.T) || math.IsInf(p.T, 0) {
		return w.found(robot.Errf(robot.CodeDeviation, w.x.arm.name,
			"the backend reported %d positions of %d joints at time %g s: the motion can't be watched", len(p.State.Positions), len(names), p.T))
	}
	w.seen = true
	r := w.x.rehearsal
	w.x.motion.Trajectory.Sample(p.T, w.q, w.v, w.a)
	for i, got := range p.State.Positions {
		if i == w.grip {
			continue
		}
		want := traceAt(r, p.T, i)
		bound := w.base[i] + watchLag*math.Abs(w.v[i])
		if i == w.seek {
			// Its rehearsal began elsewhere, where the way to the switch is longest.
			want = w.q[i]
			if w.search(p.State, got, want, bound); w.closed {
				want, bound = w.at, w.base[i]+w.room
			}
		}
		if d := math.Abs(got - want); !(d <= bound) {
			u := w.x.arm.unit(i)
			e := &robot.Error{
				Code: robot.CodeDeviation, Where: names[i],
				Text:  fmt.Sprintf("left its rehearsed course at %.2f s", p.T),
				Value: &robot.Quantity{Value: d, Unit: u}, Limit: &robot.Quantity{Value: bound, Unit: u},
			}
			return w.found(e)
		}
	}
	return nil
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
