package signed

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tau-robot/tau/gate"
)

// Purpose is what a statement is for. One that was made for another purpose is none.
type Purpose string

// The purposes. A device's key is good for Approve and Reject only.
const (
	Approve Purpose = "approve" // ID is the request's call id, Digest its digest; Params are ShownParam alone
	Reject  Purpose = "reject"  // the same
	Grant   Purpose = "grant"   // ID is the session, Params say what
	OptIn   Purpose = "optin"   // ID is the session, Params say the robot, driver, port and time
	Enrol   Purpose = "enrol"   // ID is the new key's, Params are its entry
	Session Purpose = "session" // ID is the session, Params say the principal
	Revoke  Purpose = "revoke"  // ID is what is revoked, Params say its kind
)

// Purposes lists them all.
func Purposes() []Purpose { return []Purpose{Approve, Reject, Grant, OptIn, Enrol, Session, Revoke} }

// Valid reports whether p is one of the purposes.
func (p Purpose) Valid() bool { return slices.Contains(Purposes(), p) }

// ofRequest reports a purpose whose digest is a request's, and not its parameters'.
func (p Purpose) ofRequest() bool { return p == Approve || p == Reject }

// Param is one named value of a statement.
type Param struct{ Name, Value string }

// Statement is what a person says, about one question, with one key. Its canonical
// byte form is what is signed.
type Statement struct {
	Purpose Purpose
	Key     string // the id of the key that signs
	ID      string // what it is about
	Digest  [32]byte
	Nonce   string    // issued by the bridge, for this
	Expiry  time.Time // to the millisecond
	// Decision is "approve" for Approve, "reject" for Reject, "" for the others: a
	// device that shows two buttons can't have signed the one for the other.
	Decision string
	Params   []Param // sorted by name, each name once
}

// The bounds of a statement.
const (
	MaxStatement = 8192 // bytes of the canonical form
	maxField     = 4096 // bytes of one value
	maxParams    = 16
)

// header begins each canonical form, and names its version.
const header = "tau-statement-1\n"

var (
	hexKey   = regexp.MustCompile(`^[0-9a-f]{32}$`)
	hexNonce = regexp.MustCompile(`^[0-9a-f]{32}$`)
	hexHash  = regexp.MustCompile(`^[0-9a-f]{64}$`)
	nameOK   = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)
)

// Bytes returns the canonical form: the header line, and then each field as a
// netstring (its length in bytes in decimal without leading zeros, ":", the bytes,
// ","), in this order: purpose, key, id, digest (64 lower-case hex digits), nonce,
// expiry (milliseconds since 1970 UTC, decimal), decision, the number of parameters
// (decimal), and name and value of each parameter. A statement that has no canonical
// form is an *gate.Error.
func (s Statement) Bytes() ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(header)
	put := func(v string) { putField(&b, v) }
	put(string(s.Purpose))
	put(s.Key)
	put(s.ID)
	put(hex.EncodeToString(s.Digest[:]))
	put(s.Nonce)
	put(strconv.FormatInt(s.Expiry.UnixMilli(), 10))
	put(s.Decision)
	put(strconv.Itoa(len(s.Params)))
	for _, p := range s.Params {
		put(p.Name)
		put(p.Value)
	}
	if b.Len() > MaxStatement {
		return nil, bad("", "the statement has %d bytes, at most %d are allowed", b.Len(), MaxStatement)
	}
	return b.Bytes(), nil
}

func putField(b *bytes.Buffer, v string) {
	b.WriteString(strconv.Itoa(len(v)))
	b.WriteByte(':')
	b.WriteString(v)
	b.WriteByte(',')
}

func bad(where, format string, args ...any) *gate.Error {
	return gate.Errf(gate.CodeInvalidArgument, where, format, args...)
}

// check refuses what has no canonical form or can't mean anything.
func (s Statement) check() error {
	want := ""
	if s.Purpose.ofRequest() {
		want = string(s.Purpose)
	}
	switch {
	case !s.Purpose.Valid():
		return bad("purpose", "%q is none", s.Purpose)
	case !hexKey.MatchString(s.Key):
		return bad("key", "is not 32 lower-case hex digits")
	case s.ID == "" || len(s.ID) > 256:
		return bad("id", "has %d bytes, 1 to 256 are allowed", len(s.ID))
	case !hexNonce.MatchString(s.Nonce):
		return bad("nonce", "is not 32 lower-case hex digits")
	case s.Expiry.UnixMilli() <= 0 || s.Expiry.UnixMilli() > 1<<50:
		return bad("expiry", "is not a moment between 1970 and the year 37648")
	case s.Decision != want:
		return bad("decision", "is %q, and with the purpose %s it is %q", s.Decision, s.Purpose, want)
	case len(s.Params) > maxParams:
		return bad("params", "there are %d, at most %d are allowed", len(s.Params), maxParams)
	case s.Purpose.ofRequest() && !s.saysShown():
		return bad("params", "a decision on a request has one, %q: the hash of what was shown", ShownParam)
	case !s.Purpose.ofRequest() && s.Digest != ParamsDigest(s.Params):
		return bad("digest", "is not that of the parameters")
	}
	last := ""
	for _, p := range s.Params {
		switch {
		case !nameOK.MatchString(p.Name):
			return bad("params", "%q is no name of a parameter", p.Name)
		case p.Name <= last:
			return bad("params", "they are not sorted by name, each once, at %q", p.Name)
		case len(p.Value) > maxField:
			return bad(p.Name, "has %d bytes, at most %d are allowed", len(p.Value), maxField)
		case !utf8.ValidString(p.Value):
			return bad(p.Name, "is not UTF-8")
		}
		last = p.Name
	}
	if !utf8.ValidString(s.ID) {
		return bad("id", "is not UTF-8")
	}
	return nil
}

// saysShown reports whether the parameters are ShownParam alone, and a hash.
func (s Statement) saysShown() bool {
	return len(s.Params) == 1 && s.Params[0].Name == ShownParam && hexHash.MatchString(s.Params[0].Value)
}

// Param returns the value of a parameter, and whether it is there.
func (s Statement) Param(name string) (string, bool) {
	i := slices.IndexFunc(s.Params, func(p Param) bool { return p.Name == name })
	if i < 0 {
		return "", false
	}
	return s.Params[i].Value, true
}

// Params returns parameters in the order that the canonical form wants, from name,
// value, name, value, …; those with an empty value are left out.
func Params(namesAndValues ...string) []Param {
	var out []Param
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		if namesAndValues[i+1] != "" {
			out = append(out, Param{namesAndValues[i], namesAndValues[i+1]})
		}
	}
	slices.SortFunc(out, func(a, b Param) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// ParamsDigest is the digest of a statement that is about no request: SHA-256 of the
// line "tau-params-1" and name and value of each parameter as netstrings.
func ParamsDigest(ps []Param) [32]byte {
	var b bytes.Buffer
	b.WriteString("tau-params-1\n")
	for _, p := range ps {
		putField(&b, p.Name)
		putField(&b, p.Value)
	}
	return sha256.Sum256(b.Bytes())
}

// ParseStatement reads a canonical form. Bytes that aren't exactly one are an
// *gate.Error: for each statement there is one form and no other.
func ParseStatement(data []byte) (Statement, error) {
	if len(data) > MaxStatement {
		return Statement{}, bad("", "the statement has %d bytes, at most %d are allowed", len(data), MaxStatement)
	}
	rest, ok := bytes.CutPrefix(data, []byte(header))
	if !ok {
		return Statement{}, bad("", "it doesn't begin with %q", strings.TrimSpace(header))
	}
	r := fields{rest: rest}
	var s Statement
	s.Purpose = Purpose(r.next())
	s.Key = r.next()
	s.ID = r.next()
	digest, err := hex.DecodeString(r.next())
	if err != nil || copy(s.Digest[:], digest) != len(s.Digest) || len(digest) != len(s.Digest) {
		r.bad = true
	}
	s.Nonce = r.next()
	s.Expiry = time.UnixMilli(r.number()).UTC()
	s.Decision = r.next()
	n := r.number()
	for range min(n, maxParams+1) {
		s.Params = append(s.Params, Param{r.next(), r.next()})
	}
	if r.bad || len(r.rest) > 0 {
		return Statement{}, bad("", "it is not a statement's canonical form")
	}
	again, err := s.Bytes()
	if err != nil {
		return Statement{}, err
	}
	if !bytes.Equal(again, data) {
		return Statement{}, bad("", "it is not the statement's canonical form")
	}
	return s, nil
}

// fields reads netstrings.
type fields struct {
	rest []byte
	bad  bool
}

func (f *fields) next() string {
	digits, rest, ok := bytes.Cut(f.rest, []byte(":"))
	if f.bad || !ok || len(digits) == 0 || len(digits) > 4 {
		f.bad = true
		return ""
	}
	n, err := strconv.ParseUint(string(digits), 10, 16)
	if err != nil || n > maxField || int(n)+1 > len(rest) || rest[n] != ',' || strconv.FormatUint(n, 10) != string(digits) {
		f.bad = true
		return ""
	}
	f.rest = rest[n+1:]
	return string(rest[:n])
}

func (f *fields) number() int64 {
	n, err := strconv.ParseInt(f.next(), 10, 64)
	if err != nil || n < 0 {
		f.bad = true
		return 0
	}
	return n
}
