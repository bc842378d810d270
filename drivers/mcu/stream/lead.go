package stream

import (
	"math"

	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
)

// startRounding is how far the board may be from the start without a way to it, in
// position units: what rounding leaves after one motion for the next. The first piece
// makes it good.
const startRounding = 2

// gentle is the fraction of the limits with which the way to the start is made.
const gentle = 0.25

// leadIn returns the way from where the board is to the trajectory's start: a straight
// line from rest to rest of four equal stretches of constant jerk. It is empty where
// nothing but rounding is to be made good.
func (p *Plan) leadIn(t robot.Trajectory, o Options) (robot.Trajectory, error) {
	to := t.Start()
	from := append([]float64(nil), to...)
	// With a way of d in 4·h ms: largest velocity d/(2·h), acceleration d/(2·h²), jerk d/(2·h³).
	var far, h float64
	for i := range p.axes {
		a := &p.axes[i]
		if a.Joint == Spare {
			continue
		}
		off := math.Abs(float64(p.start[i]) - a.units(to[a.Joint]))
		if off <= startRounding {
			continue
		}
		from[a.Joint] = a.Position(p.start[i])
		if tolerance := p.tolerance(o, a.Joint); a.Distance(off) > tolerance {
			return robot.Trajectory{}, robot.LimitErr(robot.CodeStartMoved, a.Name, a.Distance(off), tolerance, a.Unit,
				"the board has the joint too far from the trajectory's start")
		}
		far = math.Max(far, off)
		h = math.Max(h, quarter(off, a.Limits))
	}
	if far == 0 {
		return robot.Trajectory{}, nil
	}
	h = math.Ceil(math.Max(h, DefaultMinTicks)) / 1000 // whole ticks
	out := robot.Trajectory{Joints: t.Joints}
	n := len(from)
	q, v, a := append([]float64(nil), from...), make([]float64, n), make([]float64, n)
	for _, k := range [...]struct{ t, sign float64 }{{h, 1}, {2 * h, -1}, {h, 1}} {
		s := robot.Segment{Duration: k.t}
		for i := range q {
			j := k.sign * (to[i] - from[i]) / (2 * h * h * h)
			s.Q, s.V, s.A, s.J = append(s.Q, q[i]), append(s.V, v[i]), append(s.A, a[i]), append(s.J, j)
			q[i] += k.t * (v[i] + k.t*(a[i]/2+k.t*j/6))
			v[i] += k.t * (a[i] + k.t*j/2)
			a[i] += k.t * j
		}
		out.Segments = append(out.Segments, s)
	}
	return out, nil
}

// tolerance is how far a joint may be from the start, rad or m.
func (p *Plan) tolerance(o Options, joint int) float64 {
	if o.StartTolerance == nil {
		return 0
	}
	return o.StartTolerance[joint]
}

// quarter is a fourth of the time, ms, that a joint needs for a way of d position
// units from rest to rest.
func quarter(d float64, l wire.Limits) float64 {
	v, a := gentle*float64(l.V)/PerUnit, gentle*float64(l.A)/65536
	return math.Max(d/(2*v), math.Max(math.Sqrt(d/(2*a)), math.Cbrt(d*float64(max(1, l.Ramp))/(2*a))))
}
