// Package bus speaks with the servos of one half-duplex serial line: frames, answers,
// tries, times. A Codec gives it the bytes of one maker's protocol; what the registers
// mean is the driver's.
//
// A Bus has one owner at a time, in one goroutine: it isn't safe for concurrent use. Each
// exchange is whole: what was asked for is answered, or has failed, before the next one
// begins, and what is left on the line from an earlier one is thrown away and counted,
// never taken for an answer.
//
// Reads are tried again, up to Tries; writes never.
//
// It imports robot for the error type, and must never import gate, motion, sim, cmd,
// drivers/port or a driver: the line is handed in.
package bus
