package bridge

import (
	"context"

	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/gate"
)

// Grants lists what is permitted for more than one call: grants and routines.
func (s socket) Grants(ctx context.Context) (control.Reply, error) {
	grants, err := s.h.Gate.Grants(ctx)
	if err != nil {
		return control.Reply{}, err
	}
	routines, err := s.h.Gate.Routines(ctx)
	if err != nil {
		return control.Reply{}, err
	}
	r := control.Reply{Grants: make([]control.Grant, len(grants)), Routines: make([]control.Routine, len(routines))}
	for i, g := range grants {
		r.Grants[i] = control.Grant{
			ID: g.ID, Value: g.Value, Principal: g.Principal, Session: g.Session.Name, Reason: g.Reason,
			Card: g.Card, Decider: g.Decider, Granted: g.Granted, Expires: g.Expires,
		}
	}
	for i, x := range routines {
		r.Routines[i] = control.Routine{
			ID: x.ID, Name: x.Name, Principal: x.Principal, Session: x.Session.Name, Firings: x.Firings - x.Fired, Expires: x.Expires,
		}
	}
	return r, nil
}

// revokePermit ends a grant or a routine: that takes power away, so it needs no key.
func (s socket) revokePermit(ctx context.Context, kind, id string) (string, error) {
	revoke := s.h.Gate.RevokeGrant
	if kind == "routine" {
		revoke = s.h.Gate.RevokeRoutine
	}
	was, err := revoke(ctx, id, byControl)
	if err != nil {
		return "", err
	}
	if !was {
		return "", gate.Errf(gate.CodeInvalidArgument, "id", "there is no %s %q in force", kind, id)
	}
	return kind + " " + id, nil
}
