package sim

import (
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/robot"
)

// fenceTolerance is by how much, m, the tip may get beyond the workspace between two
// looks at where it is.
const fenceTolerance = 1e-4

// fenceLooks bounds the looks at one step of a robot whose joints reach so far that
// the bound of what they move is none.
const fenceLooks = 4096

// fence watches that the tip of a robot stays in a box of the root frame, as the
// contact monitor watches distances: what the joints' displacements can move the tip
// by, at most, is held against how far it was from the box's faces when last looked
// at. A tip that begins outside, or at a face, may only come in, but for what a servo
// settles.
//
// Not safe for concurrent use.
type fence struct {
	lo, hi vec3
	mon    *monitor
	name   string // of the tip
	body   int
	at     vec3      // the tip in its body
	reach  []float64 // by active joint: m of the tip for each rad or m, at most
	floor  [6]float64
	slack  bool    // a floor is below 0, so that it has to follow the tip
	room   float64 // to the nearest face when last looked at, less what was moved since
	prev   []float64
}

// checkBox refuses a box that isn't one.
func checkBox(b *[2]mgl64.Vec3) error {
	if b == nil {
		return nil
	}
	for k := range b[0] {
		if lo, hi := b[0][k], b[1][k]; !(lo < hi) || math.IsInf(lo, 0) || math.IsInf(hi, 0) {
			return robot.Errf(robot.CodeInvalidArgument, "workspace", "the %c of its corners are %g and %g m: finite numbers, the lower one first", "xyz"[k], lo, hi)
		}
	}
	return nil
}

func newFence(r *Robot, box *[2]mgl64.Vec3) *fence {
	t := r.tree
	tip := r.opts.Model.Tip
	f := &fence{
		lo: box[0], hi: box[1], mon: r.mon, name: r.opts.Model.Links[tip].Name,
		body: t.linkOf[tip], at: t.place[tip].P, reach: make([]float64, t.n), prev: make([]float64, t.n),
	}
	point := item{body: f.body, centre: f.at, shape: &shape{}}
	lever := r.mon.levers(&point)
	for b := f.body; b >= 0; b = t.bodies[b].parent {
		f.reach[t.bodies[b].active] += math.Abs(t.bodies[b].mult) * lever[b]
	}
	return f
}

// rooms returns how far the tip is inside of each face at q, below 0 outside, and
// where it is.
func (f *fence) rooms(q []float64) (rooms [6]float64, tip vec3) {
	tip = f.at
	if f.body >= 0 {
		f.mon.pose(q)
		tip = f.mon.d.world[f.body].apply(f.at)
	}
	for k := range 3 {
		rooms[k], rooms[3+k] = tip[k]-f.lo[k], f.hi[k]-tip[k]
	}
	return rooms, tip
}

// least is the room to the face that leaves least of it.
func (f *fence) least(rooms *[6]float64) float64 {
	least := math.Inf(1)
	for k := range rooms {
		least = math.Min(least, rooms[k]-f.floor[k])
	}
	return least
}

// start begins a motion at q.
func (f *fence) start(q []float64) {
	rooms, _ := f.rooms(q)
	for k := range rooms {
		f.floor[k] = 0
		if rooms[k] < deeper { // what a servo settles may take it outside
			f.floor[k] = math.Min(0, rooms[k]) - deeper
		}
	}
	f.room, f.slack = f.least(&rooms), f.floor != [6]float64{}
}

// advance accounts for one step of the joints by dq to q, which ends at time t, and
// returns how the tip left the workspace in it, nil if it didn't.
func (f *fence) advance(q, dq []float64, t float64) *robot.Error {
	var by float64
	for j, r := range f.reach {
		by += r * math.Abs(dq[j])
	}
	if f.room -= by; by == 0 || f.room > 0 && !f.slack {
		return nil
	}
	// The bound doesn't rule it out, so each part of the step is looked at closely.
	n := math.Min(math.Ceil(by/fenceTolerance), fenceLooks)
	for k := 1.0; k <= n; k++ {
		for i := range f.prev {
			f.prev[i] = q[i] - (1-k/n)*dq[i]
		}
		rooms, tip := f.rooms(f.prev)
		if f.room = f.least(&rooms); f.room < 0 {
			return f.left(&rooms, tip, t)
		}
		for i := range rooms {
			f.floor[i] = math.Max(f.floor[i], math.Min(0, rooms[i]-deeper))
		}
	}
	f.slack = f.floor != [6]float64{}
	return nil
}

// left says by which face the tip is outside.
func (f *fence) left(rooms *[6]float64, tip vec3, t float64) *robot.Error {
	worst := 0
	for k := range rooms {
		if rooms[k]-f.floor[k] < rooms[worst]-f.floor[worst] {
			worst = k
		}
	}
	axis, limit := worst%3, f.lo[worst%3]
	if worst >= 3 {
		limit = f.hi[axis]
	}
	e := robot.LimitErr(robot.CodeWorkspace, f.name, tip[axis], limit, "m",
		fmt.Sprintf("%s leaves the workspace at %.3f s", f.name, t))
	e.Value.Name, e.Limit.Name = "xyz"[axis:axis+1], "xyz"[axis:axis+1]
	return e
}
