// Package calibrate walks a person through measuring an arm on a servo bus: which servo is
// which joint, where its zero is, which way it turns, how far it goes. What comes out is
// the robot's file (robot/hardware), written at the very end and whole.
//
// Nothing is ever powered: torque is off the whole time, and the package has no means to
// switch it on or to send a goal. What it writes to servos is their homing offset and the
// bounds of their goals, and only after the person has typed yes. A calibration that is
// given up leaves the file that was there.
//
// Session is the walk itself, without a bus, a terminal or a clock: answers and encoder
// ticks go in, text and what is to be done come out. Run joins it to a Bus and a terminal.
// Save writes the file.
//
// It imports robot, robot/hardware, motion/kinematics and gate (to print names); it must
// never import a driver, sim, or another package of cmd.
package calibrate
