// Package port is the one way to a serial port. It wraps go.bug.st/serial, which
// sets the line up (raw mode, any baud rate) and does nothing else here: what goes
// over the line goes through a descriptor of our own on the runtime's poller, and
// that is why a deadline or Close ends a blocked Write, why no byte can be written
// through a descriptor that somebody else got after Close, and why no child process
// inherits the port.
//
// One bridge has a port at a time: Open takes flock on the device itself and refuses
// with BUSY, the port and the holder's process id while another process has it. The
// kernel keeps that record (/proc/locks), so that there is no lock file to go stale,
// to plant or to race for: the lock is free the moment its holder is gone, also by
// kill -9. Symbolic links come to the same device and so to the same lock.
//
// A stop must not wait in a queue. The kernel's own queue can't be overtaken, so a driver
// keeps its queue to itself and writes one frame at a time: an ordinary one when Ahead is
// nearly nothing, a stop's at once. The stop's first byte then leaves behind at most one
// frame and what Ahead was allowed to be. Bytes that were handed over are never taken back
// while the link is used: a cut frame would take the next one with it.
//
// It imports robot for the error type, and must never import gate, motion, sim, cmd
// or a driver. It knows no protocol.
package port
