// Package web is the approver for consoles and apps: a small HTTP service of its own,
// on loopback, on which an enrolled device lists what is asked, reads a whole card and
// decides with its own P-256 key. docs/APPROVAL-API.md is the protocol.
//
// Nothing can be read, stopped or decided without a key of the ring, and no token of
// MCP is one. What decides is a statement of package signed; what reads is a request
// that is signed too (auth.go). A web page of another origin is refused before that.
//
// It imports gate, its words, the card, the desk and signed, and must never import what
// an agent reaches or what moves anything; a stop is handed in.
package web
