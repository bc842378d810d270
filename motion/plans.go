package motion

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// plan is a handle: single use, bound to session, principal and start state.
type plan struct {
	id        string
	session   string
	principal string
	expires   time.Time
	usedBy    string // id of the call that asked for it, "" while it is free
	action    *moveAction
}

// keep stores a plan and returns its handle.
func (p *Planner) keep(call gate.Call, act *moveAction) *plan {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	pl := &plan{
		id: fmt.Sprintf("plan-%d-%x", p.count, act.digest[:6]), session: call.Session.Name, principal: call.Principal,
		expires: p.now().Add(PlanTTL), action: act,
	}
	p.plans[pl.id] = pl
	p.order = append(p.order, pl.id)
	for len(p.order) > maxPlans {
		delete(p.plans, p.order[0])
		p.order = p.order[1:]
	}
	return pl
}

// lookup finds a plan of this call's session and principal; use also uses it up.
// The same call may use it again: the gate prepares a call anew when another
// robot's question came between.
func (p *Planner) lookup(call gate.Call, id string, use bool) (*moveAction, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pl := p.plans[id]
	if pl == nil || pl.session != call.Session.Name || pl.principal != call.Principal {
		return nil, robot.Errf(robot.CodePlanExpired, "plan_id", "no plan %q of this session; plan again", id)
	}
	if pl.usedBy != "" && pl.usedBy != call.ID {
		return nil, robot.Errf(robot.CodePlanUsed, "plan_id", "plan %q was used already; plan again", id)
	}
	if now := p.now(); !now.Before(pl.expires) {
		return nil, robot.Errf(robot.CodePlanExpired, "plan_id", "plan %q expired at %s, %.0f s after planning; plan again", id, pl.expires.Format(time.RFC3339), PlanTTL.Seconds())
	}
	if use {
		pl.usedBy = call.ID
	}
	return pl.action, nil
}

// handle keeps a planned action and tells the caller its handle.
func (p *Planner) handle(call gate.Call, act *moveAction) planResult {
	pl := p.keep(call, act)
	return planResult{
		PlanID: pl.id, Digest: hex.EncodeToString(act.digest[:]), ExpiresAt: pl.expires,
		DurationS: act.rehearsal.Duration, Rehearsal: &act.rehearsal,
	}
}

// preparePlan takes a plan's handle; from now on it is used, whatever is decided.
func (p *Planner) preparePlan(ctx context.Context, call gate.Call, a *arm, w want) (*moveAction, error) {
	if w.after != nil {
		return nil, robot.Errf(robot.CodeNotSupported, "plan_id", "a plan starts where the robot was when it was made, not where another step leaves it; name the target instead")
	}
	in, err := args[struct {
		PlanID string `json:"plan_id"`
	}](call)
	if err != nil {
		return nil, err
	}
	act, err := p.lookup(call, in.PlanID, true)
	if err != nil {
		return nil, err
	}
	if act.arm != a {
		return nil, robot.Errf(robot.CodePlanExpired, "plan_id", "plan %q was made for another robot; plan again", in.PlanID)
	}
	// Also whether it is allowed to whoever executes it: lookup has seen that this is
	// who has planned it.
	if err := act.Check(ctx); err != nil {
		return nil, err
	}
	return act, nil
}
