// Package webtest is a device for tests of the approval service. It was written from
// docs/APPROVAL-API.md and shares no code with the service, so that the two can only
// agree on what is written there. Its constructor takes a testing.TB, so that a program
// can't hold one; only tests import it.
package webtest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Device is a key and what is done with it.
type Device struct {
	Public []byte
	ID     string
	tb     testing.TB
	key    *ecdsa.PrivateKey
}

// New makes a device with a new key.
func New(tb testing.TB) *Device {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return Of(tb, key)
}

// Of makes a device with a key.
func Of(tb testing.TB, key *ecdsa.PrivateKey) *Device {
	tb.Helper()
	public, err := key.PublicKey.Bytes()
	if err != nil {
		tb.Fatal(err)
	}
	sum := sha256.Sum256(public)
	return &Device{Public: public, ID: hex.EncodeToString(sum[:16]), tb: tb, key: key}
}

// Sign signs bytes: r and s, 32 bytes each.
func (d *Device) Sign(b []byte) []byte {
	sum := sha256.Sum256(b)
	r, s, err := ecdsa.Sign(rand.Reader, d.key, sum[:])
	if err != nil {
		d.tb.Error(err)
		return nil
	}
	out := make([]byte, 64)
	r.FillBytes(out[:32])
	s.FillBytes(out[32:])
	return out
}

// Netstrings is how every signed form is written.
func Netstrings(header string, fields ...string) []byte {
	b := header + "\n"
	for _, f := range fields {
		b += strconv.Itoa(len(f)) + ":" + f + ","
	}
	return []byte(b)
}

// Nonce makes 32 random hex digits.
func Nonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// Request makes a signed request to a host.
func (d *Device) Request(method, host, path, body string) *http.Request {
	r, err := http.NewRequestWithContext(d.tb.Context(), method, "http://"+host+path, bytes.NewReader([]byte(body)))
	if err != nil {
		d.tb.Error(err)
		return nil
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	sum := sha256.Sum256([]byte(body))
	ms, nonce := strconv.FormatInt(time.Now().UnixMilli(), 10), Nonce()
	r.Header.Set("Tau-Key", d.ID)
	r.Header.Set("Tau-Time", ms)
	r.Header.Set("Tau-Nonce", nonce)
	r.Header.Set("Tau-Signature", base64.StdEncoding.EncodeToString(d.Sign(
		Netstrings("tau-request-1", method, host, path, ms, nonce, hex.EncodeToString(sum[:])))))
	return r
}

// Fact is a label and its text.
type Fact struct{ Label, Text string }

// Shown is a request as a device reads it.
type Shown struct {
	CallID    string          `json:"call_id"`
	Digest    string          `json:"digest"`
	Tool      string          `json:"tool"`
	Tier      int             `json:"tier"`
	Arguments json.RawMessage `json:"arguments"`
	Effect    string          `json:"effect"`
	Session   struct {
		Name, Mode, Backend string
		OptIn               string `json:"opt_in"`
	} `json:"session"`
	Principal    string          `json:"principal"`
	Origin       string          `json:"origin"`
	Asked        int64           `json:"asked_ms"`
	Expires      int64           `json:"expires_ms"`
	Facts        []Fact          `json:"facts"`
	Assumed      []string        `json:"assumed"`
	Data         json.RawMessage `json:"data"`
	Title        string          `json:"title"`
	Lines        []Fact          `json:"lines"`
	Notices      []string        `json:"notices"`
	ApproveNonce string          `json:"approve_nonce"`
	RejectNonce  string          `json:"reject_nonce"`
	NonceExpires int64           `json:"nonce_expires_ms"`
}

// Bytes is what the hash of a shown request is made of.
func (s Shown) Bytes() []byte {
	fields := []string{
		s.CallID, s.Digest, s.Tool, strconv.Itoa(s.Tier), canonical(s.Arguments), s.Effect,
		s.Session.Name, s.Session.Mode, s.Session.Backend, s.Session.OptIn, s.Principal, s.Origin,
		strconv.FormatInt(s.Asked, 10), strconv.FormatInt(s.Expires, 10), strconv.Itoa(len(s.Facts)),
	}
	for _, f := range s.Facts {
		fields = append(fields, f.Label, f.Text)
	}
	fields = append(append(append(fields, strconv.Itoa(len(s.Assumed))), s.Assumed...), canonical(s.Data))
	return Netstrings("tau-shown-1", fields...)
}

// Hash is the hash of a shown request.
func (s Shown) Hash() string {
	sum := sha256.Sum256(s.Bytes())
	return hex.EncodeToString(sum[:])
}

// canonical is RFC 8785; null, or nothing, is empty.
func canonical(raw []byte) string {
	v := jsontext.Value(bytes.Clone(raw))
	if len(v) == 0 || string(v) == "null" {
		return ""
	}
	if err := v.Canonicalize(); err != nil {
		return "not JSON: " + err.Error()
	}
	return string(v)
}

// Statement is a decision, before it is signed.
type Statement struct{ Purpose, Key, ID, Digest, Nonce, Expiry, Decision, Shown string }

// Statement makes a decision ("approve" or "reject") on what was shown.
func (d *Device) Statement(s Shown, decision string) Statement {
	nonce := s.ApproveNonce
	if decision == "reject" {
		nonce = s.RejectNonce
	}
	return Statement{decision, d.ID, s.CallID, s.Digest, nonce, strconv.FormatInt(s.NonceExpires, 10), decision, s.Hash()}
}

// Bytes is what is signed.
func (s Statement) Bytes() []byte {
	return Netstrings("tau-statement-1", s.Purpose, s.Key, s.ID, s.Digest, s.Nonce, s.Expiry, s.Decision, "1", "shown", s.Shown)
}

// Decision is the body that hands a signed decision in.
func (d *Device) Decision(s Statement) string { return Body(s.Bytes(), d.Sign(s.Bytes())) }

// Body is the body of decide.
func Body(statement, signature []byte) string {
	return fmt.Sprintf(`{"statement":%q,"signature":%q}`, base64.StdEncoding.EncodeToString(statement), base64.StdEncoding.EncodeToString(signature))
}

// Enrolment is the body of enrol.
func (d *Device) Enrolment(code, name string) string {
	return fmt.Sprintf(`{"code":%q,"name":%q,"public_key":%q}`, code, name, base64.StdEncoding.EncodeToString(d.Public))
}
