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
	extent []float64 // bound on |q| during a piece
	// By pair: how much its distance may shrink before it has to be looked at
	// again; the distance it needs when it is; how fast it can shrink.
	slack, need, rate []float64
	best              robot.Clearance
	steps             int
	unit              string // what a time along the path is called
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
// SCENE_COLLISION or ZONE_NOT_GRANTED; the clearance is returned with it.
func (c *Checker) Check(q []float64) (*robot.Clearance, error) {
	if err := c.checkVector("q", q); err != nil {
		return nil, err
	}
	d := c.take("")
	defer c.pool.Put(d)
	copy(d.q, q)
	for i := range c.pairs {
		d.need[i] = c.pairs[i].margin
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
	err := c.start(d, from)
	if err == nil {
		err = c.follow(d, &piece{q: from, v: delta, a: d.zero, j: d.zero, length: 1}, 0)
	}
	if err == nil {
		copy(d.q, to)
		err = c.evaluateAll(d, 1)
	}
	return d.result(), err
}

// CheckTrajectory checks a whole trajectory. Clearance.At is in s.
//
// It guarantees that at every instant each pair is apart by its margin less the
// resolution. A pair that is below its margin at the start, by StartContact at
// most, may only open: its distance never falls below the largest it has had by
// more than twice the resolution, until it has reached its margin.
func (c *Checker) CheckTrajectory(tr robot.Trajectory) (*robot.Clearance, error) {
	if err := c.checkTrajectory(tr); err != nil {
		return nil, err
	}
	d := c.take("s")
	defer c.pool.Put(d)
	if len(tr.Segments) == 0 {
		return nil, robot.Errf(robot.CodeInvalidArgument, "trajectory", "has no segments")
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
	err := c.evaluateAll(d, t)
	return d.result(), err
}

func (c *Checker) take(unit string) *data {
	d := c.pool.Get().(*data)
	d.best = robot.Clearance{Distance: math.Inf(1)}
	d.steps = 0
	d.unit = unit
	return d
}

func (d *data) result() *robot.Clearance {
	if math.IsInf(d.best.Distance, 1) {
		return nil
	}
	b := d.best
	return &b
}

// start evaluates all pairs at the beginning of a path and lowers what a pair
// needs that is in contact by no more than StartContact.
func (c *Checker) start(d *data, q []float64) error {
	copy(d.q, q)
	for i := range c.pairs {
		d.need[i] = c.pairs[i].margin - c.opts.StartContact
	}
	return c.evaluateAll(d, 0)
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
	dist := c.clearance(d, p, max(d.best.Distance, farAway, 2*p.margin))
	if dist < d.best.Distance {
		d.best = robot.Clearance{Distance: dist, A: p.a, B: p.b, At: at}
	}
	d.slack[i] = dist
	return dist
}

// settle turns a measured distance into what the pair needs from now on and how
// much of the distance may be used up before the next look.
func (c *Checker) settle(d *data, i int, dist float64) {
	if m := c.pairs[i].margin; dist >= m {
		d.need[i] = m
	} else {
		d.need[i] = max(d.need[i], dist-c.opts.Resolution)
	}
	d.slack[i] = dist - d.need[i] + c.opts.Resolution
}

// follow advances along a piece that starts at time t0 of the path. Each pair's
// slack is what its last distance leaves; it is looked at again before the
// motion can have used that up.
func (c *Checker) follow(d *data, p *piece, t0 float64) error {
	for i := range d.speed {
		d.speed[i] = peak(p.v[i], p.a[i], p.j[i], p.length)
		d.extent[i] = math.Abs(p.q[i]) + d.speed[i]*p.length
	}
	for i := range c.pairs {
		d.rate[i] = c.rate(d, &c.pairs[i])
	}
	for t := 0.0; ; {
		dt := p.length - t
		end := true
		for i := range c.pairs {
			if d.slack[i] < dt*d.rate[i] {
				dt, end = d.slack[i]/d.rate[i], false
			}
		}
		for i := range c.pairs {
			d.slack[i] -= dt * d.rate[i]
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
			if d.slack[i] > c.opts.Resolution/4 {
				continue
			}
			dist := c.evaluate(d, i, t0+t)
			if dist < d.need[i] {
				return c.failure(d, i, dist, t0+t)
			}
			c.settle(d, i, dist)
		}
	}
}

// rate bounds how fast a pair's distance can shrink during a piece, m per unit
// of the path's time: the speed of the fastest point of either body relative to
// the link where their chains meet. A point of a body is no farther from a
// joint above it than the body's reach and the levers between them.
func (c *Checker) rate(d *data, p *pair) float64 {
	r := chainRate(d, p.up, c.covers[p.body].reach)
	if p.other >= 0 {
		r += chainRate(d, p.down, c.covers[p.other].reach)
	}
	return r
}

func chainRate(d *data, chain []step, reach float64) (rate float64) {
	for i := range chain {
		s := &chain[i]
		if s.active >= 0 {
			v := s.scale * d.speed[s.active]
			if s.slide {
				rate += v
				reach += s.scale*d.extent[s.active] + s.offset
			} else {
				rate += v * reach
			}
		}
		reach += s.lever
	}
	return rate
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

func (c *Checker) failure(d *data, i int, dist, at float64) error {
	p := &c.pairs[i]
	var when string
	switch d.unit {
	case "":
	case "s":
		when = fmt.Sprintf(" at %.3f s", at)
	default:
		when = fmt.Sprintf(" at %.3f %s", at, d.unit)
	}
	d.best = robot.Clearance{Distance: dist, A: p.a, B: p.b, At: at}
	verb := "comes too close to"
	if p.code == robot.CodeZoneNotGranted {
		verb = "would enter the guarded zone"
	} else if dist < 0 {
		verb = "would touch"
	}
	return &robot.Error{
		Code: p.code, Where: p.a + ", " + p.b,
		Text:  fmt.Sprintf("%s %s %s%s", p.a, verb, p.b, when),
		Value: &robot.Quantity{Name: "clearance", Value: dist, Unit: "m"},
		Limit: &robot.Quantity{Value: d.need[i], Unit: "m"},
	}
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
