package gate

import (
	"context"
	"encoding/json"
	"time"
)

// Spec is what is known of a tool before it is called.
type Spec struct {
	Name        string
	Description string // fixed English, for the model
	Effect      string // one English sentence for the approver; defaults to Description (G2)
	Tier        Tier
	Input       *Schema // always an object
	Output      *Schema // nil: not declared
}

// Mode says whether a session moves something real. The zero value permits nothing.
type Mode string

// The modes.
const (
	ModeSim  Mode = "sim"
	ModeReal Mode = "real"
)

// Session is what the gate needs to know of a session, looked up from live state
// each time it matters, never from arguments.
type Session struct {
	Name    string `json:"name"`
	Mode    Mode   `json:"mode"`
	Backend string `json:"backend"` // names the robot that its physical calls move; also the resource they queue for
	// OptIn says of a real session who opted in, and to what: robot, driver, port.
	// A new opt-in of the same person to the same thing says the same (G47).
	OptIn string `json:"opt_in,omitempty"`
}

// Call is a checked call, as a tool and the gate's own parts see it.
type Call struct {
	ID        string // bridge-made, 128 bits, hex
	Tool      string
	Args      json.RawMessage // canonical JSON (RFC 8785), valid under the tool's schema
	Session   Session
	Principal string
	Origin    string // "prompt", "script", "mcp", …
	Epoch     uint64 // the bridge's stop epoch when the call was taken in
	// Progress reports a line to whoever waits for the call; never nil, never blocks.
	Progress func(text string)
}

// Tool is two steps, so that what a person approves is a finished thing.
type Tool interface {
	Spec() Spec
	// Prepare plans and rehearses. It has no side effects. Errors are *Error.
	Prepare(ctx context.Context, call Call) (Action, error)
	// Restore makes the same action again after a restart from its snapshot.
	Restore(ctx context.Context, snapshot []byte) (Action, error)
}

// Chained is a Tool whose action can also be prepared to begin where others end, as
// the steps of a routine do (G14). Whoever isn't one can't be a routine's step.
type Chained interface {
	Tool
	// PrepareAfter is Prepare from where the actions before it, in their order, leave
	// whatever they move. They are this catalog's own and none of them has run.
	PrepareAfter(ctx context.Context, call Call, before []Action) (Action, error)
}

// Action is a prepared call. Only the lane calls Run, and only once.
type Action interface {
	// Card says what the action would do, for a person.
	Card() Card
	// Digest is a SHA-256 over everything that the tool knows of the action:
	// robot, scene, limits, backend, driver and calibration hashes, trajectory,
	// rehearsal. The gate adds tool, schema, arguments, session, principal,
	// policy and expiry to it (G12).
	Digest() [32]byte
	// Snapshot returns what Restore needs.
	Snapshot() ([]byte, error)
	// Expiry is when the action goes stale by itself; zero: no expiry of its own.
	Expiry() time.Time
	// Resource names what the action moves.
	Resource() string
	// Check recomputes everything of G12 that the tool knows from live inputs
	// and returns an *Error on any drift.
	Check(ctx context.Context) error
	// Run does it. When ctx ends, whatever moves is brought to a controlled stop
	// before Run returns. An *Error carries the code; the Result is then still
	// what was measured.
	Run(ctx context.Context) (Result, error)
}

// Fact is one labelled line of a card.
type Fact struct {
	Label string `json:"label"`
	Text  string `json:"text"`
}

// Card is what a person is shown of an action, beside what the gate itself knows
// (tool, arguments, effect, session, expiry).
type Card struct {
	Facts   []Fact          `json:"facts,omitempty"`
	Assumed []string        `json:"assumed,omitempty"` // what was assumed rather than known
	Data    json.RawMessage `json:"data,omitempty"`    // the rehearsal record, for channels that draw
}

// Status is how a call ended.
type Status string

// The statuses.
const (
	StatusOK        Status = "ok"
	StatusRefused   Status = "refused" // nothing was done
	StatusError     Status = "error"   // something was done or tried, and it failed
	StatusCancelled Status = "cancelled"
	StatusUnknown   Status = "unknown" // what happened can't be known
	StatusPending   Status = "pending" // not ended yet
)

// Result is what a tool says after running: what was measured.
type Result struct {
	Text string          // for the model, English
	Data json.RawMessage // a JSON object, or nil
	// Status is left empty for the default: ok without an error, else what the
	// error's code means (see statusOf).
	Status Status
}

// ApprovalKind says how a call was allowed, or not.
type ApprovalKind string

// The approval kinds of a tool_call event and an answer.
const (
	ApprovalNone     ApprovalKind = "none" // nobody was asked
	ApprovalApproved ApprovalKind = "approved"
	ApprovalRejected ApprovalKind = "rejected"
	ApprovalTimeout  ApprovalKind = "timeout"
	ApprovalExempt   ApprovalKind = "exempt"
)

// Refusal is where and by how much a call was refused or failed, for programs: the
// fields of the *Error behind it. Whoever holds one doesn't change what it points to.
type Refusal struct {
	Where   string     // a field of the arguments, a joint, a link, a place; "" where there is none
	Value   *Quantity  // what was asked for or measured
	Limit   *Quantity  // what it was held against
	Nearest []Quantity // the nearest admissible alternative
}

// refusalOf copies what an error says. A number that isn't one says nothing.
func refusalOf(e *Error) Refusal {
	r := Refusal{Where: e.Where, Value: e.Value.finite(), Limit: e.Limit.finite()}
	for i := range e.Nearest {
		if q := e.Nearest[i].finite(); q != nil {
			r.Nearest = append(r.Nearest, *q)
		}
	}
	return r
}

// Answer is the end of a call, or its pending state.
type Answer struct {
	CallID    string
	Tool      string
	Status    Status
	Code      Code            // "" when ok
	Text      string          // for the model
	Refusal   Refusal         // what Text says of the reason, as fields
	Result    json.RawMessage // a JSON object, or nil
	Approval  ApprovalKind
	Duration  time.Duration
	Digest    string    // hex, once prepared
	ExpiresAt time.Time // of an open question
	// Session, Mode and Backend name what produced the answer: the session of the
	// call and the robot behind it, as they were when the call was checked. Empty
	// where the call never came that far.
	Session string
	Mode    Mode
	Backend string
}

// Invocation is a call as a front end hands it in: nothing of it is trusted but
// Session, Principal and Origin, which the front end itself has established.
type Invocation struct {
	Tool      string
	Args      []byte // raw JSON; empty means {}
	ToolUseID string // the caller's own id, for the log
	CallID    string // "" lets the gate make one
	Session   string
	Principal string
	Origin    string
	// Taken is when the front end took the call in: as soon as it was there whole,
	// before any stop that came behind it could act. A stop since then ends it before
	// anything is done. Zero: when it is handed in.
	Taken Stamp
	Batch Batch // the zero value: it came alone (G23)
	// Invalid is why the front end couldn't make sense of what came with the call; the
	// gate refuses it with that, so that it is in the log.
	Invalid *Error
	// Turn names the turn that the call is part of, for budgets; "" where the front end
	// doesn't know (see Budget).
	Turn string
	// Progress, if set, is told when the call waits, is asked and moves. It must not block.
	Progress func(text string)
}

// Caller is the agent-facing side of a gate: it can call and wait, and stop; it
// holds nothing that can approve.
type Caller interface {
	Specs() []Spec
	// Call runs a call to its end. When ctx ends first, an open question is
	// withdrawn or the motion stopped, and the answer says cancelled.
	Call(ctx context.Context, inv Invocation) Answer
	// Stamp is the stop epoch of now, for Invocation.Taken. It never blocks.
	Stamp() Stamp
	// Submit starts a call that outlives its caller and returns at once.
	Submit(inv Invocation) Ticket
}

// Ticket is a call in flight.
type Ticket interface {
	ID() string
	// Done is closed when the call has ended.
	Done() <-chan struct{}
	// Answer returns the end, or the pending state.
	Answer() Answer
	// Cancel withdraws the open question or stops the motion.
	Cancel(reason string)
}

// Leaver is a Ticket that can be told that whoever holds it has gone without cancelling
// it: the call goes on, and a person who looks at its question is told (G49). The gate's
// tickets of physical calls are.
type Leaver interface {
	Leave(why string)
}
