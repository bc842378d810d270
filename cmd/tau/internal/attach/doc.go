// Package attach is the operator's side of a bridge in another process: a terminal
// that shows each question of a running bridge and signs the answer with the operator's
// key, and the signing of what else gives power (G34). The cards and the rules by which
// an answer counts are those of gate/approver/terminal, and the terminal is
// cmd/tau/internal/prompt: what holds at the bridge's own terminal holds here.
//
// It believes the socket nothing: what is signed says what was shown, so that a program
// that put itself in the bridge's place can't have one request shown and another signed.
// It imports control, prompt, show, gate and its approvers, and nothing that an agent
// reaches may import it.
package attach
