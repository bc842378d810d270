package approval

import (
	"slices"
	"time"

	"github.com/tau-robot/tau/gate"
)

// maxPermits is how many grants one card can make.
const maxPermits = 64

// storableGrants refuses grants that couldn't be held against anything. A grant that
// has expired when it is stored is told by the store, which reads the clocks.
func storableGrants(all []gate.Grant) error {
	switch {
	case len(all) == 0:
		return gate.Errf(gate.CodeInvalidArgument, "grants", "there are none")
	case len(all) > maxPermits:
		return &gate.Error{
			Code: gate.CodeInvalidArgument, Where: "grants", Text: "are more than one card can make",
			Value: &gate.Quantity{Value: float64(len(all))}, Limit: &gate.Quantity{Value: maxPermits},
		}
	}
	for i, g := range all {
		for _, f := range []struct{ name, v string }{
			{"id", g.ID}, {"principal", g.Principal}, {"session", g.Session.Name}, {"mode", string(g.Session.Mode)},
			{"backend", g.Session.Backend}, {"value", g.Value}, {"card", g.Card}, {"decider", g.Decider},
		} {
			if f.v == "" {
				return gate.Errf(gate.CodeInvalidArgument, "grant."+f.name, "is empty")
			}
		}
		if !g.Expires.After(g.Granted) {
			return gate.Errf(gate.CodeInvalidArgument, "grant.expires", "isn't after it is granted")
		}
		if slices.ContainsFunc(all[:i], func(o gate.Grant) bool { return o.ID == g.ID }) {
			return errGrantTaken(g.ID)
		}
	}
	return nil
}

func storableRoutine(r gate.Routine) error {
	for _, f := range []struct{ name, v string }{
		{"id", r.ID}, {"name", r.Name}, {"principal", r.Principal}, {"session", r.Session.Name},
		{"mode", string(r.Session.Mode)}, {"backend", r.Session.Backend}, {"decider", r.Decider},
	} {
		if f.v == "" {
			return gate.Errf(gate.CodeInvalidArgument, "routine."+f.name, "is empty")
		}
	}
	switch {
	case r.Digest == [32]byte{}:
		return gate.Errf(gate.CodeInvalidArgument, "routine.digest", "is empty")
	case len(r.Snapshot) == 0:
		return gate.Errf(gate.CodeInvalidArgument, "routine.snapshot", "is empty")
	case len(r.Snapshot) > maxSnapshot:
		return &gate.Error{
			Code: gate.CodeInvalidArgument, Where: "routine.snapshot", Text: "is too large to be kept",
			Value: &gate.Quantity{Value: float64(len(r.Snapshot)), Unit: "byte"},
			Limit: &gate.Quantity{Value: maxSnapshot, Unit: "byte"},
		}
	case r.Firings < 1 || r.Fired != 0:
		return gate.Errf(gate.CodeInvalidArgument, "routine.firings", "%d of %d are fired; a new one has at least one and none fired", r.Fired, r.Firings)
	case !r.Expires.After(r.Registered):
		return gate.Errf(gate.CodeInvalidArgument, "routine.expires", "isn't after it is registered")
	}
	return nil
}

// normal is a time as a store returns it.
func normal(t time.Time) time.Time { return unix(t.UnixNano()) }

func errGrantTaken(id string) error {
	return gate.Errf(gate.CodeInvalidArgument, "grant.id", "%q is taken", id)
}

func errNotAhead(where string) error {
	return gate.Errf(gate.CodeRequestExpired, where, "is not ahead; nothing was stored")
}

func errRoutineTaken(field, v string) error {
	return gate.Errf(gate.CodeInvalidArgument, "routine."+field, "%q is taken by a routine in force", v)
}

func noRoutine(field, v string) error {
	return gate.Errf(gate.CodeNotApproved, "routine."+field, "%q names no routine in force: none is registered, or it has expired, been revoked or become void", v)
}

// noFiring says why a routine in this condition isn't fired; nil: it can be.
func noFiring(r gate.Routine, fired int) error {
	switch {
	case r.Fired >= r.Firings:
		return &gate.Error{
			Code: gate.CodeNotApproved, Where: "routine." + r.Name, Text: "has no firing left",
			Value: &gate.Quantity{Value: float64(r.Fired)}, Limit: &gate.Quantity{Value: float64(r.Firings)},
		}
	case r.Fired != fired:
		return gate.Errf(gate.CodeInProgress, "routine."+r.Name, "has been fired since it was read")
	}
	return nil
}
