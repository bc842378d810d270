package gate

import (
	"bytes"
	"context"
	"encoding/json"
)

// change is what hooks have made of a call, for the log.
type change struct {
	Tool    string          `json:"asked_tool,omitempty"` // what was asked for, where hooks changed it
	Args    json.RawMessage `json:"asked_arguments,omitempty"`
	By      []string        `json:"changed_by,omitempty"`
	Retried string          `json:"retried_by,omitempty"`
}

// json is nil where hooks changed nothing.
func (x *change) json() json.RawMessage {
	if x == nil {
		return nil
	}
	b, err := json.Marshal(x)
	if err != nil { // strings and checked JSON only
		return nil
	}
	return b
}

// hooked is what hooks are told of a call.
func (c *call) hooked() Hooked {
	return Hooked{
		CallID: c.id, Session: c.session, Principal: c.inv.Principal, Origin: c.inv.Origin,
		Turn: c.inv.Turn, Batch: c.inv.Batch,
	}
}

// beforeCall asks the before-call hooks in their order. Whatever one of them leaves is
// looked up and decoded as strictly as what the caller sent, before the next one or
// the gate sees it (G7).
func (g *Gate) beforeCall(ctx context.Context, c *call) error {
	for _, h := range g.hooks.call {
		if ctx.Err() != nil {
			return ended(ctx)
		}
		want, err := guard(h.Name, func() (Change, error) {
			return h.BeforeCall(ctx, HookCall{
				Hooked: c.hooked(), Tool: c.inv.Tool, Tier: c.entry.spec.Tier, Args: bytes.Clone(c.args),
			})
		})
		if err != nil {
			return c.because(failedReason(h), g.hookFailed(c, h, err))
		}
		if want.Refuse != nil {
			return c.because("hook "+h.Name, hookRefusal(want.Refuse, c.inv.Tool))
		}
		if err := g.lookAgain(c, h, want); err != nil {
			return err
		}
	}
	return nil
}

// lookAgain takes what a hook has left for the call. Tool, tier and schema are the
// catalog's: a hook can't give a tool another tier.
func (g *Gate) lookAgain(c *call, h Hook, want Change) error {
	if want.Tool == "" && want.Args == nil {
		return nil
	}
	tool, args := want.Tool, want.Args
	if tool == "" {
		tool = c.inv.Tool
	}
	if args == nil {
		args = c.args
	}
	entry := g.cat.lookup(tool)
	if _, stops := stopKindOf(tool); stops || entry == nil {
		return c.because(failedReason(h), g.hookFailed(c, h, Errf(CodeUnknownTool, "tool", "it put %q in the call's place, which is no tool that a call can become", clip(tool, maxName))))
	}
	decoded, err := DecodeStrict(entry.spec.Input, args)
	if err != nil {
		return c.because(failedReason(h), g.hookFailed(c, h, prefix(asError(err, CodeInvalidArgument), "what it left for "+tool)))
	}
	if tool == c.inv.Tool && bytes.Equal(decoded, c.args) {
		return nil
	}
	if c.changed == nil {
		c.changed = &change{Tool: c.inv.Tool, Args: c.args}
	}
	c.changed.By = append(c.changed.By, h.Name)
	c.mu.Lock() // whoever holds the ticket may ask for the tool's name
	c.inv.Tool = tool
	c.mu.Unlock()
	c.entry, c.args = entry, decoded
	if err := g.mayUse(c.inv.Principal, tool); err != nil {
		return c.because("role", err)
	}
	return nil
}

// failedReason is what is recorded of a call whose hook failed.
func failedReason(h Hook) string { return "hook " + h.Name + " failed" }

// hookFailed refuses a call whose hook failed, and records that under its name (G22).
func (g *Gate) hookFailed(c *call, h Hook, err error) error {
	e := asError(err, CodeInternal)
	text := "a hook failed: " + e.Message() + "; it was not run"
	g.errorEvent(c, h.Name, e.Code, text)
	if isFault(err) {
		g.logFault("a hook failed", c, err)
	}
	return &Error{Code: CodeInternal, Where: h.Name, Text: "one of the operator's rules failed inside; it was not run", Err: err}
}

// hookRefusal is a hook's no as an error of the gate's own.
func hookRefusal(refuse *Error, tool string) error {
	e := *refuse
	if e.Code == "" {
		e.Code = CodeNotApproved
	}
	if e.Text == "" {
		e.Text = "the operator's rules refuse " + tool + "; it was not run"
	}
	return &e
}

// because records why a call is refused, for its event.
func (c *call) because(reason string, err error) error {
	c.reason = reason
	return err
}

// BeforeModel is to be asked by a front end that has a model of its own, before each
// step that it asks of it: the call budget of turn and session, then the hooks. An
// *Error means that the turn ends, and says so for the person and the model.
func (g *Gate) BeforeModel(ctx context.Context, s ModelStep) error {
	c := &call{g: g, start: g.cfg.Now(), inv: Invocation{Session: s.Session, Principal: s.Principal, Origin: s.Origin, Turn: s.Turn}}
	if now, err := g.session(s.Session); err == nil {
		c.setSession(now)
	} else if now.Name == "" {
		return err
	}
	if err := g.budget.spent(c); err != nil {
		return err
	}
	for _, h := range g.hooks.model {
		refuse, err := guard(h.Name, func() (*Error, error) { return h.BeforeModel(ctx, s) })
		if err != nil {
			return g.hookFailed(c, h, err)
		}
		if refuse != nil {
			return hookRefusal(refuse, "the model's next step")
		}
	}
	return nil
}
