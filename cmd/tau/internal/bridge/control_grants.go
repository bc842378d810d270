package bridge

import (
	"context"

	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/gate"
)

// Grants lists what has been granted.
func (s socket) Grants(context.Context) (control.Reply, error) {
	return control.Reply{}, errNoPermits()
}

func (s socket) revokePermit(context.Context, string, string) (string, error) {
	return "", errNoPermits()
}

func errNoPermits() error {
	return gate.Errf(gate.CodeNotSupported, "grants", "this bridge keeps no grants and no routines")
}
