package sim

import (
	"math"

	"github.com/tau-robot/tau/robot"
)

// activeFault is a scripted fault that goes away again.
type activeFault struct {
	fault int
	until float64 // motion time, s
}

// inject starts and ends the scripted faults that are due in the motion that is
// the number-th.
func (x *motion) inject(number int) {
	r := x.r
	r.adopt()
	keep := x.active[:0]
	for _, a := range x.active {
		if x.t >= a.until {
			r.setFault(a.fault, false)
			continue
		}
		keep = append(keep, a)
	}
	x.active = keep
	for i := range r.opts.Faults {
		f := &r.opts.Faults[i]
		if r.used[i] || f.Motion != 0 && f.Motion != number || x.t < f.At {
			continue
		}
		r.used[i] = true
		r.setFault(i, true)
		d := f.Duration
		if d == 0 && f.Kind == FaultKick {
			d = kickDuration
		}
		if d > 0 {
			x.active = append(x.active, activeFault{fault: i, until: x.t + d})
		}
		if f.Kind == FaultDisconnect {
			x.fail(robot.Errf(robot.CodeDisconnected, "sim", "the link to the robot was lost at %.3f s; its own watchdog stops it", x.t), false)
		}
	}
}

// Inject makes a fault act from now on, or from the motion time that it names.
// While something moves it takes effect with the next step.
func (r *Robot) Inject(f Fault) error {
	joint, err := resolve([]Fault{f}, r.tree)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending, r.pendingJoints = append(r.pending, f), append(r.pendingJoints, joint[0])
	if r.run == nil {
		r.take()
		i := len(r.opts.Faults) - 1
		if f.At == 0 && f.Motion == 0 && f.Duration == 0 && f.Kind != FaultKick && f.Kind != FaultLostSteps {
			r.used[i] = true
			if f.Kind == FaultDisconnect {
				r.cut(true)
				return nil
			}
			r.setFault(i, true)
			if f.Kind == FaultEncoder {
				r.sense(0)
			}
			r.show(false)
		}
	}
	return nil
}

// adopt takes over what Inject was given since.
func (r *Robot) adopt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.take()
}

func (r *Robot) take() {
	for i := range r.pending {
		r.opts.Faults, r.joints, r.used = append(r.opts.Faults, r.pending[i]), append(r.joints, r.pendingJoints[i]), append(r.used, false)
	}
	r.pending, r.pendingJoints = nil, nil
}

// setFault makes a scripted fault act, or ends it.
func (r *Robot) setFault(i int, on bool) {
	f, j := &r.opts.Faults[i], r.joints[i]
	value := f.Value
	if !on {
		value = -value
	}
	switch f.Kind {
	case FaultFreeze:
		r.s.frozen = on
	case FaultStuck:
		r.pl.lock[j] = on
	case FaultWeak:
		r.weak[j] = 1
		if on {
			r.weak[j] = f.Value
		}
		r.setEffort(j)
		r.pl.integ[j] = clamp(r.pl.integ[j], r.pl.effort[j])
	case FaultKick:
		r.pl.ext[j] += value
	case FaultEncoder:
		r.s.offset[j] += value
		r.pl.offset[j] += value
	case FaultLostSteps:
		r.lose[j] += value
	case FaultDisconnect:
		r.mu.Lock()
		r.cut(on)
		r.mu.Unlock()
	}
}

// cut cuts the link or brings it back; mu is held. The robot itself sees to the
// actuators that declare what a lost link does to them.
func (r *Robot) cut(lost bool) {
	if lost {
		r.switchOff(onLost)
	}
	r.lost = lost
}

// hook is something that a test does in mid-motion.
type hook struct {
	at float64
	do func()
}

// AtMotionTime makes do run once, when the next motion gets to t seconds of
// motion time, before the step that starts there. It is for tests that need a stop
// or a cancel at an exact simulated time: do runs in a goroutine of its own, and
// simulated time waits until do has returned or a Stop or Close has been called.
// Execute returns after do has; do must not wait for Execute's return, other than
// through Stop or Close. A time that isn't finite is never reached.
func (r *Robot) AtMotionTime(t float64, do func()) {
	if math.IsNaN(t) || do == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hooks = append(r.hooks, hook{at: t, do: do})
}

// fireHooks runs what is due.
func (r *Robot) fireHooks(x *motion) {
	for {
		r.mu.Lock()
		var due func()
		for i := range r.hooks {
			if r.hooks[i].at <= x.t+Step/1e3 {
				due = r.hooks[i].do
				r.hooks = append(r.hooks[:i], r.hooks[i+1:]...)
				break
			}
		}
		wake := x.run.wake
		r.mu.Unlock()
		if due == nil {
			return
		}
		done := make(chan struct{})
		x.run.hooks.Add(1)
		go func() {
			defer x.run.hooks.Done()
			defer close(done)
			due()
		}()
		select {
		case <-done:
		case <-wake:
		}
	}
}
