// Package expose puts an emulated servo bus in front of a simulated arm and gives other
// programs a pseudo-terminal that behaves like the arm's serial line: `tau robot sim
// --expose`. The arm is its own: neither the bridge's simulated robot nor anything that a
// session moves.
//
// It imports robot, robot/hardware, sim and drivers/feetech/emulator; it must never import
// gate, motion, a driver or another package of cmd: nothing that is exposed leads to what
// moves something.
package expose
