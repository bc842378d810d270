// Package porttest has what tests of serial links need: pseudo-terminals, and a Proxy
// between a bridge and its board that does to the bytes what cables, adapters and
// boards do to them, at counted bytes or frames or on command, the same for the same
// seed, and that records what passed and when. Only tests import it.
//
//	bridge ─ Path ═ pseudo-terminal ═ Proxy ═ pseudo-terminal ═ board
//
// A frame is what ends with a zero byte, as in our firmware's protocol. It imports
// nothing of ours.
package porttest
