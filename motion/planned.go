package motion

import (
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// Planned returns the motion and its rehearsal of an action that one of a
// planner's tools has prepared, for a display of it; false for any other action.
// What it returns shares slices with the action and must not be changed.
func Planned(a gate.Action) (robot.Motion, robot.Rehearsal, bool) {
	x, ok := a.(*moveAction)
	if !ok {
		return robot.Motion{}, robot.Rehearsal{}, false
	}
	return x.motion, x.rehearsal, true
}
