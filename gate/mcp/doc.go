// Package mcp serves a gate's catalog to agents over the Model Context Protocol,
// on the official Go SDK: Streamable HTTP on loopback, or one client on a pair of
// streams, in every protocol revision that the SDK speaks (2024-11-05 to 2026-07-28).
//
// It sits on the agent's side of the gate. It holds a [gate.Caller] and nothing
// else of the gate: it can call, wait, cancel and stop. Nothing that arrives here
// can approve anything (G31, G32): no elicitation, sampling or other question is
// ever sent to a client, and a message that answers one is refused.
//
// It must never import gate/approver/…, gate/approval, gate/lane, gate/events,
// cmd, or anything that can produce a decision; a test holds it to that.
//
// # How a request walks through
//
//	HTTP request ─► Host, Origin, bearer token      guard.go
//	             ─► body read once, bounded         guard.go
//	             ─► strict envelope                 envelope.go
//	             ─► stop and estop act here         intake.go, stop.go
//	             ─► the SDK's transport             http.go, tenant.go
//	             ─► the gate, through gate.Caller   call.go
//
//	line of stdin ─► bounded, as it comes           stdio_read.go
//	              ─► strict envelope, stops         envelope.go, intake.go
//	              ─► the SDK, by a transport here   stdio.go
//	              ─► the gate, through gate.Caller  call.go
//	              ─► answers and progress           stdio_write.go, outbox.go
//
// The SDK's own stdio transport is not used: it ends the session at the first line
// that it can't parse, keeps up to 16 MiB of one, can't be closed while it waits for
// input, and writes in the goroutine that has something to say, so that a client
// which stops reading would hold up the next stop.
//
// # Raw arguments
//
// The SDK decodes a message loosely: of duplicate members it keeps one, it ignores
// members that it doesn't know and everything behind the first JSON value, it turns
// a lone surrogate into U+FFFD, and in the newest revision it refuses a whole
// request for a number that no double holds. The envelope (everything but the
// arguments) is therefore checked here first, on the bytes as they came, and a
// message that isn't strict never reaches the SDK. The value of params.arguments
// never reaches it at all: it goes around it to [gate.Invocation.Args], byte for
// byte (TestG7_ArgumentsReachTheGateByteForByte), so decoding it strictly stays the
// gate's work, and what was wrong with it is in the gate's log. Only in a batch over HTTP,
// which 2025-03-26 alone has, do the arguments go through the SDK, which carries
// them as json.RawMessage.
//
// # What a stop overtakes
//
// The stop epoch under which a call counts is that of its intake: over streams when
// its line has been read, over HTTP when its request has begun. It goes to the gate
// beside the call ([gate.Invocation.Taken]), around the SDK, in whose goroutines a
// call may be overtaken by a stop that was sent behind it. So a call whose stop has
// been commanded never runs, and the stop of a batch ends every other call of that
// batch that isn't a reading one, whatever their order: all were taken in before the
// stop acted. A batch therefore can't stop and then move; that takes two messages.
//
// # What belongs together
//
// Of a call's params._meta four members are ours (meta.go): tau/batch, tau/batch_size
// and tau/batch_place make calls one batch of the gate, and tau/turn names the turn that
// budgets count (docs/POLICY.md). They permit nothing. A JSON-RPC batch is none of the
// gate's batches.
//
// # Cancelling
//
// An open call ends early in these ways: notifications/cancelled in the revisions
// up to 2025-11-25, whose text says that a lost connection is not a cancel; the
// end of the POST in 2026-07-28, where it is one; over streams that notification in
// every revision; DELETE of the transport session; and [Server.Shutdown]. Each of them is [gate.Ticket.Cancel]: the question is
// withdrawn or the motion stopped. A call that was answered "pending" is no longer
// open and none of these touch it; when its transport session ends, the person who is
// asked is told that the client has gone ([gate.Leaver], G49).
//
// # Concurrency
//
// Everything exported may be used from any goroutine.
package mcp
