package bridge

import (
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/policy"
	"github.com/tau-robot/tau/robot"
)

// inSettings is where an error is that the operator's settings are to blame for.
const inSettings = "settings"

// applyPolicy holds the operator's policy against the tools that there will be, and
// hands it to the gate that is about to be made.
func applyPolicy(s policy.Section, cfg *gate.Config) error {
	p, err := policy.Compile(s, append(cfg.Catalog.Specs(), gate.OwnSpecs()...))
	if err == nil {
		err = p.Apply(cfg)
	}
	if err != nil {
		return &robot.Error{Code: robot.CodeInvalidArgument, Where: inSettings, Text: err.Error(), Err: err}
	}
	return nil
}
