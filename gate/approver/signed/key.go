package signed

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"io"
	"math/big"
	"strings"

	"github.com/tau-robot/tau/gate"
)

// The lengths of what is passed around, in bytes.
const (
	PublicLen    = 65 // an uncompressed SEC 1 point, 0x04 first
	SignatureLen = 64 // r and s, big-endian, 32 bytes each
)

// KeyID returns what a public key is called: the first 16 bytes of the SHA-256 of its
// uncompressed point, as 32 lower-case hex digits. It is what a person compares.
func KeyID(public []byte) string {
	sum := sha256.Sum256(public)
	return hex.EncodeToString(sum[:16])
}

// Grouped returns a key's id in groups of four, to be read out.
func Grouped(id string) string {
	var parts []string
	for ; len(id) > 4; id = id[4:] {
		parts = append(parts, id[:4])
	}
	return strings.Join(append(parts, id), "-")
}

// ParseKeyID reads an id as a person types it: groups and capitals are fine.
func ParseKeyID(text string) (string, error) {
	id := strings.ToLower(strings.NewReplacer("-", "", " ", "", ":", "").Replace(text))
	if !hexKey.MatchString(id) {
		return "", bad("key", "%q is no key's id: want 32 hex digits, as 'tau robot approvals init' prints them", text)
	}
	return id, nil
}

// Message is a signed statement as it is sent. In JSON both are base64.
type Message struct {
	Statement []byte `json:"statement"` // the canonical form
	Signature []byte `json:"signature"` // of SignatureLen bytes
}

// Private is a private key. It is not safe for concurrent use with Wipe.
type Private struct {
	key    *ecdsa.PrivateKey
	public []byte
}

// NewPrivate makes a key.
func NewPrivate(rand io.Reader) (*Private, error) {
	// The scalar is drawn here, so that a test's source of randomness makes a test's key.
	var raw [32]byte
	defer clear(raw[:])
	for range 100 {
		if _, err := io.ReadFull(rand, raw[:]); err != nil {
			return nil, gate.Errf(gate.CodeInternal, "key", "there is no randomness: %w", err)
		}
		if p, err := parsePrivate(raw[:]); err == nil {
			return p, nil
		}
	}
	return nil, gate.Errf(gate.CodeInternal, "key", "the source of randomness makes no key")
}

func parsePrivate(raw []byte) (*Private, error) {
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), raw)
	if err != nil {
		return nil, fmt.Errorf("not a private key: %w", err)
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		return nil, fmt.Errorf("not a private key: %w", err)
	}
	return &Private{key: key, public: public}, nil
}

// Public returns the public half; the caller's own copy.
func (p *Private) Public() []byte { return append([]byte(nil), p.public...) }

// ID returns the key's id.
func (p *Private) ID() string { return KeyID(p.public) }

// Wipe overwrites what can be overwritten of the key. Copies that the runtime or the
// signing code has made can't be reached.
func (p *Private) Wipe() {
	if p == nil || p.key == nil {
		return
	}
	clear(p.key.D.Bits()) //nolint:staticcheck // the only way to the words themselves
	p.key = nil
}

// Sign signs a statement, as this key's: Key is set.
func (p *Private) Sign(s Statement) (Message, error) {
	s.Key = p.ID()
	b, err := s.Bytes()
	if err != nil {
		return Message{}, err
	}
	sig, err := p.sign(b)
	if err != nil {
		return Message{}, err
	}
	return Message{Statement: b, Signature: sig}, nil
}

// sign signs bytes, deterministically (RFC 6979): no bad randomness can give the key away.
func (p *Private) sign(b []byte) ([]byte, error) {
	if p.key == nil {
		return nil, gate.Errf(gate.CodeInternal, "key", "the private key has been wiped")
	}
	sum := sha256.Sum256(b)
	der, err := p.key.Sign(nil, sum[:], crypto.SHA256)
	if err != nil {
		return nil, gate.Errf(gate.CodeInternal, "key", "signing: %w", err)
	}
	var rs struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &rs); err != nil {
		return nil, gate.Errf(gate.CodeInternal, "key", "signing: %w", err)
	}
	out := make([]byte, SignatureLen)
	rs.R.FillBytes(out[:32])
	rs.S.FillBytes(out[32:])
	return out, nil
}

// checkPublic refuses bytes that are no point of the curve.
func checkPublic(public []byte) error {
	if len(public) != PublicLen {
		return bad("public_key", "has %d bytes, want an uncompressed P-256 point of %d", len(public), PublicLen)
	}
	if _, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), public); err != nil {
		return bad("public_key", "is no point of P-256: %w", err)
	}
	return nil
}

// verify reports whether a signature is that of a public key over bytes.
func verify(public, b, signature []byte) bool {
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), public)
	if err != nil || len(signature) != SignatureLen {
		return false
	}
	sum := sha256.Sum256(b)
	return ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]))
}
