package feetech

import (
	"fmt"
	"math"
	"time"

	"github.com/tau-robot/tau/robot"
)

// inARow is how many reads in a row have to find too much current or a wrong voltage
// before that is a fault: a motor that starts takes more for a moment.
const inARow = 3

// complaint is what a servo says of itself in one bit.
type complaint struct {
	code robot.Code
	text string
}

// about says what a condition of one bit is, and what is to be done.
func (c condition) about() complaint {
	switch c {
	case badVoltage:
		return complaint{robot.CodeOverload, "the servo says that its supply is outside of what it takes: look at the supply and its wires"}
	case badSensor:
		return complaint{robot.CodeNotCalibrated, "the servo says that its encoder is faulty: where the joint is isn't known"}
	case tooHot:
		return complaint{robot.CodeOverload, "the servo says that it is too hot: let it cool down"}
	case tooMuchCurrent:
		return complaint{robot.CodeOverload, "the servo says that it draws too much current: it is blocked, or carries too much"}
	case overloaded:
		return complaint{robot.CodeOverload, "the servo says that it is overloaded, and gives little torque or none: take the load off, then reset"}
	case shocked:
		return complaint{robot.CodeOverload, "the servo says that its circuit had an electrical shock, or too little power for its motor"}
	case hostQuiet:
		return complaint{robot.CodeLinkTimeout, "the servo heard nothing of this computer for a while, and stopped by itself (its bus watchdog)"}
	}
	return complaint{robot.CodeInternal, fmt.Sprintf("the servo has condition %d", c)}
}

// watch judges what one servo measures, read after read.
type watch struct {
	over, high, low int // reads in a row with too much current, too much and too little voltage
}

// bounds are what a servo may be at, beyond what it says itself; 0: no bound.
type bounds struct {
	current, temperature   float64 // A, °C
	minVoltage, maxVoltage float64 // V
}

// add appends what is wrong with a joint to the faults.
func (w *watch) add(faults []robot.Fault, joint string, m *measured, b bounds, now time.Time) []robot.Fault {
	for bit := badVoltage; bit != 0; bit <<= 1 {
		if m.complaints&bit != 0 {
			c := bit.about()
			faults = append(faults, robot.Fault{Code: c.code, Where: joint, Text: c.text, Since: now})
		}
	}
	count := func(n *int, yes bool) bool {
		if !yes {
			*n = 0
			return false
		}
		*n++
		return *n >= inARow
	}
	say := func(v, limit float64, unit, text string) {
		faults = append(faults, robot.Fault{Code: robot.CodeOverload, Where: joint, Since: now,
			Text: fmt.Sprintf("%s: %.4g %s, the limit of the robot's file is %.4g %s", text, v, unit, limit, unit)})
	}
	if count(&w.over, b.current > 0 && m.current > b.current && !math.IsNaN(m.current)) {
		say(m.current, b.current, "A", "the servo draws too much current: it is blocked, or carries too much")
	}
	if b.temperature > 0 && m.temperature > b.temperature {
		say(m.temperature, b.temperature, "°C", "the servo is too hot: let it cool down")
	}
	if count(&w.low, b.minVoltage > 0 && m.voltage < b.minVoltage) {
		say(m.voltage, b.minVoltage, "V", "the servos' supply is too low: it is too weak, or wired with too thin wires")
	}
	if count(&w.high, b.maxVoltage > 0 && m.voltage > b.maxVoltage) {
		say(m.voltage, b.maxVoltage, "V", "the servos' supply is too high")
	}
	return faults
}
