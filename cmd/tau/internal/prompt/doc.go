// Package prompt is the interactive terminal of `tau robot sim`: a line editor
// (golang.org/x/term) behind a byte filter of our own, with history and
// completion, whose lines go to the command handler or to the one open approval
// card (it is a terminal.Console). Without a terminal it reads plain lines, and
// nothing can be approved.
//
// Four goroutines, all ended when Run returns: the reader polls the input, stamps
// what it reads and handles ctrl-C and ctrl-Z, whatever the output is doing; the
// editor turns keys into lines; the worker runs commands in order; the signal
// goroutine follows SIGWINCH and SIGCONT. Stops act in the goroutine that read them,
// before anything else, and what changes nothing runs beside the command that runs;
// both finish in goroutines of their own.
//
// It imports gate/approver/terminal and jobctl, and no other package of ours.
package prompt
