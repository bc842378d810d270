// Package signed is how a person decides from outside of a bridge's own terminal:
// statements about one question, signed with a P-256 key that the operator has
// enrolled, and checked before anything is claimed (G34).
//
// What is signed is the canonical byte form of a Statement (statement.go); the
// signature is ECDSA over its SHA-256, as r and s of 32 bytes each, which is what
// browsers make and take. Keys are known from a Ring, a folder of files whose entries
// are signed by the operator's key, and that key is the one that the bridge was told to
// trust (Pin). A Nonce is made by the bridge for one question, and is spent once.
//
// What one process of the same user can do to another's files is in docs/SECURITY.md.
//
// The package imports gate and nothing else of ours, and nothing that an agent reaches
// may import it.
package signed
