package wire

import (
	"fmt"
	"strconv"
	"strings"
)

// message is any of them.
type message interface {
	Append(dst []byte, seq byte) ([]byte, error)
	Parse(p []byte) error
}

// newMessage returns an empty message of a type, nil for none.
func newMessage(t Type) message {
	switch t {
	case TypeHello:
		return &Hello{}
	case TypeDescribe:
		return &Describe{}
	case TypeConfigure:
		return &Configure{}
	case TypeConfigureOutput:
		return &ConfigureOutput{}
	case TypeReport:
		return &Report{}
	case TypeEnable:
		return &Enable{}
	case TypeDisable:
		return &Disable{}
	case TypeBegin:
		return &Begin{}
	case TypeSegment:
		return &Segment{}
	case TypeGo:
		return &Go{}
	case TypeStop:
		return &Stop{}
	case TypeClear:
		return &Clear{}
	case TypeOutput:
		return &Output{}
	case TypeHeartbeat:
		return &Heartbeat{}
	case TypeReference:
		return &Reference{}
	case TypeHelloReply:
		return &HelloReply{}
	case TypeChannel:
		return &Channel{}
	case TypePositions:
		return &Positions{}
	case TypeAck:
		return &Ack{}
	case TypeStatus:
		return &Status{}
	case TypeFeedback:
		return &Feedbacks{}
	case TypeEcho:
		return &Echo{}
	}
	return nil
}

func parse(t Type, p []byte) (message, error) {
	m := newMessage(t)
	if m == nil {
		return nil, fmt.Errorf("no message of %s", t)
	}
	return m, m.Parse(p)
}

// text is a message as messages.txt writes it: the document's names and numbers.
func text(m message) string {
	switch m := m.(type) {
	case *Hello:
		return fields("version", m.Version, "nonce", m.Nonce)
	case *Describe:
		return fields("channel", m.Channel)
	case *Configure:
		return fields("channel", m.Channel, "flags", byte(m.Flags), "lower", m.Lower, "upper", m.Upper, "v", m.V, "a", m.A, "ramp", m.Ramp)
	case *ConfigureOutput:
		return fields("output", m.Output, "on_stop", byte(m.OnStop), "on_lost", byte(m.OnLost), "off", m.Off, "max", m.Max)
	case *Enable:
		return fields("report", m.Report, "q", list(m.Q, func(q int32) int32 { return q }))
	case *Begin:
		return fields("motion", m.Motion, "stops", m.Stops, "seek", m.Seek)
	case *Segment:
		last := 0
		if m.Last {
			last = 1
		}
		return fields("index", m.Index, "ticks", m.Ticks, "first", m.First, "last", last,
			"q", list(m.Knots, func(k Knot) int32 { return k.Q }), "v", list(m.Knots, func(k Knot) int32 { return k.V }))
	case *Go:
		return fields("motion", m.Motion)
	case *Stop:
		return fields("kind", byte(m.Kind))
	case *Clear:
		return fields("fault", byte(m.Fault))
	case *Output:
		return fields("output", m.Output, "value", m.Value)
	case *Heartbeat:
		return fields("host_ms", m.HostMS)
	case *Reference:
		return fields("channel", m.Channel, "q", m.Q)
	case *HelloReply:
		return fields("version", m.Version, "nonce", m.Nonce, "boot", m.Boot, "firmware", m.Firmware, "joints", m.Joints,
			"outputs", m.Outputs, "queue", m.Queue, "status_ms", m.StatusMS, "flags", byte(m.Flags))
	case *Channel:
		return fields("channel", m.Channel, "kind", byte(m.Kind), "feedback", byte(m.Feedback), "switch", m.Switch,
			"lower", m.Lower, "upper", m.Upper)
	case *Positions:
		return fields("report", m.Report, "known", list(m.Joints, func(p Position) Known { return p.Known }),
			"q", list(m.Joints, func(p Position) int32 { return p.Q }), "raw", list(m.Joints, func(p Position) uint16 { return p.Raw }))
	case *Ack:
		return fields("seq", m.Seq, "type", byte(m.Type), "code", byte(m.Code), "stops", m.Stops)
	case *Status:
		return fields("board_ms", m.BoardMS, "state", byte(m.State), "flags", byte(m.Flags), "fault", byte(m.Fault),
			"fault_channel", m.FaultChannel, "stops", m.Stops, "motion", m.Motion, "motion_ms", m.MotionMS, "free", m.Free,
			"accepted", m.Accepted, "inputs", m.Inputs, "setpoints", list(m.Setpoints, func(q int32) int32 { return q }))
	case *Feedbacks:
		return fields("board_ms", m.BoardMS, "values", list(m.Values, func(q int32) int32 { return q }))
	case *Echo:
		return fields("host_ms", m.HostMS, "board_ms", m.BoardMS)
	}
	return ""
}

func fields(namesAndValues ...any) string {
	var b strings.Builder
	for i := 0; i < len(namesAndValues); i += 2 {
		fmt.Fprintf(&b, " %s=%v", namesAndValues[i], namesAndValues[i+1])
	}
	return strings.TrimPrefix(b.String(), " ")
}

func list[T any, N ~int32 | ~byte | ~uint16](s []T, of func(T) N) string {
	var b strings.Builder
	for i, e := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(of(e))))
	}
	return b.String()
}
