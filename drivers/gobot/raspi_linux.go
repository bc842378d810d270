package gobot

import (
	"errors"

	lib "gobot.io/x/gobot/v2"
	"gobot.io/x/gobot/v2/platforms/adaptors"
	"gobot.io/x/gobot/v2/platforms/raspi"
)

// pi is a Raspberry Pi's pins. Giving them back leaves its PWM alone: the library would
// disable it, which takes the servos' power away.
type pi struct{ *raspi.Adaptor }

// raspiPins returns a Raspberry Pi's pins. A channel of the file is the number of the PWM
// channel (0 or 1) of a servo or an output with PWM, and of an output without it the number
// of the header's pin.
func raspiPins() (Pins, error) {
	// The library's own way to make a PWM pin ready disables it, sets its period and
	// enables it with whatever pulse that makes.
	ready := func(_ string, pin lib.PWMPinner) error { return pin.Export() }
	return pi{raspi.NewAdaptor(adaptors.WithPWMPinInitializer(ready))}, nil
}

// Finalize closes the I2C buses and gives the digital pins back.
func (p pi) Finalize() error {
	return errors.Join(p.DigitalPinsAdaptor.Finalize(), p.AnalogPinsAdaptor.Finalize(), p.I2cBusAdaptor.Finalize(), p.SpiBusAdaptor.Finalize())
}
