package gate

// Roles says who may do what (G47). It is asked when a call is admitted, about the
// tool that is left once the hooks have had their say, again right before the action
// runs, and when a stored request is taken up; so an answer may change meanwhile. A
// method must not block; one that panics has said no.
type Roles interface {
	// MayUse reports whether a principal may call a tool. It is never asked about stop
	// and estop.
	MayUse(principal, tool string) bool
	// MayDecide reports whether somebody's yes counts: Word.By, or the name of the
	// channel where that is empty. A no always counts.
	MayDecide(decider string) bool
}

// mayUse refuses a principal to whom the tool isn't given. Without Roles everybody may.
func (g *Gate) mayUse(principal, tool string) error {
	if g.cfg.Roles == nil {
		return nil
	}
	ok, err := guard("roles", func() (bool, error) { return g.cfg.Roles.MayUse(principal, tool), nil })
	if err != nil {
		return err
	}
	if !ok {
		return Errf(CodeNotApproved, "principal", "%q may not use %s, by the operator's roles; it was not run", clip(principal, maxName), clip(tool, maxName))
	}
	return nil
}

// mayDecide refuses the yes of somebody who may not give it.
func (g *Gate) mayDecide(decider string) error {
	if g.cfg.Roles == nil {
		return nil
	}
	ok, err := guard("roles", func() (bool, error) { return g.cfg.Roles.MayDecide(decider), nil })
	if err != nil {
		return err
	}
	if !ok {
		return Errf(CodeNotApproved, "decider", "%q may not approve, by the operator's roles; it was not run", clip(decider, maxName))
	}
	return nil
}
