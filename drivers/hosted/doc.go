// Package hosted is the robot.Backend of hardware that takes one setpoint after another
// and plans nothing by itself: servo buses and Arduinos with stock firmware. Its one loop
// samples the approved trajectory, and nothing else, at the control period, brakes along
// it, watches what is measured against it, latches the first fault, and serves torque,
// actuators and stops between two periods. A driver hands it a Body, which knows bytes
// and registers and nothing of motions.
//
// One goroutine, the loop, is the only one that talks to the Body: so a half-duplex line
// has one owner, a stop waits for at most one exchange, and whoever asks for the state
// gets what the loop published and never touches the wire.
//
// A Body's method that doesn't return is given up after a while: the Body is disconnected,
// which unblocks it, and whoever waited for it gets an answer.
//
// The hardware has no brake of its own. If this process dies, a servo goes to the last
// setpoint that it was sent, one control period ahead at most, and stays there.
//
// It never imports gate, motion, sim, cmd or a driver.
package hosted
