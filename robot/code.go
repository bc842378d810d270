package robot

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Code is a stable, append-only reason for a refusal or a fault. The strings
// equal those of package gate; a test in cmd/tau holds the two lists together.
type Code string

// The codes. Every backend uses the same code for the same cause.
const (
	CodeJointLimit      Code = "JOINT_LIMIT"
	CodeSpeedLimit      Code = "SPEED_LIMIT"
	CodeSelfCollision   Code = "SELF_COLLISION"
	CodeSceneCollision  Code = "SCENE_COLLISION"
	CodeWorkspace       Code = "WORKSPACE"
	CodeUnreachable     Code = "UNREACHABLE"
	CodeNoPath          Code = "NO_PATH"
	CodeSingular        Code = "SINGULAR"
	CodeTorqueLimit     Code = "TORQUE_LIMIT"
	CodeStartMoved      Code = "START_MOVED"
	CodePlanExpired     Code = "PLAN_EXPIRED"
	CodePlanUsed        Code = "PLAN_USED"
	CodeStaleState      Code = "STALE_STATE"
	CodeNotEnabled      Code = "NOT_ENABLED"
	CodeEStopped        Code = "ESTOPPED"
	CodeNotOptedIn      Code = "NOT_OPTED_IN"
	CodeOptInExpired    Code = "OPT_IN_EXPIRED"
	CodeBusy            Code = "BUSY"
	CodeDisconnected    Code = "DISCONNECTED"
	CodeRehearsalFailed Code = "REHEARSAL_FAILED"
	CodeDeviation       Code = "DEVIATION"
	CodeZoneNotGranted  Code = "ZONE_NOT_GRANTED"
	CodeRateLimited     Code = "RATE_LIMITED"
	CodeInvalidArgument Code = "INVALID_ARGUMENT"
	CodeNotApproved     Code = "NOT_APPROVED"
	CodeUnknownTool     Code = "UNKNOWN_TOOL"
	CodeUnknownOutcome  Code = "UNKNOWN_OUTCOME"
	CodeStopped         Code = "STOPPED"
	CodeCancelled       Code = "CANCELLED"
	CodeNotSupported    Code = "NOT_SUPPORTED"
	CodeNotCalibrated   Code = "NOT_CALIBRATED"
	CodeRequestExpired  Code = "REQUEST_EXPIRED"
	CodeInProgress      Code = "IN_PROGRESS"
	CodeOverload        Code = "OVERLOAD"
	CodeContact         Code = "CONTACT"
	CodeLinkTimeout     Code = "LINK_TIMEOUT"
	CodeToolFailed      Code = "TOOL_FAILED" // a tool of a mounted server says that it failed
	CodeInternal        Code = "INTERNAL"    // the bridge itself failed; nothing was permitted by it
)

// Codes lists every code in its published order.
func Codes() []Code {
	return []Code{
		CodeJointLimit, CodeSpeedLimit, CodeSelfCollision, CodeSceneCollision, CodeWorkspace,
		CodeUnreachable, CodeNoPath, CodeSingular, CodeTorqueLimit, CodeStartMoved,
		CodePlanExpired, CodePlanUsed, CodeStaleState, CodeNotEnabled, CodeEStopped,
		CodeNotOptedIn, CodeOptInExpired, CodeBusy, CodeDisconnected, CodeRehearsalFailed,
		CodeDeviation, CodeZoneNotGranted, CodeRateLimited, CodeInvalidArgument, CodeNotApproved,
		CodeUnknownTool, CodeUnknownOutcome, CodeStopped, CodeCancelled, CodeNotSupported,
		CodeNotCalibrated, CodeRequestExpired, CodeInProgress, CodeOverload, CodeContact,
		CodeLinkTimeout, CodeToolFailed, CodeInternal,
	}
}

// Quantity is a number with the name of what it measures and its unit, for
// example {"shoulder_pan", 2.5, "rad"}.
type Quantity struct {
	Name  string  `json:"name,omitempty"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"`
}

func (q Quantity) String() string {
	s := strconv.FormatFloat(q.Value, 'g', 6, 64)
	if q.Unit != "" {
		s += " " + q.Unit
	}
	if q.Name != "" {
		s = q.Name + " " + s
	}
	return s
}

// Error is the typed error of the whole program: what went wrong (Code and
// Text), where (a tool's field, a joint, a link, or file:line), the offending
// value and the limit where there is one, and the nearest admissible
// alternative where one is known. Match on the code with errors.Is against a
// *Error that has only Code set, or with CodeOf.
type Error struct {
	Code    Code
	Where   string     // "positions.shoulder_pan", "gripper_link", "arm.urdf:12"; may be empty
	Text    string     // one sentence without a full stop
	Value   *Quantity  // the offending value
	Limit   *Quantity  // the limit that it broke
	Nearest []Quantity // the nearest admissible alternative
	// Access is the permission that would make this admissible: "zone:NAME" for a
	// guarded zone, "speed:SCALE" for a speed scale above the operator's cap; "" where
	// no permission would.
	Access string
	Err    error // the cause, may be nil
}

// Errf returns an Error with a formatted text. A %w verb's operand becomes the
// cause.
func Errf(code Code, where, format string, args ...any) *Error {
	e := fmt.Errorf(format, args...)
	return &Error{Code: code, Where: where, Text: e.Error(), Err: errors.Unwrap(e)}
}

// LimitErr returns an Error that names a value and the limit it broke.
func LimitErr(code Code, where string, value, limit float64, unit, text string) *Error {
	return &Error{
		Code: code, Where: where, Text: text,
		Value: &Quantity{Value: value, Unit: unit}, Limit: &Quantity{Value: limit, Unit: unit},
	}
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Code))
	if e.Where != "" {
		b.WriteString(": ")
		b.WriteString(e.Where)
	}
	if e.Text != "" {
		b.WriteString(": ")
		b.WriteString(e.Text)
	}
	if e.Value != nil {
		b.WriteString(" (value ")
		b.WriteString(e.Value.String())
		if e.Limit != nil {
			b.WriteString(", limit ")
			b.WriteString(e.Limit.String())
		}
		b.WriteString(")")
	}
	if len(e.Nearest) > 0 {
		b.WriteString("; nearest admissible: ")
		for i, q := range e.Nearest {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(q.String())
		}
	}
	return b.String()
}

// Said is the text with its value and limit, without code and place: what a Fault says
// that has those by themselves.
func (e *Error) Said() string {
	if e.Value == nil || e.Limit == nil {
		return e.Text
	}
	return fmt.Sprintf("%s (%s, limit %s)", e.Text, e.Value, e.Limit)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an Error with the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Text == "" && t.Where == ""
}

// ErrCode returns an Error with nothing but a code, to be a target of errors.Is.
func ErrCode(code Code) *Error { return &Error{Code: code} }

// CodeOf returns the code of the first Error in err's chain, or "" if it has none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
