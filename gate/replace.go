package gate

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
)

// maxEdits is how often the approver of one call may ask for something else in one run
// of the bridge.
const maxEdits = 8

// edit puts another request in the place of an open one (G46): what its approver asked
// for instead, slower or shorter, planned and rehearsed anew, with an id, a secret and
// an expiry of its own. It approves nothing. The caller of put holds the question. Where
// the edit can't be done the same request is asked again, and says why; stays is false
// where nothing is asked any more, for the reason in the verdict.
func (g *Gate) edit(ctx context.Context, c *call, req Request, m permit, p *plan, v verdict) (_ Request, _ permit, _ *plan, _ verdict, stays bool) {
	next, err := g.editedPlan(ctx, c, p, v.edit)
	var q Request
	var n permit
	var snapshot []byte
	if err == nil {
		var id string
		if id, err = newID(g.cfg.Rand); err == nil {
			q, n, snapshot, err = g.request(c, id, next)
		}
	}
	event := Event{Card: ptr(req.Card.Clone()), Digest: hexOf(m.digest), Text: "replaced by the request " + q.CallID}
	if err != nil {
		event.Text = "asked again as it was: " + asError(err, CodeInternal).Message()
	}
	if lerr := g.approvalEvent(c, v, event, g.cfg.Now().Sub(m.asked)); lerr != nil {
		return req, m, p, endedBy(lerr, v.by), false
	}
	if ctx.Err() != nil {
		return req, m, p, g.questionEnded(ctx, c), false
	}
	if err != nil {
		req.Notices = []Notice{{Kind: CantEdit, Text: asError(err, CodeInternal).Message()}}
		return req, m, p, v, true
	}
	m.decided = g.cfg.Now()
	lease, err := g.claim(ctx, c, m, v.by)
	if err != nil {
		return req, m, p, endedBy(err, v.by), false
	}
	n.secret, err = guard("requests", func() (Secret, error) {
		return g.cfg.Requests.Replace(ctx, lease, q.Clone(), snapshot, g.cfg.Now())
	})
	if err != nil {
		g.mayBeStored(q.CallID, err)
		return req, m, p, endedBy(err, v.by), false
	}
	c.replaced(q.CallID, next.args)
	g.book.alias(c, q.CallID)
	return q, n, next, v, true
}

// endedBy is the verdict on a question that a fault ended.
func endedBy(err error, by string) verdict {
	v := verdict{err: asError(err, CodeInternal), approval: ApprovalNone, decision: "withdrawn", state: RequestWithdrawn, by: by}
	v.reason = v.err.Message()
	return v
}

// editedPlan plans and rehearses what an edit makes of a call.
func (g *Gate) editedPlan(ctx context.Context, c *call, p *plan, e Edit) (*plan, error) {
	tool, ok := c.entry.tool.(Editable)
	if !ok {
		return nil, Errf(CodeNotSupported, c.inv.Tool, "can't be made slower or shorter; approve or refuse it")
	}
	c.step("planning what the approver asked for instead")
	in := c.forTool()
	in.Args = bytes.Clone(p.args)
	args, err := guard(c.inv.Tool, func() (json.RawMessage, error) { return tool.Edit(ctx, in, p.action, e) })
	if err != nil {
		return nil, asError(err, CodeInternal)
	}
	if args, err = DecodeStrict(c.entry.spec.Input, args); err != nil {
		return nil, Errf(CodeInternal, c.inv.Tool, "an edit made arguments that aren't valid: %w", err)
	}
	if bytes.Equal(args, p.args) {
		return nil, Errf(CodeInvalidArgument, "edit", "changes nothing")
	}
	// A rule binds what an approver makes of a call, too (G20).
	if _, err := g.judgedAs(ctx, c, args, "isn't what the approver asked for"); err != nil {
		return nil, err
	}
	next, err := g.prepareWith(ctx, c, args)
	if err != nil {
		return nil, err
	}
	return next, next.fresh(g.cfg.Now())
}

// replaced records that another request stands in the place of the call's own.
func (c *call) replaced(id string, args json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stored, c.final = id, args
}

// request is the id under which the call's request is stored: its own, or that of what
// an approver has made of it.
func (c *call) request() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stored != "" {
		return c.stored
	}
	return c.id
}

// finalArgs are the call's arguments, as an approver may have changed them.
func (c *call) finalArgs() (args json.RawMessage, edited bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.final != nil {
		return slices.Clone(c.final), true
	}
	return bytes.Clone(c.args), false
}

// asking is the step of a call that is shown to a person.
func (c *call) asking() string {
	if args, edited := c.finalArgs(); edited {
		return "waiting for approval of what the approver made of it: " + clip(string(args), 512)
	}
	return "waiting for approval"
}

// editedText says before an answer what an approver has made of a call.
func editedText(tool string, args json.RawMessage, text string) string {
	return "The approver changed this call to " + tool + " " + clip(string(args), 512) + ". " + text
}

// notices are what a person is to know when the call is asked.
func (c *call) notices() []Notice {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone == nil {
		return nil
	}
	return []Notice{{Kind: CallerGone, Text: *c.gone}}
}
