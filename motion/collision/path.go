package collision

import (
	"fmt"
	"math"

	"github.com/tau-robot/tau/robot"
)

const (
	// farAway is the distance above which any lower bound is good enough to choose
	// the next instant, m.
	farAway = 0.02
	// joinTolerance bounds the jump between two segments of a trajectory, rad or m.
	joinTolerance = 1e-7
	// maxSteps bounds the evaluated instants of one path, so that every path is
	// answered. A path of 10 m at the default resolution can't need as many.
	maxSteps = 200_000
)

// data is the scratch of one call.
type data struct {
	frames []transform
	q      []float64
	zero   []float64
	speed  []float64 // bound on each joint's speed during a piece
	extent []float64 // bound on |q| during the path
	// lever bounds how much a pair's distance can shrink for each unit that a joint
	// moves, by pair and then by joint; top is the largest of all pairs.
	lever, top []float64
	// travel is how far each joint can have moved, in any pieces, that slack
	// doesn't know of yet; least is the smallest slack less what that can cost.
	travel []float64
	least  float64
	// By pair: how much its distance may shrink before it has to be looked at
	// again; the distance it needs when it is; how fast it can shrink; whether it
	// was in contact at the start.
	slack, need, rate []float64
	contact           []bool
	spheres           []bool // of a pair in contact, that its spheres stand for its meshes
	starting          bool   // the start is being evaluated
	exactly           bool   // the last pair was measured exactly, body by body, as near says
	near              []near
	deepest           float64 // the least gap that those of its bodies need that start too deep
	// Of each pair, its distance at the start if it was in contact; of each joint,
	// how far it has moved in all.
	first, moved []float64
	best         robot.Clearance
	steps        int
	unit         string // what a time along the path is called
}

// piece is a stretch of a path, q = q + v·t + a·t²/2 + j·t³/6 for t in 0 to length.
type piece struct {
	q, v, a, j []float64
	length     float64
}

func (p *piece) at(t float64, q []float64) {
	for i := range q {
		q[i] = p.q[i] + t*(p.v[i]+t*(p.a[i]/2+t*p.j[i]/6))
	}
}

// Check evaluates one configuration. It returns the smallest clearance and
// between which bodies, nil if there is nothing that could touch. The error
// names the pair that is farthest below its margin: SELF_COLLISION,
// SCENE_COLLISION or ZONE_NOT_GRANTED; the clearance is returned with it. A pair
// that is in contact where With was told that the motion starts needs no more than
// it has there.
func (c *Checker) Check(q []float64) (*robot.Clearance, error) {
	if err := c.checkVector("q", q); err != nil {
		return nil, err
	}
	d := c.take("")
	defer c.pool.Put(d)
	copy(d.q, q)
	for i := range c.pairs {
		p := &c.pairs[i]
		d.need[i] = p.margin
		if d.contact[i], d.spheres[i] = p.started, p.spheres; p.started {
			d.need[i] = p.least
		}
	}
	err := c.evaluateAll(d, 0)
	return d.result(), err
}

// CheckSegment checks the straight line in joint space between two
// configurations, all of it. Clearance.At is the fraction of the way.
func (c *Checker) CheckSegment(from, to []float64) (*robot.Clearance, error) {
	if err := c.checkVector("from", from); err != nil {
		return nil, err
	}
	if err := c.checkVector("to", to); err != nil {
		return nil, err
	}
	d := c.take("of the way")
	defer c.pool.Put(d)
	delta := make([]float64, len(from))
	for i := range delta {
		delta[i] = to[i] - from[i]
	}
	line := piece{q: from, v: delta, a: d.zero, j: d.zero, length: 1}
	line.stretch(d.extent)
	err := c.start(d, from)
	if err == nil {
		err = c.follow(d, &line, 0)
	}
	if err == nil {
		copy(d.q, to)
		err = c.end(d, 1)
	}
	return d.result(), err
}

// CheckTrajectory checks a whole trajectory. Clearance.At is in s.
//
// It guarantees that at every instant each pair is apart by its margin less the
// resolution. A pair that is nearer than its margin at the start, by StartContact
// and the thickness of its bodies at most (DefaultStartContact, StartNoise), may only open: its gap never falls below the largest it has had by more
// than ContactTolerance, until it has reached its margin; from then on it is a pair
// like the others. A pair that overlaps at the start by more than ContactTolerance
// must gain as much by the end unless the path hardly moves it: along inside
// another body isn't out. What a link gains and loses again while it slides along
// a body, within half the margin, may go unnoticed. Where a mesh is one of the two,
// the gap is that of its spheres.
func (c *Checker) CheckTrajectory(tr robot.Trajectory) (*robot.Clearance, error) {
	if err := c.checkTrajectory(tr); err != nil {
		return nil, err
	}
	d := c.take("s")
	defer c.pool.Put(d)
	if len(tr.Segments) == 0 {
		return nil, robot.Errf(robot.CodeInvalidArgument, "trajectory", "has no segments")
	}
	for i := range tr.Segments {
		s := &tr.Segments[i]
		(&piece{q: s.Q, v: s.V, a: s.A, j: s.J, length: s.Duration}).stretch(d.extent)
	}
	if err := c.start(d, tr.Segments[0].Q); err != nil {
		return d.result(), err
	}
	var t float64
	for i := range tr.Segments {
		s := &tr.Segments[i]
		p := piece{q: s.Q, v: s.V, a: s.A, j: s.J, length: s.Duration}
		if err := c.follow(d, &p, t); err != nil {
			return d.result(), err
		}
		t += s.Duration
		p.at(s.Duration, d.q)
		if i+1 < len(tr.Segments) {
			for k, x := range tr.Segments[i+1].Q {
				if math.Abs(x-d.q[k]) > joinTolerance {
					return d.result(), robot.Errf(robot.CodeInvalidArgument, c.names[k],
						"trajectory jumps by %g at %g s", x-d.q[k], t)
				}
			}
		}
	}
	err := c.end(d, t)
	return d.result(), err
}

func (c *Checker) take(unit string) *data {
	d := c.pool.Get().(*data)
	d.best = robot.Clearance{Distance: math.Inf(1)}
	d.steps = 0
	d.unit = unit
	d.starting = false
	clear(d.contact)
	clear(d.extent)
	clear(d.travel)
	clear(d.moved)
	return d
}

func (d *data) result() *robot.Clearance {
	if math.IsInf(d.best.Distance, 1) {
		return nil
	}
	b := d.best
	return &b
}

// begin makes the measures that follow those of a start at q.
func (c *Checker) begin(d *data, q []float64) {
	copy(d.q, q)
	for i := range c.pairs {
		d.need[i] = c.pairs[i].margin - c.opts.StartContact
		d.contact[i] = true // until its distance says that it isn't
	}
	d.starting = true
}

// start evaluates all pairs at the beginning of a path and lowers what a pair
// needs that is in contact by no more than it may be. d.extent is known.
func (c *Checker) start(d *data, q []float64) error {
	c.begin(d, q)
	if err := c.evaluateAll(d, 0); err != nil {
		return err
	}
	d.starting = false
	for i := range c.pairs {
		d.first[i] = d.slack[i] + d.need[i] // settle has spread it over the two
		if d.need[i] < c.pairs[i].margin {
			d.first[i] -= c.contactResolution()
		}
	}
	c.levers(d)
	return nil
}

// end evaluates all pairs at the end of a path, and refuses one that began inside
// another body and moved along in there instead of out.
func (c *Checker) end(d *data, at float64) error {
	if err := c.evaluateAll(d, at); err != nil {
		return err
	}
	dof := len(c.names)
	for i := range c.pairs {
		if !d.contact[i] || d.first[i] >= -ContactTolerance || d.need[i] >= c.pairs[i].margin {
			continue
		}
		gained := d.slack[i] + d.need[i] - c.contactResolution() - d.first[i]
		if gained < ContactTolerance && dotn(d.lever[i*dof:(i+1)*dof], d.moved) > 2*ContactTolerance {
			d.need[i] = d.first[i] + ContactTolerance
			return c.failure(d, i, d.first[i]+gained, at)
		}
	}
	return nil
}

// evaluateAll evaluates all pairs at d.q and reports the worst that fails.
func (c *Checker) evaluateAll(d *data, at float64) error {
	c.kin.FrameFK(d.frames, d.q)
	// The pair that looks nearest comes first: what is known to be farther away
	// than it then needs no close look.
	nearest, bound := -1, math.Inf(1)
	for i := range c.pairs {
		if b := c.clearance(d, &c.pairs[i], math.Inf(-1)); b < bound {
			nearest, bound = i, b
		}
	}
	if nearest >= 0 {
		c.evaluate(d, nearest, at)
	}
	worst, depth, gap := -1, 0.0, 0.0
	for i := range c.pairs {
		if dist := c.evaluate(d, i, at); dist < d.need[i] && (worst < 0 || d.need[i]-dist > depth) {
			worst, depth, gap = i, d.need[i]-dist, dist
		}
	}
	if worst >= 0 {
		return c.failure(d, worst, gap, at)
	}
	for i := range c.pairs {
		c.settle(d, i, d.slack[i])
	}
	return nil
}

// evaluate measures a pair, notes the smallest distance, and leaves the pair's
// distance in slack.
func (c *Checker) evaluate(d *data, i int, at float64) float64 {
	p := &c.pairs[i]
	dist := c.measure(d, i, max(d.best.Distance, farAway, 2*p.margin))
	if dist < d.best.Distance {
		d.best = robot.Clearance{Distance: dist, A: p.a, B: p.b, At: at}
	}
	d.slack[i] = dist
	return dist
}

// settle turns a measured distance into what the pair needs from now on and how
// much of the distance may be used up before the next look.
func (c *Checker) settle(d *data, i int, dist float64) {
	resolution := c.opts.Resolution
	if m := c.pairs[i].margin; dist >= m {
		d.need[i] = m
	} else if d.need[i] < m {
		resolution = c.contactResolution()
		d.need[i] = max(d.need[i], dist-resolution)
	}
	d.slack[i] = dist - d.need[i] + resolution
}

// levers bounds how far each joint can move the two bodies of each pair towards
// each other. It knows how far the sliding joints of the whole path reach.
func (c *Checker) levers(d *data) {
	dof := len(c.names)
	clear(d.lever)
	clear(d.top)
	d.least = math.Inf(1)
	for i := range c.pairs {
		p := &c.pairs[i]
		lever := d.lever[i*dof : (i+1)*dof]
		chainLevers(lever, d.extent, p.up, c.covers[p.body].reach)
		if p.other >= 0 {
			chainLevers(lever, d.extent, p.down, c.covers[p.other].reach)
		}
		for k, l := range lever {
			d.top[k] = max(d.top[k], l)
		}
		d.least = min(d.least, d.slack[i])
	}
}

// chainLevers adds what each joint of a chain contributes to the speed of the
// fastest point of a body relative to the link where the chain ends. A point of a
// body is no farther from a joint above it than the body's reach and the levers
// between them.
func chainLevers(lever, extent []float64, chain []step, reach float64) {
	for i := range chain {
		s := &chain[i]
		if s.active >= 0 {
			if s.slide {
				lever[s.active] += s.scale
				reach += s.scale*extent[s.active] + s.offset
			} else {
				lever[s.active] += s.scale * reach
			}
		}
		reach += s.lever
	}
}

// follow advances along a piece that starts at time t0 of the path. Each pair's
// slack is what its last distance leaves; it is looked at again before the
// motion can have used that up.
func (c *Checker) follow(d *data, p *piece, t0 float64) error {
	for i := range d.speed {
		d.speed[i] = peak(p.v[i], p.a[i], p.j[i], p.length)
	}
	// Many short pieces can't use up anybody's slack: a bound for all pairs at once
	// says so, and what they moved is remembered by joint.
	cost := dotn(d.top, d.speed) * p.length
	for i, v := range d.speed {
		d.travel[i] += v * p.length
		d.moved[i] += v * p.length
	}
	if d.least -= cost; d.least > 0 {
		return nil
	}
	for i, v := range d.speed {
		d.travel[i] -= v * p.length
	}
	dof := len(d.speed)
	for i := range c.pairs {
		lever := d.lever[i*dof : (i+1)*dof]
		d.slack[i] -= dotn(lever, d.travel)
		d.rate[i] = dotn(lever, d.speed)
	}
	clear(d.travel)
	for t := 0.0; ; {
		dt := p.length - t
		end := true
		for i := range c.pairs {
			if d.slack[i] < dt*d.rate[i] {
				dt, end = max(d.slack[i]/d.rate[i], 0), false
			}
		}
		d.least = math.Inf(1)
		for i := range c.pairs {
			d.slack[i] -= dt * d.rate[i]
			d.least = min(d.least, d.slack[i])
		}
		if end {
			return nil
		}
		if d.steps++; d.steps > maxSteps {
			return robot.Errf(robot.CodeInvalidArgument, "path", "is too long to be checked")
		}
		t += dt
		p.at(t, d.q)
		c.kin.FrameFK(d.frames, d.q)
		for i := range c.pairs {
			// Pairs that are nearly due are looked at now, with these frames.
			if d.slack[i] > c.opts.Resolution/4 || d.need[i] < c.pairs[i].margin && d.slack[i] > c.contactResolution()/4 {
				continue
			}
			dist := c.evaluate(d, i, t0+t)
			if dist < d.need[i] {
				return c.failure(d, i, dist, t0+t)
			}
			c.settle(d, i, dist)
			if d.contact[i] {
				d.rate[i] = dotn(d.lever[i*dof:(i+1)*dof], d.speed)
				if d.exactly && c.pairs[i].other < 0 {
					d.rate[i] = c.slideRate(d, i, d.rate[i])
				}
			}
		}
	}
}

func dotn(a, b []float64) (sum float64) {
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

// stretch raises a bound on |q| to what a piece needs.
func (p *piece) stretch(extent []float64) {
	for i := range extent {
		extent[i] = max(extent[i], math.Abs(p.q[i])+peak(p.v[i], p.a[i], p.j[i], p.length)*p.length)
	}
}

// peak returns the largest |v + a·t + j·t²/2| for t in 0 to length.
func peak(v, a, j, length float64) float64 {
	at := func(t float64) float64 { return math.Abs(v + t*(a+t*j/2)) }
	m := max(at(0), at(length))
	if j != 0 {
		if t := -a / j; t > 0 && t < length {
			m = max(m, at(t))
		}
	}
	return m
}

func (c *Checker) checkVector(name string, q []float64) error {
	if len(q) != len(c.names) {
		return robot.Errf(robot.CodeInvalidArgument, name, "has %d elements, the robot has %d joints", len(q), len(c.names))
	}
	for i, x := range q {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return robot.Errf(robot.CodeInvalidArgument, name+"."+c.names[i], "isn't a finite number")
		}
	}
	return nil
}

func (c *Checker) checkTrajectory(tr robot.Trajectory) error {
	if len(tr.Joints) != len(c.names) {
		return robot.Errf(robot.CodeInvalidArgument, "trajectory", "has %d joints, the robot has %d", len(tr.Joints), len(c.names))
	}
	for i, n := range tr.Joints {
		if n != c.names[i] {
			return robot.Errf(robot.CodeInvalidArgument, "trajectory", "joint %d is %s, expected %s", i, n, c.names[i])
		}
	}
	for i := range tr.Segments {
		s := &tr.Segments[i]
		where := fmt.Sprintf("segment %d", i)
		if !(s.Duration > 0) || math.IsInf(s.Duration, 0) {
			return robot.Errf(robot.CodeInvalidArgument, where, "duration isn't finite and positive")
		}
		for _, v := range [][]float64{s.Q, s.V, s.A, s.J} {
			if err := c.checkVector(where, v); err != nil {
				return err
			}
		}
	}
	return nil
}
