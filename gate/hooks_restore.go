package gate

import (
	"bytes"
	"context"
	"encoding/json"
)

// allowedAgain has a stored request judged by the operator's rules as they are now, and
// takes the budget that an ordinary call takes (G47). Rules that would change the call
// refuse it: a person has seen it as it is.
func (g *Gate) allowedAgain(ctx context.Context, c *call) error {
	if reason, err := g.judgedAs(ctx, c, c.args, "isn't what the card showed"); err != nil {
		return c.because(reason, err)
	}
	if err := g.budget.take([]*call{c}, g.cfg.Now()); err != nil {
		return c.because("budget", err)
	}
	return nil
}

// judgedAs has the before-call hooks judge a call as if it had come with args, and takes
// nothing of a budget. A hook that would change it refuses it; otherwise says what is
// wrong with that. reason is for the call's event.
func (g *Gate) judgedAs(ctx context.Context, c *call, args json.RawMessage, otherwise string) (reason string, err error) {
	now := &call{
		g: g, id: c.id, inv: c.inv, entry: c.entry, start: c.start, args: args, session: c.session, epoch: c.epoch,
		restored: c.restored,
	}
	if err := g.beforeCall(ctx, now); err != nil {
		return now.reason, err
	}
	if now.inv.Tool != c.inv.Tool || !bytes.Equal(now.args, args) {
		return "hook " + now.changed.By[0], Errf(CodeNotApproved, "", "the operator's rules would change this call to %s %s, which %s",
			clip(now.inv.Tool, maxName), clip(string(now.args), 512), otherwise)
	}
	return "", nil
}
