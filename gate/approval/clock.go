package approval

import (
	"time"

	"github.com/tau-robot/tau/gate"
)

// reading is one look at the clocks. A span of time has passed as soon as one of
// them says so: the wall clock or, in the same start of the machine, the one that
// goes on in its sleep and that nobody can set.
type reading struct {
	wall time.Time
	boot time.Duration
	id   string // of the start of the machine; "": there is no such clock
}

func (o Options) read(now time.Time) reading {
	r := reading{wall: now}
	if o.Boot != nil && o.BootID != "" {
		r.boot, r.id = o.Boot(), o.BootID
	}
	return r
}

// over reports whether the span from r to end has passed at now. Where the boot
// clock can't tell, because the machine has been started since, a wall clock
// before r has been set back and says nothing: the span counts as passed.
func (r reading) over(end time.Time, now reading) bool {
	if gate.Expired(now.wall, end) {
		return true
	}
	if r.id != "" && r.id == now.id {
		return now.boot-r.boot >= end.Round(0).Sub(r.wall.Round(0))
	}
	return now.wall.Before(r.wall.Add(-clockSlack))
}

// clockSlack is how far two readings of a clock that nobody has set may seem to
// stand in the wrong order: they are taken by different callers, who then wait.
const clockSlack = 5 * time.Second
