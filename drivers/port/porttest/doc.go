// Package porttest has what tests of serial links need: pseudo-terminals, and a proxy
// between a bridge and its board that does to the bytes what cables, adapters and
// boards do to them. Only tests import it.
package porttest
