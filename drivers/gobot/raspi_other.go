//go:build !linux

package gobot

import "github.com/tau-robot/tau/robot"

// raspiPins says that these pins are those of another computer.
func raspiPins() (Pins, error) {
	return nil, robot.Errf(robot.CodeNotSupported, "raspi", "this program was built for another system than a Raspberry Pi's")
}
