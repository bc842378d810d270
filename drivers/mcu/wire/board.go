package wire

import "github.com/tau-robot/tau/robot"

// The messages of the board. Append and Parse are as in host.go.

// ResetFlags are HELLO_REPLY's.
type ResetFlags byte

// The flags of a HELLO_REPLY.
const (
	WasConfigured ResetFlags = 1 << 0 // limits were set in this boot already
	WasBrownOut   ResetFlags = 1 << 1 // the last reset was a brown-out
	WasWatchdog   ResetFlags = 1 << 2 // it was the board's own watchdog
)

// HelloReply says what the board is.
type HelloReply struct {
	Version  byte
	Nonce    uint32 // HELLO's
	Boot     uint32 // another one at each boot
	Firmware uint16
	Joints   byte
	Outputs  byte
	Queue    uint16 // bytes of room for motion; see PieceBytes
	StatusMS byte
	Flags    ResetFlags
}

func (m HelloReply) check() error {
	const t = TypeHelloReply
	if m.Version != Version {
		// Only magic, version and nonce are sure to be where they are in ours.
		return robot.Errf(robot.CodeNotSupported, t.String()+".version",
			"the board speaks version %d of the protocol and this bridge version %d", m.Version, Version)
	}
	return first(
		within(t, "joints", int64(m.Joints), 1, MaxJoints),
		within(t, "outputs", int64(m.Outputs), 0, MaxOutputs),
		within(t, "queue", int64(m.Queue), int64(PieceBytes(int(m.Joints))), 1<<16-1),
		within(t, "status_ms", int64(m.StatusMS), 5, 20),
		zeros(t, "flags", byte(m.Flags), ^byte(WasConfigured|WasBrownOut|WasWatchdog)),
	)
}

// Append appends the frame to dst.
func (m HelloReply) Append(dst []byte, seq byte) ([]byte, error) {
	if err := m.check(); err != nil {
		return dst, err
	}
	start := len(dst)
	dst = append(append(begin(dst, TypeHelloReply, seq), magic...), m.Version)
	dst = le.AppendUint32(le.AppendUint32(dst, m.Nonce), m.Boot)
	dst = append(le.AppendUint16(dst, m.Firmware), m.Joints, m.Outputs)
	return end(append(le.AppendUint16(dst, m.Queue), m.StatusMS, byte(m.Flags)), start), nil
}

// Parse reads a payload. The reply of another version is CodeNotSupported, with
// Version and Nonce set.
func (m *HelloReply) Parse(p []byte) error {
	if len(p) < 8 || string(p[:len(magic)]) == magic && p[3] == Version {
		if err := exactly(TypeHelloReply, p, 20); err != nil {
			return err
		}
	}
	*m = HelloReply{Version: p[3], Nonce: le.Uint32(p[4:])}
	if err := checkMagic(TypeHelloReply, p); err != nil {
		return err
	}
	if m.Version == Version {
		m.Boot, m.Firmware, m.Joints, m.Outputs = le.Uint32(p[8:]), le.Uint16(p[12:]), p[14], p[15]
		m.Queue, m.StatusMS, m.Flags = le.Uint16(p[16:]), p[18], ResetFlags(p[19])
	}
	return m.check()
}

// Channel says what a channel is and can do at all.
type Channel struct {
	Channel      byte
	Kind         Kind
	Feedback     Feedback
	Switch       byte  // the number of the input that ends the joint's way, or NoSwitch
	Lower, Upper int32 // position units; of an output its smallest and largest value
}

func (m Channel) check() error {
	const t = TypeChannel
	if err := first(
		within(t, "channel", int64(m.Channel), 0, MaxJoints+MaxOutputs-1),
		oneOf(t, "kind", byte(m.Kind), kinds[:]),
		oneOf(t, "feedback", byte(m.Feedback), feedbacks[:]),
		within(t, "lower", int64(m.Lower), -MaxQ, MaxQ),
		within(t, "upper", int64(m.Upper), int64(m.Lower), MaxQ),
	); err != nil {
		return err
	}
	if m.Switch != NoSwitch {
		if err := within(t, "switch", int64(m.Switch), 0, 7); err != nil {
			return err
		}
	}
	if !m.Kind.Joint() {
		return first(within(t, "lower", int64(m.Lower), 0, 0), within(t, "upper", int64(m.Upper), 1, 1<<16-1))
	}
	return nil
}

// Append appends the frame to dst.
func (m Channel) Append(dst []byte, seq byte) ([]byte, error) {
	if err := m.check(); err != nil {
		return dst, err
	}
	start := len(dst)
	dst = append(begin(dst, TypeChannel, seq), m.Channel, byte(m.Kind), byte(m.Feedback), m.Switch)
	return end(le.AppendUint32(le.AppendUint32(dst, uint32(m.Lower)), uint32(m.Upper)), start), nil
}

// Parse reads a payload.
func (m *Channel) Parse(p []byte) error {
	if err := exactly(TypeChannel, p, 12); err != nil {
		return err
	}
	*m = Channel{
		Channel: p[0], Kind: Kind(p[1]), Feedback: Feedback(p[2]), Switch: p[3],
		Lower: int32(le.Uint32(p[4:])), Upper: int32(le.Uint32(p[8:])),
	}
	return m.check()
}

// Position is what a board knows of one joint.
type Position struct {
	Known Known
	Q     int32
	Raw   uint16 // ADC counts, or NoRaw
}

// Positions answers REPORT.
type Positions struct {
	Report uint16
	Joints []Position
}

func (m Positions) check() error {
	const t = TypePositions
	if err := count(t, len(m.Joints), MaxJoints); err != nil {
		return err
	}
	for _, j := range m.Joints {
		if err := first(
			oneOf(t, "known", byte(j.Known), knowns[:]),
			within(t, "q", int64(j.Q), -MaxQ, MaxQ),
		); err != nil {
			return err
		}
		if j.Raw != NoRaw {
			if err := within(t, "raw", int64(j.Raw), 0, 1023); err != nil {
				return err
			}
		}
	}
	return nil
}

// Append appends the frame to dst.
func (m Positions) Append(dst []byte, seq byte) ([]byte, error) {
	if err := m.check(); err != nil {
		return dst, err
	}
	start := len(dst)
	dst = le.AppendUint16(begin(dst, TypePositions, seq), m.Report)
	for _, j := range m.Joints {
		dst = le.AppendUint16(le.AppendUint32(append(dst, byte(j.Known)), uint32(j.Q)), j.Raw)
	}
	return end(dst, start), nil
}

// Parse reads a payload.
func (m *Positions) Parse(p []byte) error {
	n, err := eachOf(TypePositions, p, 2, 7, MaxJoints)
	if err != nil {
		return err
	}
	m.Report, m.Joints = le.Uint16(p), m.Joints[:0]
	for i := range n {
		j := p[2+7*i:]
		m.Joints = append(m.Joints, Position{Known: Known(j[0]), Q: int32(le.Uint32(j[1:])), Raw: le.Uint16(j[5:])})
	}
	return m.check()
}

// Ack answers a frame: with CodeOK, or why it wasn't carried out.
type Ack struct {
	Seq   byte // of the frame that it answers
	Type  Type
	Code  Code
	Stops uint16
}

func (m Ack) check() error { return oneOf(TypeAck, "code", byte(m.Code), codes[:]) }

// Append appends the frame to dst.
func (m Ack) Append(dst []byte, seq byte) ([]byte, error) {
	if err := m.check(); err != nil {
		return dst, err
	}
	start := len(dst)
	dst = append(begin(dst, TypeAck, seq), m.Seq, byte(m.Type), byte(m.Code))
	return end(le.AppendUint16(dst, m.Stops), start), nil
}

// Parse reads a payload.
func (m *Ack) Parse(p []byte) error {
	if err := exactly(TypeAck, p, 5); err != nil {
		return err
	}
	*m = Ack{Seq: p[0], Type: Type(p[1]), Code: Code(p[2]), Stops: le.Uint16(p[3:])}
	return m.check()
}

// Feedbacks is what the joints' feedback says, in FEEDBACK: ADC counts, counted
// steps × 256, or NoValue.
type Feedbacks struct {
	BoardMS uint32
	Values  []int32
}

func (m Feedbacks) check() error {
	return count(TypeFeedback, len(m.Values), MaxJoints)
}

// Append appends the frame to dst.
func (m Feedbacks) Append(dst []byte, seq byte) ([]byte, error) {
	if err := m.check(); err != nil {
		return dst, err
	}
	start := len(dst)
	dst = le.AppendUint32(begin(dst, TypeFeedback, seq), m.BoardMS)
	for _, v := range m.Values {
		dst = le.AppendUint32(dst, uint32(v))
	}
	return end(dst, start), nil
}

// Parse reads a payload.
func (m *Feedbacks) Parse(p []byte) error {
	n, err := eachOf(TypeFeedback, p, 4, 4, MaxJoints)
	if err != nil {
		return err
	}
	m.BoardMS, m.Values = le.Uint32(p), m.Values[:0]
	for i := range n {
		m.Values = append(m.Values, int32(le.Uint32(p[4+4*i:])))
	}
	return m.check()
}

// Echo answers HEARTBEAT.
type Echo struct{ HostMS, BoardMS uint32 }

// Append appends the frame to dst.
func (m Echo) Append(dst []byte, seq byte) ([]byte, error) {
	start := len(dst)
	return end(le.AppendUint32(le.AppendUint32(begin(dst, TypeEcho, seq), m.HostMS), m.BoardMS), start), nil
}

// Parse reads a payload.
func (m *Echo) Parse(p []byte) error {
	if err := exactly(TypeEcho, p, 8); err != nil {
		return err
	}
	*m = Echo{HostMS: le.Uint32(p), BoardMS: le.Uint32(p[4:])}
	return nil
}
