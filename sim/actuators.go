package sim

import (
	"fmt"
	"math"
	"slices"

	"github.com/tau-robot/tau/robot"
)

// switchOff sets the actuators to their off values that declare it for what has
// happened: a stop, or a link that is lost; mu is held.
func (r *Robot) switchOff(declared func(*robot.Actuator) string) {
	for i := range r.values {
		if a := &r.tree.model.Actuators[i]; declared(a) == "off" {
			r.values[i] = a.Off
		}
	}
}

func onStop(a *robot.Actuator) string { return a.OnStop }
func onLost(a *robot.Actuator) string { return a.OnLost }

// actuatorStates is what State says of the actuators: what they were last set to,
// since nothing that measures them is simulated; mu is held.
func (r *Robot) actuatorStates() []robot.ActuatorState {
	var out []robot.ActuatorState
	for i, v := range r.values {
		out = append(out, robot.ActuatorState{Name: r.tree.model.Actuators[i].Name, Value: v})
	}
	return out
}

// checkActuator says which actuator a SetActuator is about, or what is wrong with
// the command whatever the robot does.
func (r *Robot) checkActuator(c *robot.Command) (int, error) {
	m := r.tree.model
	if math.IsNaN(c.Value) || math.IsInf(c.Value, 0) {
		return 0, &robot.Error{Code: robot.CodeInvalidArgument, Where: "value", Text: "the value must be finite", Value: &robot.Quantity{Value: c.Value}}
	}
	if m.JointIndex(c.Name) >= 0 {
		return 0, robot.Errf(robot.CodeInvalidArgument, c.Name, "%s is a joint: motions move it", c.Name)
	}
	if len(m.Actuators) == 0 {
		return 0, robot.Errf(robot.CodeNotSupported, c.Name, "the robot has no actuators beside its joints")
	}
	i := slices.IndexFunc(m.Actuators, func(a robot.Actuator) bool { return a.Name == c.Name })
	if i < 0 {
		return 0, robot.Errf(robot.CodeInvalidArgument, c.Name, "the robot has no actuator %q", c.Name)
	}
	if a := &m.Actuators[i]; c.Value < a.Lower || c.Value > a.Upper {
		limit := a.Lower
		if c.Value > a.Upper {
			limit = a.Upper
		}
		e := robot.LimitErr(robot.CodeInvalidArgument, a.Name, c.Value, limit, a.Unit, fmt.Sprintf("the value is out of the range from %g to %g", a.Lower, a.Upper))
		e.Nearest = []robot.Quantity{{Name: a.Name, Value: limit, Unit: a.Unit}}
		return 0, e
	}
	return i, nil
}

// setActuator sets one, at once. What stops from here on finds it set: the epoch is
// compared under the lock under which a Stop raises it and switches off.
func (r *Robot) setActuator(c *robot.Command) (robot.Outcome, error) {
	i, err := r.checkActuator(c)
	if err != nil {
		return refused(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.admit(c.Epoch); err != nil {
		return refused(err)
	}
	r.values[i] = c.Value
	s, err := r.state()
	if err != nil {
		return robot.Outcome{Status: robot.OutcomeUnknown}, err
	}
	return robot.Outcome{Status: robot.OutcomeDone, Final: s}, nil
}
