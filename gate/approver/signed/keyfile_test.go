package signed

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

// cheap is what a guess costs in the tests.
func cheap() Cost { return Cost{Time: 1, MemoryKiB: 64, Threads: 1} }

const secret = "correct horse battery"

func writeKey(t *testing.T) (path string, p *Private) {
	t.Helper()
	path, p = KeyPath(t.TempDir()), key(t, 1)
	require.NoError(t, WriteKey(path, "the operator", noon, p, []byte(secret), cheap(), rand.Reader, true))
	return path, p
}

func TestG34_ThePrivateKeyOpensWithItsPassphraseOnly(t *testing.T) {
	path, p := writeKey(t)
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode().Perm())
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	raw, err := p.key.Bytes()
	require.NoError(t, err)
	require.NotContains(t, string(before), secret)
	require.False(t, bytes.Contains(before, raw))
	require.NotContains(t, string(before), b64(raw))

	got, info, err := OpenKey(path, []byte(secret))
	require.NoError(t, err)
	require.Equal(t, KeyInfo{ID: p.ID(), Name: "the operator", Created: noon}, info)
	m, err := got.Sign(statement(about(), "000102030405060708090a0b0c0d0e0f"))
	require.NoError(t, err)
	require.True(t, verify(p.Public(), m.Statement, m.Signature))
	got.Wipe()
	got.Wipe()
	_, err = got.Sign(statement(about(), "000102030405060708090a0b0c0d0e0f"))
	require.Equal(t, gate.CodeInternal, gate.CodeOf(err), "a key that was wiped signs nothing")
	require.Error(t, WriteKey(filepath.Join(t.TempDir(), "k"), "n", noon, got, []byte(secret), cheap(), rand.Reader, true))

	for _, wrong := range []string{"", "correct horse batterz", secret + " ", strings.ToUpper(secret)} {
		_, _, err := OpenKey(path, []byte(wrong))
		require.ErrorIs(t, err, ErrPassphrase)
		require.Equal(t, gate.CodeNotApproved, gate.CodeOf(err))
		require.ErrorIs(t, ChangePassphrase(path, []byte(wrong), []byte("another passphrase"), cheap(), rand.Reader), ErrPassphrase)
	}
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after, "a wrong passphrase changes nothing")
}

func TestG34_ThePassphraseIsChangedWholeOrNotAtAll(t *testing.T) {
	path, p := writeKey(t)
	require.Error(t, WriteKey(path, "x", noon, key(t, 2), []byte(secret), cheap(), rand.Reader, true), "a key that is there stays")
	require.Error(t, ChangePassphrase(path, []byte(secret), []byte("short"), cheap(), rand.Reader))
	require.Error(t, ChangePassphrase(path, []byte(secret), []byte("another passphrase"), cheap(), bytes.NewReader(nil)))
	_, _, err := OpenKey(path, []byte(secret))
	require.NoError(t, err)
	was, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, ChangePassphrase(path, []byte(secret), []byte("another passphrase"), cheap(), rand.Reader))
	_, _, err = OpenKey(path, []byte(secret))
	require.ErrorIs(t, err, ErrPassphrase)
	got, _, err := OpenKey(path, []byte("another passphrase"))
	require.NoError(t, err)
	require.Equal(t, p.ID(), got.ID())
	now, err := os.ReadFile(path)
	require.NoError(t, err)
	var a, b keyFile
	require.NoError(t, json.Unmarshal(was, &a))
	require.NoError(t, json.Unmarshal(now, &b))
	require.NotEqual(t, a.Salt, b.Salt)
	require.NotEqual(t, a.Nonce, b.Nonce)
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing is left beside it")
}

// TestG34_AnyChangeOfTheKeysFileIsNoticed: no member can be changed, nor the key of
// another put in.
func TestG34_AnyChangeOfTheKeysFileIsNoticed(t *testing.T) {
	path, _ := writeKey(t)
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	var f keyFile
	require.NoError(t, json.Unmarshal(good, &f))
	for name, change := range map[string]func(*keyFile){
		"version":  func(f *keyFile) { f.Version = 2 },
		"name":     func(f *keyFile) { f.Name = "somebody" },
		"created":  func(f *keyFile) { f.Created = "2026-05-02T12:00:00Z" },
		"public":   func(f *keyFile) { f.Public = stranger.Public() },
		"kdf":      func(f *keyFile) { f.KDF = "none" },
		"time":     func(f *keyFile) { f.Time = 2 },
		"memory":   func(f *keyFile) { f.MemoryKiB = 128 },
		"threads":  func(f *keyFile) { f.Threads = 2 },
		"salt":     func(f *keyFile) { f.Salt[0] ^= 1 },
		"cipher":   func(f *keyFile) { f.Cipher = "none" },
		"nonce":    func(f *keyFile) { f.Nonce[0] ^= 1 },
		"sealed":   func(f *keyFile) { f.Sealed[0] ^= 1 },
		"cut off":  func(f *keyFile) { f.Sealed = f.Sealed[:20] },
		"no nonce": func(f *keyFile) { f.Nonce = nil },
		"no salt":  func(f *keyFile) { f.Salt = nil },
		"no time":  func(f *keyFile) { f.Time = 0 },
		"dear":     func(f *keyFile) { f.MemoryKiB = 2 << 20 },
		"dearer":   func(f *keyFile) { f.Time = 1 << 20 },
		"no name":  func(f *keyFile) { f.Name = "" },
		"no date":  func(f *keyFile) { f.Created = "" },
		"no point": func(f *keyFile) { f.Public[64] ^= 1 },
	} {
		var g keyFile
		require.NoError(t, json.Unmarshal(good, &g))
		change(&g)
		b, err := json.Marshal(g)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, b, 0o600))
		_, _, err = OpenKey(path, []byte(secret))
		require.Error(t, err, name)
	}
	require.NoError(t, os.WriteFile(path, good[:len(good)/2], 0o600))
	_, _, err = OpenKey(path, []byte(secret))
	require.ErrorContains(t, err, keyName)
	require.NoError(t, os.WriteFile(path, good, 0o600))
	require.NoError(t, os.Chmod(path, 0o640))
	_, _, err = OpenKey(path, []byte(secret))
	require.ErrorContains(t, err, "0640")
}

func TestWhatAGuessCosts(t *testing.T) {
	require.Equal(t, Cost{Time: 3, MemoryKiB: 65536, Threads: 4}, DefaultCost())
	path := KeyPath(t.TempDir())
	require.NoError(t, WriteKey(path, "n", noon, key(t, 1), []byte(secret), DefaultCost(), rand.Reader, true))
	_, _, err := OpenKey(path, []byte(secret))
	require.NoError(t, err)
	for _, pass := range []string{"", "123456789", strings.Repeat("x", MaxPassphrase+1)} {
		require.Error(t, CheckPassphrase([]byte(pass)))
		require.Error(t, WriteKey(path, "n", noon, key(t, 1), []byte(pass), cheap(), rand.Reader, false))
	}
	require.NoError(t, CheckPassphrase([]byte("1234567890")))
}

func TestAKeyNeedsRandomness(t *testing.T) {
	_, err := NewPrivate(bytes.NewReader(nil))
	require.Equal(t, gate.CodeInternal, gate.CodeOf(err))
	_, err = NewPrivate(bytes.NewReader(make([]byte, 32*200)))
	require.Error(t, err, "zero is no key")
	a, err := NewPrivate(rand.Reader)
	require.NoError(t, err)
	b, err := NewPrivate(rand.Reader)
	require.NoError(t, err)
	require.NotEqual(t, a.ID(), b.ID())
}
