package stream

import (
	"math"
	"sort"

	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
)

// The defaults of Options.
const (
	DefaultMinTicks     = 8
	DefaultMaxTicks     = 40
	DefaultMaxDeviation = 16 // position units: 1/16 µs or step
)

// MaxTicks is the longest motion, ms.
const MaxTicks = 1 << 22

// Options say how a trajectory is cut. Of the zero value all but Start are the
// defaults; Start has to be given.
type Options struct {
	// Start is where the board has its joints, by channel: what STATUS says.
	Start []int32
	// StartTolerance bounds how far each of the trajectory's joints may be from the
	// trajectory's start, rad or m. What it is off by is made good by a short way to
	// the start before the trajectory begins. nil: nothing but rounding is.
	StartTolerance []float64
	// MinTicks is how long a piece is at least, but for the last one and where the
	// bound asks for shorter ones; MaxTicks how long at most.
	MinTicks, MaxTicks int
	// MaxDeviation bounds how far a joint's setpoint may be from the trajectory at
	// any tick, position units.
	MaxDeviation float64
	// MaxRate bounds the pieces of any 200 ms, by second: what the line carries. 0:
	// it isn't asked.
	MaxRate float64
}

// Deviation says how far what a board will be told is from the trajectory.
type Deviation struct {
	Units float64 // position units
	Value float64 // the same in rad or m
	Tick  int     // of the motion, where that is
}

// Plan is a trajectory in pieces.
type Plan struct {
	axes  []Axis
	start []int32
	knots []wire.Knot // of all axes, piece by piece
	ends  []int32     // at which tick each piece ends
	lead  int         // ticks before the trajectory begins
	dev   []Deviation
	whole float64 // s, the trajectory's duration
}

// New cuts a trajectory that Validate has accepted into pieces for a board with these
// axes. It refuses, as *robot.Error: START_MOVED where the board isn't at the start;
// JOINT_LIMIT, SPEED_LIMIT where the board would refuse a piece or fault in it, or
// couldn't brake within its limits after it; NOT_SUPPORTED where the pieces would
// deviate too far or be too many; INVALID_ARGUMENT for the rest. It keeps axes and
// copies nothing of t.
func New(t robot.Trajectory, axes []Axis, o Options) (*Plan, error) {
	o = o.withDefaults()
	if err := check(t, axes, o); err != nil {
		return nil, err
	}
	p := &Plan{axes: axes, start: append([]int32(nil), o.Start...), dev: make([]Deviation, len(axes)), whole: t.Duration()}
	lead, err := p.leadIn(t, o)
	if err != nil {
		return nil, err
	}
	if lead.Segments != nil {
		if err := p.cut(lead, o); err != nil {
			return nil, err
		}
		p.lead = p.Ticks()
	}
	if err := p.cut(t, o); err != nil {
		return nil, err
	}
	if err := p.checkRate(o.MaxRate); err != nil {
		return nil, err
	}
	return p, nil
}

func (o Options) withDefaults() Options {
	if o.MinTicks == 0 {
		o.MinTicks = DefaultMinTicks
	}
	if o.MaxTicks == 0 {
		o.MaxTicks = DefaultMaxTicks
	}
	if o.MaxDeviation == 0 {
		o.MaxDeviation = DefaultMaxDeviation
	}
	return o
}

func check(t robot.Trajectory, axes []Axis, o Options) error {
	n := len(t.Joints)
	switch {
	case n == 0 || len(t.Segments) == 0:
		return robot.Errf(robot.CodeInvalidArgument, "trajectory", "there is none")
	case len(axes) == 0 || len(axes) > wire.MaxJoints:
		return robot.Errf(robot.CodeInvalidArgument, "axes", "%d is outside 1 to %d", len(axes), wire.MaxJoints)
	case len(o.Start) != len(axes):
		return robot.Errf(robot.CodeInvalidArgument, "start", "%d positions for %d axes", len(o.Start), len(axes))
	case o.StartTolerance != nil && len(o.StartTolerance) != n:
		return robot.Errf(robot.CodeInvalidArgument, "start_tolerance", "%d numbers for %d joints", len(o.StartTolerance), n)
	case o.MinTicks < 1 || o.MaxTicks < o.MinTicks || o.MaxTicks > wire.MaxTicks:
		return robot.Errf(robot.CodeInvalidArgument, "ticks", "pieces of %d to %d ms; 1 to %d are possible", o.MinTicks, o.MaxTicks, wire.MaxTicks)
	}
	seen := make([]bool, n)
	for i := range axes {
		if err := axes[i].check(n); err != nil {
			return err
		}
		if j := axes[i].Joint; j != Spare {
			if seen[j] {
				return robot.Errf(robot.CodeInvalidArgument, axes[i].Name, "two channels move joint %s", t.Joints[j])
			}
			seen[j] = true
		}
	}
	for j, s := range seen {
		if !s {
			return robot.Errf(robot.CodeInvalidArgument, t.Joints[j], "no channel moves it")
		}
	}
	if d := t.Duration() * 1000; !(d <= MaxTicks) {
		return robot.Errf(robot.CodeInvalidArgument, "trajectory", "it lasts %.6g ms and may last %d", d, MaxTicks)
	}
	return nil
}

// checkRate refuses pieces that come faster than the line carries them.
func (p *Plan) checkRate(most float64) error {
	if most == 0 {
		return nil
	}
	// A window that begins with a piece holds the most; the first pieces are sent
	// ahead and have no time to keep.
	from := 0
	for i, end := range p.ends {
		for end-p.ends[from] > wire.MaxAhead {
			from++
		}
		if rate := float64(i-from) * 1000 / wire.MaxAhead; rate > most {
			return robot.LimitErr(robot.CodeNotSupported, "trajectory", rate, most, "1/s",
				"it takes more pieces than the line carries; run it more slowly")
		}
	}
	return nil
}

// Len is how many pieces there are.
func (p *Plan) Len() int { return len(p.ends) }

// Piece returns a piece: how long it lasts, where each axis is at its end (the Plan's
// own slice), and whether it is the last one.
func (p *Plan) Piece(i int) (ticks int, knots []wire.Knot, last bool) {
	n := len(p.axes)
	ticks = int(p.ends[i])
	if i > 0 {
		ticks -= int(p.ends[i-1])
	}
	return ticks, p.knots[i*n : (i+1)*n : (i+1)*n], i == len(p.ends)-1
}

// Ticks is how long the motion lasts on the board, the way to the start with it.
func (p *Plan) Ticks() int {
	if len(p.ends) == 0 {
		return 0
	}
	return int(p.ends[len(p.ends)-1])
}

// Lead is how many of the ticks pass on the way to the start.
func (p *Plan) Lead() int { return p.lead }

// Time returns the trajectory's time, s, at which the board is when it has made so
// many ticks (STATUS's motion_ms): 0 on the way to the start, the duration at the end.
func (p *Plan) Time(ticks uint32) float64 {
	return math.Max(0, math.Min(p.whole, (float64(ticks)-float64(p.lead))/1000))
}

// Deviations returns, for each axis, the largest difference between what the board
// will be told at a tick and the trajectory at that time. The slice is the caller's.
func (p *Plan) Deviations() []Deviation { return append([]Deviation(nil), p.dev...) }

// piece returns one axis of piece i as the board has it.
func (p *Plan) piece(i, axis int) wire.Piece {
	ticks, knots, _ := p.Piece(i)
	w := wire.Piece{Q0: p.start[axis], Q1: knots[axis].Q, V1: knots[axis].V, Ticks: ticks}
	if i > 0 {
		k := p.knots[(i-1)*len(p.axes)+axis]
		w.Q0, w.V0 = k.Q, k.V
	}
	return w
}

// at returns the piece that tick t > 0 is in, and which of its ticks it is.
func (p *Plan) at(t int) (i, tick int) {
	i = sort.Search(len(p.ends), func(i int) bool { return int(p.ends[i]) >= t })
	if i == len(p.ends) {
		i--
		t = int(p.ends[i])
	}
	if i > 0 {
		t -= int(p.ends[i-1])
	}
	return i, t
}

// Setpoints writes what the board is told at tick t to dst, which has an element for
// each axis: where it starts at 0, where it ends from the end on.
func (p *Plan) Setpoints(t int, dst []int32) {
	if t <= 0 {
		copy(dst, p.start)
		return
	}
	i, tick := p.at(t)
	for axis := range p.axes {
		dst[axis] = p.piece(i, axis).At(tick)
	}
}

// Brake returns how the board brakes where it is told to stop after tick t.
func (p *Plan) Brake(t int) (wire.Brake, error) {
	var now [wire.MaxJoints]wire.Point
	var limits [wire.MaxJoints]wire.Limits
	i, tick := p.at(max(1, t))
	for axis := range p.axes {
		now[axis] = p.piece(i, axis).Braking(float64(tick))
		if t <= 0 || t >= p.Ticks() {
			now[axis].V, now[axis].A = 0, 0
			if t <= 0 {
				now[axis].Q = float64(p.start[axis])
			}
		}
		limits[axis] = p.axes[axis].Limits
	}
	return wire.NewBrake(now[:len(p.axes)], limits[:len(p.axes)])
}
