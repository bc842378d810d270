package mcp

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"
)

const (
	tokenPrefix = "tau_"
	tokenBytes  = 32
	maxName     = 64
)

// Token is a bearer token and whom it stands for. Its secret shows only through
// Bearer: printing or logging a Token shows its ID. The zero value opens nothing.
type Token struct {
	secret    string
	principal string
	session   string
}

// NewToken makes a token of 256 random bits for a principal in a session.
// Both names are [A-Za-z0-9_-]{1,64}.
func NewToken(random io.Reader, principal, session string) (Token, error) {
	var b [tokenBytes]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return Token{}, fmt.Errorf("mcp: making a token: %w", err)
	}
	t := Token{
		secret:    tokenPrefix + base64.RawURLEncoding.EncodeToString(b[:]),
		principal: principal,
		session:   session,
	}
	return t, t.check()
}

func (t Token) check() error {
	b, err := base64.RawURLEncoding.Strict().DecodeString(strings.TrimPrefix(t.secret, tokenPrefix))
	if err != nil || !strings.HasPrefix(t.secret, tokenPrefix) || len(b) != tokenBytes {
		return errors.New("mcp: not a token")
	}
	if !validName(t.principal) {
		return fmt.Errorf("mcp: principal %q: must be 1 to %d of A-Z a-z 0-9 _ -", t.principal, maxName)
	}
	if !validName(t.session) {
		return fmt.Errorf("mcp: session %q: must be 1 to %d of A-Z a-z 0-9 _ -", t.session, maxName)
	}
	return nil
}

func validName(s string) bool {
	if len(s) < 1 || len(s) > maxName {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// Bearer returns the secret, as it stands behind "Authorization: Bearer ".
func (t Token) Bearer() string { return t.secret }

// Principal returns whom the token stands for.
func (t Token) Principal() string { return t.principal }

// Session returns the session that the token's calls run in.
func (t Token) Session() string { return t.session }

// ID names the token without giving it away: 16 hex digits of its SHA-256.
func (t Token) ID() string {
	h := hashSecret(t.secret)
	return hex.EncodeToString(h[:8])
}

// String shows the token's id, principal and session, never its secret.
func (t Token) String() string {
	return fmt.Sprintf("token %s of %s in session %s", t.ID(), t.principal, t.session)
}

// GoString is String, so that %#v gives nothing away either.
func (t Token) GoString() string { return t.String() }

// LogValue is String for log/slog.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

func hashSecret(secret string) [sha256.Size]byte { return sha256.Sum256([]byte(secret)) }

// SaveToken writes t to a new file of mode 0600. It refuses to touch a file that
// exists, and leaves none behind when it fails. The first line of the file is the
// secret alone, then follow the lines "principal NAME" and "session NAME".
func SaveToken(path string, t Token) (err error) {
	if err := t.check(); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("mcp: saving a token: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("mcp: saving a token in %s: %w", path, err), os.Remove(path))
		}
	}()
	_, err = fmt.Fprintf(f, "%s\nprincipal %s\nsession %s\n", t.secret, t.principal, t.session)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// TokenTable knows the tokens that open a server. It keeps only their SHA-256.
// The zero value knows none. It is safe for concurrent use.
type TokenTable struct {
	mu      sync.RWMutex
	entries []tokenEntry
}

type tokenEntry struct {
	hash [sha256.Size]byte
	identity
}

// identity is whom a request comes from, as its token says.
type identity struct {
	tokenID   string
	principal string
	session   string
}

// Add lets t in. A token that is in already is an error.
func (tt *TokenTable) Add(t Token) error {
	if err := t.check(); err != nil {
		return err
	}
	tt.mu.Lock()
	defer tt.mu.Unlock()
	h := hashSecret(t.secret)
	for _, e := range tt.entries {
		if e.hash == h {
			return fmt.Errorf("mcp: %v is in the table already", t)
		}
	}
	tt.entries = append(tt.entries, tokenEntry{
		hash:     h,
		identity: identity{tokenID: t.ID(), principal: t.principal, session: t.session},
	})
	return nil
}

// Revoke takes the token with that id out and reports whether it was there. From
// the next request on it opens nothing; a call that is open goes on.
func (tt *TokenTable) Revoke(id string) bool {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	for i, e := range tt.entries {
		if e.tokenID == id {
			tt.entries = append(tt.entries[:i:i], tt.entries[i+1:]...)
			return true
		}
	}
	return false
}

// lookup compares the hash of secret with that of each token, in a time that
// doesn't depend on which one matches or on how much of it does.
func (tt *TokenTable) lookup(secret string) (identity, bool) {
	h := hashSecret(secret)
	tt.mu.RLock()
	defer tt.mu.RUnlock()
	found := -1
	for i := range tt.entries {
		eq := subtle.ConstantTimeCompare(h[:], tt.entries[i].hash[:])
		found = subtle.ConstantTimeSelect(eq, i, found)
	}
	if found < 0 {
		return identity{}, false
	}
	return tt.entries[found].identity, true
}
