package doctor

import (
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot/hardware"
)

// checkFile says what is wrong with the robot's file.
func checkFile(name string, f *hardware.File, err error, driver string, now time.Time) []Finding {
	file := gate.Escape(name)
	switch {
	case err != nil:
		return []Finding{{Bad, "file", gate.Escape(textOf(err)), "chmod go-w FILE where others could write it; the line that is named, where it is about that; docs/HARDWARE.md lists the keys"}}
	case f == nil:
		return nil
	case driver != "" && f.Driver != driver:
		return []Finding{{Bad, "file", file + " is for the driver " + gate.Escape(f.Driver) + ", and --driver is " + gate.Escape(driver), "name the file of this robot, or its driver"}}
	}
	if old := f.Stale(now); old != "" {
		return []Finding{{Bad, "calibration", file + ": " + old, "calibrate again"}}
	}
	return []Finding{{Good, "file", file + ": robot " + gate.Escape(f.Robot) + ", driver " + gate.Escape(f.Driver) + ", calibrated " + f.Calibrated.Format(time.DateOnly), ""}}
}
