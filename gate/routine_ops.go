package gate

import (
	"context"
	"fmt"
	"slices"
)

// Routines lists the routines in force, oldest first, without their steps.
func (g *Gate) Routines(ctx context.Context) ([]Routine, error) {
	if g.cfg.Routines == nil {
		return nil, nil
	}
	return guard("routines", func() ([]Routine, error) { return g.cfg.Routines.Routines(ctx, g.cfg.Now()) })
}

// RevokeRoutine ends a routine and reports whether it was in force. A firing that is
// under way ends before its next step. by says who it is, for the log.
func (g *Gate) RevokeRoutine(ctx context.Context, id, by string) (bool, error) {
	if g.cfg.Routines == nil {
		return false, nil
	}
	was, err := g.Routines(ctx)
	if err != nil {
		g.cfg.Log.Error("the routines could not be listed before one is revoked", "routine", clip(id, maxName), "error", err)
	}
	ok, err := guard("routines", func() (bool, error) { return g.cfg.Routines.EndRoutine(ctx, id, g.cfg.Now()) })
	if ok {
		r := Routine{ID: id, Name: id}
		if i := slices.IndexFunc(was, func(r Routine) bool { return r.ID == id }); i >= 0 {
			r = was[i]
		}
		g.told(r.event(fmt.Sprintf("the routine %q was revoked by %s", r.Name, by), by))
	}
	return ok, err
}

// fire runs a firing: nobody is asked, because all of it was when it was registered.
// It has a request of its own all the same, so that what it did is known, or known to
// be unknown, after the end of this process (G44).
func (g *Gate) fire(ctx context.Context, c *call, p *plan, x *firing) Answer {
	g.undecided(c)
	m, err := g.firingPermit(ctx, c, p, x)
	if err != nil {
		return c.refuse(err)
	}
	c.approval = ApprovalExempt
	return g.execute(ctx, c, p, m)
}

func (g *Gate) firingPermit(ctx context.Context, c *call, p *plan, x *firing) (permit, error) {
	if err := g.logReady(); err != nil {
		return permit{}, err
	}
	if err := g.storeReady(); err != nil {
		return permit{}, err
	}
	req, m, snapshot, err := g.request(c, c.id, p)
	if err == nil {
		m.secret, err = guard("requests", func() (Secret, error) { return g.cfg.Requests.Open(ctx, req.Clone(), snapshot) })
		g.mayBeStored(req.CallID, err)
	}
	if err != nil {
		return permit{}, asError(err, CodeInternal)
	}
	m.decided, m.by = m.asked, x.r.Decider
	c.opened(m)
	c.fired = &firedBy{routine: x.r.Name, card: x.r.ID}
	if m.lease, err = g.claim(ctx, c, m, "routine "+x.r.Name); err != nil {
		e := asError(err, CodeInternal)
		g.finishRequest(c, RequestWithdrawn, c.refuse(e), "")
		return permit{}, e
	}
	return m, nil
}
