package bridge

import (
	"os"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/sim"
)

// LoadFaults reads the simulator's faults; no path, no faults.
func LoadFaults(path string) ([]sim.Fault, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, robot.Errf(robot.CodeInvalidArgument, "faults", "%w", err)
	}
	return sim.ParseFaults(path, data)
}
