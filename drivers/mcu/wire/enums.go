package wire

import "strconv"

// Type is a frame's type. Those below 0x80 are the host's.
type Type byte

// The types.
const (
	TypeHello           Type = 0x01
	TypeDescribe        Type = 0x02
	TypeConfigure       Type = 0x03
	TypeConfigureOutput Type = 0x04
	TypeReport          Type = 0x05
	TypeEnable          Type = 0x06
	TypeDisable         Type = 0x07
	TypeBegin           Type = 0x08
	TypeSegment         Type = 0x09
	TypeGo              Type = 0x0A
	TypeStop            Type = 0x0B
	TypeClear           Type = 0x0C
	TypeOutput          Type = 0x0D
	TypeHeartbeat       Type = 0x0E
	TypeReference       Type = 0x0F

	TypeHelloReply Type = 0x81
	TypeChannel    Type = 0x82
	TypePositions  Type = 0x83
	TypeAck        Type = 0x84
	TypeStatus     Type = 0x85
	TypeFeedback   Type = 0x86
	TypeEcho       Type = 0x87
)

var hostTypes = [...]string{
	TypeHello: "HELLO", TypeDescribe: "DESCRIBE", TypeConfigure: "CONFIGURE",
	TypeConfigureOutput: "CONFIGURE_OUTPUT", TypeReport: "REPORT", TypeEnable: "ENABLE",
	TypeDisable: "DISABLE", TypeBegin: "BEGIN", TypeSegment: "SEGMENT", TypeGo: "GO",
	TypeStop: "STOP", TypeClear: "CLEAR", TypeOutput: "OUTPUT",
	TypeHeartbeat: "HEARTBEAT", TypeReference: "REFERENCE",
}

var boardTypes = [...]string{
	TypeHelloReply & 0x7F: "HELLO_REPLY", TypeChannel & 0x7F: "CHANNEL",
	TypePositions & 0x7F: "POSITIONS", TypeAck & 0x7F: "ACK", TypeStatus & 0x7F: "STATUS",
	TypeFeedback & 0x7F: "FEEDBACK", TypeEcho & 0x7F: "ECHO",
}

// String is the document's name for it, or its number.
func (t Type) String() string {
	names := hostTypes[:]
	if t >= 0x80 {
		names = boardTypes[:]
	}
	return named(names, int(t&0x7F), "type ")
}

// State is the board's, in STATUS.
type State byte

// The states.
const (
	Idle    State = 0 // not enabled; may be powered, and then holds
	Hold    State = 1 // enabled, at rest
	Loaded  State = 2 // a motion is begun and not started
	Moving  State = 3
	Braking State = 4 // by a stop, a fault or a switch that was found
	Faulted State = 5 // at rest with a fault latched
)

var states = [...]string{"IDLE", "HOLD", "LOADED", "MOVING", "BRAKING", "FAULT"}

// String is the document's name for it, or its number.
func (s State) String() string { return named(states[:], int(s), "state ") }

// AtRest reports a state in which no setpoint changes.
func (s State) AtRest() bool { return s < Moving || s == Faulted }

// Fault is what a board latched first.
type Fault byte

// The faults.
const (
	FaultNone         Fault = 0
	FaultEStopInput   Fault = 1
	FaultEStopCommand Fault = 2
	FaultWatchdog     Fault = 3
	FaultUnderrun     Fault = 4
	FaultSequence     Fault = 5
	FaultLimit        Fault = 6
	FaultSpeed        Fault = 7
	FaultSwitch       Fault = 8
	FaultNotFound     Fault = 9
	FaultOverrun      Fault = 10
	FaultNoRoom       Fault = 11
	FaultInternal     Fault = 12
	FaultOverload     Fault = 13
)

var faults = [...]string{
	"NONE", "ESTOP_INPUT", "ESTOP_COMMAND", "WATCHDOG", "UNDERRUN", "SEQUENCE", "LIMIT",
	"SPEED", "SWITCH", "NOT_FOUND", "OVERRUN", "NO_ROOM", "INTERNAL", "OVERLOAD",
}

// String is the document's name for it, or its number.
func (f Fault) String() string { return named(faults[:], int(f), "fault ") }

// Code is what an ACK answers: CodeOK, or why not.
type Code byte

// The codes.
const (
	CodeOK            Code = 0
	CodeBadSequence   Code = 1
	CodeBadLength     Code = 2
	CodeUnknownType   Code = 3
	CodeBadValue      Code = 4
	CodeLooser        Code = 5
	CodeNotConfigured Code = 6
	CodeNotEnabled    Code = 7
	CodeFault         Code = 8
	CodeBusy          Code = 9
	CodeStopped       Code = 10
	CodeOverrun       Code = 11
	CodeLimit         Code = 12
	CodeSpeed         Code = 13
	CodeNoRoom        Code = 14
	CodeNotReferenced Code = 15
	CodeStaleReport   Code = 16
	CodeEStopActive   Code = 17
	CodeVersion       Code = 18
	CodeNoHello       Code = 19
	CodeNotBegun      Code = 20
)

var codes = [...]string{
	"OK", "BAD_SEQUENCE", "BAD_LENGTH", "UNKNOWN_TYPE", "BAD_VALUE", "LOOSER",
	"NOT_CONFIGURED", "NOT_ENABLED", "FAULT", "BUSY", "STOPPED", "OVERRUN", "LIMIT",
	"SPEED", "NO_ROOM", "NOT_REFERENCED", "STALE_REPORT", "ESTOP_ACTIVE", "VERSION",
	"NO_HELLO", "NOT_BEGUN",
}

// String is the document's name for it, or its number.
func (c Code) String() string { return named(codes[:], int(c), "code ") }

// Kind is what a channel drives.
type Kind byte

// The kinds.
const (
	KindServo    Kind = 1
	KindStepper  Kind = 2
	KindSwitched Kind = 16
	KindPWM      Kind = 17
)

var kinds = [...]string{
	KindServo: "servo", KindStepper: "stepper", KindSwitched: "switched output", KindPWM: "PWM output",
}

// String is a word for it, or its number.
func (k Kind) String() string { return named(kinds[:], int(k), "kind ") }

// Joint reports a kind that is a joint rather than an output.
func (k Kind) Joint() bool { return k == KindServo || k == KindStepper }

// Feedback is what a channel measures.
type Feedback byte

// The kinds of feedback.
const (
	FeedbackNone  Feedback = 0
	FeedbackADC   Feedback = 1 // a voltage, in ADC counts of 0 to 1023
	FeedbackSteps Feedback = 2 // the steps that were made, counted
)

var feedbacks = [...]string{"none", "adc", "steps"}

// String is the word of a robot's file for it, or its number.
func (f Feedback) String() string { return named(feedbacks[:], int(f), "feedback ") }

// Known says what a board knows of where a joint is.
type Known byte

// What it can know.
const (
	KnownNot      Known = 0 // nothing
	KnownSetpoint Known = 1 // where it was told to be, in this boot
	KnownMeasured Known = 2 // counted or measured
)

var knowns = [...]string{"unknown", "setpoint", "measured"}

// String is a word for it, or its number.
func (k Known) String() string { return named(knowns[:], int(k), "known ") }

// StopKind is a STOP's, after IEC 60204-1.
type StopKind byte

// The kinds of stop.
const (
	StopControlled StopKind = 0 // category 2: power stays
	StopEmergency  StopKind = 1 // latched; category 1 where the joints' flags allow it
)

var stopKinds = [...]string{"stop", "estop"}

// String is a word for it, or its number.
func (k StopKind) String() string { return named(stopKinds[:], int(k), "stop kind ") }

// OnEvent is what a stop or a lost link does to an output.
type OnEvent byte

// What it can do.
const (
	OnUnchanged OnEvent = 0
	OnOff       OnEvent = 1
)

var onEvents = [...]string{"unchanged", "off"}

// String is the word of robot.Actuator for it, or its number.
func (o OnEvent) String() string { return named(onEvents[:], int(o), "event ") }

// named is the name with a number, or what and the number where it has none.
func named(names []string, n int, what string) string {
	if n < len(names) && names[n] != "" {
		return names[n]
	}
	return what + strconv.Itoa(n)
}

// known reports a number that has a name.
func known(names []string, n byte) bool { return int(n) < len(names) && names[n] != "" }
