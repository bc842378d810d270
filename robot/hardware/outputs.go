package hardware

import (
	"math"
	"strings"

	"github.com/tau-robot/tau/robot"
)

// outputs reads how what is beside the joints is set. A servo bus has nothing there, and of
// a stock Arduino or a computer's pins what the file leaves out isn't there either: without
// a watchdog they can't do what every actuator is declared to.
func (p *parser) outputs(f *File, raw *rawFile) error {
	var names []string
	for i := range p.m.Actuators {
		names = append(names, p.m.Actuators[i].Name)
	}
	if p.driver.bit&bus != 0 {
		f.Absent = names
		return nil
	}
	err := extra(raw.Outputs, names, func(n string) error {
		if len(names) == 0 {
			return p.bad("output."+n, "%s has nothing beside its joints", p.m.Name)
		}
		return p.bad("output."+n, "%s has no actuator %q beside its joints; it has %s", p.m.Name, n, strings.Join(names, ", "))
	})
	if err != nil {
		return err
	}
	for i, n := range names {
		r, ok := raw.Outputs[n]
		if !ok && p.driver.bit == gobot {
			f.Absent = append(f.Absent, n)
			continue
		}
		if !ok {
			return robot.Errf(robot.CodeInvalidArgument, p.name, "output.%s is missing: each actuator has a channel", n)
		}
		a, o := &p.m.Actuators[i], Output{Actuator: n}
		key := "output." + n
		if o.Via, err = p.via(key+".via", r.Via); err != nil {
			return err
		}
		if o.Channel, err = p.channel(key+".channel", r.Channel, o.Via); err != nil {
			return err
		}
		if o.PWM, err = p.flag(key+".pwm", r.PWM); err != nil {
			return err
		}
		if o.Scale, err = p.above(key+".scale", r.Scale, "of the board's units per "+a.Unit); err != nil {
			return err
		}
		if a.Lower < 0 {
			return p.limit(key, a.Lower, 0, a.Unit, "a board's output has no values below zero")
		}
		if o.PWM && o.Via != "" {
			return p.bad(key+".pwm", "is a pin's; a channel of a chip is never anything else")
		}
		if top, most := a.Upper*o.Scale, p.most(&o); top > most {
			return p.limit(key+".scale", top, most, "", "the largest value times scale is more than a board's output has")
		}
		f.Outputs = append(f.Outputs, o)
	}
	return nil
}

// most is the largest value that an output takes.
func (p *parser) most(o *Output) float64 {
	switch {
	case p.driver.bit != gobot:
		return math.MaxUint16
	case o.Via != "":
		return chipSteps
	case o.PWM:
		return math.MaxUint8
	}
	return 1 // on
}
