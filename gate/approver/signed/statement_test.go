package signed

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawn is any statement that has a canonical form.
func drawn(t *rapid.T) Statement {
	s := Statement{
		Purpose: rapid.SampledFrom(Purposes()).Draw(t, "purpose"),
		Key:     rapid.StringMatching(`[0-9a-f]{32}`).Draw(t, "key"),
		ID:      rapid.StringN(1, 40, 200).Draw(t, "id"),
		Nonce:   rapid.StringMatching(`[0-9a-f]{32}`).Draw(t, "nonce"),
		Expiry:  time.UnixMilli(rapid.Int64Range(1, 1<<50).Draw(t, "expiry")).UTC(),
	}
	if s.Purpose.ofRequest() {
		copy(s.Digest[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "digest"))
		s.Decision = string(s.Purpose)
		s.Params = Params(ShownParam, rapid.StringMatching(`[0-9a-f]{64}`).Draw(t, "shown"))
		return s
	}
	var nv []string
	for name, value := range rapid.MapOfN(rapid.StringMatching(`[a-z][a-z0-9_]{0,6}`), rapid.StringN(1, 20, 60), 0, 5).Draw(t, "params") {
		nv = append(nv, name, value)
	}
	s.Params = Params(nv...)
	s.Digest = ParamsDigest(s.Params)
	return s
}

func TestG34_AStatementHasOneFormAndComesBackFromIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawn(t)
		b, err := s.Bytes()
		require.NoError(t, err)
		got, err := ParseStatement(b)
		require.NoError(t, err, "%q", b)
		require.Equal(t, s, got)
	})
}

// TestG34_OtherBytesAreAnotherStatementOrNone: there are no two forms of one statement.
func TestG34_OtherBytesAreAnotherStatementOrNone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawn(t)
		b, err := s.Bytes()
		require.NoError(t, err)
		c := mutated(t, b)
		if got, err := ParseStatement(c); err == nil {
			require.NotEqual(t, s, got, "%q is %q", c, b)
			again, err := got.Bytes()
			require.NoError(t, err)
			require.Equal(t, c, again)
		}
	})
}

// mutated is other bytes that look much alike.
func mutated(t *rapid.T, b []byte) []byte {
	for {
		c := bytes.Clone(b)
		i := rapid.IntRange(0, len(c)-1).Draw(t, "at")
		switch rapid.IntRange(0, 4).Draw(t, "how") {
		case 0:
			c[i] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		case 1:
			c = append(c[:i], c[i+1:]...)
		case 2:
			c = append(c[:i], append([]byte{rapid.Byte().Draw(t, "byte")}, c[i:]...)...)
		case 3:
			c = c[:i]
		default:
			j := rapid.IntRange(0, len(c)-1).Draw(t, "with")
			c[i], c[j] = c[j], c[i]
		}
		if !bytes.Equal(b, c) {
			return c
		}
	}
}

func TestG34_WhatMeansNothingHasNoForm(t *testing.T) {
	good := func() Statement {
		s := statement(about(), "000102030405060708090a0b0c0d0e0f")
		s.Key = key(t, 1).ID()
		return s
	}
	s := good()
	_, err := s.Bytes()
	require.NoError(t, err)
	for name, change := range map[string]func(*Statement){
		"no purpose":              func(s *Statement) { s.Purpose = "" },
		"an unknown purpose":      func(s *Statement) { s.Purpose = "Approve" },
		"no key":                  func(s *Statement) { s.Key = "" },
		"a key in capitals":       func(s *Statement) { s.Key = "ABCDEF0123456789ABCDEF0123456789" },
		"no id":                   func(s *Statement) { s.ID = "" },
		"a long id":               func(s *Statement) { s.ID = string(make([]byte, 257)) },
		"an id that is no text":   func(s *Statement) { s.ID = "\xff" },
		"no nonce":                func(s *Statement) { s.Nonce = "" },
		"no expiry":               func(s *Statement) { s.Expiry = time.Time{} },
		"another decision":        func(s *Statement) { s.Decision = "reject" },
		"no decision":             func(s *Statement) { s.Decision = "" },
		"nothing shown":           func(s *Statement) { s.Params = nil },
		"shown and more":          func(s *Statement) { s.Params = append(s.Params, Param{"zone", "a"}) },
		"shown that is no hash":   func(s *Statement) { s.Params[0].Value = "x" },
		"a decision of a session": func(s *Statement) { s.Purpose, s.Params, s.Digest = Session, nil, ParamsDigest(nil) },
		"another digest":          func(s *Statement) { s.Purpose, s.Decision, s.Params = Session, "", nil },
		"unsorted": func(s *Statement) {
			s.Purpose, s.Decision, s.Params = Session, "", []Param{{"b", "1"}, {"a", "1"}}
			s.Digest = ParamsDigest(s.Params)
		},
		"twice": func(s *Statement) {
			s.Purpose, s.Decision, s.Params = Session, "", []Param{{"a", "1"}, {"a", "1"}}
			s.Digest = ParamsDigest(s.Params)
		},
		"a name that is none": func(s *Statement) {
			s.Purpose, s.Decision, s.Params = Session, "", []Param{{"A", "1"}}
			s.Digest = ParamsDigest(s.Params)
		},
		"too much": func(s *Statement) {
			v := string(bytes.Repeat([]byte("x"), maxField))
			s.Purpose, s.Decision, s.Params = Session, "", []Param{{"a", v}, {"b", v}}
			s.Digest = ParamsDigest(s.Params)
		},
	} {
		s := good()
		change(&s)
		_, err := s.Bytes()
		require.Error(t, err, name)
	}
}

func FuzzParseStatement(f *testing.F) {
	s := statement(about(), "000102030405060708090a0b0c0d0e0f")
	s.Key = key(f, 1).ID()
	b, err := s.Bytes()
	require.NoError(f, err)
	f.Add(b)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseStatement(data)
		if err != nil {
			return
		}
		again, err := s.Bytes()
		require.NoError(t, err)
		require.Equal(t, data, again)
	})
}

// vectors are what other programs that sign are held to (testdata/signed).
type vectors struct {
	Private   string          `json:"private_key"` // hex; of the tests only
	Public    string          `json:"public_key"`  // hex
	Key       string          `json:"key"`
	Shown     []shownVector   `json:"shown"`
	Params    []paramsVector  `json:"params"`
	Statement []signedVector  `json:"statements"`
	Refused   []refusedVector `json:"refused"` // bytes that are no statement
}

type shownVector struct {
	Request shownRequest `json:"request"`
	Hash    string       `json:"hash"`
}

type shownRequest struct {
	CallID    string      `json:"call_id"`
	Digest    string      `json:"digest"`
	Tool      string      `json:"tool"`
	Tier      int         `json:"tier"`
	Arguments string      `json:"arguments"` // canonical JSON
	Effect    string      `json:"effect"`
	Session   [4]string   `json:"session"` // name, mode, backend, opt-in
	Principal string      `json:"principal"`
	Origin    string      `json:"origin"`
	AskedMS   int64       `json:"asked_ms"`
	ExpiresMS int64       `json:"expires_ms"`
	Facts     [][2]string `json:"facts"` // label, text
	Assumed   []string    `json:"assumed"`
	Data      string      `json:"data"` // canonical JSON; "": none
}

type paramsVector struct {
	Params [][2]string `json:"params"`
	Digest string      `json:"digest"`
}

type signedVector struct {
	Purpose   string      `json:"purpose"`
	ID        string      `json:"id"`
	Digest    string      `json:"digest"`
	Nonce     string      `json:"nonce"`
	ExpiryMS  int64       `json:"expiry_ms"`
	Decision  string      `json:"decision"`
	Params    [][2]string `json:"params"`
	Bytes     string      `json:"bytes"`     // the canonical form
	Signature string      `json:"signature"` // hex, r and s; by RFC 6979
}

type refusedVector struct {
	Why   string `json:"why"`
	Bytes string `json:"bytes"`
}

func vectorsPath() string {
	return filepath.Join("..", "..", "..", "testdata", "signed", "statements.json")
}

func TestG34_TheVectors(t *testing.T) {
	raw, err := os.ReadFile(vectorsPath())
	require.NoError(t, err)
	var v vectors
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&v))
	private, err := hex.DecodeString(v.Private)
	require.NoError(t, err)
	p, err := parsePrivate(private)
	require.NoError(t, err)
	require.Equal(t, v.Public, hex.EncodeToString(p.Public()))
	require.Equal(t, v.Key, p.ID())
	require.GreaterOrEqual(t, len(v.Shown), 3)
	for _, c := range v.Shown {
		require.Equal(t, c.Hash, Shown(c.Request.request(t)))
	}
	require.GreaterOrEqual(t, len(v.Params), 3)
	for _, c := range v.Params {
		d := ParamsDigest(pairs(c.Params))
		require.Equal(t, c.Digest, hex.EncodeToString(d[:]))
	}
	require.GreaterOrEqual(t, len(v.Statement), 5)
	for _, c := range v.Statement {
		s := Statement{
			Purpose: Purpose(c.Purpose), Key: v.Key, ID: c.ID, Nonce: c.Nonce, Expiry: time.UnixMilli(c.ExpiryMS).UTC(),
			Decision: c.Decision, Params: pairs(c.Params),
		}
		digest, err := hex.DecodeString(c.Digest)
		require.NoError(t, err)
		require.Equal(t, 32, copy(s.Digest[:], digest))
		m, err := p.Sign(s)
		require.NoError(t, err)
		require.Equal(t, c.Bytes, string(m.Statement))
		require.Equal(t, c.Signature, hex.EncodeToString(m.Signature))
		require.True(t, verify(p.Public(), m.Statement, m.Signature))
	}
	require.GreaterOrEqual(t, len(v.Refused), 10)
	for _, c := range v.Refused {
		_, err := ParseStatement([]byte(c.Bytes))
		require.Error(t, err, c.Why)
	}
}

func pairs(all [][2]string) []Param {
	var out []Param
	for _, p := range all {
		out = append(out, Param{p[0], p[1]})
	}
	return out
}
