package gate

import (
	"context"
	"encoding/json"
	"time"
)

// Decision is an approver's word. Only Approved allows (G9); the zero value and
// every value that isn't listed refuse.
type Decision uint8

// The decisions.
const (
	Approved Decision = 0xA5 // not a small number, so that nothing becomes it by accident
	Rejected Decision = 0x01
	TimedOut Decision = 0x02
	// Void is an answer that doesn't count: too early, pasted, nobody there. It refuses
	// as Rejected does, but no person has refused, so the call may be asked again (G33).
	Void Decision = 0x03
	// Edited asks for the same thing slower, or less of it, which Word.Edit says. It
	// approves nothing: what comes of it is planned, rehearsed and asked anew (G46).
	Edited Decision = 0x04
)

// Request is what an approver is asked. It is a deep copy; changing it changes nothing.
type Request struct {
	CallID    string
	Tool      string
	Tier      Tier
	Args      json.RawMessage // canonical
	Effect    string
	Session   Session
	Principal string
	Origin    string
	Digest    [32]byte
	Card      Card
	Asked     time.Time
	Expiry    time.Time
	// Editable: the approver may answer with Edited. It is looked up when it is asked.
	Editable bool
	// Notices are what a person should know beside the card, as it was when it was
	// asked. They are neither stored nor part of the digest.
	Notices []Notice
}

// Notice is something that a person who has a question before him should know, and
// that the card doesn't say.
type Notice struct {
	Kind NoticeKind
	Text string // why, in English; "" where there is nothing more to say
}

// NoticeKind says what a notice is about.
type NoticeKind uint8

// The kinds.
const (
	CallerGone NoticeKind = iota + 1 // whoever asked isn't there any more; the question stays (G49)
	CallerBack                       // and is there again
	CantEdit                         // what the person asked for instead can't be done (G46)
)

// Valid reports whether k is one of the kinds: of another one nobody can be told anything.
func (k NoticeKind) Valid() bool { return k >= CallerGone && k <= CantEdit }

// Approver asks a person. Decide blocks until there is a decision or ctx ends; it
// then takes the question away. An approver may also have a method
// Timeout() time.Duration, which holds where the gate has none of its own (G10).
type Approver interface {
	Name() string
	Decide(ctx context.Context, req Request) (Word, error)
}

// Noticer is an Approver that can be told something about a question that it has open.
// Notice must not block; a question that isn't open any more is nothing to it.
type Noticer interface {
	Notice(callID string, n Notice)
}

// Word is what an approver says. The zero value refuses.
type Word struct {
	Decision Decision
	Reason   Reason
	By       string // who decided, as the channel knows them; "" is the channel's name
	Edit     Edit   // of Edited
}

// Reason is the recorded reason of a decision, for the log: "answered", "eof",
// "not interactive", "before the card's end", …
type Reason string

// AutoReject refuses everything; it is what a gate without an approver uses, and
// the approver of a run in which nobody can answer (G25).
type AutoReject struct{}

// Name returns "none".
func (AutoReject) Name() string { return "none" }

// Decide refuses at once.
func (AutoReject) Decide(context.Context, Request) (Word, error) {
	return Word{Decision: Rejected, Reason: "nobody can answer"}, nil
}

// Unattended marks approvers that can never approve, so that G25's text is given.
func (AutoReject) Unattended() bool { return true }

var _ Approver = AutoReject{}
