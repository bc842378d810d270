// Package wire is the host's side of the protocol in firmware/PROTOCOL.md: frames
// and their decoder, a struct for each message, and the arithmetic of a piece and
// of the brake as the board does it.
//
// It does no I/O, reads no clock and starts nothing. Nothing in it may be used by
// two goroutines at once unless it says so; all functions without a receiver may.
// Integers have the units of the protocol: positions are 1/256 of a channel's own
// unit (µs or step), velocities 1/256 of that a millisecond, accelerations 1/65536
// of a position unit per ms², times are ticks of 1 ms.
//
// The document comes first: testdata/wire was taken from it, and this package, the
// C core and the document are held to those vectors.
//
// It imports robot, for its errors, and must never import anything else of ours.
package wire
