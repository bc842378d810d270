package gate

import "context"

// The operator's side of a gate: what a person may see and refuse without asking.
// Nothing here approves; that is an Approver's word alone.

// Open lists the requests that wait for an answer, oldest first, without bulk.
func (g *Gate) Open(ctx context.Context) ([]Record, error) {
	all, err := guard("requests", func() ([]Record, error) { return g.cfg.Requests.Pending(ctx, g.cfg.Now()) })
	if err != nil {
		return nil, err
	}
	open := all[:0]
	for _, r := range all {
		if r = g.asItIs(r); r.State == RequestPending {
			open = append(open, r)
		}
	}
	return open, nil
}

// Stored returns a request, ended or not.
func (g *Gate) Stored(ctx context.Context, id string) (Record, error) {
	r, err := guard("requests", func() (Record, error) { return g.cfg.Requests.Get(ctx, id) })
	if err != nil {
		return r, err
	}
	return g.asItIs(r), nil
}

// asItIs adds to a stored record what this process alone knows of it.
func (g *Gate) asItIs(r Record) Record {
	r = g.unwritten.over(r)
	if c := g.book.get(r.Request.CallID, g.cfg.Now()); c != nil {
		r.Gone = c.isGone()
	}
	return r
}

// Refuse is a person's no to a request that waits for an answer, whether it is being
// asked or waits for its turn, in this process or nowhere. by says who it is. It
// returns once the call has ended, or ctx has. A request that is decided already is an
// *Error that says so.
func (g *Gate) Refuse(ctx context.Context, id, by string, reason Reason) error {
	no := Word{Decision: Rejected, Reason: reason, By: by}
	if c := g.book.get(id, g.cfg.Now()); c != nil {
		return g.refuseCall(ctx, c, no)
	}
	r, err := g.Stored(ctx, id)
	if err != nil {
		return err
	}
	r = g.lastOf(ctx, r)
	c := g.restoredCall(r.Request)
	if _, err = g.endStored(r, g.rejected(c, verdict{reason: string(reason), person: true, by: by})); err != nil {
		return err
	}
	// It may have been taken up meanwhile: then its card goes.
	if c := g.book.get(r.Request.CallID, g.cfg.Now()); c != nil {
		c.refuseBy(no)
	}
	return nil
}

func (g *Gate) refuseCall(ctx context.Context, c *call, no Word) error {
	if !c.refuseBy(no) {
		return Errf(CodeInProgress, "call_id", "it isn't open any more: it has been decided or has ended")
	}
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

// refuseBy ends a call with a person's no, unless it has been decided or has ended.
func (c *call) refuseBy(w Word) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.decided || c.ended || c.no != nil {
		return false
	}
	c.no = &w
	c.cancel(&Error{Code: CodeNotApproved, Text: notApprovedText(c.inv.Tool)})
	return true
}

// refused returns the no that refuseBy gave the call; nil: none.
func (c *call) refused() *Word {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.no
}

// decide makes a yes count, unless a no came first: of the two exactly one wins.
func (c *call) decide() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.no != nil {
		return false
	}
	c.decided = true
	return true
}
