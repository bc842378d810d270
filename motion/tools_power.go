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
	facts := []gate.Fact{{Label: "Holds", Text: "the joints hold where they are measured"}}
	if st.Positions == nil {
		facts[0].Text = "nothing is measured: each joint may snap to its last setpoint"
	}
	return newCommandAction(a, robot.Command{Kind: robot.TorqueOn}, st, facts), nil
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
	if q := where(st); q != nil && a.tipIsKnown(st) {
		if h := a.lowestDrop(q); h > 0 {
			facts = append(facts, gate.Fact{Label: "Height", Text: fmt.Sprintf("the tool is %.3f m above the root frame's origin", h)})
		}
	}
	if st.Held != "" {
		facts = append(facts, gate.Fact{Label: "Held", Text: onCard(st.Held) + " may be dropped"})
	}
	return newCommandAction(a, robot.Command{Kind: robot.TorqueOff}, st, facts), nil
}

// lowestDrop is how far the tip is above the root's origin, m.
func (a *arm) lowestDrop(q []float64) float64 {
	if len(q) != a.Model.DoF() {
		return math.NaN()
	}
	return a.tipPose(q).Position[2]
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
		{Label: "Starts", Text: "nothing; plans made before stay void, torque stays as it is"},
	}), nil
}
