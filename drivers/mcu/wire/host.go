package wire

import "github.com/tau-robot/tau/robot"

// The messages of the host. Each has Append, which appends the whole frame to dst
// and returns it, or returns dst as it was and an error that names the field; and
// Parse, which reads a payload and leaves the message undefined where it refuses.
// Neither keeps what it was given; Parse uses a message's slices again. What only a
// board can know (its channels, what it has been told before) is not theirs to check.

// JointFlags are CONFIGURE's.
type JointFlags byte

// The flags of a joint.
const (
	EStopPowersOff JointFlags = 1 << 0 // an e-stop may take the power off once at rest
	LostPowersOff  JointFlags = 1 << 1 // a lost link takes the power off once at rest
)

// magic begins HELLO and HELLO_REPLY.
const magic = "tau"

func checkMagic(t Type, p []byte) error {
	if string(p[:len(magic)]) == magic {
		return nil
	}
	return robot.Errf(robot.CodeInvalidArgument, t.String(), "it begins with %q and must with %q", p[:len(magic)], magic)
}

// Hello is the first frame.
type Hello struct {
	Version byte
	Nonce   uint32 // comes back in the answer
}

// Append appends the frame to dst; see host.go for what all of them keep to.
func (m Hello) Append(dst []byte, seq byte) ([]byte, error) {
	start := len(dst)
	dst = append(begin(dst, TypeHello, seq), magic...)
	dst = append(dst, m.Version)
	return end(le.AppendUint32(dst, m.Nonce), start), nil
}

// Parse reads a payload.
func (m *Hello) Parse(p []byte) error {
	if err := exactly(TypeHello, p, 8); err != nil {
		return err
	}
	m.Version, m.Nonce = p[3], le.Uint32(p[4:])
	return checkMagic(TypeHello, p)
}

// Describe asks for a channel.
type Describe struct{ Channel byte }

func (m Describe) check() error {
	return within(TypeDescribe, "channel", int64(m.Channel), 0, MaxJoints+MaxOutputs-1)
}

// Append appends the frame to dst.
func (m Describe) Append(dst []byte, seq byte) ([]byte, error) {
	if err := m.check(); err != nil {
		return dst, err
	}
	return end(append(begin(dst, TypeDescribe, seq), m.Channel), len(dst)), nil
}

// Parse reads a payload.
func (m *Describe) Parse(p []byte) error {
	if err := exactly(TypeDescribe, p, 1); err != nil {
		return err
	}
	m.Channel = p[0]
	return m.check()
}

// Configure sets the limits of a joint.
type Configure struct {
	Channel      byte
	Flags        JointFlags
	Lower, Upper int32
	V, A         uint32
	Ramp         uint16 // ms in which the brake builds its deceleration up
}

func (m Configure) check() error {
	const t = TypeConfigure
	if err := first(
		within(t, "channel", int64(m.Channel), 0, MaxJoints-1),
		zeros(t, "flags", byte(m.Flags), ^byte(EStopPowersOff|LostPowersOff)),
		within(t, "lower", int64(m.Lower), -MaxQ, MaxQ),
		within(t, "upper", int64(m.Upper), -MaxQ, MaxQ),
		within(t, "v", int64(m.V), 1, MaxV),
		within(t, "a", int64(m.A), 1, MaxA),
		within(t, "ramp", int64(m.Ramp), 1, MaxRamp),
	); err != nil {
		return err
	}
	if m.Lower > m.Upper {
		return robot.Errf(robot.CodeInvalidArgument, t.String()+".lower", "%d is above the upper limit %d", m.Lower, m.Upper)
	}
	if uint64(m.V)*256 > uint64(m.A)*MaxStopping {
		return robot.Errf(robot.CodeInvalidArgument, t.String()+".a",
			"from %d with %d the joint would take longer than %d ms to stop", m.V, m.A, MaxStopping)
	}
	return nil
}

// Append appends the frame to dst.
func (m Configure) Append(dst []byte, seq byte) ([]byte, error) {
	if err := m.check(); err != nil {
		return dst, err
	}
	start := len(dst)
	dst = append(begin(dst, TypeConfigure, seq), m.Channel, byte(m.Flags))
	dst = le.AppendUint32(dst, uint32(m.Lower))
	dst = le.AppendUint32(dst, uint32(m.Upper))
	dst = le.AppendUint32(dst, m.V)
	dst = le.AppendUint32(dst, m.A)
	return end(le.AppendUint16(dst, m.Ramp), start), nil
}

// Parse reads a payload.
func (m *Configure) Parse(p []byte) error {
	if err := exactly(TypeConfigure, p, 20); err != nil {
		return err
	}
	*m = Configure{
		Channel: p[0], Flags: JointFlags(p[1]), Lower: int32(le.Uint32(p[2:])), Upper: int32(le.Uint32(p[6:])),
		V: le.Uint32(p[10:]), A: le.Uint32(p[14:]), Ramp: le.Uint16(p[18:]),
	}
	return m.check()
}

// ConfigureOutput says what an output may be set to and what it does by itself.
type ConfigureOutput struct {
	Output   byte // counted from 0
	OnStop   OnEvent
	OnLost   OnEvent
	Off, Max uint16
}

func (m ConfigureOutput) check() error {
	const t = TypeConfigureOutput
	return first(
		within(t, "output", int64(m.Output), 0, MaxOutputs-1),
		oneOf(t, "on_stop", byte(m.OnStop), onEvents[:]),
		oneOf(t, "on_lost", byte(m.OnLost), onEvents[:]),
		within(t, "off", int64(m.Off), 0, int64(m.Max)),
	)
}

// Append appends the frame to dst.
func (m ConfigureOutput) Append(dst []byte, seq byte) ([]byte, error) {
	if err := m.check(); err != nil {
		return dst, err
	}
	start := len(dst)
	dst = append(begin(dst, TypeConfigureOutput, seq), m.Output, byte(m.OnStop), byte(m.OnLost))
	return end(le.AppendUint16(le.AppendUint16(dst, m.Off), m.Max), start), nil
}

// Parse reads a payload.
func (m *ConfigureOutput) Parse(p []byte) error {
	if err := exactly(TypeConfigureOutput, p, 7); err != nil {
		return err
	}
	*m = ConfigureOutput{
		Output: p[0], OnStop: OnEvent(p[1]), OnLost: OnEvent(p[2]),
		Off: le.Uint16(p[3:]), Max: le.Uint16(p[5:]),
	}
	return m.check()
}

// Report asks where the joints are.
type Report struct{}

// Append appends the frame to dst.
func (Report) Append(dst []byte, seq byte) ([]byte, error) {
	return end(begin(dst, TypeReport, seq), len(dst)), nil
}

// Parse reads a payload.
func (*Report) Parse(p []byte) error { return exactly(TypeReport, p, 0) }

// Enable powers the joints at the places that it names.
type Enable struct {
	Report uint16  // the number of the POSITIONS that it cites
	Q      []int32 // for each joint
}

func (m Enable) check() error {
	if err := count(TypeEnable, len(m.Q), MaxJoints); err != nil {
		return err
	}
	for _, q := range m.Q {
		if err := within(TypeEnable, "q", int64(q), -MaxQ, MaxQ); err != nil {
			return err
		}
	}
	return nil
}

// Append appends the frame to dst.
func (m Enable) Append(dst []byte, seq byte) ([]byte, error) {
	if err := m.check(); err != nil {
		return dst, err
	}
	start := len(dst)
	dst = le.AppendUint16(begin(dst, TypeEnable, seq), m.Report)
	for _, q := range m.Q {
		dst = le.AppendUint32(dst, uint32(q))
	}
	return end(dst, start), nil
}

// Parse reads a payload.
func (m *Enable) Parse(p []byte) error {
	n, err := eachOf(TypeEnable, p, 2, 4, MaxJoints)
	if err != nil {
		return err
	}
	m.Report, m.Q = le.Uint16(p), m.Q[:0]
	for i := range n {
		m.Q = append(m.Q, int32(le.Uint32(p[2+4*i:])))
	}
	return m.check()
}

// Disable takes the power off.
type Disable struct{}

// Append appends the frame to dst.
func (Disable) Append(dst []byte, seq byte) ([]byte, error) {
	return end(begin(dst, TypeDisable, seq), len(dst)), nil
}

// Parse reads a payload.
func (*Disable) Parse(p []byte) error { return exactly(TypeDisable, p, 0) }

// Begin begins to fill the queue for a motion.
type Begin struct {
	Motion uint16
	Stops  uint16 // the board's count when the motion was allowed
	Seek   byte   // the joint that looks for its switch, or NoSeek
}

func (m Begin) check() error {
	if m.Seek == NoSeek {
		return nil
	}
	return within(TypeBegin, "seek", int64(m.Seek), 0, MaxJoints-1)
}

// Append appends the frame to dst.
func (m Begin) Append(dst []byte, seq byte) ([]byte, error) {
	if err := m.check(); err != nil {
		return dst, err
	}
	start := len(dst)
	dst = le.AppendUint16(le.AppendUint16(begin(dst, TypeBegin, seq), m.Motion), m.Stops)
	return end(append(dst, m.Seek), start), nil
}

// Parse reads a payload.
func (m *Begin) Parse(p []byte) error {
	if err := exactly(TypeBegin, p, 5); err != nil {
		return err
	}
	*m = Begin{Motion: le.Uint16(p), Stops: le.Uint16(p[2:]), Seek: p[4]}
	return m.check()
}

// Go starts the motion that was begun.
type Go struct{ Motion uint16 }

// Append appends the frame to dst.
func (m Go) Append(dst []byte, seq byte) ([]byte, error) {
	return end(le.AppendUint16(begin(dst, TypeGo, seq), m.Motion), len(dst)), nil
}

// Parse reads a payload.
func (m *Go) Parse(p []byte) error {
	if err := exactly(TypeGo, p, 2); err != nil {
		return err
	}
	m.Motion = le.Uint16(p)
	return nil
}

// Stop stops. What a board makes of another length or kind is an e-stop; Parse
// refuses it.
type Stop struct{ Kind StopKind }

func (m Stop) check() error { return oneOf(TypeStop, "kind", byte(m.Kind), stopKinds[:]) }

// Append appends the frame to dst.
func (m Stop) Append(dst []byte, seq byte) ([]byte, error) {
	if err := m.check(); err != nil {
		return dst, err
	}
	return end(append(begin(dst, TypeStop, seq), byte(m.Kind)), len(dst)), nil
}

// Parse reads a payload.
func (m *Stop) Parse(p []byte) error {
	if err := exactly(TypeStop, p, 1); err != nil {
		return err
	}
	m.Kind = StopKind(p[0])
	return m.check()
}

// Clear takes away the latched fault, which it names.
type Clear struct{ Fault Fault }

func (m Clear) check() error {
	if m.Fault == FaultNone {
		return robot.Errf(robot.CodeInvalidArgument, "CLEAR.fault", "it has to name the latched fault, not %s", m.Fault)
	}
	return oneOf(TypeClear, "fault", byte(m.Fault), faults[:])
}

// Append appends the frame to dst.
func (m Clear) Append(dst []byte, seq byte) ([]byte, error) {
	if err := m.check(); err != nil {
		return dst, err
	}
	return end(append(begin(dst, TypeClear, seq), byte(m.Fault)), len(dst)), nil
}

// Parse reads a payload.
func (m *Clear) Parse(p []byte) error {
	if err := exactly(TypeClear, p, 1); err != nil {
		return err
	}
	m.Fault = Fault(p[0])
	return m.check()
}

// Output sets an output.
type Output struct {
	Output byte // counted from 0
	Value  uint16
}

func (m Output) check() error {
	return within(TypeOutput, "output", int64(m.Output), 0, MaxOutputs-1)
}

// Append appends the frame to dst.
func (m Output) Append(dst []byte, seq byte) ([]byte, error) {
	if err := m.check(); err != nil {
		return dst, err
	}
	return end(le.AppendUint16(append(begin(dst, TypeOutput, seq), m.Output), m.Value), len(dst)), nil
}

// Parse reads a payload.
func (m *Output) Parse(p []byte) error {
	if err := exactly(TypeOutput, p, 3); err != nil {
		return err
	}
	*m = Output{Output: p[0], Value: le.Uint16(p[1:])}
	return m.check()
}

// Heartbeat feeds the watchdog and asks for the board's clock.
type Heartbeat struct{ HostMS uint32 }

// Append appends the frame to dst.
func (m Heartbeat) Append(dst []byte, seq byte) ([]byte, error) {
	return end(le.AppendUint32(begin(dst, TypeHeartbeat, seq), m.HostMS), len(dst)), nil
}

// Parse reads a payload.
func (m *Heartbeat) Parse(p []byte) error {
	if err := exactly(TypeHeartbeat, p, 4); err != nil {
		return err
	}
	m.HostMS = le.Uint32(p)
	return nil
}

// Reference says where the place is at which a joint's switch closed.
type Reference struct {
	Channel byte
	Q       int32
}

func (m Reference) check() error {
	return first(
		within(TypeReference, "channel", int64(m.Channel), 0, MaxJoints-1),
		within(TypeReference, "q", int64(m.Q), -MaxQ, MaxQ),
	)
}

// Append appends the frame to dst.
func (m Reference) Append(dst []byte, seq byte) ([]byte, error) {
	if err := m.check(); err != nil {
		return dst, err
	}
	return end(le.AppendUint32(append(begin(dst, TypeReference, seq), m.Channel), uint32(m.Q)), len(dst)), nil
}

// Parse reads a payload.
func (m *Reference) Parse(p []byte) error {
	if err := exactly(TypeReference, p, 5); err != nil {
		return err
	}
	*m = Reference{Channel: p[0], Q: int32(le.Uint32(p[1:]))}
	return m.check()
}
