package gate

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"time"
)

// maxRawArgs bounds what an event keeps of arguments that aren't valid.
const maxRawArgs = 4096

// maxName bounds what an event keeps of a name that the caller chose.
const maxName = 128

// maxSummary bounds an event's result_summary.
const maxSummary = 300

// complete fills in what every answer carries.
func (c *call) complete(a Answer) Answer {
	a.CallID, a.Tool = c.id, c.inv.Tool
	a.Session, a.Mode, a.Backend = c.session.Name, c.session.Mode, c.session.Backend
	a.Duration = c.g.cfg.Now().Sub(c.start)
	a.Approval = c.approval
	if a.Approval == "" {
		a.Approval = ApprovalNone
	}
	if c.digest != ([32]byte{}) {
		a.Digest = hexOf(c.digest)
	}
	if args, edited := c.finalArgs(); edited {
		a.Text = editedText(c.inv.Tool, args, a.Text)
	}
	return a
}

// finish ends a call: its event, its log line, its place in the book, and then
// whoever waits for it. Each call comes here exactly once.
func (g *Gate) finish(c *call, a Answer) Answer {
	a = g.endTurns(c, g.after(c, a))
	if !c.again {
		a = c.complete(a)
		g.accessEnded(c, a)
		g.toolCallEvent(c, a)
		g.logCall(c, a)
	}
	if c.undecided {
		g.undecided(c)
	}
	c.mu.Lock()
	c.ended, c.end = true, a
	c.mu.Unlock()
	if c.booked {
		g.book.leave(c, g.cfg.Now())
	}
	if c.member != nil {
		c.member.end(a)
	}
	if c.done != nil {
		close(c.done)
	}
	return a
}

// event fills what all events of a call carry.
func (c *call) event(e *Event) {
	e.Time = c.g.cfg.Now()
	e.SessionID = c.session.Name
	if e.SessionID == "" {
		e.SessionID = c.inv.Session
	}
	e.Tool = clip(c.inv.Tool, maxName)
	if c.entry != nil {
		n := c.entry.spec.Tier.Number()
		e.Tier = &n
	}
	e.Arguments, _ = c.finalArgs()
	if e.Arguments == nil {
		e.Arguments = rawArgs(c.inv.Args)
	}
	e.ToolUseID, e.CallID = clip(c.inv.ToolUseID, maxName), c.id
	e.Principal, e.Origin = c.inv.Principal, c.inv.Origin
	e.Mode, e.Backend = c.session.Mode, c.session.Backend
	e.Restored = c.restored
	if c.fired != nil {
		e.Routine, e.AllowedBy, e.PartOf = c.fired.routine, c.fired.card, c.fired.partOf
	}
}

// rawArgs writes arguments that weren't valid as a JSON string.
func rawArgs(raw []byte) json.RawMessage {
	b, err := json.Marshal(clip(strings.ToValidUTF8(string(raw), "\uFFFD"), maxRawArgs))
	if err != nil {
		return nil
	}
	return b
}

func (g *Gate) toolCallEvent(c *call, a Answer) {
	e := Event{
		Type: "tool_call", Status: a.Status, Code: a.Code, ResultSummary: clip(a.Text, maxSummary),
		Approval: a.Approval, DurationMS: milliseconds(a.Duration), Digest: a.Digest, Data: c.changed.json(),
	}
	if a.Status != StatusOK {
		e.Reason = c.reason
	}
	if e.ResultSummary == "" && len(a.Result) > 0 {
		e.ResultSummary = clip(string(a.Result), maxSummary)
	}
	c.event(&e)
	_ = g.emit(e)
	if a.Code == CodeUnknownTool {
		g.errorEvent(c, "catalog", a.Code, a.Text)
	}
}

// approvalEvent records a question's end. An error means that nothing may run on it.
func (g *Gate) approvalEvent(c *call, v verdict, e Event, open time.Duration) error {
	e.Type, e.Decision, e.Reason, e.Decider = "approval", v.decision, v.reason, v.by
	if e.Decider == "" {
		e.Decider = g.approverName()
	}
	e.Approval, e.DurationMS = v.approval, milliseconds(open)
	if v.failed != nil {
		e.Text = asError(v.failed, CodeInternal).Message()
	}
	c.event(&e)
	e.CallID = c.request() // an edit has its own
	err := g.emit(e)
	level := slog.LevelInfo
	switch {
	case v.failed != nil:
		level = slog.LevelError
	case v.decision == "timeout":
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{
		slog.String("tool", c.inv.Tool), slog.String("decision", v.decision), slog.String("reason", v.reason),
		slog.String("decider", e.Decider), slog.String("session", e.SessionID), slog.String("call_id", c.id),
	}
	if v.failed != nil {
		attrs = append(attrs, faultAttrs(v.failed)...)
	}
	g.cfg.Log.LogAttrs(context.Background(), level, "decision", attrs...)
	return err
}

func (g *Gate) errorEvent(c *call, where string, code Code, text string) {
	e := Event{Type: "error", Where: where, Code: code, Text: text}
	c.event(&e)
	_ = g.emit(e)
	level := slog.LevelError
	if code == CodeUnknownTool {
		level = slog.LevelWarn
	}
	g.cfg.Log.LogAttrs(context.Background(), level, text, slog.String("where", where),
		slog.String("tool", clip(c.inv.Tool, 128)), slog.String("call_id", c.id))
}

// emit writes an event and remembers whether that works: physical calls are
// refused while it doesn't.
func (g *Gate) emit(e Event) error {
	_, err := guard("events", func() (struct{}, error) { return struct{}{}, g.cfg.Sink.Emit(e) })
	if err == nil {
		if g.sinkDown.Load() {
			g.sinkDown.Store(false)
		}
		return nil
	}
	g.sinkDown.Store(true)
	g.cfg.Log.Error("an event could not be written", "type", e.Type, "tool", clip(e.Tool, 128), "call_id", e.CallID, "error", err)
	return Errf(CodeInternal, "events", "the event log can't be written; nothing physical runs: %w", err)
}

// logReady refuses a physical call while its events couldn't be written.
func (g *Gate) logReady() error {
	if r, ok := g.cfg.Sink.(interface{ Ready() error }); ok {
		if _, err := guard("events", func() (struct{}, error) { return struct{}{}, r.Ready() }); err != nil {
			return Errf(CodeInternal, "events", "the event log can't be written; it was not run: %w", err)
		}
	}
	if g.sinkDown.Load() {
		return Errf(CodeInternal, "events", "the last event couldn't be written; it was not run")
	}
	return nil
}

func (g *Gate) logCall(c *call, a Answer) {
	level := slog.LevelInfo
	if c.entry != nil && c.entry.spec.Tier == TierRead {
		level = slog.LevelDebug
	}
	if c.entry == nil {
		return // the error event has been logged at WARN
	}
	if isFault(c.cause) {
		g.logFault("a call failed inside", c, c.cause)
	}
	if !g.cfg.Log.Enabled(context.Background(), level) {
		return
	}
	g.cfg.Log.LogAttrs(context.Background(), level, "call",
		slog.String("tool", c.inv.Tool), slog.String("tier", c.entry.spec.Tier.String()),
		slog.String("status", string(a.Status)), slog.String("code", string(a.Code)),
		slog.String("approval", string(a.Approval)), slog.Float64("duration_ms", milliseconds(a.Duration)),
		slog.String("session", a.Session), slog.String("backend", a.Backend), slog.String("call_id", c.id))
}

func isFault(err error) bool {
	var p *panicError
	return err != nil && (CodeOf(err) == CodeInternal || errors.As(err, &p))
}

func (g *Gate) logFault(text string, c *call, err error) {
	attrs := append([]slog.Attr{slog.String("tool", c.inv.Tool), slog.String("call_id", c.id)}, faultAttrs(err)...)
	g.cfg.Log.LogAttrs(context.Background(), slog.LevelError, text, attrs...)
}

func faultAttrs(err error) []slog.Attr {
	attrs := []slog.Attr{slog.String("error", err.Error())}
	var p *panicError
	if errors.As(err, &p) {
		attrs = append(attrs, slog.String("panic", p.Error()), slog.String("stack", string(p.stack)))
	}
	return attrs
}
