package motion

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

func (p *Planner) prepareTorqueOn(ctx context.Context, _ gate.Call, a *arm, _ want) (*commandAction, error) {
	st, err := a.state(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.noLatch(st.EStopped, st.Faults); err != nil {
		return nil, err
	}
	if st.Moving {
		return nil, robot.Errf(robot.CodeBusy, a.name, "the robot is moving; stop it first")
	}
	if names := a.untold(st); len(names) > 0 {
		return nil, robot.Errf(robot.CodeNotCalibrated, strings.Join(names, ", "), "%s", a.untoldText(names))
	}
	for i, q := range a.where(st) {
		if math.IsNaN(q) && !unreferenced(st, i) {
			return nil, robot.Errf(robot.CodeStaleState, a.info.Joints[i], "the backend doesn't say where it is, so what switching on does to it isn't known")
		}
	}
	return newCommandAction(a, robot.Command{Kind: robot.TorqueOn}, st, append(a.holdFacts(st), a.openLoopFact()...)), nil
}

// holdFacts say of each joint where it will be held, how that is known and how far it
// may snap when it gets its power.
func (a *arm) holdFacts(st robot.State) []gate.Fact {
	var facts []gate.Fact
	list := func(label, text string, of func(i int) bool, more func(i int) string) {
		var parts []string
		for i, n := range a.info.Joints {
			if of(i) {
				parts = append(parts, n+more(i))
			}
		}
		if len(parts) > 0 {
			facts = append(facts, gate.Fact{Label: label, Text: text + ": " + strings.Join(parts, ", ")})
		}
	}
	at := a.where(st)
	place := func(i int) string { return fmt.Sprintf(" %.3f %s", at[i], a.unit(i)) }
	snap := func(i int) string { return place(i) + a.snapText(i, at[i]) }
	on := powered(st)
	list("Holds", "measured, held where it is (snaps 0)", func(i int) bool { return !a.isOpenLoop(i) && !unreferenced(st, i) }, place)
	list("Holds", "counts steps, held where it stands (snaps 0), which isn't known before reference", func(i int) bool { return !a.isOpenLoop(i) && unreferenced(st, i) },
		func(int) string { return "" })
	list("Holds", "powered already, held at its setpoint (snaps 0)", func(i int) bool { return a.isOpenLoop(i) && on }, place)
	list("May snap", "without power, so wherever it was left or moved to; goes at once, as fast as its motor can and through whatever is there, back to what it was told last",
		func(i int) bool { return a.isOpenLoop(i) && !on && !declared(st, i) }, snap)
	list("May snap", "a person said where it is and nothing measures it; goes at once, as fast as its motor can and through whatever is there, from where it truly is to",
		func(i int) bool { return a.isOpenLoop(i) && !on && declared(st, i) }, snap)
	return facts
}

// snapText says how far joint i may have to go to q from anywhere in its range.
func (a *arm) snapText(i int, q float64) string {
	l := a.Model.Limits[i]
	if !l.Bounded {
		return " (by any amount)"
	}
	return fmt.Sprintf(" (by up to %.3f %s)", math.Max(math.Abs(q-l.Lower), math.Abs(l.Upper-q)), a.unit(i))
}

func (p *Planner) prepareTorqueOff(ctx context.Context, _ gate.Call, a *arm, _ want) (*commandAction, error) {
	// What a backend latches it refuses every command for but a reset, so nobody is
	// asked in vain. A deviation that only this package has latched is another
	// matter: powering off is a way to deal with it.
	own, err := a.measure(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.noLatch(own.EStopped, own.Faults); err != nil {
		return nil, err
	}
	st, err := a.state(ctx)
	if err != nil {
		return nil, err
	}
	if st.Moving {
		return nil, robot.Errf(robot.CodeBusy, a.name, "the robot is moving; stop it first")
	}
	facts := []gate.Fact{{Label: "Warning", Text: "the arm sinks under its own weight until something holds it"}}
	if !powered(st) {
		facts[0].Text = "torque is off already"
	}
	if tip := a.knownTip(st); tip != nil {
		if h := tip.Position[2]; h > 0 {
			text := fmt.Sprintf("the tool is %.3f m above the root frame's origin", h)
			if tip.Measured != nil {
				text += ", if it is where its setpoints have it"
			}
			facts = append(facts, gate.Fact{Label: "Height", Text: text})
		}
	}
	if powered(st) {
		facts = append(facts, a.sagFacts(ctx, st)...)
	}
	if st.Held != "" {
		facts = append(facts, gate.Fact{Label: "Held", Text: onCard(st.Held) + " may be dropped"})
	}
	if names := a.openLoopNames(); len(names) > 0 {
		facts = append(facts, gate.Fact{Label: "Afterwards", Text: "nobody knows where " + strings.Join(names, ", ") + pick(len(names) == 1, " is", " are") +
			": nothing measures it, and torque_on takes it back to where it was told to be"})
	}
	return newCommandAction(a, robot.Command{Kind: robot.TorqueOff}, st, append(facts, a.openLoopFact()...)), nil
}

// sagFacts say how far the arm sinks in a rehearsal. One that can't be had doesn't keep
// the power on: powering off is a way out of what may be wrong.
func (a *arm) sagFacts(ctx context.Context, st robot.State) []gate.Fact {
	r, ok := a.Rehearser.(SagRehearser)
	if !ok || len(a.unreferencedNames(st)) > 0 {
		return []gate.Fact{{Label: "In the rehearsal", Text: "how far it sinks wasn't rehearsed"}}
	}
	s, err := r.RehearseOff(ctx, a.assumedPlace(st))
	if err == nil && (len(s.Start) != a.Model.DoF() || len(s.End) != a.Model.DoF()) {
		err = robot.Errf(robot.CodeRehearsalFailed, s.Simulator, "the rehearsal says of %d joints where they end, the robot has %d", len(s.End), a.Model.DoF())
	}
	if err != nil {
		return []gate.Fact{{Label: "In the rehearsal", Text: "how far it sinks couldn't be rehearsed: " + onCard(err.Error())}}
	}
	var parts []string
	for i, n := range a.info.Joints {
		if d := s.End[i] - s.Start[i]; math.Abs(d) > movedRad {
			parts = append(parts, fmt.Sprintf("%s by %.3f %s", n, d, a.unit(i)))
		}
	}
	if len(parts) == 0 {
		return []gate.Fact{{Label: "In the rehearsal", Text: "nothing sinks, in " + s.Simulator}}
	}
	return []gate.Fact{{Label: "In the rehearsal", Text: fmt.Sprintf("sinks within %.1f s in %s: %s; the tool by %.3f m, to (%.3f, %.3f, %.3f) m",
		s.Duration, s.Simulator, strings.Join(parts, ", "), s.Tip[0][2]-s.Tip[1][2], s.Tip[1][0], s.Tip[1][1], s.Tip[1][2])}}
}

func (p *Planner) prepareReset(ctx context.Context, _ gate.Call, a *arm, _ want) (*commandAction, error) {
	st, err := a.state(ctx)
	if err != nil {
		return nil, err
	}
	var latched []string
	if st.EStopped {
		latched = append(latched, "the e-stop")
	}
	for _, f := range st.Faults {
		latched = append(latched, fmt.Sprintf("%s (%s)", f.Code, f.Text))
	}
	if len(latched) == 0 {
		latched = []string{"nothing is latched"}
	}
	return newCommandAction(a, robot.Command{Kind: robot.EStopReset}, st, []gate.Fact{
		{Label: "Releases", Text: strings.Join(latched, ", ")},
		{Label: "Starts", Text: "nothing; plans made before are void, and nothing is switched on: torque_on is asked by itself"},
	}), nil
}
