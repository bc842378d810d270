package signed

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"time"
	"unicode/utf8"
)

// Kind is what an enrolled key may do.
type Kind string

// The kinds.
const (
	KindOperator Kind = "operator" // everything, and it signs the other entries
	KindDevice   Kind = "device"   // answers questions: Approve and Reject
)

func (k Kind) may(p Purpose) bool {
	return k == KindOperator || k == KindDevice && p.ofRequest()
}

// MaxName bounds the name of a key, in bytes.
const MaxName = 64

// Entry is an enrolled key: who may sign, as the operator's key says. Signature is
// the operator's over entryBytes; its own entry it signs itself.
type Entry struct {
	ID        string
	Name      string // for people; any printable text
	Kind      Kind
	Public    []byte // an uncompressed P-256 point
	Created   time.Time
	Signature []byte
	Revoked   time.Time // zero: it isn't. Not signed: taking power away needs no key.
}

// NewEntry returns the entry of a public key, not signed yet.
func NewEntry(name string, kind Kind, public []byte, created time.Time) (Entry, error) {
	e := Entry{ID: KeyID(public), Name: name, Kind: kind, Public: bytes.Clone(public), Created: created.UTC().Truncate(time.Second)}
	return e, e.check()
}

func (e Entry) check() error {
	switch {
	case e.Name == "" || len(e.Name) > MaxName || !utf8.ValidString(e.Name):
		return bad("name", "has %d bytes, 1 to %d of UTF-8 are allowed", len(e.Name), MaxName)
	case e.Kind != KindOperator && e.Kind != KindDevice:
		return bad("kind", "%q is none", e.Kind)
	case e.Created.Unix() <= 0:
		return bad("created", "is no moment after 1970")
	}
	if err := checkPublic(e.Public); err != nil {
		return err
	}
	if e.ID != KeyID(e.Public) {
		return bad("id", "%q isn't that of the public key, which is %s", e.ID, KeyID(e.Public))
	}
	return nil
}

// Params are the entry as the parameters of an Enrol statement.
func (e Entry) Params() []Param {
	return Params("created", strconv.FormatInt(e.Created.Unix(), 10), "kind", string(e.Kind), "name", e.Name,
		"public_key", base64.StdEncoding.EncodeToString(e.Public), "signature", base64.StdEncoding.EncodeToString(e.Signature))
}

// EntryOf reads the entry that an Enrol statement's parameters are.
func EntryOf(s Statement) (Entry, error) {
	get := func(name string) string { v, _ := s.Param(name); return v }
	created, err := strconv.ParseInt(get("created"), 10, 64)
	if err != nil {
		return Entry{}, bad("created", "is no number")
	}
	e := Entry{ID: s.ID, Name: get("name"), Kind: Kind(get("kind")), Created: time.Unix(created, 0).UTC()}
	if e.Public, err = base64.StdEncoding.DecodeString(get("public_key")); err != nil {
		return Entry{}, bad("public_key", "is no base64")
	}
	if e.Signature, err = base64.StdEncoding.DecodeString(get("signature")); err != nil {
		return Entry{}, bad("signature", "is no base64")
	}
	return e, e.check()
}

// entryBytes is what the operator's key signs of an entry: the line "tau-key-1", and
// id, name, kind, public key (base64) and time (seconds since 1970) as netstrings.
func (e Entry) entryBytes() []byte {
	var b bytes.Buffer
	b.WriteString("tau-key-1\n")
	for _, f := range []string{e.ID, e.Name, string(e.Kind), base64.StdEncoding.EncodeToString(e.Public), strconv.FormatInt(e.Created.Unix(), 10)} {
		putField(&b, f)
	}
	return b.Bytes()
}

// Vouch signs an entry with the operator's key.
func (p *Private) Vouch(e Entry) (Entry, error) {
	if err := e.check(); err != nil {
		return Entry{}, err
	}
	sig, err := p.sign(e.entryBytes())
	e.Signature = sig
	return e, err
}

// entryFile is an entry as it lies in the ring's folder.
type entryFile struct {
	Version   int    `json:"version"`
	ID        string `json:"id"`
	Name      string `json:"name"`
	Kind      Kind   `json:"kind"`
	Public    []byte `json:"public_key"`
	Created   string `json:"created"`
	Signature []byte `json:"signature"`
	Revoked   string `json:"revoked,omitempty"`
}

func (e Entry) file() entryFile {
	f := entryFile{Version: 1, ID: e.ID, Name: e.Name, Kind: e.Kind, Public: e.Public, Created: e.Created.UTC().Format(time.RFC3339), Signature: e.Signature}
	if !e.Revoked.IsZero() {
		f.Revoked = e.Revoked.UTC().Format(time.RFC3339)
	}
	return f
}

// readEntry reads an entry's file. Whether it is signed by whom it should be is the
// ring's business.
func readEntry(path string) (Entry, error) {
	var f entryFile
	if err := readJSON(path, &f); err != nil {
		return Entry{}, err
	}
	if f.Version != 1 {
		return Entry{}, distrust(path, "is of version %d, this program knows 1", f.Version)
	}
	e := Entry{ID: f.ID, Name: f.Name, Kind: f.Kind, Public: f.Public, Signature: f.Signature}
	var err error
	if e.Created, err = time.Parse(time.RFC3339, f.Created); err != nil {
		return Entry{}, distrust(path, "created: %w", err)
	}
	if f.Revoked != "" {
		if e.Revoked, err = time.Parse(time.RFC3339, f.Revoked); err != nil {
			return Entry{}, distrust(path, "revoked: %w", err)
		}
	}
	if err := e.check(); err != nil {
		return Entry{}, distrust(path, "%w", err)
	}
	return e, nil
}
