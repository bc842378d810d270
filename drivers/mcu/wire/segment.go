package wire

import "github.com/tau-robot/tau/robot"

// Knot is where one joint is, and how fast, at the end of a piece.
type Knot struct {
	Q int32
	V int32 // 24 bits on the wire
}

// Segment is one frame of a piece: a whole one for up to MaxKnots joints, else some
// of its joints.
type Segment struct {
	Index byte // of the piece, modulo 256
	Ticks byte // 1 to MaxTicks
	First byte // the joint that Knots[0] is of
	Last  bool // of the motion: everything is at rest at its end
	Knots []Knot
}

// The bits of SEGMENT's part.
const (
	partFirst = 0x0F
	partLast  = 0x80
)

func (m Segment) check() error {
	const t = TypeSegment
	if err := first(
		within(t, "ticks", int64(m.Ticks), 1, MaxTicks),
		count(t, len(m.Knots), MaxKnots),
		within(t, "part", int64(m.First), 0, int64(MaxJoints-len(m.Knots))),
	); err != nil {
		return err
	}
	for i, k := range m.Knots {
		if err := first(
			within(t, "q", int64(k.Q), -MaxQ, MaxQ),
			within(t, "v", int64(k.V), -MaxV, MaxV),
		); err != nil {
			return err
		}
		if m.Last && k.V != 0 {
			return robot.Errf(robot.CodeInvalidArgument, t.String()+".v",
				"joint %d has %d at the motion's end and must be at rest", int(m.First)+i, k.V)
		}
	}
	return nil
}

// Append appends the frame to dst.
func (m Segment) Append(dst []byte, seq byte) ([]byte, error) {
	if err := m.check(); err != nil {
		return dst, err
	}
	start := len(dst)
	part := m.First
	if m.Last {
		part |= partLast
	}
	dst = append(begin(dst, TypeSegment, seq), m.Index, m.Ticks, part)
	for _, k := range m.Knots {
		dst = appendI24(le.AppendUint32(dst, uint32(k.Q)), k.V)
	}
	return end(dst, start), nil
}

// Parse reads a payload.
func (m *Segment) Parse(p []byte) error {
	n, err := eachOf(TypeSegment, p, 3, 7, MaxKnots)
	if err != nil {
		return err
	}
	m.Index, m.Ticks, m.First, m.Last, m.Knots = p[0], p[1], p[2]&partFirst, p[2]&partLast != 0, m.Knots[:0]
	for i := range n {
		k := p[3+7*i:]
		m.Knots = append(m.Knots, Knot{Q: int32(le.Uint32(k)), V: i24(k[4:])})
	}
	if err := zeros(TypeSegment, "part", p[2], ^byte(partFirst|partLast)); err != nil {
		return err
	}
	return m.check()
}

// PieceBytes is the room that a piece takes in the board's queue.
func PieceBytes(joints int) int { return 2 + 7*joints }
