package signed

import (
	"fmt"
	"time"

	"github.com/tau-robot/tau/gate"
)

// The recorded reasons of refused statements.
const (
	ReasonMalformed gate.Reason = "statement malformed"
	ReasonRing      gate.Reason = "keys not trusted"
	ReasonUnknown   gate.Reason = "key unknown"
	ReasonRevoked   gate.Reason = "key revoked"
	ReasonKind      gate.Reason = "key not allowed for that"
	ReasonSignature gate.Reason = "signature wrong"
	ReasonPurpose   gate.Reason = "statement for another purpose"
	ReasonOther     gate.Reason = "statement about something else"
	ReasonDigest    gate.Reason = "statement about another digest"
	ReasonShown     gate.Reason = "statement about another card"
	ReasonExpired   gate.Reason = "statement expired"
	ReasonReplayed  gate.Reason = "statement replayed"
	ReasonNonce     gate.Reason = "nonce unknown"
)

// Refusal is why a statement doesn't count. As an error it is also the *gate.Error
// NOT_APPROVED with its text.
type Refusal struct {
	Reason gate.Reason
	Text   string
	Key    string // the key it named, where that could be read
}

func refuse(reason gate.Reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Text: fmt.Sprintf(format, args...)}
}

func (r *Refusal) Error() string { return string(r.Reason) + ": " + r.Text }

// Unwrap returns the gate's error of it.
func (r *Refusal) Unwrap() error {
	return &gate.Error{Code: gate.CodeNotApproved, Where: "statement", Text: r.Error()}
}

// Keys finds an enrolled key. *Ring implements it.
type Keys interface {
	// Find returns the entry of a key that may sign now, or a *Refusal.
	Find(id string) (Entry, error)
}

// Verifier checks statements. Its methods may be called from any goroutine; they
// block for the disk that the ring lies on.
type Verifier struct {
	Keys   Keys
	Nonces *Nonces
	Now    func() time.Time
}

// Accepted is a statement that counts, once.
type Accepted struct {
	Statement Statement
	Key       Entry  // who signed
	Asking    string // the asking that the nonce was issued for
}

// Check checks a message for one of the purposes, and spends its nonce. Whatever
// fails is a *Refusal and spends nothing, so that what somebody else sends can't use
// up a person's nonce.
func (v *Verifier) Check(m Message, purposes ...Purpose) (Accepted, error) {
	s, err := ParseStatement(m.Statement)
	if err != nil {
		return Accepted{}, refuse(ReasonMalformed, "%s", err)
	}
	deny := func(r *Refusal) (Accepted, error) {
		r.Key = s.Key
		return Accepted{}, r
	}
	ok := false
	for _, p := range purposes {
		ok = ok || p == s.Purpose
	}
	if !ok {
		return deny(refuse(ReasonPurpose, "it was signed in order to %s, which isn't what it was sent for", s.Purpose))
	}
	key, err := v.Keys.Find(s.Key)
	if err != nil {
		return Accepted{}, err
	}
	if !key.Kind.may(s.Purpose) {
		return deny(refuse(ReasonKind, "the key of a %s can't %s", key.Kind, s.Purpose))
	}
	if !verify(key.Public, m.Statement, m.Signature) {
		return deny(refuse(ReasonSignature, "the signature isn't that of the key %s over these bytes", s.Key))
	}
	now := v.Now()
	if gate.Expired(now, s.Expiry) {
		return deny(refuse(ReasonExpired, "it held until %s", s.Expiry.UTC().Format(time.RFC3339)))
	}
	about, r := v.Nonces.spend(s.Nonce, s, now)
	if r != nil {
		return deny(r)
	}
	return Accepted{Statement: s, Key: key, Asking: about.Asking}, nil
}
