// Package telegram is the approver that asks over Telegram: it polls the Bot API
// itself, sends each question as one message with the whole card and two buttons, and
// takes the buttons away when the question is over, however it ends.
//
// A press counts only from an allowlisted chat (and, where users are listed, from one
// of them), on the very message that was sent for this asking of the request, half a
// second after it was sent at the earliest, and once. What Telegram's servers say is
// believed: they could forge a press, which docs/SECURITY.md says.
//
// It imports gate, the table of words, the card and the desk, and must never import
// what an agent reaches or what moves anything; a stop is handed in.
package telegram
