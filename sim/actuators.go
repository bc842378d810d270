package sim

import (
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

// setActuator sets one, at once. What stops from here on finds it set: the epoch is
// compared under the lock under which a Stop raises it and switches off.
func (r *Robot) setActuator(c *robot.Command) (robot.Outcome, error) {
	i, err := r.tree.model.CheckActuator(c)
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
