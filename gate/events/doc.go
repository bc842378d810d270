// Package events keeps one append-only, hash-chained log a session (G50, G51):
// <data>/sessions/<id>/events.jsonl. Store is a gate.Sink; Verify finds any
// change of a log, Read iterates over one.
//
// # The line
//
// A line is one JSON object and a newline:
//
//	{"seq":N,"prev":"P","type":…,"time":…,…,"mac":"M","hash":"H"}
//
// N counts from 1 without a gap. Between prev and mac stand the fields of
// gate.Event in their order there. P, M and H are 64 lower-case hexadecimal
// digits each. With the bytes exactly as they are in the file:
//
//   - H is the SHA-256 of the line from its "{" up to and including the quote
//     that closes M, that is, of everything before ,"hash":
//   - P is H of the line before; in line 1 it is the SHA-256 of
//     "tau events 1\n" followed by the session's name;
//   - M is HMAC-SHA-256, under the key, of "tau events line 1\n" followed by the
//     SHA-256 of everything before ,"mac":
//
// H and P let anybody check the chain, but also let anybody make another one; M
// doesn't, and so it names the very line even where all behind it was hashed
// again, and a line that a crash left beyond the head is told from a forged one.
//
// # The head
//
// events.head, beside the log, says how far the log goes. It has two records of
// the same width, and the one for N lines is at index N modulo 2:
//
//	tau-head 1 <N> <start> <end> <H of line N> <HMAC>\n
//
// N, start and end (the offsets of line N and of what follows it) have 20 decimal
// digits. The HMAC is HMAC-SHA-256, under the key, of "tau events head 1\n"
// followed by the record up to the blank before the HMAC. A new log's head has
// the record for N = 0, with P of line 1 as its hash, and dashes in the other place.
//
// An append writes the line first and the head after it, and then returns. So a
// process that dies at any instant leaves the log at the head's end, one whole
// line beyond it (never reported, and kept if it chains and its M is right), or
// a part of a line beyond it (never reported, and set aside as events.torn-<n>).
// If the newest record is damaged, the line it was for must be there whole. Every
// other state is a Damage, which changes nothing and says what can be done.
//
// What was written survives the death of the process, not of the machine: only
// Sync and Close wait for the disk. Somebody who can read the key, or put back an
// older log together with its older head, isn't found out; the key's file has
// mode 0600 and is refused with wider permissions.
//
// The package imports gate and nothing else of ours; it reads no clock.
package events
