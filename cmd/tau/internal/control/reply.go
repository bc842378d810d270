package control

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tau-robot/tau/gate"
)

// Reply is what a peer gets, one line of JSON.
type Reply struct {
	OK       bool               `json:"ok"`
	Code     gate.Code          `json:"code,omitempty"`
	Text     string             `json:"text,omitempty"`
	Verdicts []gate.StopVerdict `json:"verdicts,omitempty"` // of a stop

	Requests []Item     `json:"requests,omitempty"` // of list, and show: the one
	Grants   []Grant    `json:"grants,omitempty"`
	Routines []Routine  `json:"routines,omitempty"`
	Keys     []Key      `json:"keys,omitempty"`
	Problems []string   `json:"problems,omitempty"` // files among the keys that count for nothing
	Sessions []Opened   `json:"sessions,omitempty"`
	Nonce    *Challenge `json:"nonce,omitempty"`
	Event    *Event     `json:"event,omitempty"`   // of events
	Pairing  *Pairing   `json:"pairing,omitempty"` // of pair
	Token    string     `json:"token,omitempty"`   // of session: the file of the bearer token
	// Real says of sessions what the bridge's real robot is, line by line, as whoever
	// opts a session in has to see it; empty where it has none.
	Real []Line `json:"real,omitempty"`
}

// Line is a labelled line for a person.
type Line struct {
	Label string `json:"label"`
	Text  string `json:"text"`
}

// Item is a request as it is told. It has all that a card shows.
type Item struct {
	CallID    string            `json:"call_id"`
	Tool      string            `json:"tool"`
	Tier      int               `json:"tier"`
	Args      string            `json:"arguments"` // JSON
	Effect    string            `json:"effect"`
	Session   gate.Session      `json:"session"`
	Principal string            `json:"principal"`
	Origin    string            `json:"origin"`
	Digest    string            `json:"digest"` // 64 hex digits
	Card      gate.Card         `json:"card"`
	Asked     time.Time         `json:"asked,omitzero"`
	Expires   time.Time         `json:"expires,omitzero"`
	State     gate.RequestState `json:"state,omitempty"`
	Decider   string            `json:"decider,omitempty"`
	Open      bool              `json:"open"`             // it is the question that is asked now
	Bridge    string            `json:"bridge,omitempty"` // the other bridge that asks it; "": this one
	Notices   []Notice          `json:"notices,omitempty"`
}

// Notice is a gate.Notice.
type Notice struct {
	Kind gate.NoticeKind `json:"kind"`
	Text string          `json:"text,omitempty"`
}

// ItemOf tells a request.
func ItemOf(r gate.Request) Item {
	i := Item{
		CallID: r.CallID, Tool: r.Tool, Tier: r.Tier.Number(), Args: string(r.Args), Effect: r.Effect,
		Session: r.Session, Principal: r.Principal, Origin: r.Origin, Digest: hex.EncodeToString(r.Digest[:]),
		Card: r.Card.Clone(), Asked: r.Asked, Expires: r.Expiry,
	}
	for _, n := range r.Notices {
		i.Notices = append(i.Notices, Notice(n))
	}
	return i
}

// Request returns the request that an item tells; false: it isn't one.
func (i Item) Request() (gate.Request, bool) {
	r := gate.Request{
		CallID: i.CallID, Tool: i.Tool, Args: json.RawMessage(i.Args), Effect: i.Effect, Session: i.Session,
		Principal: i.Principal, Origin: i.Origin, Card: i.Card.Clone(), Asked: i.Asked, Expiry: i.Expires,
	}
	for _, t := range []gate.Tier{gate.TierRead, gate.TierWrite, gate.TierPhysical} {
		if t.Number() == i.Tier {
			r.Tier = t
		}
	}
	b, err := hex.DecodeString(i.Digest)
	if err != nil || len(b) != len(r.Digest) || !r.Tier.Valid() {
		return gate.Request{}, false
	}
	copy(r.Digest[:], b)
	for _, n := range i.Notices {
		if known, ok := n.Notice(); ok && len(r.Notices) < MaxNotices {
			r.Notices = append(r.Notices, known)
		}
	}
	return r, true
}

// What is taken of the notices of one question, which nobody signs: how many, and of each
// text how many bytes.
const (
	MaxNotices    = 4
	MaxNoticeText = 200
)

// Notice returns the gate's notice that n tells, with no more than MaxNoticeText bytes of
// its text; false: its kind isn't known, so it says nothing.
func (n Notice) Notice() (gate.Notice, bool) {
	if !n.Kind.Valid() {
		return gate.Notice{}, false
	}
	n.Text = Foreign(n.Text, MaxNoticeText)
	return gate.Notice(n), true
}

// Foreign is a text of the other side's that nobody signs, for a line that a person reads:
// it has no two blanks side by side, so that a terminal that breaks the line doesn't make
// it look like lines of a card, and no more than some bytes.
func Foreign(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// Challenge is a nonce with what it is good for.
type Challenge struct {
	Nonce   string    `json:"nonce"`
	Expires time.Time `json:"expires"`
	Request *Item     `json:"request,omitempty"` // of approve
}

// Event is a change of the open question.
type Event struct {
	// Kind is "open", "notice" or "closed"; "attached" comes first, and "current" once all
	// that was open then has been told.
	Kind    string  `json:"kind"`
	Request *Item   `json:"request,omitempty"` // of open
	CallID  string  `json:"call_id,omitempty"` // of open, notice and closed
	Notice  *Notice `json:"notice,omitempty"`  // of notice
	How     string  `json:"how,omitempty"`     // of closed: "approved", "rejected", "timeout", "withdrawn", "stopped"; "": not known
	By      string  `json:"by,omitempty"`
	Text    string  `json:"text,omitempty"`
}

// Grant is a grant as it is told.
type Grant struct {
	ID        string    `json:"id"`
	Value     string    `json:"value"`
	Principal string    `json:"principal"`
	Session   string    `json:"session"`
	Reason    string    `json:"reason"`
	Card      string    `json:"card"` // the call id of the card that made it
	Decider   string    `json:"decider"`
	Granted   time.Time `json:"granted"`
	Expires   time.Time `json:"expires"`
}

// Routine is a registered routine as it is told.
type Routine struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Principal string    `json:"principal"`
	Session   string    `json:"session"`
	Firings   int       `json:"firings_left"`
	Expires   time.Time `json:"expires"`
}

// Key is an enrolled key as it is told.
type Key struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Kind    string    `json:"kind"`
	Created time.Time `json:"created"`
	Revoked time.Time `json:"revoked,omitzero"`
	Root    bool      `json:"root,omitempty"` // the operator's own, which signs the others
}

// Opened is a session as it is told.
type Opened struct {
	Name    string    `json:"name"`
	Mode    string    `json:"mode"`
	Created time.Time `json:"created"`
	OptIn   string    `json:"opt_in,omitempty"`
	Expires time.Time `json:"opt_in_expires,omitzero"`
	Tokens  []string  `json:"tokens,omitempty"` // ids of the bearer tokens that open it
}

// Pairing is how far a pairing is.
type Pairing struct {
	Code    string    `json:"code,omitempty"` // to be typed at the device
	Expires time.Time `json:"expires,omitzero"`
	// who came with the code
	Name   string `json:"name,omitempty"`
	Public []byte `json:"public_key,omitempty"`
	// Enrolled: it is done.
	Enrolled bool `json:"enrolled,omitempty"`
}
