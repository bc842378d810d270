// Package emulator is a bus of servos that isn't there: byte by byte what a host would
// hear from them, with their register map, their timing and their faults, in front of an
// Arm that turns as they drive it. `tau robot sim --expose` puts it on a pty for other
// people's software, and the driver's tests stand on it.
//
// It is written from the makers' published tables and held to the makers' own SDKs; it
// shares the packet codecs with the driver (held to vectors), and nothing else: a driver
// that has a register wrong meets one here that has it right.
//
// It imports robot and drivers/feetech/bus with its codecs; never gate, motion, sim, cmd,
// or the driver itself: the simulated arm behind it is handed in as an Arm.
package emulator
