package gate

import (
	"context"
	"fmt"
	"slices"
)

// granted lists the grants in force that a principal has in a session as it is now.
func (g *Gate) granted(ctx context.Context, s Session, principal string) ([]Grant, error) {
	all, err := g.Grants(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(r Grant) bool { return !r.Holds(s, principal) }), nil
}

// Grants lists the grants in force, oldest first.
func (g *Gate) Grants(ctx context.Context) ([]Grant, error) {
	if g.cfg.Grants == nil {
		return nil, nil
	}
	return guard("grants", func() ([]Grant, error) { return g.cfg.Grants.Grants(ctx, g.cfg.Now()) })
}

// RevokeGrant ends a grant from the next call on, and from the next check of one that
// is planned, and reports whether it was in force. by says who it is, for the log.
func (g *Gate) RevokeGrant(ctx context.Context, id, by string) (bool, error) {
	if g.cfg.Grants == nil {
		return false, nil
	}
	was, err := g.Grants(ctx)
	if err != nil {
		g.cfg.Log.Error("the grants could not be listed before one is revoked", "grant", clip(id, maxName), "error", err)
	}
	ok, err := guard("grants", func() (bool, error) { return g.cfg.Grants.RevokeGrant(ctx, id, g.cfg.Now()) })
	if ok {
		i := slices.IndexFunc(was, func(r Grant) bool { return r.ID == id })
		e := Event{Type: "session", Text: fmt.Sprintf("the grant %s was revoked by %s", id, by), Decider: by}
		if i >= 0 {
			r := was[i]
			e.SessionID, e.Principal, e.Mode, e.Backend, e.AllowedBy = r.Session.Name, r.Principal, r.Session.Mode, r.Session.Backend, r.Card
			e.Text = fmt.Sprintf("%s, granted to %s, was revoked by %s", r.Value, r.Principal, by)
		}
		g.told(e)
	}
	return ok, err
}

// told records an event of the operator's own doing, which has no call.
func (g *Gate) told(e Event) {
	e.Time = g.cfg.Now()
	_ = g.emit(e) // it is done either way; a failing log was reported
	g.cfg.Log.Info(e.Text, "session", e.SessionID, "decider", e.Decider)
}

// denied takes back what a card has granted that a person has said no to: its own rows
// and no other's.
func (g *Gate) denied(tool, callID string) {
	if tool != toolAccess || g.cfg.Grants == nil {
		return
	}
	_, err := guard("grants", func() (int, error) {
		return g.cfg.Grants.RevokeCard(context.WithoutCancel(g.root), callID, g.cfg.Now())
	})
	if err != nil {
		g.cfg.Log.Error("the grants of a card that was refused could not be looked for", "call_id", callID, "error", err)
	}
}

// permits are the gate's own tools that permit more than one call. What is made of them
// is a person's word: no exemption speaks for it.
func permits(tool string) bool { return tool == toolAccess || tool == toolRegister }

// ownAnswer answers a call of the gate's own tools that nobody is asked about: what is
// granted already, and the firing of a routine.
func (g *Gate) ownAnswer(ctx context.Context, c *call, p *plan) (Answer, bool) {
	switch x := p.action.(type) {
	case settled:
		if res, ok := x.settled(); ok {
			g.undecided(c)
			return g.answer(c, res, nil), true
		}
	case *firing:
		return g.fire(ctx, c, p, x), true
	}
	return Answer{}, false
}
