package mcu

import (
	"math"

	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
)

// piece is one piece of a motion, for all joints of the board.
type piece struct {
	ticks byte
	knots []wire.Knot
}

// cut cuts a trajectory into pieces.
func (r *Robot) cut(t robot.Trajectory) ([]piece, error) {
	n := len(r.axes)
	total := uint32(math.Ceil(t.Duration()*1000 - 1e-6))
	const step = 20
	q, v := make([]float64, n), make([]float64, n)
	var out []piece
	for at := uint32(0); at < total; {
		ticks := min(step, total-at)
		at += ticks
		t.Sample(float64(at)/1000, q, v, nil)
		p := piece{ticks: byte(ticks), knots: make([]wire.Knot, r.board.hello.Joints)}
		for _, s := range r.board.spare {
			p.knots[s.Channel].Q = s.Lower
		}
		for i := range r.axes {
			a := &r.axes[i]
			p.knots[a.hw.Channel] = wire.Knot{Q: a.wire(q[i]), V: int32(math.Round(v[i] * a.hw.Direction * a.hw.Scale * perUnit * perUnit / 1000))}
			if at == total {
				p.knots[a.hw.Channel].V = 0
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// wayTo is a gentle way from rest to rest, nil if there is none to go; joint and speed
// bound one joint's speed further, -1: none. It may lead outside of limits only as far
// as it begins or ends there, which the board refuses.
func (r *Robot) wayTo(from, to []float64, joint int, speed float64) ([]piece, error) {
	far := 0.0
	quarter := 5e-3 // s
	for i := range r.axes {
		l, d := r.axes[i].limits.Scaled(gentle), math.Abs(to[i]-from[i])*1.0001
		if i == joint {
			l.Velocity = math.Min(l.Velocity, speed)
		}
		far = math.Max(far, d)
		quarter = math.Max(quarter, math.Max(d/(2*l.Velocity), math.Max(math.Sqrt(d/(2*l.Acceleration)), math.Cbrt(d/(2*l.Jerk)))))
	}
	if far == 0 {
		return nil, nil
	}
	quarter = math.Ceil(quarter*1000) / 1000 // whole ticks, so that what follows begins on one
	out := robot.Trajectory{Joints: r.info.Joints}
	n := len(from)
	at, v, a := append([]float64(nil), from...), make([]float64, n), make([]float64, n)
	for _, k := range [...]struct{ t, sign float64 }{{quarter, 1}, {2 * quarter, -1}, {quarter, 1}} {
		s := robot.Segment{Duration: k.t}
		for i := range at {
			j := k.sign * (to[i] - from[i]) / (2 * quarter * quarter * quarter)
			s.Q, s.V, s.A, s.J = append(s.Q, at[i]), append(s.V, v[i]), append(s.A, a[i]), append(s.J, j)
			at[i] += k.t * (v[i] + k.t*(a[i]/2+k.t*j/6))
			v[i] += k.t * (a[i] + k.t*j/2)
			a[i] += k.t * j
		}
		out.Segments = append(out.Segments, s)
	}
	return r.cut(out)
}
