package hosted

import (
	"slices"
	"time"

	"github.com/tau-robot/tau/robot"
)

const (
	// reportEvery is the most of a motion's time that lies between two reports of it.
	reportEvery = 40 * time.Millisecond
	// maxReports is how many may wait for whoever takes them.
	maxReports = 128
)

// reports are a motion's reports of progress on their way to whoever follows it. The loop
// puts them in without allocating anything. Guarded by Engine.mu but for some.
type reports struct {
	ring  [maxReports]view
	first int
	n     int
	last  int           // ticks of the last one
	some  chan struct{} // there are some, or the leg is over
}

func (r *reports) init(joints int) {
	for i := range r.ring {
		r.ring[i].make(joints)
	}
	r.some = make(chan struct{}, 1)
}

// report keeps a report of the leg where one is due; Engine.mu is held.
func (x *leg) report() {
	e, r := x.e, &x.reports
	every := max(1, int(reportEvery/e.traits.Period))
	if x.over || x.ticks == 0 || r.last != 0 && x.ticks-r.last < every {
		return
	}
	if r.n == maxReports {
		e.fail(robot.Errf(robot.CodeInternal, e.traits.Backend, "whoever follows the motion hasn't taken %d reports", maxReports))
		return
	}
	v := &r.ring[(r.first+r.n)%maxReports]
	v.copy(&e.cur)
	v.t = x.time()
	r.n, r.last = r.n+1, x.ticks
	signal(r.some)
}

// take takes the reports that wait; Engine.mu is held.
func (x *leg) take() []robot.Progress {
	r := &x.reports
	var out []robot.Progress
	for ; r.n > 0; r.n-- {
		v := &r.ring[r.first]
		out = append(out, robot.Progress{T: v.t, Setpoint: slices.Clone(v.set), State: x.e.snapshot(v)})
		r.first = (r.first + 1) % maxReports
	}
	return out
}
