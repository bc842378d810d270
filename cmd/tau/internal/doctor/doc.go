// Package doctor says in plain words what keeps a robot from being driven from here: a
// port that isn't there, that somebody else has, or that this user may not open; a USB
// adapter that is slow, a program that writes to it, a board in its boot loader; servos
// without power, at another speed, with one ID twice, of another model; a file that is
// wrong, readable by the wrong people, or old.
//
// It powers nothing and moves nothing: it looks into /sys and /proc, and asks a servo bus
// with pings and reads. A board with firmware it doesn't ask at all, since opening its port
// may reset it and drop what it holds.
//
// Each check is a function of what was found to findings; what finds is handed in. It
// imports robot, robot/hardware, drivers/port and gate (to print names), and must never
// import a driver, sim or motion.
package doctor
