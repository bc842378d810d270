package motion

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// What is known of where a robot is, and what is told of it. A joint is measured (or
// counts its steps), or it is open loop: nothing measures it, and where it is is where
// it was told to be, if it got there. A joint that hasn't found its switch counts steps
// from nowhere, and an open-loop one that was told nothing since its power-up is
// anywhere: neither is a position, nor is what follows from it.

// honest returns a state without what can't have been measured: of open-loop joints
// nothing is, whatever a backend reports of them.
func (a *arm) honest(st robot.State) robot.State {
	if a.openLoop == nil {
		return st
	}
	measured := false
	for i, openLoop := range a.openLoop {
		measured = measured || !openLoop
		for _, list := range [...][]float64{st.Positions, st.Velocities, st.Efforts} {
			if openLoop && i < len(list) {
				list[i] = math.NaN()
			}
		}
	}
	if !measured {
		st.Positions, st.Velocities, st.Efforts = nil, nil, nil
	}
	return st
}

// isOpenLoop reports whether nothing measures where active joint i is.
func (a *arm) isOpenLoop(i int) bool { return i < len(a.openLoop) && a.openLoop[i] }

// openLoopNames are the joints that nothing measures.
func (a *arm) openLoopNames() []string {
	return a.named(a.isOpenLoop)
}

// named are the active joints that are wanted.
func (a *arm) named(want func(int) bool) []string {
	var names []string
	for i, n := range a.info.Joints {
		if want(i) {
			names = append(names, n)
		}
	}
	return names
}

// where returns the best knowledge of the configuration: measured positions, the
// setpoints of open-loop joints, NaN for what isn't known. nil where the state says
// nothing. The slice is the caller's.
func (a *arm) where(st robot.State) []float64 {
	if st.Positions == nil && st.Setpoints == nil {
		return nil
	}
	q := make([]float64, a.Model.DoF())
	for i := range q {
		from := st.Positions
		if a.isOpenLoop(i) {
			from = st.Setpoints
		}
		q[i] = math.NaN()
		if i < len(from) && !math.IsNaN(from[i]) {
			q[i] = from[i]
		}
	}
	return q
}

// assumedPlace is a state for a rehearsal, which has to begin somewhere: of a robot of
// which some joints are measured, the others are taken to be at their setpoints. One of
// which none is comes as it is: the rehearser says itself what it takes for granted.
func (a *arm) assumedPlace(st robot.State) robot.State {
	if st.Positions != nil && a.openLoop != nil {
		st.Positions = a.where(st)
	}
	return st
}

// placed refuses to plan from a place that the robot should have measured and didn't.
func (a *arm) placed(st robot.State) error {
	q := a.where(st)
	for i, n := range a.info.Joints {
		if q == nil || math.IsNaN(q[i]) && !unreferenced(st, i) {
			return robot.Errf(robot.CodeStaleState, n, "the backend doesn't say where it is")
		}
	}
	return nil
}

// unreferenced reports whether active joint i's position isn't known.
func unreferenced(st robot.State, i int) bool { return i < len(st.Unreferenced) && st.Unreferenced[i] }

// declared reports whether active joint i is where a person said, and nothing else
// speaks for it.
func declared(st robot.State, i int) bool { return i < len(st.Declared) && st.Declared[i] }

// powered reports whether the joints have power.
func powered(st robot.State) bool { return st.Enabled || st.Powered }

// unreferencedNames are the joints whose position isn't known.
func (a *arm) unreferencedNames(st robot.State) []string {
	return a.named(func(i int) bool { return unreferenced(st, i) })
}

// untold are the open-loop joints whose position isn't known: no search finds it.
func (a *arm) untold(st robot.State) []string {
	return a.named(func(i int) bool { return unreferenced(st, i) && a.isOpenLoop(i) })
}

// untoldText says of some open-loop joints why nothing is known of them, and what to do.
func (a *arm) untoldText(names []string) string {
	return fmt.Sprintf("where %s %s isn't known: nothing measures it, and nobody has said it since the robot's power-up or reset; somebody has to look and start the session again with --at",
		strings.Join(names, ", "), pick(len(names) == 1, "is", "are"))
}

// calibrated refuses every motion but a search while a joint's position isn't known.
func (a *arm) calibrated(st robot.State) error {
	if names := a.untold(st); len(names) > 0 {
		return robot.Errf(robot.CodeNotCalibrated, strings.Join(names, ", "), "%s", a.untoldText(names))
	}
	if names := a.unreferencedNames(st); len(names) > 0 {
		return robot.Errf(robot.CodeNotCalibrated, strings.Join(names, ", "), "the position isn't known until reference has found the switch")
	}
	return nil
}

// known returns the measured positions by name, those of joints whose position isn't
// known left out, and the names of these.
func (a *arm) known(st robot.State) (positions map[string]float64, unknown []string) {
	positions, unknown = byName(a.info.Joints, st.Positions), a.unreferencedNames(st)
	for _, n := range unknown {
		delete(positions, n) // a count of steps from nowhere isn't a position
	}
	return positions, unknown
}

// setpoints are those of the open-loop joints by name, as far as they are known and
// still mean something: of a joint without power only what a person said of it is told,
// or, to whoever asks for the state, what it was told last.
func (a *arm) setpoints(st robot.State, last bool) map[string]setpointResult {
	var out map[string]setpointResult
	for i, n := range a.info.Joints {
		if !a.isOpenLoop(i) || i >= len(st.Setpoints) || math.IsNaN(st.Setpoints[i]) || unreferenced(st, i) {
			continue
		}
		if !last && !powered(st) && !declared(st, i) {
			continue
		}
		if out == nil {
			out = map[string]setpointResult{}
		}
		out[n] = setpointResult{Value: st.Setpoints[i], Declared: declared(st, i)}
	}
	return out
}

// knownTip is the tip in the root frame, nil where that isn't known of any one joint
// that it depends on. Where it depends on one that nothing measures it says so.
func (a *arm) knownTip(st robot.State) *poseResult {
	q := a.where(st)
	if q == nil {
		return nil
	}
	measured := true
	chain := a.tipJoints()
	for i := range q {
		if !slices.Contains(chain, i) {
			if math.IsNaN(q[i]) {
				q[i] = a.Model.Home[i] // it moves nothing of the tip
			}
			continue
		}
		openLoop := a.isOpenLoop(i)
		if math.IsNaN(q[i]) || unreferenced(st, i) || openLoop && !powered(st) && !declared(st, i) {
			return nil
		}
		measured = measured && !openLoop
	}
	tip := a.tipPose(q)
	if !measured {
		tip.Measured = &measured
	}
	return &tip
}

// tipJoints are the active joints between the root and the tip.
func (a *arm) tipJoints() []int {
	m := a.Model
	var out []int
	for p := m.Links[m.Tip].Parent; p >= 0; p = m.Links[m.Joints[p].Parent].Parent {
		j := &m.Joints[p]
		if j.Mimic != nil {
			j = &m.Joints[j.Mimic.Joint]
		}
		if j.Active >= 0 {
			out = append(out, j.Active)
		}
	}
	return out
}

// unknownText says which joints' positions aren't known, "" for none.
func (a *arm) unknownText(st robot.State) string {
	names, untold := a.unreferencedNames(st), a.untold(st)
	searched := slices.DeleteFunc(names, func(n string) bool { return slices.Contains(untold, n) })
	text := ""
	if len(searched) > 0 {
		text = "; where " + strings.Join(searched, ", ") + pick(len(searched) == 1, " is", " are") + " isn't known until reference has found the switch"
	}
	if len(untold) > 0 {
		text += "; " + a.untoldText(untold)
	}
	return text
}

// openLoopFact says on a card which joints nothing measures; nil where all are.
func (a *arm) openLoopFact() []gate.Fact {
	names := a.openLoopNames()
	if len(names) == 0 {
		return nil
	}
	return []gate.Fact{{Label: "Open loop", Text: a.openLoopText(names)}}
}

// openLoopText says what it means that nothing measures some joints.
func (a *arm) openLoopText(names []string) string {
	of := "of " + jointList(a.info.Joints, names)
	if len(names) == len(a.info.Joints) && len(names) > 1 {
		of = "of any joint"
	}
	return "nothing is measured " + of + ": where it is said to be is where it was told to be, and nothing would notice that it isn't there, is blocked or was moved"
}
