package gate

import "context"

// TakeUp asks a request that another bridge on the same store left when it ended, as
// Recover asks those of this one: with the same card, once its turn has come, if the
// session is what the card says, the action made again from its snapshot has the same
// digest, and its check passes. Where that isn't so it is an *Error, nothing has
// changed, and the request stays that bridge's.
//
// stamp is that of the moment at which whoever answers was asked: a stop since then
// ends it (G6), as it does under the zero Stamp.
//
// adopt makes it this bridge's in the store; it is called once, when all that holds,
// and an error of it is TakeUp's. TakeUp blocks for the store and for the making of the
// action, which moves nothing.
func (g *Gate) TakeUp(ctx context.Context, id string, stamp Stamp, adopt func(ctx context.Context) error) error {
	if g.unattended() {
		return Errf(CodeNotSupported, "call_id", "nobody can answer in this run")
	}
	rec, err := guard("requests", func() (Record, error) { return g.cfg.Requests.Get(ctx, id) })
	switch {
	case err != nil:
		return err
	case rec.State != RequestPending:
		return Errf(CodeInProgress, "call_id", "it isn't open any more: it is %s", rec.State)
	case rec.Owner == "" || g.book.get(id, g.cfg.Now()) != nil:
		return Errf(CodeInvalidArgument, "call_id", "the request is this bridge's own")
	}
	c := g.restoredCall(rec.Request)
	c.epoch = uint64(stamp) - 1
	if _, err := g.restore(ctx, c, rec); err != nil {
		e := asError(err, CodeInternal)
		return &Error{
			Code: CodeNotApproved, Where: "call_id", Err: e,
			Text: "it can't be run here (" + string(e.Code) + ": " + e.Message() + "); it waits for bridge " + rec.Owner,
		}
	}
	if _, err := guard("requests", func() (struct{}, error) { return struct{}{}, adopt(ctx) }); err != nil {
		return err
	}
	g.takeUp(c, c.epoch)
	return nil
}
