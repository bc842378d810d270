// Package tui is the approver that asks on a screen of its own (G30): what waits, one
// card with its rehearsal drawn, the events, and the robot's state. It approves only
// on y, e or the Approve button, at least half a second after the end of the card had
// been written to the terminal.
//
// Who does what: one goroutine reads the terminal and acts on stops by itself, before
// anything else sees the key; what is read otherwise, what the gate asks and what
// happened meanwhile lie on a board, from which the screen (bubbletea's loop) takes
// it. Nobody but the screen ever waits for the terminal.
//
// It imports gate, gate/words, gate/approver/card and gate/approver/terminal (the
// rule's figures and reasons) and nothing else of ours; nothing that an agent reaches
// may import it. It knows no robot: what it draws is the data of a card.
package tui
