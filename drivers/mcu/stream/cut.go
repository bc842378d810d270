package stream

import (
	"math"

	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
)

// grid is what rounding of a time may put before a tick that it is meant to be, ms.
const grid = 1e-6

// cutter cuts one trajectory.
type cutter struct {
	p      *Plan
	o      Options
	cursor *robot.Cursor
	first  int     // the tick at which the trajectory begins
	end    int     // how many ticks it takes
	bounds []int32 // ticks at which its segments end, rounded
	q, v   []float64
	have   []sample // of the ticks after the last piece's end
	prev   []wire.Knot
	next   []wire.Knot
	pieces []wire.Piece
	limits []wire.Limits
	worst  []Deviation // of the piece in hand
}

// sample is the trajectory at one tick, by axis: position units, and the velocity in
// the wire's, rounded.
type sample struct {
	q [wire.MaxJoints]float64
	v [wire.MaxJoints]int32
}

// cut appends the pieces of a trajectory from where p ends.
func (p *Plan) cut(t robot.Trajectory, o Options) error {
	n := len(p.axes)
	c := &cutter{
		p: p, o: o, cursor: robot.NewCursor(t), first: p.Ticks(),
		q: make([]float64, len(t.Joints)), v: make([]float64, len(t.Joints)),
		have: make([]sample, 0, o.MaxTicks+o.MinTicks),
		prev: make([]wire.Knot, n), next: make([]wire.Knot, n), pieces: make([]wire.Piece, n),
		limits: make([]wire.Limits, n), worst: make([]Deviation, n),
	}
	c.end = max(1, int(math.Ceil(t.Duration()*1000-grid)))
	var at float64
	for i := range t.Segments {
		at += t.Segments[i].Duration * 1000
		c.bounds = append(c.bounds, int32(math.Round(at)))
	}
	for i := range p.axes {
		c.prev[i].Q, c.limits[i] = p.start[i], p.axes[i].Limits
		if len(p.ends) > 0 {
			c.prev[i] = p.knots[len(p.knots)-n+i]
		}
	}
	for now := 0; now < c.end; {
		to := c.choose(now)
		for {
			if err := c.fill(now, to); err != nil {
				return err
			}
			c.piece(now, to)
			if c.near() {
				break
			}
			if to == now+1 {
				return c.tooFar()
			}
			to = now + (to-now)/2
		}
		if err := c.accept(now, to); err != nil {
			return err
		}
		c.have = c.have[:copy(c.have, c.have[to-now:])]
		now = to
	}
	return nil
}

// choose returns at which tick the piece that begins at now ends: at a segment's end,
// where the jerk changes, or on the way to one that is far.
func (c *cutter) choose(now int) int {
	for len(c.bounds) > 0 && int(c.bounds[0]) < now+c.o.MinTicks {
		c.bounds = c.bounds[1:]
	}
	to := c.end
	if len(c.bounds) > 0 {
		to = min(to, int(c.bounds[0]))
	}
	if c.end-to < c.o.MinTicks && c.end-now <= c.o.MaxTicks {
		to = c.end // rather than a last piece that is short
	}
	parts := (to - now + c.o.MaxTicks - 1) / c.o.MaxTicks
	return now + (to-now+parts-1)/parts
}

// fill samples the ticks up to one, each once.
func (c *cutter) fill(now, to int) error {
	for tick := now + len(c.have) + 1; tick <= to; tick++ {
		at := float64(tick) / 1000
		if tick == c.end {
			at = math.Inf(1) // the end may lie between two ticks, and is at rest exactly
		}
		c.cursor.Sample(at, c.q, c.v, nil)
		var s sample
		for i := range c.p.axes {
			a := &c.p.axes[i]
			if a.Joint == Spare {
				s.q[i] = float64(c.prev[i].Q)
				continue
			}
			q, v := c.q[a.Joint], c.v[a.Joint]
			if math.IsNaN(q) || math.IsInf(q, 0) || math.IsNaN(v) || math.IsInf(v, 0) {
				return robot.Errf(robot.CodeInvalidArgument, a.Name, "its state at %d ms isn't finite", tick)
			}
			s.q[i], s.v[i] = a.units(q), a.Velocity(v)
		}
		c.have = append(c.have, s)
	}
	return nil
}

// piece makes the piece between two ticks and measures how far it is from the
// trajectory at each of them.
func (c *cutter) piece(now, to int) {
	end := &c.have[to-now-1]
	for i := range c.p.axes {
		l := &c.limits[i]
		c.next[i] = wire.Knot{
			Q: near(int32(math.Round(end.q[i])), l.Lower, l.Upper),
			V: near(end.v[i], -int32(l.V), int32(l.V)),
		}
		w := wire.Piece{Q0: c.prev[i].Q, V0: c.prev[i].V, Q1: c.next[i].Q, V1: c.next[i].V, Ticks: to - now}
		c.pieces[i], c.worst[i] = w, Deviation{}
		for t := 1; t <= w.Ticks; t++ {
			if d := math.Abs(float64(w.At(t)) - c.have[t-1].q[i]); d > c.worst[i].Units {
				c.worst[i] = Deviation{Units: d, Tick: c.first + now + t}
			}
		}
		if a := &c.p.axes[i]; a.Joint != Spare {
			c.worst[i].Value = a.Distance(c.worst[i].Units)
		}
	}
}

// near is a rounded number that rounding put beyond its limit by one, held to it.
func near(x, lower, upper int32) int32 {
	switch x {
	case lower - 1:
		return lower
	case upper + 1:
		return upper
	}
	return x
}

// near reports that the piece in hand keeps to the bound.
func (c *cutter) near() bool {
	for i := range c.worst {
		if c.worst[i].Units > c.o.MaxDeviation {
			return false
		}
	}
	return true
}

func (c *cutter) tooFar() error {
	worst := 0
	for i := range c.worst {
		if c.worst[i].Units > c.worst[worst].Units {
			worst = i
		}
	}
	a := &c.p.axes[worst]
	return robot.LimitErr(robot.CodeNotSupported, a.Name, c.worst[worst].Value, a.Distance(c.o.MaxDeviation), a.Unit,
		"the board can't follow the trajectory as closely as it must")
}

// accept takes the piece in hand if the board will.
func (c *cutter) accept(now, to int) error {
	code, joint := wire.Fits(c.pieces, c.limits, to == c.end)
	fault := wire.FaultNone
	tick := to
	for i := range c.pieces {
		if code != wire.CodeOK || fault != wire.FaultNone {
			break
		}
		if fault, tick = c.pieces[i].Way(c.limits[i]); fault != wire.FaultNone {
			joint, tick = i, now+tick
		}
	}
	if code != wire.CodeOK || fault != wire.FaultNone {
		return c.refuse(code, fault, joint, now, tick)
	}
	for i := range c.worst {
		if c.worst[i].Units > c.p.dev[i].Units {
			c.p.dev[i] = c.worst[i]
		}
	}
	c.p.knots = append(c.p.knots, c.next...)
	c.p.ends = append(c.p.ends, int32(c.first+to))
	copy(c.prev, c.next)
	return nil
}

// refuse says why the board wouldn't take the piece in hand, or would fault in it.
func (c *cutter) refuse(code wire.Code, fault wire.Fault, joint, now, tick int) error {
	a, w := &c.p.axes[joint], c.pieces[joint]
	switch {
	case code == wire.CodeSpeed || fault == wire.FaultSpeed:
		v := math.Max(math.Abs(float64(w.V1)), math.Abs(float64(w.Q1-w.Q0))*PerUnit/float64(w.Ticks))
		if fault == wire.FaultSpeed {
			v = math.Abs(float64(w.At(tick-now)-w.At(tick-now-1))) * PerUnit
		}
		return robot.LimitErr(robot.CodeSpeedLimit, a.Name, a.Distance(v/PerUnit)*1000, a.Distance(float64(a.Limits.V)/PerUnit)*1000,
			a.Unit+"/s", "the trajectory is faster than the board lets the joint be")
	case code == wire.CodeNoRoom:
		var end [wire.MaxJoints]wire.Point
		for i := range c.pieces {
			end[i] = c.pieces[i].Braking(float64(c.pieces[i].Ticks))
		}
		b, err := wire.NewBrake(end[:len(c.pieces)], c.limits)
		if err != nil {
			return err
		}
		return c.beyond(a, b.End(joint), "stopped there all joints would brake together, and this one would pass its limit")
	default:
		q := float64(w.Q1)
		if fault == wire.FaultLimit {
			q = float64(w.At(tick - now))
		}
		return c.beyond(a, q, "the trajectory leads beyond the board's limit")
	}
}

func (c *cutter) beyond(a *Axis, q float64, text string) error {
	limit := a.Limits.Lower
	if q > float64(a.Limits.Upper) {
		limit = a.Limits.Upper
	}
	return robot.LimitErr(robot.CodeJointLimit, a.Name, (q/PerUnit-a.Zero)/a.Scale, a.Position(limit), a.Unit, text)
}
