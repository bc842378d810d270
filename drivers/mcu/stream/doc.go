// Package stream makes of an approved trajectory the pieces that a board of
// firmware/PROTOCOL.md is sent, and proves before the first of them is sent that
// the board, which interpolates in integers on its own clock, will follow the
// trajectory within a stated bound, accept every piece, and have room to brake
// after each. What can't be proved is refused and nothing moves.
//
// One tick of the board is one millisecond of motion time. The package does no I/O,
// reads no clock and starts nothing; a Plan isn't changed once made and may be read
// by any number of goroutines.
//
// It imports robot and drivers/mcu/wire, and must never import anything else of ours.
package stream
