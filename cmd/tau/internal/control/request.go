package control

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/tau-robot/tau/gate"
)

// Request is what a peer sends, one line of JSON. Members that a verb doesn't use are
// refused where they are set.
type Request struct {
	Verb   string `json:"verb"`
	Reason string `json:"reason,omitempty"` // of stop, estop and reject
	// ID is what show, reject, revoke and nonce are about.
	ID   string `json:"id,omitempty"`
	Kind string `json:"kind,omitempty"` // of revoke: "grant", "routine", "device", "optin"
	// Purpose and Digest are what a nonce is asked for; of approve the bridge knows the
	// digest itself.
	Purpose string `json:"purpose,omitempty"`
	Digest  string `json:"digest,omitempty"` // 64 hex digits
	// Statement and Signature are a signed statement, in base64.
	Statement []byte `json:"statement,omitempty"`
	Signature []byte `json:"signature,omitempty"`
}

// stops reports a stop or an estop.
func (r Request) stops() bool {
	return r.Verb == string(gate.StopControlled) || r.Verb == string(gate.StopEmergency)
}

// parse reads one line, strictly: unknown and double members, members that the verb
// doesn't take, and anything behind the object are errors.
func parse(line []byte) (Request, error) {
	line = bytes.TrimSpace(line)
	var req Request
	if w := (Request{Verb: string(line)}); w.stops() {
		return w, nil
	}
	if err := json.Unmarshal(line, &req, json.RejectUnknownMembers(true)); err != nil {
		return Request{}, fmt.Errorf(`want one line {"verb":…}: %w`, err)
	}
	req.Reason = clip(strings.ToValidUTF8(req.Reason, "\uFFFD"))
	if req.stops() {
		bare := Request{Verb: req.Verb, Reason: req.Reason}
		if !equal(req, bare) {
			return Request{}, fmt.Errorf("%s takes a reason and nothing else", req.Verb)
		}
		return req, nil
	}
	v, ok := verbs[req.Verb]
	if !ok {
		return Request{}, fmt.Errorf("verb %q: this socket knows %s", clip(req.Verb), strings.Join(Verbs(), ", "))
	}
	if len(req.ID) > maxID || len(req.Kind) > maxID || len(req.Purpose) > maxID || len(req.Digest) > maxID {
		return Request{}, fmt.Errorf("a member has more than %d bytes", maxID)
	}
	return req, v.takes(req)
}

const maxID = 256 // bytes of an id

func equal(a, b Request) bool {
	return a.Verb == b.Verb && a.Reason == b.Reason && a.ID == b.ID && a.Kind == b.Kind && a.Purpose == b.Purpose &&
		a.Digest == b.Digest && bytes.Equal(a.Statement, b.Statement) && bytes.Equal(a.Signature, b.Signature)
}

// takes refuses members that a verb has no use for, and the lack of those it needs.
func (v verb) takes(r Request) error {
	if (r.Statement != nil || r.Signature != nil) != v.signed {
		if v.signed {
			return errors.New(r.Verb + " gives power: it needs a statement signed with an enrolled key")
		}
		return errors.New(r.Verb + " takes no statement")
	}
	for _, f := range []struct {
		name  string
		set   bool
		takes use
	}{
		{"id", r.ID != "", v.id}, {"reason", r.Reason != "", v.reason}, {"kind", r.Kind != "", v.kind},
		{"purpose", r.Purpose != "", v.purpose}, {"digest", r.Digest != "", v.digest},
	} {
		switch {
		case f.set && f.takes == none:
			return fmt.Errorf("%s takes no %s", r.Verb, f.name)
		case !f.set && f.takes == must:
			return fmt.Errorf("%s needs %s", r.Verb, f.name)
		}
	}
	return nil
}
