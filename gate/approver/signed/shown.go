package signed

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tau-robot/tau/gate"
)

// ShownParam is the parameter of an Approve or Reject statement that says what was
// shown to whoever signed it.
const ShownParam = "shown"

// Shown is the hash of all that a card can say of a request, as 64 lower-case hex
// digits. The request's own digest can't be computed from what a channel is given; this
// can. Whoever signs puts in the hash of what he was shown, and the bridge compares it
// with that of the request: a program that stands between the two can't show one
// request and have another signed.
//
// It is SHA-256 of the line "tau-shown-1" and, as netstrings: call id, digest (hex),
// tool, tier, arguments (RFC 8785), effect, the session's name, mode, backend and
// opt-in, principal, origin, when it was asked and when it expires (milliseconds since
// 1970, 0 where unset), the number of facts, each one's label and text, the number of
// assumptions, each, and the card's data (RFC 8785; empty where it has none).
func Shown(req gate.Request) string {
	var b bytes.Buffer
	b.WriteString("tau-shown-1\n")
	put := func(all ...string) {
		for _, s := range all {
			putField(&b, s)
		}
	}
	put(req.CallID, hex.EncodeToString(req.Digest[:]), req.Tool, strconv.Itoa(req.Tier.Number()), canonical(req.Args), req.Effect)
	put(req.Session.Name, string(req.Session.Mode), req.Session.Backend, req.Session.OptIn, req.Principal, req.Origin)
	for _, at := range []interface {
		IsZero() bool
		UnixMilli() int64
	}{req.Asked, req.Expiry} {
		if at.IsZero() {
			put("0")
		} else {
			put(strconv.FormatInt(at.UnixMilli(), 10))
		}
	}
	put(strconv.Itoa(len(req.Card.Facts)))
	for _, f := range req.Card.Facts {
		put(f.Label, f.Text)
	}
	put(strconv.Itoa(len(req.Card.Assumed)))
	put(req.Card.Assumed...)
	put(canonical(req.Card.Data))
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:])
}

// canonical returns JSON in its canonical form, and what isn't JSON as it is.
func canonical(raw []byte) string {
	v := jsontext.Value(bytes.Clone(raw))
	if len(v) > 0 && v.Canonicalize() != nil {
		return string(raw)
	}
	return string(v)
}
