// Package hardware is a real robot's file: which channel of the board, or which servo of
// the bus, moves which joint of the description, in which direction, from where, by how
// much, within which limits, and how it is measured. docs/HARDWARE.md ("The robot's file")
// shows one for each driver; the keys of another driver are refused by name.
//
// The file is TOML and read strictly, once: a key that nobody knows, a value of another
// type, a number that isn't finite, a channel that is named twice, or a limit wider
// than the description's refuses it, with file and line, key, value and limit.
//
// The package reads no file and asks no clock: bytes and time are handed in. It imports
// robot; never gate, motion, sim, drivers or cmd.
package hardware
