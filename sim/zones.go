package sim

import (
	"slices"

	"github.com/tau-robot/tau/robot"
)

// letIn opens the named zones for the motion that begins, and closes all others.
func (m *monitor) letIn(zones []string) {
	for i := range m.items {
		it := &m.items[i]
		it.open = it.zone && slices.Contains(zones, it.name)
	}
}

// guarded refuses zones that the scene doesn't have; mu is held.
func (r *Robot) guarded(zones []string) error {
	for _, name := range zones {
		if !slices.ContainsFunc(r.mon.scene.Zones, func(z robot.Zone) bool { return z.Name == name }) {
			return robot.Errf(robot.CodeInvalidArgument, "zones", "the scene has no guarded zone %q", name)
		}
	}
	return nil
}
