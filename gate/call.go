package gate

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// call is one invocation on its way. Its first block is written before it is
// shared and by its own goroutine only.
type call struct {
	g         *Gate
	id        string
	inv       Invocation
	entry     *entry // nil: unknown tool
	start     time.Time
	args      json.RawMessage
	epoch     uint64   // the stop epoch at its intake
	ran       bool     // the tool's Run was called
	again     bool     // the same call id as an earlier call's, so it only waits for that one
	cause     error    // why it was refused or failed, for the log
	booked    bool     // it is in the book
	undecided bool     // it counts as an open question
	aliases   []string // further ids of it in the book, whose lock holds them
	begun     bool     // the store was told to record the request as started
	started   bool     // and has said that it did
	restored  bool     // an earlier process asked it
	approval  ApprovalKind
	fired     *firedBy  // the routine that it runs, or is a step of; nil: none
	reason    string    // why it was refused, for its event, where the code doesn't say
	member    *member   // of a batch; nil: it came alone
	counts    [2]*count // of turn and session, while it counts as under way
	changed   *change   // what hooks did to it; nil: nothing
	seen      *seen     // its answer as the after hooks left it

	done   chan struct{}           // nil for tiers 0 and 1 through Call
	cancel context.CancelCauseFunc // set before the call is shared

	mu      sync.Mutex
	session Session
	phase   string
	digest  [32]byte
	expiry  time.Time
	decided bool            // it isn't an open question any more
	no      *Word           // a person's, from outside its question
	gone    *string         // why whoever asked isn't there any more; nil: it is
	stored  string          // the id of its request, where that isn't its own
	final   json.RawMessage // its arguments, where an approver has changed them
	ended   bool
	end     Answer
}

var _ Ticket = (*call)(nil)

func (c *call) ID() string            { return c.id }
func (c *call) Done() <-chan struct{} { return c.done }

// Cancel withdraws the open question or stops the motion. The call's answer comes later.
func (c *call) Cancel(reason string) {
	if reason == "" {
		reason = "cancelled"
	}
	if c.cancel != nil {
		c.cancel(Errf(CodeCancelled, "", "%s", clip(reason, 512)))
	}
}

// Answer returns the end, or the pending state.
func (c *call) Answer() Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		a := c.end
		a.Result = bytes.Clone(a.Result)
		return a
	}
	a := Answer{
		CallID: c.id, Tool: c.inv.Tool, Status: StatusPending, Approval: ApprovalNone,
		Duration: c.g.cfg.Now().Sub(c.start), ExpiresAt: c.expiry,
		Session: c.session.Name, Mode: c.session.Mode, Backend: c.session.Backend,
		Text: "Not ended yet (" + c.phase + "). Ask call_status with call_id " + c.id + "; do not send it again.",
	}
	if c.phase == "" {
		a.Text = "Not ended yet. Ask call_status with call_id " + c.id + "; do not send it again."
	}
	if c.digest != ([32]byte{}) {
		a.Digest = hexOf(c.digest)
	}
	return a
}

func (c *call) setSession(s Session) {
	c.mu.Lock()
	c.session = s
	c.mu.Unlock()
}

// step records and reports how far the call is.
func (c *call) step(phase string) {
	c.mu.Lock()
	c.phase = phase
	c.mu.Unlock()
	c.report(phase)
}

// report tells a front end; what that does wrong doesn't touch the call.
func (c *call) report(text string) {
	if c.inv.Progress != nil {
		_, _ = guard("progress", func() (struct{}, error) { c.inv.Progress(text); return struct{}{}, nil })
	}
}

func noProgress(string) {}

// forTool is what the tool sees of a call; it owns it.
func (c *call) forTool() Call {
	progress := c.inv.Progress
	if progress == nil {
		progress = noProgress
	} else if c.entry.spec.Tier == TierPhysical {
		progress = c.report
	}
	return Call{
		ID: c.id, Tool: c.inv.Tool, Args: bytes.Clone(c.args), Session: c.session,
		Principal: c.inv.Principal, Origin: c.inv.Origin, Epoch: c.epoch, Progress: progress,
	}
}

// JSON is the answer as front ends and call_status write it: call_id, tool,
// status, code, text, where, value, limit, nearest, result, approval, duration_ms,
// digest, expires_at, session, mode, backend; what is empty is left out, but status,
// approval and duration_ms.
func (a Answer) JSON() json.RawMessage {
	out := struct {
		CallID    string          `json:"call_id,omitempty"`
		Tool      string          `json:"tool,omitempty"`
		Status    Status          `json:"status"`
		Code      Code            `json:"code,omitempty"`
		Text      string          `json:"text,omitempty"`
		Where     string          `json:"where,omitempty"`
		Value     *Quantity       `json:"value,omitempty"`
		Limit     *Quantity       `json:"limit,omitempty"`
		Nearest   []Quantity      `json:"nearest,omitempty"`
		Result    json.RawMessage `json:"result,omitempty"`
		Approval  ApprovalKind    `json:"approval"`
		Duration  float64         `json:"duration_ms"`
		Digest    string          `json:"digest,omitempty"`
		ExpiresAt *time.Time      `json:"expires_at,omitempty"`
		Session   string          `json:"session,omitempty"`
		Mode      Mode            `json:"mode,omitempty"`
		Backend   string          `json:"backend,omitempty"`
	}{
		CallID: a.CallID, Tool: a.Tool, Status: a.Status, Code: a.Code, Text: a.Text, Result: a.Result,
		Where: a.Refusal.Where, Value: a.Refusal.Value, Limit: a.Refusal.Limit, Nearest: a.Refusal.Nearest,
		Approval: a.Approval, Duration: milliseconds(a.Duration), Digest: a.Digest,
		Session: a.Session, Mode: a.Mode, Backend: a.Backend,
	}
	if !a.ExpiresAt.IsZero() {
		t := a.ExpiresAt.UTC()
		out.ExpiresAt = &t
	}
	if !isObject(out.Result) {
		out.Result = nil
	}
	b, err := json.Marshal(out)
	if err != nil { // strings, numbers and checked JSON only
		return json.RawMessage(`{"status":"unknown","approval":"none","duration_ms":0}`)
	}
	return b
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func isObject(b []byte) bool {
	v := jsontext.Value(b)
	return len(b) > 0 && v.Kind() == '{' && v.IsValid()
}
