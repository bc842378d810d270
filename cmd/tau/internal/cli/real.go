package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/tau-robot/tau/cmd/tau/internal/bridge"
	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/robot"
)

// drivers that are planned; none is built in yet.
var plannedDrivers = [...]string{"mcu", "gobot", "feetech"}

func (a *app) real() *cobra.Command {
	var b bridgeFlags
	c := leaf("real", "Runs the bridge with a real arm; --session NAME is the opt-in", 0, func(*cobra.Command, []string) error {
		if err := b.checkReal(); err != nil {
			return err
		}
		return a.refuseReal(&b)
	})
	b.add(c, true)
	return c
}

// refuseReal goes through everything that a real robot needs, in order, and names
// the first thing that is missing. Without a built driver there always is one, so
// it always returns an error, and nothing was opened or started.
func (a *app) refuseReal(b *bridgeFlags) error {
	switch {
	case b.driver == "":
		return exit.Usagef("robot real needs --driver; none is built yet (planned: mcu, gobot, feetech)")
	case b.port == "":
		return exit.Usagef("robot real needs --port, the robot's device")
	}
	model, _, err := b.arm.load()
	if err != nil {
		return err
	}
	sessions := robot.NewSessions(time.Now)
	if _, err := sessions.New(b.session); err != nil {
		return exit.Usagef("--session: %w", err)
	}
	if _, err := sessions.OptIn(robot.OptIn{
		Session: b.session, Robot: model.Name, Driver: b.driver, Port: b.port, Principal: bridge.Operator,
	}, b.optIn); err != nil {
		return exit.Usagef("opt-in: %w", err)
	}
	for _, d := range plannedDrivers {
		if d == b.driver {
			return exit.Usagef("--driver %s isn't built yet: no driver for a real robot is, so nothing real can be moved", d)
		}
	}
	return exit.Usagef("there is no driver %q; planned are mcu, gobot and feetech, and none is built yet", b.driver)
}
