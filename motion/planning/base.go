package planning

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/tau-robot/tau/motion/trajectory"
	"github.com/tau-robot/tau/robot"
)

// MaxArcs bounds the arcs of one call of Drive.
const MaxArcs = 256

// largestWheelTravel bounds the travel of a wheel in one arc, rad.
const largestWheelTravel = 1e4

// mostPieces bounds the cubics that stand for the arcs of one call of Drive where a
// checker follows them. It bounds what an arc turns on its way, since each piece may be
// off by hermiteError only; an arc of as many can still be timed by
// trajectory.ThroughCurves.
const mostPieces = 2048

// Arc is a motion of a differential drive during which the ratio of both wheels'
// travel is constant: a straight line, a turn on the spot, or an arc of a circle.
type Arc struct{ Left, Right float64 } // travel of the wheels, rad

// ArcFor returns the arc that a base with a forward speed (m/s, along its x axis)
// and a speed of turning (rad/s, counterclockwise) covers in so many seconds.
func ArcFor(b *robot.Base, linear, angular, seconds float64) Arc {
	turn := angular * b.Track / 2
	return Arc{Left: (linear - turn) / b.Radius * seconds, Right: (linear + turn) / b.Radius * seconds}
}

// arcCurve is an arc from a configuration, as a curve of all joints. Along it both
// wheels travel evenly, and the base's joints follow by the equations of robot.Base.
type arcCurve struct {
	b      *robot.Base
	from   []float64
	arc    Arc
	ds     float64 // length of the base's way, m, negative backwards
	dyaw   float64 // rad
	sin, c float64 // of the yaw at the start
}

var _ trajectory.Curve = (*arcCurve)(nil)

// ArcCurve returns an arc from a configuration as a curve of all joints, of which
// those that aren't the base's hold. It copies from. INVALID_ARGUMENT for numbers
// that aren't finite or too large, and for an arc that turns too often on its way, with
// the wheels' travel up to which it would do as Nearest; NOT_SUPPORTED for a robot without a base. Nothing
// is checked for contact; Drive does that.
func (p *Planner) ArcCurve(from []float64, a Arc) (trajectory.Curve, error) {
	if err := p.hasBase(); err != nil {
		return nil, err
	}
	if err := p.checkVector("start", from); err != nil {
		return nil, err
	}
	return p.arc(append([]float64(nil), from...), a)
}

func (p *Planner) hasBase() error {
	if p.m.Base == nil {
		return robot.Errf(robot.CodeNotSupported, p.m.Name, "the robot has no base that drives")
	}
	return nil
}

// baseHolds refuses a straight line in joint space that moves the base or its
// wheels: only arcs obey the base's equations.
func (p *Planner) baseHolds(a, b []float64) error {
	base := p.m.Base
	if base == nil {
		return nil
	}
	for _, i := range [...]int{base.X, base.Y, base.Yaw, base.Left, base.Right} {
		if math.Abs(b[i]-a[i]) > same {
			return robot.Errf(robot.CodeInvalidArgument, "positions."+p.names[i],
				"joint %s belongs to the base, which only drives: it can't be moved by itself", p.names[i])
		}
	}
	return nil
}

// belongs reports whether joint i is the base's or one of its wheels.
func (p *Planner) belongs(i int) bool {
	b := p.m.Base
	return b.Carries(i) || b != nil && (i == b.Left || i == b.Right)
}

func (p *Planner) arc(from []float64, a Arc) (*arcCurve, error) {
	b := p.m.Base
	for _, w := range [...]struct {
		joint  int
		travel float64
	}{{b.Left, a.Left}, {b.Right, a.Right}} {
		if !(math.Abs(w.travel) <= largestWheelTravel) {
			e := robot.LimitErr(robot.CodeInvalidArgument, p.names[w.joint], w.travel, largestWheelTravel, "rad",
				"a wheel's travel must be a number of at most that size")
			if !math.IsNaN(w.travel) {
				e.Limit.Value = math.Copysign(largestWheelTravel, w.travel)
				e.Nearest = []robot.Quantity{{Name: p.names[w.joint], Value: e.Limit.Value, Unit: "rad"}}
			}
			return nil, e
		}
	}
	sin, cos := math.Sincos(from[b.Yaw])
	c := &arcCurve{
		b: b, from: from, arc: a, ds: b.Radius * (a.Left + a.Right) / 2, dyaw: b.Radius * (a.Right - a.Left) / b.Track,
		sin: sin, c: cos,
	}
	if n := c.pieces(); !(n <= mostPieces) {
		return nil, p.tooManyTurns(c, n, mostPieces)
	}
	return c, nil
}

// tooManyTurns refuses an arc of n pieces where most are left. The pieces of an arc are
// in proportion to its wheels' travel.
func (p *Planner) tooManyTurns(c *arcCurve, n, most float64) error {
	b, part := c.b, 0.0
	if finite(n) {
		part = max(0, most-1) / n
	}
	i, travel := b.Left, c.arc.Left
	if math.Abs(c.arc.Right) > math.Abs(travel) {
		i, travel = b.Right, c.arc.Right
	}
	e := robot.LimitErr(robot.CodeInvalidArgument, p.names[i], travel, travel*part, "rad",
		fmt.Sprintf("the base would turn by %.4g rad on a way of %.4g m, more than is checked at once", c.dyaw, math.Abs(c.ds)))
	if part > 0 {
		e.Nearest = []robot.Quantity{
			{Name: p.names[b.Left], Value: c.arc.Left * part, Unit: "rad"}, {Name: p.names[b.Right], Value: c.arc.Right * part, Unit: "rad"},
		}
	}
	return e
}

// At is trajectory.Curve's. The chord of the way so far is ds·s·sin(x)/x long, with x
// half the turn so far, and points halfway between the directions at its ends, which
// has no cancellation where the arc is nearly straight.
func (c *arcCurve) At(s float64, q, d1, d2, d3 []float64) {
	copy(q, c.from)
	clear(d1)
	clear(d2)
	clear(d3)
	b := c.b
	half := c.dyaw * s / 2
	chord := c.ds * s
	if math.Abs(half) > 1e-4 {
		chord *= math.Sin(half) / half
	} else {
		chord *= 1 - half*half/6
	}
	sin, cos := math.Sincos(half)
	q[b.X] += chord * (c.c*cos - c.sin*sin)
	q[b.Y] += chord * (c.sin*cos + c.c*sin)
	q[b.Yaw] += c.dyaw * s
	q[b.Left] += c.arc.Left * s
	q[b.Right] += c.arc.Right * s
	// The direction at s.
	sin, cos = math.Sincos(2 * half)
	x, y := c.c*cos-c.sin*sin, c.sin*cos+c.c*sin
	d1[b.X], d1[b.Y], d1[b.Yaw] = c.ds*x, c.ds*y, c.dyaw
	d2[b.X], d2[b.Y] = -c.ds*c.dyaw*y, c.ds*c.dyaw*x
	d3[b.X], d3[b.Y] = -c.ds*c.dyaw*c.dyaw*x, -c.ds*c.dyaw*c.dyaw*y
	d1[b.Left], d1[b.Right] = c.arc.Left, c.arc.Right
}

// Drive returns the curves of arcs one after the other, from rest to rest each. The
// checker has accepted the whole way, in the direction of travel.
//
// Errors: NOT_SUPPORTED for a robot without a base; INVALID_ARGUMENT; JOINT_LIMIT
// where x, y or yaw would leave its limits, with the joint and its limit; the
// checker's code and pair where something is in the way. The last two say how much
// of the whole can be driven, by the wheels' travel, as Value "fraction", with the
// base's x, y (m) and yaw (rad) there as Nearest. CANCELLED when ctx ends. The
// caller owns the curves.
func (p *Planner) Drive(ctx context.Context, from []float64, arcs []Arc) ([]trajectory.Curve, error) {
	if err := p.hasBase(); err != nil {
		return nil, err
	}
	q, err := p.inside(from)
	if err != nil {
		return nil, err
	}
	if len(arcs) == 0 || len(arcs) > MaxArcs {
		return nil, robot.Errf(robot.CodeInvalidArgument, "arcs", "there are %d; a drive has 1 to %d", len(arcs), MaxArcs)
	}
	d := drive{p: p, done: make([]float64, len(arcs)+1)}
	left := float64(mostPieces)
	for k, a := range arcs {
		c, err := p.arc(q, a)
		if err != nil {
			return nil, err
		}
		n := c.pieces()
		if n > left {
			return nil, p.tooManyTurns(c, n, left)
		}
		left -= n
		d.curves = append(d.curves, c)
		d.done[k+1] = d.done[k] + math.Abs(a.Left) + math.Abs(a.Right)
		q = c.end()
	}
	if total := d.done[len(arcs)]; total > 0 {
		for k := range d.done {
			d.done[k] /= total
		}
	}
	return d.run(ctx)
}

func (c *arcCurve) end() []float64 {
	q, d := make([]float64, len(c.from)), make([]float64, 3*len(c.from))
	n := len(q)
	c.At(1, q, d[:n], d[n:2*n], d[2*n:])
	return q
}

// pieces returns how many cubics are within hermiteError of the arc, by the bound
// of the interpolation's error, h⁴/384 of the fourth derivative: a whole number of at
// least 1, or not finite.
func (c *arcCurve) pieces() float64 {
	return max(1, math.Ceil(math.Pow(math.Abs(c.ds*c.dyaw*c.dyaw*c.dyaw)/(384*hermiteError), 0.25)))
}

// drive is a call of Drive.
type drive struct {
	p      *Planner
	curves []*arcCurve
	done   []float64 // by arc: what part of the whole is done where it starts; then 1
}

func (d *drive) run(ctx context.Context) ([]trajectory.Curve, error) {
	p := d.p
	var segments []robot.Segment
	out := make([]trajectory.Curve, len(d.curves))
	for k, c := range d.curves {
		out[k] = c
		n := int(c.pieces())
		first := len(segments)
		segments = hermite(segments, c, n, p.m.DoF())
		for m := first; m < len(segments); m++ {
			if i, value := leaves(&segments[m], p.m.Limits); i >= 0 {
				at := float64(k) + float64(m-first)/float64(n)
				l := &p.m.Limits[i]
				e := d.stopped(at, robot.CodeJointLimit, p.names[i], fmt.Sprintf("the base would go to %s %.4f %s, beyond its limit", p.names[i], value, p.unit(i)))
				e.Limit = &robot.Quantity{Name: p.names[i], Value: min(max(value, l.Lower), l.Upper), Unit: p.unit(i)}
				return nil, e
			}
		}
	}
	at, err := p.follow(ctx, segments)
	var e *robot.Error
	if err != nil && (!isContact(err) || !errors.As(err, &e)) {
		return nil, err
	}
	if err != nil {
		k := min(int(at), len(d.curves)-1)
		text := "there would be contact"
		if e.Code == robot.CodeWorkspace {
			text = e.Where + " would leave the workspace"
		}
		stop := d.stopped(d.before(k, at-float64(k)), e.Code, e.Where, text)
		stop.Err = err
		return nil, stop
	}
	return out, nil
}

// before returns the last parameter of the whole way before u on arc k that is
// free.
func (d *drive) before(k int, u float64) float64 {
	n := d.p.m.DoF()
	q, r := make([]float64, n), make([]float64, 3*n)
	for back := 1.0 / mostIntervals; ; back *= 2 {
		at := 0.0 // also where u isn't a number
		if u > back {
			at = u - back
		}
		d.curves[k].At(at, q, r[:n], r[n:2*n], r[2*n:])
		if at == 0 {
			return float64(k)
		}
		if _, err := d.p.checker.Check(q); err == nil {
			return float64(k) + at
		}
	}
}

// stopped returns the error for a drive that ends early, at a parameter of the whole
// way, which is 1 for each arc.
func (d *drive) stopped(at float64, code robot.Code, where, text string) *robot.Error {
	k := min(int(at), len(d.curves)-1)
	u := at - float64(k)
	n := d.p.m.DoF()
	q, r := make([]float64, n), make([]float64, 3*n)
	d.curves[k].At(u, q, r[:n], r[n:2*n], r[2*n:])
	done := d.done[k] + u*(d.done[k+1]-d.done[k])
	b := d.p.m.Base
	e := &robot.Error{Code: code, Where: where, Text: fmt.Sprintf("after %.1f %% of the way %s", 100*done, text)}
	e.Value = &robot.Quantity{Name: "fraction", Value: done}
	for _, i := range [...]int{b.X, b.Y, b.Yaw} {
		e.Nearest = append(e.Nearest, robot.Quantity{Name: d.p.names[i], Value: q[i], Unit: d.p.unit(i)})
	}
	return e
}

// leaves returns the first joint that leaves its limits in a segment and the value
// with which it does, -1 if there is none.
func leaves(s *robot.Segment, limits []robot.JointLimits) (joint int, value float64) {
	for i := range limits {
		if x, out := leavesLimits(&limits[i], s.Q[i], s.V[i], s.A[i], s.J[i], s.Duration); out {
			return i, x
		}
	}
	return -1, 0
}

// BaseTo returns the arcs that take the base to a position in the root frame, m, and
// a yaw there, rad, if one is given: turn, straight line, turn. The base turns to
// face where it goes; with a yaw given it may as well go backwards, if that makes
// it turn less. Turns are the shorter way round. Arcs that do nothing are left out;
// where there is none the result is a single one of no travel.
//
// NOT_SUPPORTED for a robot without a base, INVALID_ARGUMENT for numbers that
// aren't finite, JOINT_LIMIT for a position outside the limits, with the nearest
// one. Nothing is checked for contact; Drive does that.
func (p *Planner) BaseTo(from []float64, x, y float64, yaw *float64) ([]Arc, error) {
	if err := p.hasBase(); err != nil {
		return nil, err
	}
	b := p.m.Base
	q, err := p.inside(from)
	if err != nil {
		return nil, err
	}
	goal := append([]float64(nil), q...)
	goal[b.X], goal[b.Y] = x, y
	if yaw != nil {
		goal[b.Yaw] = *yaw
	}
	if err := p.checkVector("position", goal); err != nil {
		return nil, err
	}
	if err := p.checkLimits("position", goal); err != nil {
		return nil, err
	}
	dx, dy := x-q[b.X], y-q[b.Y]
	way, first, last := math.Hypot(dx, dy), 0.0, 0.0
	at := q[b.Yaw]
	if way > same {
		first = math.Remainder(math.Atan2(dy, dx)-at, 2*math.Pi)
	} else {
		way = 0
	}
	if yaw != nil {
		last = math.Remainder(*yaw-at-first, 2*math.Pi)
		if way > 0 {
			reverse := math.Remainder(first+math.Pi, 2*math.Pi)
			then := math.Remainder(*yaw-at-reverse, 2*math.Pi)
			if math.Abs(reverse)+math.Abs(then) < math.Abs(first)+math.Abs(last)-same {
				first, last, way = reverse, then, -way
			}
		}
	}
	var out []Arc
	for _, a := range [...]Arc{ArcFor(b, 0, first, 1), ArcFor(b, way, 0, 1), ArcFor(b, 0, last, 1)} {
		if math.Abs(a.Left)+math.Abs(a.Right) > same {
			out = append(out, a)
		}
	}
	if out == nil {
		out = []Arc{{}}
	}
	return out, nil
}
