package wire

// StatusFlags are STATUS's.
type StatusFlags byte

// The flags of a STATUS.
const (
	FlagPowered    StatusFlags = 1 << 0
	FlagEnabled    StatusFlags = 1 << 1
	FlagEStopInput StatusFlags = 1 << 2 // the input is active now
	FlagReferenced StatusFlags = 1 << 3 // all joints are
	FlagFound      StatusFlags = 1 << 4 // the switch that was sought was found
	FlagEStopped   StatusFlags = 1 << 5 // an e-stop since the last CLEAR
)

const allStatusFlags = FlagPowered | FlagEnabled | FlagEStopInput | FlagReferenced | FlagFound | FlagEStopped

// Has reports whether all of flags are set.
func (f StatusFlags) Has(flags StatusFlags) bool { return f&flags == flags }

// Status is what the board says of itself, every HelloReply.StatusMS.
type Status struct {
	BoardMS      uint32
	State        State
	Flags        StatusFlags
	Fault        Fault
	FaultChannel byte // the joint that the fault is about, or NoChannel
	Stops        uint16
	Motion       uint16 // the last BEGIN's, 0 before
	MotionMS     uint32 // ticks that the motion made
	Free         uint16 // bytes that the queue has left
	Accepted     byte   // pieces of this motion, modulo 256
	Inputs       byte   // a bit for each switch, 1 closed
	Setpoints    []int32
}

// statusHead is what is in front of the setpoints, bytes.
const statusHead = 20

func (m Status) check() error {
	const t = TypeStatus
	if err := first(
		oneOf(t, "state", byte(m.State), states[:]),
		zeros(t, "flags", byte(m.Flags), ^byte(allStatusFlags)),
		oneOf(t, "fault", byte(m.Fault), faults[:]),
		count(t, len(m.Setpoints), MaxJoints),
	); err != nil {
		return err
	}
	if m.FaultChannel != NoChannel {
		if err := within(t, "fault_channel", int64(m.FaultChannel), 0, int64(len(m.Setpoints))-1); err != nil {
			return err
		}
	}
	for _, q := range m.Setpoints {
		if err := within(t, "setpoint", int64(q), -MaxQ, MaxQ); err != nil {
			return err
		}
	}
	return nil
}

// Append appends the frame to dst.
func (m Status) Append(dst []byte, seq byte) ([]byte, error) {
	if err := m.check(); err != nil {
		return dst, err
	}
	start := len(dst)
	dst = le.AppendUint32(begin(dst, TypeStatus, seq), m.BoardMS)
	dst = append(dst, byte(m.State), byte(m.Flags), byte(m.Fault), m.FaultChannel)
	dst = le.AppendUint16(le.AppendUint16(dst, m.Stops), m.Motion)
	dst = le.AppendUint16(le.AppendUint32(dst, m.MotionMS), m.Free)
	dst = append(dst, m.Accepted, m.Inputs)
	for _, q := range m.Setpoints {
		dst = le.AppendUint32(dst, uint32(q))
	}
	return end(dst, start), nil
}

// Parse reads a payload. It uses Setpoints again.
func (m *Status) Parse(p []byte) error {
	n, err := eachOf(TypeStatus, p, statusHead, 4, MaxJoints)
	if err != nil {
		return err
	}
	*m = Status{
		BoardMS: le.Uint32(p), State: State(p[4]), Flags: StatusFlags(p[5]), Fault: Fault(p[6]), FaultChannel: p[7],
		Stops: le.Uint16(p[8:]), Motion: le.Uint16(p[10:]), MotionMS: le.Uint32(p[12:]), Free: le.Uint16(p[16:]),
		Accepted: p[18], Inputs: p[19], Setpoints: m.Setpoints[:0],
	}
	for i := range n {
		m.Setpoints = append(m.Setpoints, int32(le.Uint32(p[statusHead+4*i:])))
	}
	return m.check()
}
