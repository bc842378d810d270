package gate

import "context"

// The operator's side of a gate: what a person may see and refuse without asking.
// Nothing here approves; that is an Approver's word alone.

// Open lists the requests that wait for an answer, oldest first, without bulk.
func (g *Gate) Open(ctx context.Context) ([]Record, error) {
	return guard("requests", func() ([]Record, error) { return g.cfg.Requests.Pending(ctx, g.cfg.Now()) })
}

// Stored returns a request, ended or not.
func (g *Gate) Stored(ctx context.Context, id string) (Record, error) {
	return guard("requests", func() (Record, error) { return g.cfg.Requests.Get(ctx, id) })
}

// Refuse is a person's no to a request that waits for an answer, whether it is being
// asked or waits for its turn, in this process or nowhere. by says who it is. It
// returns once the call has ended, or ctx has. A request that is decided already is an
// *Error that says so.
func (g *Gate) Refuse(ctx context.Context, id, by string, reason Reason) error {
	if c := g.book.get(id, g.cfg.Now()); c != nil {
		if !c.refuseBy(Word{Decision: Rejected, Reason: reason, By: by}) {
			return Errf(CodeInProgress, "call_id", "it isn't open any more: it has been decided or has ended")
		}
		select {
		case <-c.done:
			return nil
		case <-ctx.Done():
			return ended(ctx)
		}
	}
	_, err := guard("requests", func() (struct{}, error) {
		return struct{}{}, g.cfg.Requests.Finish(ctx, id, Ending{State: RequestRejected, Decider: by})
	})
	return err
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
