package motion

import (
	"strings"

	"github.com/tau-robot/tau/robot"
)

// What is told of where a robot is: a joint that hasn't found its switch counts
// steps from nowhere, which is no position, nor is what follows from it.

// known returns the measured positions by name, those of joints whose position isn't
// known left out, and the names of these.
func (a *arm) known(st robot.State) (positions map[string]float64, unknown []string) {
	positions, unknown = byName(a.info.Joints, st.Positions), a.unreferencedNames(st)
	for _, n := range unknown {
		delete(positions, n) // a count of steps from nowhere isn't a position
	}
	return positions, unknown
}

// knownTip is the tip in the root frame, nil where that wasn't measured or depends
// on a joint whose position isn't known.
func (a *arm) knownTip(st robot.State) *poseResult {
	if len(st.Positions) != a.Model.DoF() || !a.tipIsKnown(st) {
		return nil
	}
	tip := a.tipPose(st.Positions)
	return &tip
}

// tipIsKnown reports whether all joints between the root and the tip know where they are.
func (a *arm) tipIsKnown(st robot.State) bool {
	m := a.Model
	for p := m.Links[m.Tip].Parent; p >= 0; p = m.Links[m.Joints[p].Parent].Parent {
		j := &m.Joints[p]
		if j.Mimic != nil {
			j = &m.Joints[j.Mimic.Joint]
		}
		if j.Active >= 0 && unreferenced(st, j.Active) {
			return false
		}
	}
	return true
}

// unknownText says which joints' positions aren't known, "" for none.
func unknownText(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "; where " + strings.Join(names, ", ") + pick(len(names) == 1, " is", " are") + " isn't known until reference has found the switch"
}
