// Package terminal is the approver that asks a person at a terminal (G30): it
// shows one card, and approves only on a line that says yes, typed at least half
// a second after the end of the card was shown. The terminal itself is a Console,
// which cmd/tau's prompt is.
//
// It imports gate, gate/words and gate/approver/card and nothing else of ours; it never
// reads or writes a terminal itself and reads no clock: every line comes with its time.
package terminal
