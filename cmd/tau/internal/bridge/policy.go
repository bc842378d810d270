package bridge

import (
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/policy"
	"github.com/tau-robot/tau/robot"
)

// applyPolicy holds the operator's policy against the tools that there will be, and
// hands it to the gate that is about to be made.
func applyPolicy(s policy.Section, cfg *gate.Config) error {
	p, err := policy.Compile(s, append(cfg.Catalog.Specs(), gate.OwnSpecs()...))
	if err == nil {
		err = p.Apply(cfg)
	}
	if err != nil {
		return robot.Errf(robot.CodeInvalidArgument, "settings", "%w", err)
	}
	return nil
}
