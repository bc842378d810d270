package gate

import (
	"bytes"
	"context"
)

// allowedAgain has a stored request judged by the operator's rules as they are now, and
// takes the budget that an ordinary call takes (G47). Rules that would change the call
// refuse it: a person has seen it as it is.
func (g *Gate) allowedAgain(ctx context.Context, c *call) error {
	now := &call{
		g: g, id: c.id, inv: c.inv, entry: c.entry, start: c.start, args: c.args, session: c.session, epoch: c.epoch,
		restored: c.restored,
	}
	if err := g.beforeCall(ctx, now); err != nil {
		return c.because(now.reason, err)
	}
	if now.inv.Tool != c.inv.Tool || !bytes.Equal(now.args, c.args) {
		return c.because("hook "+now.changed.By[0], Errf(CodeNotApproved, "", "the operator's rules would change this call to %s %s, which isn't what the card showed",
			clip(now.inv.Tool, maxName), clip(string(now.args), 512)))
	}
	if err := g.budget.take([]*call{c}, g.cfg.Now()); err != nil {
		return c.because("budget", err)
	}
	return nil
}
