package gate

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Code is a stable, append-only reason for a refusal. The strings equal those of
// package robot; a test in cmd/tau holds the two lists together.
type Code string

// The codes.
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

// Quantity is a number with the name of what it measures and its unit.
type Quantity struct {
	Name  string  `json:"name,omitempty"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"`
}

// finite returns a copy, or nil where there is no number.
func (q *Quantity) finite() *Quantity {
	if q == nil || math.IsNaN(q.Value) || math.IsInf(q.Value, 0) {
		return nil
	}
	c := *q
	return &c
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

// Error is a typed refusal: code, place (a field of the arguments, a joint, a
// link, file:line), text, value and limit, and the nearest admissible alternative.
type Error struct {
	Code    Code
	Where   string
	Text    string
	Value   *Quantity
	Limit   *Quantity
	Nearest []Quantity
	// Access is what request_access could ask for so that this wouldn't be refused
	// (G48): "zone:NAME" or "speed:SCALE"; "" where there is nothing.
	Access string
	Err    error
}

// Errf returns an Error with a formatted text. A %w verb's operand becomes the cause.
func Errf(code Code, where, format string, args ...any) *Error {
	e := fmt.Errorf(format, args...)
	return &Error{Code: code, Where: where, Text: e.Error(), Err: errors.Unwrap(e)}
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message() }

// Message is the error without its code: where, text, value, limit, nearest.
func (e *Error) Message() string {
	var b strings.Builder
	b.WriteString(e.Where)
	if e.Where != "" && e.Text != "" {
		b.WriteString(": ")
	}
	b.WriteString(e.Text)
	if e.Value != nil {
		b.WriteString(" (value ")
		b.WriteString(e.Value.String())
		if e.Limit != nil {
			b.WriteString(", limit ")
			b.WriteString(e.Limit.String())
		}
		b.WriteString(")")
	}
	for i, q := range e.Nearest {
		if i == 0 {
			b.WriteString("; nearest admissible: ")
		} else {
			b.WriteString(", ")
		}
		b.WriteString(q.String())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an Error with nothing but the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Text == "" && t.Where == ""
}

// ErrCode returns an Error with nothing but a code, to be a target of errors.Is.
func ErrCode(code Code) *Error { return &Error{Code: code} }

// CodeOf returns the code of the first Error in err's chain, or "".
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
