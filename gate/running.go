package gate

import "context"

// Running says whose call an action runs for. It is only told: nothing may be
// permitted by it. A backend may refuse by it, as that of a real robot does to a session
// without an opt-in.
type Running struct {
	CallID, Tool       string
	Session, Principal string
	Origin             string
	Restored           bool // an earlier process asked it, so nobody in this one waits for its answer
}

type runningKey struct{}

// RunningOf returns whose call the action runs for that was given this context, or
// one derived from it; false: none does.
func RunningOf(ctx context.Context) (Running, bool) {
	r, ok := ctx.Value(runningKey{}).(Running)
	return r, ok
}

func withRunning(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, runningKey{}, Running{
		CallID: c.id, Tool: c.inv.Tool, Session: c.inv.Session, Principal: c.inv.Principal, Origin: c.inv.Origin,
		Restored: c.restored,
	})
}
