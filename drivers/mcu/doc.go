// Package mcu is the robot.Backend of boards that run the project's own firmware
// (firmware/, over firmware/PROTOCOL.md): it streams the pieces of an approved
// trajectory, and nothing else, to a board that holds every limit by itself and brakes
// by itself, and says what the board reports and what its joints measure.
//
// Three goroutines serve a link, and one owner joins them on every exit: keep opens the
// line, greets the board and takes care of loss; read takes what the board says and
// judges it; send writes. send is the only one that writes, so that a stop, a heartbeat
// and a piece of a motion come from the same loop: a driver that hangs stops looking
// alive, and the board brakes. Everything they share is under Robot.mu, which nobody
// holds while it waits for a line.
//
// It never imports gate, motion, sim, cmd or another driver, and go.bug.st/serial only
// by way of drivers/port.
package mcu
