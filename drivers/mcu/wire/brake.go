package wire

import (
	"math"

	"github.com/tau-robot/tau/robot"
)

// Brake is how a board brings all joints to rest together: the accelerations go from
// where they are to −p in Ra ticks, stay for C and go to 0 in Rb. It is the document's
// brake in real numbers; a board's differs by rounding (testdata/wire/brakes.txt). A
// Brake isn't changed once made and may be read by any number of goroutines.
type Brake struct {
	Ra, C, Rb int
	n         int
	start     [MaxJoints]Point
	p         [MaxJoints]float64
	// fastest is how far a tick may go.
	fastest [MaxJoints]float64
}

// NewBrake returns the brake from now, with one element for each joint in both. It
// keeps neither.
func NewBrake(now []Point, limits []Limits) (Brake, error) {
	b := Brake{n: len(now)}
	if len(now) == 0 || len(now) > MaxJoints || len(limits) != len(now) {
		return b, robot.Errf(robot.CodeInvalidArgument, "brake", "%d joints with limits for %d; 1 to %d can brake together",
			len(now), len(limits), MaxJoints)
	}
	lead := 0
	accel := func(j int) float64 { return float64(limits[j].A) / 65536 }
	for j, m := range now {
		if limits[j].A == 0 {
			return b, robot.Errf(robot.CodeInvalidArgument, "brake", "joint %d has no limit of acceleration", j)
		}
		b.fastest[j] = float64(limits[j].step()) / 256
		m.V = hold(m.V, b.fastest[j])
		m.A = hold(m.A, accel(j))
		b.start[j] = m
		if stopping(m.V, accel(j)) > stopping(b.start[lead].V, accel(lead)) {
			lead = j
		}
	}
	r := b.ramp(lead, limits, accel)
	l := b.start[lead]
	x, beta := stopping(l.V, accel(lead))*r, math.Abs(l.A)*r/accel(lead)
	if l.A*l.V < 0 {
		beta = -beta
	}
	rho := min(r, max(math.Sqrt(x+beta*beta/2), -beta))
	b.Ra, b.Rb = max(1, int(rho+beta)), max(1, int(rho))
	half := float64(b.Ra+b.Rb) / 2
	b.C = int(math.Ceil(max(0, b.longest(float64(b.Ra), accel)-half)))
	for j := range now {
		m := &b.start[j]
		w := b.after(j, float64(b.Ra))
		b.p[j] = w / (half + float64(b.C))
		m.A = 2 * (w - m.V) / float64(b.Ra)
	}
	return b, nil
}

// ramp is the longest of the joints' ramps, each in the proportion in which the joint
// will be braked at its limit while the leading one is: what a joint at rest has
// doesn't count.
func (b *Brake) ramp(lead int, limits []Limits, accel func(int) float64) float64 {
	most := stopping(b.start[lead].V, accel(lead))
	r := max(1, float64(limits[lead].Ramp))
	for j := range b.n {
		if s := stopping(b.start[j].V, accel(j)); most > 0 {
			r = max(r, float64(limits[j].Ramp)*s/most)
		}
	}
	return r
}

// maxBrake is the longest time, ms, that a brake takes a joint to need. Limits that
// CONFIGURE takes ask for less, but where rounding alone goes many times as fast as they
// say.
const maxBrake = 10000

// stopping is how long, ms, a joint takes to stop from v at a.
func stopping(v, a float64) float64 { return min(maxBrake, math.Abs(v)/a) }

// hold is x, or the nearer of ±most.
func hold(x, most float64) float64 { return max(-most, min(most, x)) }

// after is a joint's velocity after a ramp of r from its acceleration to 0, and not
// faster than it may be told to go.
func (b *Brake) after(joint int, r float64) float64 {
	m := b.start[joint]
	return hold(m.V+m.A*r/2, b.fastest[joint])
}

// longest is the largest time that a joint needs at its full deceleration for what
// its velocity is after a ramp of r.
func (b *Brake) longest(r float64, accel func(int) float64) float64 {
	var t float64
	for j := range b.n {
		t = max(t, stopping(b.after(j, r), accel(j)))
	}
	return t
}

// Ticks is how long it takes.
func (b *Brake) Ticks() int { return b.Ra + b.C + b.Rb }

// At is where a joint is t ticks into the brake.
func (b *Brake) At(joint int, t float64) Point {
	m, p := b.start[joint], b.p[joint]
	ra, c, rb := float64(b.Ra), float64(b.C), float64(b.Rb)
	ramp := func(m Point, to, r, s float64) Point {
		j := (to - m.A) / r
		return Point{
			Q: m.Q + s*(m.V+s*(m.A/2+s*j/6)),
			V: m.V + s*(m.A+s*j/2),
			A: m.A + s*j,
		}
	}
	if t <= 0 {
		return m
	}
	if t <= ra {
		return ramp(m, -p, ra, t)
	}
	m = ramp(m, -p, ra, ra)
	m.A = -p
	s := min(t-ra, c)
	m.Q, m.V = m.Q+s*(m.V-s*p/2), m.V-s*p
	if t <= ra+c {
		return m
	}
	if t >= ra+c+rb {
		return Point{Q: m.Q + p*rb*rb/6}
	}
	return ramp(m, 0, rb, t-ra-c)
}

// End is where a joint comes to rest.
func (b *Brake) End(joint int) float64 { return b.At(joint, float64(b.Ticks())).Q }

// boardSlack is by how far beyond a limit a brake's end may lie before a board
// refuses the piece: what its own reckoning may be off by, and a tick more or less.
func (b *Brake) boardSlack(joint int) float64 {
	m := b.start[joint]
	return 2048 + math.Abs(b.End(joint)-m.Q)/1024 + 12*math.Abs(m.V)
}

// hostSlack is what whole ticks, and the roundings of a piece's acceleration, may make
// of a brake that the trajectory's own end has room for.
func (b *Brake) hostSlack(joint int) float64 { return 1024 + 6*math.Abs(b.start[joint].V) }

// beyond is how far a joint's brake ends outside its limits, 0 within.
func (b *Brake) beyond(joint int, l Limits) float64 {
	if !l.Referenced {
		return 0
	}
	q := b.End(joint)
	return max(0, float64(l.Lower)-q, q-float64(l.Upper))
}

// Accept says what a board answers to a whole piece: CodeOK, or CodeLimit, CodeSpeed
// or CodeNoRoom and the joint that it is about. pieces and limits have one element
// for each joint; a count that differs is CodeBadLength. Close to where the brake
// just fits a board may say either.
func Accept(pieces []Piece, limits []Limits, last bool) (Code, int) {
	return accept(pieces, limits, last, false)
}

// Fits is Accept with half of what a board allows for roundings: a piece that fits is
// one that every board accepts.
func Fits(pieces []Piece, limits []Limits, last bool) (Code, int) {
	return accept(pieces, limits, last, true)
}

func accept(pieces []Piece, limits []Limits, last, host bool) (Code, int) {
	if len(pieces) == 0 || len(pieces) > MaxJoints || len(limits) != len(pieces) {
		return CodeBadLength, 0
	}
	var end [MaxJoints]Point
	for j, p := range pieces {
		if code := p.Ends(limits[j]); code != CodeOK {
			return code, j
		}
		end[j] = p.Braking(float64(p.Ticks))
	}
	if last {
		return CodeOK, 0
	}
	b, err := NewBrake(end[:len(pieces)], limits)
	if err != nil {
		return CodeNotConfigured, 0
	}
	for j := range pieces {
		slack := b.boardSlack(j)
		if host {
			slack = b.hostSlack(j)
		}
		if b.beyond(j, limits[j]) > slack {
			return CodeNoRoom, j
		}
	}
	return CodeOK, 0
}
