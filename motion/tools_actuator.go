package motion

import (
	"context"
	"fmt"
	"math"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// What stands beside the joints: LEDs, relays, PWM outputs.

type actuatorInput struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// actuatorState returns the value of an actuator beside the joints.
func actuatorState(name string, st robot.State) (robot.ActuatorState, bool) {
	for _, s := range st.Actuators {
		if s.Name == name {
			return s, true
		}
	}
	return robot.ActuatorState{}, false
}

// actuatorText says what an actuator's value is.
func (a *arm) actuatorText(name string, st robot.State) string {
	s, known := actuatorState(name, st)
	if !known {
		return "unknown"
	}
	act := a.Model.Actuator(name)
	if act == nil {
		return fmt.Sprintf("%g", s.Value)
	}
	return valueText(s.Value, act.Unit)
}

func valueText(v float64, unit string) string {
	if unit == "" || unit == "1" {
		return fmt.Sprintf("%g", v)
	}
	return fmt.Sprintf("%g %s", v, unit)
}

// actuatorValues are the values of what stands beside the joints, by name; nil
// where the state says nothing of them.
func (a *arm) actuatorValues(st robot.State) map[string]actuatorValue {
	if len(st.Actuators) == 0 {
		return nil
	}
	out := make(map[string]actuatorValue, len(st.Actuators))
	for _, s := range st.Actuators {
		v := actuatorValue{Value: s.Value, Measured: s.Measured}
		if act := a.Model.Actuator(s.Name); act != nil {
			v.Unit = act.Unit
		}
		out[s.Name] = v
	}
	return out
}

// prepareSetActuator refuses what the backend would refuse, before anybody is asked.
func (p *Planner) prepareSetActuator(ctx context.Context, call gate.Call, a *arm, w want) (*commandAction, error) {
	in, err := args[actuatorInput](call)
	if err != nil {
		return nil, err
	}
	act, err := a.settable(in.Name)
	if err != nil {
		return nil, err
	}
	if !(in.Value >= act.Lower && in.Value <= act.Upper) {
		limit := act.Upper
		if in.Value < act.Lower {
			limit = act.Lower
		}
		e := robot.LimitErr(robot.CodeInvalidArgument, "value", in.Value, limit, act.Unit,
			fmt.Sprintf("%s takes %s to %s", act.Name, valueText(act.Lower, ""), valueText(act.Upper, act.Unit)))
		e.Nearest = []robot.Quantity{{Name: "value", Value: limit, Unit: act.Unit}}
		return nil, e
	}
	st, err := a.stateFor(ctx, w)
	if err != nil {
		return nil, err
	}
	if err := a.noLatch(st.EStopped, st.Faults); err != nil {
		return nil, err
	}
	if st.Moving {
		return nil, robot.Errf(robot.CodeBusy, a.name, "the robot is moving")
	}
	from := a.actuatorText(act.Name, st)
	if s, known := actuatorState(act.Name, st); known && !s.Measured {
		from += " (commanded, not measured)"
	}
	facts := []gate.Fact{
		{Label: "Sets", Text: fmt.Sprintf("%s (%s) from %s to %s, of %s to %s",
			act.Name, act.Kind, from, valueText(in.Value, act.Unit), valueText(act.Lower, ""), valueText(act.Upper, act.Unit))},
		{Label: "A stop", Text: fallText(act, act.OnStop)},
		{Label: "A lost link", Text: fallText(act, act.OnLost)},
	}
	return newCommandAction(a, robot.Command{Kind: robot.SetActuator, Name: act.Name, Value: in.Value}, st, facts), nil
}

// fallText says what a stop or a lost link does to an actuator.
func fallText(act *robot.Actuator, what string) string {
	if what == "off" {
		return "switches it off (" + valueText(act.Off, act.Unit) + ")"
	}
	return "leaves it " + what
}

// settable finds the actuator that set_actuator means.
func (a *arm) settable(name string) (*robot.Actuator, error) {
	if act := a.Model.Actuator(name); act != nil {
		return act, nil
	}
	if j := a.Model.JointIndex(name); j >= 0 {
		with := "move_joints or jog"
		if i := a.Model.Joints[j].Active; i >= 0 && a.Model.Base.Carries(i) {
			with = "drive or move_pose"
		}
		return nil, robot.Errf(robot.CodeInvalidArgument, "name", "%q is a joint; %s moves it", name, with)
	}
	names := make([]string, 0, len(a.Model.Actuators))
	for i := range a.Model.Actuators {
		names = append(names, a.Model.Actuators[i].Name)
	}
	if len(names) == 0 {
		return nil, robot.Errf(robot.CodeNotSupported, "name", "%s has no actuators beside its joints", a.Model.Name)
	}
	return nil, robot.Errf(robot.CodeInvalidArgument, "name", "%s has no actuator %q; it has %v", a.Model.Name, name, names)
}

func (p *Planner) listActuators(ctx context.Context, _ gate.Call, a *arm) (any, error) {
	st, err := a.state(ctx)
	if err != nil {
		st = robot.State{} // what there is can be said without its values
	}
	out, at := actuatorsResult{Actuators: []actuatorResult{}}, a.where(st)
	for _, act := range a.info.Actuators {
		r := actuatorResult{Actuator: act}
		if s, known := actuatorState(act.Name, st); known {
			r.Value, r.Measured = &s.Value, &s.Measured
		} else if i := a.Model.ActiveIndex(act.Name); i >= 0 && i < len(at) && !math.IsNaN(at[i]) && !unreferenced(st, i) {
			measured := !a.isOpenLoop(i)
			r.Value, r.Measured = &at[i], &measured
		}
		out.Actuators = append(out.Actuators, r)
	}
	return out, nil
}
