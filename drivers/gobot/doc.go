// Package gobot is the robot.Backend of Arduinos with stock StandardFirmata, of PCA9685
// chips on their I2C bus, and of a computer's own pins, all by way of the library gobot:
// it is the hosted.Body of those, which hosted.Engine moves.
//
// # What of the library is used, and what isn't
//
// Of a board: the library's Firmata client (platforms/firmata/client), which makes and
// reads the protocol. Not its adaptor (platforms/firmata): it brings a Bluetooth stack that
// needs cgo on macOS, starts goroutines that nothing can end, writes servos in whole
// degrees, and sends an I2C request before it listens for the answer, for which it then
// waits for ever. Of a computer: the adaptor that the robot's file names (platforms/raspi),
// by the interfaces Pins, gobot.PWMPinnerProvider, gpio.DigitalWriter and i2c.Connector.
//
// # How the client is fenced
//
// It gets a connection of ours, transport, between itself and drivers/port:
//
//   - It is handed one whole message at a time, and the call returns once it has done with
//     it: its reader never runs at the same time as one of its methods, which share fields
//     without a lock.
//   - Each message is judged first (judge): an I2C answer that is shorter than what was
//     asked for, a pin beyond those that there are, a list of capabilities or a mapping
//     that nobody asked for would all be a panic in a goroutine that nobody can recover.
//     Pins are filled up to whole ports, because it sets digital outputs by eight.
//   - Each frame that it writes is judged too (rules), by its bytes: a pin, a mode or a
//     value that the robot's file gives no reason for ends the link instead of going out. Its
//     reset of the board on connecting, which lets go of every servo, is withheld.
//   - The first error is latched. Its reader then waits, instead of asking again a million
//     times, and ends when the connection is closed.
//   - It publishes to events, which calls handlers instead of starting goroutines. The
//     client is made without its constructor, which starts one that never ends, and is
//     used for one connection only.
//   - Nothing that it remembers of a pin is given out. A value is what a board has just
//     said, with the time at which it did; each read asks the board something, and one
//     that doesn't answer is LINK_TIMEOUT.
//
// # What a stock board can't do
//
// It has no watchdog: servos stay where they were told last when the host is gone, and
// outputs as they were set. So an output that is declared to go off with the link, and one
// that does more the longer it is on, are refused. It attaches a servo before it takes a
// setpoint: the first time after a reset that is one pulse of 1500 µs at most, and
// afterwards none, since it keeps what a servo was told last. It takes pulses from 544 µs
// on, shorter ones being degrees. A board that was cut off in the middle of a message
// answers nothing until its reset button was pressed; it is sent nothing that would end
// that message, because a cut one may be a setpoint, and little at all: it doesn't look
// whether a message still fits into its memory.
//
// It never imports gate, motion, sim, cmd or another driver, and go.bug.st/serial only by
// way of drivers/port.
package gobot
