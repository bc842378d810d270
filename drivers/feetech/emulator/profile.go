package emulator

import "math"

// profile is the setpoint that a servo moves by itself towards its goal, in ticks and
// seconds: at most speed, with at most accel, to rest at the goal.
type profile struct{ at, v float64 }

// step moves the setpoint on by dt.
func (p *profile) step(goal, speed, accel, dt float64) {
	d := goal - p.at
	want := math.Copysign(math.Min(speed, math.Sqrt(2*accel*math.Abs(d))), d)
	most := accel * dt
	p.v += math.Max(-most, math.Min(most, want-p.v))
	move := p.v * dt
	// The goal is reached within this step: stay there, unless it is passed too fast to stop.
	if math.Abs(d) <= math.Abs(move) && move*d >= 0 && math.Abs(p.v) <= most+math.Abs(want) || d == 0 && math.Abs(p.v) <= most {
		p.at, p.v = goal, 0
		return
	}
	p.at += move
}

// rest puts the setpoint somewhere, at rest.
func (p *profile) rest(at float64) { p.at, p.v = at, 0 }
