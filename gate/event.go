package gate

import (
	"encoding/json"
	"time"
)

// Event is one entry of a session's event log (G50).
type Event struct {
	Type          string          `json:"type"` // tool_call, approval, error, turn_limit, session, estop, stop, cancel, fault
	Time          time.Time       `json:"time"`
	SessionID     string          `json:"session_id"`
	Tool          string          `json:"tool,omitempty"`
	Tier          *int            `json:"tier,omitempty"`
	Arguments     json.RawMessage `json:"arguments,omitempty"` // canonical where valid; else a JSON string of what came
	Status        Status          `json:"status,omitempty"`
	Code          Code            `json:"code,omitempty"`
	ResultSummary string          `json:"result_summary,omitempty"`
	Approval      ApprovalKind    `json:"approval,omitempty"`
	DurationMS    float64         `json:"duration_ms"`
	ToolUseID     string          `json:"tool_use_id,omitempty"`
	CallID        string          `json:"call_id,omitempty"`
	Principal     string          `json:"principal,omitempty"`
	Origin        string          `json:"origin,omitempty"`
	Mode          Mode            `json:"mode,omitempty"`
	Backend       string          `json:"backend,omitempty"`
	Restored      bool            `json:"restored,omitempty"` // an earlier process asked the call
	// Of what a routine did, or what a card had permitted before.
	Routine   string `json:"routine,omitempty"`    // the routine that the call fired, or that it is a step of
	AllowedBy string `json:"allowed_by,omitempty"` // the call id of the card that permitted it
	PartOf    string `json:"part_of,omitempty"`    // the call that it is a step of
	// approval events
	Decision string `json:"decision,omitempty"`
	Decider  string `json:"decider,omitempty"` // the approver's name
	Reason   string `json:"reason,omitempty"`  // of a tool_call too: which rule refused it
	Digest   string `json:"digest,omitempty"`
	Card     *Card  `json:"card,omitempty"`
	// error, turn_limit, stop, cancel and fault events; Data of a tool_call says what
	// hooks changed: asked_tool, asked_arguments, changed_by, retried_by
	Where string          `json:"where,omitempty"`
	Text  string          `json:"text,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
}

// Sink records events. Emit returns once the event would survive kill -9 of this
// process. It may be called from any goroutine. A sink may also have a method
// Ready() error, which says without writing whether an event could be recorded
// now; the gate asks it before anybody is asked and before anything moves.
type Sink interface {
	Emit(Event) error
}
