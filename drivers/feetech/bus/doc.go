// Package bus speaks with the servos of one half-duplex serial line: packets, answers,
// tries, times. A Codec gives it the bytes of one maker's protocol; what the registers
// mean is the driver's.
//
// A Bus has one owner at a time, in one goroutine: it isn't safe for concurrent use. Each
// exchange is whole: what was asked for is answered, or has failed, before the next one
// begins. What lies on the line before an instruction is thrown away and counted; where
// an answer didn't come in its time, the next exchange waits until it can't come any more.
// An answer is taken by its ID and its length, which is all that the protocols say of
// what it answers. So these are told from an answer:
//
//   - an acknowledgement, or another process's answer, that nobody read;
//   - a late answer to an earlier try or exchange, up to a Turnaround behind its deadline;
//   - our own bytes, from an adapter that gives them back;
//   - another host's instructions to the same servo, of Feetech's protocol, with the answers to them.
//
// Two servos with one ID aren't, while their answers come whole one after the other: Scan
// finds them, and a driver scans before it moves anything.
//
// Reads are tried again, up to Tries; writes never. An error is a *robot.Error:
//
//	DISCONNECTED, LINK_TIMEOUT      the port's: the line is gone
//	STALE_STATE, ErrSilent          a servo said nothing to a read or ping
//	STALE_STATE, ErrDamaged         it said nothing good
//	UNKNOWN_OUTCOME, ErrSilent      a write or reboot wasn't acknowledged: it may have been done
//	UNKNOWN_OUTCOME, ErrDamaged     the same, and something damaged came
//	INVALID_ARGUMENT, ErrRefused    the servo says that it hasn't done a write
//	NOT_SUPPORTED, ErrRefused       the same of everything else
//	INVALID_ARGUMENT                the call itself is wrong; nothing was sent
//
// It imports robot for the error type, and must never import gate, motion, sim, cmd,
// drivers/port or a driver: the line is handed in.
package bus
