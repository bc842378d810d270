package wire

import "math"

// Rounding is by how many position units the integers of a piece may differ from
// its cubic: a q(t) may lie beyond the limits by as much, and a tick may be longer
// than the limit of velocity has it by as much.
const Rounding = 4

// Limits are a joint's, as CONFIGURE sets them. A joint that isn't referenced has
// the limits of position that Unreferenced gives it.
type Limits struct {
	Lower, Upper int32
	V, A         uint32
	Ramp         uint16 // ms
	Referenced   bool
}

// Limits returns the limits that the message sets, for a joint that is referenced.
func (m Configure) Limits() Limits {
	return Limits{Lower: m.Lower, Upper: m.Upper, V: m.V, A: m.A, Ramp: m.Ramp, Referenced: true}
}

// Unreferenced returns the limits of a joint that isn't known to be anywhere.
func (l Limits) Unreferenced() Limits {
	l.Lower, l.Upper, l.Referenced = -MaxQ, MaxQ, false
	return l
}

// step is the longest way of a tick, 1/256 of a position unit.
func (l Limits) step() int64 { return int64(l.V) + int64(l.V>>3) + 256*Rounding }

// Piece is one joint's piece: from Q0 with V0 to Q1 with V1 in Ticks.
type Piece struct {
	Q0, V0 int32
	Q1, V1 int32
	Ticks  int // 1 to MaxTicks
}

// At is what the board tells the joint at tick t, 0 < t ≤ Ticks, bit for bit. It is
// Q0 before and Q1 after.
func (p Piece) At(t int) int32 {
	switch {
	case t <= 0:
		return p.Q0
	case t >= p.Ticks:
		return p.Q1
	}
	// 64 bits are more than is needed; the document says how 32 are enough.
	d0, c2, c3 := p.cubic()
	u := int64(t) * 65536 / int64(p.Ticks)
	return int32(int64(p.Q0) + u*(d0+(u*(c2+(u*c3>>16))>>16))>>16)
}

// cubic is what the board reckons with; its distances are in position units.
func (p Piece) cubic() (d0, c2, c3 int64) {
	d0, d1 := int64(p.V0)*int64(p.Ticks)>>8, int64(p.V1)*int64(p.Ticks)>>8
	d := int64(p.Q1) - int64(p.Q0)
	return d0, 3*d - 2*d0 - d1, d0 + d1 - 2*d
}

// Point is where a joint is in real numbers: position units, and the same by ms
// and ms².
type Point struct{ Q, V, A float64 }

// Point is the piece's cubic at t ticks, in real numbers and without the roundings
// that At has.
func (p Piece) Point(t float64) Point {
	n := float64(p.Ticks)
	d0, d1 := float64(p.V0)/256*n, float64(p.V1)/256*n
	d := float64(p.Q1) - float64(p.Q0)
	c2, c3, s := 3*d-2*d0-d1, d0+d1-2*d, t/n
	return Point{
		Q: float64(p.Q0) + s*(d0+s*(c2+s*c3)),
		V: (d0 + s*(2*c2+s*3*c3)) / n,
		A: (2*c2 + 6*s*c3) / (n * n),
	}
}

// Braking is the state from which a board brakes at tick t: Point's, but with the
// acceleration that roundings of positions don't make.
func (p Piece) Braking(t float64) Point {
	m, n := p.Point(t), float64(p.Ticks)
	v0, v1 := float64(p.V0)/256, float64(p.V1)/256
	// What the mean velocity's way exceeds the piece's by is known to one unit.
	e := (v0+v1)*n/2 - (float64(p.Q1) - float64(p.Q0))
	e = math.Copysign(max(0, math.Abs(e)-1), e)
	m.A = (v1-v0)/n + (2*t/n-1)*6*e/(n*n)
	return m
}

// Ends says what a board answers to the piece by itself: CodeOK, CodeLimit or
// CodeSpeed.
func (p Piece) Ends(l Limits) Code {
	if p.Q1 < l.Lower || p.Q1 > l.Upper {
		return CodeLimit
	}
	d := int64(p.Q1) - int64(p.Q0)
	if max(int64(p.V1), -int64(p.V1)) > int64(l.V) || max(d, -d)*256 > l.step()*int64(p.Ticks) {
		return CodeSpeed
	}
	return CodeOK
}

// Way says which fault the piece latches while it runs, and at which tick: FaultNone,
// FaultLimit or FaultSpeed.
func (p Piece) Way(l Limits) (Fault, int) {
	last := p.Q0
	for t := 1; t <= p.Ticks; t++ {
		q := p.At(t)
		if q < l.Lower-Rounding || q > l.Upper+Rounding {
			return FaultLimit, t
		}
		if d := int64(q) - int64(last); max(d, -d)*256 > l.step() {
			return FaultSpeed, t
		}
		last = q
	}
	return FaultNone, 0
}
